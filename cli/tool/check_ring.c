/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring's health, by the checks that the plugins make before they write. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "lib/clock.h"
#include "lib/records/ring.h"

#define LATE_S 5 /* ceemsd looks 20 times a second */

static uint64_t load_counter(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void check_consumer(const char *path, const struct ring *r, struct findings *f)
{
	uint64_t beat = load_counter(&r->header->heartbeat_ns),
		 now = clock_boottime_ns();
	uint64_t waiting =
		load_counter(&r->header->head) - load_counter(&r->header->tail);
	uint64_t late_s = now > beat ? (now - beat) / NSEC_PER_SEC : 0;

	if (beat == 0)
		finding(f, LEVEL_FAIL, "start ceemsd, and see its log if it is running",
			"%s: ceemsd has never read it", path);
	else if (late_s > LATE_S)
		finding(f, LEVEL_FAIL,
			"start ceemsd (the ring keeps records until it is full)",
			"%s: ceemsd last looked %" PRIu64 " s ago, %" PRIu64
			" records wait, room for %u",
			path, late_s, waiting, r->count);
	else
		finding(f, LEVEL_OK, NULL,
			"%s: ceemsd is reading it, %" PRIu64 " of %u slots in use",
			path, waiting, r->count);
}

static void check_counters(const char *path, const struct ring *r, struct findings *f)
{
	uint64_t dropped = load_counter(&r->header->dropped),
		 torn = load_counter(&r->header->torn);

	if (dropped)
		finding(f, LEVEL_WARN,
			"see that ceemsd runs all the time, or give it a larger ring",
			"%s: %" PRIu64 " records were refused because it was full",
			path, dropped);
	else
		finding(f, LEVEL_OK, NULL, "%s: no record was refused", path);
	if (torn)
		finding(f, LEVEL_WARN,
			"a few are normal where slurmstepd is killed; many are not",
			"%s: %" PRIu64 " records were begun and not finished", path,
			torn);
	else
		finding(f, LEVEL_OK, NULL, "%s: no record was left unfinished", path);
}

void check_ring(const char *path, uid_t owner, bool must, struct findings *f)
{
	struct ring r;
	struct err err = {""};
	struct stat st;

	if (access(path, R_OK | W_OK) < 0 && errno == EACCES) {
		finding(f, LEVEL_WARN, "run this as root",
			"%s: this user may not read it", path);
		return;
	}
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		finding(f, LEVEL_FAIL,
			"remove it and restart ceemsd, which makes a ring",
			"%s: a symbolic link, the plugins refuse it", path);
		return;
	}
	int rc = ring_attach(path, owner, &r, &err);

	if (rc == -ENOENT) {
		finding(f, must ? LEVEL_FAIL : LEVEL_WARN,
			must ? "start ceemsd on this node, it makes the ring"
			     : "start ceemsd if this is a compute node; a submit host "
			       "or controller needs none",
			"%s: there is no ring", path);
	} else if (rc < 0) {
		finding(f, LEVEL_FAIL,
			"the plugins write nothing to it; restart ceemsd, which "
			"replaces it",
			"%s", err.text);
	} else {
		finding(f, LEVEL_OK, NULL,
			"%s: a valid ring (version %u, owner, mode, size, this boot)",
			path, r.header->version);
		check_consumer(path, &r, f);
		check_counters(path, &r, f);
		ring_detach(&r);
	}
}
