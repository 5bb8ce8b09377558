/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many tokens with made-up key ids cause no more requests than one of them. */
#include "lib/identity/jwt_source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/http/client.h"
#include "lib/wait.h"

#define REFRESH_S 3600
#define RETRY_S 60
#define BELIEVED_S 86400

struct jwt_source {
	char *where, *ca_file;
	unsigned ask_s;
	struct http_client *client; /* the thread's; NULL: a file */
	atomic_bool stop;
	pthread_mutex_t mutex; /* protects the members below */
	pthread_cond_t wake, tried;
	pthread_t thread;
	bool has_thread, asked;
	struct jwt_keys *keys;
	uint64_t keys_ns;    /* when they were fetched, CLOCK_BOOTTIME */
	uint64_t attempt_ns; /* end of the last attempt */
	uint64_t attempts;
	struct err last; /* failure; "" after a success */
};

static int fetch_keys(struct jwt_source *s, struct jwt_keys **ret, struct err *err)
{
	auto_http_response struct http_response a = {0};
	auto_buf struct buf text = {.max = JWT_KEYS_BYTES_MAX};
	const struct http_request r = {.method = HTTP_GET, .url = s->where};

	if (!s->client) {
		int rc = fs_read_buf_at(AT_FDCWD, s->where, JWT_KEYS_BYTES_MAX, &text,
					err);
		if (rc == 0)
			rc = jwt_keys_parse(text.data ? text.data : "", text.len, ret,
					    err);
		return rc < 0 ? err_prefix(err, rc, "%s", s->where) : 0;
	}
	int rc = http_client_do(s->client, &r, &a, err);
	if (rc < 0)
		return rc;
	if (a.status != 200)
		return err_set(err, -EBADMSG, "%s: status %u", a.url, a.status);
	rc = jwt_keys_parse(a.body.data ? a.body.data : "", a.body.len, ret, err);
	return rc < 0 ? err_prefix(err, rc, "%s", a.url) : 0;
}

/* Mutex held, but released meanwhile. */
static void attempt_fetch(struct jwt_source *s)
{
	struct jwt_keys *keys = NULL;
	struct err err = {""};

	s->asked = false;
	pthread_mutex_unlock(&s->mutex);
	int rc = fetch_keys(s, &keys, &err);
	pthread_mutex_lock(&s->mutex);
	s->attempt_ns = clock_boottime_ns();
	s->attempts++;
	s->last = err;
	if (rc == 0) {
		jwt_keys_unref(s->keys);
		s->keys = keys;
		s->keys_ns = s->attempt_ns;
		s->last.text[0] = '\0';
	}
	pthread_cond_broadcast(&s->tried);
}

static void *refresh_keys(void *arg)
{
	struct jwt_source *s = arg;

	pthread_mutex_lock(&s->mutex);
	while (!atomic_load(&s->stop)) {
		attempt_fetch(s);
		bool good = !*s->last.text;
		struct timespec soon = wait_in(1000ull * s->ask_s);
		struct timespec late = wait_in(1000ull * (good ? REFRESH_S : RETRY_S));
		int rc = 0;
		while (!atomic_load(&s->stop) && rc == 0)
			rc = pthread_cond_timedwait(&s->wake, &s->mutex, &soon);
		rc = 0;
		while (!atomic_load(&s->stop) && !s->asked && rc == 0)
			rc = pthread_cond_timedwait(&s->wake, &s->mutex, &late);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

static int open_keys_client(struct jwt_source *s, struct err *err)
{
	const struct http_client_config config = {.ca_file = s->ca_file,
						  .connect_timeout_ms = 3000,
						  .timeout_ms = 4000,
						  .max_body_bytes = JWT_KEYS_BYTES_MAX,
						  .redirects = 2,
						  .stop = &s->stop};

	if (*s->where == '/')
		return 0;
	if (strncmp(s->where, "http://", 7) != 0 &&
	    strncmp(s->where, "https://", 8) != 0)
		return err_set(
			err, -EINVAL,
			"keys of tokens: must be an absolute path or an http(s) URL");
	return http_client_new(&config, &s->client, err);
}

int jwt_source_new(const struct jwt_source_params *params, struct jwt_source **ret,
		   struct err *err)
{
	struct jwt_source *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->mutex, NULL);
	wait_cond_init(&s->wake);
	wait_cond_init(&s->tried);
	s->ask_s = params->ask_s ? params->ask_s : JWT_SOURCE_ASK_S;
	s->where = strdup(params->where);
	s->ca_file = params->ca_file ? strdup(params->ca_file) : NULL;
	int rc = !s->where || (params->ca_file && !s->ca_file)
			 ? err_set(err, -ENOMEM, "out of memory")
			 : open_keys_client(s, err);
	if (rc == 0) {
		rc = -pthread_create(&s->thread, NULL, refresh_keys, s);
		s->has_thread = rc == 0;
		if (rc < 0)
			err_set(err, rc, "start thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		jwt_source_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void jwt_source_free(struct jwt_source *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->mutex);
	atomic_store(&s->stop, true);
	pthread_cond_broadcast(&s->wake);
	pthread_cond_broadcast(&s->tried);
	pthread_mutex_unlock(&s->mutex);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	jwt_keys_unref(s->keys);
	http_client_free(s->client);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->tried);
	pthread_mutex_destroy(&s->mutex);
	free(s->where);
	free(s->ca_file);
	free(s);
}

/* The valid keys, and the number of attempts so far; NULL: none. */
static struct jwt_keys *get_keys(struct jwt_source *s, uint64_t *attempts)
{
	struct jwt_keys *k = NULL;

	pthread_mutex_lock(&s->mutex);
	*attempts = s->attempts;
	if (s->keys && clock_boottime_ns() - s->keys_ns < BELIEVED_S * NSEC_PER_SEC)
		k = jwt_keys_ref(s->keys);
	pthread_mutex_unlock(&s->mutex);
	return k;
}

/* Requests keys newer than after so many attempts and waits for the next attempt, which
 * may have ended meanwhile; false: none soon. */
static bool wait_for_newer(struct jwt_source *s, uint64_t attempts)
{
	struct timespec until = wait_in(JWT_SOURCE_WAIT_MS);
	int rc = 0;

	pthread_mutex_lock(&s->mutex);
	/* after each attempt the thread pauses for ask_s, which nobody waits for */
	bool soon = s->attempts == attempts &&
		    (attempts == 0 ||
		     clock_boottime_ns() - s->attempt_ns >= s->ask_s * NSEC_PER_SEC);
	if (soon) {
		s->asked = true;
		pthread_cond_signal(&s->wake);
	}
	while (soon && rc == 0 && s->attempts == attempts && !atomic_load(&s->stop))
		rc = pthread_cond_timedwait(&s->tried, &s->mutex, &until);
	bool newer = s->attempts != attempts;
	pthread_mutex_unlock(&s->mutex);
	return newer;
}

static int no_keys(struct jwt_source *s, struct err *err)
{
	pthread_mutex_lock(&s->mutex);
	int rc = err_set(err, -EHOSTDOWN, "token: there are no keys to verify it%s%s",
			 *s->last.text ? ": " : "", s->last.text);
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

int jwt_source_verify(struct jwt_source *s, const struct jwt_rules *rules,
		      const char *token, uint64_t now_s, struct jwt_claims *ret,
		      struct err *err)
{
	int rc = -ENOKEY;

	for (int i = 0; i < 2 && rc == -ENOKEY; i++) {
		uint64_t attempts;
		struct jwt_keys *k = get_keys(s, &attempts);
		rc = k ? jwt_verify(k, rules, token, now_s, ret, err) : -ENOKEY;
		if (!k)
			(void)no_keys(s, err);
		bool had = k;
		jwt_keys_unref(k);
		if (rc == -ENOKEY && (i > 0 || !wait_for_newer(s, attempts)))
			return had ? -EACCES : -EHOSTDOWN;
	}
	return rc;
}
