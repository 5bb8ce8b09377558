/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the providers with a service, sorted by name, and shared code: a new one
 * needs its file, a row here and one in lib/emissions/emission.c. */
#include <errno.h>
#include <string.h>

#include "lib/emissions/emissions.h"
#include "lib/parse.h"

#define RETRY_AFTER_MAX_S 86400u
#define RETRY_AFTER_DEFAULT_S 600u

/* clang-format off */
const struct emissions_provider *const emissions_providers[] = {
	&emissions_emaps,
	&emissions_file,
	&emissions_rte,
	&emissions_wt,
};
/* clang-format on */
const size_t emissions_providers_count =
	sizeof(emissions_providers) / sizeof(emissions_providers[0]);

bool emissions_wants_zone(const struct emissions_config *config, const char *zone)
{
	for (size_t i = 0; i < config->zone_count; i++) {
		if (strcmp(config->zones[i], zone) == 0)
			return true;
	}
	return !config->zone_count;
}

/* Retry-After in seconds; for a date, or none, a default. */
static uint64_t retry_after(struct emissions_ask *ask)
{
	const char *text = http_client_header(ask->client, "Retry-After");
	uint64_t s;

	if (!text || parse_u64(text, &s) < 0 || !s)
		s = RETRY_AFTER_DEFAULT_S;
	return s < RETRY_AFTER_MAX_S ? s : RETRY_AFTER_MAX_S;
}

int emissions_get(struct emissions_ask *ask, const struct http_request *r,
		  struct http_response *ret, struct err *err)
{
	int rc = http_client_do(ask->client, r, ret, err);

	if (rc < 0)
		return rc;
	if (ret->status == 200)
		return ret->body.len ? 0
				     : err_set(err, -EBADMSG, "%s: an empty answer",
					       ret->url);
	if (ret->status == 401 || ret->status == 403)
		return err_set(err, -EACCES, "%s: answered %u: token or login refused",
			       ret->url, ret->status);
	if (ret->status == 429 || ret->status == 503) {
		ask->retry_after_s = retry_after(ask);
		return err_set(err, -EBUSY, "%s: answered %u: asks to wait %llu s",
			       ret->url, ret->status,
			       (unsigned long long)ask->retry_after_s);
	}
	if (ret->status >= 300 && ret->status < 400)
		return err_set(err, -EREMCHG, "%s: answered %u: redirects elsewhere",
			       ret->url, ret->status);
	return err_set(err, -EIO, "%s: answered %u", ret->url, ret->status);
}
