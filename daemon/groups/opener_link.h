/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_OPENER_LINK_H
#define CEEMS_DAEMON_GROUPS_OPENER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/opener_message.h"

/* What one part came with; the fds are owned until their taker has them. */
struct opened_part {
	int rc;                   /* -ENODATA: not asked for, or it ended before that */
	uint32_t fd_count, count; /* fd_count: 0 unless rc is 0 */
	uint32_t detail[OPENER_DETAILS];
	bool kept; /* by systemd, since an earlier ceemsd */
	int fds[OPENER_FDS_MAX];
	char text[OPENER_TEXT_BYTES]; /* why not */
};

struct opener_request {
	const char *path; /* of ceems-opener */
	const char *cgroupfs, *procfs;
	uint32_t slots;
	bool io_latency;        /* with io */
	bool io, network, perf; /* also OPENER_IO, OPENER_NETWORK, OPENER_PERF */
	bool network_calls;     /* with network: by system calls in any case */
	bool no_loopback;       /* with network */
	uint32_t hardware;      /* with perf: mask, also OPENER_HARDWARE */
	const char *raw_events; /* the same, of hardware_raws_put() */
};

/* Starts ceems-opener, waits at most OPENER_MS for what it hands over, and for its end.
 * Before privileges_limit(), after which nothing that is started has capabilities.
 * -ENOENT: there is no such program; -ETIMEDOUT; -EPIPE: it handed over nothing;
 * -EPROTO: it is of another build. What the kernel refuses is in its part's rc. */
#define OPENER_MS 30000u
#define OPENER_RESTARTS_MAX 2u
/* *ret_restarts: how often it was killed and started again, OPENER_RESTARTS_MAX at
 * most. */
int opener_take(const struct opener_request *request,
		struct opened_part parts[OPENER_PARTS], uint32_t *ret_restarts,
		struct err *err);
/* Whether a message is one of ours with so many descriptors */
bool opener_message_good(const struct opener_message *m, uint32_t fds);

/* Over a restart, also after kill -9: systemd keeps what was handed over, and the
 * programs go on. Does nothing where ceemsd is not run by systemd. opener_take() calls
 * both. */
void opener_keep(const struct opener_request *request,
		 const struct opened_part parts[OPENER_PARTS]);
/* Takes over what an earlier ceemsd of this build kept that had asked for the same.
 * False: there is nothing, and what there was of another is forgotten. */
bool opener_restore(const struct opener_request *request,
		    struct opened_part parts[OPENER_PARTS]);
/* When nothing is asked for */
void opener_forget(void);

/* Closes the fds of parts that nobody took. */
void opened_parts_close(struct opened_part parts[OPENER_PARTS]);
/* Moves a part's fds, so many, to its taker; or its rc, with the reason. */
int opened_part_take(struct opened_part *part, int *ret_fds, uint32_t count,
		     struct err *err);

#endif
