/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FD_PASS_H
#define CEEMS_LIB_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

/* Datagrams with descriptors between our own processes: SCM_RIGHTS of unix(7), over a
 * SOCK_SEQPACKET pair. */
#define FD_PASS_MAX 16u

/* One datagram with so many descriptors, which stay the caller's. 0 or negative errno;
 * flags as send(2). */
int fd_pass_send(int link, const void *data, size_t size, const int *fds,
		 unsigned count, int flags);
/* Its length; fds[FD_PASS_MAX] has *ret_count descriptors, which are the caller's now
 * and closed on exec. 0: the other end is closed. -EMSGSIZE: it is longer, or has more
 * descriptors; nothing of it is kept. flags as recv(2). */
ssize_t fd_pass_receive(int link, void *data, size_t size, int *fds,
			unsigned *ret_count, int flags);

/* A socket in which an open file lies as a message: who holds it can hand the file on,
 * or let go of it, without ever waiting for the server of the file. Closing the file
 * itself sends that server a request (FUSE_FLUSH in fs/fuse/file.c) and waits for the
 * answer, and so does the end of a process that has it open; a message that is never
 * received does not. fd stays the caller's. The socket, or negative errno. */
int fd_pass_shelve(int fd);
/* The file that lies in such a socket, and stays there: a descriptor of the caller's.
 * -ENOTSOCK: it is none; -EAGAIN: nothing lies in it. */
int fd_pass_take_from(int shelf);

#endif
