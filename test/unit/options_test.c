/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

#define ARGS_MAX 8

static struct options o;
static struct err err;
static struct buf out, warnings;

/* Loads with up to ARGS_MAX - 1 arguments, blank between them. */
static int load_into(struct options *dst, const char *line)
{
	char text[512], *argv[ARGS_MAX + 1] = {(char *)"ceemsd"}, *save = NULL;
	int argc = 1;
	snprintf(text, sizeof(text), "%s", line);
	for (char *a = strtok_r(text, " ", &save); a && argc < ARGS_MAX;
	     a = strtok_r(NULL, " ", &save))
		argv[argc++] = a;
	buf_reset(&out);
	buf_reset(&warnings);
	return options_load(argc, argv, dst, &out, &warnings, &err);
}

static int load(const char *line)
{
	options_release(&o);
	return load_into(&o, line);
}

static void defaults_are_those_that_are_documented(void **state)
{
	(void)state;
	assert_int_equal(load(""), 0);
	assert_int_equal(warnings.len, 0);
	assert_int_equal(o.ring_poll_ms, 50);
	assert_int_equal(o.ring_slots, 4096);
	assert_int_equal(o.unit_linger_ms, 60000);
	assert_int_equal(o.unit_max_exported, 2000);
	assert_int_equal(o.unit_min_export_ms, 0);
	assert_int_equal(o.unit_capacity, 4096);
	assert_int_equal(o.listen_addresses.count, 1);
	assert_string_equal(o.listen_addresses.items[0], ":9010");
	assert_string_equal(o.telemetry_path, "/metrics");
	assert_int_equal(o.max_requests, 40);
	assert_string_equal(o.path_procfs, "/proc");
	assert_string_equal(o.path_sysfs, "/sys");
	assert_string_equal(o.path_cgroupfs, "/sys/fs/cgroup");
	assert_string_equal(o.path_rundir, "/run/ceems");
	assert_true(o.drop_privileges);
	assert_string_equal(program_log_levels[o.log_level], "info");
	static const struct {
		const char *name;
		bool on;
	} collectors[] = {{"cpu", true},     {"meminfo", true},
			  {"ring", true},    {"slurm", false},
			  {"netdev", false}, {"infiniband", false},
			  {"model", true},   {"rapl", true},
			  {"hwmon", false},  {"cray_pm_counters", false},
			  {"nothing", false}};
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		assert_int_equal(options_collector(&o, collectors[i].name),
				 collectors[i].on);
}

/* Every spelling of the peer for what this daemon has, with a value that is not the
 * default where there is one. */
static void every_spelling_of_the_peer_is_accepted(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"--web.listen-address=:1 --web.listen-address=127.0.0.1:2",
		"--web.telemetry-path=/m",
		"--web.targets-path=/t",
		"--discoverer.alloy-targets --discoverer.alloy-targets.self-profiler",
		"--discoverer.alloy-targets.env-var=A "
		"--discoverer.alloy-targets.env-var=B",
		"--discoverer.alloy-targets.resource-manager=slurm",
		"--profiling.ebpf --profiling.ebpf.self-profiler",
		"--profiling.ebpf.config.file=/x "
		"--profiling.ebpf.config.file.expand-env-vars",
		"--profiling.ebpf.config-file=/x",
		"--profiling.ebpf.env-var=A --profiling.ebpf.env-var=B",
		"--web.config.file=/x",
		"--web.max-requests=0",
		"--web.disable-exporter-metrics",
		"--web.debug-server",
		"--no-web.debug-server",
		"--web.systemd-socket",
		"--log.level=debug",
		"--log.level=warn",
		"--log.format=json",
		"--runtime.gomaxprocs=4",
		"--security.run-as-user=nobody",
		"--no-security.drop-privileges",
		"--security.drop-privileges",
		"--security.disable-cap-awareness",
		"--path.sysfs=/s --path.procfs=/p --path.cgroupfs=/c",
		"--collector.empty-hostname-label",
		"--collector.disable-defaults",
		"--collector.cgroups.active-subsystem=memory",
		"--collector.cgroup.active-subsystem=memory",
		"--collector.cgroups.force-version=v1",
		"--collector.cgroups.force-version=v2",
		"--collector.slurm",
		"--no-collector.slurm",
		"--collector.slurm.swap-memory-metrics",
		"--collector.slurm.swap.memory.metrics",
		"--collector.slurm.psi-metrics",
		"--collector.slurm.psi.metrics",
		"--collector.slurm.gres-config-file=/g",
		"--collector.slurm.gpu-order-map=0:1,1:0.3,2:0.4,3:0.5,4:0.6",
		"--collector.gpu.type=nogpu",
		"--collector.gpu.nvidia-smi-path=/n",
		"--collector.gpu.rocm-smi-path=/r",
		"--collector.gpu.amd-smi-path=/a",
		"--collector.cpu",
		"--no-collector.cpu",
		"--collector.meminfo",
		"--no-collector.meminfo",
		"--collector.meminfo.all-stats",
		"--collector.meminfo.all.stats",
		"--collector.netdev",
		"--collector.netdev.device-include=^eth",
		"--collector.netdev.device-exclude=^lo$",
		"--collector.infiniband",
		"--collector.rapl",
		"--collector.rdma.stats",
		"--collector.rdma.cmd=/usr/bin/rdma",
		"--no-collector.rapl",
		"--collector.rapl.enable-zone-label",
		"--collector.hwmon",
		"--collector.cray_pm_counters",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int rc = load(lines[i]);
		if (rc)
			fail_msg("%s: %s", lines[i], err.text);
	}
}

static void an_old_spelling_sets_the_new_option_and_says_so(void **state)
{
	(void)state;
	unsigned seen = 0;
	for (size_t i = 0; i < options_count; i++) {
		const struct conf_opt *a = &options_table[i], *target = NULL;
		if (!a->alias_of)
			continue;
		seen++;
		for (size_t k = 0; k < options_count; k++) {
			if (strcmp(options_table[k].name, a->alias_of) == 0)
				target = &options_table[k];
		}
		assert_non_null(target);
		assert_int_equal(a->off, target->off);
		assert_int_equal(a->kind, target->kind);
		assert_true(a->flags & CONF_DEPRECATED);
		char line[256];
		snprintf(line, sizeof(line), "--%s%s", a->name,
			 a->kind == CONF_BOOL ? "" : "=/memory");
		assert_int_equal(load(line), 0);
		assert_non_null(strstr(warnings.data, a->alias_of));
		if (a->kind == CONF_BOOL)
			assert_true(*((bool *)(void *)((char *)&o + a->off)));
		else if (a->kind == CONF_LIST)
			assert_string_equal(
				((struct conf_list *)(void *)((char *)&o + a->off))
					->items[0],
				"/memory");
		else
			assert_string_equal(*(char **)(void *)((char *)&o + a->off),
					    "/memory");
	}
	assert_int_equal(seen, 13);
}

static void disable_defaults_leaves_what_is_named(void **state)
{
	(void)state;
	assert_int_equal(load("--collector.disable-defaults --collector.cpu "
			      "--collector.slurm"),
			 0);
	assert_true(o.collector_cpu && o.collector_slurm);
	assert_false(o.collector_meminfo || o.collector_ring || o.collector_netdev);
	assert_int_equal(load("--collector.disable-defaults"), 0);
	for (size_t i = 0; i < options_count; i++) {
		if (strncmp(options_table[i].name, "collector.", 10) == 0 &&
		    !strchr(options_table[i].name + 10, '.') &&
		    !strchr(options_table[i].name, '-'))
			assert_false(options_collector(&o, options_table[i].name + 10));
	}
}

static void what_cannot_be_is_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *line, *text;
	} cases[] = {
		{"--no-such-flag", "no-such-flag"},
		{"--ring.slots=100", "--ring.slots=100: must be a power of two"},
		{"--collector.perf.software-profilers=CpuCycles",
		 "--collector.perf.software-profilers=CpuCycles: must be one of "
		 "PageFault, ContextSwitch, CpuMigration, MinorFault, MajorFault"},
		{"--collector.perf.hardware-profilers=PageFault",
		 "--collector.perf.hardware-profilers=PageFault: must be one of "
		 "CpuCycles, CpuInstr, "},
		{"--collector.perf.cache-profilers=CpuCycles",
		 "--collector.perf.cache-profilers=CpuCycles: must be one of "
		 "L1DataReadHit, "},
		{"--ring.slots=8", "ring.slots"},
		{"--ring.poll=soon", "ring.poll"},
		{"--log.level=loud", "log.level"},
		{"--web.max-requests=-1", "web.max-requests"},
		{"--web.telemetry-path=metrics", "must begin with /"},
		{"--collector.netdev.device-include=a "
		 "--collector.netdev.device-exclude=b",
		 "exclude each other"},
		{"--collector.netdev.device-exclude=eth[", "device-exclude=eth["},
		{"--collector.netdev.device-include=^eth\\d+$", "write [0-9]"},
		{"--collector.netdev.device-exclude=\\\\\\pL", "\\p is not known"},
		{"--discoverer", "discoverer"}, /* of a later version */
		{"--unit.capacity=1", "unit.capacity"},
		{"--collector.ipmi_dcmi.cmd=ipmitool",
		 "must begin with an absolute path"},
		{"--collector.ipmi_dcmi.dev-num=256", "dev-num"},
		{"--collector.hwmon.host-sensor=power1", "not CHIP/powerN"},
		{"--collector.hwmon.host-sensor=chip/temp1", "not CHIP/powerN"},
		{"--energy.model=guess", "energy.model"},
		{"--energy.model.max-watts=100", "together or not at all"},
		{"--energy.model.idle-watts=a --energy.model.max-watts=9",
		 "--energy.model.idle-watts=a: not a number of watts"},
		{"--energy.model.curve=0:10,50:5,100:20",
		 "point 2: watts must not fall"},
		{"--energy.model.host-cpus=8", "says whose"},
		{"stray", "stray"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (load(cases[i].line) >= 0)
			fail_msg("%s was accepted", cases[i].line);
		if (!strstr(err.text, cases[i].text))
			fail_msg("%s: %s", cases[i].line, err.text);
	}
}

static void file_is_under_the_command_line_and_over_the_environment(void **state)
{
	(void)state;
	char name[] = "/tmp/ceems-options-test.XXXXXX", line[128];
	static const char text[] = "unit:\n  linger: 10s\n  max-exported: 7\n"
				   "collector:\n  slurm:\n    enabled: true\n"
				   "    psi-metrics: true\n"
				   "web.listen-address: [\":1\", \":2\"]\n";
	auto_close int fd = mkostemp(name, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
	setenv("CEEMS_UNIT_MAX_EXPORTED", "9", 1);
	setenv("CEEMS_UNIT_CAPACITY", "99", 1);
	setenv("CEEMS_EXPORTER_WEB_CONFIG_FILE", "/w", 1);
	snprintf(line, sizeof(line), "--config.file=%s --unit.linger=20s", name);
	int rc = load(line);
	unsetenv("CEEMS_UNIT_MAX_EXPORTED");
	unsetenv("CEEMS_UNIT_CAPACITY");
	unsetenv("CEEMS_EXPORTER_WEB_CONFIG_FILE");
	unlink(name);
	assert_int_equal(rc, 0);
	assert_int_equal(o.unit_linger_ms, 20000);
	assert_int_equal(o.unit_max_exported, 7);
	assert_int_equal(o.unit_capacity, 99);
	assert_string_equal(o.web_config_file, "/w");
	assert_true(o.collector_slurm && o.slurm_psi);
	assert_int_equal(o.listen_addresses.count, 2);
}

static void reload_takes_what_may_change_and_names_the_rest(void **state)
{
	(void)state;
	struct options fresh;
	auto_buf struct buf applied = BUF_INIT, restart = BUF_INIT;
	assert_int_equal(load("--unit.linger=10s --path.rundir=/a"), 0);
	assert_int_equal(load_into(&fresh, "--unit.linger=30s --log.level=debug "
					   "--path.rundir=/b --web.listen-address=:5"),
			 0);
	options_reload(&o, &fresh, &applied, &restart);
	options_release(&fresh);
	assert_string_equal(applied.data, "log.level, unit.linger");
	assert_string_equal(restart.data, "path.rundir, web.listen-address");
	assert_int_equal(o.unit_linger_ms, 30000);
	assert_string_equal(program_log_levels[o.log_level], "debug");
	assert_string_equal(o.path_rundir, "/a");
	assert_string_equal(o.listen_addresses.items[0], ":9010");
}

static void an_aggregator_is_sent_something(void **state)
{
	(void)state;
	assert_int_equal(load("--aggregator.url=https://a:9020"), 0);
	assert_true(o.reports_enabled);
	assert_int_equal(load("--reports.enabled"), 0);
	assert_true(o.reports_enabled);
	assert_int_equal(load(""), 0);
	assert_false(o.reports_enabled);
}

static void help_shows_each_option_once_and_no_hidden_one(void **state)
{
	(void)state;
	assert_int_equal(load("--help"), 1);
	for (size_t i = 0; i < options_count; i++) {
		char name[128];
		snprintf(name, sizeof(name), "%s", options_table[i].name);
		bool shown = false;
		size_t n = strlen(name);
		for (const char *p = out.data; (p = strstr(p, name)); p += n)
			shown = shown || (strchr("-]", p[-1]) && strchr(" =\n,", p[n]));
		if (shown == !!(options_table[i].flags & (CONF_HIDDEN | CONF_LATER)))
			fail_msg("%s: %s in --help", name, shown ? "is" : "is not");
	}
}

static int teardown(void **state)
{
	(void)state;
	options_release(&o);
	buf_done(&out);
	buf_done(&warnings);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_that_are_documented),
		cmocka_unit_test(every_spelling_of_the_peer_is_accepted),
		cmocka_unit_test(an_old_spelling_sets_the_new_option_and_says_so),
		cmocka_unit_test(disable_defaults_leaves_what_is_named),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(
			file_is_under_the_command_line_and_over_the_environment),
		cmocka_unit_test(reload_takes_what_may_change_and_names_the_rest),
		cmocka_unit_test(an_aggregator_is_sent_something),
		cmocka_unit_test(help_shows_each_option_once_and_no_hidden_one),
	};
	return cmocka_run_group_tests_name("options", tests, NULL, teardown);
}
