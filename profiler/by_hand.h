/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_BY_HAND_H
#define CEEMS_PROFILER_BY_HAND_H

#include "lib/conf/program.h"
#include "profiler/files/reader.h"
#include "profiler/options.h"

/* Samples --cgroup for --duration, as root, and prints or pushes what it saw. */
enum program_status by_hand_run(const struct options *o, struct reader *reader);

#endif
