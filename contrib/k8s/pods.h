/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_PODS_H
#define CEEMS_CONTRIB_K8S_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cgroup.h"
#include "lib/records/record.h"

/*
 * The pods of this node, and what the ring has been told of them. One thread.
 *
 * A pod runs while its control group exists: that comes from the node itself, needs no
 * right and no answer of anybody, and is in time for a pod of a second. Names,
 * requests and devices come from kubelet or the API server, before or after. A start
 * that cannot be sent is tried again at each pods_refresh(). A stop that is lost is
 * noticed by ceemsd: the group is gone.
 */
#define PODS_MAX 16384u
#define POD_NAME_SIZE 254u     /* of a pod, DNS-1123 subdomain */
#define POD_NAMESPACE_SIZE 64u /* DNS-1123 label */

struct pods_place {
	int cgroupfd;         /* borrowed */
	const char *cgroupfs; /* its path */
	struct cgroup_layout layout;
	const char *ring; /* path */
};

/* What the status of a pod says of a container that has been started. */
struct pod_container {
	char id[CGROUP_CONTAINER_ID_SIZE]; /* of its control group */
	char name[POD_NAMESPACE_SIZE];     /* DNS-1123 label */
	bool ended;
	uint32_t exit_code; /* if it has ended */
};
#define POD_CONTAINERS_MAX 64u /* of a pod, with those before their last restarts */

/* What kubelet or the API server says of one. */
struct pod_info {
	char uid[CGROUP_POD_UID_SIZE]; /* of its control group: for a static pod not the
					  API's */
	char namespace[POD_NAMESPACE_SIZE], name[POD_NAME_SIZE];
	bool failed;           /* its phase */
	bool finished;         /* Succeeded or Failed: it holds no devices */
	uint64_t cpu_milli;    /* requested, else the limit; 0: none */
	uint64_t memory_bytes; /* the same */
	uint32_t container_count;
	struct pod_container containers[POD_CONTAINERS_MAX];
};

/* A container by its control group: one that runs, or has ended. */
struct container_run {
	char id[CGROUP_CONTAINER_ID_SIZE];
	uint32_t run;                /* a number of its own, from its group's inode */
	uint64_t began_ns, ended_ns; /* CLOCK_BOOTTIME; 0: it has not */
	uint64_t ended_realtime_ns;
	struct record_counters counters; /* COUNTERS_NONE: not known */
};

struct pods_stats {
	uint32_t known;         /* all, with a control group or not */
	uint32_t running;       /* with a control group */
	uint32_t unsent;        /* of these, without a start in the ring */
	uint32_t unnamed;       /* of these, of which nobody has told the name */
	uint64_t sent, refused; /* records */
};

struct pods;

struct pods *pods_new(const struct pods_place *place); /* NULL: no memory */
void pods_free(struct pods *p);                        /* accepts NULL */

/* Whether the pod runs, and the group that is at this path now is the one told of. */
bool pods_has_group(struct pods *p, const char *uid, const char *path);

/* Its control group is there, at this path from the mount, in the hierarchies of these
 * bits (enum record_cgroup_bit). before: it may have run for long before this moment.
 * Told again with the same group it is nothing. */
void pods_see_group(struct pods *p, const char *uid, const char *path, uint32_t bits,
		    bool before);
/* Its group is gone. counters: the last ones, NULL: not known. */
void pods_end_group(struct pods *p, const char *uid, const char *path,
		    const struct record_counters *counters);
/* A container of it runs, in this group below the pod's, or has ended. Both are told
 * when somebody has said its name, which the pause container has not. */
void pods_begin_container(struct pods *p, const char *uid,
			  const struct container_run *run, const char *group);
void pods_end_container(struct pods *p, const char *uid,
			const struct container_run *run);
/* A list of groups: those not seen between the two are gone. */
void pods_list_groups_begin(struct pods *p);
void pods_list_groups_end(struct pods *p);

/* What a source says of it: the last word counts. source: its number, less than
 * PODS_SOURCES. */
#define PODS_SOURCES 3u
void pods_see_info(struct pods *p, unsigned source, const struct pod_info *info);
/* The same of a source that knows the names of the pod and its containers only: it does
 * not count where another knows the pod. */
void pods_see_names(struct pods *p, unsigned source, const struct pod_info *info);
/* The source has it no more. It runs while its group is there. */
void pods_drop_info(struct pods *p, unsigned source, const char *uid);
void pods_list_infos_begin(struct pods *p, unsigned source);
void pods_list_infos_end(struct pods *p, unsigned source);

/* Devices of the one live pod of this name; none or several: nothing happens, as after
 * a pod of a StatefulSet was made again and the list is of the one before. */
void pods_list_devices_begin(struct pods *p);
void pods_see_devices(struct pods *p, const char *namespace, const char *name,
		      const struct record_device *devices, uint32_t count);
void pods_list_devices_end(struct pods *p);

/* Sends what could not be sent, all of it again to a new ring, and a sign of life. */
void pods_refresh(struct pods *p);
void pods_stats(const struct pods *p, struct pods_stats *ret);
/* How many pods and containers have started since pods_new(): if it grows, devices and
 * names are to be asked for. */
uint64_t pods_starts(const struct pods *p);

#endif
