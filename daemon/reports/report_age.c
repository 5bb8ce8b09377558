/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few (sequence number, time) marks, to say how far behind the sending is. */
#include "daemon/reports/report_age.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define FILES_MAX 4096u
#define GAP_NS ((int64_t)(10 * NSEC_PER_SEC))

static uint64_t oldest_file_ns(const char *folder)
{
	auto_closedir DIR *dir = opendir(folder);
	uint64_t oldest = 0;
	struct dirent *e;

	for (unsigned n = 0; dir && n < FILES_MAX && (e = readdir(dir)); n++) {
		const char *dot = strrchr(e->d_name, '.');
		struct stat st;
		if (!dot || strcmp(dot, ".seg") != 0 ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		uint64_t ns = (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC +
			      (uint64_t)st.st_mtim.tv_nsec;
		if (!oldest || ns < oldest)
			oldest = ns;
	}
	return oldest;
}

void report_age_begin(struct report_age *a, const char *folder, uint64_t acked,
		      uint64_t realtime_ns, uint64_t boottime_ns)
{
	if (a->count)
		return;
	uint64_t oldest_ns = oldest_file_ns(folder);
	uint64_t age_ns = realtime_ns > oldest_ns ? realtime_ns - oldest_ns : 0;
	a->acked = acked;
	a->has_before = oldest_ns != 0;
	a->before_ns = (int64_t)boottime_ns - (int64_t)age_ns;
}

void report_age_note(struct report_age *a, uint64_t first, uint64_t last,
		     uint64_t boottime_ns)
{
	int64_t now_ns = (int64_t)boottime_ns;

	if (a->has_before && first > a->acked + 1)
		a->marks[a->count++] =
			(struct report_age_mark){first - 1, a->before_ns};
	a->has_before = false;
	struct report_age_mark *newest = a->count ? &a->marks[a->count - 1] : NULL;
	if (newest && now_ns - newest->ns < GAP_NS) {
		newest->seq = last;
		return;
	}
	if (a->count == REPORT_AGE_MARKS) { /* keep every other one */
		a->count = 0;
		for (uint32_t i = 0; i < REPORT_AGE_MARKS; i += 2)
			a->marks[a->count++] = a->marks[i];
	}
	a->marks[a->count++] = (struct report_age_mark){last, now_ns};
}

uint64_t report_age_ns(struct report_age *a, uint64_t acked, uint64_t boottime_ns)
{
	uint32_t gone = 0;

	while (gone < a->count && a->marks[gone].seq <= acked)
		gone++;
	memmove(a->marks, a->marks + gone, (a->count - gone) * sizeof(a->marks[0]));
	a->count -= gone;
	return a->count ? (uint64_t)((int64_t)boottime_ns - a->marks[0].ns) : 0;
}
