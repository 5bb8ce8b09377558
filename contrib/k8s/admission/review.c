/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads AdmissionReviews, decides on the owner's annotation and writes answers.
 * Source: k8s.io/api/admission/v1; RFC 6902 (JSON Patch), the only form of patch that
 * the API server takes. */
#include "contrib/k8s/admission/review.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/http/json.h"

#define DEPTH_MAX 16 /* of what is picked */
#define PICKED_MAX ((size_t)1 << 20)
#define GROUP "admission.k8s.io/"
#define OWNERS_MAX 64 /* of an object's ownerReferences that are looked at */
#define PLACES_MAX 3

/* Where a kind of object has the annotations of the pods that it makes */
struct review_template {
	const char *group, *kind;
	const char *paths[PLACES_MAX - 1]; /* parents of "metadata" */
};

static const struct review_template templates[] = {
	{"", "ReplicationController", {"spec/template"}},
	{"", "PodTemplate", {"template"}},
	{"apps", "Deployment", {"spec/template"}},
	{"apps", "StatefulSet", {"spec/template"}},
	{"apps", "DaemonSet", {"spec/template"}},
	{"apps", "ReplicaSet", {"spec/template"}},
	{"batch", "Job", {"spec/template"}},
	{"batch", "CronJob", {"spec/jobTemplate", "spec/jobTemplate/spec/template"}},
};

/* Borrowed from the document. Texts may be NULL. */
struct review {
	const char *api_version, *uid, *operation, *namespace, *name;
	const char *group, *kind, *user, *user_uid;
	bool dry_run, is_part; /* is_part: of a subresource */
	struct json_object *object, *old;
};

/* What an annotation shall be; NULL: it shall not be there */
struct wanted {
	const char *owner, *uid;
};

/* ---- reading --------------------------------------------------------------------- */

/* All that is read of a review. The rest is the user's, up to megabytes of it. */
#define PICK(name_, ...)                                                               \
	{                                                                              \
		.name = (name_), __VA_ARGS__                                           \
	}
#define PICKS static const struct http_json_pick
PICKS pick_annotations[] = {PICK(REVIEW_OWNER), PICK(REVIEW_OWNER_UID), {}};
PICKS pick_owners[] = {PICK("uid"), PICK("controller"), {}};
PICKS pick_metadata[] = {
	PICK("name"),
	PICK("uid"),
	PICK("annotations", .inner = pick_annotations),
	PICK("ownerReferences", .inner = pick_owners, .items_max = OWNERS_MAX),
	{}};
/* of templates; nobody owns those */
PICKS pick_notes[] = {PICK("annotations", .inner = pick_annotations), {}};
PICKS pick_template[] = {PICK("metadata", .inner = pick_notes), {}};
PICKS pick_job_spec[] = {PICK("template", .inner = pick_template), {}};
PICKS pick_job[] = {PICK("metadata", .inner = pick_notes),
		    PICK("spec", .inner = pick_job_spec),
		    {}};
PICKS pick_spec[] = {PICK("template", .inner = pick_template),
		     PICK("jobTemplate", .inner = pick_job),
		     {}};
PICKS pick_object[] = {PICK("metadata", .inner = pick_metadata),
		       PICK("template", .inner = pick_template),
		       PICK("spec", .inner = pick_spec),
		       {}};
PICKS pick_kind[] = {PICK("group"), PICK("kind"), {}};
PICKS pick_user[] = {PICK("username"), PICK("uid"), {}};
PICKS pick_request[] = {PICK("uid"),
			PICK("operation"),
			PICK("namespace"),
			PICK("name"),
			PICK("subResource"),
			PICK("dryRun"),
			PICK("kind", .inner = pick_kind),
			PICK("userInfo", .inner = pick_user),
			PICK("object", .inner = pick_object),
			PICK("oldObject", .inner = pick_object),
			{}};
PICKS pick_review[] = {PICK("apiVersion"), PICK("request", .inner = pick_request), {}};

static const char *text_or_empty(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
}

static struct json_object *find_below(struct json_object *o, const char *path)
{
	char part[32];

	while (o && *path) {
		size_t n = strcspn(path, "/");
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		o = http_json_get(o, part, json_type_object);
		path += n + (path[n] == '/');
	}
	return o;
}

static const char *annotation_of(struct json_object *place, const char *name)
{
	struct json_object *a =
		http_json_get(http_json_get(place, "metadata", json_type_object),
			      "annotations", json_type_object);

	return http_json_text(a, name);
}

static int read_review(struct json_object *doc, struct review *ret, struct err *err)
{
	struct json_object *q = http_json_get(doc, "request", json_type_object);
	struct json_object *kind = http_json_get(q, "kind", json_type_object);
	struct json_object *who = http_json_get(q, "userInfo", json_type_object);

	*ret = (struct review){
		.api_version = http_json_text(doc, "apiVersion"),
		.uid = http_json_text(q, "uid"),
		.operation = text_or_empty(q, "operation"),
		.namespace = text_or_empty(q, "namespace"),
		.name = text_or_empty(q, "name"),
		.group = text_or_empty(kind, "group"),
		.kind = text_or_empty(kind, "kind"),
		.user = http_json_text(who, "username"),
		.user_uid = text_or_empty(who, "uid"),
		.dry_run = json_object_get_boolean(
			http_json_get(q, "dryRun", json_type_boolean)),
		.is_part = *text_or_empty(q, "subResource") != '\0',
		.object = http_json_get(q, "object", json_type_object),
		.old = http_json_get(q, "oldObject", json_type_object),
	};
	const char *v = ret->api_version;
	if (!v || strncmp(v, GROUP, strlen(GROUP)) != 0 ||
	    (strcmp(v + strlen(GROUP), "v1") != 0 &&
	     strcmp(v + strlen(GROUP), "v1beta1") != 0))
		return err_set(err, -EBADMSG,
			       "no AdmissionReview of " GROUP "v1 or v1beta1");
	if (!q || !ret->uid || !*ret->uid)
		return err_set(err, -EBADMSG, "an AdmissionReview without request.uid");
	return 0;
}

/* ---- deciding -------------------------------------------------------------------- */

/* A new object, or the template in it. A template without a name of its own gets the
 * object's from those who may name one. */
static struct wanted want_new(const struct review *r, enum owner_caller caller,
			      struct json_object *place)
{
	const char *here = annotation_of(place, REVIEW_OWNER);
	struct json_object *from = here ? place : r->object;
	const char *named = annotation_of(from, REVIEW_OWNER);

	switch (caller) {
	case OWNER_CONTROLLER:
		return (struct wanted){here, annotation_of(place, REVIEW_OWNER_UID)};
	case OWNER_NODE:
		return (struct wanted){NULL, NULL};
	case OWNER_NAMER:
		if (owner_is_plausible(named))
			return (struct wanted){named,
					       annotation_of(from, REVIEW_OWNER_UID)};
		break;
	case OWNER_USER:
		break;
	}
	return (struct wanted){r->user, *r->user_uid ? r->user_uid : NULL};
}

/* The first owner stays, and where there was none nobody becomes it: an edit is no
 * creation, and a template that changes restarts its pods. */
static struct wanted want_old(const struct review *r, const char *path)
{
	struct json_object *place = find_below(r->old, path);

	if (!annotation_of(place, REVIEW_OWNER))
		return (struct wanted){NULL, NULL};
	return (struct wanted){annotation_of(place, REVIEW_OWNER),
			       annotation_of(place, REVIEW_OWNER_UID)};
}

/* ---- the patch ------------------------------------------------------------------- */

/* One operation; path "spec/template" and more "/annotations" are
 * "/spec/template/metadata/annotations". value: JSON, or NULL. */
static void put_operation(struct buf *b, const char *op, const char *path,
			  const char *more, const char *value)
{
	buf_printf(b, "%s{\"op\":\"%s\",\"path\":\"%s%s/metadata%s\"",
		   b->len > 1 ? "," : "", op, *path ? "/" : "", path, more);
	if (value)
		buf_printf(b, ",\"value\":%s", value);
	buf_putc(b, '}');
}

/* Adds or takes away one annotation; annotations are an object by now. */
static bool put_annotation(struct buf *b, const char *path, const char *escaped,
			   const char *has, const char *wants)
{
	if (has && wants && strcmp(has, wants) == 0)
		return false;
	if (!has && !wants)
		return false;
	auto_buf struct buf value = {.max = 65536};
	if (wants)
		buf_put_json(&value, wants, strlen(wants));
	put_operation(b, wants ? "add" : "remove", path, escaped, value.data);
	if (buf_error(&value))
		b->error = value.error;
	return has != NULL;
}

/* The annotation itself is there, though it may be no text */
static bool has_member(struct json_object *annotations, const char *name)
{
	struct json_object *v;

	return annotations && json_object_object_get_ex(annotations, name, &v);
}

static void put_owner_at(struct buf *b, struct json_object *place, const char *path,
			 struct wanted w, struct review_result *result)
{
	struct json_object *meta = http_json_get(place, "metadata", json_type_object);
	struct json_object *a = http_json_get(meta, "annotations", json_type_object);
	const char *owner = annotation_of(place, REVIEW_OWNER);
	const char *uid = annotation_of(place, REVIEW_OWNER_UID);

	/* an annotation that is no text: the API server will refuse it, not we */
	if ((!owner && has_member(a, REVIEW_OWNER)) ||
	    (!uid && has_member(a, REVIEW_OWNER_UID)))
		return;
	if (!a && !w.owner)
		return;
	if (!meta)
		put_operation(b, "add", path, "", "{}");
	if (!a)
		put_operation(b, "add", path, "/annotations", "{}");
	bool over = put_annotation(b, path, "/annotations/ceems.io~1created-by", owner,
				   w.owner);
	over |= put_annotation(b, path, "/annotations/ceems.io~1created-by-uid", uid,
			       w.owner ? w.uid : NULL);
	result->overwritten |= over;
}

static const struct review_template *find_template(const struct review *r)
{
	for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
		if (strcmp(templates[i].kind, r->kind) == 0 &&
		    strcmp(templates[i].group, r->group) == 0)
			return &templates[i];
	}
	return NULL;
}

static void put_patch(struct buf *b, const struct review *r, enum owner_caller caller,
		      struct review_result *result)
{
	const struct review_template *t = find_template(r);
	const char *paths[PLACES_MAX] = {"", t ? t->paths[0] : NULL,
					 t ? t->paths[1] : NULL};
	bool update = strcmp(r->operation, "UPDATE") == 0;

	buf_putc(b, '[');
	for (size_t i = 0; i < PLACES_MAX && paths[i]; i++) {
		struct json_object *place = find_below(r->object, paths[i]);
		if (!place)
			continue;
		put_owner_at(b, place, paths[i],
			     update ? want_old(r, paths[i])
				    : want_new(r, caller, place),
			     result);
	}
	buf_putc(b, ']');
	result->patched = b->len > 2;
}

/* ---- the claim ------------------------------------------------------------------- */

/* False: it does not fit, or holds what no such text has; then nothing is claimed. */
static bool copy_claim_text(char *ret, size_t size, const char *s)
{
	size_t n = strlen(s);

	if (n >= size || !utf8_is_text(s, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] < 0x20)
			return false;
	}
	memcpy(ret, s, n + 1);
	return true;
}

/* The uid of what controls an object: of its ownerReferences the one that says so */
static const char *controller_of(struct json_object *meta)
{
	struct json_object *refs =
		http_json_get(meta, "ownerReferences", json_type_array);
	size_t n = refs ? json_object_array_length(refs) : 0;

	for (size_t i = 0; i < n && i < OWNERS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(refs, i);
		if (json_object_get_boolean(
			    http_json_get(o, "controller", json_type_boolean)))
			return text_or_empty(o, "uid");
	}
	return "";
}

/* What an object refers to counts only from a controller: others could write there
 * whose they want to be. */
static void make_claim(const struct review *r, enum owner_caller caller,
		       struct review_result *result)
{
	struct json_object *meta =
		http_json_get(r->object, "metadata", json_type_object);
	struct wanted w = want_new(r, caller, r->object);
	struct claim *c = &result->claim;
	const char *name = text_or_empty(meta, "name");

	if (strcmp(r->operation, "CREATE") != 0 || r->is_part || r->dry_run)
		return;
	memset(c, 0, sizeof(*c));
	c->by = caller == OWNER_CONTROLLER ? CLAIM_BY_CONTROLLER
		: caller == OWNER_NAMER && w.owner && w.owner != r->user
			? CLAIM_BY_NAMER
			: CLAIM_BY_USER;
	result->has_claim =
		copy_claim_text(c->kind, sizeof(c->kind), r->kind) &&
		copy_claim_text(c->uid, sizeof(c->uid), text_or_empty(meta, "uid")) &&
		copy_claim_text(c->namespace, sizeof(c->namespace), r->namespace) &&
		copy_claim_text(c->name, sizeof(c->name), *name ? name : r->name) &&
		copy_claim_text(c->owner, sizeof(c->owner), w.owner ? w.owner : "") &&
		copy_claim_text(c->owner_uid, sizeof(c->owner_uid),
				w.owner && w.uid ? w.uid : "") &&
		copy_claim_text(c->controller, sizeof(c->controller),
				caller == OWNER_CONTROLLER ? controller_of(meta)
							   : "") &&
		*c->uid && *c->kind;
}

/* ---- the answer ------------------------------------------------------------------ */

static void put_review_answer(struct buf *ret, const struct review *r,
			      const struct buf *patch,
			      const struct review_result *result)
{
	buf_puts(ret, "{\"apiVersion\":");
	buf_put_json(ret, r->api_version, strlen(r->api_version));
	buf_puts(ret, ",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":");
	buf_put_json(ret, r->uid, strlen(r->uid));
	buf_puts(ret, ",\"allowed\":true");
	if (result->patched) {
		buf_puts(ret, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
		base64_put(ret, patch->data, patch->len);
		buf_putc(ret, '"');
	}
	if (result->overwritten)
		buf_puts(ret, ",\"warnings\":[\"" REVIEW_OWNER
			      " says who created an object: what was written there "
			      "has been replaced\"]");
	buf_puts(ret, "}}");
}

int review_answer(const struct owner_rules *rules, enum review_path path,
		  const char *body, size_t len, struct buf *ret,
		  struct review_result *result, struct err *err)
{
	const struct http_json_limits limits = {.bytes_max = PICKED_MAX,
						.depth_max = DEPTH_MAX};
	auto_json struct json_object *doc = NULL;
	auto_buf struct buf patch = {.max = 65536}, picked = {.max = PICKED_MAX};
	struct review r;

	result->patched = result->overwritten = result->has_claim = false;
	int rc = http_json_pick(body, len, pick_review, &picked, err);
	if (rc == 0)
		rc = http_json_object(picked.data, picked.len, &limits, &doc, err);
	if (rc == 0)
		rc = read_review(doc, &r, err);
	if (rc < 0)
		return rc;
	result->dry_run = r.dry_run;
	if (r.object && r.user && *r.user) {
		enum owner_caller caller = owner_caller_of(rules, r.user, r.namespace);
		bool creates = strcmp(r.operation, "CREATE") == 0;
		if (path == REVIEW_VALIDATE)
			make_claim(&r, caller, result);
		else if (!r.is_part && (creates || strcmp(r.operation, "UPDATE") == 0))
			put_patch(&patch, &r, caller, result);
	}
	if (buf_error(&patch))
		result->patched = result->overwritten = false;
	put_review_answer(ret, &r, &patch, result);
	return buf_error(ret) ? err_set(err, -ENOMEM, "out of memory") : 0;
}
