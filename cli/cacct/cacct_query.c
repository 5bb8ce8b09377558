/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which units to request from the API, and which of the answer to show. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cacct/cacct.h"
#include "lib/cleanup.h"
#include "lib/http/client_url.h"
#include "lib/http/json.h"

#define PAGE "500"
#define JOBS_AT_ONCE 100u /* in one request */

/* Whose units are requested, which determines the endpoint. */
enum way {
	WAY_OWN,     /* the caller's */
	WAY_VISIBLE, /* what the caller's role lets her see */
	WAY_MATES, /* other users' by name, if the site shows them to project members */
	WAY_ADMIN, /* other users', as an operator */
};

struct query {
	struct cacct *c;
	size_t first; /* first of the named jobs in this request */
	cacct_unit_f f;
	void *arg;
};

bool cacct_names_self(const struct cacct *c)
{
	struct passwd *pw = getpwuid(getuid());

	for (size_t i = 0; i < c->users.count; i++)
		if (!pw || strcmp(c->users.items[i], pw->pw_name) != 0)
			return false;
	return true;
}

static void put_list(struct buf *t, const char *name, const struct cacct_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		api_put_param(t, name, l->items[i]);
}

static void put_number_param(struct buf *t, const char *name, int64_t v)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, v);
	api_put_param(t, name, text);
}

void cacct_put_whose(const struct cacct *c, bool has_users, struct buf *t)
{
	if (c->clusters.count && !c->all_clusters)
		put_list(t, "cluster_id", &c->clusters);
	/* the site's own cluster is of one manager */
	else if (c->site.cluster && !c->all_clusters && !c->kinds.managers)
		api_put_param(t, "cluster_id", c->site.cluster);
	kind_put_params(&c->kinds, t);
	put_list(t, "project", &c->accounts);
	if (has_users && !c->all_users)
		put_list(t, "user", &c->users);
}

/* In the API's form: both numbers of an array's task. */
static void put_job(const struct jobsel_one *one, struct buf *t)
{
	char text[96];

	if (one->task >= 0)
		(void)snprintf(text, sizeof(text), "%s_%" PRId64, one->job, one->task);
	else if (one->offset >= 0)
		(void)snprintf(text, sizeof(text), "%s+%" PRId64, one->job,
			       one->offset);
	else
		(void)snprintf(text, sizeof(text), "%s", one->job);
	api_put_param(t, "uuid", text);
}

/* Jobs from q->first on. */
static void put_units_target(const struct query *q, enum way way, struct buf *t)
{
	static const char *const paths[] = {[WAY_OWN] = "/api/v1/units",
					    [WAY_VISIBLE] = "/api/v1/units/visible",
					    [WAY_MATES] = "/api/v1/units",
					    [WAY_ADMIN] = "/api/v1/units/admin"};
	const struct cacct *c = q->c;

	buf_puts(t, paths[way]);
	cacct_put_whose(c, way != WAY_OWN, t);
	for (size_t i = q->first; i < q->c->jobs.count && i < q->first + JOBS_AT_ONCE;
	     i++)
		put_job(&q->c->jobs.one[i], t);
	if (!c->jobs.count || c->has_start || c->has_end) {
		put_number_param(t, "from", c->start);
		put_number_param(t, "to",
				 c->end + 1); /* an empty window is not a window */
	}
	api_put_param(t, "running", "true");
	api_put_param(t, "limit", PAGE);
}

bool cacct_list_has(const struct cacct_list *l, const char *text)
{
	for (size_t i = 0; text && i < l->count; i++)
		if (strcasecmp(l->items[i], text) == 0)
			return true;
	return !l->count;
}

/* A unit that never began counts from its submission. */
static bool in_window(const struct cacct *c, const struct unit *u)
{
	double from = u->number[UNIT_STARTED], to = u->number[UNIT_ENDED];

	if (isnan(from))
		from = u->number[UNIT_SUBMITTED];
	return !(from > (double)c->end) && !(to < (double)c->start);
}

static bool state_fits(const struct cacct *c, const struct unit *u)
{
	const char *state = u->text[UNIT_STATE];

	/* "CANCELLED by 1000" is CANCELLED */
	for (size_t i = 0; state && i < c->states.count; i++)
		if (strncmp(state, c->states.items[i], strlen(c->states.items[i])) == 0)
			return true;
	return !c->states.count;
}

static bool unit_fits(const struct cacct *c, const struct unit *u)
{
	return in_window(c, u) && state_fits(c, u) &&
	       kind_has(&c->kinds, u->text[UNIT_MANAGER]) &&
	       cacct_list_has(&c->partitions, u->text[UNIT_PARTITION]) &&
	       cacct_list_has(&c->qos, u->text[UNIT_QOS]) &&
	       cacct_list_has(&c->names, u->text[UNIT_NAME]) &&
	       cacct_list_has(&c->groups, u->text[UNIT_GROUP]) &&
	       cacct_list_has(&c->accounts, u->text[UNIT_ACCOUNT]) &&
	       cacct_list_has(&c->users, u->text[UNIT_USER]);
}

static int take_queried_unit(void *arg, struct json_object *row, struct err *err)
{
	struct query *q = arg;
	struct unit u;

	unit_from_json(row, q->c->now, &u);
	if (q->c->jobs.count) {
		/* a job that is named twice is returned once, by the first request */
		size_t i = jobsel_first(&q->c->jobs, &u);
		if (i < q->first || i - q->first >= JOBS_AT_ONCE ||
		    i == q->c->jobs.count)
			return 0;
	}
	if (!unit_fits(q->c, &u))
		return 0;
	return q->f(q->arg, &u, row, err);
}

static int ask_for_units(struct query *q, struct api *api, enum way way,
			 struct json_object **ret_meta, struct err *err)
{
	q->first = 0;
	do {
		auto_buf struct buf target = {.max = 64 << 10};
		put_units_target(q, way, &target);
		if (buf_error(&target))
			return err_set(err, -EINVAL,
				       "the request is too long: name fewer jobs, "
				       "users or accounts");
		if (*ret_meta)
			json_object_put(*ret_meta);
		*ret_meta = NULL;
		int rc =
			api_rows(api, target.data, take_queried_unit, q, ret_meta, err);
		if (rc < 0)
			return rc;
		q->first += JOBS_AT_ONCE;
	} while (q->first < q->c->jobs.count);
	return 0;
}

int cacct_units(struct cacct *c, struct api *api, cacct_unit_f f, void *arg,
		struct json_object **ret_meta, struct err *err)
{
	struct query q = {.c = c, .f = f, .arg = arg};
	auto_json struct json_object *meta = NULL;
	struct err other;
	int rc;

	if (!c->all_users && !c->users.count) {
		rc = ask_for_units(&q, api, WAY_VISIBLE, &meta, err);
		/* an older server, or the peer's */
		if (rc == -ENOENT)
			rc = ask_for_units(&q, api, WAY_OWN, &meta, err);
	} else if (!c->all_users && cacct_names_self(c)) {
		rc = ask_for_units(&q, api, WAY_OWN, &meta, err);
	} else {
		rc = ask_for_units(&q, api, WAY_ADMIN, &meta, err);
		if (rc == -EACCES && !c->all_users &&
		    ask_for_units(&q, api, WAY_MATES, &meta, &other) == 0)
			rc = 0;
		if (rc == -EACCES)
			return err_prefix(err, rc,
					  "only operators and admins may see %s of "
					  "other users",
					  kind_word(c->kinds.kind, 0));
	}
	if (rc < 0)
		return rc;
	if (ret_meta)
		*ret_meta = steal_ptr(&meta);
	return 0;
}

static int first_row(void *arg, struct json_object *row, struct err *err)
{
	struct json_object **ret = arg;
	(void)err;
	if (!*ret)
		*ret = json_object_get(row);
	return 0;
}

int cacct_detail(struct api *api, const struct unit *u, const char *resolution,
		 int64_t from_s, int64_t to_s, struct json_object **ret,
		 struct err *err)
{
	auto_json struct json_object *row = NULL;
	auto_buf struct buf target = {.max = 1024};

	buf_puts(&target, "/api/v1/units/");
	if (!isnan(u->number[UNIT_ID]))
		buf_printf(&target, "%.0f", u->number[UNIT_ID]);
	else
		http_url_put_escaped(&target,
				     u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "");
	api_put_param(&target, "resolution", resolution);
	if (from_s > 0)
		put_number_param(&target, "from", from_s);
	if (to_s > 0)
		put_number_param(&target, "to", to_s);
	if (buf_error(&target))
		return err_set(err, -EINVAL, "an id that is too long");
	int rc = api_rows(api, target.data, first_row, &row, NULL, err);
	if (rc < 0)
		return rc;
	if (!row)
		return err_set(err, -ENOENT, "the API has no details of %s %s",
			       kind_word(kind_of_manager(u->text[UNIT_MANAGER]), 1),
			       u->id);
	*ret = steal_ptr(&row);
	return 0;
}
