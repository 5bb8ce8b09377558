/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of control group files and of /proc/PID/cgroup; the first byte says which.
 * Beyond "no crash": a failed parser leaves its output alone. */
#include <stdlib.h>
#include <string.h>

#include "lib/cgroup.h"
#include "lib/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void cpu(const char *text, size_t len)
{
	struct cgroup_cpu c = {.user_ns = 1, .system_ns = 2}, t = c;
	uint64_t user = 3, system = 4;
	struct err err;

	if (cgroup_parse_cpu_stat(text, len, &c, &err) < 0)
		must(c.user_ns == 1 && c.system_ns == 2 && err.text[0]);
	else
		cgroup_keep_split(1, 2, &c);
	if (cgroup_parse_throttling(text, len, &t, &err) < 0)
		must(!t.has_throttling && err.text[0]);
	if (cgroup_parse_cpuacct_stat(text, len, &user, &system, &err) < 0)
		must(user == 3 && system == 4 && err.text[0]);
	struct cgroup_cpu split = {0};
	cgroup_split_usage(c.user_ns, user, system, &split);
	must(split.user_ns + split.system_ns == c.user_ns);
}

static void memory(const char *text, size_t len, bool v2)
{
	struct cgroup_memory m = {.rss_bytes = 1, .fail_count = 2, .oom_kills = 3};
	uint64_t max = 4;
	struct err err;

	if (cgroup_parse_memory_stat(text, len, v2, &m, &err) < 0)
		must(m.rss_bytes == 1 && err.text[0]);
	if (cgroup_parse_memory_events(text, len, v2, &m, &err) < 0)
		must(m.fail_count == 2 && m.oom_kills == 3 && err.text[0]);
	if (cgroup_parse_swap_events(text, len, &max, &err) < 0)
		must(max == 4 && err.text[0]);
}

static void psi(const char *text, size_t len)
{
	struct cgroup_psi p = {.some_ns = 1};
	struct err err;

	if (cgroup_parse_psi(text, len, &p, &err) < 0)
		must(p.some_ns == 1 && err.text[0]);
}

static void io(const char *text, size_t len, bool v2)
{
	uint64_t rd = 1, wr = 2;
	struct err err;

	if (cgroup_parse_io(text, len, v2, &rd, &wr, &err) < 0)
		must(rd == 1 && wr == 2 && err.text[0]);
	struct cgroup_io io = {.count = 0};
	if (cgroup_parse_io_devices(text, len, v2, false, &io, &err) < 0)
		must(io.count == 0 && err.text[0]);
	must(io.count <= CGROUP_IO_DEVICES_MAX);
}

static void list(const char *text, size_t len)
{
	uint32_t count = 7;

	if (parse_list_count(text, len, &count) < 0)
		must(count == 7);
	else
		must(count <= 1 << 20);
	(void)cgroup_controller_bits(text, len);
}

static void path(const char *text, size_t len)
{
	char *copy = malloc(len + 1), node[8];

	if (!copy)
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	must(cgroup_step_len(text, len) <= len);
	must(cgroup_job_len(text, len) <= cgroup_step_len(text, len));
	size_t unit_len = cgroup_machine_or_pod_len(text, len);
	must(unit_len <= len);
	must(!unit_len || cgroup_machine_or_pod_len(text, unit_len) == unit_len);
	if (cgroup_slurm_node(copy, node, sizeof(node)))
		must(memchr(node, '\0', sizeof(node)) != NULL);
	if (cgroup_path_ok(text, len))
		must(!strstr(copy, "/../"));
	free(copy);
}

static void proc_cgroup(const char *text, size_t len)
{
	struct record r;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	int lines = cgroup_record_paths(text, len, &r);
	must(lines >= 0 && lines <= 64 && r.cgroup_count <= RECORD_CGROUPS_MAX);
	must(lines > 0 || r.cgroup_count == 0);
	for (uint32_t i = 0; i < r.cgroup_count; i++) {
		const char *p = r.cgroups[i].path;
		must(memchr(p, '\0', RECORD_CGROUP_MAX) != NULL);
		must(cgroup_path_ok(p, strlen(p)));
		must(cgroup_step_len(p, strlen(p)) == strlen(p));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const char *text = (const char *)data + 1;
	size_t len = size - 1;
	switch (data[0]) {
	case 'c':
		cpu(text, len);
		break;
	case '1':
	case '2':
		memory(text, len, data[0] == '2');
		io(text, len, data[0] == '2');
		break;
	case 'p':
		psi(text, len);
		break;
	case 'r':
		proc_cgroup(text, len);
		break;
	case 'l':
		list(text, len);
		break;
	default:
		path(text, len);
		break;
	}
	return 0;
}
