/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cacct: use, energy and emissions of jobs, in the style of sacct. */
#include "cli/cacct/cacct.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cacct/text.h"
#include "lib/fs.h"

/* Prints an error. It may contain a server's text, so terminal controls are
 * replaced. */
static int print_failure(const struct err *err)
{
	auto_buf struct buf text = {.max = 16 << 10};

	text_put(&text, TEXT_PLAIN, err_text(err));
	(void)fprintf(stderr, "cacct: error: %s\n", text.data ? text.data : "failed");
	return EXIT_FAILURE;
}

static int run_cacct(struct cacct *c, struct buf *out, struct err *err)
{
	auto_api struct api *api = NULL;
	int rc;

	if (!c->site.api.url)
		return err_set(err, -EINVAL,
			       "the address of the API is not set: give --api.url, "
			       "CEEMS_API_URL or /etc/ceems/cacct.yaml (see cacct(1))");
	rc = api_new(&c->site.api, &api, err);
	if (rc < 0)
		return err_prefix(err, rc, "the API at %.100s", c->site.api.url);
	switch (c->command) {
	case CACCT_REPORT:
		return cacct_report(c, api, out, err);
	case CACCT_USAGE:
		return cacct_usage(c, api, out, err);
	case CACCT_SERIES:
		return cacct_series(c, api, out, err);
	default:
		return cacct_table(c, api, out, err);
	}
}

int main(int argc, char **argv)
{
	static struct cacct c;
	auto_buf struct buf out = {.max = (size_t)2 << 30};
	struct err err = {""};

	/* for character widths only; numbers and words stay as in C */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	int rc = cacct_options(argc, argv, time(NULL), &c, &out, &err);
	if (rc == 0 && c.command != CACCT_PRINTED)
		rc = run_cacct(&c, &out, &err);
	if (rc == 0 && out.len && fs_write_all(STDOUT_FILENO, out.data, out.len) < 0)
		rc = err_set(&err, -EIO, "cannot write the output");
	cacct_done(&c);
	return rc < 0 ? print_failure(&err) : EXIT_SUCCESS;
}
