/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-gpu's last readings. Nothing is asked here: a device whose driver hangs says
 * nothing new, and what it said ages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/child_link.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/source.h"
#include "lib/clock.h"

#define NAME "gpu"
/* Of what a device took while ceems-gpu did not run for so long, nobody knows when */
#define AWAY_NS (10 * NSEC_PER_SEC)
#define WORST_UW 5000000000ull /* 5 kW: no device, nor module of several, draws it */

/* A device's energy counter. It is kept here, since ceems-gpu may be restarted. */
struct gpu_counter {
	char uuid[sizeof(((struct child_gpu *)NULL)->uuid)];
	struct energy_counter energy;
	uint64_t at_ns, serial; /* of the newest point that was taken */
};

struct source_gpu {
	const struct env *env;
	struct gpu_counter counters[CHILD_GPUS_MAX];
	uint64_t resets;
	union {
		struct child_gpu gpu;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
};

static void gpu_source_close(void *state)
{
	free(state);
}

static int gpu_source_open(const struct env *env, void **ret_state, struct err *err)
{
	if (!env->gpu)
		return err_set(err, -ENODEV, "ceems-gpu is not running");
	struct source_gpu *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->env = env;
	*ret_state = s;
	return 0;
}

/* The counter's points since the last call */
static void take_points(struct source_gpu *s, struct gpu_counter *c)
{
	const struct child_gpu *m = &s->in.gpu;

	if (strcmp(c->uuid, m->uuid) != 0) {
		*c = (struct gpu_counter){.energy.worst_uw = WORST_UW};
		memcpy(c->uuid, m->uuid, sizeof(c->uuid));
	}
	bool is_another_child = m->serial < c->serial;
	if (is_another_child && m->points[0].at_ns > c->at_ns + AWAY_NS) {
		energy_counter_restart(&c->energy);
		s->resets++;
	}
	c->serial = m->serial;
	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_point *p = &m->points[i];
		if (p->at_ns <= c->at_ns)
			continue;
		c->at_ns = p->at_ns;
		if (energy_counter_take(&c->energy, p->uj, p->at_ns) ==
		    ENERGY_STEP_RESET)
			s->resets++;
	}
}

static struct source_channel *add_channel(struct source_snapshot *out,
					  const struct child_gpu *m,
					  enum source_kind kind, uint64_t at_ns)
{
	struct source_channel *ch = source_snapshot_add(out);

	if (!ch)
		return NULL;
	ch->kind = kind;
	ch->index = m->index;
	ch->measured_ns = at_ns;
	(void)snprintf(ch->name, sizeof(ch->name), "%u", m->index);
	(void)snprintf(ch->chip, sizeof(ch->chip), "%s", m->uuid);
	(void)snprintf(ch->chip_name, sizeof(ch->chip_name), "%s", m->model);
	return ch;
}

static int add_energy_channel(struct source_gpu *s, struct source_snapshot *out)
{
	const struct child_gpu *m = &s->in.gpu;
	struct gpu_counter *c = &s->counters[m->index];

	take_points(s, c);
	struct source_channel *ch = add_channel(out, m, SOURCE_ENERGY, c->at_ns);
	if (!ch)
		return -ENOMEM;
	ch->domain = SOURCE_DOMAIN_GPU;
	ch->value = c->energy.total_uj;
	ch->raw = c->energy.raw_uj;
	ch->worst_uw = WORST_UW;
	return 0;
}

/* A device without a counter (before Volta) is integrated from its power. */
static int add_power_channel(struct source_gpu *s, struct source_snapshot *out)
{
	const struct child_gpu *m = &s->in.gpu;

	if (!child_gpu_has(m, CHILD_GPU_POWER))
		return 0;
	struct source_channel *ch = add_channel(out, m, SOURCE_POWER, m->read_ns);
	if (!ch)
		return -ENOMEM;
	ch->domain = m->head.count ? SOURCE_DOMAIN_NONE : SOURCE_DOMAIN_GPU;
	ch->value = ch->raw = m->value[CHILD_GPU_POWER];
	return 0;
}

static int gpu_source_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct source_gpu *s = state;
	char name[CHILD_NAME_BYTES];

	for (unsigned i = 0; i < CHILD_GPUS_MAX; i++) {
		(void)snprintf(name, sizeof(name), NAME "%u", i);
		int rc = child_link_get(s->env->gpu, CHILD_GPU, name, &s->in,
					sizeof(s->in));
		if (rc == -EAGAIN)
			continue;
		if (rc > 0)
			rc = s->in.gpu.head.count ? add_energy_channel(s, out) : 0;
		if (rc == 0)
			rc = add_power_channel(s, out);
		if (rc < 0)
			return err_set(err, rc, "message of ceems-gpu: %s",
				       strerror(-rc));
	}
	out->resets = s->resets;
	return out->count ? 0
			  : err_set(err, -EINPROGRESS, "no device has been read yet");
}

const struct source source_gpu = {
	.name = NAME,
	.open = gpu_source_open,
	.sample = gpu_source_sample,
	.close = gpu_source_close,
};
