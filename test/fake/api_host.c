/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays the API (or a Prometheus) with recorded answers, on loopback:
 *
 *	api_host FOLDER
 *
 * prints its port. "GET /api/v1/units/admin?x" is answered with FOLDER/units_admin, its
 * page after "cursor=C" with FOLDER/units_admin.C; a missing file is 404. The first
 * line of a file is the HTTP status. FOLDER/requests gets the head of each request. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

/* The file of "GET /api/v1/units/admin?from=1&cursor=b HTTP/1.1" */
static void file_of(const char *request, char *ret, size_t size)
{
	char target[4096] = "";
	const char *p = strchr(request, ' ');
	size_t n = p ? strcspn(p + 1, " \r\n") : 0;

	if (p && n < sizeof(target)) {
		memcpy(target, p + 1, n);
		target[n] = '\0';
	}
	char *query = strchr(target, '?'), *path = target;
	const char *cursor = query ? strstr(query, "cursor=") : NULL;
	if (query)
		*query = '\0';
	if (strncmp(path, "/api/v1/", 8) == 0)
		path += 8;
	while (*path == '/')
		path++;
	for (char *c = path; *c; c++)
		if (*c == '/')
			*c = '_';
	if (cursor)
		(void)snprintf(ret, size, "%s.%.*s", path,
			       (int)strcspn(cursor + 7, "&"), cursor + 7);
	else
		(void)snprintf(ret, size, "%s", path);
}

static void serve(int fd, const char *folder)
{
	char request[65536], name[4200], path[4600];
	auto_buf struct buf body = BUF_INIT, out = BUF_INIT;
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
	(void)snprintf(path, sizeof(path), "%s/requests", folder);
	auto_close int log =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log >= 0)
		(void)fs_write_all(log, request, n);
	(void)snprintf(path, sizeof(path), "%s/delay", folder);
	if (fs_read_at(AT_FDCWD, path, name, sizeof(name), NULL) > 0)
		(void)usleep((useconds_t)strtoul(name, NULL, 10) * 1000);
	file_of(request, name, sizeof(name));
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	const char *text = "{\"status\":\"error\",\"error\":\"no such thing\"}";
	int status = 404;
	if (fs_read_buf_at(AT_FDCWD, path, 32 << 20, &body, NULL) >= 0 && body.data) {
		status = (int)strtol(body.data, NULL, 10);
		text = body.data + strcspn(body.data, "\n");
	}
	buf_printf(&out,
		   "HTTP/1.1 %d Text\r\nContent-Type: application/json\r\n"
		   "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
		   status, strlen(text), text);
	(void)fs_write_all(fd, out.data, out.len);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 2 || s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(s, 64) < 0 || getsockname(s, (struct sockaddr *)&a, &len) < 0) {
		fprintf(stderr, "usage: api_host FOLDER\n");
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
