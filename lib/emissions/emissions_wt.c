/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WattTime: marginal emissions of a grid region, in pounds per MWh, every five minutes.
 * A login gives a token for half an hour. https://docs.watttime.org/ */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/emissions/emissions.h"
#include "lib/emissions/emissions_json.h"
#include "lib/rfc3339.h"

#define GRAMS_PER_POUND 453.59237
#define TOKEN_S 1500u /* of its lifetime of 1800 s */
#define WINDOW_S                                                                       \
	3600u /* the newest value is 5 to 15 minutes old, now and then more            \
	       */
#define TOKEN_BYTES 8192
#define POINTS_MAX 1000u

struct wt {
	char token[TOKEN_BYTES]; /* "": none */
	uint64_t until_s;
};

int emissions_wt_login_parse(const char *json, size_t len, char *ret_token, size_t size,
			     struct err *err)
{
	auto_json struct json_object *j = NULL;
	const char *token;
	int rc = emissions_json_object(json, len, &j, err);

	if (rc == 0)
		rc = emissions_json_text(j, "token", &token, err);
	if (rc != 0)
		return rc;
	size_t n = strlen(token);
	if (!n || n >= size)
		return err_set(err, -EBADMSG, "a token of %zu bytes", n);
	for (size_t i = 0; i < n; i++) {
		if (token[i] <= 0x20 || token[i] >= 0x7f)
			return err_set(err, -EBADMSG, "not a token");
	}
	memcpy(ret_token, token, n + 1);
	return 0;
}

/* The unit and the region are in the answer and are checked. */
static int check_meta(struct json_object *j, const char *region, struct err *err)
{
	struct json_object *meta;
	const char *units, *signal, *of;
	int rc = emissions_json_get(j, "meta", json_type_object, &meta, err);

	if (rc == 0)
		rc = emissions_json_text(meta, "units", &units, err);
	if (rc == 0)
		rc = emissions_json_text(meta, "signal_type", &signal, err);
	if (rc == 0)
		rc = emissions_json_text(meta, "region", &of, err);
	if (rc != 0)
		return rc;
	if (strcmp(units, "lbs_co2_per_mwh") != 0)
		return err_set(err, -EBADMSG, "in %.40s, not in lbs_co2_per_mwh",
			       units);
	if (strcmp(signal, "co2_moer") != 0 || strcmp(of, region) != 0)
		return err_set(err, -EBADMSG, "%.40s of %.40s, which was not asked for",
			       signal, of);
	return 0;
}

int emissions_wt_parse(const char *json, size_t len, const char *region,
		       struct emission_set *ret, struct err *err)
{
	auto_json struct json_object *j = NULL;
	struct json_object *data;
	int rc = emissions_json_object(json, len, &j, err);

	if (rc == 0)
		rc = check_meta(j, region, err);
	if (rc == 0)
		rc = emissions_json_get(j, "data", json_type_array, &data, err);
	if (rc != 0)
		return rc;
	size_t n = json_object_array_length(data);
	if (!n)
		return err_set(err, -ENODATA, "no value in the last hour");
	if (n > POINTS_MAX)
		return err_set(err, -EBADMSG, "%zu values for one hour", n);
	for (size_t i = 0; i < n; i++) {
		struct json_object *point = json_object_array_get_idx(data, i);
		uint64_t time_s;
		double pounds;
		rc = emissions_json_number(point, "value", &pounds, err);
		if (rc == 0)
			rc = emissions_json_time(point, "point_time", &time_s, err);
		/* the newest one stays; 0 is a value: curtailed wind */
		if (rc == 0)
			rc = emission_set_put(ret, region, NULL,
					      pounds * GRAMS_PER_POUND / 1000.0, time_s,
					      err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_credential_given(const char *s)
{
	return s && *s;
}

static int check_wt_configured(const struct emissions_config *c, struct err *err)
{
	if (!is_credential_given(c->wt_user) ||
	    (!is_credential_given(c->wt_password) &&
	     !is_credential_given(c->wt_password_file)))
		return err_set(err, -ENODATA,
			       "WT_USERNAME and WT_PASSWORD are not set");
	if (!is_credential_given(c->wt_region) || !emission_zone_valid(c->wt_region))
		return err_set(err, -ENODATA, "WT_REGION is not set to a region");
	return 0;
}

static int open_wt(void **ret_state, struct err *err)
{
	struct wt *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	*ret_state = w;
	return 0;
}

static void close_wt(void *state)
{
	if (!state)
		return;
	explicit_bzero(state, sizeof(struct wt));
	free(state);
}

static int log_in_watttime(struct wt *w, struct emissions_ask *ask, struct err *err)
{
	auto_http_response struct http_response answer = {0};
	const struct emissions_config *c = ask->config;
	auto_buf struct buf url = BUF_INIT;
	struct http_auth auth = {
		.user = c->wt_user,
		.password = is_credential_given(c->wt_password) ? c->wt_password : NULL,
		.password_file = is_credential_given(c->wt_password)
					 ? NULL
					 : c->wt_password_file};

	w->token[0] = '\0';
	buf_printf(&url, "%s/login", c->wt_url);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	struct http_request r = {.url = url.data, .auth = &auth};
	int rc = emissions_get(ask, &r, &answer, err);
	if (rc == 0)
		rc = emissions_wt_login_parse(answer.body.data, answer.body.len,
					      w->token, sizeof(w->token), err);
	if (answer.body.data)
		explicit_bzero(answer.body.data, answer.body.len);
	if (rc < 0)
		return err_prefix(err, rc, "login");
	w->until_s = ask->now_s + TOKEN_S;
	return 0;
}

static int ask_once(struct wt *w, struct emissions_ask *ask, struct emission_set *ret,
		    struct err *err)
{
	auto_http_response struct http_response answer = {0};
	const struct emissions_config *c = ask->config;
	auto_buf struct buf url = BUF_INIT;
	char start[RFC3339_BYTES], end[RFC3339_BYTES];

	/* UTC with "Z", so that no time zone can shift the window */
	rfc3339_print(ask->now_s > WINDOW_S ? ask->now_s - WINDOW_S : 0, start);
	rfc3339_print(ask->now_s, end);
	buf_printf(&url,
		   "%s/v3/historical?region=%s&signal_type=co2_moer&start=%s&end=%s",
		   c->wt_url, c->wt_region, start, end);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	struct http_auth auth = {.scheme = "Bearer", .credentials = w->token};
	struct http_request r = {.url = url.data, .auth = &auth};
	int rc = emissions_get(ask, &r, &answer, err);
	if (rc < 0)
		return rc;
	return emissions_wt_parse(answer.body.data, answer.body.len, c->wt_region, ret,
				  err);
}

static int fetch_watttime(void *state, struct emissions_ask *ask,
			  struct emission_set *ret, struct err *err)
{
	struct wt *w = state;
	bool fresh = !w->token[0] || ask->now_s >= w->until_s ||
		     ask->now_s + TOKEN_S < w->until_s; /* the clock was set back */
	int rc = fresh ? log_in_watttime(w, ask, err) : 0;

	if (rc == 0)
		rc = ask_once(w, ask, ret, err);
	if (rc != -EACCES || fresh)
		return rc;
	/* the token was revoked early: retry with a new one */
	rc = log_in_watttime(w, ask, err);
	return rc < 0 ? rc : ask_once(w, ask, ret, err);
}

const struct emissions_provider emissions_wt = {
	.name = "wt",
	.period_s = 300,
	.configured = check_wt_configured,
	.open = open_wt,
	.fetch = fetch_watttime,
	.close = close_wt,
};
