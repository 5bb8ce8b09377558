/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One profile to the aggregator, which passes it on, or directly to Pyroscope. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "courier/profiles.h"
#include "courier/ship.h"
#include "lib/clock.h"

#define TIMEOUT_MS 30000u
#define RETURN_NS (300 * NSEC_PER_SEC)

struct profile_sender {
	const struct options *options;
	struct ship_post *post; /* to aggregators; NULL: directly */
	struct ship_urls urls;
	struct http_client *client;
	struct http_auth auth;
	struct profile_store store;
};

static int open_direct(struct profile_sender *s, struct courier *c, struct err *err)
{
	const struct options *o = &c->options;
	const struct http_client_config config = {
		.ca_file = *o->profiles_ca_file ? o->profiles_ca_file : NULL,
		.timeout_ms = TIMEOUT_MS,
		.stop = &c->stop,
	};

	s->auth = (struct http_auth){.scheme = "Bearer",
				     .credentials_file = o->profiles_token_file};
	s->store = (struct profile_store){
		.url = o->profiles_url,
		.api = (enum profile_api)o->profiles_api,
		.tenant = o->profiles_tenant,
		.auth = *o->profiles_token_file ? &s->auth : NULL,
	};
	if (*o->profiles_token_file && strncmp(o->profiles_url, "http://", 7) == 0 &&
	    strncmp(o->profiles_url, "http://127.0.0.1", 16) != 0)
		return err_set(err, -EINVAL,
			       "--profiles.token-file: not over http to another host, "
			       "use https");
	return http_client_new(&config, &s->client, err);
}

int profile_sender_new(struct courier *c, struct profile_sender **ret, struct err *err)
{
	struct profile_sender *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->options = &c->options;
	s->urls.count = c->options.aggregator_urls.count;
	int rc = *c->options.profiles_url
			 ? open_direct(s, c, err)
			 : ship_post_new(c, PROFILE_PATH, &s->post, err);
	if (rc < 0) {
		profile_sender_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void profile_sender_free(struct profile_sender *s)
{
	if (!s)
		return;
	ship_post_free(s->post);
	http_client_free(s->client);
	free(s);
}

const char *profile_sender_url(const struct profile_sender *s)
{
	return s->post ? s->options->aggregator_urls.items[s->urls.current]
		       : s->options->profiles_url;
}

/* Whether another aggregator may do better. */
static bool is_about_server(int rc, const struct profile_answer *a)
{
	return rc < 0 || a->verdict == PROFILE_LATER || a->verdict == PROFILE_DENIED;
}

int profile_sender_do(struct profile_sender *s, const struct spool_record *record,
		      const struct profile_record *profile, struct profile_answer *ret,
		      struct err *err)
{
	uint64_t now_ns = clock_boottime_ns();
	size_t order[SHIP_URLS_MAX];
	int rc = -EINVAL;

	if (!s->post)
		return profile_push(s->client, &s->store, profile, ret, err);
	ship_urls_order(&s->urls, now_ns, RETURN_NS, order);
	for (size_t i = 0; i < s->urls.count; i++) {
		const struct http_response *answer;
		const char *retry_after;
		rc = ship_post_body(s->post, order[i], PROFILE_TYPE, NULL, record->data,
				    record->len, &answer, &retry_after, err);
		if (rc == 0)
			profile_answer_read(answer->status, answer->body.data,
					    answer->body.len, retry_after, ret);
		if (!is_about_server(rc, ret)) {
			s->urls.current = order[i];
			return 0;
		}
		if (order[i] == 0)
			s->urls.first_tried_ns = now_ns;
	}
	return rc;
}
