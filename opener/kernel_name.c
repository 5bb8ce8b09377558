/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/kernel_name.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "bpf/kernel_name.h"
#include "bpf/kernel_name.skel.h"
#include "opener/load.h"

static int load_namer(struct kernel_namer *n, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);
	int rc = load_prepare(err);

	if (rc < 0)
		return rc;
	n->skeleton = kernel_name_bpf__open_opts(&options);
	rc = n->skeleton ? kernel_name_bpf__load(n->skeleton) : -errno;
	malloc_trim(0);
	if (rc == 0)
		return 0;
	kernel_namer_close(n);
	return load_refused(err, rc, "load the program for the kernel's names");
}

static int run_namer(const struct kernel_namer *n, struct kernel_name *name)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int map = bpf_map__fd(n->skeleton->maps.kernel_names);
	uint32_t zero = 0;

	int rc = bpf_map_update_elem(map, &zero, name, BPF_ANY);
	if (rc == 0)
		rc = bpf_prog_test_run_opts(
			bpf_program__fd(n->skeleton->progs.name_address), &run);
	return rc ? rc : bpf_map_lookup_elem(map, &zero, name);
}

int kernel_namer_find(struct kernel_namer *n, uint64_t address, char *ret, size_t size,
		      struct err *err)
{
	struct kernel_name name = {.address = address};

	if (n->refused)
		return err_set(err, n->refused, "the kernel does not name functions");
	if (!n->skeleton) {
		n->refused = load_namer(n, err);
		if (n->refused)
			return n->refused;
	}
	int rc = run_namer(n, &name);
	if (rc < 0)
		return err_set(err, rc, "name a function of the kernel: %s",
			       strerror(-rc));
	name.text[sizeof(name.text) - 1] = '\0';
	if (!name.text[0] || strncmp(name.text, "0x", 2) == 0)
		return err_set(err, -ENOENT, "no function of the kernel is there");
	(void)snprintf(ret, size, "%s", name.text);
	return 0;
}

void kernel_namer_close(struct kernel_namer *n)
{
	kernel_name_bpf__destroy(n->skeleton);
	n->skeleton = NULL;
}
