/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the opener handed over, in systemd's store (lib/fd_store.h): each part's message
 * in a file in memory, and its descriptors. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/groups/opener_link.h"
#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fd_store.h"

#define MESSAGE (-1)

/* Begins with all on which the layout depends: what was kept by another build, or asked
 * for with other options, has another name. Of one part, or (part OPENER_PARTS) of all.
 */
static const char *kept_name(const struct opener_request *r, unsigned part, int fd,
			     char ret[FD_STORE_NAME_MAX])
{
	size_t n = (size_t)snprintf(
		ret, FD_STORE_NAME_MAX,
		FD_STORE_PREFIX "opener-%u-%u-%d%d%d%d%d%d-%x-%x-", OPENER_VERSION,
		r->slots, r->io, r->io_latency, r->network, r->network_calls,
		r->no_loopback, r->perf, r->hardware,
		r->raw_events ? crc32c(0, r->raw_events, strlen(r->raw_events)) : 0);

	if (part < OPENER_PARTS && fd == MESSAGE)
		(void)snprintf(ret + n, FD_STORE_NAME_MAX - n, "%u-message", part);
	else if (part < OPENER_PARTS)
		(void)snprintf(ret + n, FD_STORE_NAME_MAX - n, "%u-%d", part, fd);
	return ret;
}

void opener_keep(const struct opener_request *r,
		 const struct opened_part parts[OPENER_PARTS])
{
	char name[FD_STORE_NAME_MAX];

	for (unsigned i = 0; i < OPENER_PARTS; i++) {
		const struct opened_part *p = &parts[i];
		struct opener_message m = {.magic = OPENER_MAGIC,
					   .version = OPENER_VERSION,
					   .part = i,
					   .rc = p->rc,
					   .fds = p->fd_count,
					   .count = p->count};
		memcpy(m.detail, p->detail, sizeof(m.detail));
		memcpy(m.text, p->text, sizeof(m.text));
		auto_close int file = memfd_create("ceems-opener", MFD_CLOEXEC);
		if (file < 0 || write(file, &m, sizeof(m)) != (ssize_t)sizeof(m))
			return;
		/* the message last: what has one is complete */
		for (uint32_t n = 0; n < p->fd_count; n++) {
			if (fd_store_put(kept_name(r, i, (int)n, name), p->fds[n]) <= 0)
				return;
		}
		if (fd_store_put(kept_name(r, i, MESSAGE, name), file) <= 0)
			return;
	}
}

static bool restore_part(const struct opener_request *r, unsigned i,
			 struct opened_part *p)
{
	char name[FD_STORE_NAME_MAX];
	struct opener_message m;
	auto_close int file = fd_store_take(kept_name(r, i, MESSAGE, name));

	if (file < 0 || pread(file, &m, sizeof(m), 0) != (ssize_t)sizeof(m) ||
	    !opener_message_good(&m, m.fds) || m.part != i)
		return false;
	*p = (struct opened_part){.rc = m.rc, .kept = true, .count = m.count};
	memcpy(p->detail, m.detail, sizeof(p->detail));
	memcpy(p->text, m.text, sizeof(p->text));
	for (; p->fd_count < m.fds; p->fd_count++) {
		int fd = fd_store_take(kept_name(r, i, (int)p->fd_count, name));
		if (fd < 0)
			return false;
		p->fds[p->fd_count] = fd;
	}
	return true;
}

bool opener_restore(const struct opener_request *r,
		    struct opened_part parts[OPENER_PARTS])
{
	char name[FD_STORE_NAME_MAX];
	bool good = true;

	for (unsigned i = 0; i < OPENER_PARTS; i++)
		parts[i] = (struct opened_part){.rc = -ENODATA};
	for (unsigned i = 0; i < OPENER_PARTS && good; i++)
		good = restore_part(r, i, &parts[i]);
	good = good && parts[OPENER_GROUPS].rc == 0;
	fd_store_drop(good ? kept_name(r, OPENER_PARTS, 0, name) : NULL);
	return good;
}

void opener_forget(void)
{
	fd_store_drop(NULL);
}
