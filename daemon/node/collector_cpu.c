/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of the whole node by mode, and the number of CPUs, to compare units' CPU
 * time with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/node/proc_parse.h"
#include "daemon/node/procfile.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

/* The kernel's sums may decrease slightly (idle and iowait are estimates); a decrease
 * of this many seconds or more is permanent, as when a CPU goes offline. */
#define JUMP_SECONDS 3

static const char *const mode_names[CPU_MODES] = {
	"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
};

struct cpu {
	const struct env *env;
	struct procfile stat;
	struct buf labels[CPU_MODES], host;
	uint64_t hz;
	uint64_t factor; /* ticks * factor / 10^decimals = seconds */
	unsigned decimals;
	uint64_t raw[CPU_MODES];    /* the highest reading since the last jump */
	uint64_t before[CPU_MODES]; /* ticks lost in jumps */
	uint32_t cpus, threads;
};

static void cpu_close(void *state)
{
	struct cpu *c = state;

	if (!c)
		return;
	procfile_close(&c->stat);
	for (int i = 0; i < CPU_MODES; i++)
		buf_done(&c->labels[i]);
	buf_done(&c->host);
	free(c);
}

/* Threads per core: from the topology of an online CPU, else from cpuinfo, which does
 * not have it on some architectures. */
static uint32_t read_threads(const struct env *env, uint32_t cpu)
{
	char path[96], text[4096];
	uint32_t n = 0;

	snprintf(path, sizeof(path),
		 "devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	ssize_t len = fs_read_at(env->sysfd, path, text, sizeof(text), NULL);
	if (len > 0 && parse_list_count(text, (size_t)len, &n) == 0 && n)
		return n;
	auto_buf struct buf info = BUF_INIT;
	if (fs_read_buf_at(env->procfd, "cpuinfo", 1 << 20, &info, NULL) == 0 &&
	    info.data)
		n = proc_parse_threads(info.data, info.len);
	return n ? n : 1;
}

static int cpu_open(const struct env *env, void **ret_state, struct err *err)
{
	struct cpu *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->env = env;
	int rc = procfile_open(&c->stat, env->procfd, "stat", err);
	if (rc < 0) {
		cpu_close(c);
		return rc;
	}
	long hz = sysconf(_SC_CLK_TCK);
	c->hz = hz > 0 ? (uint64_t)hz : 100;
	uint64_t power = 1;
	while (power % c->hz != 0 && c->decimals < 9) {
		power *= 10;
		c->decimals++;
	}
	c->factor = power / c->hz;
	struct prom_label l[2] = {{"hostname", env->hostname}};
	prom_render_labels(&c->host, l, 1);
	for (int i = 0; i < CPU_MODES; i++) {
		l[1] = (struct prom_label){"mode", mode_names[i]};
		prom_render_labels(&c->labels[i], l, 2);
	}
	*ret_state = c;
	return 0;
}

/* Follows one mode without ever decreasing: after a small decrease it waits until the
 * kernel's number has caught up, after a jump it counts on from the new value. */
static uint64_t follow_cpu_mode(struct cpu *c, int mode, uint64_t now)
{
	uint64_t *raw = &c->raw[mode];

	if (now < *raw && *raw - now < JUMP_SECONDS * c->hz)
		now = *raw;
	if (now < *raw)
		c->before[mode] += *raw - now;
	*raw = now;
	return c->before[mode] + now;
}

static int cpu_collect(void *state, struct prom *out, struct err *err)
{
	static const struct prom_family seconds = {
		"ceems_cpu_seconds_total", PROM_COUNTER,
		"CPU time of the node by mode, from /proc/stat"};
	static const struct prom_family count = {
		"ceems_cpu_count", PROM_GAUGE,
		"Logical CPUs that are online, from /proc/stat"};
	static const struct prom_family per_core = {
		"ceems_cpu_per_core_count", PROM_GAUGE,
		"Logical CPUs per physical core, from sysfs topology or /proc/cpuinfo"};
	struct cpu *c = state;
	struct proc_stat s;
	const char *text;
	size_t len;
	int rc = procfile_read(&c->stat, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = proc_parse_stat(text, len, &s, err);
	if (rc < 0)
		return rc;
	if (s.cpus && s.cpus != c->cpus) {
		c->cpus = s.cpus;
		c->threads = read_threads(c->env, s.first_cpu);
	}
	prom_family(out, &seconds);
	for (int i = 0; i < CPU_MODES; i++)
		prom_put_block_scaled(out, &c->labels[i],
				      follow_cpu_mode(c, i, s.ticks[i]) * c->factor,
				      c->decimals);
	if (!c->cpus)
		return 0;
	prom_family(out, &count);
	prom_put_block_u64(out, &c->host, c->cpus);
	prom_family(out, &per_core);
	prom_put_block_u64(out, &c->host, c->threads);
	return 0;
}

const struct collector collector_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.collect = cpu_collect,
	.close = cpu_close,
};
