/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SERVE_H
#define CEEMS_PROFILER_SERVE_H

#include <stdbool.h>

#include "lib/conf/program.h"
#include "lib/records/profile_request.h"
#include "profiler/files/reader.h"
#include "profiler/options.h"

/* As ceemsd's child: samples the steps that it tells of, until it is gone. */
enum program_status serve_daemon(const struct options *o, struct reader *reader);
/* The tables that so much memory has room for; half of it is for all else. */
struct profile_room serve_room(uint64_t bytes, bool off_cpu);

#endif
