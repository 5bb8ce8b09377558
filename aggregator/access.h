/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_ACCESS_H
#define CEEMS_AGGREGATOR_ACCESS_H

#include <stdbool.h>

#include "aggregator/query.h"
#include "lib/buf.h"
#include "lib/conf/conf.h"
#include "lib/identity/identity.h"

/*
 * Access control of the API: a table of endpoints with a scope for each role, and
 * scopes as SQL. What is not in the table does not exist, and a role that the table
 * does not name sees nothing. Each query takes its condition from here.
 */

enum scope_kind {
	SCOPE_NONE,   /* refused */
	SCOPE_PUBLIC, /* nobody's data: needs no proof */
	SCOPE_LOGIN,  /* nobody's data, but for known users only */
	SCOPE_SELF,   /* the caller's own */
	/* ... and that of all members of the caller's projects, if the site allows it
	 * (--privacy.project-members), else SCOPE_SELF */
	SCOPE_MATES,
	SCOPE_CLUSTERS, /* all of the clusters that the caller operates */
	SCOPE_ALL,
};

enum access_role { ROLE_USER, ROLE_OPERATOR, ROLE_ADMIN };

struct ask; /* aggregator/api.h */

struct endpoint {
	/* Below /api/v1. '*' stands for a unit's number; {cluster}, {uuid} and {run}
	 * stand for themselves. */
	const char *path;
	enum scope_kind scopes[3]; /* by role */
	const struct param_spec *const *params;
	/* Runs on a thread of the pool. */
	int (*answer)(struct ask *a, struct err *err);
	const char *what; /* for the OpenAPI document */
};

extern const struct endpoint endpoints[];
extern const size_t endpoint_count;

/* The variable parts of a path; "", 0 and false if it has none. */
struct path_args {
	uint64_t id;
	char cluster[256], uuid[129]; /* uuid: PARAM_ID */
	uint64_t run;
	bool has_run;
};

/* NULL: no such endpoint. Accepts any text. */
const struct endpoint *access_find(const char *path, struct path_args *ret);

/* Roles by configuration: "login", for operators also "login/cluster". -EINVAL. */
int access_check_roles(const struct conf_list *admins,
		       const struct conf_list *operators, struct err *err);

/* What a user may see, as ids of the database, "1,2,3". */
struct scope {
	enum scope_kind kind;
	enum access_role role;
	struct buf persons, person_clusters; /* the user, one person per cluster */
	struct buf uids, uid_clusters;       /* for units without a person */
	struct buf projects;                 /* SCOPE_MATES alone */
	struct buf clusters;                 /* SCOPE_CLUSTERS alone */
};
void scope_done(struct scope *s);

struct access_site {
	const struct conf_list *admins, *operators;
	bool project_members;
	/* Projects that the user sees without being a member by our records: appends
	 * their ids, "1,2,3". NULL: none. */
	int (*more_projects)(void *arg, const struct identity_who *who, struct pg *pg,
			     struct buf *ret, struct err *err);
	void *arg;
};

/* Looks up the user, and what they may see at the endpoint. -EPERM: refused, with a
 * text for the user; else the database's failure. Fills in who->login if only the uid
 * is known. */
int access_resolve(const struct access_site *site, const struct endpoint *e,
		   struct identity_who *who, struct pg *pg, struct scope *ret,
		   struct err *err);

/* Conditions for a row u of `unit`; n of unit_node with its node o; d of usage_day; d
 * of unit_day with its unit u; a person p; a project p. Constant text and the scope's
 * ids only. */
void scope_put_unit(const struct scope *s, struct query *q);
/* Of a row u that scope_put_unit() lets through: whether it is the caller's own, or of
 * a cluster that they operate. Members of a project do not see these of each other. */
void scope_put_private(const struct scope *s, struct query *q);
void scope_put_unlinked(const struct scope *s, struct query *q);
void scope_put_usage(const struct scope *s, struct query *q);
void scope_put_day(const struct scope *s, struct query *q);
void scope_put_person(const struct scope *s, struct query *q);
void scope_put_project(const struct scope *s, struct query *q);

#endif
