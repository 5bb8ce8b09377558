/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first line that says anything: libbpf prints the verifier's whole log. */
static char said[160];

static int keep_line(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[sizeof(said)];

	if (level != LIBBPF_WARN)
		return 0;
	int n = vsnprintf(line, sizeof(line), format, args);
	size_t len = strcspn(line, "\n");
	line[len] = '\0';
	/* which libbpf says first where nothing can be loaded; load_prepare() did it */
	if (strstr(line, "RLIMIT_MEMLOCK"))
		return 0;
	if (n > 0 && len && !said[0])
		memcpy(said, line, len + 1);
	return 0;
}

int load_prepare(struct err *err)
{
	/* before 5.11 maps count as locked memory */
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	(void)setrlimit(RLIMIT_MEMLOCK, &none);
	said[0] = '\0';
	libbpf_set_print(keep_line);
	if (access(LOAD_KERNEL_BTF, R_OK) == 0)
		return 0;
	return err_set(err, -errno,
		       "%s: %s: this kernel does not describe itself "
		       "(CONFIG_DEBUG_INFO_BTF)",
		       LOAD_KERNEL_BTF, strerror(errno));
}

int load_refused(struct err *err, int rc, const char *what)
{
	return err_set(err, rc, "%s: %s%s%s%s", what, strerror(-rc),
		       rc == -EPERM
			       ? " (it takes CAP_BPF and CAP_PERFMON, and a kernel "
				 "that is not locked down)"
			       : "",
		       said[0] ? ": " : "", said);
}

int load_stripes(uint32_t max, uint32_t *ret)
{
	int cpus = libbpf_num_possible_cpus();

	for (*ret = 1; cpus > 0 && *ret < (uint32_t)cpus && *ret < max;)
		*ret *= 2;
	return cpus < 0 ? cpus : 0;
}
