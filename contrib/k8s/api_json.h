/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_API_JSON_H
#define CEEMS_CONTRIB_K8S_API_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Answers of the API server (kubernetes.io/docs/reference/using-api/api-concepts),
 * whatever their objects are: a watch, {"type":...,"object":...} one after the other,
 * and a list, {"metadata":{...},"items":[{...},...]}. */

#define API_JSON_MAX ((size_t)3 << 20) /* etcd takes objects of 1.5 MiB */
#define API_VERSION_SIZE 64u

enum api_event_type {
	API_EVENT_CHANGED, /* ADDED or MODIFIED */
	API_EVENT_DELETED,
	API_EVENT_BOOKMARK, /* nothing but a resourceVersion */
	API_EVENT_ERROR,
};

struct json_object;
struct api_event {
	enum api_event_type type;
	unsigned code;                  /* ERROR: as an HTTP status */
	char version[API_VERSION_SIZE]; /* to resume after it; "": none */
	struct json_object *object;     /* CHANGED, DELETED: what it is of */
};

/* Any bytes. -EBADMSG: not an event; a text says why. On success api_event_done(). */
int api_json_event(const char *text, size_t len, struct api_event *ret,
		   struct err *err);
/* An object of a list, as if it had just come. */
int api_json_item(const char *text, size_t len, struct api_event *ret, struct err *err);
void api_event_done(struct api_event *e);
/* The resourceVersion of a list's metadata. */
int api_json_version(const char *text, size_t len, char ret[API_VERSION_SIZE],
		     struct err *err);

/* metadata.NAME of an object, whole, if it is a name of Kubernetes; else -EBADMSG. */
int api_json_name(struct json_object *object, const char *name, char *to, size_t size,
		  struct err *err);

/* Cuts an answer into these objects while it comes, so that only one is in memory.
 * Zero-initialise; free text. */
struct api_json_cut {
	bool list;       /* the answer is a list, else a watch */
	struct buf text; /* of the object that is coming */
	unsigned depth;  /* of { and [ */
	unsigned from;   /* depth at which text began */
	bool inside, in_string, escaped, too_long;
};
/* Takes one byte. True: an object has come: text is whole (or too_long), until the next
 * call; *ret_metadata: it is a list's metadata. */
bool api_json_cut(struct api_json_cut *c, char byte, bool *ret_metadata);
void api_json_cut_reset(struct api_json_cut *c, bool list);

#endif
