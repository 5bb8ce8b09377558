/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of endpoints, and scopes as SQL conditions. */
#include "aggregator/access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/api.h"
#include "lib/identity/role_entry.h"
#include "lib/parse.h"

static const struct param_spec cluster = {"cluster_id", PARAM_TEXT, true,
					  "Only of this cluster."};
static const struct param_spec manager = {
	"resource_manager", PARAM_MANAGER, true,
	"Only of clusters of this one: slurm, openstack, libvirt (VMs of which no "
	"OpenStack was asked) or k8s."};
static const struct param_spec project = {"project", PARAM_TEXT, true,
					  "Only of this project (Slurm's account)."};
static const struct param_spec user = {"user", PARAM_TEXT, true, "Only of this user."};
static const struct param_spec uuid = {
	"uuid", PARAM_ID, true,
	"Only this unit; the number of an array or a heterogeneous job is all of it. "
	"No "
	"window is set then unless from or to is given."};
static const struct param_spec uuid_exact = {"uuid", PARAM_ID, true,
					     "Id of a unit, at most 100 of them."};
static const struct param_spec running = {
	"running", PARAM_FLAG, false, "false leaves out units that have not ended."};
static const struct param_spec state = {"state", PARAM_TEXT, true,
					"Only in this state, in Slurm's words."};
static const struct param_spec from = {
	"from", PARAM_TIME, false,
	"Start of the window; by default a day before `to`."};
static const struct param_spec to = {"to", PARAM_TIME, false,
				     "End of the window; by default now."};
static const struct param_spec zone = {
	"timezone", PARAM_TEXT, false,
	"Zone for times in text (Europe/Paris); by default the server's."};
static const struct param_spec field = {"field", PARAM_TEXT, true,
					"Only this member of each row."};
static const struct param_spec groupby = {"groupby", PARAM_TEXT, true,
					  "cluster_id, resource_manager, project, "
					  "groupname or username, of which each row "
					  "has one anyway; others are refused."};
static const struct param_spec limit = {
	"limit", PARAM_COUNT, false, "Most rows of a page, 1 to 1000; by default 100."};
static const struct param_spec most = {"most", PARAM_TEXT, false,
				       "Most units, 1 to 10001; by default 1000."};
static const struct param_spec latest = {
	"latest", PARAM_COUNT, false,
	"Beside what is asked for the runs of so many of one's own units, those that "
	"began last: 1 to 1000."};
static const struct param_spec cursor = {"cursor", PARAM_TEXT, false,
					 "The `cursor` of the page before."};
static const struct param_spec role = {"role", PARAM_TEXT, false,
				       "admin: those who are admins."};
static const struct param_spec provider = {"provider", PARAM_TEXT, true,
					   "Only of this provider."};
static const struct param_spec emission_zone = {"zone", PARAM_TEXT, true,
						"Only of this zone."};
static const struct param_spec resolution = {
	"resolution", PARAM_TEXT, false,
	"interval (as reported, the default), hour or none: of the series."};

#define LIST(name, ...)                                                                \
	static const struct param_spec *const name[] = {__VA_ARGS__, NULL}
LIST(no_params, NULL);
LIST(users_params, &cluster, &manager, &project, &zone);
LIST(users_admin_params, &user, &cluster, &manager, &project, &role, &zone);
LIST(projects_params, &project, &cluster, &manager, &zone);
LIST(units_params, &cluster, &manager, &uuid, &project, &user, &running, &state, &from,
     &to, &zone, &field, &limit, &cursor);
LIST(verify_params, &uuid_exact, &cluster, &from, &to, &latest);
LIST(own_params, &cluster, &from, &to, &most);
LIST(unit_params, &from, &to, &resolution, &limit, &zone);
LIST(usage_params, &cluster, &manager, &project, &from, &to, &zone, &field, &groupby);
LIST(usage_admin_params, &cluster, &manager, &project, &user, &from, &to, &zone, &field,
     &groupby);
LIST(usage_projects_params, &cluster, &manager, &project, &user, &from, &to, &zone,
     &field);
LIST(daily_params, &cluster, &manager, &project, &from, &to, &limit, &cursor, &zone,
     &field);
LIST(daily_admin_params, &cluster, &manager, &project, &user, &from, &to, &limit,
     &cursor, &zone, &field);
LIST(stats_params, &cluster, &from, &to, &zone);
LIST(factors_params, &provider, &emission_zone, &from, &to, &limit, &zone);

#define EVERYBODY(kind)                                                                \
	{                                                                              \
		kind, kind, kind                                                       \
	}
#define OPERATORS                                                                      \
	{                                                                              \
		SCOPE_NONE, SCOPE_CLUSTERS, SCOPE_ALL                                  \
	}

const struct endpoint endpoints[] = {
	{"/users", EVERYBODY(SCOPE_SELF), users_params, api_users,
	 "The caller, on each cluster, with their projects."},
	{"/users/admin", OPERATORS, users_admin_params, api_users_admin,
	 "All users, or, with role=admin, the admins."},
	{"/projects", EVERYBODY(SCOPE_SELF), projects_params, api_projects,
	 "Projects of which the caller is a member."},
	{"/projects/admin", OPERATORS, projects_params, api_projects_admin,
	 "All projects with their members."},
	{"/units", EVERYBODY(SCOPE_MATES), units_params, api_units,
	 "Units of the caller that lived in the window, the latest first; running ones "
	 "too. With project or user those of project members, where the site allows "
	 "it."},
	{"/units/admin", OPERATORS, units_params, api_units_admin,
	 "The same of everybody."},
	{"/units/visible",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 units_params,
	 api_units_visible,
	 "What the caller may see: /units/admin for operators and admins, with their "
	 "own on other clusters, and /units for everybody else."},
	{"/units/verify",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 verify_params,
	 api_verify,
	 "Whether each of these ids was, in the window, a unit that the caller may "
	 "see, and nobody else's: 200, or 403. By POST, with up to 10000 ids in the "
	 "body, one in a line: all runs of each, and the caller's role. For load "
	 "balancers."},
	{"/units/own", EVERYBODY(SCOPE_SELF), own_params, api_units_own,
	 "All runs of the ids under which the caller had units in the window, in one "
	 "cluster, and the role there. For load balancers."},
	{"/units/*",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 unit_params,
	 api_unit,
	 "A unit (the `id` of its row) with its nodes, steps and series."},
	{"/units/{cluster}/{uuid}",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 unit_params,
	 api_unit,
	 "The same by what its user knows of it: the latest run of this id in a "
	 "cluster that the caller may see."},
	{"/units/{cluster}/{uuid}/{run}",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 unit_params,
	 api_unit,
	 "The same of one run: the number of its restarts, 0 for the first."},
	{"/usage/current", EVERYBODY(SCOPE_MATES), usage_params, api_usage_current,
	 "Sums of the window, by full hours, for each user and project."},
	{"/usage/global", EVERYBODY(SCOPE_MATES), usage_params, api_usage_global,
	 "Sums of all time."},
	{"/usage/current/admin", OPERATORS, usage_admin_params, api_usage_current,
	 "The same of everybody."},
	{"/usage/global/admin", OPERATORS, usage_admin_params, api_usage_global,
	 "The same of everybody."},
	{"/usage/current/visible",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 usage_admin_params,
	 api_usage_current,
	 "The same of what the caller may see."},
	{"/usage/daily", EVERYBODY(SCOPE_MATES), daily_params, api_usage_daily,
	 "Sums for each day (UTC), user and project."},
	{"/usage/daily/admin", OPERATORS, daily_admin_params, api_usage_daily,
	 "The same of everybody."},
	{"/usage/daily/visible",
	 {SCOPE_MATES, SCOPE_CLUSTERS, SCOPE_ALL},
	 daily_admin_params,
	 api_usage_daily,
	 "The same of what the caller may see."},
	{"/usage/projects", OPERATORS, usage_projects_params, api_usage_projects,
	 "For each project: users, units, use of what it had, energy, grams."},
	{"/clusters/admin", OPERATORS, no_params, api_clusters, "Clusters."},
	{"/stats", EVERYBODY(SCOPE_SELF), stats_params, api_stats,
	 "Numbers of units of the caller, and how fresh the data are."},
	{"/stats/current/admin", OPERATORS, stats_params, api_stats,
	 "Numbers of units, projects and users in the window, for each cluster."},
	{"/stats/global/admin", OPERATORS, stats_params, api_stats_global,
	 "The same of all time."},
	{"/emissions/factors", EVERYBODY(SCOPE_LOGIN), factors_params, api_factors,
	 "Emission factors as the aggregator has them."},
	{"/demo/units", EVERYBODY(SCOPE_PUBLIC), no_params, api_demo,
	 "Rows that are made up, in the form of /units."},
	{"/demo/usage", EVERYBODY(SCOPE_PUBLIC), no_params, api_demo,
	 "Rows that are made up, in the form of /usage/current."},
	{"/openapi.json", EVERYBODY(SCOPE_PUBLIC), no_params, api_openapi,
	 "This document."},
};
const size_t endpoint_count = sizeof(endpoints) / sizeof(endpoints[0]);

static bool take_number(const char *s, size_t n, uint64_t max, uint64_t *ret)
{
	return parse_u64_len(s, n, ret) == 0 && *ret <= max;
}

static bool take_text(const char *s, size_t n, char *ret, size_t size)
{
	if (n == 0 || n >= size)
		return false;
	memcpy(ret, s, n);
	ret[n] = '\0';
	return true;
}

/* Matches one part between slashes: a variable of the table, or the same word. */
static bool take_part(const char *pattern, size_t m, const char *s, size_t n,
		      struct path_args *ret)
{
	if (m == 1 && *pattern == '*')
		return take_number(s, n, INT64_MAX, &ret->id);
	if (m == 9 && memcmp(pattern, "{cluster}", m) == 0)
		return take_text(s, n, ret->cluster, sizeof(ret->cluster));
	if (m == 6 && memcmp(pattern, "{uuid}", m) == 0)
		return take_text(s, n, ret->uuid, sizeof(ret->uuid)) &&
		       params_is_id(ret->uuid, strlen(ret->uuid));
	if (m == 5 && memcmp(pattern, "{run}", m) == 0) {
		ret->has_run = true;
		return take_number(s, n, INT32_MAX, &ret->run);
	}
	return m == n && memcmp(pattern, s, n) == 0;
}

static bool take_path(const char *pattern, const char *path, struct path_args *ret)
{
	*ret = (struct path_args){.id = 0};
	while (*pattern == '/' && *path == '/') {
		size_t m = strcspn(++pattern, "/"), n = strcspn(++path, "/");
		if (!take_part(pattern, m, path, n, ret))
			return false;
		pattern += m;
		path += n;
	}
	return !*pattern && !*path;
}

const struct endpoint *access_find(const char *path, struct path_args *ret)
{
	for (size_t i = 0; i < endpoint_count; i++) {
		if (take_path(endpoints[i].path, path, ret))
			return &endpoints[i];
	}
	return NULL;
}

/* ---- roles ----------------------------------------------------------------------- */

/* The user, as in the lists and the table. */
struct claimant {
	const struct identity_who *who;
	bool looked, has_account;
};

/* Matches a login without uid, which can only mean this host's account. */
static bool is_bare_of(struct claimant *c)
{
	if (!c->who->has_uid)
		return true;
	if (c->who->of_records)
		return false;
	if (!c->looked)
		c->has_account = role_entry_is_account(c->who);
	c->looked = true;
	return c->has_account;
}

static bool is_meant(struct claimant *c, const char *s, size_t len)
{
	enum role_match match = role_entry_match(s, len, c->who);

	return match == ROLE_MATCH_YES ||
	       (match == ROLE_MATCH_ACCOUNT && is_bare_of(c));
}

static bool is_listed_claimant(const struct conf_list *l, struct claimant *c)
{
	for (size_t i = 0; l && i < l->count; i++) {
		if (is_meant(c, l->items[i], strlen(l->items[i])))
			return true;
	}
	return false;
}

int access_check_roles(const struct conf_list *admins,
		       const struct conf_list *operators, struct err *err)
{
	struct role_entry e;

	for (size_t i = 0; i < admins->count; i++) {
		const char *s = admins->items[i];
		if (role_entry_parse(s, strlen(s), &e) < 0)
			return err_set(err, -EINVAL,
				       "--admin.users: %.100s: not a login, or "
				       "login:number",
				       s);
	}
	for (size_t i = 0; i < operators->count; i++) {
		const char *s = operators->items[i];
		size_t n = strcspn(s, "/");
		if ((s[n] && !s[n + 1]) || role_entry_parse(s, n, &e) < 0)
			return err_set(err, -EINVAL,
				       "--operator.users: %.100s: not a login or "
				       "login:number, with or without /cluster",
				       s);
	}
	return 0;
}

static void append_number(struct buf *b, const char *number)
{
	if (b->len)
		buf_putc(b, ',');
	buf_puts(b, number);
}

/* The clusters of an operator, by name from the configuration and by id from the
 * database; *ret_all: all of them. */
static int match_operators(const struct conf_list *operators, struct claimant *c,
			   struct pg *pg, struct buf *ret, bool *ret_all,
			   struct err *err)
{
	struct buf names = {.max = 65536};
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;

	buf_putc(&names, '[');
	for (size_t i = 0; i < operators->count; i++) {
		const char *s = operators->items[i];
		size_t n = strcspn(s, "/");
		if (!is_meant(c, s, n))
			continue;
		*ret_all |= !s[n];
		if (!s[n])
			continue;
		buf_puts(&names, names.len > 1 ? "," : "");
		buf_put_json(&names, s + n + 1, strlen(s + n + 1));
	}
	buf_putc(&names, ']');
	query_put(&q, "SELECT id, 'listed' FROM cluster WHERE name IN (SELECT "
		      "jsonb_array_elements_text(");
	query_text(&q, names.data);
	query_put(&q, "::jsonb)) UNION SELECT cluster, NULL FROM role WHERE role = "
		      "'operator' "
		      "AND (valid_to IS NULL OR valid_to > now()) AND login = ");
	query_text(&q, c->who->login);
	int rc = query_run_kept(&q, pg, &r, err);
	buf_done(&names);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		const char *id = pg_get_text(r, i, 0);
		if (!pg_get_text(r, i, 1) && !is_bare_of(c))
			continue;
		if (id)
			append_number(ret, id);
		else
			*ret_all = true;
	}
	return rc;
}

static int is_admin(const struct access_site *site, struct claimant *c, struct pg *pg,
		    struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	auto_query struct query q = {.list_count = 0};

	if (is_listed_claimant(site->admins, c))
		return 1;
	query_put(&q, "SELECT FROM role WHERE role = 'admin' AND cluster IS NULL AND "
		      "(valid_to IS NULL OR valid_to > now()) AND login = ");
	query_text(&q, c->who->login);
	int rc = query_run_kept(&q, pg, &r, err);
	return rc < 0 ? rc : PQntuples(r) > 0 && is_bare_of(c);
}

static int find_role(const struct access_site *site, struct claimant *c, struct pg *pg,
		     struct scope *ret, struct err *err)
{
	bool all = false;
	int rc = is_admin(site, c, pg, err);

	if (rc > 0)
		ret->role = ROLE_ADMIN;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = match_operators(site->operators, c, pg, &ret->clusters, &all, err);
	if (rc < 0)
		return rc;
	if (all || ret->clusters.len)
		ret->role = ROLE_OPERATOR;
	if (all) /* an operator of all clusters sees everything of all clusters */
		buf_reset(&ret->clusters);
	return 0;
}

/* A user who is only named by a front end has no role. */
static void withhold_role(const struct identity_who *who, struct scope *s)
{
	if (s->role == ROLE_USER || !who->named)
		return;
	role_entry_withhold(who);
	s->role = ROLE_USER;
	buf_reset(&s->clusters);
}

/* ---- persons --------------------------------------------------------------------- */

/* For a uid without a login on this host: the login that clusters have for it, if they
 * agree. */
static int name_by_uid(struct identity_who *who, struct pg *pg, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	auto_query struct query q = {.list_count = 0};

	query_put(
		&q,
		"SELECT DISTINCT name FROM (SELECT DISTINCT ON (cluster) cluster, name "
		"FROM person WHERE erased_at IS NULL AND uid = ");
	query_s64(&q, who->uid);
	query_put(&q, " ORDER BY cluster, newest DESC NULLS LAST) p LIMIT 2");
	int rc = query_run_kept(&q, pg, &r, err);
	if (rc < 0)
		return rc;
	if (PQntuples(r) != 1 || !identity_is_login(pg_get_text(r, 0, 0)))
		return err_set(err, -EPERM, "uid %u has no login on this host",
			       who->uid);
	snprintf(who->login, sizeof(who->login), "%s", pg_get_text(r, 0, 0));
	who->of_records = true;
	return 0;
}

/* For a proved uid, the persons with that uid and this login; the person without a uid
 * is theirs if nobody else has the login and this host has it for the uid. A bare login
 * means the person who last submitted a job, and units known from nodes only are theirs
 * if nobody else has the uid. */
static void put_who_persons(const struct identity_who *who, struct query *q)
{
	query_put(q, "SELECT DISTINCT ON (p.cluster) p.id, p.cluster, CASE WHEN ");
	query_put(q, who->has_uid
			     ? "true"
			     : "NOT EXISTS (SELECT FROM person o WHERE o.cluster = "
			       "p.cluster AND o.uid = p.uid AND o.id <> p.id AND "
			       "o.erased_at IS NULL AND (p.newest IS NULL OR o.newest "
			       "> p.newest))");
	/* persons of Keystone and the like are known by their ids, not by names, and by
	 * a login where the site says that their names are logins */
	query_put(q, " THEN p.uid END FROM person p WHERE p.erased_at IS NULL AND "
		     "p.external_id IS NULL AND p.name = ");
	query_text(q, who->login);
	if (who->has_uid) {
		query_put(q, " AND (p.uid = ");
		query_s64(q, who->uid);
	}
	/* a login known from records only proves nothing if they have no uid */
	if (who->has_uid && who->of_records)
		query_put(q, ")");
	else if (who->has_uid)
		query_put(q, " OR (p.uid IS NULL AND NOT EXISTS (SELECT FROM person o "
			     "WHERE o.cluster = p.cluster AND o.name = p.name AND "
			     "o.erased_at IS NULL AND o.uid IS NOT NULL)))");
	query_put(q, " ORDER BY p.cluster, p.newest DESC NULLS LAST, p.uid IS NULL, "
		     "p.id DESC LIMIT 1000");
}

/* A login that only records know for a uid is not proved. */
static void put_who_external(const struct identity_who *who, struct query *q)
{
	query_put(q, "SELECT p.id, p.cluster, NULL FROM person p WHERE p.erased_at IS "
		     "NULL AND p.external_id IS NOT NULL AND p.login = ");
	query_text(q, who->of_records ? "" : who->login);
	query_put(q, " LIMIT 1000");
}

static int find_persons(const struct identity_who *who, struct pg *pg,
			struct scope *ret, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	auto_query struct query q = {.list_count = 0};

	query_put(&q, "(");
	put_who_persons(who, &q);
	query_put(&q, ") UNION ALL (");
	put_who_external(who, &q);
	query_put(&q, ")");
	int rc = query_run_kept(&q, pg, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		append_number(&ret->persons, pg_get_text(r, i, 0));
		append_number(&ret->person_clusters, pg_get_text(r, i, 1));
		if (!pg_get_text(r, i, 2))
			continue;
		append_number(&ret->uids, pg_get_text(r, i, 2));
		append_number(&ret->uid_clusters, pg_get_text(r, i, 1));
	}
	if (rc < 0 || !who->has_uid)
		return rc;
	/* MUNGE's uid is theirs on all clusters of Slurm whose records do not
	 * contradict; what a node calls Slurm's elsewhere is a hint */
	PQclear(r);
	r = NULL;
	query_done(&q);
	q = (struct query){.list_count = 0};
	query_put(&q, "SELECT c.id FROM cluster c WHERE cluster_has_numbers(c) AND NOT "
		      "EXISTS (SELECT FROM person p "
		      "WHERE p.cluster = c.id AND (p.uid = ");
	query_s64(&q, who->uid);
	query_put(&q, " OR (p.uid IS NOT NULL AND p.name = ");
	query_text(&q, who->login);
	query_put(&q, ")))");
	rc = query_run_kept(&q, pg, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++) {
		char uid[16];
		snprintf(uid, sizeof(uid), "%u", who->uid);
		append_number(&ret->uids, uid);
		append_number(&ret->uid_clusters, pg_get_text(r, i, 0));
	}
	return rc;
}

/* Of another service's projects (OpenStack's) the members see what is in them, as they
 * do there; of Slurm's accounts where the site allows it. */
static int find_projects(const struct access_site *site, struct pg *pg,
			 struct scope *ret, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	auto_query struct query q = {.list_count = 0};

	query_put(&q,
		  "SELECT DISTINCT project FROM membership WHERE valid_from <= now() "
		  "AND (valid_to IS NULL OR valid_to > now()) AND person = ANY (");
	query_numbers(&q, &ret->persons, "integer");
	query_put(&q, ")");
	if (!site->project_members)
		query_put(&q, " AND EXISTS (SELECT FROM project p WHERE p.id = project "
			      "AND p.external_id IS NOT NULL)");
	query_put(&q, " LIMIT 10000");
	int rc = query_run_kept(&q, pg, &r, err);
	for (int i = 0; rc == 0 && i < PQntuples(r); i++)
		append_number(&ret->projects, pg_get_text(r, i, 0));
	return rc;
}

int access_resolve(const struct access_site *site, const struct endpoint *e,
		   struct identity_who *who, struct pg *pg, struct scope *ret,
		   struct err *err)
{
	struct claimant claimant = {.who = who};
	int rc = 0;

	if (!*who->login)
		rc = name_by_uid(who, pg, err);
	if (rc == 0)
		rc = find_role(site, &claimant, pg, ret, err);
	if (rc < 0)
		return rc;
	withhold_role(who, ret);
	ret->kind = e->scopes[ret->role];
	if (ret->kind == SCOPE_NONE)
		return err_set(err, -EPERM, "%s: this is for operators and admins",
			       who->login);
	if (ret->kind == SCOPE_CLUSTERS && !ret->clusters.len)
		ret->kind = SCOPE_ALL;
	if (ret->kind == SCOPE_SELF || ret->kind == SCOPE_MATES ||
	    ret->kind == SCOPE_CLUSTERS)
		rc = find_persons(who, pg, ret, err);
	if (rc == 0 && ret->kind == SCOPE_MATES)
		rc = find_projects(site, pg, ret, err);
	if (rc == 0 && ret->kind == SCOPE_MATES && site->more_projects)
		rc = site->more_projects(site->arg, who, pg, &ret->projects, err);
	if (ret->kind == SCOPE_MATES && !site->project_members && !ret->projects.len)
		ret->kind = SCOPE_SELF;
	return rc;
}

void scope_done(struct scope *s)
{
	buf_done(&s->persons);
	buf_done(&s->person_clusters);
	buf_done(&s->uids);
	buf_done(&s->uid_clusters);
	buf_done(&s->projects);
	buf_done(&s->clusters);
}

/* ---- conditions ------------------------------------------------------------------ */

static void put_uids(const struct scope *s, struct query *q, const char *cluster_of,
		     const char *uid_of)
{
	query_put(q, "EXISTS (SELECT FROM unnest(");
	query_numbers(q, &s->uid_clusters, "smallint");
	query_put(q, ", ");
	query_numbers(q, &s->uids, "bigint");
	query_put(q, ") AS mine (c, uid) WHERE mine.c = ");
	query_put(q, cluster_of);
	query_put(q, " AND mine.uid = ");
	query_put(q, uid_of);
	query_put(q, ")");
}

void scope_put_unit(const struct scope *s, struct query *q)
{
	switch (s->kind) {
	case SCOPE_ALL:
		query_put(q, "true");
		return;
	case SCOPE_SELF:
	case SCOPE_MATES:
	case SCOPE_CLUSTERS:
		break;
	default:
		query_put(q, "false");
		return;
	}
	/* the owner of a held unit is unknown */
	query_put(q,
		  s->kind == SCOPE_CLUSTERS ? "(true AND (" : "(u.held IS NULL AND (");
	query_put(q, "u.person = ANY (");
	query_numbers(q, &s->persons, "integer");
	query_put(q, ") OR (u.person IS NULL AND ");
	put_uids(s, q, "u.cluster", "u.uid");
	query_put(q, ")");
	if (s->kind == SCOPE_MATES) {
		query_put(q, " OR u.project = ANY (");
		query_numbers(q, &s->projects, "integer");
		query_put(q, ")");
	}
	if (s->kind == SCOPE_CLUSTERS) {
		query_put(q, " OR u.cluster = ANY (");
		query_numbers(q, &s->clusters, "smallint");
		query_put(q, ")");
	}
	query_put(q, "))");
}

void scope_put_private(const struct scope *s, struct query *q)
{
	struct scope own = *s;

	if (own.kind == SCOPE_MATES)
		own.kind = SCOPE_SELF;
	scope_put_unit(&own, q);
}

void scope_put_unlinked(const struct scope *s, struct query *q)
{
	switch (s->kind) {
	case SCOPE_ALL:
		query_put(q, "true");
		return;
	case SCOPE_SELF:
	case SCOPE_MATES:
		put_uids(s, q, "o.cluster", "n.uid");
		return;
	case SCOPE_CLUSTERS:
		query_put(q, "o.cluster = ANY (");
		query_numbers(q, &s->clusters, "smallint");
		query_put(q, ")");
		return;
	default:
		query_put(q, "false");
	}
}

/* Rows with columns person, project and cluster, or their own ids. */
static void put_owner(const struct scope *s, struct query *q, const char *person,
		      const char *project_of, const char *cluster_of)
{
	switch (s->kind) {
	case SCOPE_ALL:
		query_put(q, "true");
		return;
	case SCOPE_CLUSTERS:
		query_put(q, cluster_of);
		query_put(q, " = ANY (");
		query_numbers(q, &s->clusters, "smallint");
		query_put(q, ")");
		return;
	case SCOPE_SELF:
	case SCOPE_MATES:
		break;
	default:
		query_put(q, "false");
		return;
	}
	query_put(q, "(");
	query_put(q, person);
	query_put(q, " = ANY (");
	query_numbers(q, &s->persons, "integer");
	query_put(q, ")");
	if (s->kind == SCOPE_MATES && project_of) {
		query_put(q, " OR ");
		query_put(q, project_of);
		query_put(q, " = ANY (");
		query_numbers(q, &s->projects, "integer");
		query_put(q, ")");
	}
	query_put(q, ")");
}

/* Operators of some clusters are ordinary users of the others. */
static void put_owner_or_self(const struct scope *s, struct query *q,
			      const char *cluster_of)
{
	query_put(q, "(");
	put_owner(s, q, "d.person", "d.project", cluster_of);
	if (s->kind == SCOPE_CLUSTERS) {
		query_put(q, " OR d.person = ANY (");
		query_numbers(q, &s->persons, "integer");
		query_put(q, ")");
	}
	query_put(q, ")");
}

void scope_put_usage(const struct scope *s, struct query *q)
{
	put_owner_or_self(s, q, "d.cluster");
}

void scope_put_day(const struct scope *s, struct query *q)
{
	put_owner_or_self(s, q, "u.cluster");
}

void scope_put_person(const struct scope *s, struct query *q)
{
	put_owner(s, q, "p.id", NULL, "p.cluster");
}

/* A user sees the projects that he is a member of. */
void scope_put_project(const struct scope *s, struct query *q)
{
	if (s->kind == SCOPE_ALL || s->kind == SCOPE_CLUSTERS) {
		put_owner(s, q, "p.id", NULL, "p.cluster");
		return;
	}
	query_put(q,
		  "p.id IN (SELECT m.project FROM membership m WHERE m.valid_from <= "
		  "now() AND (m.valid_to IS NULL OR m.valid_to > now()) AND m.person = "
		  "ANY (");
	query_numbers(q, &s->persons, "integer");
	query_put(q, "))");
}
