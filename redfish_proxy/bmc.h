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

/* One BMC: how it is reached, what waits for it, how it has been. The lists and numbers
 * are target.c's, under its mutex. */

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
	bool runnable; /* a thread will look at it */
	struct bmc_job *first, **last;
	unsigned queued, running;
	struct bmc_session *idle;
	uint64_t tokens_us, tokens_ns; /* microtokens, as of then */
	uint64_t used_ns;
	unsigned failures;
	uint64_t down_until_ns;
	unsigned down_status;  /* what is answered meanwhile */
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
	bool down;        /* the BMC itself does not do */
	unsigned logins;
	uint64_t took_ns;
	struct reply *reply; /* NULL: no memory */
	struct err err;
};

/* config and conf are borrowed; conf NULL: nothing of its own. NULL: no memory. */
struct bmc *bmc_new(const char *url, const struct config *config,
		    const struct config_target *conf, const atomic_bool *abort,
		    uint64_t now_ns);
void bmc_free(struct bmc *b); /* without sessions and jobs */

/* Whether a request is within limits.rate and limits.burst. */
bool bmc_take_token(struct bmc *b, const struct config_limits *l, uint64_t now_ns);

/* Asks; *s is the connection to use, NULL to make one, NULL afterwards when there is
 * none. Waits. */
void bmc_ask(const struct bmc *b, struct bmc_session **s, const char *path,
	     struct bmc_answer *ret);

/* Signs out first, unless timeout_ms is 0. */
void bmc_session_free(struct bmc_session *s, uint32_t timeout_ms);

#endif
