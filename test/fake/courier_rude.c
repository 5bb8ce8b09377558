/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for ceems-courier and misbehaves as its argument --how=... says, since
 * ceemsd must withstand the process that talks to other hosts. For faults only. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/records/child_msg.h"

#define LINK 3

static void send_snapshot(uint64_t value)
{
	static union {
		struct child_snapshot m;
		char bytes[sizeof(struct child_snapshot) +
			   sizeof(struct child_channel)];
	} u;

	memset(&u, 0, sizeof(u));
	child_msg_head(&u.m.head, CHILD_SNAPSHOT, "redfish", 1, sizeof(u));
	u.m.channels[0].kind = CHILD_POWER;
	u.m.channels[0].value = u.m.channels[0].raw = value;
	(void)snprintf(u.m.channels[0].name, sizeof(u.m.channels[0].name), "host");
	(void)send(LINK, &u, sizeof(u), MSG_NOSIGNAL);
}

static void wait_for_end(void)
{
	char c;
	(void)recv(LINK, &c, 1, 0);
}

int main(int argc, char *argv[])
{
	const char *how = "";
	char junk[CHILD_MESSAGE_MAX * 2];

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--how=", 6) == 0)
			how = argv[i] + 6;
	}
	if (strcmp(how, "dies") == 0)
		return 7;
	send_snapshot((uint64_t)getpid());
	if (strcmp(how, "crashes") == 0)
		raise(SIGKILL);
	if (strcmp(how, "nonsense") == 0) {
		memset(junk, 0x5a, sizeof(junk));
		(void)send(LINK, junk, 100, MSG_NOSIGNAL);
	}
	if (strcmp(how, "long") == 0) {
		memset(junk, 0, sizeof(junk));
		(void)send(LINK, junk, sizeof(junk), MSG_NOSIGNAL);
	}
	if (strcmp(how, "hangs") == 0) {
		for (;;)
			pause();
	}
	if (strcmp(how, "floods") == 0) {
		for (uint64_t i = 1; i < 100000; i++)
			send_snapshot(i);
	}
	wait_for_end();
	return 0;
}
