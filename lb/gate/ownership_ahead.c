/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions before anybody waits for the answer. A user who opens one panel opens the
 * next: with the first unknown unit the latest ones are asked about too, which adds
 * little to a question. If they were too few, four times as many are asked about the
 * next time, up to a bound; beyond that, unit by unit, with waiting questions merged.
 * Entries in use are refreshed before they expire, so that nobody waits for them. */
#include <stdlib.h>
#include <string.h>

#include "lb/gate/ownership_impl.h"
#include "lib/cleanup.h"

#define FIRST 64u
#define GROWS 4u
#define MOST 1000u     /* the aggregator's own bound (doc/api.md) */
#define PART 64u       /* a user fills at most one in so many of the entries */
#define FEW_IDS 32u    /* whoever asks about more at once knows what comes next */
#define AGAIN_MS 1000u /* interval of a user's questions ahead of time */

struct latest {
	uint64_t boot_ms; /* time of the question */
	uint32_t count;   /* how many were asked for */
	bool more;        /* there were at least as many */
};

static void put_ahead_key(struct buf *out, enum ownership_kind kind,
			  const struct ownership_ask *ask)
{
	ownership_key(out, kind, ask->login, ask->cluster,
		      ask->has_uid ? &ask->uid : NULL, ask->named);
}

uint32_t ownership_ahead_count(struct ownership_cache *o,
			       const struct ownership_ask *ask, uint64_t boot_ms,
			       const struct ownership_rules *rules)
{
	uint32_t most = o->entries / PART < MOST ? o->entries / PART : MOST;
	uint32_t first = FIRST < most ? FIRST : most;
	auto_buf struct buf key = BUF_INIT;
	struct latest last;
	size_t len;

	if (!ask->count || ask->count > FEW_IDS)
		return 0;
	put_ahead_key(&key, KIND_LATEST, ask);
	if (buf_error(&key))
		return 0;
	if (!lru_copy(o->roles, key.data, key.len, boot_ms, &last, sizeof(last), &len))
		return first;
	if (last.count > most)
		last.count = most;
	if (boot_ms - last.boot_ms >= (uint64_t)rules->ownership_ms / 2)
		return last.count;
	/* it was asked just now, and this unit was not in the answer */
	if (!last.more || last.count >= most)
		return 0;
	return last.count * GROWS < most ? last.count * GROWS : most;
}

void ownership_ahead_note(struct ownership_cache *o, const struct ownership_ask *ask,
			  const struct ownership_answer *a, uint64_t boot_ms,
			  const struct ownership_rules *rules)
{
	const struct latest last = {.boot_ms = boot_ms,
				    .count = ask->latest,
				    .more = a->latest_count >= ask->latest};
	auto_buf struct buf key = BUF_INIT;

	if (!ask->latest)
		return;
	put_ahead_key(&key, KIND_LATEST, ask);
	if (!buf_error(&key))
		lru_put(o->roles, key.data, key.len, &last, sizeof(last),
			boot_ms + 2 * (uint64_t)rules->ownership_ms);
}

bool ownership_ages(const struct ownership_rules *rules, int64_t age_ms)
{
	return age_ms >= rules->ownership_ms - rules->ownership_ms / 4;
}

void ownership_refresh(struct ownership_cache *o, const struct ownership_who *who,
		       const struct access_claim *claims, size_t count)
{
	auto_buf struct buf key = BUF_INIT;
	char tried;
	size_t len;

	ownership_key(&key, KIND_AHEAD, who->login, who->cluster,
		      who->has_uid ? &who->uid : NULL, who->named);
	if (buf_error(&key) ||
	    lru_copy(o->roles, key.data, key.len, who->boot_ms, &tried, 1, &len))
		return;
	lru_put(o->roles, key.data, key.len, "", 1, who->boot_ms + AGAIN_MS);
	atomic_fetch_add(&o->ahead, 1);
	ownership_ask_again(o, who, claims, count, ACCESS_OWN);
}
