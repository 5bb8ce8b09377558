/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_GATE_LIMIT_H
#define CEEMS_LB_GATE_GATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Limits each user's concurrent requests and request rate. A bounded table of recent
 * users; thread safe. */

struct gate_limits;

#define GATE_LIMIT_USERS 65536u

struct gate_rate {
	uint32_t at_a_time; /* 0: no limit */
	uint32_t per_s;     /* 0: no limit */
	uint32_t burst;     /* 0: as per_s */
};

int gate_limits_new(struct gate_limits **ret);
void gate_limits_free(struct gate_limits *l); /* accepts NULL */

enum gate_limited { GATE_MAY, GATE_BUSY, GATE_FAST };

/* GATE_MAY: one more is running, to be ended; else *ret_wait_s says when a retry makes
 * sense. */
enum gate_limited gate_limit_begin(struct gate_limits *l, const char *login,
				   const struct gate_rate *rate, uint64_t now_ms,
				   uint32_t *ret_wait_s);
void gate_limit_end(struct gate_limits *l, const char *login);

#endif
