/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool doctor: what the kernel offers. Sources: kernel
 * Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid), bpf/btf.rst,
 * accounting/psi.rst, and kernel_lockdown(7), adjtimex(2). */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/tool/doctor.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/slurmconf.h"

/* Above it Debian's and Ubuntu's kernels refuse perf_event_open() to CAP_PERFMON. */
#define PARANOID_USUAL 2

static bool has_file(int dirfd, const char *path)
{
	return faccessat(dirfd, path, F_OK, 0) == 0;
}

/* Controllers of the v2 hierarchy's root that units are measured by */
static void check_v2_controllers(int rootfd, struct findings *f)
{
	static const char *const needed[] = {"cpu", "memory"};
	char text[512] = "";

	if (fs_read_at(rootfd, "cgroup.controllers", text, sizeof(text), NULL) < 0)
		return;
	for (char *p = text; *p; p++)
		if (*p == ' ' || *p == '\n')
			*p = ',';
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!slurmconf_names(text, NULL, needed[i]))
			finding(f, LEVEL_FAIL,
				"boot without cgroup_disable= and with "
				"systemd.unified_cgroup_hierarchy=1",
				"control groups: the kernel offers no %s controller, "
				"so that use of units is not measured",
				needed[i]);
}

static void check_groups(const struct doctor_paths *paths, struct findings *f)
{
	auto_close int rootfd = open(paths->cgroupfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_layout l;
	struct err err = {"not there"};

	if (rootfd < 0 || cgroup_probe(rootfd, &l, &err) < 0) {
		finding(f, LEVEL_FAIL, "mount the control groups there",
			"%s: %s: no unit can be measured", paths->cgroupfs, err.text);
		return;
	}
	if (l.unified_only) {
		finding(f, LEVEL_OK, NULL, "control groups: version 2");
		check_v2_controllers(rootfd, f);
		return;
	}
	finding(f, LEVEL_OK, NULL, "control groups: version 1%s",
		l.unified[0] ? ", with a version 2 hierarchy beside it" : "");
	if (!l.cpuacct[0] || !l.memory[0])
		finding(f, LEVEL_FAIL, "mount that hierarchy",
			"control groups: %s is not mounted, so that use of units is "
			"not measured",
			l.cpuacct[0] ? "memory" : "cpuacct");
}

static void check_bpf(int sysfd, struct findings *f)
{
	char text[128] = "";
	ssize_t n =
		fs_read_at(sysfd, "kernel/security/lockdown", text, sizeof(text), NULL);

	if (!has_file(sysfd, "kernel/btf/vmlinux"))
		finding(f, LEVEL_WARN,
			"boot a kernel with CONFIG_DEBUG_INFO_BTF, or accept it",
			"BPF: the kernel has no type information: no exact counters of "
			"groups that are removed without a stop record, no IO and "
			"network of units");
	else if (n > 0 && strstr(text, "[confidentiality]"))
		finding(f, LEVEL_WARN, "boot with lockdown=integrity, or accept it",
			"BPF: locked down for confidentiality: programs may not read "
			"the kernel's memory");
	else
		finding(f, LEVEL_OK, NULL, "BPF: the kernel has type information%s",
			n > 0 && strstr(text, "[integrity]") ? "; locked down for "
							       "integrity"
							     : "");
}

static void check_events(int procfd, int sysfd, struct findings *f)
{
	static const char *const pmus[] = {"cpu", "cpu_core", "armv8_pmuv3",
					   "armv8_pmuv3_0"};
	char text[32], path[64];
	int64_t level = 0;

	if (fs_read_at(procfd, "sys/kernel/perf_event_paranoid", text, sizeof(text),
		       NULL) > 0) {
		text[strcspn(text, "\n")] = '\0';
		if (parse_s64(text, &level) < 0)
			level = 0;
	}
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++) {
		(void)snprintf(path, sizeof(path), "bus/event_source/devices/%s",
			       pmus[i]);
		if (!has_file(sysfd, path))
			continue;
		finding(f, LEVEL_OK, NULL,
			"counters: hardware events by %s; perf_event_paranoid is "
			"%lld%s",
			pmus[i], (long long)level,
			level > PARANOID_USUAL ? ", so that ceems-opener keeps "
						 "CAP_SYS_ADMIN"
					       : "");
		return;
	}
	finding(f, LEVEL_OK, NULL,
		"counters: the CPU shows no hardware events (a virtual machine?): "
		"software events only");
}

static void check_pressure(int procfd, struct findings *f)
{
	finding(f, LEVEL_OK, NULL,
		has_file(procfd, "pressure/cpu")
			? "pressure: the kernel accounts stalls (PSI)"
			: "pressure: the kernel accounts no stalls (psi=1 would switch "
			  "it on)");
}

/* Records carry wall-clock times; the aggregator places those of a wrong clock by age,
 * but they wait for it. */
static void check_clock(struct findings *f)
{
	struct timex t = {.modes = 0};
	int state = adjtimex(&t);

	if (state < 0 || state == TIME_ERROR || t.status & STA_UNSYNC)
		finding(f, LEVEL_WARN, "run chrony or systemd-timesyncd",
			"clock: nothing keeps it right (the kernel says: not "
			"synchronised)");
	else
		finding(f, LEVEL_OK, NULL,
			"clock: synchronised, at most %ld ms off by its own account",
			t.maxerror / 1000);
}

void doctor_kernel(const struct doctor_paths *paths, struct findings *f)
{
	auto_close int procfd = open(paths->procfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int sysfd = open(paths->sysfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct utsname name;

	if (uname(&name) == 0)
		finding(f, LEVEL_OK, NULL, "%s %s, %s", name.sysname, name.release,
			name.machine);
	check_groups(paths, f);
	if (procfd < 0 || sysfd < 0) {
		finding(f, LEVEL_FAIL, "mount them", "%s or %s is not there",
			paths->procfs, paths->sysfs);
		return;
	}
	check_bpf(sysfd, f);
	check_events(procfd, sysfd, f);
	check_pressure(procfd, f);
	check_clock(f);
}
