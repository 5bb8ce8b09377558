/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "profiler/unwind_table.h"

#define SYMBOLS_MAX (1u << 20)

void modules_free(struct modules *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		close(m->all[i].fd);
		free(m->all[i].name);
		elf_names_free(&m->all[i].names);
	}
	free(m->all);
	*m = (struct modules){0};
}

static int find_module(const struct modules *m, const struct stat *st)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const struct module *o = &m->all[i];
		if (o->inode == st->st_ino && o->device == st->st_dev &&
		    o->changed.tv_sec == st->st_ctim.tv_sec &&
		    o->changed.tv_nsec == st->st_ctim.tv_nsec)
			return (int)i;
	}
	return -ENOENT;
}

/* Without rows its frames are the last that are seen of a stack. */
static void place_rows(struct modules *m, struct module *new)
{
	struct unwind_table table;
	struct err err;

	new->rows = (struct profile_module){.first = m->row_count};
	if (unwind_table_read(new->fd, m->row_room - m->row_count, &table, &err) < 0) {
		m->without_rows++;
		return;
	}
	memcpy(&m->rows[m->row_count], table.rows, table.count * sizeof(*m->rows));
	new->rows.count = (uint32_t)table.count;
	m->row_count += new->rows.count;
	unwind_table_free(&table);
}

int modules_add(struct modules *m, int fd, const char *path, struct err *err)
{
	auto_close int own = fd;
	struct module new = {.fd = -1};
	struct stat st;

	if (fstat(own, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	int rc = find_module(m, &st);
	if (rc >= 0)
		return rc;
	if (m->count == PROFILE_MODULES_MAX)
		return err_set(err, -E2BIG, "more than %d files", PROFILE_MODULES_MAX);
	new.segment_count = elf_file_segments(own, new.segments, err);
	if (new.segment_count < 0)
		return new.segment_count;
	const char *base = strrchr(path, '/');
	new.name = strdup(base ? base + 1 : path);
	struct module *all = reallocarray(m->all, m->count + 1, sizeof(*all));
	if (all)
		m->all = all;
	if (!all || !new.name) {
		free(new.name);
		return err_set(err, -ENOMEM, "out of memory");
	}
	new.fd = steal_fd(&own);
	new.device = st.st_dev;
	new.inode = st.st_ino;
	new.changed = st.st_ctim;
	place_rows(m, &new);
	m->all[m->count] = new;
	return (int)m->count++;
}

const char *modules_name(struct modules *m, uint32_t module, uint64_t address)
{
	struct module *o = &m->all[module];
	struct err err;

	if (!o->named) {
		o->named = true;
		(void)elf_names_read(o->fd, SYMBOLS_MAX, &o->names, &err);
	}
	return elf_names_find(&o->names, address);
}
