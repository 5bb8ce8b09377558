/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_HARDWARE_REFUSAL_H
#define CEEMS_LIB_RECORDS_HARDWARE_REFUSAL_H

/* Why perf_event_open(2) did not open an event, and what to do; rc: negative errno. */
const char *hardware_refusal(int rc);

#endif
