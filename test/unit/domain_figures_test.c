/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's statistics of a domain, as records in a real ring. */
#include <string.h>

#include "contrib/libvirt/domain_figures.h"
#include "lib/clock.h"
#include "lib/records/ring.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define UUID "3f1d2c7a-0000-4000-8000-00000000002a"
#define NOW_S 1700000000ull

static struct err err;

struct lab {
	char folder[64], ring_path[128];
	struct ring ring;
	struct domain_figures figures;
	struct record last;
};

static void lab_init(struct lab *l)
{
	bool made;

	*l = (struct lab){.figures = {.uuid = UUID}};
	scratch_make(l->folder);
	(void)snprintf(l->ring_path, sizeof(l->ring_path), "%s/ring", l->folder);
	if (ring_consumer_open(l->ring_path, RING_SLOTS_MIN, &l->ring, &made, &err) < 0)
		fail_msg("%s", err.text);
}

static void lab_done(struct lab *l)
{
	ring_consumer_close(&l->ring);
	scratch_remove(l->folder);
}

static void send_figures(struct lab *l)
{
	assert_int_equal(domain_figures_send(&l->figures, l->ring_path,
					     NOW_S * NSEC_PER_SEC, &err),
			 0);
}

static bool next_record(struct lab *l)
{
	unsigned char data[RING_RECORD_MAX];
	size_t len = 0;
	uint64_t pos = 0;

	if (ring_peek(&l->ring, data, &len, &pos) != 1)
		return false;
	assert_int_equal(record_decode(data, len, &l->last, &err), 0);
	ring_release(&l->ring, pos);
	assert_int_equal(l->last.type, RECORD_HELLO);
	assert_int_equal(l->last.manager, MANAGER_LIBVIRT);
	assert_string_equal(l->last.unit, UUID);
	assert_int_equal(l->last.flags & RECORD_CUT, 0);
	return true;
}

static void statistics_become_figures(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l);
	struct domain_figures *f = &l.figures;
	domain_figures_number(f, "balloon.current", 65536);
	domain_figures_number(f, "balloon.maximum", 131072);
	domain_figures_number(f, "balloon.available", 60000);
	domain_figures_number(f, "balloon.last-update", NOW_S - 5);
	domain_figures_number(f, "block.count", 1);
	domain_figures_text(f, "block.0.name", "vda");
	domain_figures_text(f, "block.0.path", "/srv/images/vda.img");
	domain_figures_number(f, "block.0.rd.bytes", 4096);
	domain_figures_number(f, "block.0.wr.reqs", 7);
	domain_figures_text(f, "net.0.name", "vnet3");
	domain_figures_number(f, "net.0.rx.bytes", 100);
	domain_figures_number(f, "net.0.tx.pkts", 2);
	domain_figures_number(f, "net.0.rx.errs", 9);
	send_figures(&l);
	assert_true(next_record(&l));
	assert_int_equal(l.last.figures_count, 3);
	const struct record_figures *got = l.last.figures;
	assert_int_equal(got[0].kind, FIGURES_MEMORY);
	assert_int_equal(got[0].known, 1u << FIGURE_BALLOON | 1u << FIGURE_TOTAL);
	assert_int_equal(got[0].values[FIGURE_BALLOON], 64 << 20);
	assert_int_equal(got[1].kind, FIGURES_DISK);
	assert_string_equal(got[1].name, "vda");
	assert_int_equal(got[1].known, 1u << FIGURE_IN_BYTES | 1u << FIGURE_OUT);
	assert_int_equal(got[1].values[FIGURE_IN_BYTES], 4096);
	assert_int_equal(got[1].values[FIGURE_OUT], 7);
	assert_int_equal(got[2].kind, FIGURES_INTERFACE);
	assert_string_equal(got[2].name, "vnet3");
	assert_int_equal(got[2].values[FIGURE_IN_BYTES], 100);
	assert_int_equal(got[2].values[FIGURE_OUT], 2);
	assert_false(next_record(&l));
	lab_done(&l);
}

static void a_guest_that_is_not_heard_of_says_nothing_of_its_memory(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l);
	domain_figures_number(&l.figures, "balloon.current", 65536);
	domain_figures_number(&l.figures, "balloon.unused", 60000);
	domain_figures_number(&l.figures, "balloon.last-update",
			      NOW_S - DOMAIN_FIGURES_OLD_S - 1);
	send_figures(&l);
	assert_true(next_record(&l));
	assert_int_equal(l.last.figures[0].known, 1u << FIGURE_BALLOON);
	lab_done(&l);
}

static void many_devices_take_several_records(void **state)
{
	(void)state;
	struct lab l;
	char field[32], name[RECORD_FIGURES_NAME_MAX];
	lab_init(&l);
	for (unsigned i = 0; i < 2 * DOMAIN_DISKS_MAX; i++) {
		/* the longest that fit: all of a record must be in its slot */
		(void)snprintf(name, sizeof(name), "%031u", i);
		(void)snprintf(field, sizeof(field), "block.%u.name", i);
		domain_figures_text(&l.figures, field, name);
		(void)snprintf(field, sizeof(field), "block.%u.rd.bytes", i);
		domain_figures_number(&l.figures, field, i);
		(void)snprintf(field, sizeof(field), "block.%u.wr.bytes", i);
		domain_figures_number(&l.figures, field, i);
	}
	send_figures(&l);
	unsigned devices = 0, records = 0;
	while (next_record(&l)) {
		for (uint32_t i = 0; i < l.last.figures_count; i++)
			assert_int_equal(l.last.figures[i].values[FIGURE_IN_BYTES],
					 devices++);
		records++;
	}
	assert_int_equal(devices, DOMAIN_DISKS_MAX);
	assert_int_equal(records, DOMAIN_DISKS_MAX / RECORD_FIGURES_MAX);
	lab_done(&l);
}

static void odd_names_are_nothing(void **state)
{
	(void)state;
	struct lab l;
	static const char *const fields[] = {"",
					     "block",
					     "block.",
					     "block.0",
					     "block.-1.rd.bytes",
					     "block.99999999999999999999.rd.bytes",
					     "block.0.",
					     "block.0x.rd.bytes",
					     "net.16.rx.bytes",
					     "balloon.",
					     "balloon.rss",
					     "net..rx.bytes",
					     "block.0rd.bytes"};
	char name[RECORD_FIGURES_NAME_MAX + 1];
	lab_init(&l);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		domain_figures_number(&l.figures, fields[i], 1);
		domain_figures_text(&l.figures, fields[i], "x");
	}
	/* too large to be KiB, a name that would have to be cut, and one without */
	domain_figures_number(&l.figures, "balloon.current", UINT64_MAX);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	domain_figures_text(&l.figures, "block.1.name", name);
	domain_figures_number(&l.figures, "block.1.rd.bytes", 1);
	domain_figures_number(&l.figures, "net.1.rx.bytes", 1);
	send_figures(&l);
	assert_false(next_record(&l));
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics_become_figures),
		cmocka_unit_test(
			a_guest_that_is_not_heard_of_says_nothing_of_its_memory),
		cmocka_unit_test(many_devices_take_several_records),
		cmocka_unit_test(odd_names_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
