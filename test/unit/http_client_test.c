/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/client.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/http/client_url.h"
#include "test/unit/http_script.h"
#include "test/unit/scratch.h"

struct world {
	struct http_script server;
	struct http_client *client;
	struct http_response resp;
	struct err err;
	char request[8192]; /* the last one */
};

static bool answer(void *arg, const char *request, struct buf *out)
{
	struct world *w = arg;
	snprintf(w->request, sizeof(w->request), "%s", request);
	const char *path = strchr(request, ' ') + 1;
	if (strncmp(path, "/cut ", 5) == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
		return false;
	}
	if (strncmp(path, "/hangup ", 8) == 0)
		return false;
	if (strncmp(path, "/nonsense ", 10) == 0) {
		buf_puts(out, "SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n");
		return false;
	}
	if (strncmp(path, "/slow ", 6) == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
		return true; /* and never the rest */
	}
	if (strncmp(path, "/long ", 6) == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		for (int i = 0; i < 64; i++)
			buf_printf(out, "100\r\n%0256d\r\n", 0);
		buf_puts(out, "0\r\n\r\n");
		return false;
	}
	if (strncmp(path, "/headers ", 9) == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\n");
		for (int i = 0; i < 1000; i++)
			buf_printf(out, "X-H%d: %0100d\r\n", i, 0);
		buf_puts(out, "Content-Length: 0\r\n\r\n");
		return false;
	}
	if (strncmp(path, "/loop ", 6) == 0)
		http_script_put(out, 302, "Location: /loop\r\n", "");
	else if (strncmp(path, "/once ", 6) == 0)
		http_script_put(out, 308, "Location: /there\r\n", "");
	else if (strncmp(path, "/away ", 6) == 0)
		http_script_put(out, 302, "Location: http://127.0.0.2:1/x\r\n", "");
	else if (strncmp(path, "/file ", 6) == 0)
		http_script_put(out, 302, "Location: file:///etc/passwd\r\n", "");
	else if (strncmp(path, "/missing ", 9) == 0)
		http_script_put(out, 404, "", "no");
	else
		http_script_put(out, 200, "X-Auth-Token: t0ken\r\n", "hello");
	return true;
}

static void setup_with(struct world *w, const struct http_client_config *config)
{
	memset(w, 0, sizeof(*w));
	http_script_start(&w->server, answer, w);
	assert_int_equal(http_client_new(config, &w->client, &w->err), 0);
}

static void setup(struct world *w)
{
	setup_with(w, &(struct http_client_config){.timeout_ms = 10000,
						   .max_body_bytes = 4096});
}

static void teardown(struct world *w)
{
	http_client_free(w->client);
	http_response_done(&w->resp);
	http_script_stop(&w->server);
}

static int ask(struct world *w, struct http_request r, const char *path)
{
	char url[256];
	snprintf(url, sizeof(url), "%s%s", w->server.url, path);
	r.url = url;
	return http_client_do(w->client, &r, &w->resp, &w->err);
}

static int get(struct world *w, const char *path)
{
	return ask(w, (struct http_request){.method = HTTP_GET}, path);
}

static void an_answer_has_status_headers_and_body(void **state)
{
	(void)state;
	struct world w;
	setup(&w);
	assert_int_equal(get(&w, "/x?token=planted"), 0);
	assert_int_equal(w.resp.status, 200);
	assert_string_equal(w.resp.body.data, "hello");
	assert_string_equal(http_client_header(w.client, "x-auth-token"), "t0ken");
	assert_null(http_client_header(w.client, "X-Absent"));
	assert_null(strstr(w.resp.url, "planted"));
	/* other statuses are answers too */
	assert_int_equal(get(&w, "/missing"), 0);
	assert_int_equal(w.resp.status, 404);
	teardown(&w);
}

static void the_connection_is_kept(void **state)
{
	(void)state;
	struct world w;
	setup(&w);
	for (int i = 0; i < 5; i++)
		assert_int_equal(get(&w, "/x"), 0);
	assert_int_equal(atomic_load(&w.server.connections), 1);
	assert_int_equal(atomic_load(&w.server.requests), 5);
	teardown(&w);
}

static void methods_and_bodies_do_not_stick(void **state)
{
	(void)state;
	struct world w;
	setup(&w);
	struct http_header h = {"Content-Type", "application/json"};
	struct http_request post = {.method = HTTP_POST,
				    .headers = &h,
				    .header_count = 1,
				    .body = "{\"a\":1}",
				    .body_len = 7};
	assert_int_equal(ask(&w, post, "/p"), 0);
	assert_non_null(strstr(w.request, "POST /p HTTP/1.1\r\n"));
	assert_non_null(strstr(w.request, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(w.request, "\r\n\r\n{\"a\":1}"));
	assert_int_equal(ask(&w, (struct http_request){.method = HTTP_DELETE}, "/d"),
			 0);
	assert_non_null(strstr(w.request, "DELETE /d HTTP/1.1\r\n"));
	assert_null(strstr(w.request, "{\"a\":1}"));
	assert_int_equal(get(&w, "/g"), 0);
	assert_non_null(strstr(w.request, "GET /g HTTP/1.1\r\n"));
	assert_null(strstr(w.request, "Content-Type"));
	teardown(&w);
}

static void write_secret(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), mode, NULL), 0);
}

static void credentials_come_from_files_at_each_request(void **state)
{
	(void)state;
	struct world w;
	char path[] = "/tmp/ceems-http-XXXXXX";
	int fd = mkstemp(path);
	close(fd);
	setup(&w);
	struct http_auth basic = {.user = "u", .password_file = path};
	struct http_request r = {.method = HTTP_GET, .auth = &basic};
	write_secret(path, "p\n", 0600);
	assert_int_equal(ask(&w, r, "/x"), 0);
	assert_non_null(strstr(w.request, "Authorization: Basic dTpw\r\n"));
	write_secret(path, "q\n", 0600);
	assert_int_equal(ask(&w, r, "/x"), 0);
	assert_non_null(strstr(w.request, "Authorization: Basic dTpx\r\n"));
	struct http_auth bearer = {.credentials_file = path};
	r.auth = &bearer;
	assert_int_equal(ask(&w, r, "/x"), 0);
	assert_non_null(strstr(w.request, "Authorization: Bearer q\r\n"));
	/* and are gone with the request that had them */
	assert_int_equal(get(&w, "/x"), 0);
	assert_null(strstr(w.request, "Authorization"));
	write_secret(path, "planted", 0604);
	assert_int_equal(ask(&w, r, "/x"), -EPERM);
	assert_null(strstr(w.err.text, "planted"));
	write_secret(path, "\n", 0600);
	assert_int_equal(ask(&w, r, "/x"), -EINVAL);
	unlink(path);
	assert_int_equal(ask(&w, r, "/x"), -ENOENT);
	teardown(&w);
}

static void failures_name_the_url_without_its_secrets(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		int rc;
	} cases[] = {{"/cut", -ECONNRESET},   {"/hangup", -ECONNRESET},
		     {"/nonsense", -EBADMSG}, {"/slow", -ETIMEDOUT},
		     {"/long", -EFBIG},       {"/headers", -EFBIG}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		setup(&w);
		struct http_request r = {.method = HTTP_GET};
		r.timeout_ms = cases[i].rc == -ETIMEDOUT ? 300 : 0;
		int rc = ask(&w, r, cases[i].path);
		if (strcmp(cases[i].path, "/nonsense") == 0 && rc == -EINVAL)
			rc = -EBADMSG; /* libcurl: unsupported protocol HTTP/0.9 */
		assert_int_equal(rc, cases[i].rc);
		assert_non_null(strstr(w.err.text, cases[i].path));
		assert_int_equal(w.resp.status, 0);
		assert_int_equal(w.resp.body.len, 0);
		/* and the client works on */
		assert_int_equal(get(&w, "/x"), 0);
		teardown(&w);
	}
	struct world w;
	setup(&w);
	char url[128];
	struct http_request r = {.method = HTTP_GET, .url = url};
	snprintf(url, sizeof(url), "http://127.0.0.1:1/x?token=planted");
	assert_int_equal(http_client_do(w.client, &r, &w.resp, &w.err), -ECONNREFUSED);
	assert_null(strstr(w.err.text, "planted"));
	assert_non_null(strstr(w.err.text, "127.0.0.1:1/x"));
	teardown(&w);
}

static void redirects_are_followed_on_the_same_host_only(void **state)
{
	(void)state;
	struct world w;
	setup(&w); /* off by default */
	assert_int_equal(get(&w, "/once"), 0);
	assert_int_equal(w.resp.status, 308);
	teardown(&w);
	setup_with(&w, &(struct http_client_config){.redirects = 3});
	assert_int_equal(get(&w, "/once"), 0);
	assert_int_equal(w.resp.status, 200);
	assert_non_null(strstr(w.resp.url, "/there"));
	assert_int_equal(get(&w, "/away"), 0);
	assert_int_equal(w.resp.status, 302);
	assert_int_equal(get(&w, "/file"), 0);
	assert_int_equal(w.resp.status, 302);
	unsigned before = atomic_load(&w.server.requests);
	assert_int_equal(get(&w, "/loop"), -ELOOP);
	assert_int_equal(atomic_load(&w.server.requests) - before, 4);
	/* a POST is never repeated elsewhere */
	assert_int_equal(ask(&w, (struct http_request){.method = HTTP_POST}, "/once"),
			 0);
	assert_int_equal(w.resp.status, 308);
	teardown(&w);
}

static void what_cannot_be_asked_is_refused(void **state)
{
	(void)state;
	static const char *const urls[] = {"",
					   "/x",
					   "file:///etc/passwd",
					   "ftp://127.0.0.1/",
					   "gopher://127.0.0.1/",
					   "http://",
					   "http://user:planted@127.0.0.1/",
					   "http://127.0.0.1/a b",
					   "http://127.0.0.1/\r\nX: y",
					   "http://127.0.0.1/#planted"};
	struct world w;
	setup(&w);
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct http_request r = {.method = HTTP_GET, .url = urls[i]};
		assert_int_equal(http_client_do(w.client, &r, &w.resp, &w.err),
				 -EINVAL);
		assert_null(strstr(w.err.text, "planted"));
	}
	static const struct http_header bad[] = {
		{"X", "a\r\nY: b"}, {"X\r\nY", "a"}, {"", "a"}, {"X: Y", "a"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct http_request r = {.headers = &bad[i], .header_count = 1};
		assert_int_equal(ask(&w, r, "/x"), -EINVAL);
	}
	assert_int_equal(atomic_load(&w.server.requests), 0);
	teardown(&w);
}

static void *raise_stop(void *arg)
{
	struct timespec wait = {.tv_nsec = 50 * NSEC_PER_MSEC};
	nanosleep(&wait, NULL);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void a_request_in_flight_can_be_stopped(void **state)
{
	(void)state;
	struct world w;
	atomic_bool stop = false;
	pthread_t t;
	setup_with(&w,
		   &(struct http_client_config){.timeout_ms = 60000, .stop = &stop});
	pthread_create(&t, NULL, raise_stop, &stop);
	assert_int_equal(get(&w, "/slow"), -ECANCELED);
	pthread_join(t, NULL);
	teardown(&w);
}

static enum MHD_Result tls_answer(void *arg, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version,
				  const char *data, size_t *len, void **con)
{
	(void)arg, (void)url, (void)method, (void)version, (void)data, (void)len,
		(void)con;
	struct MHD_Response *r = MHD_create_response_from_buffer(
		2, (void *)(uintptr_t) "ok", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return rc;
}

static struct MHD_Daemon *tls_server(const char *folder)
{
	auto_buf struct buf cert = BUF_INIT, key = BUF_INIT;
	char path[128], key_path[128];
	snprintf(path, sizeof(path), "%s/cert", folder);
	snprintf(key_path, sizeof(key_path), "%s/key", folder);
	const char *const openssl[] = {"openssl",
				       "req",
				       "-x509",
				       "-newkey",
				       "ec",
				       "-pkeyopt",
				       "ec_paramgen_curve:prime256v1",
				       "-nodes",
				       "-days",
				       "2",
				       "-subj",
				       "/CN=bmc",
				       "-addext",
				       "subjectAltName=IP:127.0.0.1",
				       "-keyout",
				       key_path,
				       "-out",
				       path,
				       NULL};
	if (scratch_run(openssl) != 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/cert", folder);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 65536, &cert, NULL), 0);
	snprintf(path, sizeof(path), "%s/key", folder);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 65536, &key, NULL), 0);
	struct sockaddr_in a = {.sin_family = AF_INET};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL,
				NULL, tls_answer, NULL, MHD_OPTION_SOCK_ADDR, &a,
				MHD_OPTION_HTTPS_MEM_CERT, cert.data,
				MHD_OPTION_HTTPS_MEM_KEY, key.data, MHD_OPTION_END);
}

static int tls_get(const struct http_client_config *config, const char *host,
		   unsigned port)
{
	struct http_client *client = NULL;
	auto_http_response struct http_response resp = {0};
	char url[64];
	snprintf(url, sizeof(url), "https://%s:%u/", host, port);
	struct http_request r = {.method = HTTP_GET, .url = url};
	assert_int_equal(http_client_new(config, &client, NULL), 0);
	int rc = http_client_do(client, &r, &resp, NULL);
	http_client_free(client);
	return rc;
}

static void tls_is_verified_unless_told_otherwise(void **state)
{
	(void)state;
	char folder[] = "/tmp/ceems-http-XXXXXX", ca[64];
	assert_non_null(mkdtemp(folder));
	struct MHD_Daemon *d = tls_server(folder);
	snprintf(ca, sizeof(ca), "%s/cert", folder);
	if (d) {
		unsigned port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
		struct http_client_config c = {.connect_timeout_ms = 60000,
					       .timeout_ms = 60000};
		assert_int_equal(tls_get(&c, "127.0.0.1", port), -EKEYREJECTED);
		c.ca_file = ca;
		assert_int_equal(tls_get(&c, "127.0.0.1", port), 0);
		/* the certificate is of another name */
		assert_int_equal(tls_get(&c, "localhost", port), -EKEYREJECTED);
		c.ca_file = "/nonexistent";
		assert_int_equal(tls_get(&c, "127.0.0.1", port), -EKEYREJECTED);
		c.ca_file = NULL;
		c.insecure = true;
		assert_int_equal(tls_get(&c, "localhost", port), 0);
		MHD_stop_daemon(d);
	}
	scratch_remove(folder);
	if (!d)
		skip(); /* no openssl to make a certificate with */
}

static void names_of_urls_hold_no_secret(void **state)
{
	(void)state;
	static const struct {
		const char *url, *name;
	} cases[] = {
		{"https://h:8/a/b?x=planted#y", "https://h:8/a/b"},
		{"https://u:planted@h/a@b", "https://h/a@b"},
		{"https://u:pl@nted@h", "https://h"},
		{"https://h?u:p@planted", "https://h"},
		{"u:planted@h/a", "h/a"},
		{"http://h/\n\x1b[2J", "http://h/??[2J"},
		{"?a://planted", ""},
		{"", ""},
	};
	char name[64];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		http_url_name(cases[i].url, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
	}
	char small[8];
	http_url_name("https://host/path", small, sizeof(small));
	assert_string_equal(small, "https:/");
}

static void origins_are_compared_with_their_ports(void **state)
{
	(void)state;
	assert_true(http_url_same_origin("http://h/a", "http://H:80/b"));
	assert_true(http_url_same_origin("https://h:443/a", "https://h/"));
	assert_false(http_url_same_origin("http://h/a", "https://h/a"));
	assert_false(http_url_same_origin("https://h/a", "https://h:444/a"));
	assert_false(http_url_same_origin("https://h/a", "https://i/a"));
	assert_false(http_url_same_origin("https://h/a", "https://u:p@h/a"));
	assert_false(http_url_same_origin("https://h/a", "nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_has_status_headers_and_body),
		cmocka_unit_test(the_connection_is_kept),
		cmocka_unit_test(methods_and_bodies_do_not_stick),
		cmocka_unit_test(credentials_come_from_files_at_each_request),
		cmocka_unit_test(failures_name_the_url_without_its_secrets),
		cmocka_unit_test(redirects_are_followed_on_the_same_host_only),
		cmocka_unit_test(what_cannot_be_asked_is_refused),
		cmocka_unit_test(a_request_in_flight_can_be_stopped),
		cmocka_unit_test(tls_is_verified_unless_told_otherwise),
		cmocka_unit_test(names_of_urls_hold_no_secret),
		cmocka_unit_test(origins_are_compared_with_their_ports),
	};
	return cmocka_run_group_tests_name("http_client_test", tests, NULL, NULL);
}
