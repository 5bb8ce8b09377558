/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/process_maps.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "profiler/map_line.h"
#include "profiler/process_image.h"

#define LOOK_NS NSEC_PER_SEC

/* The kernel's code in each process (vdso(7)), which is in no file: all of 64 bits have
 * the same, and so have we. Its sections' heads come last. */
static int copy_vdso(void)
{
	const Elf64_Ehdr *vdso =
		(const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	auto_close int fd = memfd_create(MAP_LINE_VDSO, MFD_CLOEXEC);

	if (!vdso)
		return -ENOENT;
	size_t size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	if (fd < 0 || fs_write_all(fd, vdso, size) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* mappings begin at a page, segments anywhere in it */
static void place_mapping(const struct module *o, const struct map_line *l,
			  struct profile_mapping *ret)
{
	*ret = (struct profile_mapping){
		.start = l->start,
		.end = l->end,
		.base = l->start - l->offset, /* of one that cannot be read */
	};
	for (int i = 0; i < o->segment_count; i++) {
		const struct elf_segment *s = &o->segments[i];
		if (l->offset < s->end && l->offset + (l->end - l->start) > s->start)
			ret->base = l->start - l->offset - s->shift;
	}
}

static int find_module_of(struct door *d, uint32_t pid, uint32_t uid,
			  const struct image_lines *lines, const struct map_line *l,
			  struct modules *m, uint32_t now_s, struct err *err)
{
	bool vdso = map_line_is_vdso(l);
	struct profile_file file = {.inode = vdso ? l->key.inode : 0};
	int index = modules_find(m, &l->key, uid, now_s);

	if (index >= 0)
		return index;
	int fd = vdso ? copy_vdso() : door_file(d, pid, l->start, l->end, &file, err);
	if (fd == -EACCES)
		fd = process_image_copy(d, pid, lines, modules_make_image_room(m, uid),
					&file, err);
	if (fd == -ENOENT || fd == -ESRCH || fd == -EPIPE || fd == -EAGAIN)
		return fd; /* the process, the mapping or the opener is no more */
	return modules_add(m, fd < 0 ? -1 : fd, &file, l->path, &l->key, uid, now_s,
			   err);
}

int process_maps_read(struct door *d, uint32_t pid, struct modules *m, uint32_t now_s,
		      struct profile_mapping *ret, struct err *err)
{
	auto_free char *line = NULL;
	size_t room = 0;
	long at = 0;
	ssize_t n;
	int count = 0;
	uint32_t uid = 0;
	int fd = door_maps(d, pid, &uid, err);
	auto_fclose FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

	if (!f) {
		int rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	uint64_t until_ns = clock_boottime_ns() + LOOK_NS;
	struct image_lines lines = {.maps = f};
	for (; count < PROFILE_MAPPINGS_MAX && clock_boottime_ns() < until_ns &&
	       (n = getline(&line, &room, f)) > 0;
	     at += n) {
		struct map_line l;
		if (!map_line_parse(line, &l))
			continue;
		if (!l.offset || !map_line_is_of(&l, &lines.key))
			lines.from = at;
		lines.key = l.key;
		if (!l.executes)
			continue;
		int module = find_module_of(d, pid, uid, &lines, &l, m, now_s, err);
		if (module < 0)
			continue;
		place_mapping(&m->all[module], &l, &ret[count]);
		ret[count++].module = (uint32_t)module;
	}
	return count;
}
