/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PROFILE_H
#define CEEMS_OPENER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/profile_request.h"

/* The program that samples stacks (bpf/profile.bpf.c). One thread. */
struct profile_bpf;
struct profile {
	struct profile_bpf *skeleton; /* NULL: it is not loaded */
	int fds[PROFILE_FDS];         /* the skeleton's */
	bool sees_maps;               /* code that is mapped later is told of */
	bool sees_switches;           /* blocked threads can be */
};

/* Loads it; nothing calls it yet. by_cpuacct: control groups are those of
 * v1's cpuacct. Negative errno with the reason; profile_close() in any case. */
int profile_load(struct profile *p, const struct profile_room *room, bool by_cpuacct,
		 struct err *err);
/* Attaches what sees processes begin and end: the descriptors that keep it, to be
 * closed. */
int profile_watch(const struct profile *p, int ret_fds[PROFILE_WATCH_FDS],
		  struct err *err);
/* Attaches what sees CPUs change from one thread to another: likewise one. */
int profile_watch_switches(const struct profile *p, struct err *err);
/* An event of hz on each CPU that calls the program: the descriptor that keeps them,
 * to be closed, or negative errno. */
int profile_start_ticks(const struct profile *p, uint32_t hz, struct err *err);
void profile_close(struct profile *p);

/* /proc/PID: a descriptor. */
int profile_open_process(int procfd, uint32_t pid, struct err *err);
/* The unit's control group that it is in (RECORD_CGROUP_MAX bytes, as
 * cgroup_unit_of_text()); -ESRCH: it is in none, so to whoever asks there is no such
 * process. */
int profile_find_unit(int process, char *ret, struct err *err);
uint32_t profile_owner(int process);
/* Who is behind it: also of one that root owns, since it may not be looked into; of one
 * with another uid, in a user namespace, whoever made that. */
uint32_t profile_user(int process);
/* Its maps, as they are now, in a file in memory: its descriptor, at its beginning. The
 * kernel may let both this and the next one wait for as long as a file server does not
 * answer. -EFBIG: they are longer than PROFILE_MAPS_MAX. */
#define PROFILE_MAPS_MAX (16u << 20)
int profile_copy_maps(int process, struct err *err);
/* The very file that a process has mapped there, whatever its name leads to by now.
 * -EINVAL: it is no regular one. */
int profile_open_file(int process, uint64_t start, uint64_t end,
		      struct profile_file *ret, struct err *err);

/* Its perf map, which has to be its own user's. -EPERM: another user's, or it has other
 * names; -ELOOP: a link, -EINVAL: no regular file, -EFBIG: over PROFILE_PERF_MAP_MAX */
int profile_open_perf_map(int process, struct err *err);

struct profile_service {
	int link;          /* to who asks: a ceems-profiler, or ceemsd */
	int procfd;        /* both borrowed */
	uint32_t requests; /* mask of enum profile_request_kind: no others */
	bool by_cpuacct;
	bool any_process; /* also those of no unit */
};

/* Answers on link until that end is closed. Opens users' files in processes of its own
 * (profile_worker.h). */
int profile_serve(const struct profile_service *service);

/* Forks a process that does profile_serve(), and another when it dies, which the other
 * end is told (PROFILE_REQUEST_DIED). Returns when link is closed there. */
int profile_keep(const struct profile_service *service);

#endif
