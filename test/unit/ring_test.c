/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/unit/ring_fixture.h"

#include <errno.h>
#include <sys/prctl.h>

static char text[RING_RECORD_MAX + 1];

#define CONSUMED(f, wanted)                                                            \
	assert_string_equal(consume_text(&(f)->consumer, text), wanted)

/* ---- the consumer's file --------------------------------------------------------- */

static void slot_memory_is_really_allocated(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	unsigned char pages[(RING_HEADER_BYTES + SLOTS * RING_SLOT_BYTES) / 4096];

	assert_int_equal(stat(f->path, &st), 0);
	assert_true((size_t)st.st_blocks * 512 >= f->consumer.bytes);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(mincore(f->consumer.header, f->consumer.bytes, pages), 0);
	for (size_t i = 0; i < sizeof(pages); i++)
		assert_true(pages[i] & 1);
}

static void second_consumer_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ring r;
	bool made;

	assert_int_equal(ring_consumer_open(f->path, SLOTS, &r, &made, &f->err),
			 -EBUSY);
	/* nor by asking for another size, which would replace the ring */
	assert_int_equal(ring_consumer_open(f->path, SLOTS * 2, &r, &made, &f->err),
			 -EBUSY);
	assert_non_null(strstr(f->err.text, "another consumer"));
	assert_int_equal(publish_text(&f->producer, "x"), 0);
	CONSUMED(f, "x");
}

static void ring_that_lost_its_name_is_not_in_place(void **state)
{
	struct fixture *f = *state;

	assert_true(ring_in_place(&f->consumer, f->path));
	assert_int_equal(rename(f->path, f->other), 0);
	assert_false(ring_in_place(&f->consumer, f->path));
	assert_true(ring_in_place(&f->consumer, f->other));
	/* something else in its place */
	int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_false(ring_in_place(&f->consumer, f->path));
	assert_int_equal(unlink(f->other), 0);
	assert_false(ring_in_place(&f->consumer, f->path));
}

static const char *text_that_came(struct fixture *f, const char *record)
{
	static char buf[RING_RECORD_MAX + 1];

	if (ring_send(f->path, geteuid(), record, strlen(record), &f->err) < 0)
		return f->err.text;
	return consume_text(&f->consumer, buf);
}

static void assert_put_back(struct fixture *f, const char *waiting)
{
	char buf[RING_RECORD_MAX + 1];
	struct stat st, spare;
	bool made = true;
	char name[160];

	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_false(made);
	assert_string_equal(consume_text(&f->consumer, buf), waiting);
	snprintf(name, sizeof(name), "%s%s", f->path, RING_SPARE);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_int_equal(lstat(name, &spare), 0);
	assert_true(st.st_ino == spare.st_ino && st.st_nlink == 2);
	assert_true(ring_in_place(&f->consumer, f->path));
}

static void ring_removed_by_name_takes_no_record_along(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlink(f->path), 0);
	assert_string_equal(text_that_came(f, "while it is read"), "while it is read");
	assert_int_equal(ring_send(f->path, geteuid(), "later", 5, &f->err), 0);
	assert_put_back(f, "later");
	assert_string_equal(text_that_came(f, "after"), "after");
}

static void ring_overwritten_by_name_takes_no_record_along(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlink(f->path), 0);
	put(f->path, 0600, "CEEMSRNG", 8, 0, 0);
	assert_int_equal(ring_send(f->path, geteuid(), "meanwhile", 9, &f->err), 0);
	assert_put_back(f, "meanwhile");
	/* and a ring of the right format that is another file's copy */
	assert_int_equal(unlink(f->path), 0);
	put(f->path, 0600, f->consumer.header, f->consumer.bytes, 0, 0);
	assert_int_equal(ring_send(f->path, geteuid(), "again", 5, &f->err), 0);
	assert_put_back(f, "again");
}

static void spare_name_that_is_lost_is_given_again(void **state)
{
	struct fixture *f = *state;
	char name[160];

	snprintf(name, sizeof(name), "%s%s", f->path, RING_SPARE);
	assert_int_equal(unlink(name), 0);
	assert_false(ring_in_place(&f->consumer, f->path));
	assert_string_equal(text_that_came(f, "one name"), "one name");
	assert_int_equal(ring_send(f->path, geteuid(), "waits", 5, &f->err), 0);
	assert_put_back(f, "waits");
	assert_int_equal(remove_ring(f->path), 0);
	assert_int_equal(ring_send(f->path, geteuid(), "lost", 4, &f->err), -ENOENT);
}

/* Wrong head or tail: seen, and not taken over by the next consumer. */
static void assert_not_sound(struct fixture *f, uint64_t *at, uint64_t value)
{
	bool made = false;

	assert_true(ring_is_sound(&f->consumer));
	*at = value;
	assert_false(ring_is_sound(&f->consumer));
	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_true(made);
	assert_true(ring_is_sound(&f->consumer));
	ring_detach(&f->producer);
	assert_int_equal(ring_attach(f->path, geteuid(), &f->producer, &f->err), 0);
}

static void head_or_tail_that_something_else_wrote_is_noticed(void **state)
{
	struct fixture *f = *state;
	static const uint64_t wrong[] = {1ull << 20, 1ull << 63, 0xdeadbeefdeadbeef};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_not_sound(f, &f->consumer.header->head, wrong[i]);
		assert_not_sound(f, &f->consumer.header->tail, wrong[i]);
	}
	/* so near that the distance is a possible one: holes that nobody fills */
	assert_not_sound(f, &f->consumer.header->head, 3);
	assert_int_equal(publish_text(&f->producer, "a"), 0);
	CONSUMED(f, "a");
}

static void every_state_of_the_protocol_is_sound(void **state)
{
	struct fixture *f = *state;

	for (unsigned round = 0; round < 5 * SLOTS; round++) {
		unsigned n = round % (SLOTS + 1);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(publish_text(&f->producer, "x"), 0);
			assert_true(ring_is_sound(&f->consumer));
		}
		if (n == SLOTS)
			assert_int_equal(publish_text(&f->producer, "x"), -ENOBUFS);
		for (unsigned i = 0; i < n; i++) {
			CONSUMED(f, "x");
			assert_true(ring_is_sound(&f->consumer));
		}
	}
	/* a producer that died before moving head, a consumer before moving tail */
	assert_int_equal(publish_text(&f->producer, "a"), 0);
	f->consumer.header->head--;
	assert_true(ring_is_sound(&f->consumer));
	CONSUMED(f, "a");
	assert_true(ring_is_sound(&f->consumer));
	f->consumer.header->tail--;
	assert_true(ring_is_sound(&f->consumer));
	CONSUMED(f, "(empty)");
	assert_true(ring_is_sound(&f->consumer));
}

static void consumer_of_bad_geometry_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ring r;
	bool made;

	assert_int_equal(ring_consumer_open(f->other, 100, &r, &made, &f->err),
			 -EINVAL);
	assert_int_equal(access(f->other, F_OK), -1);
}

static void consumer_replaces_what_is_no_ring(void **state)
{
	struct fixture *f = *state;
	char target[160];
	struct stat st;
	bool made = false;

	ring_consumer_close(&f->consumer);
	/* a link is replaced itself; what it points at is left alone */
	snprintf(target, sizeof(target), "%s/ring.new", f->folder);
	put(target, 0644, "stale", 5, 0, 0);
	assert_int_equal(remove_ring(f->path), 0);
	put(f->other, 0644, "precious", 8, 0, 0);
	assert_int_equal(symlink(f->other, f->path), 0);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_true(made);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat(f->other, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(access(target, F_OK), -1);
}

static void consumer_replaces_a_ring_of_another_size(void **state)
{
	struct fixture *f = *state;
	bool made = false;

	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS * 2, &f->consumer, &made, &f->err),
		0);
	assert_true(made);
	assert_non_null(strstr(f->err.text, "16 slots, wanted 32"));
	assert_int_equal(f->consumer.count, SLOTS * 2);
}

static void consumer_replaces_a_ring_with_impossible_slots(void **state)
{
	struct fixture *f = *state;
	uint64_t word = ring_word(7, RING_FREE, 0, 0);
	bool made = false;

	ring_consumer_close(&f->consumer);
	edit(f->path, RING_HEADER_BYTES + 5 * RING_SLOT_BYTES, &word, 8);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_true(made);
	assert_non_null(strstr(f->err.text, "inconsistent"));
}

static void restarted_consumer_goes_on_where_it_was(void **state)
{
	struct fixture *f = *state;
	bool made = true;

	assert_int_equal(publish_text(&f->producer, "a"), 0);
	assert_int_equal(publish_text(&f->producer, "b"), 0);
	CONSUMED(f, "a");
	ring_consumer_close(&f->consumer);
	assert_int_equal(publish_text(&f->producer, "c"), 0);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_false(made);
	CONSUMED(f, "b");
	CONSUMED(f, "c");
	CONSUMED(f, "(empty)");
}

static void
consumer_that_dies_between_peek_and_release_sees_the_record_again(void **state)
{
	struct fixture *f = *state;
	uint64_t pos = 99, again = 98;
	size_t len;
	bool made;

	assert_int_equal(publish_text(&f->producer, "once"), 0);
	assert_int_equal(ring_peek(&f->consumer, text, &len, &pos), 1);
	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_int_equal(ring_peek(&f->consumer, text, &len, &again), 1);
	/* the position tells that it was applied already */
	assert_int_equal(again, pos);
	ring_release(&f->consumer, again);
	CONSUMED(f, "(empty)");
}

static void consumer_that_dies_between_slot_and_tail_goes_on(void **state)
{
	struct fixture *f = *state;
	bool made = true;

	assert_int_equal(publish_text(&f->producer, "a"), 0);
	CONSUMED(f, "a");
	assert_int_equal(publish_text(&f->producer, "b"), 0);
	f->consumer.header->tail = 0; /* as if the last store was never made */
	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_false(made);
	CONSUMED(f, "b");
	assert_int_equal(f->consumer.header->tail, 2);
}

static void release_of_a_position_that_is_not_the_next_does_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(publish_text(&f->producer, "a"), 0);
	ring_release(&f->consumer, 1);
	ring_release(&f->consumer, ~0ull);
	CONSUMED(f, "a");
	ring_release(&f->consumer, 0);
	assert_int_equal(f->consumer.header->tail, 1);
}

static void producer_with_a_replaced_ring_keeps_out_of_the_new_one(void **state)
{
	struct fixture *f = *state;
	bool made = false;

	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS * 2, &f->consumer, &made, &f->err),
		0);
	/* the old mapping is still memory: nothing breaks, nothing is mixed up */
	assert_int_equal(publish_text(&f->producer, "to the old one"), 0);
	CONSUMED(f, "(empty)");
	ring_detach(&f->producer);
	assert_int_equal(ring_attach(f->path, geteuid(), &f->producer, &f->err), 0);
	assert_int_equal(publish_text(&f->producer, "to the new one"), 0);
	CONSUMED(f, "to the new one");
}

/* ---- records --------------------------------------------------------------------- */

static void records_come_out_in_order_and_whole(void **state)
{
	struct fixture *f = *state;
	char big[RING_RECORD_MAX];
	size_t len;
	uint64_t pos;

	for (int round = 0; round < 100; round++) {
		char a[32], b[32];
		snprintf(a, sizeof(a), "a%d", round);
		snprintf(b, sizeof(b), "b%d", round);
		assert_int_equal(publish_text(&f->producer, a), 0);
		assert_int_equal(publish_text(&f->producer, b), 0);
		CONSUMED(f, a);
		CONSUMED(f, b);
	}
	memset(big, 'x', sizeof(big));
	assert_int_equal(ring_publish(&f->producer, big, sizeof(big)), 0);
	assert_int_equal(ring_peek(&f->consumer, text, &len, &pos), 1);
	assert_int_equal(len, sizeof(big));
	assert_memory_equal(text, big, sizeof(big));
	ring_release(&f->consumer, pos);
	assert_int_equal(ring_publish(&f->producer, big, sizeof(big) + 1), -EMSGSIZE);
	assert_int_equal(ring_publish(&f->producer, "", 0), 0);
	CONSUMED(f, "");
	assert_int_equal(f->consumer.header->torn, 0);
	assert_int_equal(f->consumer.header->dropped, 0);
}

static void send_attaches_publishes_and_detaches(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ring_send(f->path, geteuid(), "hook", 4, &f->err), 0);
	CONSUMED(f, "hook");
	assert_int_equal(ring_send(f->other, geteuid(), "hook", 4, &f->err), -ENOENT);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(ring_send(f->path, geteuid(), "x", 1, &f->err), 0);
	assert_int_equal(ring_send(f->path, geteuid(), "x", 1, &f->err), -ENOBUFS);
	assert_non_null(strstr(f->err.text, "full"));
}

static void full_ring_drops_newest_and_counts(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (unsigned i = 0; i < SLOTS; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		assert_int_equal(publish_text(&f->producer, name), 0);
	}
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(publish_text(&f->producer, "dropped"), -ENOBUFS);
	assert_int_equal(f->consumer.header->dropped, 5);
	for (unsigned i = 0; i < SLOTS; i++) { /* drops never overwrite */
		snprintf(name, sizeof(name), "r%u", i);
		CONSUMED(f, name);
	}
	CONSUMED(f, "(empty)");
	assert_int_equal(publish_text(&f->producer, "room again"), 0);
	CONSUMED(f, "room again");
}

static void lap_numbers_wrap(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = (uint64_t)SLOTS * RING_LAP_MASK + SLOTS - 3;
	char name[16];

	/* the ring as it is after 2^20 laps but three records */
	f->consumer.header->head = f->consumer.header->tail = start;
	for (uint64_t pos = start; pos < start + SLOTS; pos++)
		f->consumer.slots[pos % SLOTS].word =
			ring_word(ring_lap_of(pos, SLOTS), RING_FREE, 0, 0);
	for (unsigned i = 0; i < 3 * SLOTS; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		assert_int_equal(publish_text(&f->producer, name), 0);
		if (i < 5) /* keep it nearly full over the wrap */
			continue;
		snprintf(name, sizeof(name), "w%u", i - 5);
		CONSUMED(f, name);
	}
	for (unsigned i = 3 * SLOTS - 5; i < 3 * SLOTS; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		CONSUMED(f, name);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(publish_text(&f->producer, "fill"), 0);
	assert_int_equal(publish_text(&f->producer, "over"), -ENOBUFS);
	assert_int_equal(f->consumer.header->torn, 0);
	assert_int_equal(ring_lap_of(f->consumer.header->tail, SLOTS), 2);
}

static void damaged_record_is_a_counted_hole(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(publish_text(&f->producer, "a"), 0);
	assert_int_equal(publish_text(&f->producer, "b"), 0);
	assert_int_equal(publish_text(&f->producer, "c"), 0);
	f->consumer.slots[0].data[0] ^= 1;
	f->consumer.slots[1].len = ~0u;
	CONSUMED(f, "(hole)");
	CONSUMED(f, "(hole)");
	CONSUMED(f, "c");
	assert_int_equal(f->consumer.header->torn, 2);
}

/* Any bytes after the ring has been opened: no crash, no endless loop. */
static void overwritten_mapping_neither_crashes_nor_hangs(void **state)
{
	struct fixture *f = *state;
	uint64_t x = 20261121, pos;
	size_t len;

	for (int round = 0; round < 2000; round++) {
		uint64_t *words = (uint64_t *)f->consumer.header;
		size_t n = f->consumer.bytes / 8;
		for (size_t i = 0; i < n; i++) {
			x = x * 6364136223846793005ull + 1442695040888963407ull;
			if (round % 3 == 0 || x >> 60 == 0)
				words[i] = x ^ x >> 29;
		}
		for (int i = 0; i < 40; i++) {
			int rc = ring_publish(&f->producer, "x", 1);
			assert_true(rc == 0 || rc == -ENOBUFS || rc == -ESTALE);
			rc = ring_peek(&f->consumer, text, &len, &pos);
			assert_true(rc >= 0 && rc <= 2);
			if (rc == 1)
				ring_release(&f->consumer, pos);
		}
	}
}

/* ---- producers that are gone, or only stand still -------------------------------- */

/* What a producer does up to the point where it is about to publish. */
static struct ring_slot *reserve_only(struct ring *r, uint32_t pid, uint32_t second,
				      bool move_head)
{
	uint64_t pos = r->header->head;
	struct ring_slot *slot = &r->slots[pos % r->count];

	slot->word = ring_word(ring_lap_of(pos, r->count), RING_RESERVED, pid, second);
	if (move_head)
		r->header->head = pos + 1;
	return slot;
}

static uint32_t second_now(void)
{
	return (uint32_t)(clock_boottime_ns() / NSEC_PER_SEC);
}

/* A pid that no process has: a child that was waited for. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void hole_of_a_dead_producer_is_skipped_once(void **state)
{
	struct fixture *f = *state;

	reserve_only(&f->producer, (uint32_t)dead_pid(), second_now(), true);
	assert_int_equal(publish_text(&f->producer, "after"), 0);
	CONSUMED(f, "(hole)");
	CONSUMED(f, "after");
	CONSUMED(f, "(empty)");
	assert_int_equal(f->consumer.header->torn, 1);
}

static void producer_that_died_before_moving_head_holds_up_nobody(void **state)
{
	struct fixture *f = *state;

	reserve_only(&f->producer, (uint32_t)dead_pid(), second_now(), false);
	CONSUMED(f, "(hole)");
	assert_int_equal(f->consumer.header->head, 0); /* one behind tail now */
	assert_int_equal(publish_text(&f->producer, "next"), 0);
	CONSUMED(f, "next");
	assert_int_equal(f->consumer.header->head, 2);
}

struct held {
	pid_t pid;
	int hold, done;
};

/* A child that has reserved a slot and waits to be told to publish. */
static struct held hold_slot(struct fixture *f)
{
	int hold[2], done[2];
	char c = 0;

	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct ring r;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ring_attach(f->path, geteuid(), &r, NULL) < 0)
			_exit(1);
		struct ring_slot *slot = reserve_only(&r, r.pid, second_now(), true);
		uint64_t word = slot->word;
		slot->len = 0;
		slot->crc = 0;
		if (write(done[1], "r", 1) != 1 || read(hold[0], &c, 1) != 1)
			_exit(2);
		bool published = __sync_bool_compare_and_swap(
			&slot->word, word, ring_word_to(word, RING_PUBLISHED));
		if (!published)
			__sync_fetch_and_add(&r.header->torn, 1);
		_exit(published ? 0 : 3);
	}
	close(hold[0]);
	close(done[1]);
	assert_int_equal(read(done[0], &c, 1), 1);
	return (struct held){pid, hold[1], done[0]};
}

static int let_go(struct held h)
{
	int status = -1;

	assert_int_equal(write(h.hold, "g", 1), 1);
	assert_int_equal(waitpid(h.pid, &status, 0), h.pid);
	close(h.hold);
	close(h.done);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void live_stalled_producer_is_never_skipped(void **state)
{
	struct fixture *f = *state;
	struct held h = hold_slot(f);

	assert_int_equal(publish_text(&f->producer, "behind it"), 0);
	assert_int_equal(kill(h.pid, SIGSTOP), 0);
	int status;
	assert_int_equal(waitpid(h.pid, &status, WUNTRACED), h.pid);
	assert_true(WIFSTOPPED(status));
	for (int i = 0; i < 100; i++)
		CONSUMED(f, "(empty)");
	assert_int_equal(kill(h.pid, SIGCONT), 0);
	assert_int_equal(let_go(h), 0);
	CONSUMED(f, "");
	CONSUMED(f, "behind it");
	assert_int_equal(f->consumer.header->torn, 0);
}

static void killed_producer_is_skipped_even_before_it_is_waited_for(void **state)
{
	struct fixture *f = *state;
	struct held h = hold_slot(f);
	siginfo_t info;

	CONSUMED(f, "(empty)");
	assert_int_equal(kill(h.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)h.pid, &info, WEXITED | WNOWAIT), 0);
	CONSUMED(f, "(hole)"); /* a zombie has no memory left to write from */
	assert_int_equal(waitpid(h.pid, NULL, 0), h.pid);
	close(h.hold);
	close(h.done);
	CONSUMED(f, "(empty)");
	assert_int_equal(f->consumer.header->torn, 1);
}

static void reused_pid_is_told_by_its_start_time(void **state)
{
	struct fixture *f = *state;
	struct held h = hold_slot(f);
	uint32_t now = second_now();

	/* the child is alive, and younger than a reservation of a minute ago */
	assert_true(ring_producer_gone(h.pid, (now - 60) & RING_SECOND_MASK));
	assert_false(ring_producer_gone(h.pid, now & RING_SECOND_MASK));
	/* init is older than any reservation, and garbage is nobody */
	assert_false(ring_producer_gone(1, now & RING_SECOND_MASK));
	assert_true(ring_producer_gone(0, now & RING_SECOND_MASK));
	assert_int_equal(let_go(h), 0);
	assert_true(ring_producer_gone(h.pid, now & RING_SECOND_MASK));
}

/* The kernel lets a process choose its name: "a) R 1 (b" must not move the fields. */
static void process_name_with_parentheses_does_not_confuse(void **state)
{
	(void)state;
	int ready[2];
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		auto_close int fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
		if (write(fd, "x) Z 1 (y ", 10) != 10 || write(ready[1], "r", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	uint32_t now = second_now();
	assert_false(ring_producer_gone(pid, now & RING_SECOND_MASK));
	assert_true(ring_producer_gone(pid, (now - 60) & RING_SECOND_MASK));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
}

static bool always_gone(pid_t pid, uint32_t second)
{
	(void)pid;
	(void)second;
	return true;
}

static void late_publish_is_refused_and_counted_as_torn(void **state)
{
	struct fixture *f = *state;
	bool (*real)(pid_t, uint32_t) = ring_producer_gone;
	struct held h = hold_slot(f);

	ring_producer_gone = always_gone; /* wrongly, as no proof ever could */
	CONSUMED(f, "(hole)");
	ring_producer_gone = real;
	for (unsigned i = 0; i < SLOTS; i++) /* the slot has its next owner */
		assert_int_equal(publish_text(&f->producer, "next lap"), 0);
	assert_int_equal(let_go(h), 3);
	assert_int_equal(f->consumer.header->torn, 2);
	for (unsigned i = 0; i < SLOTS; i++)
		CONSUMED(f, "next lap");
	CONSUMED(f, "(empty)");
}

static void taken_slot_at_head_is_left_alone_and_passed_by(void **state)
{
	struct fixture *f = *state;
	struct ring_slot *slot = reserve_only(&f->producer, 1, second_now(), false);
	uint64_t word = slot->word;

	assert_int_equal(publish_text(&f->producer, "elsewhere"), 0);
	assert_int_equal(slot->word, word);
	assert_int_equal(slot->len, 0);
	assert_int_equal(f->consumer.header->head, 2);
}

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_up, fixture_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(slot_memory_is_really_allocated),
		RING_TEST(second_consumer_is_refused),
		RING_TEST(ring_that_lost_its_name_is_not_in_place),
		RING_TEST(ring_removed_by_name_takes_no_record_along),
		RING_TEST(ring_overwritten_by_name_takes_no_record_along),
		RING_TEST(spare_name_that_is_lost_is_given_again),
		RING_TEST(head_or_tail_that_something_else_wrote_is_noticed),
		RING_TEST(every_state_of_the_protocol_is_sound),
		RING_TEST(consumer_of_bad_geometry_is_refused),
		RING_TEST(consumer_replaces_what_is_no_ring),
		RING_TEST(consumer_replaces_a_ring_of_another_size),
		RING_TEST(consumer_replaces_a_ring_with_impossible_slots),
		RING_TEST(restarted_consumer_goes_on_where_it_was),
		RING_TEST(
			consumer_that_dies_between_peek_and_release_sees_the_record_again),
		RING_TEST(consumer_that_dies_between_slot_and_tail_goes_on),
		RING_TEST(release_of_a_position_that_is_not_the_next_does_nothing),
		RING_TEST(producer_with_a_replaced_ring_keeps_out_of_the_new_one),
		RING_TEST(records_come_out_in_order_and_whole),
		RING_TEST(send_attaches_publishes_and_detaches),
		RING_TEST(full_ring_drops_newest_and_counts),
		RING_TEST(lap_numbers_wrap),
		RING_TEST(damaged_record_is_a_counted_hole),
		RING_TEST(overwritten_mapping_neither_crashes_nor_hangs),
		RING_TEST(hole_of_a_dead_producer_is_skipped_once),
		RING_TEST(producer_that_died_before_moving_head_holds_up_nobody),
		RING_TEST(live_stalled_producer_is_never_skipped),
		RING_TEST(killed_producer_is_skipped_even_before_it_is_waited_for),
		RING_TEST(reused_pid_is_told_by_its_start_time),
		RING_TEST(process_name_with_parentheses_does_not_confuse),
		RING_TEST(late_publish_is_refused_and_counted_as_torn),
		RING_TEST(taken_slot_at_head_is_left_alone_and_passed_by),
	};
	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
