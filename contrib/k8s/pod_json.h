/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_POD_JSON_H
#define CEEMS_CONTRIB_K8S_POD_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "contrib/k8s/pods.h"
#include "lib/buf.h"
#include "lib/err.h"

/* Answers of the API server (kubernetes.io/docs/reference/using-api/api-concepts): a
 * watch, objects {"type":...,"object":...} one after the other, and a list,
 * {"metadata":{...},"items":[{...},...]}. */

#define POD_JSON_MAX ((size_t)3 << 20) /* etcd takes objects of 1.5 MiB */
#define POD_VERSION_SIZE 64u

enum pod_event_type {
	POD_EVENT_CHANGED, /* ADDED or MODIFIED */
	POD_EVENT_DELETED,
	POD_EVENT_BOOKMARK, /* nothing but a resourceVersion */
	POD_EVENT_ERROR,
};

struct pod_event {
	enum pod_event_type type;
	unsigned code;                  /* ERROR: as an HTTP status */
	char version[POD_VERSION_SIZE]; /* to resume after it; "": none */
	struct pod_info info;           /* CHANGED, DELETED */
};

/* Any bytes. -EBADMSG: not an event; a text says why. */
int pod_json_event(const char *text, size_t len, struct pod_event *ret,
		   struct err *err);

/* A pod of a list. */
int pod_json_item(const char *text, size_t len, struct pod_event *ret, struct err *err);
/* The resourceVersion of a list's metadata. */
int pod_json_version(const char *text, size_t len, char ret[POD_VERSION_SIZE],
		     struct err *err);

/* Cuts an answer into these objects while it comes, so that only one is in memory.
 * Zero-initialise; free text. */
struct pod_json_cut {
	bool list;       /* the answer is a list, else a watch */
	struct buf text; /* of the object that is coming */
	unsigned depth;  /* of { and [ */
	unsigned from;   /* depth at which text began */
	bool inside, in_string, escaped, too_long;
};
/* Takes one byte. True: an object has come: text is whole (or too_long), until the next
 * call; *ret_metadata: it is a list's metadata. */
bool pod_json_cut(struct pod_json_cut *c, char byte, bool *ret_metadata);
void pod_json_cut_reset(struct pod_json_cut *c, bool list);

#endif
