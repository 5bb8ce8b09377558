/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/io.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/io.skel.h"
#include "opener/load.h"

static int size_io_maps(struct io *io, int groups_map, uint32_t slots)
{
	struct io_bpf *s = io->skeleton;
	int rc = load_stripes(IO_STRIPES_MAX, &io->stripes);

	if (rc < 0)
		return rc;
	io->cells = slots * IO_CELLS_PER_SLOT;
	s->rodata->stripes = io->stripes;
	s->rodata->cell_count = io->cells;
	bool times = io->counted & IO_COUNTED_TIMES;
	uint32_t times_stripes = io_times_stripes(io->stripes);
	s->rodata->with_times = times;
	s->rodata->times_stripes = times_stripes;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{s->maps.io_counts, (io->cells + slots) * io->stripes},
		{s->maps.io_mounts, io->cells},
		{s->maps.io_names, slots * io->stripes},
		{s->maps.io_rows, slots},
		{s->maps.io_free, io->cells},
		{s->maps.io_times, times ? (io->cells + slots) * times_stripes : 1},
		{s->maps.io_errors, times ? io->cells + slots : 1},
		{s->maps.io_begun, times ? IO_BEGUN_PLACES : 1},
	};
	rc = bpf_map__reuse_fd(s->maps.groups, groups_map);
	for (size_t i = 0; !rc && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		rc = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return rc;
}

/* Nothing is attached yet. */
static int free_all_cells(const struct io *io, struct err *err)
{
	const int both = PROT_READ | PROT_WRITE;
	size_t bytes = (size_t)io->cells * sizeof(uint64_t);
	uint64_t *cells = mmap(NULL, bytes, both, MAP_SHARED, io->fds[IO_FD_FREE], 0);
	struct io_control *c =
		mmap(NULL, sizeof(*c), both, MAP_SHARED, io->fds[IO_FD_CONTROL], 0);
	int rc = 0;

	if (cells == MAP_FAILED || c == MAP_FAILED) {
		rc = err_set(err, -errno, "map the cells: %s", strerror(errno));
	} else {
		for (uint32_t i = 0; i < io->cells; i++)
			cells[i] = i;
		c->cell_tail = io->cells;
	}
	if (cells != MAP_FAILED)
		munmap(cells, bytes);
	if (c != MAP_FAILED)
		munmap(c, sizeof(*c));
	return rc;
}

static void list_io_maps(struct io *io)
{
	struct io_bpf *s = io->skeleton;

	io->fds[IO_FD_COUNTS] = bpf_map__fd(s->maps.io_counts);
	io->fds[IO_FD_MOUNTS] = bpf_map__fd(s->maps.io_mounts);
	io->fds[IO_FD_NAMES] = bpf_map__fd(s->maps.io_names);
	io->fds[IO_FD_ROWS] = bpf_map__fd(s->maps.io_rows);
	io->fds[IO_FD_FREE] = bpf_map__fd(s->maps.io_free);
	io->fds[IO_FD_CONTROL] = bpf_map__fd(s->maps.io_control);
	io->fds[IO_FD_TIMES] = bpf_map__fd(s->maps.io_times);
	io->fds[IO_FD_ERRORS] = bpf_map__fd(s->maps.io_errors);
}

/* counted: IO_COUNTED_* that are asked of the kernel */
static int try_io(struct io *io, int groups_map, uint32_t slots, bool by_cpuacct,
		  uint32_t counted, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = LOAD_KERNEL_BTF);

	*io = (struct io){.counted = counted};
	int rc = load_prepare(err);
	if (rc < 0)
		return rc;
	struct io_bpf *s = io_bpf__open_opts(&options);
	if (!s)
		return load_refused(err, -errno, "open the IO program");
	io->skeleton = s;
	s->rodata->by_cpuacct = by_cpuacct;
	rc = size_io_maps(io, groups_map, slots);
	if (!rc)
		rc = bpf_program__set_autoload(s->progs.request_ended,
					       counted & IO_COUNTED_URING);
	if (!rc)
		rc = bpf_program__set_autoload(s->progs.call_begun,
					       counted & IO_COUNTED_TIMES);
	if (!rc)
		rc = io_bpf__load(s);
	if (rc < 0)
		return load_refused(err, rc, "load the IO program");
	list_io_maps(io);
	rc = free_all_cells(io, err);
	if (rc < 0)
		return rc;
	rc = io_bpf__attach(s);
	if (rc < 0)
		return load_refused(err, rc, "attach the IO program");
	const struct bpf_link *calls = s->links.call_ended;
	const struct bpf_link *requests = s->links.request_ended;
	io->fds[IO_FD_CALLS] = bpf_link__fd(calls);
	io->fds[IO_FD_URING] = bpf_link__fd(requests ? requests : calls);
	const struct bpf_link *begun = s->links.call_begun;
	io->fds[IO_FD_BEGUN] = bpf_link__fd(begun ? begun : calls);
	return 0;
}

/* A kernel that refuses one of the programs has the rest. */
int io_open(struct io *io, int groups_map, uint32_t slots, bool by_cpuacct, bool times,
	    struct err *err)
{
	uint32_t wanted = IO_COUNTED_URING | (times ? IO_COUNTED_TIMES : 0);
	const uint32_t tries[] = {wanted, wanted & ~IO_COUNTED_URING,
				  wanted & ~IO_COUNTED_TIMES, 0};
	int rc = -EINVAL;

	for (size_t i = 0; i < (times ? 4 : 2) && rc < 0; i++) {
		if (i)
			io_close(io);
		rc = try_io(io, groups_map, slots, by_cpuacct, tries[i], err);
	}
	return rc;
}

void io_close(struct io *io)
{
	io_bpf__destroy(io->skeleton);
	io->skeleton = NULL;
}
