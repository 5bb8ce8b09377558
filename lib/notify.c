/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of libsystemd that a daemon needs. */
#include "lib/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/cleanup.h"

int notify_send(const char *state)
{
	return notify_send_fd(state, -1);
}

int notify_send_fd(const char *state, int passed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
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
	struct iovec part = {.iov_base = (void *)(uintptr_t)state,
			     .iov_len = strlen(state)};
	struct msghdr m = {
		.msg_name = &a, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
	if (passed >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &passed, sizeof(int));
	}
	if (sendmsg(fd, &m, MSG_NOSIGNAL) != (ssize_t)part.iov_len)
		return -errno;
	return 1;
}
