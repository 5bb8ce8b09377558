/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all answers of the API server have around their objects. */
#include "contrib/k8s/api_json.h"

#include <stdio.h>
#include <string.h>

#include "contrib/k8s/pod_info.h"
#include "lib/http/json.h"

#define DEPTH_MAX 48

static const char *text_or_none(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
}

int api_json_name(struct json_object *object, const char *name, char *to, size_t size,
		  struct err *err)
{
	const char *s =
		text_or_none(http_json_get(object, "metadata", json_type_object), name);

	if (!pod_name_ok(s, size))
		return err_set(err, -EBADMSG, "metadata.%s: not a name of Kubernetes",
			       name);
	memcpy(to, s, strlen(s) + 1);
	return 0;
}

/* Its object is borrowed. */
static int read_event(struct json_object *line, struct api_event *ret, struct err *err)
{
	struct json_object *object = http_json_get(line, "object", json_type_object);
	struct json_object *meta = http_json_get(object, "metadata", json_type_object);
	const char *type = text_or_none(line, "type");
	const char *version = text_or_none(meta, "resourceVersion");
	uint64_t code = 0;

	*ret = (struct api_event){.type = API_EVENT_CHANGED};
	if (strlen(version) < sizeof(ret->version))
		(void)snprintf(ret->version, sizeof(ret->version), "%s", version);
	if (strcmp(type, "BOOKMARK") == 0) {
		ret->type = API_EVENT_BOOKMARK;
		return 0;
	}
	if (strcmp(type, "ERROR") == 0) {
		ret->type = API_EVENT_ERROR;
		(void)http_json_u64(object, "code", 999, &code);
		ret->code = (unsigned)code;
		return 0;
	}
	if (strcmp(type, "DELETED") == 0)
		ret->type = API_EVENT_DELETED;
	else if (strcmp(type, "ADDED") != 0 && strcmp(type, "MODIFIED") != 0)
		return err_set(err, -EBADMSG, "an event of an unknown type");
	if (!object)
		return err_set(err, -EBADMSG, "an event of nothing");
	ret->object = object;
	return 0;
}

static int parse_object(const char *text, size_t len, struct json_object **ret,
			struct err *err)
{
	const struct http_json_limits limits = {.bytes_max = API_JSON_MAX,
						.depth_max = DEPTH_MAX};

	return http_json_object(text, len, &limits, ret, err);
}

int api_json_event(const char *text, size_t len, struct api_event *ret, struct err *err)
{
	auto_json struct json_object *line = NULL;
	struct api_event event;
	int rc = parse_object(text, len, &line, err);

	if (rc == 0)
		rc = read_event(line, &event, err);
	if (rc < 0)
		return rc;
	(void)json_object_get(event.object);
	*ret = event;
	return 0;
}

int api_json_item(const char *text, size_t len, struct api_event *ret, struct err *err)
{
	struct json_object *object = NULL;
	int rc = parse_object(text, len, &object, err);

	if (rc == 0)
		*ret = (struct api_event){.type = API_EVENT_CHANGED, .object = object};
	return rc;
}

void api_event_done(struct api_event *e)
{
	json_object_put(e->object);
	e->object = NULL;
}

int api_json_version(const char *text, size_t len, char ret[API_VERSION_SIZE],
		     struct err *err)
{
	auto_json struct json_object *meta = NULL;
	int rc = parse_object(text, len, &meta, err);
	const char *version = rc == 0 ? text_or_none(meta, "resourceVersion") : "";

	if (rc == 0 && (!*version || strlen(version) >= API_VERSION_SIZE))
		rc = err_set(err, -EBADMSG, "a list without a resourceVersion");
	if (rc == 0)
		memcpy(ret, version, strlen(version) + 1);
	return rc;
}

/* ---- cutting --------------------------------------------------------------------- */

void api_json_cut_reset(struct api_json_cut *c, bool list)
{
	struct buf text = c->text;

	buf_reset(&text);
	*c = (struct api_json_cut){.list = list, .text = text};
	c->text.max = API_JSON_MAX;
}

static void put_byte(struct api_json_cut *c, char byte)
{
	if (c->too_long)
		return;
	buf_putc(&c->text, byte);
	if (!buf_error(&c->text))
		return;
	c->too_long = true;
	buf_done(&c->text);
	c->text.max = API_JSON_MAX;
}

/* Objects of a watch begin at depth 0; a list's metadata at 1, its items at 2. */
static bool begins_object(const struct api_json_cut *c, char byte)
{
	return byte == '{' && !c->inside &&
	       (c->list ? c->depth == 1 || c->depth == 2 : c->depth == 0);
}

bool api_json_cut(struct api_json_cut *c, char byte, bool *ret_metadata)
{
	if (begins_object(c, byte) && !c->in_string) {
		c->inside = true;
		c->too_long = false;
		c->from = c->depth;
		buf_reset(&c->text);
	}
	if (c->inside)
		put_byte(c, byte);
	if (c->in_string) {
		if (byte == '"' && !c->escaped)
			c->in_string = false;
		c->escaped = byte == '\\' && !c->escaped;
		return false;
	}
	c->in_string = byte == '"';
	if (byte == '{' || byte == '[')
		c->depth++;
	if ((byte == '}' || byte == ']') && c->depth)
		c->depth--;
	if (!c->inside || byte != '}' || c->depth != c->from)
		return false;
	c->inside = false;
	*ret_metadata = c->list && c->from == 1;
	return true;
}
