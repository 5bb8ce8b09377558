/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up BMC that speaks just enough Redfish, and fails as it is told.
 *
 *	redfish_bmc [--user U --password P] [--cert FILE --key FILE] [--control FILE]
 *	            [--log FILE] [--sessions N] [--port N]
 *
 * Serves on 127.0.0.1, prints "ready PORT" and runs until its standard input ends. With
 * --user a session (DSP0266) or basic authentication is asked for; --sessions is how
 * many there may be at a time (4). Each request is a line "METHOD path auth" in --log,
 * where auth is token, basic or none. --control holds what goes wrong now:
 *
 *	slow MS       answers after so long         cut       hangs up amid the body
 *	big BYTES     a body of so many bytes       deep N    JSON nested so deep
 *	status N      answers so                    html      200 with a page
 *	redirect URL  302                           forget    forgets all sessions
 *	refuse        no password is right          reject    takes no token
 *	watts N       what PowerConsumedWatts is    ok        nothing
 */
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define SESSIONS_MAX 16
#define BODY_MAX 4096

struct bmc {
	const char *user, *password, *cert, *key, *control, *log;
	uint32_t sessions, port;
	pthread_mutex_t mutex;
	char tokens[SESSIONS_MAX][40];
	unsigned next_token, serial;
	bool forgot;               /* once is enough */
	char word[32], value[512]; /* of the control file */
};

struct upload {
	char body[BODY_MAX];
	size_t len;
};

static void read_control(struct bmc *b)
{
	char text[600] = "";

	b->word[0] = b->value[0] = '\0';
	if (!b->control ||
	    fs_read_at(AT_FDCWD, b->control, text, sizeof(text), NULL) <= 0)
		return;
	size_t n = strcspn(text, " \n");
	if (n >= sizeof(b->word))
		return;
	memcpy(b->word, text, n);
	b->word[n] = '\0';
	const char *v = text + n + strspn(text + n, " ");
	snprintf(b->value, sizeof(b->value), "%.*s", (int)strcspn(v, "\n"), v);
	bool forget = strcmp(b->word, "forget") == 0;
	if (forget && !b->forgot)
		memset(b->tokens, 0, sizeof(b->tokens));
	b->forgot = forget;
}

static bool told(const struct bmc *b, const char *word)
{
	return strcmp(b->word, word) == 0;
}

static uint32_t number(const struct bmc *b)
{
	uint32_t n = 0;

	return parse_u32(b->value, &n) < 0 ? 0 : n;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static int find_token(const struct bmc *b, const char *token)
{
	for (int i = 0; token && *token && i < SESSIONS_MAX; i++) {
		if (strcmp(b->tokens[i], token) == 0)
			return i;
	}
	return -1;
}

static bool basic_is_good(const struct bmc *b, struct MHD_Connection *c)
{
	char *password = NULL;
	char *user = MHD_basic_auth_get_username_password(c, &password);
	bool good = user && password && b->user && strcmp(user, b->user) == 0 &&
		    strcmp(password, b->password) == 0;

	MHD_free(user);
	MHD_free(password);
	return good && !told(b, "refuse");
}

static bool may_read(const struct bmc *b, struct MHD_Connection *c, const char *url)
{
	const char *token = header(c, "X-Auth-Token");

	if (!b->user || strcmp(url, "/redfish") == 0 ||
	    strcmp(url, "/redfish/v1/") == 0)
		return true;
	if (told(b, "reject"))
		return false;
	return find_token(b, token) >= 0 || (!token && basic_is_good(b, c));
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status,
				 const char *type, const struct buf *body,
				 const char *name, const char *value, const char *name2,
				 const char *value2)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(body->len, body->data,
								 MHD_RESPMEM_MUST_COPY);

	MHD_add_response_header(r, "Content-Type", type);
	/* what no client of a proxy may see */
	MHD_add_response_header(r, "Set-Cookie", "bmc=secret-cookie");
	MHD_add_response_header(r, "Server", "bmc/1.0");
	if (name)
		MHD_add_response_header(r, name, value);
	if (name2)
		MHD_add_response_header(r, name2, value2);
	enum MHD_Result rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result send_status(struct MHD_Connection *c, unsigned status)
{
	auto_buf struct buf body = BUF_INIT;

	buf_printf(&body, "{\"error\":{\"code\":\"Base.1.0.%u\"}}", status);
	return send_text(c, status, "application/json", &body, NULL, NULL, NULL, NULL);
}

static enum MHD_Result make_session(struct bmc *b, struct MHD_Connection *c,
				    const struct upload *u)
{
	char user[256], password[256], token[40], at[96];
	auto_buf struct buf body = BUF_INIT;
	uint32_t used = 0, slot = SESSIONS_MAX;

	snprintf(user, sizeof(user), "\"UserName\":\"%s\"", b->user ? b->user : "");
	snprintf(password, sizeof(password), "\"Password\":\"%s\"",
		 b->password ? b->password : "");
	if (!b->user || told(b, "refuse") || !strstr(u->body, user) ||
	    !strstr(u->body, password))
		return send_status(c, 401);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
		used += *b->tokens[i] != '\0';
		if (!*b->tokens[i])
			slot = i;
	}
	if (used >= b->sessions || slot == SESSIONS_MAX)
		return send_status(c, 503);
	snprintf(token, sizeof(token), "secret-token-%u", ++b->next_token);
	memcpy(b->tokens[slot], token, sizeof(token));
	snprintf(at, sizeof(at), "/redfish/v1/SessionService/Sessions/%u", slot);
	buf_printf(&body, "{\"@odata.id\":\"%s\",\"Id\":\"%u\"}", at, slot);
	return send_text(c, 201, "application/json", &body, "X-Auth-Token", token,
			 "Location", at);
}

static enum MHD_Result end_session(struct bmc *b, struct MHD_Connection *c)
{
	int i = find_token(b, header(c, "X-Auth-Token"));

	if (i < 0)
		return send_status(c, 401);
	b->tokens[i][0] = '\0';
	return send_status(c, 200);
}

static bool put_resource(struct bmc *b, const char *url, struct buf *out)
{
	static const char *const fixed[][2] = {
		{"/redfish", "{\"v1\":\"/redfish/v1/\"}"},
		{"/redfish/v1/",
		 "{\"@odata.id\":\"/redfish/v1/\",\"RedfishVersion\":\"1.15.0\","
		 "\"Chassis\":{\"@odata.id\":\"/redfish/v1/Chassis\"},"
		 "\"Links\":{\"Sessions\":{\"@odata.id\":"
		 "\"/redfish/v1/SessionService/Sessions\"}}}"},
		{"/redfish/v1/Chassis",
		 "{\"@odata.id\":\"/redfish/v1/Chassis\",\"Members@odata.count\":1,"
		 "\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1\"}]}"},
		{"/redfish/v1/Chassis/1",
		 "{\"@odata.id\":\"/redfish/v1/Chassis/1\",\"Id\":\"1\","
		 "\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/1/Power\"}}"},
		{"/redfish/v1/AccountService/Accounts", "{\"Name\":\"accounts\"}"},
	};
	uint32_t watts = told(b, "watts") ? number(b) : 250;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (strcmp(url, fixed[i][0]) == 0) {
			buf_puts(out, fixed[i][1]);
			return true;
		}
	}
	if (strcmp(url, "/redfish/v1/Chassis/1/Power") != 0)
		return false;
	buf_printf(out,
		   "{\"@odata.id\":\"/redfish/v1/Chassis/1/Power\",\"Serial\":%u,"
		   "\"PowerControl\":[{\"MemberId\":\"0\","
		   "\"PowerConsumedWatts\":%u}]}",
		   ++b->serial, watts);
	return true;
}

static ssize_t half(void *cls, uint64_t pos, char *out, size_t max)
{
	(void)cls;
	if (pos >= 10)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	memset(out, '{', max < 10 ? max : 10);
	return max < 10 ? (ssize_t)max : 10;
}

static enum MHD_Result send_fault(struct bmc *b, struct MHD_Connection *c,
				  bool *ret_done)
{
	auto_buf struct buf body = {.max = 256u << 20};

	*ret_done = true;
	if (told(b, "cut")) {
		struct MHD_Response *r =
			MHD_create_response_from_callback(1000, 512, half, NULL, NULL);
		MHD_add_response_header(r, "Content-Type", "application/json");
		enum MHD_Result rc = MHD_queue_response(c, 200, r);
		MHD_destroy_response(r);
		return rc;
	}
	if (told(b, "status"))
		return send_status(c, number(b));
	if (told(b, "redirect"))
		return send_text(c, 302, "text/plain", &body, "Location", b->value,
				 NULL, NULL);
	if (told(b, "html")) {
		buf_puts(&body, "<html><script>steal()</script></html>");
		return send_text(c, 200, "text/html", &body, NULL, NULL, NULL, NULL);
	}
	if (told(b, "big") || told(b, "deep")) {
		char ch = told(b, "big") ? ' ' : '[';
		for (uint32_t i = 0; i < number(b); i++)
			buf_putc(&body, ch);
		return send_text(c, 200, "application/json", &body, NULL, NULL, NULL,
				 NULL);
	}
	*ret_done = false;
	return MHD_NO;
}

static enum MHD_Result serve(struct bmc *b, struct MHD_Connection *c, const char *url,
			     const char *method, const struct upload *u)
{
	auto_buf struct buf body = BUF_INIT;
	bool done = false;

	if (strcmp(url, "/redfish/v1/SessionService/Sessions") == 0 &&
	    strcmp(method, "POST") == 0)
		return make_session(b, c, u);
	if (strcmp(method, "DELETE") == 0)
		return end_session(b, c);
	if (!may_read(b, c, url))
		return send_status(c, 401);
	if (strcmp(method, "GET") != 0)
		return send_status(c, 405);
	enum MHD_Result rc = send_fault(b, c, &done);
	if (done)
		return rc;
	if (!put_resource(b, url, &body))
		return send_status(c, 404);
	return send_text(c, 200, "application/json; charset=utf-8", &body, NULL, NULL,
			 NULL, NULL);
}

static void log_request(const struct bmc *b, struct MHD_Connection *c,
			const char *method, const char *url)
{
	auto_buf struct buf line = BUF_INIT;

	if (!b->log)
		return;
	auto_close int fd =
		open(b->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	buf_printf(&line, "%s %s %s\n", method, url,
		   header(c, "X-Auth-Token")    ? "token"
		   : header(c, "Authorization") ? "basic"
						: "none");
	(void)!write(fd, line.data, line.len);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version,
				  const char *data, size_t *size, void **state)
{
	struct bmc *b = cls;
	struct upload *u = *state;

	(void)version;
	if (!u) {
		u = *state = calloc(1, sizeof(*u));
		return u ? MHD_YES : MHD_NO;
	}
	if (*size) {
		for (; *size && u->len + 1 < sizeof(u->body); --*size)
			u->body[u->len++] = *data++;
		*size = 0;
		return MHD_YES;
	}
	pthread_mutex_lock(&b->mutex);
	read_control(b);
	log_request(b, c, method, url);
	uint32_t slow_ms = told(b, "slow") ? number(b) : 0;
	pthread_mutex_unlock(&b->mutex);
	struct timespec ts = {.tv_sec = slow_ms / 1000,
			      .tv_nsec = (long)(slow_ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
	pthread_mutex_lock(&b->mutex);
	enum MHD_Result rc = serve(b, c, url, method, u);
	pthread_mutex_unlock(&b->mutex);
	return rc;
}

static void on_completed(void *cls, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode code)
{
	(void)cls;
	(void)c;
	(void)code;
	free(*state);
	*state = NULL;
}

static int parse_args(int argc, char **argv, struct bmc *b)
{
	const struct {
		const char *name, **value;
	} texts[] = {{"--user", &b->user},       {"--password", &b->password},
		     {"--cert", &b->cert},       {"--key", &b->key},
		     {"--control", &b->control}, {"--log", &b->log}};

	for (int i = 1; i < argc; i += 2) {
		size_t k = 0;
		if (i + 1 == argc)
			return -1;
		while (k < 6 && strcmp(texts[k].name, argv[i]) != 0)
			k++;
		if (k < 6)
			*texts[k].value = argv[i + 1];
		else if (strcmp(argv[i], "--sessions") == 0
				 ? parse_u32(argv[i + 1], &b->sessions) < 0
				 : strcmp(argv[i], "--port") != 0 ||
					   parse_u32(argv[i + 1], &b->port) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bmc b = {.sessions = 4, .mutex = PTHREAD_MUTEX_INITIALIZER};
	struct sockaddr_in sin = {.sin_family = AF_INET};
	auto_buf struct buf cert = BUF_INIT, key = BUF_INIT;
	struct err err = {""};
	char text[64];

	if (parse_args(argc, argv, &b) < 0) {
		fprintf(stderr, "usage: see test/fake/redfish_bmc.c\n");
		return 2;
	}
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin.sin_port = htons((uint16_t)b.port);
	if (b.cert && (fs_read_buf_at(AT_FDCWD, b.cert, 1 << 20, &cert, &err) < 0 ||
		       fs_read_buf_at(AT_FDCWD, b.key, 1 << 20, &key, &err) < 0)) {
		fprintf(stderr, "redfish_bmc: %s\n", err.text);
		return 1;
	}
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, cert.data},
				       {MHD_OPTION_HTTPS_MEM_KEY, 0, key.data},
				       {MHD_OPTION_END, 0, NULL}};
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
			(b.cert ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, &b, MHD_OPTION_SOCK_ADDR, &sin,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_ARRAY,
		b.cert ? tls : tls + 2, MHD_OPTION_END);
	if (!d) {
		fprintf(stderr, "redfish_bmc: the HTTP library does not start\n");
		return 1;
	}
	printf("ready %u\n",
	       (unsigned)MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		;
	MHD_stop_daemon(d);
	return 0;
}
