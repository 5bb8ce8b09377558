/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_BENCH_LB_CLIENT_ENDS_H
#define CEEMS_TEST_BENCH_LB_CLIENT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Both ends of what test/bench/lb_client.c measures: the backend before it and the
 * clients behind it, each in a process of its own. */

/* What must become of an answer. */
enum lie_end {
	LIE_REFUSED, /* nothing of it is passed on */
	LIE_CUT,     /* refused, or passed on without an end */
	LIE_WHOLE,   /* refused, or passed on */
	LIE_PASSED,
};

struct lie {
	const char *what;
	enum lie_end must;
	bool closes; /* the backend closes the connection behind it */
	const char *answer;
	size_t len;
};
extern const struct lie lies[];
extern const size_t lie_count;

/* A server on loopback: GET /N is answered by N bytes of 'x', GET /lie/K by lies[K].
 * Ends with its parent. Its process, or negative errno. */
pid_t start_backend(uint16_t *ret_port);

/* Reads from the second socket of each pair, in a thread for each, until all the first
 * ones are closed; slow: 64 kB every 2 ms of each. The caller keeps the first ones. */
pid_t start_readers(int (*pairs)[2], size_t count, bool slow);

#endif
