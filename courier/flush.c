/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --flush: sends what is in the spool before the machine goes down, and counts the
 * rest, which a diskless node loses. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "courier/courier.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/records/spool.h"
#include "lib/wait.h"

#define SPOOL_DEFAULT "/var/spool/ceems/ceemsd"
#define AGAIN_MS 1000u
#define LOOK_MS 100u
#define CLOSE_MS 3000u
#define COUNT_MAX 10000000u

struct flush {
	struct courier *courier;
	const struct task *ship;
	int rc; /* of the last round */
	struct err why;
};

/* Records of one spool that no aggregator has; -1: unknown. */
static int64_t count_spool(const char *folder)
{
	struct spool_reader *r = NULL;
	struct spool_record record;
	int64_t n = 0;
	int rc = spool_reader_peek(folder, &r, NULL);

	if (rc < 0)
		return rc == -ENOENT ? 0 : -1;
	while (n < COUNT_MAX && (rc = spool_next(r, &record, NULL)) > 0)
		n++;
	spool_reader_close(r);
	return rc < 0 ? -1 : n;
}

static int64_t count_left(const struct courier *c)
{
	const struct conf_list *l = &c->options.ship_spools;
	int64_t sum = 0;

	for (size_t i = 0; i < l->count; i++) {
		int64_t n = count_spool(l->items[i]);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

static void pause_flush_ms(const struct courier *c, unsigned ms)
{
	const struct timespec slice = {.tv_nsec = LOOK_MS * NSEC_PER_MSEC};

	for (unsigned at = 0; at < ms && !atomic_load(&c->stop); at += LOOK_MS)
		nanosleep(&slice, NULL);
}

static void *send_all(void *arg)
{
	struct flush *f = arg;
	void *state = NULL;

	f->rc = f->ship->open(f->courier, &state, &f->why);
	while (f->rc == 0) {
		struct err err = {""};
		int rc = f->ship->poll(state, &err);
		if (atomic_load(&f->courier->stop))
			break;
		if (rc < 0)
			f->why = err;
		else if (count_left(f->courier) == 0)
			break;
		pause_flush_ms(f->courier, rc < 0 ? AGAIN_MS : LOOK_MS);
	}
	f->ship->close(state);
	return NULL;
}

/* The spool is ceemsd's, whose configuration is read. */
static int choose_spool(struct options *o)
{
	const char *folder = *o->reports_spool ? o->reports_spool : SPOOL_DEFAULT;

	if (o->ship_spools.count)
		return 0;
	o->ship_spools.items = calloc(1, sizeof(*o->ship_spools.items));
	if (!o->ship_spools.items)
		return -ENOMEM;
	o->ship_spools.items[0] = strdup(folder);
	if (!o->ship_spools.items[0])
		return -ENOMEM;
	o->ship_spools.count = 1;
	return 0;
}

static enum program_status say_end(const struct flush *f, int64_t before)
{
	int64_t left = count_left(f->courier);

	if (left == 0) {
		printf("ceems-courier: %" PRId64 " records sent, none left\n", before);
		return PROGRAM_OK;
	}
	if (left < 0)
		printf("ceems-courier: the spool cannot be read: %s\n",
		       f->why.text[0] ? f->why.text : "see the log");
	else
		printf("ceems-courier: %" PRId64 " records could not be sent%s%s\n",
		       left, f->why.text[0] ? ": " : "", f->why.text);
	return PROGRAM_CANNOT;
}

enum program_status courier_flush(struct courier *c, const struct task *ship)
{
	struct flush f = {.courier = c, .ship = ship};
	struct timespec end = wait_in(c->options.flush_timeout_ms);
	pthread_t thread;

	c->options.once = true; /* sends at once */
	if (c->options.aggregator_urls.count == 0) {
		printf("ceems-courier: no --aggregator.url, nothing is sent\n");
		return PROGRAM_OK;
	}
	if (choose_spool(&c->options) < 0 ||
	    pthread_create(&thread, NULL, send_all, &f) != 0) {
		log_error("flush: out of memory");
		return PROGRAM_CANNOT;
	}
	int64_t before = count_left(c);
	if (wait_join(thread, &end) != 0) {
		atomic_store(&c->stop, true); /* ends running requests too */
		end = wait_in(CLOSE_MS);
		if (wait_join(thread, &end) != 0) {
			printf("ceems-courier: a server hangs; %" PRId64
			       " records could not be sent\n",
			       count_left(c));
			fflush(stdout);
			_exit(PROGRAM_CANNOT);
		}
	}
	return say_end(&f, before);
}
