/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's settings about users, replaced as a whole and reference-counted. */
#include "aggregator/api_site.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct api_site {
	unsigned users; /* protected by the mutex; the one in force has no count for
			   that */
	const struct options *options;
	struct options own; /* from a reload */
	struct identity *identity;
};

struct api_sites {
	pthread_mutex_t mutex;
	struct api_site *now;
};

static struct identity_params params_of(const struct options *o)
{
	return (struct identity_params){
		.munge = o->identity_munge,
		.munge_socket = o->munge_socket,
		.munge_hosts = (const char *const *)o->munge_hosts.items,
		.munge_host_count = o->munge_hosts.count,
		.munge_unbound = o->munge_unbound,
		.certificate = (enum identity_certificate)o->certificate,
		.certificate_suffix = o->certificate_suffix,
		.front_ends = (const char *const *)o->front_ends.items,
		.front_end_count = o->front_ends.count,
		.front_end_addresses =
			(const char *const *)o->front_end_addresses.items,
		.front_end_address_count = o->front_end_addresses.count,
		.front_end_roles = o->front_end_roles,
		.metrics = (const char *const *)o->metrics.items,
		.metrics_count = o->metrics.count,
		.user_headers = (const char *const *)o->user_headers.items,
		.user_header_count = o->user_headers.count,
		.token_keys = o->token_keys,
		.token_ca_file = *o->token_ca_file ? o->token_ca_file : NULL,
		.token_issuers = (const char *const *)o->token_issuers.items,
		.token_issuer_count = o->token_issuers.count,
		.token_audiences = (const char *const *)o->token_audiences.items,
		.token_audience_count = o->token_audiences.count,
	};
}

static void site_free(struct api_site *site)
{
	if (!site)
		return;
	identity_free(site->identity);
	conf_release(options_table, options_count, &site->own);
	free(site);
}

int api_site_check(const struct options *o, struct err *err)
{
	struct identity_params p = params_of(o);
	struct identity *id = NULL;

	p.token_keys = NULL; /* fetches nothing here */
	if (*o->token_keys && (!o->token_issuers.count || !o->token_audiences.count))
		return err_set(
			err, -EINVAL,
			"--identity.token-keys needs --identity.token-issuer and "
			"--identity.token-audience");
	int rc = access_check_roles(&o->admins, &o->operators, err);
	if (rc == 0)
		rc = identity_new(&p, &id, err);
	identity_free(id);
	return rc;
}

int api_sites_new(const struct options *o, struct api_sites **ret, struct err *err)
{
	const struct identity_params p = params_of(o);
	struct api_sites *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->mutex, NULL);
	s->now = calloc(1, sizeof(*s->now));
	int rc = s->now ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (rc == 0) {
		s->now->users = 1;
		s->now->options = o;
		rc = identity_new(&p, &s->now->identity, err);
	}
	if (rc < 0) {
		api_sites_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void api_sites_free(struct api_sites *s)
{
	if (!s)
		return;
	site_free(s->now);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

int api_sites_reload(struct api_sites *s, int argc, char *argv[], struct err *err)
{
	auto_buf struct buf out = BUF_INIT, warnings = BUF_INIT;
	struct api_site *site = calloc(1, sizeof(*site)), *old;

	if (!site)
		return err_set(err, -ENOMEM, "out of memory");
	site->users = 1;
	site->options = &site->own;
	int rc = conf_load(options_table, options_count, "ceems_aggregator", argc, argv,
			   &site->own, &out, &warnings, err);
	if (rc >= 0)
		rc = api_site_check(&site->own, err);
	if (rc >= 0) {
		const struct identity_params p = params_of(&site->own);
		rc = identity_new(&p, &site->identity, err);
	}
	if (rc < 0) {
		site_free(site);
		return rc;
	}
	pthread_mutex_lock(&s->mutex);
	old = s->now;
	s->now = site;
	pthread_mutex_unlock(&s->mutex);
	api_site_release(s, old);
	return 0;
}

struct api_site *api_site_take(struct api_sites *s)
{
	pthread_mutex_lock(&s->mutex);
	struct api_site *site = s->now;
	site->users++;
	pthread_mutex_unlock(&s->mutex);
	return site;
}

void api_site_release(struct api_sites *s, struct api_site *site)
{
	if (!site)
		return;
	pthread_mutex_lock(&s->mutex);
	bool last = --site->users == 0;
	pthread_mutex_unlock(&s->mutex);
	if (last)
		site_free(site);
}

struct identity *api_site_identity(const struct api_site *site)
{
	return site->identity;
}

const struct options *api_site_options(const struct api_site *site)
{
	return site->options;
}

struct access_site api_site_access(const struct api_site *site)
{
	return (struct access_site){
		.admins = &site->options->admins,
		.operators = &site->options->operators,
		.project_members = site->options->project_members,
	};
}
