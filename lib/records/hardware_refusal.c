/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/hardware_refusal.h"

#include <errno.h>
#include <string.h>

const char *hardware_refusal(int rc)
{
	switch (-rc) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "these CPUs have none, or a hypervisor hides them";
	case EACCES:
	case EPERM:
		return "it takes CAP_PERFMON, and a kernel.perf_event_paranoid that "
		       "lets it do";
	case EBUSY:
		return "something else holds the CPUs' counters: a profiler, the "
		       "firmware, or kernel.nmi_watchdog";
	case EMFILE:
	case ENFILE:
		return "more open files than the limit (LimitNOFILE)";
	case ENOSPC:
	case EINVAL:
		return "the CPUs cannot count that many at once, or not this one";
	default:
		return strerror(-rc);
	}
}
