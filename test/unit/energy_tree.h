/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_ENERGY_TREE_H
#define CEEMS_TEST_ENERGY_TREE_H

#include <glob.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "daemon/sources/sampler.h"
#include "test/unit/node.h"
#include "test/unit/scratch.h"

/* A collector with its source on a copy of a fixture, with clocks that stand still
 * until they are turned, and no thread. */
struct energy_tree {
	struct node node;
	struct sampler *sampler;
	char root[SCRATCH_PATH];
};

static uint64_t tree_boot_ns, tree_real_ns;

static inline uint64_t tree_boottime(void)
{
	return tree_boot_ns;
}

static inline uint64_t tree_realtime(void)
{
	return tree_real_ns;
}

static inline void tree_turn_ms(uint64_t ms)
{
	tree_boot_ns += ms * NSEC_PER_MSEC;
	tree_real_ns += ms * NSEC_PER_MSEC;
}

static inline void tree_init(struct energy_tree *t, const char *fixture)
{
	memset(t, 0, sizeof(*t));
	scratch_copy(t->root, fixture);
	node_init(&t->node, t->root);
	tree_boot_ns = 1000 * NSEC_PER_SEC;
	tree_real_ns = 1734094387 * NSEC_PER_SEC;
	t->node.env.boottime_ns = tree_boottime;
	t->node.env.realtime_ns = tree_realtime;
}

static inline void tree_done(struct energy_tree *t, const struct collector *c)
{
	node_done(&t->node, c);
	sampler_free(t->sampler);
	scratch_remove(t->root);
}

/* Opens the source as the daemon does. */
static inline void tree_source(struct energy_tree *t, const struct source *source)
{
	assert_int_equal(sampler_new(&t->node.env, 1000, &source, 1, &t->sampler, NULL),
			 0);
	t->node.env.sampler = t->sampler;
}

static inline void tree_open(struct energy_tree *t, const struct collector *c)
{
	tree_source(t, c->source);
	node_open(&t->node, c);
}

static inline void tree_sample_after(struct energy_tree *t, uint64_t ms)
{
	tree_turn_ms(ms);
	sampler_run(t->sampler);
}

/* Writes a file below sys as the kernel would change it: in place. */
__attribute__((format(printf, 3, 4))) static inline void
tree_write(const struct energy_tree *t, const char *path, const char *fmt, ...)
{
	char full[256];
	va_list args;

	snprintf(full, sizeof(full), "%s/sys/%s", t->root, path);
	FILE *f = fopen(full, "r+e");
	if (!f)
		f = fopen(full, "we");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), 0), 0);
	va_start(args, fmt);
	vfprintf(f, fmt, args);
	va_end(args);
	fclose(f);
}

static inline void tree_mkdir(const struct energy_tree *t, const char *path)
{
	char sys[96];

	snprintf(sys, sizeof(sys), "%s/sys", t->root);
	scratch_mkdir(sys, path);
}

static inline void tree_remove(const struct energy_tree *t, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/sys/%s", t->root, path);
	scratch_remove(full);
}

/* Does something to every file below sys that the pattern matches. */
static inline void tree_each(const struct energy_tree *t, const char *pattern,
			     int (*act)(const char *path))
{
	char full[256];
	glob_t found = {0};

	snprintf(full, sizeof(full), "%s/sys/%s", t->root, pattern);
	assert_int_equal(glob(full, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		assert_int_equal(act(found.gl_pathv[i]), 0);
	globfree(&found);
}

static inline void tree_link(const struct energy_tree *t, const char *to,
			     const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/sys/%s", t->root, path);
	assert_int_equal(symlink(to, full), 0);
}

/* The first channel of the name and kind; fails the test when there is none. */
static inline struct source_channel tree_channel(struct energy_tree *t,
						 const struct source *source,
						 enum source_kind kind,
						 const char *name, uint32_t index)
{
	struct source_snapshot s = {0};
	struct source_channel found = {0};
	bool has = false;

	assert_int_equal(sampler_get(t->sampler, source, &s, NULL), 0);
	for (size_t i = 0; i < s.count && !has; i++) {
		const struct source_channel *c = &s.channels[i];
		has = c->kind == kind && c->index == index &&
		      strcmp(c->name, name) == 0;
		if (has)
			found = *c;
	}
	source_snapshot_done(&s);
	if (!has)
		fail_msg("no channel %s %u", name, index);
	return found;
}

static inline uint64_t tree_resets(struct energy_tree *t, const struct source *source)
{
	struct source_snapshot s = {0};

	assert_int_equal(sampler_get(t->sampler, source, &s, NULL), 0);
	uint64_t n = s.resets;
	source_snapshot_done(&s);
	return n;
}

#endif
