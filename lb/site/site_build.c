/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a site from its file: defaults, consistency, and the servers, keeping existing
 * ones. */
#include <errno.h>
#include <string.h>

#include "lb/site/site_impl.h"
#include "lib/cleanup.h"
#include "lib/identity/role_entry.h"

/* The peer's documentation uses this label for the cluster. */
#define SHARED_LABEL "ceems_id"
#define LOOKBACK_MS 300000 /* Prometheus' --query.lookback-delta */
#define INJECT_MAX 1000
#define NARROW_MAX 1000

/* Our metrics and the peer's, after those of the configuration. Those of other
 * exporters are not guessed. Unknown families are closed. */
static const struct access_family families[] = {
	{"ceems_emissions_factor_grams_per_joule", NULL, false},
	{"ceems_emissions_gCo2_kWh", NULL, false},
	{"prometheus_build_info", NULL, false},
	/* these have no unit to name: telling users to name one would mislead */
	{"ceems_aggregator_*", NULL, true},
	{"ceems_compute_units", NULL, true},
	{"ceems_courier_*", NULL, true},
	{"ceems_cpu_*", NULL, true},
	{"ceems_cray_*", NULL, true},
	{"ceems_emissions_*", NULL, true},
	{"ceems_energy_*", NULL, true},
	{"ceems_exporter_*", NULL, true},
	{"ceems_hwmon_*", NULL, true},
	{"ceems_infiniband_*", NULL, true},
	{"ceems_ipmi_*", NULL, true},
	{"ceems_lb_*", NULL, true},
	{"ceems_meminfo_*", NULL, true},
	{"ceems_model_*", NULL, true},
	{"ceems_netdev_*", NULL, true},
	{"ceems_node_*", NULL, true},
	{"ceems_rapl_*", NULL, true},
	{"ceems_redfish_*", NULL, true},
	{"ceems_reports_*", NULL, true},
	{"ceems_ring_*", NULL, true},
	{"ceems_scrape_*", NULL, true},
	{"ceems_short_*", NULL, true},
	{"ceems_steps_*", NULL, true},
	{"ceems_units_*", NULL, true},
	{"ceems_web_*", NULL, true},
	{"instance:ceems_*", NULL, true},
	{"ceems_*", "uuid", false},
	{"uuid:*", "uuid", false},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

static int fail_site(struct site_parser *p, size_t line, const char *what,
		     const char *detail)
{
	return err_set(p->w.err, -EINVAL, "%s:%zu: %s%s%s", p->w.file, line, what,
		       detail ? ": " : "", detail ? detail : "");
}

static int keep_list(struct site_parser *p, const struct site_list *list,
		     const char *const **ret, size_t *ret_count)
{
	const char **items = arena_alloc(p->arena, list->count, sizeof(*items));

	if (!items)
		return site_no_memory(p);
	memcpy(items, list->items, list->count * sizeof(*items));
	*ret = items;
	*ret_count = list->count;
	return 0;
}

/* ---- servers --------------------------------------------------------------------- */

static struct backend *find_before(const struct site *before, const char *cluster,
				   enum site_protocol kind,
				   const struct backend_params *p)
{
	const struct site_cluster *c = before ? site_cluster(before, cluster) : NULL;
	const struct backend_set *set = c ? c->backends[kind] : NULL;

	for (size_t i = 0; set && i < backend_set_count(set); i++) {
		struct backend *b = &backend_set_at(set, i)->pub;

		if (backend_same(b, p))
			return backend_ref(b);
	}
	return NULL;
}

static void fill_care(const struct site_parser *p, struct backend_care *c)
{
	const struct site_numbers *n = &p->numbers;

	*c = (struct backend_care){
		.interval_ms = (uint32_t)n->interval_ms,
		.timeout_ms = (uint32_t)n->timeout_ms,
		.fall = (uint32_t)n->fall,
		.fail_after = (uint32_t)n->fail_after,
		.eject_ms = (uint32_t)n->eject_ms,
		.eject_max_ms = (uint32_t)n->eject_max_ms,
		.slow_start_ms = (uint32_t)n->slow_start_ms,
	};
}

static int make_server(struct site_parser *p, const struct cluster_draft *c,
		       enum site_protocol kind, const struct server_draft *d,
		       const struct site *before, struct backend **ret)
{
	const struct client_draft *k = &d->client;
	const struct http_url_parts *url = &d->url;
	struct backend_params params = {
		.cluster = c->id,
		.pyroscope = kind == SITE_PYROSCOPE,
		.name = d->name,
		.host = url->host,
		.port = url->port,
		.tls = url->tls,
		.base_path = url->path,
		.headers = k->headers,
		.header_count = k->header_count,
		.ca_file = k->ca_file,
		.cert_file = k->cert_file,
		.key_file = k->key_file,
		.server_name = k->server_name,
		.insecure = k->insecure,
		.connect_timeout_ms = (uint32_t)d->connect_timeout_ms,
		.timeout_ms = (uint32_t)d->timeout_ms,
		.first_byte_timeout_ms = (uint32_t)d->first_byte_timeout_ms,
		.filter_labels = d->filter_labels.items,
		.filter_label_count = d->filter_labels.count,
		.max_requests = (uint32_t)d->max_requests,
		.retention_ms = d->retention_ms,
		.from_ms = d->from_ms,
		.to_ms = d->to_ms,
		.dialect = d->dialect < 0
				   ? -1
				   : (int)((unsigned)d->dialect | d->promql_flags),
		.promql_flags = d->promql_flags,
	};

	int rc = site_authorization(p, k, &params.authorization);

	if (rc < 0)
		return rc;
	fill_care(p, &params.care);
	*ret = find_before(before, c->id, kind, &params);
	return *ret ? 0 : backend_new(&params, ret, p->w.err);
}

static int make_set(struct site_parser *p, const struct cluster_draft *c,
		    enum site_protocol kind, const struct site *before,
		    struct backend_set **ret)
{
	struct backend *list[BACKENDS_MAX];
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && n < c->server_count[kind]) {
		const struct server_draft *d = c->servers[kind][n];

		rc = make_server(p, c, kind, d, before, &list[n]);
		for (size_t i = 0; rc == 0 && i < n; i++) {
			if (strcmp(list[i]->name, list[n]->name) != 0)
				continue;
			rc = fail_site(p, d->client.line, "this server appears twice",
				       list[n]->name);
			backend_unref(list[n]);
		}
		n += rc == 0;
	}
	if (rc == 0)
		return n ? backend_set_new(p->strategy, list, n, ret, p->w.err) : 0;
	while (n)
		backend_unref(list[--n]);
	return rc;
}

/* ---- access ---------------------------------------------------------------------- */

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	       strncmp(host, "127.", 4) == 0;
}

static bool same_server(const struct http_url_parts *a, const struct http_url_parts *b)
{
	return a->port == b->port && strcmp(a->path, b->path) == 0 &&
	       (strcmp(a->host, b->host) == 0 ||
		(is_loopback(a->host) && is_loopback(b->host)));
}

/* Whether two clusters share a server, as far as its URL tells. */
static bool clusters_share_server(const struct cluster_draft *a,
				  const struct cluster_draft *b, int k)
{
	for (size_t i = 0; i < a->server_count[k]; i++) {
		for (size_t j = 0; j < b->server_count[k]; j++) {
			if (same_server(&a->servers[k][i]->url, &b->servers[k][j]->url))
				return true;
		}
	}
	return false;
}

static bool shares_any_server(const struct site_parser *p,
			      const struct cluster_draft *c, int k)
{
	for (size_t i = 0; i < p->cluster_count; i++) {
		if (p->clusters[i] != c && clusters_share_server(c, p->clusters[i], k))
			return true;
	}
	return false;
}

static int keep_families(struct site_parser *p, const struct access_draft *a,
			 struct access_policy *ret)
{
	struct access_family *f =
		arena_alloc(p->arena, a->family_count + FAMILIES, sizeof(*f));

	if (!f)
		return site_no_memory(p);
	memcpy(f, a->families, a->family_count * sizeof(*f));
	memcpy(f + a->family_count, families, sizeof(families));
	ret->families = f;
	ret->family_count = a->family_count + FAMILIES;
	return 0;
}

/* Labels hidden by any server of a cluster. */
static int keep_hidden(struct site_parser *p, const struct cluster_draft *c,
		       struct access_policy *ret)
{
	const char **all = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->server_count[SITE_PROMETHEUS]; i++)
		n += c->servers[SITE_PROMETHEUS][i]->filter_labels.count;
	all = arena_alloc(p->arena, n, sizeof(*all));
	if (!all)
		return site_no_memory(p);
	ret->hidden = all;
	for (size_t i = 0; i < c->server_count[SITE_PROMETHEUS]; i++) {
		const struct site_list *l =
			&c->servers[SITE_PROMETHEUS][i]->filter_labels;

		memcpy(all + ret->hidden_count, l->items, l->count * sizeof(*l->items));
		ret->hidden_count += l->count;
	}
	return 0;
}

/* A Pyroscope of one cluster next to a Prometheus of several: its profiles need no
 * cluster label, or another one. */
static int keep_profile_label(struct site_parser *p, const struct cluster_draft *c,
			      struct access_policy *ret)
{
	const char *label =
		c->access->profile_cluster_label ?: p->access->profile_cluster_label;

	if (!label)
		return 0;
	if (!*label && shares_any_server(p, c, SITE_PYROSCOPE))
		return fail_site(
			p, c->line,
			"profile_cluster_label: none, but another cluster has the "
			"same Pyroscope",
			c->id);
	ret->cluster_label = *label ? label : NULL;
	return 0;
}

static int make_policies(struct site_parser *p, const struct cluster_draft *c,
			 struct site_cluster *ret)
{
	const struct access_draft *own = c->access, *all = p->access;
	struct access_policy *prom = &ret->policy[SITE_PROMETHEUS];
	struct access_policy *pyro = &ret->policy[SITE_PYROSCOPE];
	bool inject = own->inject >= 0 ? own->inject : all->inject > 0;
	uint64_t inject_max = own->inject_max_given   ? own->inject_max
			      : all->inject_max_given ? all->inject_max
						      : INJECT_MAX;
	uint64_t narrow_max = own->narrow_max_given   ? own->narrow_max
			      : all->narrow_max_given ? all->narrow_max
						      : NARROW_MAX;
	struct access_family *profile = arena_alloc(p->arena, 1, sizeof(*profile));

	if (!profile)
		return site_no_memory(p);
	*prom = (struct access_policy){
		.cluster_label = own->cluster_label ?: all->cluster_label,
		.cluster = c->id,
		.lookback_ms = (int64_t)(own->lookback_given   ? own->lookback_ms
					 : all->lookback_given ? all->lookback_ms
							       : LOOKBACK_MS),
		.inject_max = inject ? (uint32_t)inject_max : 0,
		.narrow_max = (uint32_t)narrow_max,
	};
	if (!prom->cluster_label && (shares_any_server(p, c, SITE_PROMETHEUS) ||
				     shares_any_server(p, c, SITE_PYROSCOPE))) {
		prom->cluster_label = SHARED_LABEL;
		buf_printf(&p->notes,
			   "cluster %s: it shares a server with another one, so each "
			   "query is narrowed to " SHARED_LABEL
			   "=\"%s\" (cluster_label names another label, "
			   "profile_cluster_label that of profiles)\n",
			   c->id, c->id);
	}
	*pyro = *prom;
	int rc = keep_profile_label(p, c, pyro);
	if (rc < 0)
		return rc;
	profile->metric = "*";
	profile->label = own->profile_label ?: all->profile_label ?: "service_name";
	pyro->families = profile;
	pyro->family_count = 1;
	rc = keep_hidden(p, c, prom);
	return rc < 0 ? rc : keep_families(p, own->family_count ? own : all, prom);
}

/* ---- all of it ------------------------------------------------------------------- */

static bool is_known_cluster(const struct site_parser *p, const char *id)
{
	for (size_t i = 0; i < p->known.count; i++) {
		if (strcmp(p->known.items[i], id) == 0)
			return true;
	}
	return !p->known.count;
}

static int make_clusters(struct site_parser *p, const struct site *before)
{
	struct site_cluster *list =
		arena_alloc(p->arena, p->cluster_count, sizeof(*list));

	if (!list)
		return site_no_memory(p);
	p->site->clusters = list;
	for (size_t i = 0; i < p->cluster_count; i++) {
		const struct cluster_draft *c = p->clusters[i];

		if (!is_known_cluster(p, c->id))
			return fail_site(p, c->line,
					 "the section clusters has no such cluster",
					 c->id);
		list[i].id = c->id;
		p->site->cluster_count =
			i + 1; /* so that failures free what was made */
		int rc = make_policies(p, c, &list[i]);
		for (int k = 0; rc == 0 && k < SITE_PROTOCOLS; k++)
			rc = make_set(p, c, (enum site_protocol)k, before,
				      &list[i].backends[k]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int make_api(struct site_parser *p)
{
	const struct client_draft *c = &p->api;
	struct site_api *api = &p->site->api;
	struct site_list urls = {.count = c->url_count};

	if (c->authorization || c->header_count)
		return fail_site(
			p, c->line, "ceems_api_server.web",
			"a password, a client certificate or MUNGE prove who we "
			"are; authorization and http_headers do not");
	if (c->basic && !c->password && !c->password_file)
		return fail_site(p, c->line, "ceems_api_server.web",
				 "basic_auth needs password or password_file");
	memcpy(urls.items, c->urls, sizeof(c->urls));
	api->ca_file = c->ca_file;
	api->cert_file = c->cert_file;
	api->key_file = c->key_file;
	api->insecure = c->insecure;
	api->user = c->user;
	api->password = c->password;
	api->password_file = c->password_file;
	api->munge = c->munge >= 0 ? c->munge : !c->user && !c->cert_file;
	api->munge_socket = p->site->identity.munge_socket;
	api->timeout_ms = (uint32_t)(c->timeout_ms ?: 5000);
	return keep_list(p, &urls, &api->urls, &api->url_count);
}

static void make_limits(struct site_parser *p)
{
	const struct site_numbers *n = &p->numbers;

	p->site->limits = (struct site_limits){
		.user_requests = (uint32_t)n->user_requests,
		.user_rate = (uint32_t)n->user_rate,
		.user_burst = (uint32_t)(n->user_burst ?: 2 * n->user_rate),
		.ownership_s = (uint32_t)(n->ownership_ms / 1000),
		.unknown_s = (uint32_t)(n->unknown_ms / 1000),
		.linger_s = (uint32_t)(n->linger_ms / 1000),
		.cache_entries = (uint32_t)n->cache_entries,
	};
}

static int make_roles(struct site_parser *p)
{
	struct site_list all = {.count = 0};
	struct role_entry e;

	for (size_t i = 0; i < p->admins.count; i++)
		all.items[all.count++] = p->admins.items[i];
	for (size_t i = 0; i < p->api_admins.count; i++) {
		if (all.count == SITE_LIST_MAX)
			return fail_site(p, 1, "too many admins", NULL);
		all.items[all.count++] = p->api_admins.items[i];
	}
	for (size_t i = 0; i < all.count + p->operators.count; i++) {
		const char *login = i < all.count ? all.items[i]
						  : p->operators.items[i - all.count];

		if (role_entry_parse(login, strlen(login), &e) < 0)
			return fail_site(p, p->roles_line ? p->roles_line : 1,
					 "roles: not a login or login:number", login);
	}
	int rc = keep_list(p, &all, &p->site->admins, &p->site->admin_count);
	if (rc == 0)
		rc = keep_list(p, &p->operators, &p->site->operators,
			       &p->site->operator_count);
	return rc;
}

/* All but the keys for tokens, which may have to be fetched. */
static int check_identity(struct site_parser *p, size_t line)
{
	struct identity_params i = p->site->identity;
	struct identity *id = NULL;
	struct err err = {""};

	i.token_keys = NULL;
	int rc = identity_new(&i, &id, &err);
	identity_free(id);
	return rc < 0 ? fail_site(p, line, "identity", err.text) : 0;
}

static int make_identity(struct site_parser *p)
{
	struct identity_params *i = &p->site->identity;
	size_t line = p->identity_line ? p->identity_line : 1;
	int rc = keep_list(p, &p->front_ends, &i->front_ends, &i->front_end_count);

	if (!p->user_headers.count)
		p->user_headers.items[p->user_headers.count++] = "X-Grafana-User";
	if (p->user_headers.count > IDENTITY_HEADERS_MAX)
		return fail_site(p, line, "identity.user_headers", "too many");
	if (i->token_keys && (!p->token_issuers.count || !p->token_audiences.count))
		return fail_site(p, line, "identity.token_keys",
				 "needs token_issuers and token_audiences");
	if (rc == 0)
		rc = keep_list(p, &p->front_end_addresses, &i->front_end_addresses,
			       &i->front_end_address_count);
	if (rc == 0)
		rc = keep_list(p, &p->munge_hosts, &i->munge_hosts,
			       &i->munge_host_count);
	if (rc == 0)
		rc = keep_list(p, &p->metrics, &i->metrics, &i->metrics_count);
	if (rc == 0)
		rc = keep_list(p, &p->user_headers, &i->user_headers,
			       &i->user_header_count);
	if (rc == 0)
		rc = keep_list(p, &p->token_issuers, &i->token_issuers,
			       &i->token_issuer_count);
	if (rc == 0)
		rc = keep_list(p, &p->token_audiences, &i->token_audiences,
			       &i->token_audience_count);
	return rc < 0 ? rc : check_identity(p, line);
}

static void note_access(struct site_parser *p)
{
	if (p->site->open)
		site_note(p, "open",
			  "there is NO access control: everybody who reaches this port "
			  "can read everything");
	else if (!p->has_api)
		site_note(p, "ceems_api_server.web.url",
			  "missing: the owners of units are unknown, so users are "
			  "refused");
	if (!p->site->open && !p->front_ends.count && !p->site->identity.token_keys)
		site_note(p, "identity",
			  "no front end may name users by a header, and there are no "
			  "token_keys: Grafana's users will be refused");
}

int site_build(struct site_parser *p, const struct site *before)
{
	make_limits(p);
	int rc = make_api(p);

	if (rc == 0)
		rc = make_roles(p);
	if (rc == 0)
		rc = make_identity(p);
	if (rc == 0 && !p->cluster_count)
		rc = fail_site(p, 1, "ceems_lb.backends", "none given");
	if (rc == 0)
		rc = make_clusters(p, before);
	if (rc < 0)
		return rc;
	note_access(p);
	if (buf_error(&p->notes) || buf_error(&p->files))
		return site_no_memory(p);
	p->site->files = arena_text(p->arena, p->files.data ? p->files.data : "");
	if (!p->site->files)
		return site_no_memory(p);
	p->site->notes = arena_text(p->arena, p->notes.data ? p->notes.data : "");
	return p->site->notes ? 0 : site_no_memory(p);
}
