/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_BACKEND_IMPL_H
#define CEEMS_LB_SITE_BACKEND_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/site/backend.h"
#include "lib/arena.h"
#include "lib/http/client.h"
#include "lib/log.h"

/* Creating servers and sets, and their health: for lb/site/site*.c, lb/site/health.c
 * and tests. */

#define BACKENDS_MAX 64 /* in one set */

enum backend_strategy { STRATEGY_ROUND_ROBIN, STRATEGY_LEAST_CONNECTION };

/* When a server counts as down, and how it comes back. Zero: the default
 * (slow_start_ms: off). */
struct backend_care {
	uint32_t interval_ms;   /* between checks; 5 s */
	uint32_t timeout_ms;    /* of one; 2 s */
	uint32_t fall;          /* failed checks until it is down; 2 */
	uint32_t fail_after;    /* failed requests in a row until it is ejected; 3 */
	uint32_t eject_ms;      /* doubled each time; 1 s */
	uint32_t eject_max_ms;  /* 60 s */
	uint32_t slow_start_ms; /* from a tenth of its share to all of it */
};

/* One server as configured; backend_new() borrows all of it. */
struct backend_params {
	const char *cluster;
	bool pyroscope;
	const char *name, *host, *base_path;
	uint16_t port;
	bool tls;
	/* Value of Authorization, and other headers, for each request */
	const char *authorization;
	const struct http_header *headers;
	size_t header_count;
	const char *ca_file, *cert_file, *key_file, *server_name;
	bool insecure;
	uint32_t connect_timeout_ms, timeout_ms, first_byte_timeout_ms;
	const char *const *filter_labels;
	size_t filter_label_count;
	uint32_t max_requests; /* at a time; 0: no limit */
	/* The data it holds: the last retention_ms (0: all), and of that from from_ms
	 * to to_ms (INT64_MIN, INT64_MAX: unbounded). */
	uint64_t retention_ms;
	int64_t from_ms, to_ms;
	int dialect;           /* enum promql_dialect; -1: from its build info */
	unsigned promql_flags; /* of enum promql_flag */
	struct backend_care care;
};

struct backend_server {
	struct backend pub; /* first */
	atomic_uint refs;
	struct arena arena;
	struct backend_params p; /* own copies */
	char *key;               /* its whole configuration as a text */

	_Alignas(64) atomic_uint in_flight;
	atomic_uint failures;          /* in a row */
	atomic_uint ejections;         /* since its last answer */
	atomic_int_least64_t until_ms; /* ejected; 0: not. CLOCK_BOOTTIME */
	atomic_int_least64_t since_ms; /* when it came back; 0: long ago */
	atomic_bool down;              /* by checks */
	atomic_bool look;              /* check it now */
	atomic_int seen_dialect;       /* -1: unknown */
	atomic_uint_least64_t ended[4], ejected, first_byte_ms, checks, checks_failed;

	/* of lb/site/health.c, under its mutex */
	bool checking;
	int64_t next_ms;
	uint32_t bad_checks;
	int64_t dialect_ms; /* last time it was asked */
	bool known;         /* a check has finished */
};

static inline struct backend_server *backend_server(struct backend *b)
{
	return (struct backend_server *)(void *)b;
}

int backend_new(const struct backend_params *p, struct backend **ret, struct err *err);
/* Whether a server is configured as in p and can be kept. */
bool backend_same(const struct backend *b, const struct backend_params *p);
/* Result of a check; boot_ms: CLOCK_BOOTTIME. True: it has changed. */
bool backend_set_down(struct backend_server *b, bool down, int64_t boot_ms);
void backend_ended_at(struct backend *b, enum backend_outcome how,
		      uint32_t first_byte_ms, int64_t boot_ms);

/* servers: held by the set from now on, even on failure; at most BACKENDS_MAX. Servers
 * that hold the same time share its load; among groups of them the earlier in the given
 * order is preferred. */
int backend_set_new(enum backend_strategy strategy, struct backend *const *servers,
		    size_t count, struct backend_set **ret, struct err *err);
void backend_set_free(struct backend_set *s); /* accepts NULL */
size_t backend_set_count(const struct backend_set *s);
struct backend_server *backend_set_at(const struct backend_set *s, size_t i);
int backend_pick_at(struct backend_set *s, const struct backend_need *need,
		    int64_t boot_ms, struct backend **ret, struct err *err);

int64_t backend_boot_ms(void);
/* Samples of one server, labelled by cluster, protocol and name. */
void backend_metrics(struct backend_server *b, struct prom *out);

#endif
