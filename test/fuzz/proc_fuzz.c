/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's procfs texts: stat, meminfo, net/dev, cpuinfo. */
#include "daemon/node/proc_parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size, *p;
	struct proc_stat s;
	struct meminfo_line m;
	struct netdev_line d;
	struct err err;

	if (proc_parse_stat(text, size, &s, &err) < 0 && !err.text[0])
		abort();
	p = text;
	while (proc_next_meminfo(&p, end, &m)) {
		if (!m.name_len || m.name < text || m.name + m.name_len >= end ||
		    memchr(m.name, '\n', m.name_len))
			abort();
	}
	p = text;
	while (proc_next_netdev(&p, end, &d)) {
		if (!d.name_len || d.name < text || d.name + d.name_len >= end)
			abort();
	}
	if (proc_parse_threads(text, size) > 1024)
		abort();
	struct proc_cpu cpu;
	proc_parse_cpu(text, size, &cpu);
	if (!cpu.sockets || cpu.sockets > 256 ||
	    !memchr(cpu.vendor, '\0', sizeof(cpu.vendor)))
		abort();
	return 0;
}
