/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool spool: prints a spool without removing anything. */
#include "cli/tool/spool.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/spoolview.h"
#include "lib/cleanup.h"
#include "lib/err.h"
#include "lib/records/spool.h"

#define EXIT_CANNOT 2
#define EXIT_USAGE 3

static int fail_spool(const char *folder, const struct err *err)
{
	fprintf(stderr, "ceems_tool: %s: %s\n", folder, err->text);
	return EXIT_CANNOT;
}

static int print_stats(const char *folder)
{
	struct spool_stats s;
	struct err err;

	if (spool_stats(folder, &s, &err) < 0)
		return fail_spool(folder, &err);
	printf("{\"acked\":%llu,\"bytes\":%llu,\"lost_interval\":%llu,"
	       "\"lost_final\":%llu,\"lost_job\":%llu,\"torn_tails\":%llu,"
	       "\"unreadable\":%llu,\"damaged\":%llu}\n",
	       (unsigned long long)s.acked, (unsigned long long)s.bytes,
	       (unsigned long long)s.lost[SPOOL_INTERVAL],
	       (unsigned long long)s.lost[SPOOL_FINAL],
	       (unsigned long long)s.lost[SPOOL_JOB], (unsigned long long)s.torn_tails,
	       (unsigned long long)s.unreadable, (unsigned long long)s.damaged);
	return 0;
}

static int print_records(const char *folder)
{
	auto_buf struct buf line = BUF_INIT;
	struct spool_reader *reader;
	struct spool_record record;
	struct err err;
	int rc = spool_reader_peek(folder, &reader, &err);

	if (rc < 0)
		return fail_spool(folder, &err);
	while ((rc = spool_next(reader, &record, &err)) > 0) {
		buf_reset(&line);
		spoolview_put(&line, record.seq, record.data, record.len);
		if (buf_error(&line) || fputs(line.data, stdout) == EOF)
			break;
	}
	spool_reader_close(reader); /* nothing was acknowledged */
	return rc < 0 ? fail_spool(folder, &err) : rc > 0 ? EXIT_CANNOT : 0;
}

int run_spool(int argc, char **argv)
{
	bool stats = argc > 1 && strcmp(argv[1], "--stats") == 0;

	if (argc != 2 + stats || argv[argc - 1][0] == '-') {
		fputs("ceems_tool: usage: ceems_tool spool [--stats] FOLDER\n", stderr);
		return EXIT_USAGE;
	}
	return stats ? print_stats(argv[argc - 1]) : print_records(argv[argc - 1]);
}
