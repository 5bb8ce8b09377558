/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The task that fetches debug files which ceems-profiler misses, from a debuginfod:
 * GET URL/buildid/HEX/debuginfo (debuginfod(8), "WEBAPI"). What a server sends is
 * bounded and stored; nobody here looks into it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "courier/courier.h"
#include "courier/debug_cache.h"
#include "courier/ship.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/http/client_url.h"
#include "lib/log.h"
#include "lib/records/spool.h"

#define LOOK_MS 1000u
#define FILES_MAX 1024u /* of one poll */
#define TEXT_MAX ((size_t)64 << 10)
#define CHECK_BYTES (1u << 20)
#define SERVERS_MAX 16u

struct debug_server {
	const char *url;
	unsigned failures; /* consecutive */
	uint64_t not_before_ns;
	struct err why;
};

struct debuginfod {
	struct courier *courier;
	struct http_client *client;
	struct debug_cache cache;
	struct debug_server servers[SERVERS_MAX];
	size_t server_count;
	char queue[4096];
	struct spool_reader *reader;
	struct build_id id; /* what is wanted and not fetched yet; len 0: nothing */
	uint64_t read_seq, acked_seq;
	unsigned failures; /* consecutive, of ours */
	uint64_t wait_ms;
	struct log_repeat refused_log;
	struct child_shipping totals, said;
};

/* ---- one file -------------------------------------------------------------------- */

struct fetch {
	const struct debug_cache *cache;
	int fd;
	uint64_t bytes, max_bytes;
	int rc; /* why it was ended */
};

static bool begins_as_elf(const struct fetch *f, const char *data, size_t len)
{
	static const char magic[] = {0x7f, 'E', 'L', 'F'};

	for (size_t i = 0; i < len && f->bytes + i < sizeof(magic); i++) {
		if (data[i] != magic[f->bytes + i])
			return false;
	}
	return true;
}

static bool take_piece(void *arg, const char *data, size_t len)
{
	struct fetch *f = arg;
	uint64_t before = f->bytes;

	if (len > f->max_bytes - before)
		f->rc = -EFBIG;
	else if (!begins_as_elf(f, data, len))
		f->rc = -ENOEXEC;
	else if (before / CHECK_BYTES != (before + len) / CHECK_BYTES)
		f->rc = debug_cache_check_room(f->cache);
	if (f->rc == 0)
		f->rc = fs_write_all(f->fd, data, len);
	f->bytes += len;
	return f->rc == 0;
}

/* An answer that says where it ends, so that half of one is none. */
static bool has_end(struct http_client *client)
{
	return http_client_header(client, "Content-Length") ||
	       http_client_header(client, "Transfer-Encoding");
}

/* 0: it is in n; -ENOENT: this server does not have it; -EFBIG, -ENOSPC: it cannot be
 * kept; else the server has failed. */
static int ask_server(struct debuginfod *t, const char *url, struct debug_cache_new *n,
		      struct err *err)
{
	struct fetch f = {.cache = &t->cache,
			  .fd = n->fd,
			  .max_bytes = t->courier->options.debuginfod_max_file};
	auto_http_response struct http_response answer = {0};
	auto_buf struct buf target = BUF_INIT;
	char hex[BUILD_ID_HEX_BYTES];

	build_id_hex(&t->id, hex);
	buf_printf(&target, "%s%sbuildid/%s/debuginfo", url,
		   url[strlen(url) - 1] == '/' ? "" : "/", hex);
	if (buf_error(&target))
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_request q = {
		.url = target.data, .take = take_piece, .take_arg = &f};
	t->totals.posts++;
	int rc = http_client_do(t->client, &q, &answer, err);
	t->totals.bytes += f.bytes;
	if (f.rc == -ENOEXEC)
		return err_set(err, -EPROTO, "%s: the answer is no debug file",
			       target.data);
	if (f.rc < 0)
		return err_set(err, f.rc, "%s: %s", target.data,
			       f.rc == -EFBIG ? "longer than --debuginfod.max-file"
					      : strerror(-f.rc));
	if (rc < 0) /* EFBIG is about headers */
		return rc == -EFBIG ? -EPROTO : rc;
	if (answer.status == 404)
		return -ENOENT;
	/* busy is as good as not there */
	if (answer.status != 200)
		return err_set(err,
			       answer.status == 429 || answer.status == 503
				       ? -EHOSTUNREACH
				       : -EPROTO,
			       "%s: HTTP status %u", target.data, answer.status);
	if (!f.bytes || !has_end(t->client))
		return err_set(err, -EPROTO, "%s: %s", target.data,
			       f.bytes ? "the answer does not say how long it is"
				       : "the answer is empty");
	return 0;
}

/* ---- servers --------------------------------------------------------------------- */

static void note_failure(struct debug_server *s, const struct err *why)
{
	s->failures++;
	s->not_before_ns =
		clock_boottime_ns() +
		ship_wait_ms(s->failures, 0, courier_random()) * NSEC_PER_MSEC;
	s->why = *why;
}

/* Nanoseconds until one may be asked */
static uint64_t servers_wait_ns(const struct debuginfod *t)
{
	uint64_t now_ns = clock_boottime_ns(), least = UINT64_MAX;

	for (size_t i = 0; i < t->server_count; i++) {
		uint64_t at = t->servers[i].not_before_ns;
		uint64_t wait = at > now_ns ? at - now_ns : 0;
		least = wait < least ? wait : least;
	}
	return least;
}

/* Whether a server never got so far as to look for the file, so that it is asked for
 * it again. */
static bool is_unreachable(int rc)
{
	return rc == -ECONNREFUSED || rc == -EHOSTUNREACH || rc == -EKEYREJECTED ||
	       rc == -ECANCELED;
}

/* The servers in turn until one has it. 0: it is in n; -ENOENT: none of them has it;
 * -ECONNREFUSED: nobody could be asked; -EFBIG, -ENOSPC: it cannot be kept; -EAGAIN:
 * some have failed, and ceems-profiler may ask again. */
static int ask_servers(struct debuginfod *t, struct debug_cache_new *n, struct err *err)
{
	bool failed = false, asked = false;

	for (size_t i = 0; i < t->server_count; i++) {
		struct debug_server *s = &t->servers[i];
		struct err why = {""};
		if (s->not_before_ns > clock_boottime_ns()) {
			failed = true;
			continue;
		}
		int rc = ask_server(t, s->url, n, &why);
		if (rc == 0 || rc == -ENOENT || rc == -EFBIG || rc == -ENOSPC) {
			s->failures = 0;
			asked = true;
		}
		if (rc == 0)
			return 0;
		if (rc == -EFBIG || rc == -ENOSPC)
			return err_set(err, rc, "%s", why.text);
		if (rc == -ENOENT)
			continue;
		failed = true;
		asked = asked || !is_unreachable(rc);
		t->totals.failures++;
		note_failure(s, &why);
		/* what it sent so far is not for the next one to go on with */
		if (ftruncate(n->fd, 0) < 0 || lseek(n->fd, 0, SEEK_SET) < 0)
			return err_set(err, -errno, "%s", strerror(errno));
	}
	return !failed ? -ENOENT : asked ? -EAGAIN : -ECONNREFUSED;
}

/* ---- what is wanted -------------------------------------------------------------- */

static void say_file_refused(struct debuginfod *t, const struct err *why)
{
	t->totals.refused++;
	if (log_repeat_due(&t->refused_log, clock_boottime_ns()))
		log_warn("debuginfod: %s: not fetched", why->text);
}

/* 0: t->id is done with; else nobody could be asked, or there is no room. */
static int fetch_wanted(struct debuginfod *t, struct err *err)
{
	struct debug_cache_new n;
	struct err why = {""};
	int rc = debug_cache_begin(&t->cache, &t->id, &n, err);

	if (rc < 0)
		return rc;
	rc = ask_servers(t, &n, &why);
	/* an empty file says that there is none */
	bool keep = rc == 0 || rc == -ENOENT || rc == -EFBIG;
	if (rc == -EFBIG || rc == -ENOSPC)
		say_file_refused(t, &why);
	if (rc == -EFBIG && ftruncate(n.fd, 0) < 0)
		keep = false;
	if (!keep) {
		debug_cache_abandon(&t->cache, &n);
		return rc == -ECONNREFUSED ? rc : 0;
	}
	if (debug_cache_commit(&t->cache, &n, &why) < 0) {
		say_file_refused(t, &why); /* fetching it again would not help */
		return 0;
	}
	t->totals.accepted += rc == 0;
	t->totals.set_aside += rc == -ENOENT;
	return 0;
}

/* 1: t->id is to be fetched; 0: nothing is for now. */
static int next_wanted(struct debuginfod *t, struct err *err)
{
	int64_t now_s = (int64_t)(clock_realtime_ns() / NSEC_PER_SEC);
	struct spool_record r;
	int rc;

	while ((rc = spool_next(t->reader, &r, err)) > 0) {
		int news = debug_file_decode(r.data, r.len, &t->id);
		t->read_seq = r.seq;
		if (news > 0 && debug_cache_told(&t->cache, (enum debug_file_news)news,
						 &t->id, now_s))
			return 1;
		t->id.len = 0;
	}
	return rc;
}

/* 0: there is none yet, or it is open. */
static int open_queue(struct debuginfod *t, struct err *err)
{
	if (t->reader && !t->id.len && spool_reader_is_stale(t->reader)) {
		spool_reader_close(t->reader);
		t->reader = NULL;
	}
	int rc = t->reader ? 0 : spool_reader_open(t->queue, &t->reader, err);
	return rc == -ENOENT ? 0 : rc;
}

static int work_queue(struct debuginfod *t, struct err *err)
{
	int rc = open_queue(t, err);

	if (rc < 0 || !t->reader)
		return rc;
	for (unsigned i = 0; i < FILES_MAX; i++) {
		if (atomic_load(&t->courier->stop) || servers_wait_ns(t))
			break;
		if (!t->id.len && (rc = next_wanted(t, err)) <= 0)
			break;
		rc = fetch_wanted(t, err);
		if (rc < 0)
			break;
		t->id.len = 0;
	}
	/* what is read again after a crash is there by then */
	if (rc == 0 && !t->id.len && t->acked_seq != t->read_seq) {
		rc = spool_ack(t->reader, t->read_seq, err);
		t->acked_seq = t->read_seq;
	}
	return rc;
}

/* ---- the task -------------------------------------------------------------------- */

static void close_debuginfod(void *state)
{
	struct debuginfod *t = state;

	if (!t)
		return;
	spool_reader_close(t->reader);
	debug_cache_close(&t->cache);
	http_client_free(t->client);
	free(t);
}

static int check_debuginfod(const struct options *o, struct err *err)
{
	if (o->debuginfod_urls.count > SERVERS_MAX)
		return err_set(err, -EINVAL, "--debuginfod.url: more than %u",
			       SERVERS_MAX);
	if (o->debuginfod_max_file > o->debuginfod_max_bytes)
		return err_set(err, -EINVAL,
			       "--debuginfod.max-file is more than "
			       "--debuginfod.max-bytes");
	for (size_t i = 0; i < o->debuginfod_urls.count; i++) {
		struct http_url_parts parts;
		struct err why = {""};
		if (http_url_split(o->debuginfod_urls.items[i], &parts, &why) < 0)
			return err_set(err, -EINVAL, "--debuginfod.url: %s", why.text);
	}
	return 0;
}

static int open_debuginfod(struct courier *c, void **ret_state, struct err *err)
{
	const struct options *o = &c->options;
	const struct http_client_config http = {
		.ca_file = *o->debuginfod_ca_file ? o->debuginfod_ca_file : NULL,
		.timeout_ms = (uint32_t)o->debuginfod_timeout_ms,
		.max_body_bytes = TEXT_MAX,
		.redirects = 3,
		.proxy = "env",
		.stop = &c->stop,
	};

	if (!o->debuginfod_urls.count)
		return -ENODEV;
	int rc = check_debuginfod(o, err);
	if (rc < 0)
		return rc;
	struct debuginfod *t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->courier = c;
	t->cache.fd = -1;
	t->server_count = o->debuginfod_urls.count;
	for (size_t i = 0; i < t->server_count; i++)
		t->servers[i].url = o->debuginfod_urls.items[i];
	int n = snprintf(t->queue, sizeof(t->queue), "%s/%s", o->debuginfod_folder,
			 DEBUG_FILE_QUEUE);
	if (n >= (int)sizeof(t->queue))
		rc = err_set(err, -ENAMETOOLONG, "--debuginfod.folder: too long");
	if (rc == 0 && !o->check_config)
		rc = debug_cache_open(o->debuginfod_folder, o->debuginfod_max_bytes,
				      &t->cache, err);
	if (rc == 0)
		rc = http_client_new(&http, &t->client, err);
	if (rc < 0) {
		close_debuginfod(t);
		return rc;
	}
	*ret_state = t;
	return 0;
}

static void tell_debuginfod(struct debuginfod *t)
{
	struct child_shipping m = t->totals;

	if (memcmp(&m, &t->said, sizeof(m)) == 0)
		return;
	t->said = m;
	courier_send(t->courier, &m.head, CHILD_SHIPPING, "debuginfod", 0, sizeof(m));
}

static int poll_debuginfod(void *state, struct err *err)
{
	struct debuginfod *t = state;
	int rc = work_queue(t, err);

	tell_debuginfod(t);
	t->failures = rc < 0 && rc != -ECONNREFUSED ? t->failures + 1 : 0;
	t->wait_ms = t->failures ? ship_wait_ms(t->failures, 0, courier_random())
				 : servers_wait_ns(t) / NSEC_PER_MSEC;
	if (t->failures)
		return rc;
	for (size_t i = 0; i < t->server_count; i++) {
		if (t->servers[i].failures)
			return err_set(err, -EREMOTEIO, "%s", t->servers[i].why.text);
	}
	return 0;
}

static uint64_t debuginfod_period_ms(const void *state)
{
	const struct debuginfod *t = state;

	return t->wait_ms > LOOK_MS ? t->wait_ms : LOOK_MS;
}

const struct task task_debuginfod = {
	.name = "debuginfod",
	.open = open_debuginfod,
	.poll = poll_debuginfod,
	.period_ms = debuginfod_period_ms,
	.paces = true,
	.close = close_debuginfod,
};
