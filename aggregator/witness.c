/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the clocks of others with ours. */
#include "aggregator/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

struct witness {
	char who[WITNESS_NAME_BYTES];
	int64_t base_ns; /* its realtime minus our boottime */
	uint64_t heard_ns;
};

void witness_done(struct witnesses *w)
{
	free(w->all);
	w->all = NULL;
	w->count = 0;
}

static struct witness *find_place(struct witnesses *w, const char *who)
{
	struct witness *oldest = &w->all[0];

	for (uint32_t i = 0; i < w->count; i++) {
		if (strncmp(w->all[i].who, who, WITNESS_NAME_BYTES - 1) == 0)
			return &w->all[i];
		if (w->all[i].heard_ns < oldest->heard_ns)
			oldest = &w->all[i];
	}
	return w->count < WITNESS_MAX ? &w->all[w->count++] : oldest;
}

void witness_tell(struct witnesses *w, const char *who, uint64_t realtime_ns,
		  uint64_t boottime_ns)
{
	if (!*who)
		return;
	pthread_mutex_lock(&w->mutex);
	if (!w->all)
		w->all = calloc(WITNESS_MAX, sizeof(*w->all));
	if (w->all) {
		struct witness *at = find_place(w, who);
		snprintf(at->who, sizeof(at->who), "%s", who);
		at->base_ns = (int64_t)(realtime_ns - boottime_ns);
		at->heard_ns = boottime_ns;
	}
	pthread_mutex_unlock(&w->mutex);
}

static int compare_bases(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The largest number of n sorted values that agree; *ret_middle is their median. */
static uint32_t count_agreeing(const int64_t *sorted, uint32_t n, int64_t *ret_middle)
{
	uint32_t most = 0;

	for (uint32_t from = 0, to = 0; from < n; from++) {
		while (to < n && sorted[to] - sorted[from] <= WITNESS_APART_NS)
			to++;
		if (to - from > most) {
			most = to - from;
			*ret_middle = sorted[from + (to - from) / 2];
		}
	}
	return most;
}

static uint32_t gather_others(struct witnesses *w, int64_t base_ns,
			      uint64_t boottime_ns, int64_t *ret_others,
			      uint32_t *ret_agree)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct witness *one = &w->all[i];
		if (boottime_ns > one->heard_ns + WITNESS_TTL_NS)
			continue;
		int64_t ahead = one->base_ns - base_ns;
		if (ahead >= -WITNESS_APART_NS && ahead <= WITNESS_APART_NS)
			++*ret_agree;
		else
			ret_others[n++] = ahead;
	}
	return n;
}

struct witness_verdict witness_judge(struct witnesses *w, uint64_t realtime_ns,
				     uint64_t boottime_ns)
{
	int64_t others[WITNESS_MAX], middle = 0;
	struct witness_verdict v = {.state = WITNESS_UNDECIDED};

	pthread_mutex_lock(&w->mutex);
	uint32_t n = gather_others(w, (int64_t)(realtime_ns - boottime_ns), boottime_ns,
				   others, &v.agree);
	pthread_mutex_unlock(&w->mutex);
	qsort(others, n, sizeof(others[0]), compare_bases);
	v.contradict = count_agreeing(others, n, &middle);
	v.ahead_s = middle / (int64_t)NSEC_PER_SEC;
	if (v.contradict > v.agree)
		v.state = WITNESS_WRONG;
	else if (v.agree >= 2 && v.agree > v.contradict)
		v.state = WITNESS_GOOD;
	return v;
}

bool witness_text(const struct witness_verdict *v, char ret[WITNESS_TEXT_BYTES])
{
	ret[0] = '\0';
	if (v->state != WITNESS_WRONG)
		return false;
	snprintf(ret, WITNESS_TEXT_BYTES,
		 "its clock is %" PRIi64
		 " s %s according to %u other clocks (database, hosts), against %u: "
		 "reports wait until a time service corrects it",
		 v->ahead_s < 0 ? -v->ahead_s : v->ahead_s,
		 v->ahead_s < 0 ? "ahead" : "behind", v->contradict, v->agree);
	return true;
}

void witness_metrics(struct witnesses *w, struct prom *out)
{
	static const struct prom_family wrong = {
		"ceems_aggregator_clock_wrong", PROM_GAUGE,
		"Whether this host's clock is wrong according to the database and the "
		"hosts that send reports: 1, or 0"};
	static const struct prom_family others = {"ceems_aggregator_clock_witnesses",
						  PROM_GAUGE,
						  "Clocks that agree with this host's, "
						  "and that agree with each other and "
						  "contradict it"};
	static const struct prom_label agree = {"word", "agree"},
				       contradict = {"word", "contradict"};
	struct witness_verdict v =
		witness_judge(w, clock_realtime_ns(), clock_boottime_ns());

	prom_family(out, &wrong);
	prom_put_u64(out, NULL, 0, v.state == WITNESS_WRONG);
	prom_family(out, &others);
	prom_put_u64(out, &agree, 1, v.agree);
	prom_put_u64(out, &contradict, 1, v.contradict);
}
