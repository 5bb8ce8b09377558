/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_API_WATCH_H
#define CEEMS_CONTRIB_K8S_API_WATCH_H

#include "contrib/k8s/api_json.h"
#include "lib/conf/kubeconfig.h"

/*
 * A thread that watches objects of this node at the API server, of one kind
 * (kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of
 * changes"): one request that begins with all of them, from the server's memory
 * (resourceVersion 0), and goes on with changes; it is repeated from where it ended.
 * 410 Gone: from the beginning. While the server is away, or refuses, nothing changes.
 */

struct api_kind {
	const char *path;    /* "/api/v1/pods": of a list, with a field spec.nodeName */
	const char *name;    /* "pods": in messages */
	const char *without; /* what is not known until it answers */
	unsigned refused_ms; /* how long to wait at most after a refusal */
};

struct api_sink {
	void (*begin)(void *arg); /* all objects come now, one by one */
	/* CHANGED or DELETED, its object borrowed. -EBADMSG and a text: it is left out.
	 */
	int (*event)(void *arg, const struct api_event *e, struct err *err);
	void (*whole)(void *arg); /* all have come: others are gone */
	void *arg;
};

struct api_watch;

/* config, kind and sink's arg outlive it; the functions are called by its thread. node:
 * its name at the API server. -EINVAL: not a name; -ENOMEM and the like. */
int api_watch_start(const struct kubeconfig *config, const struct api_kind *kind,
		    const char *node, const struct api_sink *sink,
		    struct api_watch **ret, struct err *err);
/* Waits for a second at most. Accepts NULL. */
void api_watch_stop(struct api_watch *w);

#endif
