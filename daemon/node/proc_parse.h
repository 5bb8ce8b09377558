/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_NODE_PROC_PARSE_H
#define CEEMS_DAEMON_NODE_PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Parsers of procfs files about the node, for any bytes. Source: kernel
 * Documentation/filesystems/proc.rst, sections 1.2, 1.8 and 1.3. */

enum cpu_mode {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_MODES,
};

struct proc_stat {
	uint64_t ticks[CPU_MODES]; /* of all CPUs, in USER_HZ; user includes guest */
	uint32_t cpus;             /* online */
	uint32_t first_cpu;        /* the lowest number that is online */
};

/* /proc/stat: -EINVAL without a total line of at least four numbers. Older kernels give
 * fewer modes: the rest is 0. */
int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret,
		    struct err *err);

/* The next line of /proc/meminfo: name and bytes, or a plain count. Lines other than
 * "Name: number [kB]" are skipped. False at the end. */
struct meminfo_line {
	const char *name;
	size_t name_len;
	uint64_t value; /* bytes when is_bytes, else the number */
	bool is_bytes;
};
bool proc_next_meminfo(const char **p, const char *end, struct meminfo_line *ret);

#define NETDEV_COUNTERS 16

/* The next interface of /proc/net/dev; the two title lines and lines that are not an
 * interface with its 16 counters are skipped. False at the end. */
struct netdev_line {
	const char *name;
	size_t name_len;
	uint64_t counters[NETDEV_COUNTERS]; /* in the order of the file */
};
bool proc_next_netdev(const char **p, const char *end, struct netdev_line *ret);

/* Threads per core from /proc/cpuinfo ("siblings" / "cpu cores" of the first CPU that
 * has both); 0: unknown. */
uint32_t proc_parse_threads(const char *text, size_t len);

/* The first CPU in x86's /proc/cpuinfo, and properties of all of them */
struct proc_cpu {
	char vendor[16]; /* "GenuineIntel"; "" if missing (not x86) */
	uint32_t family, model, stepping;
	uint32_t sockets; /* distinct "physical id"s below 256; at least 1 */
	bool guest;       /* has the hypervisor flag */
};
void proc_parse_cpu(const char *text, size_t len, struct proc_cpu *ret);

#endif
