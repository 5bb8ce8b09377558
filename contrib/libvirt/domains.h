/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_DOMAINS_H
#define CEEMS_CONTRIB_LIBVIRT_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contrib/libvirt/domain_xml.h"
#include "lib/cgroup.h"
#include "lib/records/record.h"

/*
 * The domains that run, and what the ring has been told of them. Knows nothing of
 * libvirt's library, so that tests drive it. One thread.
 *
 * A start that cannot be sent (no ring, no control group yet) is tried again at each
 * domains_refresh(). A stop that is lost is noticed by ceemsd: the group is gone.
 */
#define DOMAINS_MAX 4096u

struct domains_place {
	int cgroupfd, procfd; /* borrowed */
	struct cgroup_layout layout;
	const char *ring;    /* path */
	const char *run_dir; /* libvirt's: DRIVER/NAME.pid below it */
	const char *keep;    /* folder for the hook script, "": none */
};

/* What libvirt says of one */
struct domain_seen {
	unsigned source;    /* number of the connection */
	const char *driver; /* "qemu", "lxc" */
	char uuid[DOMAIN_UUID_SIZE];
	const char *name;
	int id;
	uint32_t cpus;
	uint64_t memory_bytes;
	const struct domain_xml *xml; /* NULL: its devices are as before */
};

struct domains_stats {
	uint32_t running;       /* domains that we know */
	uint32_t unsent;        /* of these, without a start in the ring */
	uint64_t sent, refused; /* records */
};

struct domains;

struct domains *domains_new(const struct domains_place *place); /* NULL: no memory */
void domains_free(struct domains *d);                           /* accepts NULL */

/* It runs now. before: it may have run for long before this moment. */
void domains_see(struct domains *d, const struct domain_seen *s, bool before);
/* Whether that very run of it is known, so that its devices need not be read. */
bool domains_know(const struct domains *d, const char *uuid, int id);
/* vCPUs come and go without an event of libvirt's, but their control groups do: looks
 * whether a domain has more or fewer of them than at the last look. One call each
 * second; then domains_take_changed() until it is false. */
void domains_look(struct domains *d);
/* One that must be asked for: its source and UUID. It comes at the next looks again,
 * since libvirt makes the group before it counts the vCPU. */
bool domains_take_changed(struct domains *d, unsigned *ret_source,
			  char ret_uuid[DOMAIN_UUID_SIZE]);
/* It ended; failed: not as its user wanted. An unknown one is nothing. */
void domains_end(struct domains *d, const char *uuid, bool failed);

/* A list of what runs at a source: those not seen between the two have ended. */
void domains_list_begin(struct domains *d, unsigned source);
void domains_list_end(struct domains *d, unsigned source);

/* Sends what could not be sent, all of it again to a new ring, and a sign of life. */
void domains_refresh(struct domains *d);
void domains_stats(const struct domains *d, struct domains_stats *ret);

/* For libvirt's hook script: the last counters of the domain with this XML, which has
 * no process any more but still its control groups, become its stop record. -ENOENT: it
 * is not known. */
int domains_hook(const struct domains_place *place, const char *xml, size_t len,
		 struct err *err);

#endif
