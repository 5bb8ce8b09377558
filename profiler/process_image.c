/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/process_image.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/siphash.h"

struct image {
	int fd;
	uint64_t base; /* where the file's first byte is mapped */
	uint64_t bytes, most;
	uint64_t begins; /* a hash of the mapping that has the file's first byte */
};

/* A hole where it cannot be had */
static void add_part(struct door *d, uint32_t pid, const struct map_line *l,
		     struct image *image)
{
	uint64_t size = l->end - l->start;
	struct err err;
	char part[16384];
	ssize_t n;

	if (size > image->most - image->bytes)
		return;
	auto_close int from = door_memory(d, pid, l->start, l->end, &err);
	if (from < 0 || lseek(image->fd, (off_t)l->offset, SEEK_SET) < 0)
		return;
	while ((n = read(from, part, sizeof(part))) > 0) {
		if (fs_write_all(image->fd, part, (size_t)n) < 0)
			return;
		if (!l->offset) /* what follows may differ: a loader writes to it */
			image->begins = siphash13((uint64_t[]){image->begins, size},
						  part, (size_t)n);
	}
	image->bytes += size;
}

/* There are no sections: nobody has mapped them. */
static int write_head(const struct image *image)
{
	static const char none[sizeof(uint64_t)];
	const struct {
		const void *data;
		size_t size, at;
	} parts[] = {
		{&image->base, sizeof(uint64_t), offsetof(Elf64_Ehdr, e_entry)},
		{none, sizeof(uint64_t), offsetof(Elf64_Ehdr, e_shoff)},
		{none, sizeof(uint16_t), offsetof(Elf64_Ehdr, e_shnum)},
		{none, sizeof(uint16_t), offsetof(Elf64_Ehdr, e_shstrndx)},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == 0; i++) {
		rc = lseek(image->fd, (off_t)parts[i].at, SEEK_SET) < 0
			     ? -errno
			     : fs_write_all(image->fd, parts[i].data, parts[i].size);
	}
	return rc;
}

/* What is mapped for reading alone has the file's headers, .dynsym, .eh_frame and, once
 * it has been relocated, .dynamic; nothing that the program has written. */
static bool is_wanted(const struct map_line *l)
{
	return l->reads && !l->writes && (!l->executes || !l->offset);
}

/* Up to the next file, or this one mapped a second time */
static void add_parts(struct door *d, uint32_t pid, const struct image_lines *lines,
		      struct image *image)
{
	auto_free char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, lines->maps) > 0) {
		struct map_line l;
		if (!map_line_parse(line, &l))
			continue;
		if (!map_line_is_of(&l, &lines->key) || (!l.offset && image->base))
			break;
		if (!l.offset)
			image->base = l.start;
		if (image->base && is_wanted(&l))
			add_part(d, pid, &l, image);
	}
}

int process_image_copy(struct door *d, uint32_t pid, const struct image_lines *lines,
		       uint64_t most, struct profile_file *ret, struct err *err)
{
	auto_close int fd = memfd_create("image", MFD_CLOEXEC);
	struct image image = {
		.fd = fd,
		.most = most < PROCESS_IMAGE_MAX ? most : PROCESS_IMAGE_MAX,
	};
	long at = ftell(lines->maps);

	if (fd < 0 || at < 0 || fseek(lines->maps, lines->from, SEEK_SET) < 0)
		return err_set(err, -errno, "image: %s", strerror(errno));
	add_parts(d, pid, lines, &image);
	if (fseek(lines->maps, at, SEEK_SET) < 0)
		return err_set(err, -errno, "image: %s", strerror(errno));
	if (!image.begins)
		return err_set(err, -EACCES, "image: its beginning cannot be read");
	int rc = write_head(&image);
	if (rc < 0)
		return err_set(err, rc, "image: %s", strerror(-rc));
	*ret = (struct profile_file){.size = image.bytes, .image = image.begins};
	return steal_fd(&fd);
}
