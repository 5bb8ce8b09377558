/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"

void modules_free(struct modules *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		reader_forget_file(m->reader, m->all[i].fd);
		close(m->all[i].fd);
		free(m->all[i].name);
	}
	free(m->all);
	name_cache_free(&m->names);
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
static int read_table(struct modules *m, struct module *new, struct err *err)
{
	struct reader_table table;
	int rc = reader_read_table(m->reader, new->fd, new->uid,
				   m->row_room - m->row_count, &m->rows[m->row_count],
				   &table);

	if (rc < 0)
		return err_set(err, rc, "%s", strerror(-rc));
	memcpy(new->segments, table.segments, sizeof(new->segments));
	new->segment_count = (int)table.segment_count;
	new->rows = (struct profile_module){.first = m->row_count, .count = table.rows};
	m->row_count += table.rows;
	m->without_rows += table.rows_status < 0;
	return 0;
}

int modules_add(struct modules *m, int fd, const char *path, uint32_t uid,
		struct err *err)
{
	auto_close int own = fd;
	struct module new = {.fd = fd, .uid = uid};
	struct stat st;

	if (fstat(own, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	int rc = find_module(m, &st);
	if (rc >= 0)
		return rc;
	if (m->count == PROFILE_MODULES_MAX)
		return err_set(err, -E2BIG, "more than %d files", PROFILE_MODULES_MAX);
	rc = read_table(m, &new, err);
	if (rc < 0) {
		reader_forget_file(m->reader, own);
		return rc;
	}
	const char *base = strrchr(path, '/');
	new.name = strdup(base ? base + 1 : path);
	struct module *all = reallocarray(m->all, m->count + 1, sizeof(*all));
	if (all)
		m->all = all;
	if (!all || !new.name) {
		reader_forget_file(m->reader, own);
		free(new.name);
		return err_set(err, -ENOMEM, "out of memory");
	}
	new.fd = steal_fd(&own);
	new.device = st.st_dev;
	new.inode = st.st_ino;
	new.changed = st.st_ctim;
	m->all[m->count] = new;
	return (int)m->count++;
}

uint32_t modules_find_names(struct modules *m, uint32_t module, uint64_t address,
			    struct name_list *ret)
{
	struct module *o = &m->all[module];
	struct reader_names names = {.count = 0};

	ret->count = 0;
	if (o->no_names || name_cache_find(&m->names, module, address, ret))
		return ret->count;
	int rc = reader_read_names(m->reader, o->fd, o->uid, address, &names);
	o->no_names = rc < 0 && rc != -EAGAIN;
	if (rc == 0 && name_cache_add(&m->names, module, address, &names) == 0)
		(void)name_cache_find(&m->names, module, address, ret);
	return ret->count;
}
