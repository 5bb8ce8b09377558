/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/net.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/net.skel.h"
#include "opener/groups.h"
#include "opener/load.h"

static int size_net_maps(struct net *net, const struct groups *groups,
			 const struct net_request *r)
{
	struct net_bpf *s = net->skeleton;
	int rc = load_stripes(NET_STRIPES_MAX, &net->stripes);

	if (rc < 0)
		return rc;
	s->rodata->by_cpuacct = r->by_cpuacct;
	s->rodata->stripes = net->stripes;
	s->rodata->slot_count = r->slots;
	s->rodata->without_loopback = r->no_loopback;
	rc = bpf_map__reuse_fd(s->maps.groups, groups->groups_map);
	if (!rc)
		rc = bpf_map__reuse_fd(s->maps.slots, groups->fds[GROUP_FD_SLOTS]);
	if (!rc)
		rc = bpf_map__set_max_entries(
			s->maps.net_counts, (r->slots + 1) * NET_KINDS * net->stripes);
	if (!rc && net->counted & NET_COUNTED_CALLS)
		rc = bpf_map__set_max_entries(s->maps.sockets_by_address,
					      NET_SOCKETS_MAX);
	return rc;
}

static int choose_net_programs(const struct net_bpf *s, uint32_t counted)
{
	bool calls = counted & NET_COUNTED_CALLS;
	const struct {
		struct bpf_program *program;
		bool loaded;
	} programs[] = {
		{s->progs.call_sent, !calls},
		{s->progs.call_received, !calls},
		{s->progs.socket_destroyed, !calls},
		{s->progs.net_call_ended, calls},
		{s->progs.socket_forgotten, calls},
		{s->progs.net_request_ended, counted & NET_COUNTED_URING},
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(programs) / sizeof(programs[0]); i++)
		rc = bpf_program__set_autoload(programs[i].program, programs[i].loaded);
	return rc;
}

static void list_net_fds(struct net *net)
{
	const struct net_bpf *s = net->skeleton;
	bool calls = net->counted & NET_COUNTED_CALLS;
	const struct bpf_link *first =
		calls ? s->links.net_call_ended : s->links.call_sent;
	const struct bpf_link *second =
		calls ? s->links.net_request_ended : s->links.call_received;

	net->fds[NET_FD_COUNTS] = bpf_map__fd(s->maps.net_counts);
	net->fds[NET_FD_SENT] = bpf_link__fd(first);
	net->fds[NET_FD_RECEIVED] = bpf_link__fd(second ? second : first);
	net->fds[NET_FD_DESTROYED] = bpf_link__fd(calls ? s->links.socket_forgotten
							: s->links.socket_destroyed);
}

static int try_net(struct net *net, const struct groups *groups,
		   const struct net_request *r, uint32_t counted, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	*net = (struct net){.counted = counted};
	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	struct net_bpf *s = net_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the network programs");
	net->skeleton = s;
	rc = size_net_maps(net, groups, r);
	if (!rc)
		rc = choose_net_programs(s, counted);
	if (!rc)
		rc = net_bpf__load(s);
	if (rc < 0)
		return load_refused(err, rc, "load the network programs");
	rc = net_bpf__attach(s);
	if (rc < 0)
		return load_refused(err, rc, "attach the network programs");
	list_net_fds(net);
	return 0;
}

int net_open(struct net *net, const struct groups *groups, const struct net_request *r,
	     struct err *err)
{
	const uint32_t tries[] = {0, NET_COUNTED_CALLS | NET_COUNTED_URING,
				  NET_COUNTED_CALLS};
	size_t first = r->by_calls;
	int rc = -EINVAL;

	for (size_t i = first; i < sizeof(tries) / sizeof(tries[0]) && rc < 0; i++) {
		if (i > first)
			net_close(net);
		rc = try_net(net, groups, r, tries[i], err);
	}
	return rc;
}

void net_close(struct net *net)
{
	net_bpf__destroy(net->skeleton);
	net->skeleton = NULL;
}
