/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/unit/cacct_answers.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/http/json.h"
#include "test/unit/unit.h"

struct json_object *load_answer(const char *name)
{
	static const struct http_json_limits limits = {.bytes_max = 1 << 20,
						       .depth_max = 24};
	auto_buf struct buf text = BUF_INIT;
	struct json_object *o = NULL;
	char path[128];
	struct err err;

	(void)snprintf(path, sizeof(path), "test/fixture/api/%s", name);
	if (fs_read_buf_at(AT_FDCWD, path, 1 << 20, &text, &err) < 0)
		fail_msg("%s", err.text);
	const char *body = strchr(text.data, '\n'); /* behind the status */
	if (http_json_object(body, strlen(body), &limits, &o, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return o;
}

void set_environment(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "UTC", 1);
	tzset();
}
