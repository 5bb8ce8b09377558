/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of the node's procfs files, separate from the collectors for fuzzing. */
#include "daemon/node/proc_parse.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

/* "cpu" and "cpuN" come first in the file; later lines can be long (intr). */
#define STAT_CPUS_MAX 65536

static bool parse_total(const char *p, const char *end, struct proc_stat *ret)
{
	int n = 0;

	for (; n < CPU_MODES && scan_blank(&p, end); n++) {
		if (scan_u64(&p, end, &ret->ticks[n]) < 0)
			return false;
	}
	return n > CPU_IDLE;
}

int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret,
		    struct err *err)
{
	struct proc_stat s = {.first_cpu = UINT32_MAX};
	const char *p = text, *end = text + len, *line;
	size_t line_len;
	bool total = false;

	while (s.cpus < STAT_CPUS_MAX && scan_line(&p, end, &line, &line_len)) {
		const char *q = line + 3, *line_end = line + line_len;
		uint64_t cpu;
		if (line_len < 4 || memcmp(line, "cpu", 3) != 0)
			break;
		if (*q == ' ') {
			total = parse_total(q, line_end, &s);
			continue;
		}
		if (scan_u64(&q, line_end, &cpu) < 0 || cpu >= UINT32_MAX)
			continue;
		s.cpus++;
		if (cpu < s.first_cpu)
			s.first_cpu = (uint32_t)cpu;
	}
	if (!total)
		return err_set(err, -EINVAL, "stat: no line \"cpu\" with numbers");
	*ret = s;
	return 0;
}

static bool meminfo_line(const char *line, size_t len, struct meminfo_line *ret)
{
	const char *end = line + len;
	const char *colon = memchr(line, ':', len);
	const char *p, *unit;
	size_t unit_len;

	if (!colon || colon == line)
		return false;
	*ret = (struct meminfo_line){line, (size_t)(colon - line), 0, false};
	p = colon + 1;
	if (!scan_blank(&p, end) || scan_u64(&p, end, &ret->value) < 0)
		return false;
	if (p < end && *p != ' ' && *p != '\t')
		return false;
	if (!scan_word(&p, end, &unit, &unit_len))
		return true;
	if (unit_len != 2 || memcmp(unit, "kB", 2) != 0)
		return false;
	ret->is_bytes = true;
	return !__builtin_mul_overflow(ret->value, 1024, &ret->value);
}

bool proc_next_meminfo(const char **p, const char *end, struct meminfo_line *ret)
{
	const char *line;
	size_t len;

	while (scan_line(p, end, &line, &len)) {
		if (meminfo_line(line, len, ret))
			return true;
	}
	return false;
}

static bool netdev_line(const char *line, size_t len, struct netdev_line *ret)
{
	const char *end = line + len;
	const char *colon = memchr(line, ':', len);

	if (!colon)
		return false;
	while (line < colon && *line == ' ')
		line++;
	if (line == colon)
		return false;
	ret->name = line;
	ret->name_len = (size_t)(colon - line);
	const char *p = colon + 1;
	for (int i = 0; i < NETDEV_COUNTERS; i++) {
		if (!scan_blank(&p, end) || scan_u64(&p, end, &ret->counters[i]) < 0)
			return false;
	}
	return true;
}

bool proc_next_netdev(const char **p, const char *end, struct netdev_line *ret)
{
	const char *line;
	size_t len;

	while (scan_line(p, end, &line, &len)) {
		if (netdev_line(line, len, ret))
			return true;
	}
	return false;
}

/* "name<blanks>: number" */
static bool cpuinfo_value(const char *line, size_t len, const char *name, uint64_t *ret)
{
	size_t name_len = strlen(name);
	const char *end = line + len, *p = line + name_len;

	if (len < name_len || memcmp(line, name, name_len) != 0)
		return false;
	if (!scan_blank(&p, end) || *p != ':')
		return false;
	p++;
	return scan_blank(&p, end) && scan_u64(&p, end, ret) == 0;
}

uint32_t proc_parse_threads(const char *text, size_t len)
{
	const char *p = text, *end = text + len, *line;
	size_t line_len;
	uint64_t siblings = 0, cores = 0;

	while (scan_line(&p, end, &line, &line_len)) {
		if (!cpuinfo_value(line, line_len, "siblings", &siblings))
			(void)cpuinfo_value(line, line_len, "cpu cores", &cores);
		if (siblings && cores) {
			uint64_t n = siblings / cores;
			return n && n <= 1024 ? (uint32_t)n : 1;
		}
	}
	return 0;
}

/* "name<blanks>: text", the text without blanks around it */
static bool cpuinfo_text(const char *line, size_t len, const char *name,
			 const char **ret, size_t *ret_len)
{
	size_t name_len = strlen(name);
	const char *end = line + len, *p = line + name_len;

	if (len < name_len || memcmp(line, name, name_len) != 0)
		return false;
	if (!scan_blank(&p, end) || *p != ':')
		return false;
	p++;
	if (!scan_blank(&p, end))
		return false;
	*ret = p;
	*ret_len = (size_t)(end - p);
	return true;
}

static bool has_word(const char *p, size_t len, const char *word)
{
	const char *end = p + len, *w;
	size_t n;

	while (scan_word(&p, end, &w, &n)) {
		if (n == strlen(word) && memcmp(w, word, n) == 0)
			return true;
	}
	return false;
}

/* One line of the first CPU */
static void cpuinfo_line(const char *line, size_t len, struct proc_cpu *c)
{
	static const struct {
		const char *name;
		size_t off;
	} numbers[] = {{"cpu family", offsetof(struct proc_cpu, family)},
		       {"model", offsetof(struct proc_cpu, model)},
		       {"stepping", offsetof(struct proc_cpu, stepping)}};
	const char *text;
	uint64_t v;
	size_t n;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (cpuinfo_value(line, len, numbers[i].name, &v) && v <= UINT32_MAX)
			memcpy((char *)c + numbers[i].off, &(uint32_t){(uint32_t)v},
			       sizeof(uint32_t));
	}
	if (cpuinfo_text(line, len, "vendor_id", &text, &n) && n < sizeof(c->vendor)) {
		memcpy(c->vendor, text, n);
		c->vendor[n] = '\0';
	} else if (cpuinfo_text(line, len, "flags", &text, &n)) {
		c->guest = has_word(text, n, "hypervisor");
	}
}

void proc_parse_cpu(const char *text, size_t len, struct proc_cpu *ret)
{
	const char *p = text, *end = text + len, *line;
	bool seen[256] = {false}, first = true;
	size_t line_len;
	uint64_t id;

	*ret = (struct proc_cpu){.sockets = 0};
	while (scan_line(&p, end, &line, &line_len)) {
		/* an empty line ends each CPU */
		if (!line_len)
			first = false;
		if (first)
			cpuinfo_line(line, line_len, ret);
		if (cpuinfo_value(line, line_len, "physical id", &id) && id < 256 &&
		    !seen[id]) {
			seen[id] = true;
			ret->sockets++;
		}
	}
	if (!ret->sockets)
		ret->sockets = 1;
}
