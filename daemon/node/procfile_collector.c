/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collectors of one procfs file. */
#include "daemon/node/procfile_collector.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/node/procfile.h"

struct procfile_state {
	const struct procfile_collector *what;
	struct procfile file;
	struct buf host;
};

void procfile_collector_close(void *state)
{
	struct procfile_state *s = state;

	if (!s)
		return;
	procfile_close(&s->file);
	buf_done(&s->host);
	free(s);
}

int procfile_collector_open(const struct procfile_collector *what,
			    const struct env *env, void **ret_state, struct err *err)
{
	struct procfile_state *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->what = what;
	int rc = procfile_open(&s->file, env->procfd, what->path, err);
	if (rc < 0) {
		procfile_collector_close(s);
		return rc;
	}
	prom_render_labels(&s->host, &(struct prom_label){"hostname", env->hostname},
			   1);
	*ret_state = s;
	return 0;
}

int procfile_collector_collect(void *state, struct prom *out, struct err *err)
{
	struct procfile_state *s = state;
	const char *text;
	size_t len;
	int rc = procfile_read(&s->file, &text, &len, err);

	return rc < 0 ? rc : s->what->put(text, len, &s->host, out, err);
}
