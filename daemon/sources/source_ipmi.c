/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power of the whole node from its BMC by IPMI: through the kernel's device if it
 * opens, else by a tool. A reading that the BMC repeats is not new. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/ipmi_tool.h"
#include "daemon/sources/source.h"
#include "lib/clock.h"
#include "lib/log.h"

#define UW_PER_W 1000000u
#define WORST_UW 200000000000ull /* more than any node */
#define SLOWEST 12u              /* multiples of the interval, while there is nothing */
/* CAPMC serves the whole machine, and its values are some 15 s old: that must not look
 * like a sensor that failed to answer three times. */
#define CAPMC_PACE_MS 10000u
/* Difference of CAPMC's clock and ours: beyond it its times order readings, but are not
 * converted to ours. */
#define CLOCKS_APART_NS (60 * NSEC_PER_SEC)

struct source_ipmi {
	const struct env *env;
	struct ipmi dev; /* used when there are no tools */
	struct ipmi_tool tools[IPMI_TOOLS];
	size_t tool_count, tool; /* to be tried next */
	bool tool_is_good;       /* it has given a reading */

	uint64_t failed; /* consecutive attempts */

	struct ipmi_power power; /* the last good one */
	uint64_t measured_ns;
	bool clock_moves; /* the BMC's: a reading with the same time is the same */

	struct energy_counter counter; /* CAPMC gives energy */
	uint64_t energy_us, power_uw;
	uint64_t resets;
};

static void ipmi_source_close(void *state)
{
	struct source_ipmi *s = state;

	if (!s)
		return;
	ipmi_close(&s->dev);
	free(s);
}

static int choose_ipmi_reader(struct source_ipmi *s, struct err *err)
{
	const struct options *o = s->env->options;
	struct err tool_err;

	if (*o->ipmi_dcmi_cmd && !o->ipmi_dcmi_native) {
		s->tool_count = 1;
		return ipmi_tool_set(o->ipmi_dcmi_cmd, s->env, &s->tools[0], err);
	}
	int rc = ipmi_open(s->env, (unsigned)o->ipmi_dcmi_dev_num, &s->dev, err);
	if (rc == 0 || o->ipmi_dcmi_native)
		return rc;
	s->tool_count = ipmi_tool_find(s->env->tool_folders, s->env, s->tools);
	if (s->tool_count)
		return 0;
	tool_err = *err;
	return err_set(err, rc, "%s, and no tool that asks the BMC", tool_err.text);
}

static int ipmi_source_open(const struct env *env, void **ret_state, struct err *err)
{
	struct source_ipmi *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->env = env;
	s->dev.fd = -1;
	s->counter.worst_uw = WORST_UW;
	int rc = choose_ipmi_reader(s, err);
	if (rc < 0) {
		ipmi_source_close(s);
		return rc;
	}
	*ret_state = s;
	return 0;
}

/* A reading requested at asked_ns. If the BMC's clock runs it says when it measured,
 * and the same time again means nothing new. */
static void take_power(struct source_ipmi *s, const struct ipmi_power *p,
		       uint64_t asked_ns)
{
	bool same = s->measured_ns && p->timestamp_s == s->power.timestamp_s;

	if (s->measured_ns && !same)
		s->clock_moves = true;
	if (same && s->clock_moves && p->timestamp_s)
		return;
	s->power = *p;
	s->measured_ns = asked_ns;
}

static int ask_device(struct source_ipmi *s, uint64_t now_ns, struct err *err)
{
	struct ipmi_request req;
	struct ipmi_reply reply;
	struct ipmi_power p;
	int rc = 0;

	if (s->dev.fd < 0)
		rc = ipmi_open(s->env, (unsigned)s->env->options->ipmi_dcmi_dev_num,
			       &s->dev, err);
	if (rc < 0)
		return rc;
	ipmi_dcmi_power_request(&req);
	rc = ipmi_ask(&s->dev, &req, IPMI_DEADLINE_MS, &reply, err);
	/* the driver is gone, and may come back as another device */
	if (rc == -ENODEV || rc == -ENXIO || rc == -EBADF)
		ipmi_close(&s->dev);
	if (rc < 0)
		return rc;
	rc = ipmi_dcmi_power(reply.data, reply.len, &p, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", s->dev.path);
	take_power(s, &p, now_ns);
	return 0;
}

static uint64_t place_bmc_time(const struct source_ipmi *s, uint64_t us,
			       uint64_t asked_ns)
{
	uint64_t real_ns = s->env->realtime_ns(), at_ns = us * 1000;
	uint64_t apart = real_ns > at_ns ? real_ns - at_ns : at_ns - real_ns;

	if (!us || apart > CLOCKS_APART_NS || at_ns > real_ns || apart > asked_ns)
		return asked_ns;
	return asked_ns - apart;
}

static void take_energy(struct source_ipmi *s, const struct capmc_energy *e,
			uint64_t asked_ns)
{
	uint64_t at_ns = place_bmc_time(s, e->realtime_us, asked_ns);
	uint64_t then_ns = s->measured_ns, then_uj = s->counter.total_uj;

	if (s->measured_ns &&
	    (e->realtime_us ? e->realtime_us == s->energy_us
			    : e->joules == s->counter.raw_uj / UW_PER_W))
		return;
	if (at_ns <= s->measured_ns || e->joules > UINT64_MAX / UW_PER_W)
		return;
	enum energy_step step =
		energy_counter_take(&s->counter, e->joules * UW_PER_W, at_ns);
	if (step == ENERGY_STEP_RESET)
		s->resets++;
	s->power_uw = 0;
	if (step == ENERGY_STEP_COUNTED)
		s->power_uw =
			(uint64_t)((unsigned __int128)(s->counter.total_uj - then_uj) *
				   NSEC_PER_SEC / (at_ns - then_ns));
	s->energy_us = e->realtime_us;
	s->measured_ns = at_ns;
}

static int ask_tool(struct source_ipmi *s, uint64_t now_ns, struct err *err)
{
	const struct ipmi_tool *t = &s->tools[s->tool];
	struct ipmi_power p;
	struct capmc_energy e;
	int rc = ipmi_tool_run(t, IPMI_TOOL_DEADLINE_MS, &p, &e, err);

	if (rc < 0) {
		/* use the first installed one that works */
		if (!s->tool_is_good)
			s->tool = (s->tool + 1) % s->tool_count;
		return rc;
	}
	if (!s->tool_is_good)
		log_info("energy source ipmi_dcmi: by %s", t->argv[0]);
	s->tool_is_good = true;
	if (t->is_capmc)
		take_energy(s, &e, now_ns);
	else
		take_power(s, &p, now_ns);
	return 0;
}

static int put_ipmi_channel(struct source_snapshot *out, enum source_kind kind,
			    enum source_domain domain, uint64_t value, uint64_t raw,
			    uint64_t measured_ns)
{
	struct source_channel *c = source_snapshot_add(out);

	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->domain = domain;
	memcpy(c->name, "node", sizeof("node"));
	c->value = value;
	c->raw = raw;
	c->measured_ns = measured_ns;
	return 0;
}

static int put_watts(struct source_snapshot *out, const struct source_ipmi *s,
		     enum source_kind kind, uint32_t watts)
{
	uint64_t uw = (uint64_t)watts * UW_PER_W;

	if (!watts)
		return 0;
	return put_ipmi_channel(out, kind,
				kind == SOURCE_POWER ? SOURCE_DOMAIN_HOST
						     : SOURCE_DOMAIN_NONE,
				uw, uw, s->measured_ns);
}

static int put_ipmi_channels(struct source_snapshot *out, const struct source_ipmi *s)
{
	int rc = 0;

	out->resets = s->resets;
	if (s->counter.started) {
		rc = put_ipmi_channel(out, SOURCE_ENERGY, SOURCE_DOMAIN_HOST,
				      s->counter.total_uj, s->counter.raw_uj,
				      s->measured_ns);
		if (rc == 0)
			out->channels[out->count - 1].worst_uw = s->counter.worst_uw;
		if (rc == 0 && s->power_uw)
			rc = put_ipmi_channel(out, SOURCE_POWER, SOURCE_DOMAIN_NONE,
					      s->power_uw, s->power_uw, s->measured_ns);
		return rc;
	}
	rc = put_watts(out, s, SOURCE_POWER, s->power.current_w);
	if (rc == 0)
		rc = put_watts(out, s, SOURCE_POWER_MIN, s->power.min_w);
	if (rc == 0)
		rc = put_watts(out, s, SOURCE_POWER_MAX, s->power.max_w);
	if (rc == 0)
		rc = put_watts(out, s, SOURCE_POWER_AVG, s->power.avg_w);
	return rc;
}

static int ipmi_source_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct source_ipmi *s = state;
	uint64_t now_ns = s->env->boottime_ns();
	int rc = s->tool_count ? ask_tool(s, now_ns, err) : ask_device(s, now_ns, err);

	s->failed = rc < 0 ? s->failed + 1 : 0;
	if (rc < 0)
		return rc;
	return put_ipmi_channels(out, s) < 0 ? err_set(err, -ENOMEM, "out of memory")
					     : 0;
}

static uint64_t ipmi_source_pace_ms(const void *state)
{
	const struct source_ipmi *s = state;
	uint64_t times = s->failed < SLOWEST ? s->failed : SLOWEST;
	uint64_t ms = s->env->options->ipmi_dcmi_interval_ms;

	if (s->tool_count && s->tools[s->tool].is_capmc && ms < CAPMC_PACE_MS)
		ms = CAPMC_PACE_MS;
	return (times ? times : 1) * ms;
}

const struct source source_ipmi_dcmi = {
	.name = "ipmi_dcmi",
	.open = ipmi_source_open,
	.sample = ipmi_source_sample,
	.pace_ms = ipmi_source_pace_ms,
	.close = ipmi_source_close,
};
