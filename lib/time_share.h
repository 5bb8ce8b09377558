/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_TIME_SHARE_H
#define CEEMS_LIB_TIME_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Who has had his share of the time of a thread that does users' work one after the
 * other: what may take long for one keeps others waiting. In the long run nobody gets
 * more than half, after a burst. All times are of one monotonic clock. Not thread safe.
 */
#define TIME_SHARE_USERS 64u /* remembered: those who took most */

struct time_share {
	uint64_t burst_ns; /* set by the caller */
	struct time_share_user {
		uint32_t uid;
		uint64_t until_ns; /* when what he took will have been half; 0: free */
	} users[TIME_SHARE_USERS];
};

static inline bool time_share_is_over(const struct time_share *t, uint32_t uid,
				      uint64_t now_ns)
{
	for (unsigned i = 0; i < TIME_SHARE_USERS; i++) {
		const struct time_share_user *u = &t->users[i];
		if (u->until_ns && u->uid == uid)
			return u->until_ns > now_ns + t->burst_ns;
	}
	return false;
}

/* What was done for him from begin_ns to end_ns */
static inline void time_share_charge(struct time_share *t, uint32_t uid,
				     uint64_t begin_ns, uint64_t end_ns)
{
	struct time_share_user *own = &t->users[0];

	for (unsigned i = 0; i < TIME_SHARE_USERS; i++) {
		struct time_share_user *u = &t->users[i];
		if (u->until_ns && u->uid == uid) {
			own = u;
			break;
		}
		if (u->until_ns < own->until_ns)
			own = u;
	}
	if (own->uid != uid || own->until_ns < begin_ns)
		*own = (struct time_share_user){uid, begin_ns};
	own->until_ns += (end_ns - begin_ns) * 2;
}

#endif
