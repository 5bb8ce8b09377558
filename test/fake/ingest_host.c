/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for an aggregator: accepts batches, and fails as it is told.
 *
 *	ingest_host [--control FILE] [--log FILE] [--munge SOCKET] [--token TEXT]
 *	            [--cert FILE --key FILE [--ca FILE]] [--port N]
 *
 * Serves on 127.0.0.1, prints "ready PORT" and runs until its standard input ends. Each
 * record that it accepts is a line in --log, without its type and noise; each request
 * is a line that begins with '#': records, bytes, MUNGE's uid, the header Connection.
 * --control says what goes wrong now:
 *
 *	status N [S]   answers so, with Retry-After: S     cut       hangs up untaken
 *	slow MS        answers after so long               lose      takes, hangs up
 *	poison TEXT    400 while a record has TEXT         html      200 with a page
 *	refuse TEXT    200, but such records not           half      half an answer
 *	longer N       413 for bodies beyond N             redirect URL
 *	few N          400 for more than N records         ok        nothing
 *	old            does not know the sender's clocks
 */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/identity/munge_request.h"
#include "lib/parse.h"
#include "lib/records/batch.h"
#include "lib/records/report_clock.h"

struct host {
	const char *control, *log, *munge, *token, *cert, *key, *ca;
	uint32_t port;
	pthread_mutex_t mutex;
	char word[32], value[512]; /* of the control file */
};

static void read_control(struct host *h)
{
	char text[600] = "";

	h->word[0] = h->value[0] = '\0';
	if (!h->control ||
	    fs_read_at(AT_FDCWD, h->control, text, sizeof(text), NULL) <= 0)
		return;
	size_t n = strcspn(text, " \n");
	if (n >= sizeof(h->word))
		return;
	memcpy(h->word, text, n);
	h->word[n] = '\0';
	const char *v = text + n + strspn(text + n, " ");
	snprintf(h->value, sizeof(h->value), "%.*s", (int)strcspn(v, "\n"), v);
}

static bool told(const struct host *h, const char *word)
{
	return strcmp(h->word, word) == 0;
}

static uint32_t number(const struct host *h)
{
	char first[16];
	uint32_t n = 0;

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(h->value, " "), h->value);
	return parse_u32(first, &n) < 0 ? 0 : n;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	const char *v = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
	return v ? v : "";
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status,
			      const char *text, const char *name, const char *value)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (name)
		MHD_add_response_header(r, name, value);
	enum MHD_Result rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result error(struct MHD_Connection *c, unsigned status,
			     const char *text)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"status\":\"error\",\"error\":\"%s\"}", text);
	return answer(c, status, body, NULL, NULL);
}

/* Whether the client showed a certificate of our CA. */
static bool shows_certificate(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned status = 0;

	return i && gnutls_certificate_verify_peers2(i->tls_session, &status) == 0 &&
	       status == 0;
}

/* "" or who is not believed; *ret_uid of MUNGE's */
static const char *check_sender(const struct host *h, struct MHD_Connection *c,
				const struct buf *body, int *ret_uid)
{
	const char *auth = header(c, "Authorization");
	auto_munge_facts struct munge_facts facts = {0};
	const struct munge_asked asked = {.method = "POST", .target = BATCH_PATH};
	char hash[MUNGE_REQUEST_HASH_BYTES];

	if (h->token) {
		return strncmp(auth, "Bearer ", 7) == 0 && !strcmp(auth + 7, h->token)
			       ? ""
			       : "token";
	}
	if (h->ca)
		return shows_certificate(c) ? "" : "no certificate";
	if (!h->munge)
		return "";
	if (strncmp(auth, "MUNGE ", 6) != 0)
		return "no credential";
	if (munge_read(h->munge, auth + 6, &facts, NULL) < 0)
		return "bad credential";
	if (munge_request_check(&facts, &asked, hash, NULL) < 0)
		return "credential of another request";
	if (munge_request_check_body(hash, body->data, body->len, NULL) < 0)
		return "credential of another body";
	*ret_uid = (int)facts.uid;
	return "";
}

static void write_log(const struct host *h, const struct buf *lines)
{
	auto_close int fd =
		h->log ? open(h->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
		       : -1;
	if (fd >= 0)
		(void)fs_write_all(fd, lines->data, lines->len);
}

/* Its name without type and noise: up to the sixth digit */
static size_t name_length(const char *record, size_t len)
{
	size_t digits = 0, n = 1;

	for (; n < len && digits < 6; n++)
		digits = record[n] >= '0' && record[n] <= '9' ? digits + 1 : 0;
	return n;
}

static enum MHD_Result take(const struct host *h, struct MHD_Connection *c,
			    struct batch_reader *r, struct buf *log)
{
	auto_buf struct buf refused = BUF_INIT, body = BUF_INIT;
	const void *record;
	size_t len;
	uint32_t n = 0, i = 0;

	while (batch_next(r, &record, &len)) {
		if (*(const unsigned char *)record == REPORT_CLOCK) {
			if (told(h, "old"))
				buf_printf(
					&refused,
					"{\"index\":%u,\"reason\":\"records of type 20 "
					"are not known here\"}",
					i);
			i++;
			continue;
		}
		const char *name = (const char *)record + 1;
		size_t name_len = name_length(record, len) - 1;
		bool has = *h->value &&
			   memmem(name, name_len, h->value, strlen(h->value)) != NULL;
		if (has && told(h, "poison"))
			return error(c, 400, "a record makes no sense");
		if (has && told(h, "refuse")) {
			buf_printf(&refused, "%s{\"index\":%u,\"reason\":\"too old\"}",
				   refused.len ? "," : "", i);
		} else {
			buf_put(log, name, name_len);
			buf_putc(log, '\n');
			n++;
		}
		i++;
	}
	write_log(h, log);
	if (told(h, "lose"))
		return MHD_NO;
	if (told(h, "half"))
		return answer(c, 200, "{\"status\":\"success\",\"data\":[{\"acc", NULL,
			      NULL);
	buf_printf(&body,
		   "{\"status\":\"success\",\"data\":[{\"accepted\":%u,"
		   "\"refused\":[%s]}]}",
		   n, refused.len ? refused.data : "");
	return answer(c, 200, body.data, NULL, NULL);
}

static enum MHD_Result fail_early(const struct host *h, struct MHD_Connection *c)
{
	const char *retry = strchr(h->value, ' ');

	if (told(h, "cut"))
		return MHD_NO;
	if (told(h, "html"))
		return answer(c, 200, "<html>welcome</html>", NULL, NULL);
	if (told(h, "redirect"))
		return answer(c, 302, "", "Location", h->value);
	return retry ? answer(c, number(h), "busy", "Retry-After", retry + 1)
		     : error(c, number(h), "as told");
}

static enum MHD_Result finish(struct host *h, struct MHD_Connection *c,
			      const struct buf *body)
{
	auto_buf struct buf plain = BUF_INIT, log = BUF_INIT;
	struct batch_reader r;
	struct err err;
	int uid = -1;

	if (told(h, "cut") || told(h, "html") || told(h, "redirect") ||
	    told(h, "status"))
		return fail_early(h, c);
	if (told(h, "slow")) {
		buf_printf(&log, "# waits\n");
		write_log(h, &log);
		buf_reset(&log);
		struct timespec ts = {.tv_sec = number(h) / 1000,
				      .tv_nsec = (long)(number(h) % 1000) * 1000000};
		nanosleep(&ts, NULL);
	}
	const char *why = check_sender(h, c, body, &uid);
	if (*why)
		return error(c, 401, why);
	if (told(h, "longer") && body->len > number(h))
		return answer(c, 413, "too long", NULL, NULL);
	if (strcmp(header(c, "Content-Type"), BATCH_TYPE) != 0 ||
	    strcmp(header(c, "Content-Encoding"), BATCH_ENCODING) != 0)
		return error(c, 415, "not a batch");
	if (batch_unpack(body->data, body->len, &plain, &err) < 0 ||
	    batch_open(&r, plain.data, plain.len, &err) < 0)
		return error(c, 400, err.text);
	r.count -= r.count && r.at[4] == REPORT_CLOCK;
	if (told(h, "few") && r.count > number(h))
		return error(c, 400, "so many at once make no sense");
	buf_printf(&log, "# records=%u bytes=%zu uid=%d connection=%s\n", r.count,
		   body->len, uid, header(c, "Connection"));
	return take(h, c, &r, &log);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version,
				  const char *data, size_t *size, void **context)
{
	struct host *h = cls;
	struct buf *body = *context;

	(void)version;
	if (!body) {
		*context = body = calloc(1, sizeof(*body));
		return body ? MHD_YES : MHD_NO;
	}
	if (*size) {
		buf_put(body, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/health") == 0)
		return answer(c, 200, "ok", NULL, NULL);
	if (strcmp(method, "POST") != 0 || strcmp(url, BATCH_PATH) != 0)
		return answer(c, 404, "not here", NULL, NULL);
	pthread_mutex_lock(&h->mutex);
	read_control(h);
	enum MHD_Result rc = finish(h, c, body);
	pthread_mutex_unlock(&h->mutex);
	return rc;
}

static void on_completed(void *cls, struct MHD_Connection *c, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct buf *body = *context;

	(void)cls, (void)c, (void)code;
	if (body)
		buf_done(body);
	free(body);
}

static int read_pem(const char *path, struct buf *ret)
{
	return path ? fs_read_buf_at(AT_FDCWD, path, 65536, ret, NULL) : 0;
}

static int serve(struct host *h)
{
	auto_buf struct buf cert = BUF_INIT, key = BUF_INIT, ca = BUF_INIT;
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)h->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char text[64];

	if (read_pem(h->cert, &cert) < 0 || read_pem(h->key, &key) < 0 ||
	    read_pem(h->ca, &ca) < 0)
		return 1;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, cert.data},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, key.data},
		{h->ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, ca.data},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem none = {MHD_OPTION_END, 0, NULL};
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			(h->cert ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR, &sa,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_ARRAY,
		h->cert ? tls : &none, MHD_OPTION_END);
	if (!d) {
		fprintf(stderr, "ingest_host: port %u: %s\n", h->port, strerror(errno));
		return 1;
	}
	const union MHD_DaemonInfo *i =
		MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
	printf("ready %u\n", i->port);
	fflush(stdout);
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		;
	MHD_stop_daemon(d);
	return 0;
}

int main(int argc, char **argv)
{
	struct host h = {.mutex = PTHREAD_MUTEX_INITIALIZER};

	for (int i = 1; i + 1 < argc; i += 2) {
		const char **to = strcmp(argv[i], "--control") == 0 ? &h.control
				  : strcmp(argv[i], "--log") == 0   ? &h.log
				  : strcmp(argv[i], "--munge") == 0 ? &h.munge
				  : strcmp(argv[i], "--token") == 0 ? &h.token
				  : strcmp(argv[i], "--cert") == 0  ? &h.cert
				  : strcmp(argv[i], "--key") == 0   ? &h.key
				  : strcmp(argv[i], "--ca") == 0    ? &h.ca
								    : NULL;
		if (to)
			*to = argv[i + 1];
		else if (strcmp(argv[i], "--port") != 0 ||
			 parse_u32(argv[i + 1], &h.port) < 0)
			return 2;
	}
	return serve(&h);
}
