/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's own counters, to compare with its units': /proc/stat and /proc/meminfo. */
#include "daemon/ticker/node_use.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/node/proc_parse.h"
#include "lib/clock.h"

/* Allowed difference of the two counting methods: ticks per CPU */
#define AHEAD_TICKS 2u

void node_use_init(struct node_use *n, int procfd)
{
	long hz = sysconf(_SC_CLK_TCK);

	*n = (struct node_use){.tick_ns = NSEC_PER_SEC / (hz > 0 ? (uint64_t)hz : 100)};
	n->has_stat = procfile_open(&n->stat, procfd, "stat", NULL) == 0;
	n->has_meminfo = procfile_open(&n->meminfo, procfd, "meminfo", NULL) == 0;
	node_use_memory(n);
}

void node_use_done(struct node_use *n)
{
	procfile_close(&n->stat);
	procfile_close(&n->meminfo);
}

static bool is_meminfo_line(const struct meminfo_line *l, const char *name)
{
	return l->is_bytes && l->name_len == strlen(name) &&
	       memcmp(l->name, name, l->name_len) == 0;
}

void node_use_memory(struct node_use *n)
{
	const char *text;
	size_t len;
	uint64_t total = 0, spare = 0;
	struct meminfo_line l;

	if (!n->has_meminfo || procfile_read(&n->meminfo, &text, &len, NULL) < 0)
		return;
	const char *p = text;
	while (proc_next_meminfo(&p, text + len, &l)) {
		if (is_meminfo_line(&l, "MemTotal"))
			total = l.value / 1024;
		else if (is_meminfo_line(&l, "MemFree") ||
			 is_meminfo_line(&l, "Buffers") ||
			 is_meminfo_line(&l, "Cached") ||
			 is_meminfo_line(&l, "SReclaimable"))
			spare += l.value / 1024;
	}
	n->memory_kib = total;
	n->resident_kib = total > spare ? total - spare : 0;
}

void node_use_resume(struct node_use *n, uint64_t cpu_ns, int64_t ahead_ns)
{
	n->cpu_ns = cpu_ns;
	n->ahead_ns = ahead_ns > 0 ? ahead_ns : 0;
}

static uint64_t busy_ticks(const struct proc_stat *s)
{
	return s->ticks[CPU_USER] + s->ticks[CPU_NICE] + s->ticks[CPU_SYSTEM] +
	       s->ticks[CPU_IRQ] + s->ticks[CPU_SOFTIRQ];
}

int node_use_tick(struct node_use *n, uint64_t units_cpu_ns, struct node_use_tick *ret,
		  struct err *err)
{
	struct proc_stat s;
	const char *text;
	size_t len;
	int rc = n->has_stat ? procfile_read(&n->stat, &text, &len, err)
			     : err_set(err, -ENODATA, "energy: there is no /proc/stat");

	if (rc == 0)
		rc = proc_parse_stat(text, len, &s, err);
	if (rc != 0)
		return rc;
	uint32_t cpus = s.cpus ? s.cpus : 1;
	uint64_t cpu_ns = busy_ticks(&s) * n->tick_ns;
	uint64_t grown_ns = cpu_ns > n->cpu_ns ? cpu_ns - n->cpu_ns : 0;
	int64_t most_ns = (int64_t)((uint64_t)AHEAD_TICKS * cpus * n->tick_ns);
	int64_t system_ns = (int64_t)grown_ns - (int64_t)units_cpu_ns - n->ahead_ns;

	n->ahead_ns = system_ns < 0 ? -system_ns : 0;
	if (n->ahead_ns > most_ns)
		n->ahead_ns = most_ns;
	n->cpu_ns = cpu_ns;
	*ret = (struct node_use_tick){
		.cpus = cpus,
		.memory_kib = n->memory_kib ? n->memory_kib : 1,
		.resident_kib = n->resident_kib,
		.system_cpu_ns = system_ns > 0 ? (uint64_t)system_ns : 0,
	};
	return 0;
}
