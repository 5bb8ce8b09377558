/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what a node says of a profile. */
#include "aggregator/profiles/profile_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"

#define TIME_SLACK_NS NSEC_PER_SEC

static const char *const passed_on[] = {"service_name", "uuid", "cluster", "hostname",
					"manager",      "step", "rank"};

static int need_label(const struct profile_record *r, const char *name,
		      const char **ret, struct err *err)
{
	*ret = profile_record_label(r, name);
	return *ret ? 0 : err_set(err, -EBADMSG, "it has no label %s", name);
}

/* A host may call itself by its full name, and its node be called by the first part. */
static int may_send(const struct ingest_may *may, const char *cluster,
		    const char *hostname, struct err *err)
{
	char node[PROFILE_LABEL_VALUE_MAX + 1];
	struct err first = {""};
	int rc = ingest_may_report(may, cluster, hostname, &first);

	if (rc == -EACCES && strchr(hostname, '.')) {
		(void)snprintf(node, sizeof(node), "%.*s", (int)strcspn(hostname, "."),
			       hostname);
		rc = ingest_may_report(may, cluster, node, err);
	}
	if (rc < 0)
		*err = first;
	return rc;
}

int profile_check_labels(const struct profile_record *r, const struct ingest_may *may,
			 struct profile_record *ret, struct err *err)
{
	const char *uuid = NULL, *cluster = NULL, *hostname = NULL;
	struct profile_record out = *r;
	int rc = need_label(r, "uuid", &uuid, err);

	rc = rc ? rc : need_label(r, "cluster", &cluster, err);
	rc = rc ? rc : need_label(r, "hostname", &hostname, err);
	if (rc < 0)
		return rc;
	if (strcmp(profile_record_label(r, "service_name"), uuid) != 0)
		return err_set(err, -EBADMSG, "its service_name is not its uuid");
	rc = may_send(may, cluster, hostname, err);
	if (rc < 0)
		return rc;
	out.memory = NULL;
	out.label_count = 0;
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		const char *value = profile_record_label(r, passed_on[i]);
		if (value)
			out.labels[out.label_count++] =
				(struct profile_label){passed_on[i], value};
	}
	*ret = out;
	return 0;
}

int profile_check_bytes(const struct profile_record *r, struct buf *scratch,
			struct err *err)
{
	struct profile_facts facts;
	int rc = profile_inspect(r->data, r->len, scratch, &facts, err);

	if (rc < 0)
		return rc;
	/* the store files it by the time in it, whatever the record says */
	if (facts.time_ns + TIME_SLACK_NS < r->from_ns ||
	    facts.time_ns > r->until_ns + TIME_SLACK_NS)
		return err_set(err, -EBADMSG,
			       "its time is not that of the samples in it");
	return 0;
}

static const struct pg_statement unit_of_profile = {
	"unit_of_profile",
	"WITH place AS (SELECT o.id, c.id AS cluster, c.reported_as AS manager FROM "
	"cluster c"
	" JOIN node o ON o.cluster = c.id WHERE c.name = $1"
	" AND (o.name = $2 OR o.name = split_part($2, '.', 1) AND NOT EXISTS"
	" (SELECT FROM node f WHERE f.cluster = c.id AND f.name = $2))), "
	"lives AS (SELECT n.started, n.ended, p.manager FROM place p"
	" JOIN unit u ON u.cluster = p.cluster AND u.uuid = $3"
	" JOIN unit_node n ON n.unit = u.id AND n.node = p.id "
	"UNION ALL SELECT n.started, n.ended, p.manager FROM place p"
	" JOIN unit_node n ON n.node = p.id AND n.unit IS NULL AND n.uuid = $3) "
	"SELECT coalesce(bool_or(ran), false), count(*), min(manager) FILTER (WHERE "
	"ran)"
	" FROM (SELECT manager,"
	" started <= $5::timestamptz + make_interval(secs => $6)"
	" AND (ended IS NULL OR ended >= $4::timestamptz - make_interval(secs => $6))"
	" AS ran FROM lives) l"};

int profile_check_unit(struct pg *pg, const struct profile_record *r, uint64_t now_ns,
		       char ret_manager[16], struct err *err)
{
	const char *uuid = profile_record_label(r, "uuid");
	const char *hostname = profile_record_label(r, "hostname");
	struct pg_args args = PG_ARGS_INIT;
	auto_pgresult PGresult *res = NULL;
	bool ran = false;
	int64_t known = 0;

	pg_arg_text(&args, profile_record_label(r, "cluster"));
	pg_arg_text(&args, hostname);
	pg_arg_text(&args, uuid);
	pg_arg_time(&args, r->from_ns);
	pg_arg_time(&args, r->until_ns);
	pg_arg_u64(&args, PROFILE_SLACK_S);
	int rc = pg_run(pg, &unit_of_profile, &args, &res, err);
	if (rc < 0)
		return rc;
	if (PQntuples(res) != 1 || pg_get_bool(res, 0, 0, &ran) < 0 ||
	    pg_get_s64(res, 0, 1, &known) < 0)
		return err_set(err, -EIO, "the database's answer is none");
	if (ran) {
		const char *manager = pg_get_text(res, 0, 2);
		(void)snprintf(ret_manager, 16, "%s", manager ? manager : "");
		return 0;
	}
	bool young = r->from_ns + PROFILE_WAIT_S * NSEC_PER_SEC > now_ns;
	if (known == 0 && young)
		return err_set(err, -EAGAIN, "no report of unit %s on %s yet", uuid,
			       hostname);
	return err_set(err, -EBADMSG, "unit %s did not run on %s then", uuid, hostname);
}
