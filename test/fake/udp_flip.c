/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A faulty connection, for IPMI over LAN: passes datagrams between one client and
 * 127.0.0.1:PORT and, while FILE exists, changes the last byte of each long answer,
 * which is its checksum. Prints the port that it listens on.
 *
 *	udp_flip PORT FILE
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/parse.h"

#define LONG 40 /* more than what opens a session without data */

static int open_socket(struct sockaddr_in *addr,
		       int (*use)(int, const struct sockaddr *, socklen_t))
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || use(fd, (struct sockaddr *)addr, sizeof(*addr)) < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in there = here, client;
	socklen_t len = sizeof(here);
	uint32_t port;

	if (argc != 3 || parse_u32(argv[1], &port) < 0)
		return 2;
	there.sin_port = htons((uint16_t)port);
	int front = open_socket(&here, bind), back = open_socket(&there, connect);
	if (front < 0 || back < 0 ||
	    getsockname(front, (struct sockaddr *)&here, &len) < 0)
		return 1;
	printf("%u\n", ntohs(here.sin_port));
	fflush(stdout);
	struct pollfd p[2] = {{.fd = front, .events = POLLIN},
			      {.fd = back, .events = POLLIN}};
	client = here;
	while (poll(p, 2, -1) > 0) {
		unsigned char data[4096];
		ssize_t n;
		len = sizeof(client);
		if (p[0].revents &&
		    (n = recvfrom(front, data, sizeof(data), 0,
				  (struct sockaddr *)&client, &len)) > 0)
			(void)!send(back, data, (size_t)n, 0);
		if (p[1].revents && (n = recv(back, data, sizeof(data), 0)) > 0) {
			if (n > LONG && access(argv[2], F_OK) == 0)
				data[n - 1] ^= 0x55;
			(void)!sendto(front, data, (size_t)n, 0,
				      (struct sockaddr *)&client, len);
		}
	}
	return 1;
}
