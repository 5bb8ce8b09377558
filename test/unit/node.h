/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_NODE_H
#define CEEMS_TEST_NODE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/options.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/prom.h"
#include "test/unit/unit.h"

/* A collector on a fixture tree, and its whole output compared with a golden file
 * (UPDATE_GOLDEN=1 rewrites it). */
struct node {
	struct env env;
	struct options options;
	void *state;
	struct prom *prom;
	struct buf text;
};

static inline void node_init(struct node *n, const char *root)
{
	char path[512];

	memset(n, 0, sizeof(*n));
	snprintf(path, sizeof(path), "%s/proc", root);
	n->env.procfd = fs_opendir_at(AT_FDCWD, path, NULL);
	snprintf(path, sizeof(path), "%s/sys", root);
	n->env.sysfd = fs_opendir_at(AT_FDCWD, path, NULL);
	assert_true(n->env.procfd >= 0 && n->env.sysfd >= 0);
	n->env.cgroupfd = -1;
	n->env.hostname = "host";
	n->options.path_sysfs = (char *)"/sys"; /* as in labels */
	n->env.options = &n->options;
	n->env.realtime_ns = clock_realtime_ns;
	n->env.boottime_ns = clock_boottime_ns;
	n->prom = prom_new(0);
	assert_non_null(n->prom);
}

static inline void node_done(struct node *n, const struct collector *c)
{
	c->close(n->state);
	prom_free(n->prom);
	buf_done(&n->text);
	close(n->env.procfd);
	close(n->env.sysfd);
}

/* Opens the collector; fails the test when that fails. */
static inline void node_open(struct node *n, const struct collector *c)
{
	struct err err = {""};
	int rc = c->open(&n->env, &n->state, &err);

	if (rc < 0)
		print_message("# open: %s\n", err_text(&err));
	assert_int_equal(rc, 0);
}

/* One collection, rendered; text.data is what a client would see. */
static inline int node_collect(struct node *n, const struct collector *c)
{
	struct err err = {""};

	prom_reset(n->prom);
	buf_reset(&n->text);
	buf_puts(&n->text, "");
	int rc = c->collect(n->state, n->prom, &err);
	if (rc == 0)
		assert_int_equal(prom_render(n->prom, PROM_TEXT, &n->text), 0);
	else
		assert_true(err.text[0]);
	return rc;
}

static inline void golden_equal(const struct buf *text, const char *path)
{
	auto_buf struct buf want = BUF_INIT;

	if (getenv("UPDATE_GOLDEN"))
		assert_int_equal(fs_write_atomic_at(AT_FDCWD, path, text->data,
						    text->len, 0644, NULL),
				 0);
	if (fs_read_buf_at(AT_FDCWD, path, 1 << 20, &want, NULL) < 0)
		fail_msg("%s: not there (UPDATE_GOLDEN=1 writes it)", path);
	assert_string_equal(text->data, want.data ? want.data : "");
}

static inline void node_golden(struct node *n, const struct collector *c,
			       const char *path)
{
	assert_int_equal(node_collect(n, c), 0);
	golden_equal(&n->text, path);
}

#endif
