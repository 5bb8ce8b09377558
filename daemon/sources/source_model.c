/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates the node's power if nothing measures it, by a curve over the CPU load
 * (/proc/stat). It has no channels as long as a sensor measures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/node/procfile.h"
#include "daemon/sources/power_model.h"
#include "daemon/sources/sampler.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"

#define WAIT_NS (30 * NSEC_PER_SEC) /* for sensors that are slow to start */
#define GAP_NS (600 * NSEC_PER_SEC) /* longer gaps are not estimated */
#define CPUINFO_BYTES ((size_t)8 << 20)
/* The kernel's sums may decrease slightly (idle and iowait are estimates). A decrease
 * of so many seconds is permanent. */
#define JUMP_SECONDS 3
#define WORST_UW 100000000000ull /* for a total left by an earlier daemon */

struct model {
	const struct env *env;
	struct procfile stat;
	struct power_model power;
	uint64_t hz, opened_ns;
	unsigned sensors; /* domains that a sensor may measure instead */
	bool stood_back;

	bool started;
	uint64_t ticks[CPU_MODES];
	uint64_t at_ns;
	uint32_t cpus;
	uint64_t uw; /* of the last interval, when has_uw */
	bool has_uw;
	uint64_t total_uj,
		rest; /* rest: below a microjoule, in microwatt nanoseconds */
	uint64_t resets;
};

static void model_close(void *state)
{
	struct model *m = state;

	if (!m)
		return;
	procfile_close(&m->stat);
	free(m);
}

static uint64_t memory_bytes(const struct env *env)
{
	auto_buf struct buf text = BUF_INIT;
	struct meminfo_line line;

	if (fs_read_buf_at(env->procfd, "meminfo", 1 << 16, &text, NULL) < 0 ||
	    !text.data)
		return 0;
	const char *p = text.data;
	while (proc_next_meminfo(&p, text.data + text.len, &line)) {
		if (line.name_len == 8 && memcmp(line.name, "MemTotal", 8) == 0)
			return line.is_bytes ? line.value : 0;
	}
	return 0;
}

static void choose_power_curve(struct model *m)
{
	const struct env *env = m->env;
	auto_buf struct buf text = BUF_INIT;
	struct proc_cpu cpu = {.sockets = 1};

	if (fs_read_buf_at(env->procfd, "cpuinfo", CPUINFO_BYTES, &text, NULL) == 0 &&
	    text.data)
		proc_parse_cpu(text.data, text.len, &cpu);
	power_model_choose(env->options, &cpu, memory_bytes(env), &m->power);
	/* a measurement of the CPUs is better than an estimate of the whole, unless
	 * that was requested */
	m->sensors = 1u << SOURCE_DOMAIN_HOST;
	if (env->options->energy_model == ENERGY_MODEL_AUTO)
		m->sensors |= 1u << SOURCE_DOMAIN_PACKAGE | 1u << SOURCE_DOMAIN_PSYS;
	if (m->power.guessed)
		log_info("energy model: no figures for this CPU (%s family %u model %u "
			 "stepping %u), the average of all stands in: set "
			 "--energy.model.idle-watts and --energy.model.max-watts for a "
			 "better estimate",
			 *cpu.vendor ? cpu.vendor : "unknown vendor", cpu.family,
			 cpu.model, cpu.stepping);
}

static int model_open(const struct env *env, void **ret_state, struct err *err)
{
	if (env->options->energy_model == ENERGY_MODEL_OFF)
		return err_set(err, -ENODEV, "--energy.model=off");
	struct model *m = calloc(1, sizeof(*m));
	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->env = env;
	int rc = procfile_open(&m->stat, env->procfd, "stat", err);
	if (rc < 0) {
		model_close(m);
		return rc;
	}
	long hz = sysconf(_SC_CLK_TCK);
	m->hz = hz > 0 ? (uint64_t)hz : 100;
	m->opened_ns = env->boottime_ns();
	choose_power_curve(m);
	*ret_state = m;
	return 0;
}

/* Whether a sensor measures what this would estimate, or it is too early to know */
static bool stands_back(struct model *m, uint64_t now_ns)
{
	int rc = sampler_measures(m->env->sampler, &source_model, m->sensors);
	bool back = rc == 1 || (rc == -EAGAIN && now_ns - m->opened_ns < WAIT_NS);

	if (rc == 1 && !m->stood_back)
		log_info("energy model: not used, a sensor measures");
	m->stood_back = rc == 1;
	return back;
}

/* CPU time of a mode since the last reading */
static uint64_t advance_mode_ticks(struct model *m, int mode, uint64_t now)
{
	uint64_t *last = &m->ticks[mode], before = *last;

	if (now < before && before - now < JUMP_SECONDS * m->hz)
		return 0; /* wait until the kernel's number has caught up */
	*last = now;
	return now < before ? 0 : now - before;
}

static void integrate_power(struct model *m, uint64_t ns)
{
	unsigned __int128 e = (unsigned __int128)m->uw * ns + m->rest;

	m->total_uj += (uint64_t)(e / NSEC_PER_SEC);
	m->rest = (uint64_t)(e % NSEC_PER_SEC);
}

static void take_cpu_stat(struct model *m, const struct proc_stat *s, uint64_t now_ns)
{
	uint64_t busy = 0, idle = 0;

	if (!m->started) {
		memcpy(m->ticks, s->ticks, sizeof(m->ticks));
		m->started = true;
		m->has_uw = false;
		m->at_ns = now_ns;
		m->cpus = s->cpus;
		return;
	}
	/* nothing is new before a tick has passed */
	bool moved = memcmp(m->ticks, s->ticks, sizeof(m->ticks)) != 0;
	if (!moved || now_ns <= m->at_ns)
		return;
	for (int i = 0; i < CPU_MODES; i++) {
		/* steal: the guest's CPU waited while its host worked for another */
		bool waits = i == CPU_IDLE || i == CPU_IOWAIT || i == CPU_STEAL;
		*(waits ? &idle : &busy) += advance_mode_ticks(m, i, s->ticks[i]);
	}
	uint64_t ns = now_ns - m->at_ns, total = busy + idle;
	m->at_ns = now_ns;
	m->cpus = s->cpus ? s->cpus : 1;
	if (!total)
		return;
	/* The CPUs' clocks stop while the machine is suspended, boot time does not. */
	uint64_t seen_ns =
		(uint64_t)((unsigned __int128)total * NSEC_PER_SEC / m->hz / m->cpus);
	if (ns > GAP_NS) {
		m->resets++;
		return;
	}
	if (ns > 2 * seen_ns + NSEC_PER_SEC) {
		m->resets++;
		ns = seen_ns;
	}
	m->uw = power_model_at(&m->power, m->cpus, busy, total);
	m->has_uw = true;
	integrate_power(m, ns);
}

static int put_model_channel(const struct model *m, enum source_kind kind,
			     uint64_t value, struct source_snapshot *out)
{
	struct source_channel *c = source_snapshot_add(out);

	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->domain = kind == SOURCE_ENERGY || kind == SOURCE_POWER_IDLE
			    ? SOURCE_DOMAIN_HOST
			    : SOURCE_DOMAIN_NONE;
	(void)snprintf(c->name, sizeof(c->name), "%s", m->power.guest ? "vm" : "host");
	(void)snprintf(c->chip, sizeof(c->chip), "%s", m->power.coefficients);
	c->value = c->raw = value;
	c->worst_uw = kind == SOURCE_ENERGY ? WORST_UW : 0;
	c->measured_ns = m->at_ns;
	return 0;
}

static int put_model_channels(const struct model *m, struct source_snapshot *out)
{
	int rc = put_model_channel(m, SOURCE_ENERGY, m->total_uj, out);

	if (rc == 0 && m->has_uw)
		rc = put_model_channel(m, SOURCE_POWER, m->uw, out);
	if (rc == 0)
		rc = put_model_channel(m, SOURCE_POWER_IDLE,
				       power_model_at(&m->power, m->cpus, 0, 1), out);
	if (rc == 0)
		rc = put_model_channel(m, SOURCE_POWER_MAX,
				       power_model_at(&m->power, m->cpus, 1, 1), out);
	return rc;
}

enum mark { MARK_TOTAL, MARK_REST, MARK_CPUS, MARK_TICKS };
_Static_assert(MARK_TICKS + (int)CPU_MODES == (int)METER_CHECKPOINT_MARK_WORDS,
	       "the mark's words");

static void leave_mark(const struct model *m, struct meter_checkpoint_mark *ret)
{
	ret->at_ns = m->at_ns;
	ret->words[MARK_TOTAL] = m->total_uj;
	ret->words[MARK_REST] = m->rest;
	ret->words[MARK_CPUS] = m->cpus;
	for (int i = 0; i < CPU_MODES; i++)
		ret->words[MARK_TICKS + i] = m->ticks[i];
}

/* The kernel's sums continued while no daemon ran, and so does the model. */
static void model_resume(void *state, const struct meter_checkpoint_mark *mark)
{
	struct model *m = state;

	if (mark->at_ns > m->opened_ns || mark->words[MARK_REST] >= NSEC_PER_SEC)
		return;
	m->at_ns = mark->at_ns;
	m->total_uj = mark->words[MARK_TOTAL];
	m->rest = mark->words[MARK_REST];
	m->cpus = mark->words[MARK_CPUS] ? (uint32_t)mark->words[MARK_CPUS] : 1;
	for (int i = 0; i < CPU_MODES; i++)
		m->ticks[i] = mark->words[MARK_TICKS + i];
	m->started = true;
}

static int model_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct model *m = state;
	struct proc_stat s;
	const char *text;
	size_t len;

	if (stands_back(m, m->env->boottime_ns())) {
		m->started = m->started && !m->stood_back;
		return 0;
	}
	int rc = procfile_read(&m->stat, &text, &len, err);
	if (rc == 0)
		rc = proc_parse_stat(text, len, &s, err);
	if (rc != 0)
		return rc;
	take_cpu_stat(m, &s, m->env->boottime_ns());
	out->resets = m->resets;
	leave_mark(m, &out->mark);
	return put_model_channels(m, out) < 0 ? err_set(err, -ENOMEM, "out of memory")
					      : 0;
}

const struct source source_model = {
	.name = "model",
	.open = model_open,
	.sample = model_sample,
	.resume = model_resume,
	.close = model_close,
};
