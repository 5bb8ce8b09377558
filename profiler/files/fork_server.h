/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_FORK_SERVER_H
#define CEEMS_PROFILER_FILES_FORK_SERVER_H

#include <sys/types.h>

#include "lib/err.h"

/* Children that may be lost: what users made is opened and read only in them. They are
 * forked by a process that was forked before the profiler had read or opened anything,
 * so that nothing of one user is in the memory of a child that looks at another's
 * files. */

enum { FORK_CHILDREN_MAX = 16 };

/* What a child does with its end of a socket (SOCK_SEQPACKET); it ends on return. */
typedef void fork_child(int socket, const void *arg);

struct fork_server {
	int control;
	pid_t pid;
};

/* To be called before threads, sockets and maps. mains is copied. 0 or negative errno.
 */
int fork_server_start(fork_child *const mains[], unsigned count, const void *arg,
		      struct fork_server *ret, struct err *err);
/* A new child: our end of its socket. -EAGAIN: FORK_CHILDREN_MAX, none of which has
 * ended, since a child that waits for a file server that hangs cannot be killed. */
int fork_server_spawn(struct fork_server *s, unsigned kind, pid_t *ret_pid);
/* Does not wait for it to end. */
void fork_server_kill(struct fork_server *s, pid_t pid);
/* The children are killed, too. Accepts one that was not started, zeroed. */
void fork_server_end(struct fork_server *s);

#endif
