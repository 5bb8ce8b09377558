/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node is trusted about itself, and Slurm about its clusters: a proof of one node
 * must not allow reporting for another, or giving a job to somebody else. */
#include "aggregator/ingest/ingest_may.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SENDERS (PARTY_CERTIFICATE | PARTY_MUNGE | PARTY_TOKEN)

bool ingest_party_is(const struct ingest_party *p, const struct party *listed)
{
	if (!party_is_at(listed, p->has_peer ? &p->peer : NULL))
		return false;
	if (listed->kind == PARTY_ADDRESS)
		return true;
	if (listed->kind != p->kind)
		return false;
	switch (p->kind) {
	case PARTY_MUNGE:
		return party_is_account(listed, p->uid, p->name);
	case PARTY_TOKEN:
		return *p->name && strcmp(listed->name, p->name) == 0;
	case PARTY_CERTIFICATE:
		for (size_t i = 0; i < p->name_count; i++) {
			if (strcasecmp(listed->name, p->names[i]) == 0)
				return true;
		}
		return false;
	default:
		return false;
	}
}

int ingest_cluster_parse(const char *text, struct ingest_cluster *ret, struct err *err)
{
	size_t n = strcspn(text, "=");
	struct ingest_cluster c = {.anybody = !text[n]};

	if (!n || n >= sizeof(c.name))
		return err_set(err, -EINVAL,
			       "ingest.cluster: %.100s: must be CLUSTER or "
			       "CLUSTER=SENDER",
			       text);
	memcpy(c.name, text, n);
	if (!c.anybody &&
	    party_parse(text + n + 1, SENDERS | PARTY_ADDRESS, &c.from, err) < 0)
		return err_prefix(err, -EINVAL, "ingest.cluster");
	*ret = c;
	return 0;
}

static const char *word_of(const struct ingest_party *p, char *ret, size_t size)
{
	const char *kind = p->kind == PARTY_MUNGE   ? "munge"
			   : p->kind == PARTY_TOKEN ? "token"
						    : "certificate";
	const char *name = p->name;

	if (p->kind == PARTY_CERTIFICATE && p->name_count)
		name = p->names[0];
	if (p->kind == PARTY_MUNGE && !*name)
		snprintf(ret, size, "munge:%u", p->uid);
	else if (*name)
		snprintf(ret, size, "%s:%s", kind, name);
	else
		snprintf(ret, size, "a %s without a name", kind);
	return ret;
}

static int check_cluster(const struct ingest_may *may, const char *cluster,
			 struct err *err)
{
	bool known = false;
	char who[200];

	if (!may->cluster_count)
		return 0;
	for (size_t i = 0; i < may->cluster_count; i++) {
		const struct ingest_cluster *c = &may->clusters[i];
		if (strcmp(c->name, cluster) != 0)
			continue;
		known = true;
		if (c->anybody || ingest_party_is(may->party, &c->from))
			return 0;
	}
	if (!known)
		return err_set(err, -EACCES,
			       "this cluster is not allowed here (ingest.cluster)");
	return err_set(err, -EACCES,
		       "%s may not send for this cluster (ingest.cluster)",
		       word_of(may->party, who, sizeof(who)));
}

/* "n1" for node n1, and "n1.cluster.example" for it too: the domain is the site's. */
static bool names_node(const char *name, const char *node)
{
	size_t n = strlen(node);

	return n && strncasecmp(name, node, n) == 0 &&
	       (!name[n] || (name[n] == '.' && !strchr(name, '@')));
}

static int fits_node(const struct ingest_party *p, const char *node, struct err *err)
{
	if (p->any_node)
		return 1;
	if (p->kind == PARTY_MUNGE)
		return p->is_host ? p->is_host(p->arg, node, err) : 0;
	if (p->kind == PARTY_TOKEN) /* without a name it is not bound to a node */
		return !*p->name || names_node(p->name, node);
	for (size_t i = 0; i < p->name_count; i++) {
		if (names_node(p->names[i], node))
			return 1;
	}
	return 0;
}

int ingest_may_report(const struct ingest_may *may, const char *cluster,
		      const char *node, struct err *err)
{
	const struct ingest_party *p = may->party;
	char who[200];

	if (!p->reports)
		return err_set(err, -EACCES, "%s may not send reports of nodes",
			       word_of(p, who, sizeof(who)));
	int rc = check_cluster(may, cluster, err);
	if (rc < 0)
		return rc;
	rc = fits_node(p, node, err);
	if (rc < 0)
		return rc;
	return rc ? 0
		  : err_set(err, -EACCES, "%s may not send for node %.64s",
			    word_of(p, who, sizeof(who)), node);
}

int ingest_may_job(const struct ingest_may *may, const char *cluster, struct err *err)
{
	const struct ingest_party *p = may->party;
	char who[200];

	if (!p->jobs)
		return err_set(err, -EACCES,
			       "%s may not send completion records (ingest.jobs-from)",
			       word_of(p, who, sizeof(who)));
	return check_cluster(may, cluster, err);
}

int ingest_may_claim(const struct ingest_may *may, const char *cluster, struct err *err)
{
	const struct ingest_party *p = may->party;
	char who[200];

	if (!p->claims)
		return err_set(err, -EACCES,
			       "%s may not send claims of an admission webhook "
			       "(ingest.claims-from)",
			       word_of(p, who, sizeof(who)));
	return check_cluster(may, cluster, err);
}
