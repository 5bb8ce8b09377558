/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/api_watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "contrib/k8s/pod_info.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/periodic.h"
#include "lib/secret.h"

#define WATCH_S 240u /* the server ends a watch then, and we ask again */
#define WATCH "watch=true&allowWatchBookmarks=true&timeoutSeconds=240"
#define LIST "timeoutSeconds=60"
#define GRACE_MS 30000u
#define RETRY_MIN_MS 1000u
#define RETRY_MAX_MS 30000u
#define RETRY_AFTER_MAX_S 300u
#define TOKEN_MAX 16384u
#define URL_SIZE 1024u

struct api_watch {
	const struct kubeconfig *config;
	const struct api_kind *kind;
	struct api_sink sink;
	struct http_client *client;
	struct periodic thread;
	atomic_bool stop;
	char node[POD_NAME_SIZE];
	char version[API_VERSION_SIZE]; /* "": begin anew */
	char list_version[API_VERSION_SIZE];
	struct api_json_cut cut;
	bool by_list;    /* this server cannot begin a watch with all pods */
	bool collecting; /* all pods come: not whole yet */
	bool gone;       /* the server has forgotten our version */
	bool connected;  /* said so */
	unsigned events; /* of this request */
	uint64_t wait_ms;
	struct log_repeat log, bad_log;
};

/* ---- one answer ------------------------------------------------------------------ */

static void say_connected(struct api_watch *w)
{
	if (w->connected)
		return;
	w->connected = true;
	(void)log_repeat_over(&w->log);
	log_info("API server: watching the %s of node %s", w->kind->name, w->node);
}

static void say_bad_object(struct api_watch *w, const struct err *err)
{
	if (log_repeat_due(&w->bad_log, clock_boottime_ns()))
		log_warn("API server: what it tells of %s: %s: left out", w->kind->name,
			 err->text);
}

/* False: this watch is over. */
static bool take_api_event(struct api_watch *w, const struct api_event *e)
{
	if (e->type == API_EVENT_ERROR) {
		/* a watch from 0 needs an etcd of 3.4.25, 3.5.8 or later */
		w->by_list |= !w->version[0] && !w->events && e->code == 500;
		w->gone = true;
		return false;
	}
	say_connected(w);
	w->events++;
	/* those that all pods begin with come in no order: what was not told before one
	 * of them may be older than it */
	if (e->version[0] && (!w->collecting || e->type == API_EVENT_BOOKMARK))
		memcpy(w->version, e->version, sizeof(w->version));
	if (e->type != API_EVENT_BOOKMARK) {
		struct err err = {""};
		if (w->sink.event(w->sink.arg, e, &err) < 0)
			say_bad_object(w, &err);
	} else if (w->collecting) {
		w->collecting = false;
		w->sink.whole(w->sink.arg);
	}
	return true;
}

/* What a list, or a watch, has told of one object, or of itself. */
static bool take_object(struct api_watch *w, bool metadata)
{
	const struct buf *text = &w->cut.text;
	struct api_event event;
	struct err err = {""};
	bool goes_on = true;
	int rc;

	if (w->cut.too_long)
		rc = err_set(&err, -EFBIG, "longer than %zu bytes", API_JSON_MAX);
	else if (metadata)
		rc = api_json_version(text->data, text->len, w->list_version, &err);
	else if (w->cut.list)
		rc = api_json_item(text->data, text->len, &event, &err);
	else
		rc = api_json_event(text->data, text->len, &event, &err);
	if (rc == 0 && !metadata) {
		goes_on = take_api_event(w, &event);
		api_event_done(&event);
	}
	if (rc < 0)
		say_bad_object(w, &err);
	return goes_on;
}

static bool take_bytes(void *arg, const char *data, size_t len)
{
	struct api_watch *w = arg;
	bool metadata = false;

	for (size_t i = 0; i < len; i++) {
		if (api_json_cut(&w->cut, data[i], &metadata) &&
		    !take_object(w, metadata))
			return false;
	}
	return !atomic_load(&w->stop);
}

/* ---- requests -------------------------------------------------------------------- */

/* A service account's token is renewed while we run; kubelet may leave it readable for
 * all, as its own documentation says. */
static int read_api_token(const struct api_watch *w, struct buf *ret, struct err *err)
{
	struct stat st;

	if (w->config->token_file) {
		int rc = secret_read(w->config->token_file, TOKEN_MAX, ret, &st, err);
		if (rc < 0)
			return rc;
	} else if (w->config->token) {
		buf_puts(ret, w->config->token);
	}
	while (ret->len &&
	       (ret->data[ret->len - 1] == '\n' || ret->data[ret->len - 1] == '\r'))
		buf_truncate(ret, ret->len - 1);
	return buf_error(ret) ? err_set(err, -EFBIG, "the token is too long") : 0;
}

static int ask_for_objects(struct api_watch *w, struct http_response *answer,
			   struct err *err)
{
	auto_secret struct buf token = {.max = TOKEN_MAX};
	char url[URL_SIZE];
	int rc = read_api_token(w, &token, err);

	if (rc < 0)
		return rc;
	/* 0: from the server's memory, which has an index of nodes */
	(void)snprintf(url, sizeof(url),
		       "%.512s%s?%s&fieldSelector=spec.nodeName%%3D%s&"
		       "resourceVersion=%s",
		       w->config->url, w->kind->path, w->cut.list ? LIST : WATCH,
		       w->node, w->version[0] ? w->version : "0");
	const struct http_auth auth = {.credentials = token.data};
	const struct http_request request = {
		.method = HTTP_GET,
		.url = url,
		.auth = token.len ? &auth : NULL,
		.timeout_ms = WATCH_S * 1000 + GRACE_MS,
		.take = take_bytes,
		.take_arg = w,
	};
	return http_client_do(w->client, &request, answer, err);
}

static uint64_t back_off(struct api_watch *w, uint64_t most_ms)
{
	w->wait_ms = w->wait_ms ? w->wait_ms * 2 : RETRY_MIN_MS;
	if (w->wait_ms > most_ms)
		w->wait_ms = most_ms;
	return w->wait_ms;
}

static void say_failure(struct api_watch *w, const struct err *err)
{
	w->connected = false;
	if (log_repeat_due(&w->log, clock_boottime_ns()))
		log_warn("API server: %s: %s until it answers; pods are counted all "
			 "the same",
			 err->text, w->kind->without);
}

/* What an answer that is not 200 means. Returns when to ask again. */
static uint64_t take_refusal(struct api_watch *w, const struct http_response *answer)
{
	const char *after = http_client_header(w->client, "Retry-After");
	uint64_t seconds = 0;
	bool refused =
		answer->status == 401 || answer->status == 403 || answer->status == 404;
	struct err err;

	if (answer->status == 410) { /* Gone */
		w->gone = true;
		return back_off(w, RETRY_MAX_MS);
	}
	if (refused && answer->status != 404)
		(void)err_set(&err, -EACCES,
			      "%s: status %u (it needs list and watch of %s)",
			      answer->url, answer->status, w->kind->name);
	else
		(void)err_set(&err, -EACCES, "%s: status %u", answer->url,
			      answer->status);
	say_failure(w, &err);
	uint64_t wait_ms = back_off(w, refused ? w->kind->refused_ms : RETRY_MAX_MS);
	if (after && parse_u64(after, &seconds) == 0) {
		seconds = seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds;
		wait_ms = seconds * 1000 > wait_ms ? seconds * 1000 : wait_ms;
	}
	return wait_ms;
}

static void begin_objects(struct api_watch *w)
{
	if (w->gone)
		w->version[0] = '\0';
	w->gone = false;
	w->events = 0;
	w->list_version[0] = '\0';
	api_json_cut_reset(&w->cut, w->by_list && !w->version[0]);
	if (w->version[0])
		return;
	w->collecting = true;
	w->sink.begin(w->sink.arg);
}

static uint64_t end_list(struct api_watch *w)
{
	say_connected(w);
	memcpy(w->version, w->list_version, sizeof(w->version));
	w->collecting = false;
	w->sink.whole(w->sink.arg);
	return 1;
}

static uint64_t watch_once(void *arg)
{
	struct api_watch *w = arg;
	auto_http_response struct http_response answer = {0};
	struct err err = {""};

	begin_objects(w);
	int rc = ask_for_objects(w, &answer, &err);
	if (atomic_load(&w->stop))
		return PERIODIC_END;
	if (rc == 0 && answer.status != 200)
		return take_refusal(w, &answer);
	if (w->cut.list && rc == 0 && w->list_version[0])
		return end_list(w);
	/* a server that is restarted, or a watch that it ends */
	if (rc == -ECANCELED && w->by_list && !w->version[0] && !w->cut.list)
		return 1; /* by a list, then */
	if (w->events && !w->gone && !w->collecting) {
		w->wait_ms = 0;
		return RETRY_MIN_MS / 10;
	}
	if (rc < 0 && rc != -ECANCELED)
		say_failure(w, &err);
	return back_off(w, RETRY_MAX_MS);
}

int api_watch_start(const struct kubeconfig *config, const struct api_kind *kind,
		    const char *node, const struct api_sink *sink,
		    struct api_watch **ret, struct err *err)
{
	if (!pod_name_ok(node, POD_NAME_SIZE))
		return err_set(err, -EINVAL, "%s: not the name of a node", node);
	struct api_watch *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->config = config;
	w->kind = kind;
	w->sink = *sink;
	memcpy(w->node, node, strlen(node) + 1);
	const struct http_client_config c = {
		.ca_file = config->ca_file,
		.cert_file = config->cert_file,
		.key_file = config->key_file,
		.insecure = config->insecure,
		.proxy = "env",
		.stop = &w->stop,
	};
	periodic_init(&w->thread);
	int rc = http_client_new(&c, &w->client, err);
	if (rc == 0) {
		rc = periodic_start(&w->thread, 0, watch_once, NULL, w);
		if (rc < 0)
			(void)err_set(err, rc, "a thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		http_client_free(w->client);
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void api_watch_stop(struct api_watch *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, true);
	periodic_done(&w->thread);
	http_client_free(w->client);
	buf_done(&w->cut.text);
	free(w);
}
