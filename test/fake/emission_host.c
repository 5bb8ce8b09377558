/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays the providers of emission factors, each below a path of its own, on loopback:
 *
 *	emission_host FOLDER
 *
 * prints its port. FOLDER/mode says how it answers: good, 500, 404, 401, 429, redirect,
 * html, half, unit, zero, empty or hang. FOLDER/requests gets each request's head. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/rfc3339.h"

struct reply {
	unsigned status;
	const char *headers;
	struct buf body;
};

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void good(const char *mode, const char *request, struct reply *r)
{
	struct buf *b = &r->body;
	char now[RFC3339_BYTES];
	/* a few minutes ago, as providers are */
	rfc3339_print((uint64_t)time(NULL) - 300, now);
	bool unit = strcmp(mode, "unit") == 0, empty = strcmp(mode, "empty") == 0;
	const char *value = strcmp(mode, "zero") == 0 ? "-3" : "302";

	if (begins(request, "GET /rte/") && unit)
		buf_printf(b,
			   "{\"results\":[{\"taux_co2\":\"23 "
			   "kg\",\"date_heure\":\"%s\"}]}",
			   now);
	else if (begins(request, "GET /rte/"))
		buf_printf(b,
			   empty ? "{\"results\":[]}"
				 : "{\"results\":[{\"taux_co2\":%s,\"date_heure\":"
				   "\"%s\"}]}",
			   value, now);
	else if (begins(request, "GET /emaps/zones"))
		buf_puts(b, empty ? "{}" : "{\"DE\":{\"zoneName\":\"Germany\"}}");
	else if (begins(request, "GET /emaps/"))
		buf_printf(
			b,
			"{\"zone\":\"DE\",\"carbonIntensity\":%s,\"datetime\":\"%s\"}",
			unit ? "302000" : value, now);
	else if (begins(request, "GET /wt/login"))
		buf_puts(b, "{\"token\":\"pl4nted-token\"}");
	else if (begins(request, "GET /wt/"))
		buf_printf(b,
			   "{\"data\":[%s%s%s%s%s],\"meta\":{\"region\":"
			   "\"CAISO_NORTH\",\"signal_type\":\"co2_moer\",\"units\":"
			   "\"%s\"}}",
			   empty ? "" : "{\"point_time\":\"", empty ? "" : now,
			   empty ? "" : "\",\"value\":", empty ? "" : value,
			   empty ? "" : "}", unit ? "tons_per_day" : "lbs_co2_per_mwh");
	else if (begins(request, "GET /file"))
		buf_printf(b, empty ? "# later\n" : "%s,FR,%s%s,France\n", now, value,
			   unit ? " kg" : "");
	else
		r->status = 404;
}

/* Half of what would have been right; the length says so: the JSON itself is cut. */
static void halve(struct reply *r)
{
	buf_truncate(&r->body, r->body.len / 2);
}

static void answer(const char *mode, const char *request, struct reply *r)
{
	static const struct {
		const char *mode;
		unsigned status;
		const char *headers, *body;
	} fixed[] = {
		{"500", 500, "", "oops"},
		{"404", 404, "", ""},
		{"401", 401, "", ""},
		{"429", 429, "Retry-After: 1000\r\n", ""},
		{"redirect", 302, "Location: http://127.0.0.2:9/\r\n", ""},
		{"html", 200, "Content-Type: text/html\r\n", "<html>log in</html>"},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (strcmp(mode, fixed[i].mode) == 0) {
			r->status = fixed[i].status;
			r->headers = fixed[i].headers;
			buf_puts(&r->body, fixed[i].body);
			return;
		}
	}
	good(mode, request, r);
	if (strcmp(mode, "half") == 0)
		halve(r);
}

static void read_mode(const char *folder, char *mode, size_t size)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/mode", folder);
	if (fs_read_at(AT_FDCWD, path, mode, size, NULL) < 0)
		(void)snprintf(mode, size, "good");
	mode[strcspn(mode, "\n")] = '\0';
}

static void note(const char *folder, const char *request)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/requests", folder);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)fs_write_all(fd, request, strlen(request));
}

static void serve(int fd, const char *folder)
{
	char request[8192], mode[32];
	size_t n = 0;

	for (;;) {
		ssize_t got = read(fd, request + n, sizeof(request) - 1 - n);
		if (got <= 0)
			return;
		n += (size_t)got;
		request[n] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	note(folder, request);
	read_mode(folder, mode, sizeof(mode));
	if (strcmp(mode, "hang") == 0) {
		sleep(600);
		return;
	}
	struct reply r = {.status = 200, .headers = ""};
	auto_buf struct buf out = BUF_INIT;
	answer(mode, request, &r);
	buf_printf(&out,
		   "HTTP/1.1 %u Text\r\n%sConnection: close\r\nContent-Length: "
		   "%zu\r\n\r\n",
		   r.status, r.headers, r.body.len);
	buf_put(&out, r.body.data ? r.body.data : "", r.body.len);
	(void)fs_write_all(fd, out.data, out.len);
	buf_done(&r.body);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 2 || s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(s, 64) < 0 || getsockname(s, (struct sockaddr *)&a, &len) < 0) {
		fprintf(stderr, "usage: emission_host FOLDER\n");
		return 1;
	}
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	printf("%u\n", ntohs(a.sin_port));
	(void)fflush(stdout);
	for (;;) {
		int fd = accept(s, NULL, NULL);
		if (fd < 0)
			continue;
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(fd, argv[1]);
			_exit(0);
		}
		close(fd);
	}
}
