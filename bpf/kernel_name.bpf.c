/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the kernel itself what one of its functions is called (bpf_snprintf's %ps, Linux
 * 5.14 for programs that are run by hand). /proc/kallsyms shows addresses only to
 * CAP_SYSLOG; this takes no more than CAP_BPF and CAP_PERFMON, and nothing is parsed.
 */
#include "bpf/kernel_name.h"

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_name);
} kernel_names SEC(".maps");

SEC("syscall")
int name_address(void *ctx)
{
	static const char format[] = "%ps";
	__u32 zero = 0;
	struct kernel_name *n = bpf_map_lookup_elem(&kernel_names, &zero);

	if (!n)
		return 1;
	__u64 args[] = {n->address};
	bpf_snprintf(n->text, sizeof(n->text), format, args, sizeof(args));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
