/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_BMC_H
#define CEEMS_REDFISH_PROXY_BMC_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/log.h"
#include "redfish_proxy/cache.h"
#include "redfish_proxy/config.h"
#include "redfish_proxy/metrics.h"
#include "redfish_proxy/session.h"

/* One BMC: its connection settings, queue and state. Lists and counters belong to
 * target.c, under its mutex. */

struct bmc_job {
	struct bmc_job *next;
	struct cache_entry *entry;
};

/* A connection that is signed in. */
struct bmc_session {
	struct bmc_session *next;
	struct session *redfish;
};

struct bmc {
	struct bmc *chain, *prev, *next, *run_next;
	bool runnable; /* a thread will handle it */
	struct bmc_job *first, **last;
	unsigned queued, running;
	struct bmc_session *idle;
	uint64_t tokens_us, tokens_ns; /* millionths of a token, at tokens_ns */
	uint64_t used_ns;
	unsigned failures;
	uint64_t down_until_ns;
	unsigned down_status;  /* answer while it is down */
	const char *down_text; /* static */
	struct log_repeat log;
	/* constant */
	struct http_client_config http;
	enum redfish_login login;
	struct http_auth auth;
	char url[];
};

struct bmc_answer {
	enum metrics_result result;
	unsigned status;
	const char *text; /* static; for a failure */
	bool down;        /* the BMC itself failed */
	unsigned logins;
	uint64_t took_ns;
	struct reply *reply; /* NULL: no memory */
	struct err err;
};

/* config and conf are borrowed; conf NULL: no settings of its own. NULL: no memory. */
struct bmc *bmc_new(const char *url, const struct config *config,
		    const struct config_target *conf, const atomic_bool *abort,
		    uint64_t now_ns);
void bmc_free(struct bmc *b); /* no sessions or jobs may be left */

/* Whether a request is within limits.rate and limits.burst. */
bool bmc_take_token(struct bmc *b, const struct config_limits *l, uint64_t now_ns);

/* Asks the BMC, blocking. *s is the connection to use, or NULL to make one; afterwards
 * NULL if there is none. */
void bmc_ask(const struct bmc *b, struct bmc_session **s, const char *path,
	     struct bmc_answer *ret);

/* Signs out first, unless timeout_ms is 0. */
void bmc_session_free(struct bmc_session *s, uint32_t timeout_ms);

#endif
