/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists, then watches: short ones whose answers are whole, so that nothing has to be
 * taken apart while it comes. */
#include "aggregator/kubernetes/kube_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/periodic_job.h"
#include "lib/clock.h"
#include "lib/conf/yaml_clusters.h"
#include "lib/crc32c.h"
#include "lib/fs.h"

#define AWAY_MS 1000u   /* until the database is tried again */
#define FAILED_MS 5000u /* until the API server is */
#define OTHERS_MS 5000u /* another aggregator has the lock */
#define PAGES_MAX 10000u
#define USERS_BYTES_MAX ((size_t)16 << 20)

static bool is_kube_due(uint64_t since_ns, uint64_t every_ms)
{
	return !since_ns || clock_boottime_ns() - since_ns >= every_ms * NSEC_PER_MSEC;
}

/* ---- the database ---------------------------------------------------------------- */

/* 1: this aggregator follows the cluster. The lock is the connection's. */
static int lock_cluster(struct kube_reader *k, struct err *err)
{
	static const struct pg_statement s = {
		"kube_lock",
		"SELECT (EXISTS (SELECT FROM pg_locks WHERE locktype = "
		"'advisory' AND pid = pg_backend_pid() AND classid = "
		"$1::bigint::oid AND objid = $2::bigint::oid) OR "
		"pg_try_advisory_lock($1::integer, $2::integer))::integer"};
	struct pg_args a = PG_ARGS_INIT;
	int64_t mine = 0;

	pg_arg_s64(&a, PERIODIC_JOB_LOCKS);
	pg_arg_s64(&a, PERIODIC_JOB_KUBERNETES +
			       (crc32c(0, k->kube->id, strlen(k->kube->id)) & 0xffff));
	int rc = pg_run_s64(k->pg, &s, &a, &mine, err);
	return rc < 0 ? rc : mine != 0;
}

static int know_cluster(struct kube_reader *k, struct err *err)
{
	static const struct pg_statement s = {"k8s_logins",
					      "SELECT k8s_logins($1, $2, $3)"};
	const struct kube *kube = k->kube;
	struct pg_args a = PG_ARGS_INIT;
	bool has = kube->prefix || kube->suffix;

	pg_arg_text(&a, kube->id);
	pg_arg_text(&a, has ? (kube->prefix ? kube->prefix : "") : NULL);
	pg_arg_text(&a, has ? (kube->suffix ? kube->suffix : "") : NULL);
	return pg_run_s64(k->pg, &s, &a, &k->cluster, err);
}

/* Calls a function of (cluster, rows). */
static int store_rows(struct kube_reader *k, const struct pg_statement *s,
		      const struct buf *rows, bool whole, struct err *err)
{
	auto_pgresult PGresult *r = NULL;
	auto_buf struct buf list = {.max = (size_t)256 << 20};
	struct pg_args a = PG_ARGS_INIT;

	buf_printf(&list, "[%s]", rows->len ? rows->data : "");
	if (buf_error(&list))
		return err_set(err, -ENOMEM, "out of memory");
	pg_arg_s64(&a, k->cluster);
	pg_arg_text(&a, list.data);
	if (strcmp(s->name, "k8s_pods") == 0)
		pg_arg_bool(&a, whole);
	return pg_run(k->pg, s, &a, &r, err);
}

static int store_pods(struct kube_reader *k, const struct buf *rows, bool whole,
		      struct err *err)
{
	static const struct pg_statement s = {
		"k8s_pods", "SELECT changed, made FROM k8s_pods($1::smallint, "
			    "$2::jsonb, $3)"};

	return rows->len ? store_rows(k, &s, rows, whole, err) : 0;
}

/* ---- namespaces, role bindings, users -------------------------------------------- */

typedef int (*parse_page_f)(const char *text, size_t len, struct buf *rows,
			    struct kube_list *ret, struct err *err);

static int put_path(struct buf *path, const char *of, uint32_t limit, const char *next)
{
	buf_reset(path);
	buf_printf(path, "%s?limit=%" PRIu32, of, limit);
	if (*next)
		buf_puts(path, "&continue=");
	/* base64url; whatever else a server invents is escaped */
	for (const char *s = next; *s; s++) {
		if (strchr("-_.~", *s) || (*s >= '0' && *s <= '9') ||
		    ((*s | 32) >= 'a' && (*s | 32) <= 'z'))
			buf_putc(path, *s);
		else
			buf_printf(path, "%%%02X", (unsigned char)*s);
	}
	return buf_error(path);
}

/* Fewer objects where that many are too long: whoever may create them could make a list
 * that is never read. */
static int get_page(struct kube_reader *k, const char *of, const char *next,
		    struct http_response *ret, struct err *err)
{
	auto_buf struct buf path = BUF_INIT;

	if (!k->page)
		k->page = k->kube->page;
	for (;;) {
		int rc = put_path(&path, of, k->page, next);
		if (rc == 0)
			rc = kube_client_get(k->client, path.data, ret, err);
		if (rc != -EFBIG || k->page == 1)
			return rc;
		k->page /= 2;
		log_info("kubernetes: cluster %s: %s: pages of %" PRIu32
			 ", more are too long",
			 k->kube->id, of, k->page);
	}
}

static int read_pages(struct kube_reader *k, const char *of, parse_page_f parse,
		      struct buf *rows, struct err *err)
{
	struct kube_list list = {.next = ""};
	int rc = 0;

	for (unsigned page = 0; rc == 0 && page < PAGES_MAX; page++) {
		auto_http_response struct http_response answer = {.status = 0};
		rc = get_page(k, of, list.next, &answer, err);
		if (rc == 0)
			rc = parse(answer.body.data ? answer.body.data : "",
				   answer.body.len, rows, &list, err);
		if (rc == 0 && !*list.next)
			return 0;
	}
	return rc < 0 ? rc : err_set(err, -EFBIG, "%s: a list without an end", of);
}

static int read_namespaces(struct kube_reader *k, struct err *err)
{
	static const struct pg_statement s = {
		"k8s_namespaces", "SELECT k8s_namespaces($1::smallint, $2::jsonb)"};
	auto_buf struct buf rows = {.max = (size_t)128 << 20};
	int rc = read_pages(k, "/api/v1/namespaces", kube_json_namespaces, &rows, err);

	return rc < 0 ? rc : store_rows(k, &s, &rows, false, err);
}

/* Without them only who may see all namespaces sees those of others' pods. */
static int read_bindings(struct kube_reader *k, struct err *err)
{
	static const struct pg_statement s = {
		"k8s_bindings", "SELECT k8s_bindings($1::smallint, $2::jsonb)"};
	auto_buf struct buf rows = {.max = (size_t)128 << 20};
	struct err why = {""};
	int rc = read_pages(k, "/apis/rbac.authorization.k8s.io/v1/rolebindings",
			    kube_json_bindings, &rows, &why);

	if (rc == -EPROTO) {
		if (log_repeat_due(&k->bindings_failing, clock_boottime_ns()))
			log_warn("kubernetes: cluster %s: %s: only who may see all "
				 "namespaces sees other users' pods",
				 k->kube->id, why.text);
		return 0;
	}
	if (rc < 0)
		return err_set(err, rc, "%s", why.text);
	(void)log_repeat_over(&k->bindings_failing);
	return store_rows(k, &s, &rows, false, err);
}

typedef int (*parse_users_f)(const char *text, size_t len, const char *file,
			     struct buf *ret, struct err *err);

/* A file of users, of namespaces or of groups, as a whole */
static int read_users_file(struct kube_reader *k, const char *file, parse_users_f parse,
			   const struct pg_statement *s, struct err *err)
{
	auto_buf struct buf text = BUF_INIT, list = {.max = (size_t)64 << 20};
	auto_pgresult PGresult *r = NULL;
	struct pg_args a = PG_ARGS_INIT;
	struct stat st;
	int rc = fs_read_buf_at(AT_FDCWD, file, USERS_BYTES_MAX, &text, err);

	if (rc == 0 && stat(file, &st) == 0)
		rc = yaml_clusters_mode(file, &st, err);
	if (rc == 0)
		rc = parse(text.data ? text.data : "", text.len, file, &list, err);
	if (rc < 0)
		return rc;
	pg_arg_s64(&a, k->cluster);
	pg_arg_text(&a, list.data);
	return pg_run(k->pg, s, &a, &r, err);
}

static int read_kube_people(struct kube_reader *k, struct err *err)
{
	static const struct pg_statement members = {
		"k8s_members", "SELECT k8s_members($1::smallint, $2::jsonb)"};
	static const struct pg_statement groups = {
		"k8s_user_groups", "SELECT k8s_user_groups($1::smallint, $2::jsonb)"};
	int rc = 0;

	if (k->client)
		rc = read_namespaces(k, err);
	if (rc == 0 && k->client)
		rc = read_bindings(k, err);
	if (rc == 0 && k->kube->users_file)
		rc = read_users_file(k, k->kube->users_file, kube_users_parse, &members,
				     err);
	if (rc == 0 && k->kube->groups_file)
		rc = read_users_file(k, k->kube->groups_file, kube_groups_parse,
				     &groups, err);
	if (rc == 0)
		k->people_ns = clock_boottime_ns();
	return rc;
}

/* ---- pods ------------------------------------------------------------------------ */

static int end_missing(struct kube_reader *k, uint64_t began_ms, struct err *err)
{
	static const struct pg_statement s = {"k8s_listed",
					      "SELECT k8s_listed($1::smallint, $2)"};
	struct pg_args a = PG_ARGS_INIT;
	int64_t over;

	pg_arg_s64(&a, k->cluster);
	pg_arg_u64(&a, began_ms);
	return pg_run_s64(k->pg, &s, &a, &over, err);
}

static int end_list(struct kube_reader *k, uint64_t began_ms, uint64_t pods,
		    const struct kube_list *last, struct err *err)
{
	int rc = end_missing(k, began_ms, err);

	if (rc < 0)
		return rc;
	memcpy(k->version, last->version, sizeof(k->version));
	k->whole_ns = clock_boottime_ns();
	k->page = k->page < k->kube->page / 2 ? k->page * 2 : k->kube->page;
	atomic_store(&k->pods, pods);
	atomic_fetch_add(&k->lists, 1);
	return 0;
}

static int list_pods(struct kube_reader *k, struct err *err)
{
	uint64_t began_ms = clock_realtime_ns() / NSEC_PER_MSEC, pods = 0;
	struct kube_list list = {.next = ""};
	int rc = 0;

	for (unsigned page = 0; rc == 0 && page < PAGES_MAX; page++) {
		auto_http_response struct http_response answer = {.status = 0};
		auto_buf struct buf rows = {.max = (size_t)128 << 20};
		rc = get_page(k, "/api/v1/pods", list.next, &answer, err);
		if (rc == 0)
			rc = kube_json_pods(answer.body.data ? answer.body.data : "",
					    answer.body.len, k->kube, &rows, &list,
					    err);
		if (rc == 0)
			rc = store_pods(k, &rows, true, err);
		if (rc < 0)
			return rc;
		pods += list.items;
		atomic_fetch_add(&k->bad, list.bad);
		if (!*list.next)
			return end_list(k, began_ms, pods, &list, err);
	}
	/* those behind it are not gone */
	return err_set(err, -EFBIG, "pods: a list without an end");
}

static int watch_pods(struct kube_reader *k, struct err *err)
{
	auto_http_response struct http_response answer = {.status = 0};
	auto_buf struct buf path = BUF_INIT, rows = {.max = (size_t)128 << 20};
	struct kube_watch w = {.events = 0};

	memcpy(w.version, k->version, sizeof(w.version));
	buf_printf(
		&path,
		"/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=%" PRIu64
		"&resourceVersion=%s",
		(k->kube->watch_ms + 999) / 1000, k->version);
	int rc = buf_error(&path);
	if (rc == 0)
		rc = kube_client_get(k->client, path.data, &answer, err);
	if (rc == -ESTALE || rc == -EFBIG) {
		k->version[0] = '\0';
		return 0;
	}
	if (rc == 0)
		rc = kube_json_watch(answer.body.data ? answer.body.data : "",
				     answer.body.len, k->kube, &rows, &w, err);
	/* its namespace may be new, too */
	if (rc == 0 && w.added)
		rc = read_namespaces(k, err);
	if (rc == 0)
		rc = store_pods(k, &rows, false, err);
	if (rc < 0)
		return rc;
	atomic_fetch_add(&k->bad, w.bad);
	atomic_fetch_add(&k->watches, 1);
	memcpy(k->version, w.version, sizeof(k->version));
	if (w.expired)
		k->version[0] = '\0';
	return 0;
}

/* ---- a turn ---------------------------------------------------------------------- */

static int follow_cluster(struct kube_reader *k, struct err *err)
{
	int rc = 0;

	if (is_kube_due(k->people_ns, k->kube->people_ms))
		rc = read_kube_people(k, err);
	if (rc < 0 || !k->client)
		return rc;
	if (is_kube_due(k->whole_ns, k->kube->whole_ms))
		k->version[0] = '\0';
	return *k->version ? watch_pods(k, err) : list_pods(k, err);
}

static void say_turn(struct kube_reader *k, int rc, const struct err *err)
{
	if (rc < 0 && rc != -ECANCELED &&
	    log_repeat_due(&k->failing, clock_boottime_ns()))
		log_warn("kubernetes: cluster %s: %s: pods are as they were",
			 k->kube->id, err->text);
	if (rc == 0 && log_repeat_over(&k->failing))
		log_info("kubernetes: cluster %s can be read again", k->kube->id);
}

uint64_t kube_reader_turn(void *arg)
{
	struct kube_reader *k = arg;
	struct err err = {""};
	int rc = pg_connect(k->pg, &err);

	if (rc < 0)
		return AWAY_MS;
	rc = lock_cluster(k, &err);
	if (rc == 0)
		return OTHERS_MS;
	if (rc > 0)
		rc = k->cluster ? 0 : know_cluster(k, &err);
	if (rc == 0)
		rc = follow_cluster(k, &err);
	say_turn(k, rc, &err);
	if (rc < 0) {
		atomic_fetch_add(&k->failures, 1);
		return atomic_load(k->stop) ? PERIODIC_END : FAILED_MS;
	}
	atomic_store(&k->read_ns, clock_boottime_ns());
	/* a watch waits at the server */
	return k->client ? 50 : k->kube->people_ms;
}
