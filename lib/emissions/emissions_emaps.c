/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Electricity Maps: hourly life-cycle emissions of the electricity consumed in a zone,
 * in g/kWh. A token gives access to the zones that were paid for (a free one to a
 * single zone). https://portal.electricitymaps.com/docs/api */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/emissions/emissions.h"
#include "lib/emissions/emissions_json.h"

#define ZONES_PERIOD_S 86400u

struct emaps_zone {
	char code[EMISSION_ZONE_BYTES];
	char name[EMISSION_COUNTRY_BYTES];
};

struct emaps {
	struct emaps_zone
		zones[EMISSIONS_ZONES_MAX]; /* requested one after the other */
	size_t count;
	size_t left_out; /* further zones that the token gives access to */
	uint64_t listed_s;
};

int emissions_emaps_parse(const char *json, size_t len, const char *zone,
			  const char *name, struct emission_set *ret, struct err *err)
{
	auto_json struct json_object *j = NULL;
	const char *of;
	uint64_t time_s;
	double grams;
	int rc = emissions_json_object(json, len, &j, err);

	if (rc == 0)
		rc = emissions_json_text(j, "zone", &of, err);
	if (rc == 0)
		rc = emissions_json_number(j, "carbonIntensity", &grams, err);
	if (rc == 0)
		rc = emissions_json_time(j, "datetime", &time_s, err);
	if (rc != 0)
		return rc;
	if (strcmp(of, zone) != 0)
		return err_set(err, -EBADMSG, "zone %.40s was not asked for", of);
	/* life-cycle emissions of a grid are never zero */
	if (grams <= 0.0)
		return err_set(err, -EBADMSG, "%g g/kWh is out of range", grams);
	return emission_set_put(ret, zone, name, grams, time_s, err);
}

int emissions_emaps_zones_parse(const char *json, size_t len,
				void (*take)(void *arg, const char *zone,
					     const char *name),
				void *arg, struct err *err)
{
	auto_json struct json_object *j = NULL;
	size_t n = 0;
	int rc = emissions_json_object(json, len, &j, err);

	if (rc < 0)
		return rc;
	json_object_object_foreach(j, zone, details)
	{
		static const char *const keys[] = {"countryName", "zoneName"};
		auto_buf struct buf name = BUF_INIT;
		if (!json_object_is_type(details, json_type_object) ||
		    !emission_zone_valid(zone))
			return err_set(err, -EBADMSG, "not a list of zones");
		if (n++ >= EMISSION_FACTORS_MAX)
			return err_set(err, -EBADMSG, "too many zones");
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			const char *part;
			if (emissions_json_text(details, keys[i], &part, NULL) < 0)
				continue;
			buf_puts(&name, name.len ? " " : "");
			buf_puts(&name, part);
		}
		take(arg, zone, name.data ? name.data : "");
	}
	return n ? 0 : err_set(err, -ENODATA, "the token opens no zone");
}

static bool is_setting_given(const char *s)
{
	return s && *s;
}

static int check_emaps_configured(const struct emissions_config *c, struct err *err)
{
	if (!is_setting_given(c->emaps_token) && !is_setting_given(c->emaps_token_file))
		return err_set(err, -ENODATA, "EMAPS_API_TOKEN is not set");
	return 0;
}

static int open_emaps(void **ret_state, struct err *err)
{
	struct emaps *e = calloc(1, sizeof(*e));

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	*ret_state = e;
	return 0;
}

static int read_token(const struct emissions_config *c, struct buf *ret,
		      struct err *err)
{
	if (!is_setting_given(c->emaps_token))
		return http_secret_read(c->emaps_token_file, ret, err);
	buf_puts(ret, c->emaps_token);
	return buf_error(ret) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Requests one path, with or without the token. */
static int ask_path(struct emissions_ask *ask, const char *path, const char *zone,
		    bool with_token, struct http_response *ret, struct err *err)
{
	const struct emissions_config *c = ask->config;
	auto_buf struct buf url = BUF_INIT, token = BUF_INIT;
	int rc = with_token ? read_token(c, &token, err) : 0;

	if (rc < 0)
		return rc;
	buf_printf(&url, "%s%s%s", c->emaps_url, path, zone);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	struct http_header h = {"auth-token", token.data};
	struct http_request r = {
		.url = url.data, .headers = &h, .header_count = with_token};
	rc = emissions_get(ask, &r, ret, err);
	if (token.data)
		explicit_bzero(token.data, token.len);
	return rc;
}

struct taking {
	struct emaps *emaps;
	const struct emissions_config *config;
};

static void take_zone(void *arg, const char *code, const char *name)
{
	struct taking *t = arg;
	struct emaps *e = t->emaps;

	if (!emissions_wants_zone(t->config, code))
		return;
	if (e->count >= EMISSIONS_ZONES_MAX) {
		e->left_out++;
		return;
	}
	struct emaps_zone *z = &e->zones[e->count++];
	(void)snprintf(z->code, sizeof(z->code), "%s", code);
	(void)snprintf(z->name, sizeof(z->name), "%s", name);
}

/* With the token, so that the answer has only accessible zones; if a server refuses
 * that, without it. */
static int ask_zones(struct emissions_ask *ask, struct http_response *ret,
		     struct err *err)
{
	int rc = ask_path(ask, "/zones", "", true, ret, err);

	if (rc != -EACCES || !ask->config->zone_count)
		return rc;
	return ask_path(ask, "/zones", "", false, ret, err);
}

/* Once a day. Configured zones are requested even if the list is not available. */
static int list_zones(struct emaps *e, struct emissions_ask *ask, struct err *err)
{
	auto_http_response struct http_response answer = {0};
	struct taking t = {e, ask->config};

	if (e->count && ask->now_s < e->listed_s + ZONES_PERIOD_S)
		return 0;
	int rc = ask_zones(ask, &answer, err);
	e->count = e->left_out = 0;
	if (rc == 0)
		rc = emissions_emaps_zones_parse(answer.body.data, answer.body.len,
						 take_zone, &t, err);
	if (rc == -EACCES || rc == -EIO || rc == -EBADMSG) {
		for (size_t i = 0; i < ask->config->zone_count; i++)
			take_zone(&t, ask->config->zones[i], "");
		return e->count ? 0 : err_prefix(err, rc, "zones");
	}
	if (rc < 0)
		return err_prefix(err, rc, "zones");
	if (!e->count)
		return err_set(err, -ENODATA,
			       "the token opens none of the zones named");
	e->listed_s = ask->now_s;
	return 0;
}

/* A zone that fails, or is not accessible, affects only itself. A failure for all of
 * them (invalid token, too many requests, no server, program end) ends the round,
 * keeping earlier results. */
static int fetch_emaps(void *state, struct emissions_ask *ask, struct emission_set *ret,
		       struct err *err)
{
	struct emaps *e = state;
	size_t came = 0;
	int rc = list_zones(e, ask, err);

	if (rc < 0)
		return rc;
	if (e->left_out)
		(void)err_set(&ask->partial, -E2BIG,
			      "%zu more zones are not asked for: name those wanted",
			      e->left_out);
	for (size_t i = 0; i < e->count; i++) {
		auto_http_response struct http_response answer = {0};
		const struct emaps_zone *z = &e->zones[i];
		int one = ask_path(ask, "/carbon-intensity/latest?zone=", z->code, true,
				   &answer, err);
		if (one == 0)
			one = emissions_emaps_parse(answer.body.data, answer.body.len,
						    z->code, z->name, ret, err);
		if (one == 0) {
			came++;
			continue;
		}
		rc = err_prefix(err, one, "%s", z->code);
		ask->partial = *err;
		if (ask->retry_after_s || answer.status == 401 || !answer.status)
			break;
	}
	return came ? 0 : rc;
}

const struct emissions_provider emissions_emaps = {
	.name = "emaps",
	.period_s = 1800,
	.configured = check_emaps_configured,
	.open = open_emaps,
	.fetch = fetch_emaps,
	.close = free,
};
