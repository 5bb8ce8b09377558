/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_IPMI_FAKE_H
#define CEEMS_TEST_IPMI_FAKE_H

#include <errno.h>
#include <linux/ipmi.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "daemon/sources/ipmi.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

/* The kernel's IPMI driver with a BMC behind it that does what a test wants. Time goes
 * on while somebody polls, and only then. */

struct fake_message {
	uint64_t at_ns; /* when it comes */
	int type;
	long id;
	uint8_t netfn, cmd, data[300];
	size_t len;
};

static struct fake_bmc {
	uint64_t *clock_ns;
	bool absent;      /* no device file */
	int open_rc;      /* -EACCES ... */
	bool gone;        /* the driver was unloaded */
	uint64_t slow_ms; /* of each reply */
	bool mute;
	/* fills reply->data and len for a request; NULL: power_reply() */
	void (*answer)(const struct fake_message *request, struct fake_message *reply);

	struct fake_message queue[80];
	size_t queued;
	unsigned opened, closed, sent, events;
	struct fake_message last; /* request */
	char path[32];
} bmc;

/* A power reading as BMCs give it: 312 W, 280 to 400, 300 on average */
static const uint8_t good_power[19] = {0x00, 0xdc, 0x38, 0x01, 0x18, 0x01, 0x90,
				       0x01, 0x2c, 0x01, 0x00, 0x2f, 0x5c, 0x67,
				       0xe8, 0x03, 0x00, 0x00, 0x40};

static inline void fake_reset(uint64_t *clock_ns)
{
	bmc = (struct fake_bmc){.clock_ns = clock_ns};
}

/* What the driver hands out next, in the order of coming */
static inline void fake_push(const struct fake_message *m)
{
	if (bmc.queued < sizeof(bmc.queue) / sizeof(bmc.queue[0]))
		bmc.queue[bmc.queued++] = *m;
}

static inline struct fake_message fake_reply_to(const struct fake_message *request,
						const void *data, size_t len)
{
	struct fake_message m = {.at_ns = *bmc.clock_ns + bmc.slow_ms * NSEC_PER_MSEC,
				 .type = IPMI_RESPONSE_RECV_TYPE,
				 .id = request->id,
				 .netfn = (uint8_t)(request->netfn | 1),
				 .cmd = request->cmd,
				 .len = len};
	memcpy(m.data, data, len);
	return m;
}

static int fake_open(int devfd, const char *path)
{
	(void)devfd;
	if (bmc.absent || (bmc.path[0] && strcmp(bmc.path, path) != 0))
		return -ENOENT;
	if (bmc.open_rc || bmc.gone)
		return bmc.gone ? -ENOENT : bmc.open_rc;
	bmc.opened++;
	return 100;
}

static int fake_send(const struct ipmi_req *r)
{
	const struct ipmi_system_interface_addr *a = (const void *)r->addr;
	struct fake_message reply = {0};

	assert_int_equal(r->addr_len, sizeof(*a));
	assert_int_equal(a->addr_type, IPMI_SYSTEM_INTERFACE_ADDR_TYPE);
	assert_int_equal(a->channel, IPMI_BMC_CHANNEL);
	assert_int_equal(a->lun, 0);
	bmc.sent++;
	bmc.last = (struct fake_message){.id = r->msgid,
					 .netfn = r->msg.netfn,
					 .cmd = r->msg.cmd,
					 .len = r->msg.data_len};
	assert_true(r->msg.data_len <= 16);
	memcpy(bmc.last.data, r->msg.data, r->msg.data_len);
	if (bmc.mute)
		return 0;
	if (bmc.answer)
		bmc.answer(&bmc.last, &reply);
	else
		reply = fake_reply_to(&bmc.last, good_power, sizeof(good_power));
	if (reply.type)
		fake_push(&reply);
	return 0;
}

static int fake_receive(struct ipmi_recv *r)
{
	if (!bmc.queued || bmc.queue[0].at_ns > *bmc.clock_ns)
		return -EAGAIN;
	struct fake_message m = bmc.queue[0];
	bmc.queued--;
	memmove(&bmc.queue[0], &bmc.queue[1], bmc.queued * sizeof(m));
	size_t room = r->msg.data_len;
	r->recv_type = m.type;
	r->msgid = m.id;
	r->msg.netfn = m.netfn;
	r->msg.cmd = m.cmd;
	r->msg.data_len = (unsigned short)(m.len < room ? m.len : room);
	memcpy(r->msg.data, m.data, r->msg.data_len);
	return m.len > room ? -EMSGSIZE : 0;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	assert_int_equal(fd, 100);
	if (bmc.gone)
		return -ENODEV;
	if (request == IPMICTL_SEND_COMMAND)
		return fake_send(arg);
	if (request == IPMICTL_RECEIVE_MSG_TRUNC)
		return fake_receive(arg);
	bmc.events += request == IPMICTL_SET_GETS_EVENTS_CMD;
	return -ENOTTY;
}

static int fake_poll(int fd, int timeout_ms)
{
	uint64_t until = *bmc.clock_ns + (uint64_t)timeout_ms * NSEC_PER_MSEC;

	assert_int_equal(fd, 100);
	assert_true(timeout_ms >= 0);
	if (bmc.queued && bmc.queue[0].at_ns <= until) {
		if (bmc.queue[0].at_ns > *bmc.clock_ns)
			*bmc.clock_ns = bmc.queue[0].at_ns;
		return 1;
	}
	*bmc.clock_ns = until;
	return 0;
}

static void fake_close(int fd)
{
	assert_int_equal(fd, 100);
	bmc.closed++;
}

static const struct ipmi_ops fake_ops = {fake_open, fake_ioctl, fake_poll, fake_close};

#endif
