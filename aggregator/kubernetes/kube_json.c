/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of an API server as rows. */
#include "aggregator/kubernetes/kube_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/kubernetes/kube_picks.h"
#include "lib/cgroup.h"
#include "lib/http/json.h"
#include "lib/http/json_list.h"
#include "lib/http/pod_size_json.h"
#include "lib/rfc3339.h"

#define DEPTH_MAX 64
#define NAME_MAX_BYTES 1023
#define SUBJECTS_MAX 1000

static const struct http_json_limits answer_limits = {.bytes_max = KUBE_ANSWER_MAX,
						      .depth_max = DEPTH_MAX};

/* ---- members --------------------------------------------------------------------- */

static struct json_object *get_map(struct json_object *o, const char *name)
{
	return http_json_get(o, name, json_type_object);
}

static const char *get_word(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s && strlen(s) <= NAME_MAX_BYTES ? s : NULL;
}

static void put_row_member(struct buf *b, const char *name, const char *s)
{
	if (!s)
		return;
	buf_printf(b, "%s\"%s\":", b->data[b->len - 1] == '{' ? "" : ",", name);
	buf_put_json(b, s, strlen(s));
}

static void put_row_value(struct buf *b, const char *name, uint64_t v)
{
	buf_printf(b, "%s\"%s\":", b->data[b->len - 1] == '{' ? "" : ",", name);
	buf_put_u64(b, v);
}

static bool put_row_when(struct buf *b, const char *name, const char *s)
{
	uint64_t at;

	if (!s || rfc3339_parse(s, &at) < 0 || at > 4600000000ull)
		return false;
	put_row_value(b, name, at);
	return true;
}

static void begin_row(struct buf *rows)
{
	buf_puts(rows, rows->len ? ",{" : "{");
}

/* ---- pods ------------------------------------------------------------------------ */

struct pod_needs {
	uint64_t memory_milli, gpus_milli;
};

static uint64_t amount_of(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);
	uint64_t v = 0;

	return s && pod_quantity(s, strlen(s), &v) ? v : 0;
}

/* What a container may use: its limit, else what it asked for. */
static void add_container(const struct kube *k, struct json_object *c,
			  struct pod_needs *ret)
{
	static const char *const usual[] = {"nvidia.com/gpu", "amd.com/gpu"};
	struct json_object *res = get_map(c, "resources");
	struct json_object *most = get_map(res, "limits");
	struct json_object *least = get_map(res, "requests");
	uint64_t memory = amount_of(most, "memory");

	ret->memory_milli += memory ? memory : amount_of(least, "memory");
	for (size_t i = 0; i < (k->gpu_count ? k->gpu_count : 2); i++)
		ret->gpus_milli +=
			amount_of(most, k->gpu_count ? k->gpu_names[i] : usual[i]);
}

static void put_needs(struct buf *b, const struct kube *k, struct json_object *pod)
{
	struct json_object *list =
		http_json_get(get_map(pod, "spec"), "containers", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	struct pod_needs sum = {0};
	uint64_t milli = pod_size_json(pod).cpu_milli;

	for (size_t i = 0; i < n && i < KUBE_CONTAINERS_MAX; i++)
		add_container(k, json_object_array_get_idx(list, i), &sum);
	uint64_t gpus = (sum.gpus_milli + 999) / 1000;
	if (milli && milli <= INT32_MAX) {
		put_row_value(b, "cpus", (milli + 999) / 1000);
		put_row_value(b, "millicpus", milli);
	}
	if (sum.memory_milli >= 1000)
		put_row_value(b, "memory_bytes", sum.memory_milli / 1000);
	if (gpus && gpus <= INT32_MAX)
		put_row_value(b, "gpus", gpus);
}

/* When the last container ended. */
static void put_pod_end(struct buf *b, struct json_object *status)
{
	struct json_object *list =
		http_json_get(status, "containerStatuses", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	uint64_t last = 0, at;

	for (size_t i = 0; i < n && i < KUBE_CONTAINERS_MAX; i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		const char *s = http_json_text(
			get_map(get_map(c, "state"), "terminated"), "finishedAt");
		if (s && rfc3339_parse(s, &at) == 0 && at > last && at < 4600000000ull)
			last = at;
	}
	if (last)
		put_row_value(b, "ended_s", last);
}

/* Only where the site says that these annotations are to be believed. */
static void put_annotated(struct buf *b, const char *as, struct json_object *meta,
			  const char *const *names, size_t count)
{
	struct json_object *a = get_map(meta, "annotations");

	for (size_t i = 0; i < count; i++) {
		const char *s = get_word(a, names[i]);
		if (!s || !*s || strstr(s, "system:"))
			continue;
		put_row_member(b, as, s);
		return;
	}
}

static bool put_pod(struct buf *rows, const struct kube *k, struct json_object *pod,
		    bool gone)
{
	struct json_object *meta = get_map(pod, "metadata");
	struct json_object *status = get_map(pod, "status");
	const char *uid = get_word(meta, "uid"),
		   *namespace = get_word(meta, "namespace");
	size_t before = rows->len;

	if (!uid || !*uid || strlen(uid) > 128 || !namespace)
		return false;
	/* a static pod's groups have the uid of its file, not of what mirrors it */
	struct json_object *notes = get_map(meta, "annotations");
	char hash[CGROUP_POD_UID_SIZE];
	bool mirror =
		cgroup_mirror_uid(get_word(notes, "kubernetes.io/config.mirror"),
				  get_word(notes, "kubernetes.io/config.hash"), hash);
	begin_row(rows);
	put_row_member(rows, "uid", mirror ? hash : uid);
	if (mirror)
		buf_puts(rows, ",\"static\":true");
	put_row_member(rows, "namespace", namespace);
	put_row_member(rows, "name", get_word(meta, "name"));
	put_row_member(rows, "phase", get_word(status, "phase"));
	put_row_member(rows, "qos", get_word(status, "qosClass"));
	put_row_when(rows, "started_s", get_word(status, "startTime"));
	put_pod_end(rows, status);
	put_needs(rows, k, pod);
	put_annotated(rows, "owner", meta, k->owner_annotations,
		      k->owner_annotation_count);
	put_annotated(rows, "project", meta, k->project_annotations,
		      k->project_annotation_count);
	if (gone)
		buf_puts(rows, ",\"gone\":true");
	if (!put_row_when(rows, "created_s", get_word(meta, "creationTimestamp"))) {
		buf_truncate(rows, before);
		return false;
	}
	buf_putc(rows, '}');
	return true;
}

/* ---- lists ----------------------------------------------------------------------- */

static void copy_list_word(char *ret, size_t size, const char *s)
{
	if (s && strlen(s) < size)
		snprintf(ret, size, "%s", s);
}

/* The list while its items are taken one by one, so that one of them is in memory. */
struct list_reading {
	const struct kube *k;
	struct buf *rows;
	size_t bad;
};

static int read_list(const char *text, size_t len, struct http_json_list *l,
		     struct kube_list *ret, struct err *err)
{
	auto_json struct json_object *doc = NULL;
	const struct list_reading *r = l->arg;

	l->name = "items";
	l->limits = answer_limits;
	l->may_be_null = true;
	int rc = http_json_list_feed(l, text, len, err);
	if (rc == 0)
		rc = http_json_list_end(l, &doc, err);
	http_json_list_done(l);
	struct json_object *meta = get_map(doc, "metadata");
	if (rc == 0 && !meta)
		rc = err_set(err, -EBADMSG, "not a list of Kubernetes");
	if (rc < 0)
		return rc;
	*ret = (struct kube_list){.items = l->elements, .bad = r->bad};
	copy_list_word(ret->version, sizeof(ret->version),
		       http_json_text(meta, "resourceVersion"));
	const char *next = http_json_text(meta, "continue");
	copy_list_word(ret->next, sizeof(ret->next), next);
	if (next && *next && !*ret->next)
		return err_set(err, -EBADMSG, "the list's continue token is too long");
	return buf_error(r->rows);
}

static int take_pod(void *arg, struct json_object *o, struct err *err)
{
	struct list_reading *r = arg;

	(void)err;
	r->bad += !put_pod(r->rows, r->k, o, false);
	return 0;
}

int kube_json_pods(const char *text, size_t len, const struct kube *k, struct buf *rows,
		   struct kube_list *ret, struct err *err)
{
	struct list_reading r = {.k = k, .rows = rows};
	struct kube_picks picks;
	struct http_json_list l = {.take = take_pod, .arg = &r, .picks = picks.pod};

	kube_picks_init(&picks, k);
	return read_list(text, len, &l, ret, err);
}

static int take_namespace(void *arg, struct json_object *o, struct err *err)
{
	struct list_reading *r = arg;
	struct json_object *meta = get_map(o, "metadata");
	const char *uid = get_word(meta, "uid"), *name = get_word(meta, "name");
	size_t before = r->rows->len;

	(void)err;
	if (!uid || !*uid || !name || !*name) {
		r->bad++;
		return 0;
	}
	begin_row(r->rows);
	put_row_member(r->rows, "uid", uid);
	put_row_member(r->rows, "name", name);
	if (put_row_when(r->rows, "created_s", get_word(meta, "creationTimestamp"))) {
		buf_putc(r->rows, '}');
		return 0;
	}
	buf_truncate(r->rows, before);
	r->bad++;
	return 0;
}

int kube_json_namespaces(const char *text, size_t len, struct buf *rows,
			 struct kube_list *ret, struct err *err)
{
	static const struct http_json_pick metadata[] = {
		{.name = "uid"}, {.name = "name"}, {.name = "creationTimestamp"}, {}};
	static const struct http_json_pick picks[] = {
		{.name = "metadata", .inner = metadata}, {}};
	struct list_reading r = {.rows = rows};
	struct http_json_list l = {.take = take_namespace, .arg = &r, .picks = picks};

	return read_list(text, len, &l, ret, err);
}

static int take_binding(void *arg, struct json_object *b, struct err *err)
{
	struct buf *rows = ((struct list_reading *)arg)->rows;
	const char *namespace = get_word(get_map(b, "metadata"), "namespace");
	struct json_object *who = http_json_get(b, "subjects", json_type_array);
	size_t n = who ? json_object_array_length(who) : 0;

	(void)err;
	for (size_t s = 0; namespace && s < n && s < SUBJECTS_MAX; s++) {
		struct json_object *o = json_object_array_get_idx(who, s);
		const char *kind = get_word(o, "kind"), *name = get_word(o, "name");
		if (!kind || !name || !*name ||
		    (strcmp(kind, "User") != 0 && strcmp(kind, "Group") != 0))
			continue;
		begin_row(rows);
		put_row_member(rows, "namespace", namespace);
		put_row_member(rows, "kind", kind);
		put_row_member(rows, "subject", name);
		buf_putc(rows, '}');
	}
	return 0;
}

int kube_json_bindings(const char *text, size_t len, struct buf *rows,
		       struct kube_list *ret, struct err *err)
{
	static const struct http_json_pick metadata[] = {{.name = "namespace"}, {}};
	static const struct http_json_pick subject[] = {
		{.name = "kind"}, {.name = "name"}, {}};
	static const struct http_json_pick picks[] = {
		{.name = "metadata", .inner = metadata},
		{.name = "subjects", .inner = subject, .items_max = SUBJECTS_MAX},
		{}};
	struct list_reading r = {.rows = rows};
	struct http_json_list l = {.take = take_binding, .arg = &r, .picks = picks};

	return read_list(text, len, &l, ret, err);
}

/* ---- watches --------------------------------------------------------------------- */

static void read_event(struct json_object *doc, const struct kube *k, struct buf *rows,
		       struct kube_watch *w)
{
	const char *type = http_json_text(doc, "type");
	struct json_object *o = get_map(doc, "object");
	const char *version = http_json_text(get_map(o, "metadata"), "resourceVersion");
	uint64_t code = 0;

	if (type && strcmp(type, "ERROR") == 0) {
		(void)http_json_u64(o, "code", 999, &code);
		/* whatever it is, only a new list leads on */
		w->expired = true;
		return;
	}
	w->events++;
	bool gone = type && strcmp(type, "DELETED") == 0;
	bool added = type && strcmp(type, "ADDED") == 0;
	if (added || gone || (type && strcmp(type, "MODIFIED") == 0))
		w->bad += !put_pod(rows, k, o, gone);
	w->added |= added;
	copy_list_word(w->version, sizeof(w->version), version);
}

int kube_json_watch(const char *text, size_t len, const struct kube *k,
		    struct buf *rows, struct kube_watch *w, struct err *err)
{
	const char *end = text + len;
	struct kube_picks picks;

	kube_picks_init(&picks, k);
	w->events = w->bad = 0;
	w->added = w->expired = false;
	for (const char *s = text; s < end && !w->expired;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		struct err why;
		if (!nl)
			break; /* cut short: the next watch begins before it */
		auto_json struct json_object *doc = NULL;
		auto_buf struct buf picked = {.max = KUBE_ANSWER_MAX};
		if (nl > s && (http_json_pick(s, (size_t)(nl - s), picks.event, &picked,
					      &why) < 0 ||
			       http_json_object(picked.data, picked.len, &answer_limits,
						&doc, &why) < 0))
			return err_set(err, -EBADMSG, "an event of the watch: %s",
				       why.text);
		if (doc)
			read_event(doc, k, rows, w);
		s = nl + 1;
	}
	return buf_error(rows);
}

int kube_json_allowed(const char *text, size_t len, bool *ret, struct err *err)
{
	auto_json struct json_object *doc = NULL;
	int rc = http_json_object(text, len, &answer_limits, &doc, err);

	if (rc < 0)
		return rc;
	struct json_object *status = get_map(doc, "status"), *allowed = NULL;
	if (!json_object_object_get_ex(status, "allowed", &allowed) ||
	    !json_object_is_type(allowed, json_type_boolean))
		return err_set(err, -EBADMSG, "no answer to a SubjectAccessReview");
	/* denied by one authorizer, whatever another said */
	*ret = json_object_get_boolean(allowed) &&
	       !json_object_get_boolean(
		       http_json_get(status, "denied", json_type_boolean));
	return 0;
}
