/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/notify.h"
#include "lib/parse.h"

#define PASSED_MAX 1024u

uint32_t fd_store_passed(void)
{
	const char *pid_text = getenv("LISTEN_PID"), *n_text = getenv("LISTEN_FDS");
	uint32_t pid, n;

	if (!pid_text || !n_text || parse_u32(pid_text, &pid) < 0 ||
	    parse_u32(n_text, &n) < 0 || pid != (uint32_t)getpid() || n > PASSED_MAX)
		return 0;
	return n;
}

/* Name i of LISTEN_FDNAMES ("a:b:c"); empty: it has none, or a longer one. */
static void copy_stored_name(uint32_t i, char ret[FD_STORE_NAME_MAX])
{
	const char *p = getenv("LISTEN_FDNAMES");

	ret[0] = '\0';
	while (p && i--) {
		p = strchr(p, ':');
		p = p ? p + 1 : NULL;
	}
	size_t len = p ? strcspn(p, ":") : 0;
	if (len >= FD_STORE_NAME_MAX)
		return;
	if (len)
		memcpy(ret, p, len);
	ret[len] = '\0';
}

static bool name_begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool fd_store_is_stored(int fd)
{
	char name[FD_STORE_NAME_MAX];

	if (fd < FD_STORE_FIRST)
		return false;
	copy_stored_name((uint32_t)(fd - FD_STORE_FIRST), name);
	return name_begins(name, FD_STORE_PREFIX);
}

int fd_store_put(const char *name, int fd)
{
	char state[FD_STORE_NAME_MAX + 64];

	/* systemd would close what it cannot poll, as the maps of kernel programs */
	(void)snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	return notify_send_fd(state, fd);
}

int fd_store_take(const char *name)
{
	char has[FD_STORE_NAME_MAX];
	uint32_t n = fd_store_passed();

	for (uint32_t i = 0; i < n; i++) {
		int fd = FD_STORE_FIRST + (int)i;
		copy_stored_name(i, has);
		if (strcmp(has, name) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
			return fd;
	}
	return -ENOENT;
}

void fd_store_drop(const char *but)
{
	char name[FD_STORE_NAME_MAX], state[FD_STORE_NAME_MAX + 64];
	uint32_t n = fd_store_passed();

	for (uint32_t i = 0; i < n; i++) {
		copy_stored_name(i, name);
		if (!name_begins(name, FD_STORE_PREFIX) ||
		    (but && name_begins(name, but)))
			continue;
		(void)close(FD_STORE_FIRST + (int)i);
		(void)snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s",
			       name);
		(void)notify_send(state);
	}
}
