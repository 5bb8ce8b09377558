/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/jit_maps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LOOK_AGAIN_S 10u /* for a map that was not there */

static void close_map(struct jit_map *k, struct reader *r)
{
	if (k->pid && k->fd >= 0) {
		reader_forget_file(r, k->fd);
		close(k->fd);
	}
	*k = (struct jit_map){.fd = -1};
}

void jit_maps_forget(struct jit_maps *j, struct reader *r, uint32_t pid)
{
	for (int i = 0; i < JIT_MAPS_MAX; i++) {
		if (j->all[i].pid == pid)
			close_map(&j->all[i], r);
	}
}

void jit_maps_free(struct jit_maps *j, struct reader *r)
{
	for (int i = 0; i < JIT_MAPS_MAX; i++)
		close_map(&j->all[i], r);
	name_generations_free(&j->names);
	*j = (struct jit_maps){.names = j->names, .refused = j->refused};
}

/* Its place, else that of the one not seen for longest */
static struct jit_map *place_of(struct jit_maps *j, struct reader *r, uint32_t pid)
{
	struct jit_map *oldest = &j->all[0];

	for (int i = 0; i < JIT_MAPS_MAX; i++) {
		struct jit_map *k = &j->all[i];
		if (k->pid == pid)
			return k;
		if (k->seen_s < oldest->seen_s)
			oldest = k;
	}
	close_map(oldest, r);
	oldest->pid = pid;
	return oldest;
}

static void look_for_map(struct jit_maps *j, struct jit_map *k, struct door *d,
			 uint32_t now_s)
{
	struct err err;

	if (k->looked_s && now_s - k->looked_s < LOOK_AGAIN_S)
		return;
	k->looked_s = now_s ? now_s : 1;
	int fd = door_perf_map(d, k->pid, &k->uid, &err);
	j->refused += fd == -EPERM || fd == -ELOOP || fd == -EFBIG || fd == -EINVAL;
	k->fd = fd < 0 ? -1 : fd;
}

int jit_maps_find(struct jit_maps *j, struct door *d, struct reader *r, uint32_t pid,
		  uint64_t address, uint32_t now_s)
{
	struct jit_map *k = place_of(j, r, pid);
	struct reader_names names;

	k->seen_s = now_s;
	if (k->fd < 0)
		look_for_map(j, k, d, now_s);
	if (k->fd < 0)
		return -ENOENT;
	int rc = reader_read_jit_name(r, k->fd, k->uid, address, &names);
	if (rc < 0 && rc != -EAGAIN) {
		close_map(k, r);
		*k = (struct jit_map){.pid = pid, .fd = -1, .looked_s = now_s};
	}
	return rc < 0 || !names.count
		       ? -ENOENT
		       : name_generations_add(&j->names, names.text, names.len - 1);
}

const char *jit_maps_name(const struct jit_maps *j, uint32_t number)
{
	return name_generations_find(&j->names, number);
}
