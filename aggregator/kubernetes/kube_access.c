/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks API servers about rights. Fails closed. */
#include "aggregator/kubernetes/kube_access.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "aggregator/kubernetes/kube_client.h"
#include "aggregator/kubernetes/kube_json.h"
#include "aggregator/query.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/siphash.h"

#define ASK_MS 2000
#define DOWN_NS (5 * NSEC_PER_SEC)
#define KEPT 4096u /* a power of two */
#define KEY_BYTES 1024
#define CLIENTS 8u         /* connections that are kept, of each cluster */
#define NAMESPACES_MAX 128 /* asked for, for one request */
#define ALL_MAX 5000       /* of a cluster, for who may see all */
#define GROUP_ALL "system:authenticated"
#define GROUPS_MAX 500 /* of a user */

/* Who asks a cluster */
struct kube_asker {
	const char *name;
	PGresult *groups; /* of theirs alone; NULL: none */
};

/* An answer. Keys are compared whole: a collision asks again, and allows nothing. */
struct kept_right {
	char key[KEY_BYTES];
	uint64_t until_ns;
	bool allowed;
};

struct kube_place {
	struct kube_client *clients[CLIENTS];
	size_t count;
	uint64_t down_until_ns;
	struct log_repeat failing;
};

struct kube_access {
	const struct kubes *kubes;
	const atomic_bool *stop;
	pthread_mutex_t lock;
	struct kube_place places[KUBES_MAX];
	struct kept_right *kept;
	uint64_t hash_key[2];
	atomic_uint_fast64_t asked, reused, failed;
};

int kube_access_new(const struct kubes *kubes, const atomic_bool *stop,
		    struct kube_access **ret, struct err *err)
{
	struct kube_access *a = calloc(1, sizeof(*a));

	if (a)
		a->kept = calloc(KEPT, sizeof(*a->kept));
	if (!a || !a->kept ||
	    getrandom(a->hash_key, sizeof(a->hash_key), 0) != sizeof(a->hash_key)) {
		kube_access_free(a);
		return err_set(err, -ENOMEM, "out of memory");
	}
	a->kubes = kubes;
	a->stop = stop;
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void kube_access_free(struct kube_access *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < KUBES_MAX; i++) {
		for (size_t k = 0; k < a->places[i].count; k++)
			kube_client_free(a->places[i].clients[k]);
	}
	free(a->kept);
	free(a);
}

void kube_access_count(struct kube_access *a, struct kube_access_counts *ret)
{
	*ret = (struct kube_access_counts){atomic_load(&a->asked),
					   atomic_load(&a->reused),
					   atomic_load(&a->failed)};
}

/* ---- one question ---------------------------------------------------------------- */

static struct kept_right *find_kept(struct kube_access *a, const char *key)
{
	return &a->kept[siphash13(a->hash_key, key, strlen(key)) & (KEPT - 1)];
}

/* 1: allowed, 0: not; -ENOENT: not known. */
static int look_up_right(struct kube_access *a, const char *key)
{
	uint64_t now = clock_read_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&a->lock);
	struct kept_right *k = find_kept(a, key);
	int rc = k->until_ns > now && strcmp(k->key, key) == 0 ? k->allowed : -ENOENT;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static void keep_right(struct kube_access *a, const char *key, bool allowed,
		       uint64_t for_ms)
{
	pthread_mutex_lock(&a->lock);
	struct kept_right *k = find_kept(a, key);
	snprintf(k->key, sizeof(k->key), "%s", key);
	k->allowed = allowed;
	k->until_ns = clock_read_ns(CLOCK_MONOTONIC) + for_ms * NSEC_PER_MSEC;
	pthread_mutex_unlock(&a->lock);
}

static void put_review_body(struct buf *b, const struct kube *k,
			    const struct kube_asker *who, const char *namespace)
{
	buf_puts(b, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
		    "\"SubjectAccessReview\",\"spec\":{\"user\":");
	buf_put_json(b, who->name, strlen(who->name));
	buf_puts(b, ",\"groups\":[\"" GROUP_ALL "\"");
	for (int i = 0; i < PQntuples(who->groups); i++) {
		const char *group = PQgetvalue(who->groups, i, 0);
		buf_putc(b, ',');
		buf_put_json(b, group, strlen(group));
	}
	for (size_t i = 0; i < k->group_count; i++) {
		buf_putc(b, ',');
		buf_put_json(b, k->groups[i], strlen(k->groups[i]));
	}
	buf_puts(b, "],\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"");
	if (*namespace) {
		buf_puts(b, ",\"namespace\":");
		buf_put_json(b, namespace, strlen(namespace));
	}
	buf_puts(b, "}}}");
}

static int take_client(struct kube_access *a, size_t i, struct kube_client **ret,
		       struct err *err)
{
	struct kube_place *p = &a->places[i];

	*ret = NULL;
	pthread_mutex_lock(&a->lock);
	bool down = p->down_until_ns > clock_read_ns(CLOCK_MONOTONIC);
	if (!down && p->count)
		*ret = p->clients[--p->count];
	pthread_mutex_unlock(&a->lock);
	if (down)
		return -EHOSTDOWN;
	return *ret ? 0
		    : kube_client_new(&a->kubes->items[i], ASK_MS, a->stop, ret, err);
}

/* Keeps the connection; after a failure the server is left alone for a while. */
static void return_client(struct kube_access *a, size_t i, struct kube_client *c,
			  int rc, const struct err *why)
{
	struct kube_place *p = &a->places[i];
	uint64_t now = clock_read_ns(CLOCK_MONOTONIC);
	bool say, over;

	pthread_mutex_lock(&a->lock);
	if (rc == 0 && p->count < CLIENTS) {
		p->clients[p->count++] = c;
		c = NULL;
	}
	if (rc < 0)
		p->down_until_ns = now + DOWN_NS;
	say = rc < 0 && log_repeat_due(&p->failing, now);
	over = rc == 0 && log_repeat_over(&p->failing);
	pthread_mutex_unlock(&a->lock);
	kube_client_free(c);
	if (say)
		log_warn(
			"kubernetes: cluster %s: %s: nobody sees namespaces of others' "
			"pods until it answers",
			a->kubes->items[i].id, why->text);
	if (over)
		log_info("kubernetes: cluster %s: rights can be asked for again",
			 a->kubes->items[i].id);
}

/* Of the groups that a user is in: an answer is not kept for longer than they are. */
static uint64_t hash_groups(struct kube_access *a, const struct kube_asker *who)
{
	uint64_t hash = 0;

	for (int i = 0; i < PQntuples(who->groups); i++) {
		const char *group = PQgetvalue(who->groups, i, 0);
		const uint64_t key[2] = {a->hash_key[0] ^ hash, a->hash_key[1]};
		hash = siphash13(key, group, strlen(group));
	}
	return hash;
}

/* Whether the user may get pods in the namespace, "" for all; false in doubt. */
static bool may_get_pods(struct kube_access *a, size_t i, const struct kube_asker *who,
			 const char *namespace)
{
	const struct kube *k = &a->kubes->items[i];
	auto_http_response struct http_response answer = {.status = 0};
	auto_buf struct buf body = BUF_INIT;
	struct kube_client *c = NULL;
	struct err err = {""};
	char key[KEY_BYTES];
	bool allowed = false;

	/* names of namespaces have no blank, and the cluster is a number */
	int n = snprintf(key, sizeof(key), "%zu %" PRIx64 " %s %s", i,
			 hash_groups(a, who), namespace, who->name);
	if (n < 0 || n >= (int)sizeof(key))
		return false;
	int rc = look_up_right(a, key);
	if (rc >= 0) {
		atomic_fetch_add(&a->reused, 1);
		return rc;
	}
	rc = take_client(a, i, &c, &err);
	if (rc < 0) {
		atomic_fetch_add(&a->failed, 1);
		return false;
	}
	put_review_body(&body, k, who, namespace);
	rc = buf_error(&body);
	if (rc == 0)
		rc = kube_client_post(
			c, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &body,
			&answer, &err);
	if (rc == 0)
		rc = kube_json_allowed(answer.body.data ? answer.body.data : "",
				       answer.body.len, &allowed, &err);
	return_client(a, i, c, rc, &err);
	atomic_fetch_add(rc < 0 ? &a->failed : &a->asked, 1);
	if (rc < 0)
		return false;
	keep_right(a, key, allowed, k->rights_ms);
	return allowed;
}

/* ---- a user's namespaces --------------------------------------------------------- */

static void append_id(struct buf *ret, const char *id)
{
	if (!id)
		return;
	if (ret->len)
		buf_putc(ret, ',');
	buf_puts(ret, id);
}

/* Namespaces that are there: all, or those of which a role binding names the user. */
static int list_candidates(const struct kube *k, const char *user, bool all,
			   struct pg *pg, PGresult **ret, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q, "SELECT n.project, n.name FROM k8s_namespace n JOIN cluster c ON "
		      "c.id = n.cluster WHERE n.gone IS NULL AND c.name = ");
	query_text(&q, k->id);
	if (all) {
		query_put(&q, " LIMIT ");
		query_s64(&q, ALL_MAX);
		return query_run(&q, pg, ret, err);
	}
	query_put(&q,
		  " AND EXISTS (SELECT FROM k8s_binding b WHERE b.cluster = n.cluster "
		  "AND b.namespace = n.name AND ((b.kind = 'User' AND b.subject = ");
	query_text(&q, user);
	query_put(&q, ") OR (b.kind = 'Group' AND b.subject IN ('" GROUP_ALL "'");
	for (size_t i = 0; i < k->group_count; i++) {
		query_put(&q, ", ");
		query_text(&q, k->groups[i]);
	}
	query_put(&q, ")");
	if (k->groups_file) {
		query_put(
			&q,
			" OR b.kind = 'Group' AND b.subject IN (SELECT groupname FROM "
			"k8s_user_group g WHERE g.cluster = n.cluster AND g.username "
			"= ");
		query_text(&q, user);
		query_put(&q, ")");
	}
	query_put(&q, "))) ORDER BY n.name LIMIT ");
	query_s64(&q, NAMESPACES_MAX);
	return query_run(&q, pg, ret, err);
}

static int list_groups(const struct kube *k, const char *user, struct pg *pg,
		       PGresult **ret, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	if (!k->groups_file)
		return 0;
	query_put(&q,
		  "SELECT g.groupname FROM k8s_user_group g JOIN cluster c ON c.id = "
		  "g.cluster WHERE c.manager = 'k8s' AND c.name = ");
	query_text(&q, k->id);
	query_put(&q, " AND g.username = ");
	query_text(&q, user);
	query_put(&q, " ORDER BY 1 LIMIT ");
	query_s64(&q, GROUPS_MAX);
	return query_run(&q, pg, ret, err);
}

static int add_cluster(struct kube_access *a, size_t i, const char *user, struct pg *pg,
		       struct buf *ret, struct err *err)
{
	auto_pgresult PGresult *r = NULL, *groups = NULL;
	int rc = list_groups(&a->kubes->items[i], user, pg, &groups, err);
	if (rc < 0)
		return rc;
	const struct kube_asker who = {user, groups};
	bool all = may_get_pods(a, i, &who, "");
	rc = list_candidates(&a->kubes->items[i], user, all, pg, &r, err);

	for (int row = 0; rc == 0 && row < PQntuples(r); row++) {
		const char *name = pg_get_text(r, row, 1);
		if (all || (name && may_get_pods(a, i, &who, name)))
			append_id(ret, pg_get_text(r, row, 0));
	}
	return rc;
}

int kube_access_projects(struct kube_access *a, const char *login, struct pg *pg,
			 struct buf *ret, struct err *err)
{
	char user[KUBE_USER_BYTES];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->kubes->count; i++) {
		const struct kube *k = &a->kubes->items[i];
		if (k->server && kube_user(k, login, user) == 0)
			rc = add_cluster(a, i, user, pg, ret, err);
	}
	return rc;
}
