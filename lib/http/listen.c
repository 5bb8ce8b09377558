/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening sockets by address or from systemd, with errors that name the address. */
#include "lib/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd_store.h"
#include "lib/netaddr.h"
#include "lib/parse.h"

#define BACKLOG 128

int listen_split(const char *address, char *ret_host, size_t host_size, char *ret_port,
		 size_t port_size)
{
	const char *colon = strrchr(address, ':');
	uint32_t port;

	if (!colon || strlen(colon + 1) >= port_size ||
	    parse_u32(colon + 1, &port) < 0 || port > 65535)
		return -EINVAL;
	const char *host = address;
	size_t len = (size_t)(colon - address);
	if (len && host[0] == '[') {
		if (len < 3 || host[len - 1] != ']')
			return -EINVAL;
		host++;
		len -= 2;
	} else if (memchr(host, ':', len)) {
		return -EINVAL; /* an IPv6 address needs brackets */
	}
	if (len >= host_size)
		return -EINVAL;
	memcpy(ret_host, host, len);
	ret_host[len] = '\0';
	memcpy(ret_port, colon + 1, strlen(colon + 1) + 1);
	return 0;
}

static int listen_on(const struct sockaddr *sa, socklen_t len, bool v6_too)
{
	auto_close int fd =
		socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, v6only = !v6_too;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	if (sa->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) < 0)
		return -errno;
	if (bind(fd, sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* All addresses of the machine: one socket for both families, or IPv4 only if the
 * kernel has no IPv6. */
static int listen_any(uint16_t port)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = listen_on((struct sockaddr *)&v6, sizeof(v6), true);

	if (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)
		fd = listen_on((struct sockaddr *)&v4, sizeof(v4), false);
	return fd;
}

/* Splits an address into host and port. */
static int split_listen_address(const char *address, char ret_host[256],
				char ret_port[8], uint32_t *ret_number, struct err *err)
{
	if (listen_split(address, ret_host, 256, ret_port, 8) == 0 &&
	    parse_u32(ret_port, ret_number) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "listen on %s: not HOST:PORT, :PORT or [IPV6]:PORT", address);
}

int listen_check(const char *const *addresses, size_t count, struct err *err)
{
	char host[256], port[8];
	uint32_t number;
	int rc = count ? 0 : err_set(err, -EINVAL, "web.listen-address: none given");

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = split_listen_address(addresses[i], host, port, &number, err);
	return rc;
}

int listen_open(const char *address, struct err *err)
{
	char host[256], port[8];
	uint32_t number = 0;
	int rc = split_listen_address(address, host, port, &number, err), fd;

	if (rc < 0)
		return rc;
	if (!*host) {
		fd = listen_any((uint16_t)number);
	} else {
		struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
		struct addrinfo *list = NULL;
		rc = getaddrinfo(host, port, &hints, &list);
		if (rc != 0)
			return err_set(err, -EADDRNOTAVAIL, "listen on %s: %s", address,
				       gai_strerror(rc));
		fd = listen_on(list->ai_addr, list->ai_addrlen, false);
		freeaddrinfo(list);
	}
	if (fd < 0)
		return err_set(err, fd, "listen on %s: %s%s", address, strerror(-fd),
			       fd == -EADDRINUSE ? ": stop the program that has this "
						   "port, or give another one by "
						   "--web.listen-address"
						 : "");
	return fd;
}

static int check_systemd_fd(int fd, struct err *err)
{
	int listening = 0;
	socklen_t len = sizeof(listening);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 ||
	    !listening)
		return err_set(err, -EINVAL,
			       "systemd socket %d: not a listening stream socket", fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) {
		int rc = -errno;
		return err_set(err, rc, "systemd socket %d: %s", fd, strerror(-rc));
	}
	return 0;
}

int listen_take_systemd(int *ret_fds, size_t max, struct err *err)
{
	const int end = FD_STORE_FIRST + (int)fd_store_passed();
	uint32_t n = 0, taken = 0;

	for (int fd = FD_STORE_FIRST; fd < end; fd++)
		n += !fd_store_is_stored(fd);
	if (!n)
		return err_set(err, -ENOENT,
			       "web.systemd-socket: systemd passed no socket (start "
			       "through a .socket unit)");
	if (n > max)
		return err_set(err, -E2BIG,
			       "web.systemd-socket: %u sockets, at most %zu are taken",
			       n, max);
	for (int fd = FD_STORE_FIRST; fd < end; fd++) {
		if (fd_store_is_stored(fd))
			continue;
		int rc = check_systemd_fd(fd, err);
		if (rc < 0)
			return rc;
		ret_fds[taken++] = fd;
	}
	return (int)n;
}

bool listen_is_local(int fd)
{
	struct sockaddr_storage ss = {0};
	struct netaddr a;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return false;
	if (ss.ss_family == AF_UNIX)
		return true;
	return netaddr_from((struct sockaddr *)&ss, &a) == 0 && netaddr_is_loopback(&a);
}

unsigned listen_port(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	if (ss.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)(void *)&ss)->sin_port);
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)(void *)&ss)->sin6_port);
	return 0;
}

void listen_files(uint64_t wanted)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= wanted)
		return;
	l.rlim_cur = l.rlim_max < wanted ? l.rlim_max : wanted;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}
