/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink without a library: a header, and attributes of a length, a type and bytes,
 * nested. Lengths that do not fit end the list that they are in. */
#include "daemon/rdma/rdma_message.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

#define NLDEV(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, (command))

const char *const rdma_counter_names[RDMA_COUNTERS] = {
	"rx_write_requests",          "rx_read_requests",
	"rx_atomic_requests",         "req_cqe_error",
	"req_cqe_flush_error",        "req_remote_access_errors",
	"req_remote_invalid_request", "resp_cqe_error",
	"resp_cqe_flush_error",       "resp_local_length_error",
	"resp_remote_access_errors",
};

static const struct {
	uint16_t command, list, entry; /* list 0: the message is the entry */
} rdma_questions[RDMA_KINDS] = {
	[RDMA_DEVICE] = {RDMA_NLDEV_CMD_GET, 0, 0},
	[RDMA_QP] = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
		     RDMA_NLDEV_ATTR_RES_QP_ENTRY},
	[RDMA_CQ] = {RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
		     RDMA_NLDEV_ATTR_RES_CQ_ENTRY},
	[RDMA_MR] = {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
		     RDMA_NLDEV_ATTR_RES_MR_ENTRY},
	[RDMA_COUNTER] = {RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_ATTR_STAT_COUNTER,
			  RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY},
};

static size_t put_u32_attribute(unsigned char *at, uint16_t type, uint32_t value)
{
	const struct nlattr a = {.nla_len = NLA_HDRLEN + sizeof(value),
				 .nla_type = type};

	memcpy(at, &a, sizeof(a));
	memcpy(at + NLA_HDRLEN, &value, sizeof(value));
	return NLA_HDRLEN + sizeof(value);
}

size_t rdma_message_request(enum rdma_kind kind, uint32_t sequence, uint32_t device,
			    unsigned char ret[RDMA_REQUEST_BYTES])
{
	size_t n = NLMSG_HDRLEN;

	if (kind != RDMA_DEVICE)
		n += put_u32_attribute(ret + n, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	if (kind == RDMA_COUNTER)
		n += put_u32_attribute(ret + n, RDMA_NLDEV_ATTR_STAT_RES,
				       RDMA_NLDEV_ATTR_RES_QP);
	const struct nlmsghdr h = {
		.nlmsg_len = (uint32_t)n,
		.nlmsg_type = NLDEV(rdma_questions[kind].command),
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_seq = sequence,
	};
	memcpy(ret, &h, sizeof(h));
	return n;
}

struct attributes {
	const unsigned char *at;
	size_t left;
};

struct attribute {
	uint16_t type;
	struct attributes inside;
};

static bool next_attribute(struct attributes *list, struct attribute *ret)
{
	struct nlattr a;

	if (list->left < NLA_HDRLEN)
		return false;
	memcpy(&a, list->at, sizeof(a));
	if (a.nla_len < NLA_HDRLEN || a.nla_len > list->left)
		return false;
	ret->type = a.nla_type & NLA_TYPE_MASK;
	ret->inside = (struct attributes){list->at + NLA_HDRLEN,
					  a.nla_len - (size_t)NLA_HDRLEN};
	size_t step = NLA_ALIGN(a.nla_len);
	if (step > list->left)
		step = list->left;
	list->at += step;
	list->left -= step;
	return true;
}

static bool attribute_u32(const struct attribute *a, uint32_t *ret)
{
	if (a->inside.left != sizeof(*ret))
		return false;
	memcpy(ret, a->inside.at, sizeof(*ret));
	return true;
}

static bool attribute_u64(const struct attribute *a, uint64_t *ret)
{
	if (a->inside.left != sizeof(*ret))
		return false;
	memcpy(ret, a->inside.at, sizeof(*ret));
	return true;
}

/* "" unless it is a name that a label can have */
static void attribute_name(const struct attribute *a, char ret[RDMA_NAME_BYTES])
{
	size_t n = strnlen((const char *)a->inside.at, a->inside.left);

	*ret = '\0';
	if (n >= RDMA_NAME_BYTES)
		return;
	for (size_t i = 0; i < n; i++) {
		if (a->inside.at[i] <= ' ' || a->inside.at[i] > '~')
			return;
	}
	memcpy(ret, a->inside.at, n);
	ret[n] = '\0';
}

static void read_hw_counter(struct attributes list, struct rdma_entry *e)
{
	char name[RDMA_NAME_BYTES] = "";
	uint64_t value = 0;
	bool has = false;
	struct attribute a;

	while (next_attribute(&list, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
			attribute_name(&a, name);
		else if (a.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
			has = attribute_u64(&a, &value);
	}
	for (uint32_t i = 0; has && i < RDMA_COUNTERS; i++) {
		if (strcmp(name, rdma_counter_names[i]) != 0)
			continue;
		e->has |= 1u << i;
		e->counters[i] = value;
	}
}

static void read_counters(struct attributes list, struct rdma_entry *e)
{
	struct attribute a;

	while (next_attribute(&list, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
			read_hw_counter(a.inside, e);
	}
}

static void read_entry(struct attributes list, struct rdma_entry *e)
{
	uint32_t cqe;
	struct attribute a;

	while (next_attribute(&list, &a)) {
		switch (a.type) {
		case RDMA_NLDEV_ATTR_PORT_INDEX:
			(void)attribute_u32(&a, &e->port);
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			(void)attribute_u32(&a, &e->pid);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			e->kernel = true;
			break;
		case RDMA_NLDEV_ATTR_RES_CQE:
			if (attribute_u32(&a, &cqe))
				e->size = cqe;
			break;
		case RDMA_NLDEV_ATTR_RES_MRLEN:
			(void)attribute_u64(&a, &e->size);
			break;
		case RDMA_NLDEV_ATTR_STAT_COUNTER_ID:
			(void)attribute_u32(&a, &e->id);
			break;
		case RDMA_NLDEV_ATTR_STAT_HWCOUNTERS:
			read_counters(a.inside, e);
			break;
		default:
			break;
		}
	}
}

static void read_answer(enum rdma_kind kind, struct attributes list,
			void (*found)(void *arg, const struct rdma_entry *e), void *arg)
{
	const struct attributes all = list;
	struct rdma_entry head = {0};
	struct attribute a;
	bool has_device = false;

	while (next_attribute(&list, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_DEV_INDEX)
			has_device = attribute_u32(&a, &head.device);
		else if (a.type == RDMA_NLDEV_ATTR_DEV_NAME)
			attribute_name(&a, head.name);
	}
	if (!has_device)
		return;
	if (kind == RDMA_DEVICE) {
		found(arg, &head);
		return;
	}
	for (list = all; next_attribute(&list, &a);) {
		if (a.type != rdma_questions[kind].list)
			continue;
		struct attribute b;
		while (next_attribute(&a.inside, &b)) {
			struct rdma_entry e = head;
			if (b.type != rdma_questions[kind].entry)
				continue;
			read_entry(b.inside, &e);
			found(arg, &e);
		}
	}
}

/* NLMSG_ERROR and NLMSG_DONE begin with a negative errno, or 0. */
static int read_end(const struct nlmsghdr *h, const unsigned char *data)
{
	int32_t code = 0;

	if (h->nlmsg_len >= NLMSG_HDRLEN + sizeof(code))
		memcpy(&code, data + NLMSG_HDRLEN, sizeof(code));
	if (code > 0 || code < -4095)
		return -EPROTO;
	return code;
}

int rdma_message_read(enum rdma_kind kind, uint32_t sequence, const unsigned char *data,
		      size_t len, void (*found)(void *arg, const struct rdma_entry *e),
		      void *arg)
{
	struct nlmsghdr h;

	while (len >= NLMSG_HDRLEN) {
		memcpy(&h, data, sizeof(h));
		if (h.nlmsg_len < NLMSG_HDRLEN || h.nlmsg_len > len)
			return -EPROTO;
		if (h.nlmsg_seq == sequence) {
			if (h.nlmsg_type == NLMSG_DONE || h.nlmsg_type == NLMSG_ERROR)
				return read_end(&h, data);
			if (h.nlmsg_type == NLDEV(rdma_questions[kind].command))
				read_answer(
					kind,
					(struct attributes){data + NLMSG_HDRLEN,
							    h.nlmsg_len - NLMSG_HDRLEN},
					found, arg);
		}
		size_t step = NLMSG_ALIGN((size_t)h.nlmsg_len);
		if (step > len)
			step = len;
		data += step;
		len -= step;
	}
	return 1;
}
