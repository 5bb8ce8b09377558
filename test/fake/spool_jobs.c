/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completion records in a spool as JSON lines; acknowledges nothing.
 *
 *	spool_jobs FOLDER
 */
#include <stdio.h>

#include "lib/job_json.h"
#include "lib/spool.h"

static int print_job(const struct spool_record *rec, struct err *err)
{
	struct buf out = BUF_INIT;
	struct job j;
	int rc = job_decode(rec->data, rec->len, &j, err);

	if (rc < 0)
		return rc;
	job_put_json(&j, &out);
	job_done(&j);
	if (buf_error(&out) == 0)
		printf("%s\n", out.data);
	buf_done(&out);
	return 0;
}

int main(int argc, char *argv[])
{
	struct spool_reader *r;
	struct spool_record rec;
	struct err err = {""};
	int rc = argc == 2 ? spool_reader_open(argv[1], &r, &err)
			   : err_set(&err, -1, "usage: spool_jobs FOLDER");

	if (rc < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while (rc >= 0 && (rc = spool_next(r, &rec, &err)) == 1)
		rc = print_job(&rec, &err);
	spool_reader_close(r);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return rc < 0;
}
