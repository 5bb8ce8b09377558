/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RTE's eCO2mix: current emissions of a kWh generated in France, in g/kWh, one value
 * per quarter of an hour, with some delay. Open data (Licence Ouverte 2.0), no token.
 * https://odre.opendatasoft.com/explore/dataset/eco2mix-national-tr/ */
#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/emissions/emissions.h"
#include "lib/emissions/emissions_json.h"

#define PATH "/catalog/datasets/eco2mix-national-tr/records"
/* The newest row with a value: the rest of the day exists already, empty. No day is
 * named, so midnight needs no special case. Times are in UTC. */
#define QUERY                                                                          \
	"?select=taux_co2%2Cdate_heure"                                                \
	"&where=taux_co2%20is%20not%20null%20and%20date_heure%20%3C%3D%20now()"        \
	"&order_by=date_heure%20desc&limit=1&timezone=UTC"

int emissions_rte_parse(const char *json, size_t len, struct emission_set *ret,
			struct err *err)
{
	auto_json struct json_object *j = NULL;
	struct json_object *results;
	int rc = emissions_json_object(json, len, &j, err);

	if (rc == 0)
		rc = emissions_json_get(j, "results", json_type_array, &results, err);
	if (rc != 0)
		return rc;
	size_t n = json_object_array_length(results), taken = 0;
	for (size_t i = 0; i < n && i < 100; i++) {
		struct json_object *row = json_object_array_get_idx(results, i), *v;
		uint64_t time_s;
		double grams;
		/* a quarter of an hour without a value yet */
		if (json_object_is_type(row, json_type_object) &&
		    json_object_object_get_ex(row, "taux_co2", &v) && !v)
			continue;
		rc = emissions_json_number(row, "taux_co2", &grams, err);
		if (rc == 0)
			rc = emissions_json_time(row, "date_heure", &time_s, err);
		if (rc != 0)
			return rc;
		/* zero is never real: the value is missing */
		if (grams <= 0.0)
			return err_set(err, -EBADMSG, "%g g/kWh is out of range",
				       grams);
		rc = emission_set_put(ret, "FR", "France", grams, time_s, err);
		if (rc < 0)
			return rc;
		taken++;
	}
	return taken ? 0 : err_set(err, -ENODATA, "no value yet");
}

static int check_rte_configured(const struct emissions_config *config, struct err *err)
{
	if (!emissions_wants_zone(config, "FR"))
		return err_set(err, -ENODATA, "FR is not among the zones");
	return 0;
}

static int fetch_rte(void *state, struct emissions_ask *ask, struct emission_set *ret,
		     struct err *err)
{
	auto_http_response struct http_response answer = {0};
	auto_buf struct buf url = BUF_INIT;

	(void)state;
	buf_puts(&url, ask->config->rte_url);
	buf_puts(&url, PATH QUERY);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	struct http_request r = {.url = url.data};
	int rc = emissions_get(ask, &r, &answer, err);
	if (rc < 0)
		return rc;
	return emissions_rte_parse(answer.body.data, answer.body.len, ret, err);
}

const struct emissions_provider emissions_rte = {
	.name = "rte",
	.period_s = 900,
	.configured = check_rte_configured,
	.fetch = fetch_rte,
};
