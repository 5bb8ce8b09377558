/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-ringdump: prints a node's ring as JSON lines without removing anything. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/ringview.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/records/ring.h"

#define FOLLOW_POLL_MS 50

enum { EXIT_FINE = 0, EXIT_NO_RING = 1, EXIT_USAGE = 2 };

static const char usage_text[] =
	"Usage: ceems-ringdump [-f] [-s] [RING]\n"
	"Prints the pending and the recent records of a ring as JSON lines, oldest\n"
	"first, without consuming them. RING is " RING_PATH_DEFAULT " by default.\n"
	"\n"
	"  -f, --follow   keep printing new records until interrupted\n"
	"  -s, --state    print only the ring's state, as one JSON object\n"
	"  -h, --help     print this text\n"
	"  -V, --version  print the version\n"
	"\n"
	"Exit status: 0 done, 1 no usable ring or output failed, 2 wrong arguments.\n";

struct options {
	bool follow, state;
	const char *path;
};

static int write_out(struct buf *b)
{
	int rc = buf_error(b);

	if (rc == 0 && b->len)
		rc = fs_write_all(STDOUT_FILENO, b->data, b->len);
	buf_reset(b);
	if (rc < 0)
		fprintf(stderr, "ceems-ringdump: write: %s\n", strerror(-rc));
	return rc;
}

/* Prints from *pos on; with wait it stops at what is not published yet. *pos becomes
 * the next position. */
static int dump_ring(const struct ring *r, uint64_t *pos, bool wait, struct buf *b)
{
	uint64_t first, end;
	struct ringview v;

	ringview_range(r, &first, &end);
	/* never more positions than the ring has slots, whatever the file says */
	if (*pos < first || *pos > end)
		*pos = first;
	for (; *pos != end; ++*pos) {
		ringview_look(r, *pos, &v);
		if (v.state == RINGVIEW_NONE || (v.state == RINGVIEW_RESERVED && wait))
			break;
		if (v.state == RINGVIEW_GONE)
			continue;
		ringview_put_json(b, &v);
		if (b->len > 65536 && write_out(b) < 0)
			return -EIO;
	}
	return write_out(b);
}

static bool is_ring_replaced(const char *path, const struct ring *r)
{
	struct stat st;

	return stat(path, &st) < 0 || (uint64_t)st.st_ino != r->header->inode;
}

static int follow_ring(const struct options *o, struct ring *r, uint64_t pos,
		       struct buf *b)
{
	const struct timespec poll = {.tv_nsec = FOLLOW_POLL_MS * NSEC_PER_MSEC};

	for (;;) {
		if (dump_ring(r, &pos, true, b) < 0)
			return EXIT_NO_RING;
		nanosleep(&poll, NULL);
		if (!is_ring_replaced(o->path, r))
			continue;
		struct ring next;
		if (ring_attach_readonly(o->path, geteuid(), &next, NULL) < 0)
			continue; /* between two daemons: wait for the new one */
		ring_detach(r);
		*r = next;
		pos = 0;
	}
}

static int run_ringdump(const struct options *o)
{
	struct ring r;
	struct err err;
	auto_buf struct buf b = BUF_INIT;
	uint64_t pos = 0;

	if (ring_attach_readonly(o->path, geteuid(), &r, &err) < 0) {
		fprintf(stderr, "ceems-ringdump: %s\n", err.text);
		return EXIT_NO_RING;
	}
	int rc = EXIT_FINE;
	if (o->state) {
		ringview_put_state(&b, o->path, &r, clock_boottime_ns());
		rc = write_out(&b) < 0 ? EXIT_NO_RING : EXIT_FINE;
	} else if (o->follow) {
		rc = follow_ring(o, &r, pos, &b);
	} else {
		rc = dump_ring(&r, &pos, false, &b) < 0 ? EXIT_NO_RING : EXIT_FINE;
	}
	ring_detach(&r);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"follow", no_argument, NULL, 'f'},
		{"state", no_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	struct options o = {.path = RING_PATH_DEFAULT};
	int c;

	while ((c = getopt_long(argc, argv, "fshV", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			o.follow = true;
			break;
		case 's':
			o.state = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return EXIT_FINE;
		case 'V':
			puts("ceems-ringdump " CEEMS_VERSION);
			return EXIT_FINE;
		default:
			fputs("Try ceems-ringdump --help.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind > 1 || (o.follow && o.state)) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	if (argc > optind)
		o.path = argv[optind];
	return run_ringdump(&o);
}
