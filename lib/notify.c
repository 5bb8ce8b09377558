/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of libsystemd that a daemon needs. */
#include "lib/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/cleanup.h"

int notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (!path || !*path)
		return 0;
	size_t len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, path, len);
	if (path[0] == '@')
		a.sun_path[0] = '\0'; /* Linux' abstract namespace */
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	size_t n = strlen(state);
	if (sendto(fd, state, n, MSG_NOSIGNAL, (struct sockaddr *)&a, size) !=
	    (ssize_t)n)
		return -errno;
	return 1;
}
