/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the node from /proc/meminfo: three lines by default, all of them with
 * --collector.meminfo.all-stats. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector.h"
#include "daemon/node/proc_parse.h"
#include "daemon/node/procfile.h"
#include "daemon/options.h"

#define FIELDS_MAX 256
#define NAME_BYTES 96

/* A metric is created when its line is first seen, and kept: families are compared by
 * address. */
struct meminfo_field {
	char line[NAME_BYTES]; /* name in the file */
	char name[NAME_BYTES]; /* of the metric */
	struct prom_family family;
};

struct meminfo {
	struct procfile file;
	struct buf host;
	bool all;
	struct meminfo_field *fields[FIELDS_MAX];
	size_t count;
};

static void meminfo_close(void *state)
{
	struct meminfo *m = state;

	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		free(m->fields[i]);
	procfile_close(&m->file);
	buf_done(&m->host);
	free(m);
}

static int meminfo_open(const struct env *env, void **ret_state, struct err *err)
{
	struct meminfo *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = procfile_open(&m->file, env->procfd, "meminfo", err);
	if (rc < 0) {
		meminfo_close(m);
		return rc;
	}
	m->all = env->options && env->options->meminfo_all;
	prom_render_labels(&m->host, &(struct prom_label){"hostname", env->hostname},
			   1);
	*ret_state = m;
	return 0;
}

/* "Active(anon)" and 2 kB -> ceems_meminfo_Active_anon_bytes */
static void meminfo_metric_name(const struct meminfo_line *l, struct buf *out)
{
	buf_puts(out, "ceems_meminfo_");
	for (size_t i = 0; i < l->name_len; i++) {
		char c = l->name[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9');
		if (c == ')')
			continue;
		if (!word)
			c = '_';
		buf_putc(out, c);
	}
	if (l->is_bytes)
		buf_puts(out, "_bytes");
}

/* The field of a line, created when it is first seen; NULL: no room. */
static struct meminfo_field *field_of(struct meminfo *m, const struct meminfo_line *l,
				      size_t at)
{
	/* lines come in the same order at each reading */
	if (at < m->count && strlen(m->fields[at]->line) == l->name_len &&
	    memcmp(m->fields[at]->line, l->name, l->name_len) == 0)
		return m->fields[at];
	for (size_t i = 0; i < m->count; i++) {
		if (strlen(m->fields[i]->line) == l->name_len &&
		    memcmp(m->fields[i]->line, l->name, l->name_len) == 0)
			return m->fields[i];
	}
	auto_buf struct buf name = BUF_INIT;
	meminfo_metric_name(l, &name);
	if (m->count == FIELDS_MAX || buf_error(&name) || name.len >= NAME_BYTES)
		return NULL;
	struct meminfo_field *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	memcpy(f->line, l->name, l->name_len);
	memcpy(f->name, name.data, name.len);
	bool counter = name.len > 6 && strcmp(f->name + name.len - 6, "_total") == 0;
	f->family = (struct prom_family){f->name, counter ? PROM_COUNTER : PROM_GAUGE,
					 "Memory of the node, from /proc/meminfo"};
	m->fields[m->count++] = f;
	return f;
}

static bool is_basic(const struct meminfo_line *l)
{
	static const char *const names[] = {"MemTotal", "MemFree", "MemAvailable"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == l->name_len &&
		    memcmp(names[i], l->name, l->name_len) == 0)
			return true;
	}
	return false;
}

static int meminfo_collect(void *state, struct prom *out, struct err *err)
{
	struct meminfo *m = state;
	struct meminfo_line l;
	const char *p;
	size_t len, n = 0, basic = 0;
	int rc = procfile_read(&m->file, &p, &len, err);

	if (rc < 0)
		return rc;
	for (const char *end = p + len;
	     n < FIELDS_MAX && proc_next_meminfo(&p, end, &l);) {
		bool is = is_basic(&l);
		basic += is;
		if (!is && !m->all)
			continue;
		struct meminfo_field *f = field_of(m, &l, n++);
		if (!f)
			continue;
		prom_family(out, &f->family);
		prom_put_block_u64(out, &m->host, l.value);
	}
	if (!basic)
		return err_set(err, -EINVAL, "meminfo: none of its lines is known");
	return 0;
}

const struct collector collector_meminfo = {
	.name = "meminfo",
	.open = meminfo_open,
	.collect = meminfo_collect,
	.close = meminfo_close,
};
