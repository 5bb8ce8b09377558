/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/net.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/net.skel.h"
#include "opener/groups.h"
#include "opener/load.h"

static int size_net_maps(struct net *net, const struct groups *groups, uint32_t slots)
{
	struct net_bpf *s = net->skeleton;
	int rc = load_stripes(NET_STRIPES_MAX, &net->stripes);

	if (rc < 0)
		return rc;
	s->rodata->stripes = net->stripes;
	s->rodata->slot_count = slots;
	rc = bpf_map__reuse_fd(s->maps.groups, groups->groups_map);
	if (!rc)
		rc = bpf_map__reuse_fd(s->maps.slots, groups->fds[GROUP_FD_SLOTS]);
	if (!rc)
		rc = bpf_map__set_max_entries(s->maps.net_counts,
					      (slots + 1) * NET_KINDS * net->stripes);
	return rc;
}

int net_open(struct net *net, const struct groups *groups, uint32_t slots,
	     bool by_cpuacct, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	*net = (struct net){0};
	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	struct net_bpf *s = net_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the network programs");
	net->skeleton = s;
	s->rodata->by_cpuacct = by_cpuacct;
	rc = size_net_maps(net, groups, slots);
	if (!rc)
		rc = net_bpf__load(s);
	if (rc < 0)
		return load_refused(err, rc, "load the network programs");
	rc = net_bpf__attach(s);
	if (rc < 0)
		return load_refused(err, rc, "attach the network programs");
	net->fds[NET_FD_COUNTS] = bpf_map__fd(s->maps.net_counts);
	net->fds[NET_FD_SENT] = bpf_link__fd(s->links.call_sent);
	net->fds[NET_FD_RECEIVED] = bpf_link__fd(s->links.call_received);
	net->fds[NET_FD_DESTROYED] = bpf_link__fd(s->links.socket_destroyed);
	return 0;
}

void net_close(struct net *net)
{
	net_bpf__destroy(net->skeleton);
	net->skeleton = NULL;
}
