/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends finished profiles to a spool, as ceems-profiler would.
 *
 *	profile_put FOLDER [MAX_BYTES [KIND]] <LIST
 *
 * A line of LIST: FROM_NS UNTIL_NS SAMPLES FILE NAME=VALUE..., where FILE has the
 * profile's bytes, packed by gzip. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/parse.h"
#include "lib/records/profile_record.h"

static char bytes[PROFILE_PACKED_MAX + 1];

static int read_bytes(const char *path, struct profile_record *r)
{
	auto_fclose FILE *f = fopen(path, "re");

	if (!f)
		return -1;
	r->len = fread(bytes, 1, sizeof(bytes), f);
	r->data = bytes;
	return 0;
}

static int read_line(char *line, struct profile_record *r)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save);
	uint64_t *numbers[] = {&r->from_ns, &r->until_ns, &r->samples};

	for (size_t i = 0; i < 3; i++, word = strtok_r(NULL, " \n", &save)) {
		if (!word || parse_u64(word, numbers[i]) < 0)
			return -1;
	}
	if (!word || read_bytes(word, r) < 0)
		return -1;
	while ((word = strtok_r(NULL, " \n", &save))) {
		char *equals = strchr(word, '=');
		if (!equals || r->label_count == PROFILE_LABELS_MAX)
			return -1;
		*equals = '\0';
		r->labels[r->label_count++] = (struct profile_label){word, equals + 1};
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct spool_limits limits = {.max_bytes = 0};
	struct spool_writer *w = NULL;
	struct err err = {""};
	auto_free char *line = NULL;
	size_t room = 0;

	if (argc < 2 || (argc > 2 && parse_u64(argv[2], &limits.max_bytes) < 0)) {
		fprintf(stderr, "usage: see test/fake/profile_put.c\n");
		return 2;
	}
	int rc = spool_writer_open(argv[1], &limits, &w, &err);
	while (rc == 0 && getline(&line, &room, stdin) > 0) {
		struct profile_record r = {.name = argc > 3 ? argv[3] : "process_cpu"};
		if (read_line(line, &r) < 0)
			rc = err_set(&err, -1, "this line is none");
		else
			rc = profile_record_put(w, &r, &err);
	}
	if (rc == 0)
		rc = spool_sync(w, &err);
	spool_writer_close(w);
	if (rc < 0)
		fprintf(stderr, "profile_put: %s\n", err_text(&err));
	return rc < 0;
}
