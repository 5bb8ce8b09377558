/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_CLOUD_SESSION_H
#define CEEMS_AGGREGATOR_OPENSTACK_CLOUD_SESSION_H

#include <stdatomic.h>
#include <stdint.h>

#include "aggregator/openstack/cloud_config.h"
#include "lib/http/client.h"

/* Requests to one cloud with a token of Keystone's, which is renewed before it ends
 * and when a service does not take it any more. For one thread. */

struct cloud_session;

enum cloud_service { CLOUD_IDENTITY, CLOUD_COMPUTE };

/* cloud is borrowed. When *stop becomes true, requests end with -ECANCELED. */
int cloud_session_new(const struct cloud *cloud, const atomic_bool *stop,
		      struct cloud_session **ret, struct err *err);
void cloud_session_free(struct cloud_session *s); /* accepts NULL */

/* GET of a path below the service's endpoint. 0: ret->status is 200, or one of `also`
 * (0: none). -EAGAIN: the service asks for a pause, see cloud_session_pause_s();
 * -EACCES: Keystone does not know us; -EPROTO: another status; else as
 * http_client_do(). */
int cloud_session_get(struct cloud_session *s, enum cloud_service service,
		      const char *path, unsigned also, struct http_response *ret,
		      struct err *err);

/* The same, but that the body of an answer of status 200 goes to take(), piece by
 * piece, whatever its length. False ends the request with -ECANCELED. */
int cloud_session_read(struct cloud_session *s, enum cloud_service service,
		       const char *path,
		       bool (*take)(void *arg, const char *data, size_t len),
		       void *take_arg, struct http_response *ret, struct err *err);

/* Seconds that the last -EAGAIN asks for, 1 to 3600. */
uint64_t cloud_session_pause_s(const struct cloud_session *s);
/* The service's clock, from the Date of its last answer; 0: it has none. */
uint64_t cloud_session_date_s(const struct cloud_session *s);
/* Of all requests, any thread. */
uint64_t cloud_session_requests(const struct cloud_session *s);

#endif
