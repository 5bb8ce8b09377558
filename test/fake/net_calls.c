/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net_calls FILE: sends and receives over a TCP connection and a pair of UDP sockets of
 * its own, over the loopback device, by each system call that there is for it and by
 * io_uring, and prints what these moved: TCP bytes sent and received, UDP bytes and
 * packets sent, UDP bytes and packets received. FILE has at least 5000 bytes. With
 * "splice" after it, it only splices from a TCP socket, 1000 bytes; with "tls" it only
 * sends and receives over a TCP connection that the kernel encrypts and decrypts. Exit
 * status 77: it does not (there is no module tls, or no cipher). */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "test/fake/uring.h"

#define MESSAGES 5u

static char bytes[8192];
static unsigned long long tcp_out, tcp_in, udp_out, udp_out_packets, udp_in,
	udp_in_packets;

static void check_call(long rc, const char *what)
{
	if (rc < 0)
		err(1, "%s", what);
}

static void pair_up(int type, int ret[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int first = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	ret[0] = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	check_call(bind(first, (struct sockaddr *)&at, sizeof(at)), "bind");
	check_call(getsockname(first, (struct sockaddr *)&at, &size), "getsockname");
	if (type == SOCK_STREAM)
		check_call(listen(first, 1), "listen");
	check_call(connect(ret[0], (struct sockaddr *)&at, sizeof(at)), "connect");
	ret[1] = type == SOCK_STREAM ? accept4(first, NULL, NULL, SOCK_CLOEXEC) : first;
	check_call(ret[1], "accept");
}

static void add_sent(long n)
{
	check_call(n, "send");
	tcp_out += (unsigned long long)n;
}

static void receive_all(int fd)
{
	while (tcp_in < tcp_out) {
		long n = recv(fd, bytes, sizeof(bytes), 0);
		check_call(n, "recv");
		tcp_in += (unsigned long long)n;
	}
}

static void send_each_way(int fd, const char *path)
{
	struct iovec parts[] = {{bytes, 10}, {bytes + 10, 23}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	int file = open(path, O_RDONLY | O_CLOEXEC), pipes[2];

	check_call(file, path);
	check_call(pipe2(pipes, O_CLOEXEC), "pipe");
	add_sent(write(fd, bytes, 101));
	add_sent(writev(fd, parts, 2));
	add_sent(pwritev2(fd, parts, 2, -1, 0));
	add_sent(send(fd, bytes, 1000, 0));
	add_sent(sendmsg(fd, &m, 0));
	add_sent(sendfile(fd, file, NULL, 5000));
	check_call(splice(file, &(loff_t){0}, pipes[1], NULL, 700, 0), "splice");
	add_sent(splice(pipes[0], NULL, fd, NULL, 700, 0));
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

static void add_received(long n)
{
	check_call(n, "receive");
	tcp_in += (unsigned long long)n;
}

static void receive_each_way(int from, int fd)
{
	struct iovec parts[] = {{bytes, 10}, {bytes + 10, 23}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

	add_sent(send(from, bytes, 400, 0));
	check_call(recv(fd, bytes, 400, MSG_PEEK | MSG_WAITALL), "peek");
	check_call(recvmsg(fd, &m, MSG_PEEK), "peek");
	add_received(read(fd, bytes, 17));
	add_received(readv(fd, parts, 2));
	add_received(preadv2(fd, parts, 2, -1, 0));
	add_received(recv(fd, bytes, 40, 0));
	add_received(recvmsg(fd, &m, 0));
	receive_all(fd);
}

static void exchange_datagrams(const int fds[2])
{
	struct iovec part[MESSAGES];
	struct mmsghdr m[MESSAGES] = {0};

	for (unsigned i = 0; i < MESSAGES; i++) {
		part[i] = (struct iovec){bytes, 100 + i};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &part[i], .msg_iovlen = 1};
		udp_out += 100 + i;
	}
	check_call(sendmmsg(fds[0], m, MESSAGES, 0) == MESSAGES ? 0 : -1, "sendmmsg");
	check_call(recvmmsg(fds[1], m, 2, MSG_PEEK, NULL) == 2 ? 0 : -1, "peek");
	check_call(recvmmsg(fds[1], m, MESSAGES, 0, NULL) == MESSAGES ? 0 : -1,
		   "recvmmsg");
	udp_in = udp_out;
	udp_out_packets = udp_in_packets = MESSAGES;
	/* an empty one is one, too */
	check_call(send(fds[0], bytes, 0, 0), "send");
	check_call(recv(fds[1], bytes, 1, 0), "recv");
	udp_out_packets++;
	udp_in_packets++;
}

/* Without io_uring there is nothing to count. */
static void exchange_by_uring(const int fds[2])
{
	struct uring r;
	struct msghdr m = {.msg_iov = &(struct iovec){bytes, 30}, .msg_iovlen = 1};
	struct io_uring_sqe out = {.fd = fds[0], .addr = (uintptr_t)bytes, .len = 300};
	struct io_uring_sqe in = {.fd = fds[1], .addr = (uintptr_t)bytes, .len = 300};

	if (!uring_open(&r))
		return;
	out.opcode = IORING_OP_SEND;
	add_sent(uring_do(&r, &out));
	in.opcode = IORING_OP_RECV;
	in.msg_flags = MSG_PEEK;
	check_call(uring_do(&r, &in), "peek");
	in.msg_flags = 0;
	add_received(uring_do(&r, &in));
	out.opcode = IORING_OP_WRITE;
	add_sent(uring_do(&r, &out));
	in.opcode = IORING_OP_READ;
	add_received(uring_do(&r, &in));
	out.opcode = IORING_OP_SENDMSG;
	out.addr = in.addr = (uintptr_t)&m;
	out.len = in.len = 1;
	add_sent(uring_do(&r, &out));
	in.opcode = IORING_OP_RECVMSG;
	add_received(uring_do(&r, &in));
	receive_all(fds[1]);
}

/* One key for both ends, known to all: nothing here is secret. */
static void turn_tls_on(int fd, int direction)
{
	struct tls12_crypto_info_aes_gcm_128 key = {
		.info = {.version = TLS_1_2_VERSION,
			 .cipher_type = TLS_CIPHER_AES_GCM_128},
		.key = "0123456789abcde",
		.salt = "abc",
		.iv = "1234567"};

	if (setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls")))
		err(77, "TCP_ULP tls");
	if (setsockopt(fd, SOL_TLS, direction, &key, sizeof(key)))
		err(77, "AES-128-GCM for TLS");
}

/* A call may make a part of a record, or more than one. */
static void exchange_by_tls(const int fds[2], const char *path)
{
	turn_tls_on(fds[0], TLS_TX);
	turn_tls_on(fds[1], TLS_RX);
	send_each_way(fds[0], path);
	for (unsigned i = 0; i < 10; i++)
		add_sent(send(fds[0], bytes, sizeof(bytes), i < 9 ? MSG_MORE : 0));
	check_call(recv(fds[1], bytes, 400, MSG_PEEK), "peek");
	add_received(read(fds[1], bytes, 17));
	receive_all(fds[1]);
}

int main(int argc, char *argv[])
{
	int tcp[2], udp[2], pipes[2];

	if (argc < 2)
		return 2;
	pair_up(SOCK_STREAM, tcp);
	pair_up(SOCK_DGRAM, udp);
	if (argc > 2 && !strcmp(argv[2], "tls")) {
		exchange_by_tls(tcp, argv[1]);
	} else if (argc > 2) {
		check_call(pipe2(pipes, O_CLOEXEC), "pipe");
		add_sent(send(tcp[0], bytes, 1000, 0));
		add_received(splice(tcp[1], NULL, pipes[1], NULL, 1000, 0));
	} else {
		send_each_way(tcp[0], argv[1]);
		receive_all(tcp[1]);
		receive_each_way(tcp[0], tcp[1]);
		exchange_datagrams(udp);
		exchange_by_uring(tcp);
	}
	printf("%llu %llu %llu %llu %llu %llu\n", tcp_out, tcp_in, udp_out,
	       udp_out_packets, udp_in, udp_in_packets);
	return 0;
}
