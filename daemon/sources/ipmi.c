/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the BMC. Each has its own id, so that a late reply to one that was given
 * up is never taken for another's; events are not requested. */
#include "daemon/sources/ipmi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/clock.h"

#define RECEIVED_MAX 64 /* messages looked at for one reply */

static int kernel_open(int devfd, const char *path)
{
	int fd = openat(devfd, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int kernel_poll(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	/* a removed device reports that at the next receive */
	return n > 0;
}

static void kernel_close(int fd)
{
	close(fd);
}

static const struct ipmi_ops kernel_ops = {
	.open = kernel_open,
	.ioctl = kernel_ioctl,
	.poll = kernel_poll,
	.close = kernel_close,
};

/* The device's path, under the names that systems use. */
static bool name_device(size_t which, unsigned dev_num, char *ret, size_t size)
{
	static const char *const stems[] = {"ipmi", "ipmi/", "ipmidev/"};

	if (which >= sizeof(stems) / sizeof(stems[0]))
		return false;
	(void)snprintf(ret, size, "%s%u", stems[which], dev_num);
	return true;
}

int ipmi_open(const struct env *env, unsigned dev_num, struct ipmi *ret,
	      struct err *err)
{
	struct ipmi dev = {
		.ops = env->ipmi ? env->ipmi : &kernel_ops,
		.now_ns = env->boottime_ns,
		.fd = -1,
		.next_id = 1,
	};
	char path[sizeof(dev.path)];
	int rc = -ENODEV;

	for (size_t i = 0; name_device(i, dev_num, path, sizeof(path)); i++) {
		dev.fd = dev.ops->open(env->devfd, path);
		if (dev.fd >= 0) {
			memcpy(dev.path, path, sizeof(path));
			*ret = dev;
			return 0;
		}
		if (rc == -ENODEV && dev.fd != -ENOENT && dev.fd != -ENOTDIR &&
		    dev.fd != -ENXIO) {
			rc = dev.fd;
			memcpy(dev.path, path, sizeof(path));
		}
	}
	if (rc == -ENODEV)
		return err_set(err, rc, "no device ipmi%u", dev_num);
	return err_set(err, rc, "%s: %s", dev.path, strerror(-rc));
}

void ipmi_close(struct ipmi *dev)
{
	if (dev->ops && dev->fd >= 0)
		dev->ops->close(dev->fd);
	dev->fd = -1;
}

static int send_message(struct ipmi *dev, const struct ipmi_request *req, long id)
{
	struct ipmi_system_interface_addr addr = {
		.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
		.channel = IPMI_BMC_CHANNEL,
	};
	unsigned char data[sizeof(req->data)];
	struct ipmi_req message = {
		.addr = (unsigned char *)&addr,
		.addr_len = sizeof(addr),
		.msgid = id,
		.msg = {.netfn = req->netfn, .cmd = req->cmd, .data = data},
	};

	memcpy(data, req->data, sizeof(data));
	message.msg.data_len = req->len <= sizeof(data) ? req->len : sizeof(data);
	return dev->ops->ioctl(dev->fd, IPMICTL_SEND_COMMAND, &message);
}

/* Takes one received message. 1: the reply to id; 0: another. */
static int take_message(struct ipmi *dev, const struct ipmi_request *req, long id,
			struct ipmi_reply *ret)
{
	struct ipmi_addr addr;
	struct ipmi_recv message = {
		.addr = (unsigned char *)&addr,
		.addr_len = sizeof(addr),
		.msg = {.data = ret->data, .data_len = sizeof(ret->data)},
	};
	/* a message that is too long must be truncated, or it would stay in the
	 * queue */
	int rc = dev->ops->ioctl(dev->fd, IPMICTL_RECEIVE_MSG_TRUNC, &message);

	if (rc < 0 && rc != -EMSGSIZE)
		return rc;
	ret->len = message.msg.data_len <= sizeof(ret->data) ? message.msg.data_len
							     : sizeof(ret->data);
	bool ours = rc == 0 && message.recv_type == IPMI_RESPONSE_RECV_TYPE &&
		    message.msgid == id && message.msg.netfn == (req->netfn | 1) &&
		    message.msg.cmd == req->cmd && ret->len > 0;
	if (!ours && message.recv_type == IPMI_RESPONSE_RECV_TYPE)
		dev->late++;
	return ours;
}

/* Drops messages that came after their sender had given up; the driver keeps them until
 * then. */
static int drop_late(struct ipmi *dev, const struct ipmi_request *req)
{
	struct ipmi_reply old;
	int rc = 0;

	for (int i = 0; i < RECEIVED_MAX && rc >= 0; i++)
		rc = take_message(dev, req, 0, &old);
	return rc == -EAGAIN || rc >= 0 ? 0 : rc;
}

static int wait_reply(struct ipmi *dev, const struct ipmi_request *req, long id,
		      uint64_t until_ns, struct ipmi_reply *ret)
{
	for (int seen = 0; seen < RECEIVED_MAX;) {
		uint64_t now_ns = dev->now_ns();
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		uint64_t left_ms = (until_ns - now_ns) / NSEC_PER_MSEC;
		int rc = dev->ops->poll(dev->fd, (int)left_ms + 1);
		if (rc == 0)
			continue;
		if (rc > 0) {
			seen++;
			rc = take_message(dev, req, id, ret);
		}
		if (rc > 0)
			return 0;
		if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
			return rc;
	}
	return -EBADMSG; /* an endless stream of other messages */
}

int ipmi_ask(struct ipmi *dev, const struct ipmi_request *req, uint32_t deadline_ms,
	     struct ipmi_reply *ret, struct err *err)
{
	struct ipmi_reply reply;
	uint64_t until_ns = dev->now_ns() + deadline_ms * NSEC_PER_MSEC;
	/* never use 0 */
	long id = dev->next_id;

	dev->next_id = id < INT32_MAX ? id + 1 : 1;
	int rc = dev->fd < 0 ? -ENODEV : drop_late(dev, req);
	if (rc == 0)
		rc = send_message(dev, req, id);
	if (rc == 0)
		rc = wait_reply(dev, req, id, until_ns, &reply);
	if (rc == -ETIMEDOUT)
		return err_set(err, rc, "%s: no reply within %u ms", dev->path,
			       deadline_ms);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", dev->path, strerror(-rc));
	*ret = reply;
	return 0;
}

int ipmi_completion(uint8_t code, struct err *err)
{
	static const struct {
		uint8_t code;
		int rc;
		const char *text;
	} known[] = {
		{0xc0, -EBUSY, "it is busy"},
		{0xc1, -EOPNOTSUPP, "it does not support the command"},
		{0xc2, -EOPNOTSUPP, "it does not support the command for that LUN"},
		{0xc3, -ETIMEDOUT, "it timed out"},
		{0xc7, -EIO, "it expects another length"},
		{0xc9, -EIO, "parameter out of range"},
		{0xcb, -EIO, "the requested data is not there"},
		{0xcc, -EIO, "invalid data"},
		{0xd1, -EBUSY, "its firmware is being updated"},
		{0xd2, -EBUSY, "it is being initialised"},
		{0xd4, -EACCES, "not allowed from here"},
		{0xd5, -EBUSY, "not in its present state"},
	};

	if (code == 0)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].code == code)
			return err_set(err, known[i].rc, "the BMC says 0x%02x: %s",
				       code, known[i].text);
	}
	return err_set(err, -EIO, "the BMC says 0x%02x", code);
}
