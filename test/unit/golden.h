/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_GOLDEN_H
#define CEEMS_TEST_GOLDEN_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/prom.h"
#include "test/unit/unit.h"

/* Compares text with test/golden/<name>; with UPDATE_GOLDEN=1 writes it instead (the
 * difference is then reviewed like code). What was got stays in /tmp when it differs.
 */
static inline void golden_check(const char *name, const struct buf *text)
{
	char path[256], got[256];
	struct err err;

	(void)snprintf(path, sizeof(path), "test/golden/%s", name);
	if (getenv("UPDATE_GOLDEN")) {
		if (fs_write_atomic_at(AT_FDCWD, path, text->data, text->len, 0644,
				       &err) < 0)
			fail_msg("%s", err.text);
		return;
	}
	auto_buf struct buf want = BUF_INIT;
	if (fs_read_buf_at(AT_FDCWD, path, 1 << 20, &want, &err) < 0)
		fail_msg("%s", err.text);
	if (want.len == text->len && memcmp(want.data, text->data, want.len) == 0)
		return;
	(void)snprintf(got, sizeof(got), "/tmp/ceems-golden-%s", name);
	(void)fs_write_atomic_at(AT_FDCWD, got, text->data, text->len, 0644, NULL);
	fail_msg("%s differs: diff %s %s (UPDATE_GOLDEN=1 takes the new one)", path,
		 path, got);
}

/* Both formats: <stem>.prom and <stem>.om */
static inline void golden_scrape(const char *stem, struct prom *p)
{
	static const struct {
		enum prom_format format;
		const char *suffix;
	} forms[] = {{PROM_TEXT, "prom"}, {PROM_OPENMETRICS, "om"}};

	for (size_t i = 0; i < 2; i++) {
		auto_buf struct buf text = BUF_INIT;
		char name[128];
		assert_int_equal(prom_render(p, forms[i].format, &text), 0);
		(void)snprintf(name, sizeof(name), "%s.%s", stem, forms[i].suffix);
		golden_check(name, &text);
	}
}

#endif
