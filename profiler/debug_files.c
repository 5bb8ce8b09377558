/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/debug_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/clock.h"
#include "lib/records/spool.h"
#include "profiler/modules.h"

#define LOOK_S 2u
#define LOOKS_MAX 16u /* files in one go, of which each may take its deadline */
#define AGAIN_S 60u
#define TOLD_S 3600u /* the courier may have forgotten it, or marks what is used */
#define QUEUE_BYTES (64u << 10)

/* ---- telling --------------------------------------------------------------------- */

static bool may_be_told(struct debug_files *d, uint32_t uid, uint32_t now_s)
{
	struct debug_file_owner *o = &d->owners[0];

	for (unsigned i = 0; i < DEBUG_FILE_OWNERS; i++) {
		struct debug_file_owner *p = &d->owners[i];
		if (p->told && p->uid == uid) {
			o = p;
			break;
		}
		if (p->since_s < o->since_s)
			o = p;
	}
	if (o->uid != uid || !o->told || o->since_s + TOLD_S <= now_s)
		*o = (struct debug_file_owner){.uid = uid, .since_s = now_s};
	if (o->told == DEBUG_FILES_AN_HOUR)
		return false;
	o->told++;
	return true;
}

static int queue_news(struct debug_files *d, enum debug_file_news news,
		      const struct build_id *id, struct err *err)
{
	const struct spool_limits limits = {.max_bytes = QUEUE_BYTES,
					    .segment_bytes = QUEUE_BYTES / 4};
	uint8_t record[DEBUG_FILE_RECORD_BYTES];
	char folder[PATH_MAX];
	int rc = 0;

	int n = snprintf(folder, sizeof(folder), "%s/%s", d->folder, DEBUG_FILE_QUEUE);
	if (n >= (int)sizeof(folder))
		return err_set(err, -ENAMETOOLONG, "%s: path too long", d->folder);
	if (!d->queue)
		rc = spool_writer_open(folder, &limits, &d->queue, err);
	if (rc < 0)
		return rc;
	return spool_append(d->queue, SPOOL_INTERVAL, record,
			    debug_file_encode(news, id, record), NULL, err);
}

static void tell_courier(struct debug_files *d, struct module *o, uint32_t now_s)
{
	bool wanted = o->debug.file == READER_DEBUG_MISSING;
	struct err err = {""};

	if (o->debug.file == READER_DEBUG_NEEDLESS || o->debug.tell_s > now_s)
		return;
	o->debug.tell_s = now_s + AGAIN_S;
	if (!may_be_told(d, o->uid, now_s)) {
		d->refused++;
		return;
	}
	int rc = queue_news(d, wanted ? DEBUG_FILE_WANTED : DEBUG_FILE_USED,
			    &o->debug.id, &err);
	if (rc < 0) {
		if (log_repeat_due(&d->log, clock_boottime_ns()))
			log_warn("%s: no debug files are fetched", err.text);
		return;
	}
	if (log_repeat_over(&d->log))
		log_info("%s: debug files are fetched again", d->folder);
	o->debug.tell_s = now_s + TOLD_S;
	d->wanted += wanted;
}

/* ---- what came ------------------------------------------------------------------- */

/* 0: nothing is there. An empty file says that the server has none. */
static uint64_t find_fetched(const struct debug_files *d, const struct build_id *id)
{
	char name[DEBUG_FILE_PATH_BYTES], path[PATH_MAX];
	struct stat st;

	debug_file_path(id, name);
	int n = snprintf(path, sizeof(path), "%s/%s", d->folder, name);
	if (n >= (int)sizeof(path) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !st.st_size)
		return 0;
	return st.st_ino;
}

static bool take_fetched(const struct debug_files *d, struct modules *m,
			 struct module *o)
{
	if (o->debug.file != READER_DEBUG_MISSING)
		return false;
	uint64_t inode = find_fetched(d, &o->debug.id);
	if (!inode || inode == o->debug.tried)
		return false;
	o->debug.tried = inode;
	o->debug.looked = o->debug.refused = false;
	if (o->fd >= 0)
		reader_forget_file(m->reader, o->fd);
	return true;
}

static void ask_what_is_missing(const struct debug_files *d, struct modules *m,
				struct module *o)
{
	struct reader_debug a = {.file = READER_DEBUG_NEEDLESS};
	int rc = reader_read_debug(m->reader, o->fd, o->uid, &a);

	if (rc == -EAGAIN || rc == -EBUSY)
		return; /* no child can be had now */
	o->debug.looked = true;
	o->debug.refused = rc < 0;
	if (rc < 0)
		return;
	o->debug.id = a.id;
	o->debug.file = (enum reader_debug_file)a.file;
	if (a.file == READER_DEBUG_FETCHED)
		o->debug.tried = find_fetched(d, &a.id);
}

/* ---- all ------------------------------------------------------------------------- */

void debug_files_look(struct debug_files *d, struct modules *m, uint32_t now_s,
		      bool at_once)
{
	unsigned looks = 0;
	bool came = false;

	if (!*d->folder || (!at_once && d->looked_s + LOOK_S > now_s))
		return;
	d->looked_s = now_s;
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *o = &m->all[i];
		if (!o->name || !o->sampled)
			continue;
		came = take_fetched(d, m, o) || came;
		if (o->fd < 0)
			continue;
		if (!o->debug.looked && looks < LOOKS_MAX) {
			ask_what_is_missing(d, m, o);
			looks++;
		}
		tell_courier(d, o, now_s);
	}
	if (came)
		name_cache_forget(&m->names);
}

bool debug_files_give_up(struct module_debug *d)
{
	if (d->refused || (d->looked && d->file != READER_DEBUG_FETCHED))
		return false;
	d->refused = true;
	if (d->looked)
		d->file = READER_DEBUG_MISSING;
	return true;
}

void debug_files_close(struct debug_files *d)
{
	spool_writer_close(d->queue);
	d->queue = NULL;
}
