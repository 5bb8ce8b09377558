/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_BMC_H
#define CEEMS_COURIER_REDFISH_BMC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "courier/redfish_config.h"
#include "courier/redfish_json.h"
#include "lib/err.h"

/* One BMC: its connection, which is kept, and the session on it. One request at a time;
 * one thread at a time. */
struct redfish_bmc;

/* config is borrowed. url: of the BMC; NULL: external_url knows which is meant.
 * interval_ms: how often it will be asked, for the warning that a session would not
 * last so long. Asks nothing. */
int redfish_bmc_new(const struct redfish_config *config, const char *url,
		    uint64_t interval_ms, const atomic_bool *stop,
		    struct redfish_bmc **ret, struct err *err);

/* GET of a resource, logged in before where that is configured. A session that the BMC
 * has ended is made anew, once. 0 and an object to free; -ENOENT: 404; -EACCES: the BMC
 * refuses us, which is then not tried again for a growing while (accounts get locked);
 * -EBADMSG: an answer that is not Redfish; -EIO: another status; else as
 * http_client_do(). */
int redfish_bmc_get(struct redfish_bmc *b, const char *path, struct json_object **ret,
		    struct err *err);

/* Ends the session, within two seconds. NULL-safe. */
void redfish_bmc_free(struct redfish_bmc *b);

#endif
