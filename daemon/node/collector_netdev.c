/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic of the node's network interfaces from /proc/net/dev, selected by an
 * unanchored regular expression, as in the peer. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/node/proc_parse.h"
#include "daemon/node/procfile.h"
#include "daemon/options.h"
#include "lib/log.h"

#define DEVICES_MAX 65536

static const struct prom_family netdev_families[NETDEV_COUNTERS] = {
#define FAMILY(what, text)                                                             \
	{                                                                              \
		"ceems_netdev_" what "_total", PROM_COUNTER,                           \
			text ", from /proc/net/dev"                                    \
	}
	FAMILY("receive_bytes", "Bytes received"),
	FAMILY("receive_packets", "Packets received"),
	FAMILY("receive_errors", "Receive errors"),
	FAMILY("receive_dropped", "Packets dropped on receive"),
	FAMILY("receive_fifo", "FIFO errors on receive"),
	FAMILY("receive_frame", "Framing errors on receive"),
	FAMILY("receive_compressed", "Compressed packets received"),
	FAMILY("receive_multicast", "Multicast packets received"),
	FAMILY("transmit_bytes", "Bytes sent"),
	FAMILY("transmit_packets", "Packets sent"),
	FAMILY("transmit_errors", "Send errors"),
	FAMILY("transmit_dropped", "Packets dropped on send"),
	FAMILY("transmit_fifo", "FIFO errors on send"),
	FAMILY("transmit_colls", "Collisions on send"),
	FAMILY("transmit_carrier", "Carrier losses on send"),
	FAMILY("transmit_compressed", "Compressed packets sent"),
#undef FAMILY
};

struct netdev {
	struct procfile file;
	const char *hostname;
	regex_t pattern;
	bool has_pattern, exclude;
	struct buf labels; /* of the current interface */
};

static void netdev_close(void *state)
{
	struct netdev *n = state;

	if (!n)
		return;
	procfile_close(&n->file);
	if (n->has_pattern)
		regfree(&n->pattern);
	buf_done(&n->labels);
	free(n);
}

static int compile_pattern(struct netdev *n, const struct options *o, struct err *err)
{
	const char *include = o ? o->netdev_include : "";
	const char *exclude = o ? o->netdev_exclude : "";
	char text[128];

	include = include ? include : "";
	exclude = exclude ? exclude : "";
	if (*include && *exclude)
		return err_set(err, -EINVAL,
			       "collector.netdev.device-include and .device-exclude "
			       "exclude each other");
	if (!*include && !*exclude)
		return 0;
	n->exclude = *exclude;
	int rc = regcomp(&n->pattern, *exclude ? exclude : include,
			 REG_EXTENDED | REG_NOSUB);
	if (rc != 0) {
		regerror(rc, &n->pattern, text, sizeof(text));
		return err_set(err, -EINVAL, "collector.netdev.device-%s: %s",
			       *exclude ? "exclude" : "include", text);
	}
	n->has_pattern = true;
	return 0;
}

static bool is_interface_wanted(const struct netdev *n, const char *name)
{
	return !n->has_pattern ||
	       (regexec(&n->pattern, name, 0, NULL, 0) == 0) != n->exclude;
}

/* The interface's name; "": too long. */
static const char *name_of(const struct netdev_line *l, char name[64])
{
	size_t len = l->name_len < 64 ? l->name_len : 0;

	memcpy(name, l->name, len);
	name[len] = '\0';
	return name;
}

/* An interface may appear later, so a missing one is not an error; a pattern in another
 * dialect is. */
static int check_interface_pattern(struct netdev *n, const struct options *o,
				   struct err *err)
{
	struct netdev_line l;
	const char *p;
	char name[64];
	size_t len, seen = 0;

	if (!n->has_pattern || procfile_read(&n->file, &p, &len, NULL) < 0)
		return 0;
	for (const char *end = p + len;
	     seen < DEVICES_MAX && proc_next_netdev(&p, end, &l); seen++) {
		if (is_interface_wanted(n, name_of(&l, name)))
			return 0;
	}
	return err_set(
		err, -ENOENT,
		"collector.netdev.device-%s=%s leaves none of the %zu interfaces of "
		"this node (it is a POSIX extended expression: [0-9], not \\d)",
		n->exclude ? "exclude" : "include",
		n->exclude ? o->netdev_exclude : o->netdev_include, seen);
}

static int open_netdev_file(const struct env *env, struct netdev *n, struct err *err)
{
	int rc = procfile_open(&n->file, env->procfd, "net/dev", err);
	return rc < 0 ? rc : compile_pattern(n, env->options, err);
}

static int netdev_open(const struct env *env, void **ret_state, struct err *err)
{
	struct netdev *n = calloc(1, sizeof(*n));

	if (!n)
		return err_set(err, -ENOMEM, "out of memory");
	n->hostname = env->hostname;
	int rc = open_netdev_file(env, n, err);
	if (rc < 0) {
		netdev_close(n);
		return rc;
	}
	struct err why;
	if (check_interface_pattern(n, env->options, &why) < 0)
		log_warn("%s", why.text);
	*ret_state = n;
	return 0;
}

static int netdev_look(const struct env *env, struct err *err)
{
	struct netdev *n = calloc(1, sizeof(*n));
	int rc = n && open_netdev_file(env, n, NULL) == 0
			 ? check_interface_pattern(n, env->options, err)
			 : 0;

	netdev_close(n);
	return rc;
}

static int netdev_collect(void *state, struct prom *out, struct err *err)
{
	struct netdev *n = state;
	struct netdev_line l;
	const char *p;
	size_t len, seen = 0;
	int rc = procfile_read(&n->file, &p, &len, err);

	if (rc < 0)
		return rc;
	for (const char *end = p + len;
	     seen < DEVICES_MAX && proc_next_netdev(&p, end, &l); seen++) {
		char name[64];
		if (!*name_of(&l, name) || !is_interface_wanted(n, name))
			continue;
		struct prom_label labels[2] = {{"hostname", n->hostname},
					       {"device", name}};
		buf_reset(&n->labels);
		prom_render_labels(&n->labels, labels, 2);
		for (int i = 0; i < NETDEV_COUNTERS; i++) {
			prom_family(out, &netdev_families[i]);
			prom_put_block_u64(out, &n->labels, l.counters[i]);
		}
	}
	if (!seen)
		return err_set(err, -EINVAL, "net/dev: no interface in it");
	return 0;
}

const struct collector collector_netdev = {
	.name = "netdev",
	.open = netdev_open,
	.collect = netdev_collect,
	.close = netdev_close,
	.look = netdev_look,
};
