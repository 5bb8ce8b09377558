/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_H
#define CEEMS_DAEMON_SOURCES_IPMI_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "lib/err.h"

/*
 * Messages to this machine's BMC through the kernel's driver.
 * Source: linux/ipmi.h, kernel Documentation/driver-api/ipmi.rst; IPMI 2.0
 * specification, table 5-2 (completion codes).
 */

#define IPMI_REPLY_MAX 272u /* IPMI_MAX_MSG_LENGTH */
/* Enough for a BMC that takes 3 s for each reply. */
#define IPMI_DEADLINE_MS 5000u

/* System calls that a fixture cannot imitate. All return negative errno on failure. */
struct ipmi_ops {
	int (*open)(int devfd, const char *path); /* fd */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	int (*poll)(int fd, int timeout_ms); /* 1: something came; 0: nothing */
	void (*close)(int fd);
};

/* An open device. Not thread safe. */
struct ipmi {
	const struct ipmi_ops *ops;
	uint64_t (*now_ns)(void);
	int fd; /* -1: closed */
	long next_id;
	uint64_t late; /* replies to earlier messages, dropped */
	char path[24];
};

struct ipmi_request {
	uint8_t netfn, cmd;
	uint8_t data[16];
	uint8_t len;
};

struct ipmi_reply {
	uint8_t data[IPMI_REPLY_MAX]; /* the completion code is data[0] */
	size_t len;                   /* at least 1 */
};

/* Opens device number dev_num below env->devfd (ipmiN, ipmi/N, ipmidev/N). -ENODEV:
 * there is none; -EACCES and other: it cannot be opened. Sends nothing. */
int ipmi_open(const struct env *env, unsigned dev_num, struct ipmi *ret,
	      struct err *err);
void ipmi_close(struct ipmi *dev); /* closed or zeroed ones too */

/* Sends one message to the BMC and waits for its reply; messages with another id or of
 * another command are dropped. -ETIMEDOUT after deadline_ms; -ENODEV: the device is
 * gone; others: from the driver. The caller checks the completion code. */
int ipmi_ask(struct ipmi *dev, const struct ipmi_request *req, uint32_t deadline_ms,
	     struct ipmi_reply *ret, struct err *err);

/* Maps a completion code: 0, or an error with a text: -EOPNOTSUPP (c1, c2: not
 * supported here), -ETIMEDOUT (c3), -EBUSY (c0, d5), -EACCES (d4), else -EIO. */
int ipmi_completion(uint8_t code, struct err *err);

#endif
