/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EMISSIONS_EMISSIONS_H
#define CEEMS_LIB_EMISSIONS_EMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/emissions/emission.h"
#include "lib/err.h"
#include "lib/http/client.h"

/*
 * Providers of emission factors that must be asked: one file each,
 * emissions_<name>.c, a parser that is a pure function of the bytes that came
 * and a fetch that asks for them; lib/emissions/emissions_providers.c is the table.
 */

#define EMISSIONS_BODY_MAX ((size_t)2 << 20) /* of an answer or a file */
#define EMISSIONS_ZONES_MAX 64u              /* asked for, of one provider */

/* What the operator said. All borrowed, "" or NULL: not said. */
struct emissions_config {
	const char *const *zones; /* of this site, as each provider spells them */
	size_t zone_count;
	const char *rte_url, *emaps_url, *wt_url; /* without a / at the end */
	const char *file;                         /* path or URL */
	/* Secrets: as a text, or a file which is read each time it is needed. */
	const char *emaps_token, *emaps_token_file;
	const char *wt_user, *wt_password, *wt_password_file;
	const char *wt_region;
};

/* One look at one provider. */
struct emissions_ask {
	const struct emissions_config *config;
	struct http_client *client;
	uint64_t now_s;         /* since 1970 UTC */
	uint64_t retry_after_s; /* out: the server said so, else 0 */
	struct err partial;     /* out: what failed while the rest came, else "" */
};

struct emissions_provider {
	const char *name; /* of lib/emissions/emission.h's table */
	uint32_t period_s;
	/* Is there anything to ask for? -ENODATA with what is missing. */
	int (*configured)(const struct emissions_config *config, struct err *err);
	/* Makes what a provider keeps between questions; may be NULL. */
	int (*open)(void **ret_state, struct err *err);
	/* Adds to ret. Blocks for as long as the client's timeouts let it. No text in
	 * err holds a secret. */
	int (*fetch)(void *state, struct emissions_ask *ask, struct emission_set *ret,
		     struct err *err);
	void (*close)(void *state);
};

/* Sorted by name. */
extern const struct emissions_provider *const emissions_providers[];
extern const size_t emissions_providers_count;

extern const struct emissions_provider emissions_emaps, emissions_file, emissions_rte,
	emissions_wt;

/* Is the zone one of the site's? With none named all are. */
bool emissions_wants_zone(const struct emissions_config *config, const char *zone);

/* GET of an answer with status 200; everything else is an error that says what it was,
 * never what it contained. Sets ask->retry_after_s. */
int emissions_get(struct emissions_ask *ask, const struct http_request *r,
		  struct http_response *ret, struct err *err);

/* Parsers: untrusted bytes in, factors added to ret. What does not look as the
 * provider's documentation says is -EBADMSG, an empty answer -ENODATA. */

/* RTE eCO2mix, dataset eco2mix-national-tr, Opendatasoft explore v2.1:
 * {"results": [{"date_heure": time, "taux_co2": g/kWh}]} */
int emissions_rte_parse(const char *json, size_t len, struct emission_set *ret,
			struct err *err);

/* Electricity Maps v3 /carbon-intensity/latest: {"zone", "carbonIntensity": g/kWh,
 * "datetime"}; zone is what was asked for, name what people call it. */
int emissions_emaps_parse(const char *json, size_t len, const char *zone,
			  const char *name, struct emission_set *ret, struct err *err);

/* Electricity Maps v3 /zones: {"FR": {"zoneName", "countryName"?}, ...}. Calls take()
 * for each in turn, at most EMISSION_FACTORS_MAX. */
int emissions_emaps_zones_parse(const char *json, size_t len,
				void (*take)(void *arg, const char *zone,
					     const char *name),
				void *arg, struct err *err);

/* WattTime v3 /v3/historical of signal co2_moer: {"data": [{"point_time", "value"}],
 * "meta": {"region", "signal_type", "units": "lbs_co2_per_mwh"}} */
int emissions_wt_parse(const char *json, size_t len, const char *region,
		       struct emission_set *ret, struct err *err);

/* WattTime /login: {"token": "..."}; cut is refused: -EBADMSG. */
int emissions_wt_login_parse(const char *json, size_t len, char *ret_token, size_t size,
			     struct err *err);

/* Lines "time,zone,g/kWh[,name]", time in RFC 3339 or seconds since 1970; empty lines,
 * # comments and a heading are skipped. Of each zone the newest that is not after
 * now_s. */
int emissions_file_parse(const char *text, size_t len, uint64_t now_s,
			 struct emission_set *ret, struct err *err);

#endif
