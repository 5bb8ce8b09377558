/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The courier's last Redfish readings. Nothing is requested here: if a BMC does not
 * answer its readings stay the same, and age. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/source.h"

#define NAME "redfish"
#define NEWS_MAX_MS 60000u
#define COUNTERS_MAX 16u
#define QUICK_MS 5000u           /* close enough for any sampling */
#define WORST_UW 100000000000ull /* 100 kW: the courier's limit too */

/* A chassis' energy counter. It is kept here, since the courier may be restarted. */
struct redfish_counter {
	char chip[160];
	struct energy_counter energy;
};

struct redfish {
	const struct env *env;
	struct redfish_counter counters[COUNTERS_MAX];
	size_t count;
	uint64_t resets;
	union {
		struct child_snapshot snapshot;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
};

static void redfish_close(void *state)
{
	free(state);
}

static int redfish_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->courier)
		return err_set(err, -ENODEV, "ceems-courier is not running");
	struct redfish *r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->env = env;
	*ret_state = r;
	return 0;
}

static struct redfish_counter *find_counter(struct redfish *r, const char *chip)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->counters[i].chip, chip) == 0)
			return &r->counters[i];
	}
	if (r->count == COUNTERS_MAX)
		return NULL;
	struct redfish_counter *c = &r->counters[r->count++];
	(void)snprintf(c->chip, sizeof(c->chip), "%s", chip);
	c->energy.worst_uw = WORST_UW;
	return c;
}

/* Joules since the first reading; false: not usable as a counter */
static bool count_energy(struct redfish *r, struct source_channel *ch)
{
	struct redfish_counter *c = find_counter(r, ch->chip);

	if (!c)
		return false;
	if ((!c->energy.started || ch->measured_ns > c->energy.at_ns) &&
	    energy_counter_take(&c->energy, ch->raw, ch->measured_ns) ==
		    ENERGY_STEP_RESET)
		r->resets++;
	ch->value = c->energy.total_uj;
	ch->worst_uw = c->energy.worst_uw;
	return true;
}

static bool take_courier_channel(struct redfish *r, const struct child_channel *from,
				 struct source_channel *to)
{
	static const enum source_kind kinds[CHILD_CHANNEL_KINDS] = {
		[CHILD_ENERGY] = SOURCE_ENERGY,
		[CHILD_POWER] = SOURCE_POWER,
		[CHILD_POWER_MIN] = SOURCE_POWER_MIN,
		[CHILD_POWER_MAX] = SOURCE_POWER_MAX,
		[CHILD_POWER_AVG] = SOURCE_POWER_AVG,
	};
	uint64_t now_ns = r->env->boottime_ns();

	to->kind = kinds[from->kind];
	to->domain = from->domain == CHILD_DOMAIN_HOST ? SOURCE_DOMAIN_HOST
						       : SOURCE_DOMAIN_NONE;
	to->index = from->index;
	to->value = to->raw = from->raw;
	/* the same clock, unless somebody lies, so never in the future */
	to->measured_ns = from->measured_ns < now_ns ? from->measured_ns : now_ns;
	(void)snprintf(to->name, sizeof(to->name), "%s", from->name);
	(void)snprintf(to->chip, sizeof(to->chip), "%s", from->chip);
	return to->kind != SOURCE_ENERGY || count_energy(r, to);
}

static int redfish_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct redfish *r = state;
	int rc = child_link_get(r->env->courier, CHILD_SNAPSHOT, NAME, &r->in,
				sizeof(r->in));

	if (rc == -EAGAIN)
		return err_set(err, -EINPROGRESS, "the BMC has not been read yet");
	if (rc < 0)
		return err_set(err, rc, "message of ceems-courier: %s", strerror(-rc));
	for (uint32_t i = 0; i < r->in.snapshot.head.count; i++) {
		struct source_channel *ch = source_snapshot_add(out);
		if (!ch)
			return err_set(err, -ENOMEM, "out of memory");
		if (!take_courier_channel(r, &r->in.snapshot.channels[i], ch))
			out->count--;
	}
	out->resets = r->resets;
	out->news_ms = r->in.snapshot.period_ms < NEWS_MAX_MS ? r->in.snapshot.period_ms
							      : NEWS_MAX_MS;
	return 0;
}

/* Readings are integrated if at most three samplings lie between them, so a source that
 * is rarely read is sampled at most half again as often. */
static uint64_t redfish_pace_ms(const void *state)
{
	const struct redfish *r = state;

	uint64_t ms = r->env->options->redfish_interval_ms;

	return ms > QUICK_MS ? ms * 2 / 3 : 0;
}

const struct source source_redfish = {
	.name = NAME,
	.open = redfish_open,
	.sample = redfish_sample,
	.pace_ms = redfish_pace_ms,
	.close = redfish_close,
};
