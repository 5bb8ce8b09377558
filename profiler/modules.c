/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"

#define CHECK_S 60u     /* a file may be replaced in place */
#define KEEP_ROWS_S 10u /* those of a module seen since are not taken away */
#define REFUSALS_LOGGED 8u
#define KEEP_PLACE_S 600u /* longer than any stack waits for its names */

static void close_module(struct modules *m, struct module *o)
{
	if (o->fd < 0)
		return;
	reader_forget_file(m->reader, o->fd);
	close(o->fd);
	o->fd = -1;
}

void modules_free(struct modules *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		close_module(m, &m->all[i]);
		free(m->all[i].name);
	}
	free(m->all);
	name_cache_free(&m->names);
	python_codes_free(&m->codes);
	jit_maps_free(&m->jit, m->reader);
	*m = (struct modules){.reader = m->reader,
			      .fetches = m->fetches,
			      .kernel = m->kernel,
			      .codes = m->codes,
			      .jit = m->jit};
}

void modules_forget_rows(struct modules *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *o = &m->all[i];
		o->evicted = o->evicted || o->rows.count;
		o->rows = (struct profile_module){0};
		o->users = 0;
	}
}

static bool is_key(const struct module *o, const struct module_key *key)
{
	return o->name && o->key.inode == key->inode && o->key.device == key->device;
}

static bool is_file(const struct module *o, const struct profile_file *f)
{
	return o->file.inode == f->inode && o->file.device == f->device &&
	       o->file.size == f->size && o->file.changed_s == f->changed_s &&
	       o->file.changed_ns == f->changed_ns && o->file.image == f->image;
}

/* All that is known of a file that did not open is what its process says of it: that is
 * nobody else's business. A device's number is soon another's. */
static bool is_for(const struct module *o, uint32_t uid)
{
	return o->file.inode || o->uid == uid;
}

static uint64_t count_image_bytes(const struct module *o)
{
	return o->fd >= 0 && o->file.image ? o->file.size : 0;
}

static uint64_t count_module_rows(const struct module *o)
{
	return o->rows.count;
}

bool modules_is_unsettled(const struct modules *m, uint32_t module)
{
	const struct module *o = &m->all[module];

	return count_image_bytes(o) && o->copies < MODULE_COPIES;
}

int modules_find(const struct modules *m, const struct module_key *key, uint32_t uid,
		 uint32_t now_s)
{
	/* the newest first: a file that was replaced in place has an older module */
	for (uint32_t i = m->count; i-- > 0;) {
		const struct module *o = &m->all[i];
		if (is_key(o, key) && is_for(o, uid) &&
		    o->checked_s + CHECK_S > now_s &&
		    (o->fd >= 0 || !o->segment_count) && !o->evicted &&
		    !(o->waits && o->uid != uid) && !modules_is_unsettled(m, i))
			return (int)i;
	}
	return -ENOENT;
}

/* ---- room for rows --------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	const struct profile_module *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Where the most rows can be put, and how many */
static struct profile_module find_largest_gap(const struct modules *m)
{
	auto_free struct profile_module *all = calloc(m->count + 1, sizeof(*all));
	struct profile_module best = {0};
	uint32_t used = 0, at = 0;

	if (!all)
		return best;
	for (uint32_t i = 0; i < m->count; i++) {
		if (m->all[i].rows.count)
			all[used++] = m->all[i].rows;
	}
	qsort(all, used, sizeof(*all), compare_rows);
	all[used].first = m->row_room;
	for (uint32_t i = 0; i <= used; i++) {
		if (all[i].first - at > best.count)
			best = (struct profile_module){at, all[i].first - at, 0, 0};
		at = all[i].first + all[i].count;
	}
	return best;
}

static struct module *find_oldest_rows(const struct modules *m, uint32_t now_s)
{
	struct module *oldest = NULL;

	for (uint32_t i = 0; i < m->count; i++) {
		struct module *o = &m->all[i];
		if (o->rows.count && o->seen_s + KEEP_ROWS_S <= now_s &&
		    (!oldest || o->seen_s < oldest->seen_s))
			oldest = o;
	}
	return oldest;
}

/* The largest of a user who has more than half of the room, if that is another one than
 * uid: whoever is alone may fill it, but not keep it from others. */
static struct module *find_largest_of_greedy(const struct modules *m, uint32_t uid,
					     uint64_t (*count)(const struct module *o),
					     uint64_t room)
{
	uint64_t lead = 0, sum = 0;
	struct module *largest = NULL;
	uint32_t greedy = uid;

	/* Boyer and Moore's vote: no other can have more than half */
	for (uint32_t i = 0; i < m->count; i++) {
		const struct module *o = &m->all[i];
		uint64_t own = count(o);
		if (o->uid == greedy || lead < own) {
			lead = o->uid == greedy ? lead + own : own - lead;
			greedy = o->uid;
		} else {
			lead -= own;
		}
	}
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *o = &m->all[i];
		if (o->uid != greedy || !count(o))
			continue;
		sum += count(o);
		if (!largest || count(o) > count(largest))
			largest = o;
	}
	return greedy != uid && sum > room / 2 ? largest : NULL;
}

static bool evict_rows(struct modules *m, uint32_t uid, uint32_t now_s)
{
	struct module *o = find_oldest_rows(m, now_s);

	if (!o)
		o = find_largest_of_greedy(m, uid, count_module_rows, m->row_room);
	if (!o)
		return false;
	o->rows.count = 0;
	o->evicted = true;
	m->told[o - m->all] = o->rows;
	m->evictions++;
	return true;
}

/* Twice the gap that was not enough, if so many can be taken away for uid */
static bool make_larger_gap(struct modules *m, struct profile_module *gap, uint32_t uid,
			    uint32_t now_s)
{
	uint32_t wanted = gap->count < m->row_room / 2 ? gap->count * 2 : m->row_room;

	while (gap->count < wanted) {
		if (!evict_rows(m, uid, now_s))
			return false;
		*gap = find_largest_gap(m);
	}
	return true;
}

_Static_assert(PROFILE_PYTHONS_MAX == 64, "a bit each");

/* The number of a layout, which several files may have in common, + 1; 0: no Python */
static uint32_t place_python(struct modules *m, const struct module *o,
			     const struct reader_table *table)
{
	if (table->python_status == -EOPNOTSUPP &&
	    m->pythons_refused++ < REFUSALS_LOGGED)
		log_info(
			"%s: Python 3.%u with free threads or of a version that is not "
			"known: its functions have no names in profiles",
			o->name, table->python.minor);
	if (table->python_status != 0 || !table->segment_count || !m->pythons)
		return 0;
	uint64_t used = 0, own = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		const struct module *p = &m->all[i];
		uint64_t bit = p->rows.count && p->rows.python
				       ? UINT64_C(1) << (p->rows.python - 1)
				       : 0;
		used |= bit;
		own |= p->uid == o->uid ? bit : 0;
	}
	for (uint32_t i = 0; i < PROFILE_PYTHONS_MAX; i++) {
		if (used >> i & 1 &&
		    memcmp(&m->pythons[i], &table->python, sizeof(table->python)) == 0)
			return i + 1;
	}
	/* no user has more than are free, so that there is one for another still */
	if (__builtin_popcountll(own) >= __builtin_popcountll(~used))
		return 0;
	uint32_t free = (uint32_t)__builtin_ctzll(~used);
	m->pythons[free] = table->python;
	return free + 1;
}

/* Without rows its frames are the last that are seen of a stack. */
static void place_rows(struct modules *m, uint32_t index, uint32_t now_s)
{
	struct module *o = &m->all[index];
	struct profile_module gap = find_largest_gap(m);
	struct reader_table table = {.rows_status = -ENODATA};
	int rc = o->fd < 0 ? -EBADF : -E2BIG;

	o->rows = m->told[index] = (struct profile_module){0};
	o->evicted = o->waits = false;
	do {
		if (rc == -EBADF)
			break;
		rc = reader_read_table(m->reader, o->fd, o->uid, gap.count,
				       &m->rows[gap.first], &table);
		rc = rc == 0 ? table.rows_status : rc;
	} while (rc == -E2BIG && make_larger_gap(m, &gap, o->uid, now_s));
	o->waits = rc == -EBUSY;
	if (table.segment_count) {
		memcpy(o->segments, table.segments, sizeof(o->segments));
		o->segment_count = (int)table.segment_count;
	}
	if (rc < 0 || !table.rows) {
		m->without_rows++;
		return;
	}
	o->rows = (struct profile_module){gap.first, table.rows,
					  place_python(m, o, &table), 0};
	__atomic_thread_fence(__ATOMIC_RELEASE);
	m->told[index] = o->rows;
}

/* ---- modules --------------------------------------------------------------------- */

static bool is_needed(const struct module *o, uint32_t now_s)
{
	return o->users || o->seen_s + KEEP_PLACE_S > now_s;
}

/* A place for one more of uid's: a new one, or one that nobody needs. No user has more
 * than are free, so that there is one for another still. */
static int choose_module_place(struct modules *m, uint32_t uid, uint32_t now_s)
{
	uint32_t needed = 0, own = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		bool counts = is_needed(&m->all[i], now_s);
		needed += counts;
		own += counts && m->all[i].uid == uid;
	}
	if (own >= PROFILE_MODULES_MAX - needed)
		return -E2BIG;
	if (m->count == PROFILE_MODULES_MAX) {
		for (uint32_t i = 0; i < m->count; i++) {
			struct module *o = &m->all[i];
			if (is_needed(o, now_s))
				continue;
			close_module(m, o);
			free(o->name);
			name_cache_forget(&m->names);
			*o = (struct module){.fd = -1};
			m->told[i] = o->rows;
			return (int)i;
		}
		return -E2BIG;
	}
	struct module *all = reallocarray(m->all, m->count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	m->all = all;
	all[m->count] = (struct module){.fd = -1};
	return (int)m->count++;
}

/* One that is known, whose file had been let go of or whose rows had been evicted */
static int renew_module(struct modules *m, int index, int *fd, uint32_t uid,
			uint32_t now_s)
{
	struct module *o = &m->all[index];
	bool closed = o->fd < 0, unread = o->evicted || o->waits;

	o->checked_s = now_s;
	o->copies++;
	if (closed) {
		o->fd = steal_fd(fd);
		o->no_names = false;
	}
	if (closed || unread)
		o->uid = uid;
	if (unread)
		place_rows(m, (uint32_t)index, now_s);
	return index;
}

int modules_add(struct modules *m, int fd, const struct profile_file *file,
		const char *path, const struct module_key *key, uint32_t uid,
		uint32_t now_s, struct err *err)
{
	auto_close int own = fd;
	const char *base = strrchr(path, '/');

	for (uint32_t i = 0; i < m->count; i++) {
		const struct module *o = &m->all[i];
		if (is_key(o, key) && is_file(o, file) && is_for(o, uid))
			return renew_module(m, (int)i, &own, uid, now_s);
	}
	auto_free char *name = strdup(base ? base + 1 : path);
	int index = name ? choose_module_place(m, uid, now_s) : -ENOMEM;
	if (index == -E2BIG)
		return err_set(err, index, "more files than a user's share of %d",
			       PROFILE_MODULES_MAX);
	if (index < 0)
		return err_set(err, index, "out of memory");
	struct module *o = &m->all[index];
	o->name = steal_ptr(&name);
	o->key = *key;
	o->file = *file;
	o->checked_s = o->seen_s = now_s;
	o->uid = uid;
	o->copies = 1;
	o->fd = steal_fd(&own);
	place_rows(m, (uint32_t)index, now_s);
	return index;
}

static int read_names(struct modules *m, struct module *o, uint64_t address,
		      struct reader_names *ret)
{
	int rc = o->debug.refused
			 ? reader_read_local_names(m->reader, o->fd, o->uid, address,
						   ret)
			 : reader_read_names(m->reader, o->fd, o->uid, address, ret);

	if (rc < 0 && rc != -EAGAIN && m->fetches && debug_files_give_up(&o->debug))
		rc = reader_read_local_names(m->reader, o->fd, o->uid, address, ret);
	return rc;
}

uint32_t modules_find_names(struct modules *m, uint32_t module, uint64_t address,
			    struct name_list *ret)
{
	struct module *o = &m->all[module];
	struct reader_names names = {.count = 0};

	ret->count = 0;
	if (name_cache_find(&m->names, module, address, ret) || o->no_names ||
	    o->fd < 0)
		return ret->count;
	int rc = read_names(m, o, address, &names);
	o->no_names = rc < 0 && rc != -EAGAIN;
	if (rc == 0 && name_cache_add(&m->names, module, address, &names) == 0)
		(void)name_cache_find(&m->names, module, address, ret);
	return ret->count;
}

void modules_let_go(struct modules *m, uint32_t since_s)
{
	for (uint32_t i = 0; i < m->count; i++) {
		if (!m->all[i].users && m->all[i].seen_s < since_s)
			close_module(m, &m->all[i]);
	}
}

bool modules_turn_names(struct modules *m, uint32_t since_s, uint32_t now_s)
{
	if (name_generations_may_turn(&m->jit.names, m->jit.names.now.count, since_s))
		name_generations_turn(&m->jit.names, now_s);
	return python_codes_turn(&m->codes, since_s, now_s);
}

uint64_t modules_image_bytes(const struct modules *m)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		bytes += count_image_bytes(&m->all[i]);
	}
	return bytes;
}

uint64_t modules_make_image_room(struct modules *m, uint32_t uid)
{
	struct module *o;

	while ((o = find_largest_of_greedy(m, uid, count_image_bytes,
					   MODULES_IMAGES_MAX)))
		close_module(m, o);
	return MODULES_IMAGES_MAX - modules_image_bytes(m);
}

uint64_t modules_bytes(const struct modules *m)
{
	return modules_image_bytes(m) + m->count * sizeof(*m->all) +
	       m->names.texts.text_bytes +
	       m->names.slot_count * sizeof(*m->names.slots) +
	       m->names.number_room * sizeof(*m->names.numbers) +
	       python_codes_bytes(&m->codes) + name_generations_bytes(&m->jit.names);
}
