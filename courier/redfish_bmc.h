/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_BMC_H
#define CEEMS_COURIER_REDFISH_BMC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "courier/redfish_config.h"
#include "courier/redfish_json.h"
#include "lib/err.h"

/* One BMC: its kept-alive connection and the session on it. One request and one thread
 * at a time. */
struct redfish_bmc;

/* config is borrowed. url: the BMC's; NULL: external_url decides which one is meant.
 * interval_ms: polling interval, to warn that a session would not last as long. Makes
 * no request. */
int redfish_bmc_new(const struct redfish_config *config, const char *url,
		    uint64_t interval_ms, const atomic_bool *stop,
		    struct redfish_bmc **ret, struct err *err);

/* GETs a resource, logging in first if configured. A session that the BMC has ended is
 * renewed once. 0 and an object to free; -ENOENT: 404; -EACCES: the BMC refuses the
 * login, which is not retried for a growing time (accounts get locked); -EBADMSG: not
 * Redfish; -EIO: another status; else as http_client_do(). */
int redfish_bmc_get(struct redfish_bmc *b, const char *path, struct json_object **ret,
		    struct err *err);

/* Ends the session, within two seconds. NULL-safe. */
void redfish_bmc_free(struct redfish_bmc *b);

#endif
