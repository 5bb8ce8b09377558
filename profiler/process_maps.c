/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"

struct map_line {
	uint64_t start, end, offset;
	const char *path;
};

static bool take_hex(char **at, char end, uint64_t *ret)
{
	char *behind = *at;

	*ret = strtoull(*at, &behind, 16);
	if (behind == *at || *behind != end)
		return false;
	*at = behind + 1;
	return true;
}

/* "start-end rights offset device inode path", proc_pid_maps(5) */
static bool parse_map_line(char *line, struct map_line *ret)
{
	enum { RIGHTS = 5 }; /* "r-xp " */
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	if (!take_hex(&at, '-', &ret->start) || !take_hex(&at, ' ', &ret->end) ||
	    strnlen(at, RIGHTS) < RIGHTS || at[2] != 'x')
		return false;
	at += RIGHTS;
	if (!take_hex(&at, ' ', &ret->offset))
		return false;
	ret->path = strchr(at, '/'); /* device and inode have none */
	return ret->path && ret->end > ret->start;
}

/* The very file that is mapped, whatever its name leads to by now */
static int open_mapped(int procfd, uint32_t pid, const struct map_line *l)
{
	char name[96];

	(void)snprintf(name, sizeof(name), "%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		       pid, l->start, l->end);
	return openat(procfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool place_mapping(const struct module *o, const struct map_line *l,
			  struct profile_mapping *ret)
{
	for (int i = 0; i < o->segment_count; i++) {
		const struct elf_segment *s = &o->segments[i];
		/* mappings begin at a page, segments anywhere in it */
		if (l->offset < s->end && l->offset + (l->end - l->start) > s->start) {
			ret->start = l->start;
			ret->end = l->end;
			ret->base = l->start - l->offset - s->shift;
			return true;
		}
	}
	return false;
}

int process_maps_read(int procfd, uint32_t pid, struct modules *m,
		      struct profile_process *ret, struct err *err)
{
	char path[32];
	auto_free char *line = NULL;
	size_t room = 0;
	struct stat owner = {.st_uid = 0};

	ret->count = 0;
	(void)snprintf(path, sizeof(path), "%" PRIu32, pid);
	(void)fstatat(procfd, path, &owner, 0);
	(void)snprintf(path, sizeof(path), "%" PRIu32 "/maps", pid);
	int fd = openat(procfd, path, O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return err_set(err, rc == -ENOENT ? -ESRCH : rc, "%s: %s", path,
			       strerror(-rc));
	}
	while (ret->count < PROFILE_MAPPINGS_MAX && getline(&line, &room, f) > 0) {
		struct profile_mapping *mapping = &ret->mappings[ret->count];
		struct map_line l;
		if (!parse_map_line(line, &l))
			continue;
		int file = open_mapped(procfd, pid, &l);
		int module =
			file < 0 ? -1 : modules_add(m, file, l.path, owner.st_uid, err);
		if (module >= 0 && place_mapping(&m->all[module], &l, mapping)) {
			mapping->module = (uint32_t)module;
			ret->count++;
		}
	}
	return 0;
}

const struct profile_mapping *process_maps_find(const struct profile_process *p,
						uint64_t address)
{
	for (uint32_t i = 0; i < p->count; i++) {
		if (address >= p->mappings[i].start && address < p->mappings[i].end)
			return &p->mappings[i];
	}
	return NULL;
}
