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
	{"ceems_profiler_*", NULL, true},
	{"ceems_cpu_*", NULL, true},
	{"ceems_cray_*", NULL, true},
	{"ceems_emissions_*", NULL, true},
	{"ceems_energy_*", NULL, true},
	{"ceems_exporter_*", NULL, true},
	{"ceems_gpu_*", NULL, true},
	{"ceems_groups_*", NULL, true},
	{"ceems_hwmon_*", NULL, true},
	{"ceems_infiniband_*", NULL, true},
	{"ceems_io_*", NULL, true},
	{"ceems_ipmi_*", NULL, true},
	{"ceems_lb_*", NULL, true},
	{"ceems_meminfo_*", NULL, true},
	{"ceems_model_*", NULL, true},
	{"ceems_netdev_*", NULL, true},
	{"ceems_network_*", NULL, true},
	{"ceems_node_*", NULL, true},
	{"ceems_opener_*", NULL, true},
	{"ceems_perf_event_available", NULL, true},
	{"ceems_perf_events_armed", NULL, true},
	{"ceems_perf_node_figure_total", NULL, true},
	{"ceems_rapl_*", NULL, true},
	{"ceems_rdma_port_*", NULL, true},
	{"ceems_rdma_resources", NULL, true},
	{"ceems_rdma_sample_*", NULL, true},
	{"ceems_rdma_state_id", NULL, true},
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

static int make_server(struct site_parser *p, const struct cluster_draft *c,
		       enum site_protocol kind, const struct server_draft *d,
		       const struct site *before, struct backend **ret)
{
	const struct client_draft *k = &d->client;
	struct backend_params params = d->params;

	params.cluster = c->id;
	params.pyroscope = kind == SITE_PYROSCOPE;
	params.host = d->url.host;
	params.port = d->url.port;
	params.tls = d->url.tls;
	params.base_path = d->url.path;
	params.headers = k->headers;
	params.header_count = k->header_count;
	params.ca_file = k->ca_file;
	params.cert_file = k->cert_file;
	params.key_file = k->key_file;
	params.server_name = k->server_name;
	params.insecure = k->insecure;
	params.care = p->care;
	if (params.dialect >= 0)
		params.dialect = (int)((unsigned)params.dialect | params.promql_flags);

	int rc = site_authorization(p, k, &params.authorization);

	if (rc < 0)
		return rc;
	*ret = find_before(before, c->id, kind, &params);
	return *ret ? 0 : backend_new(&params, ret, p->r.w.err);
}

static int make_set(struct site_parser *p, const struct cluster_draft *c,
		    enum site_protocol kind, const struct site *before,
		    struct backend_set **ret)
{
	struct backend *list[BACKENDS_MAX];
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && n < c->server_count[kind]) {
		const struct server_draft *d = &c->servers[kind][n];

		rc = make_server(p, c, kind, d, before, &list[n]);
		for (size_t i = 0; rc == 0 && i < n; i++) {
			if (strcmp(list[i]->name, list[n]->name) != 0)
				continue;
			rc = site_fail(p, d->client.line, "this server appears twice",
				       list[n]->name);
			backend_unref(list[n]);
		}
		n += rc == 0;
	}
	if (rc == 0)
		return n ? backend_set_new(p->strategy, list, n, ret, p->r.w.err) : 0;
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
			if (same_server(&a->servers[k][i].url, &b->servers[k][j].url))
				return true;
		}
	}
	return false;
}

static bool shares_any_server(const struct site_parser *p,
			      const struct cluster_draft *c, int k)
{
	for (size_t i = 0; i < p->cluster_count; i++) {
		if (&p->clusters[i] != c &&
		    clusters_share_server(c, &p->clusters[i], k))
			return true;
	}
	return false;
}

static int keep_families(struct site_parser *p, const struct access_draft *a,
			 struct access_policy *ret)
{
	struct access_family *f =
		arena_alloc(p->r.arena, a->family_count + FAMILIES, sizeof(*f));

	if (!f)
		return yaml_reader_no_memory(&p->r);
	for (size_t i = 0; i < a->family_count; i++)
		f[i] = a->families[i].family;
	memcpy(f + a->family_count, families, sizeof(families));
	ret->families = f;
	ret->family_count = a->family_count + FAMILIES;
	return 0;
}

/* Labels hidden by any server of a cluster. */
static int keep_hidden(struct site_parser *p, const struct cluster_draft *c,
		       struct access_policy *ret)
{
	const struct server_draft *servers = c->servers[SITE_PROMETHEUS];
	size_t n = 0, count = c->server_count[SITE_PROMETHEUS];

	for (size_t i = 0; i < count; i++)
		n += servers[i].params.filter_label_count;
	const char **all = arena_alloc(p->r.arena, n, sizeof(*all));
	if (!all)
		return yaml_reader_no_memory(&p->r);
	ret->hidden = all;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < servers[i].params.filter_label_count; k++)
			all[ret->hidden_count++] = servers[i].params.filter_labels[k];
	}
	return 0;
}

/* A Pyroscope of one cluster next to a Prometheus of several: its profiles need no
 * cluster label, or another one. */
static int keep_profile_label(struct site_parser *p, const struct cluster_draft *c,
			      struct access_policy *ret)
{
	const char *label =
		c->access.profile_cluster_label ?: p->access.profile_cluster_label;

	if (!label)
		return 0;
	if (!*label && shares_any_server(p, c, SITE_PYROSCOPE))
		return site_fail(
			p, c->line,
			"profile_cluster_label: none, but another cluster has the "
			"same Pyroscope",
			c->id);
	ret->cluster_label = *label ? label : NULL;
	return 0;
}

/* A cluster's own number, else that for all, else the default. */
static uint64_t choose_number(uint64_t own, uint64_t all, uint64_t def)
{
	return own != SITE_NOT_GIVEN ? own : all != SITE_NOT_GIVEN ? all : def;
}

static int make_policies(struct site_parser *p, const struct cluster_draft *c,
			 struct site_cluster *ret)
{
	const struct access_draft *own = &c->access, *all = &p->access;
	struct access_policy *prom = &ret->policy[SITE_PROMETHEUS];
	struct access_policy *pyro = &ret->policy[SITE_PYROSCOPE];
	bool inject = own->inject >= 0 ? own->inject : all->inject > 0;
	struct access_family *profile = arena_alloc(p->r.arena, 1, sizeof(*profile));

	if (!profile)
		return yaml_reader_no_memory(&p->r);
	*prom = (struct access_policy){
		.cluster_label = own->cluster_label ?: all->cluster_label,
		.cluster = c->id,
		.lookback_ms = (int64_t)choose_number(own->lookback_ms,
						      all->lookback_ms, LOOKBACK_MS),
		.inject_max =
			inject ? (uint32_t)choose_number(own->inject_max,
							 all->inject_max, INJECT_MAX)
			       : 0,
		.narrow_max = (uint32_t)choose_number(own->narrow_max, all->narrow_max,
						      NARROW_MAX),
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
	bool any = false;

	for (size_t i = 0; i < p->known_count; i++) {
		if (p->known[i].id && strcmp(p->known[i].id, id) == 0)
			return true;
		any |= p->known[i].id != NULL;
	}
	return !any;
}

static int make_clusters(struct site_parser *p, const struct site *before)
{
	struct site_cluster *list =
		arena_alloc(p->r.arena, p->cluster_count, sizeof(*list));

	if (!list)
		return yaml_reader_no_memory(&p->r);
	p->site->clusters = list;
	for (size_t i = 0; i < p->cluster_count; i++) {
		const struct cluster_draft *c = &p->clusters[i];

		if (!is_known_cluster(p, c->id))
			return site_fail(p, c->line,
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

	if (c->authorization_line || c->header_count)
		return site_fail(
			p, c->line, "ceems_api_server.web",
			"a password, a client certificate or MUNGE prove who we "
			"are; authorization and http_headers do not");
	if (c->basic_line && !c->auth.password && !c->auth.password_file)
		return site_fail(p, c->line, "ceems_api_server.web",
				 "basic_auth needs password or password_file");
	p->site->api = (struct site_api){
		.urls = c->urls,
		.url_count = c->url_count,
		.ca_file = c->ca_file,
		.cert_file = c->cert_file,
		.key_file = c->key_file,
		.insecure = c->insecure,
		.user = c->auth.user,
		.password = c->auth.password,
		.password_file = c->auth.password_file,
		.munge = c->munge_line ? c->munge : !c->auth.user && !c->cert_file,
		.munge_socket = p->site->identity.munge_socket,
		.timeout_ms = c->timeout_ms ?: 5000,
	};
	return 0;
}

static int make_roles(struct site_parser *p)
{
	struct site *s = p->site;
	size_t n = s->admin_count + p->api_admin_count;
	const char **all = arena_alloc(p->r.arena, n, sizeof(*all));
	struct role_entry e;

	if (!all)
		return yaml_reader_no_memory(&p->r);
	if (n > SITE_LIST_MAX)
		return site_fail(p, 1, "too many admins", NULL);
	for (size_t i = 0; i < n; i++)
		all[i] = i < s->admin_count ? s->admins[i]
					    : p->api_admins[i - s->admin_count];
	s->admins = all;
	s->admin_count = n;
	for (size_t i = 0; i < n + s->operator_count; i++) {
		const char *login = i < n ? all[i] : s->operators[i - n];

		if (role_entry_parse(login, strlen(login), &e) < 0)
			return site_fail(p, p->roles_line ? p->roles_line : 1,
					 "roles: not a login or login:number", login);
	}
	return 0;
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
	return rc < 0 ? site_fail(p, line, "identity", err.text) : 0;
}

static int make_identity(struct site_parser *p)
{
	static const char *const grafana[] = {"X-Grafana-User"};
	struct identity_params *i = &p->site->identity;
	size_t line = p->identity_line ? p->identity_line : 1;

	if (!i->user_header_count) {
		i->user_headers = grafana;
		i->user_header_count = 1;
	}
	if (i->user_header_count > IDENTITY_HEADERS_MAX)
		return site_fail(p, line, "identity.user_headers", "too many");
	if (i->token_keys && (!i->token_issuer_count || !i->token_audience_count))
		return site_fail(p, line, "identity.token_keys",
				 "needs token_issuers and token_audiences");
	return check_identity(p, line);
}

static void note_access(struct site_parser *p)
{
	const struct site *s = p->site;

	if (s->open)
		yaml_reader_note(
			&p->r, "open",
			"there is NO access control: everybody who reaches this port "
			"can read everything");
	else if (!p->api.line)
		yaml_reader_note(
			&p->r, "ceems_api_server.web.url",
			"missing: the owners of units are unknown, so users are "
			"refused");
	if (!s->open && !s->identity.front_end_count && !s->identity.token_keys)
		yaml_reader_note(
			&p->r, "identity",
			"no front end may name users by a header, and there are "
			"no token_keys: Grafana's users will be refused");
}

int site_build(struct site_parser *p, const struct site *before)
{
	struct site_limits *l = &p->site->limits;
	int rc = make_api(p);

	l->user_burst = l->user_burst ?: 2 * l->user_rate;
	if (rc == 0)
		rc = make_roles(p);
	if (rc == 0)
		rc = make_identity(p);
	if (rc == 0 && !p->cluster_count)
		rc = site_fail(p, 1, "ceems_lb.backends", "none given");
	if (rc == 0)
		rc = make_clusters(p, before);
	if (rc < 0)
		return rc;
	note_access(p);
	if (buf_error(&p->notes) || buf_error(&p->files))
		return yaml_reader_no_memory(&p->r);
	p->site->files = arena_text(p->r.arena, p->files.data ? p->files.data : "");
	if (!p->site->files)
		return yaml_reader_no_memory(&p->r);
	p->site->notes = arena_text(p->r.arena, p->notes.data ? p->notes.data : "");
	return p->site->notes ? 0 : yaml_reader_no_memory(&p->r);
}
