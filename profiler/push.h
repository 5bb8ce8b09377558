/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PUSH_H
#define CEEMS_PROFILER_PUSH_H

#include "lib/buf.h"
#include "lib/conf/conf.h"
#include "lib/err.h"

/* Each is "name=value", and service_name is among them: else -EINVAL. */
int push_check_labels(const struct conf_list *labels, struct err *err);
/* Sends a profile (pprof.h) to Pyroscope at url by push.v1, as process_cpu with the
 * given labels, which have been checked. -EREMOTEIO: it refused the
 * profile, and says why. */
int push_profile(const char *url, const struct conf_list *labels,
		 const struct buf *profile, struct err *err);

#endif
