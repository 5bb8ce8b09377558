/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end-of-step report: numbers to text and JSON, whole ones in test/golden/. */
#include "spank/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/records/record.h"
#include "test/unit/golden.h"

#define SECOND NSEC_PER_SEC
#define MIB (UINT64_C(1) << 20)
#define WH UINT64_C(3600000000)

static struct step_report plain_step(void)
{
	return (struct step_report){
		.job = 41,
		.step = 0,
		.nodes = 1,
		.wall_ns = 62 * SECOND + SECOND / 2,
		.has_cpu = true,
		.cpu_ns = 118 * SECOND,
		.cpus = 2,
		.has_memory = true,
		.memory_peak_bytes = 310 * MIB,
		.memory_asked_bytes = 512 * MIB,
		.energy = {.unknown = "ceemsd does not measure any on this node"},
	};
}

static struct energy_page_node node_with(uint32_t mask)
{
	struct energy_page_node n = {
		.tick_ns = 100 * SECOND,
		.interval_ns = SECOND,
		.total_mask = mask,
		.dynamic_uj_per_cpu_s = 7200000, /* 7.2 W per busy CPU */
		.idle_uw_per_cpu = 3600000,
	};
	snprintf(n.source[ENERGY_PAGE_PACKAGE], ENERGY_PAGE_SOURCE_MAX, "rapl");
	snprintf(n.source[ENERGY_PAGE_DRAM], ENERGY_PAGE_SOURCE_MAX, "rapl");
	snprintf(n.source[ENERGY_PAGE_PSYS], ENERGY_PAGE_SOURCE_MAX, "rapl");
	return n;
}

#define PARTS (1u << ENERGY_PAGE_PACKAGE | 1u << ENERGY_PAGE_DRAM)
#define HOST (1u << ENERGY_PAGE_HOST)

/* 1 Wh at the tick; now is 10 s later, in which it used nothing but its idle share */
static const struct energy_page_row row = {
	.uj = {[ENERGY_PAGE_PACKAGE] = WH * 3 / 4,
	       [ENERGY_PAGE_DRAM] = WH / 4,
	       [ENERGY_PAGE_HOST] = WH},
	.total_uj = WH,
	.cpu_ns = 118 * SECOND,
	.alloc_mcpu = 2000,
};
static const struct energy_page_now now = {
	.boottime_ns = 101 * SECOND,
	.started_ns = 39 * SECOND,
	.cpu_ns = 118 * SECOND,
	.has_cpu = true,
	.alloc_mcpu = 2000,
};

static struct energy_page_node with_factor(struct energy_page_node n)
{
	n.emission_mg_per_kwh = 56040;
	snprintf(n.emission_provider, sizeof(n.emission_provider), "owid");
	return n;
}

/* Both formats against golden files; each is what a pipe takes at once. */
static void check(const char *stem, const struct step_report *r)
{
	char name[64];
	auto_buf struct buf text = BUF_INIT, json = BUF_INIT;
	text.max = REPORT_MAX;
	json.max = REPORT_MAX;
	report_text(r, &text);
	report_json(r, &json);
	assert_int_equal(buf_error(&text), 0);
	assert_int_equal(buf_error(&json), 0);
	assert_ptr_equal(strchr(json.data, '\n'), json.data + json.len - 1);
	(void)snprintf(name, sizeof(name), "report_%s.txt", stem);
	golden_check(name, &text);
	(void)snprintf(name, sizeof(name), "report_%s.json", stem);
	golden_check(name, &json);
}

static void text_has(const struct step_report *r, const char *what)
{
	auto_buf struct buf b = BUF_INIT;
	report_text(r, &b);
	if (!strstr(b.data, what))
		fail_msg("no \"%s\" in:\n%s", what, b.data);
}

static void text_lacks(const struct step_report *r, const char *what)
{
	auto_buf struct buf b = BUF_INIT;
	report_text(r, &b);
	if (strstr(b.data, what))
		fail_msg("\"%s\" in:\n%s", what, b.data);
}

/* ---- whole reports --------------------------------------------------------------- */

static void energy_comes_per_domain_with_its_source_and_grams(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = with_factor(node_with(PARTS));
	report_take_energy(&r.energy, &n, &row, &now);
	/* the idle share of one second on two CPUs */
	assert_true(r.energy.uj == WH + 7200000);
	assert_true(r.energy.provisional && !r.energy.modelled);
	check("parts", &r);
}

static void hot_functions_are_told_with_their_shares(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	r.hot = (struct hot_page_row){
		.samples = 1046,
		.hz = 100,
		.count = 2,
		.functions = {{.samples = 536, .name = "heat::relax"},
			      {.samples = 9, .name = "[solver+0x1a40]"}}};
	check("functions", &r);
	r.hot.samples = 0;
	text_lacks(&r, "functions");
}

static void counts_are_told_as_far_as_they_are_known(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	r.counts = (struct step_counts){
		.known = COUNTS_HAS_FILES | COUNTS_HAS_NETWORK,
		.values = {300 * MIB, 300, 10 * MIB, 2560, 1000, 2048}};
	check("counts", &r);
	r.counts.known = COUNTS_HAS_NETWORK;
	text_lacks(&r, "files");
	text_has(&r, "  network    about 0.976 KiB received, 2 KiB sent\n");
}

static void cycles_are_told_with_what_they_cover(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	r.counts = (struct step_counts){.known = COUNTS_HAS_CYCLES,
					.values = {[COUNTS_CYCLES] = 3 * r.cpu_ns,
						   [COUNTS_INSTRUCTIONS] = 2 * r.cpu_ns,
						   [COUNTS_EVENTS_NS] = r.cpu_ns}};
	text_has(&r, "  cycles     about 0.66 instructions per cycle at 3 GHz\n");
	text_lacks(&r, "files");
	r.counts.values[COUNTS_CYCLES] = r.cpu_ns;
	r.counts.values[COUNTS_EVENTS_NS] = r.cpu_ns / 2;
	text_has(&r, "about 2 instructions per cycle at 2 GHz, counted in 50 % of its "
		     "CPU time\n");
	auto_buf struct buf json = BUF_INIT;
	report_json(&r, &json);
	assert_non_null(strstr(json.data, "\"counts\":{\"cpu_cycles\":"));
	r.counts.values[COUNTS_CYCLES] = 0;
	text_lacks(&r, "cycles");
	r.counts = (struct step_counts){.known = COUNTS_HAS_NETWORK};
	text_lacks(&r, "cycles");
}

static void gpus_are_told_as_far_as_they_were_read(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	text_lacks(&r, "GPU");
	r.has_gpus = true;
	text_has(&r, "  GPU        not known\n");
	r.counts =
		(struct step_counts){.known = COUNTS_HAS_GPU_BUSY,
				     .values = {[COUNTS_GPU_READ_NS] = 8000000000,
						[COUNTS_GPU_BUSY_NS] = 2000000000,
						[COUNTS_GPU_IDLE_NS] = 5000000000,
						[COUNTS_GPU_MEMORY_BYTES] = 1 << 30}};
	text_has(&r, "  GPU        about 25 % busy, idle for 5 s\n");
	r.counts.known |= COUNTS_HAS_GPU_MEMORY;
	text_has(&r, "idle for 5 s, 1 GiB of memory at most\n");
	/* an instance (MIG) */
	r.counts.known = COUNTS_HAS_GPU_MEMORY;
	text_has(&r, "  GPU        1 GiB of memory at most\n");
	auto_buf struct buf json = BUF_INIT;
	report_json(&r, &json);
	assert_non_null(
		strstr(json.data, "\"counts\":{\"gpu_memory_peak_bytes\":1073741824}"));
}

static void host_energy_names_what_is_in_it(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = with_factor(node_with(HOST));
	snprintf(n.source[ENERGY_PAGE_HOST], ENERGY_PAGE_SOURCE_MAX, "redfish");
	n.flags[ENERGY_PAGE_HOST] = ENERGY_PAGE_STALE;
	r.nodes = 3;
	report_take_energy(&r.energy, &n, &row, &now);
	check("host", &r);
}

static void modelled_energy_says_so(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = {
		.tick_ns = 100 * SECOND, .interval_ns = SECOND, .total_mask = HOST};
	snprintf(n.source[ENERGY_PAGE_HOST], ENERGY_PAGE_SOURCE_MAX, "model");
	n.flags[ENERGY_PAGE_HOST] = ENERGY_PAGE_MODELLED;
	report_take_energy(&r.energy, &n, &row, &now);
	/* "other" is all that the host has: nobody needs to be told twice */
	snprintf(n.source[ENERGY_PAGE_OTHER], ENERGY_PAGE_SOURCE_MAX, "model");
	report_take_energy(&r.energy, &n, &row, &now);
	check("modelled", &r);
}

static void even_a_step_of_microseconds_is_not_free(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = with_factor(node_with(PARTS));
	struct energy_page_row tiny = {
		.uj = {6100}, .total_uj = 6100, .flags = ENERGY_PAGE_ENDED};
	report_take_energy(&r.energy, &n, &tiny, &now);
	assert_int_equal(r.energy.uj, 6100);
	text_has(&r, "0.00000169 Wh");
	text_has(&r, "0.000000094 g CO2e");
}

static void step_younger_than_a_tick_is_estimated_in_total(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = with_factor(node_with(PARTS));
	struct energy_page_now young = now;
	young.started_ns = young.boottime_ns - SECOND / 50;
	young.cpu_ns = SECOND / 100;
	r.wall_ns = SECOND / 50;
	r.cpu_ns = SECOND / 100;
	report_take_energy(&r.energy, &n, NULL, &young);
	/* 7.2 J a CPU-second and 2 x 3.6 W */
	assert_int_equal(r.energy.uj, 72000 + 144000);
	check("young", &r);
}

static void unknown_energy_says_why(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	check("unknown", &r);
	static const struct {
		int rc;
		const char *why;
	} cases[] = {{-ENOENT, "does not measure"},
		     {-ENODATA, "nothing has been measured yet"},
		     {-EPERM, "cannot be read"},
		     {-EPROTO, "cannot be read"},
		     {-EAGAIN, "cannot be read"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		report_no_energy(&r.energy, cases[i].rc);
		text_has(&r, cases[i].why);
		text_lacks(&r, "emissions");
	}
	struct energy_page_node n = node_with(0);
	report_take_energy(&r.energy, &n, &row, &now);
	text_has(&r, "no power sensor and no model");
	/* a daemon that ticks but has no source */
	n = (struct energy_page_node){
		.tick_ns = 100 * SECOND, .interval_ns = SECOND, .total_mask = PARTS};
	report_take_energy(&r.energy, &n, NULL, &now);
	text_has(&r, "no power sensor and no model");
}

static void ended_row_without_provisional_part_is_settled(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = node_with(PARTS);
	struct energy_page_row ended = row;
	ended.flags = ENERGY_PAGE_ENDED;
	report_take_energy(&r.energy, &n, &ended, &now);
	assert_false(r.energy.provisional);
	assert_true(r.energy.uj == WH);
	text_lacks(&r, "provisional");
	ended.provisional_uj = 1;
	report_take_energy(&r.energy, &n, &ended, &now);
	text_has(&r, "1 Wh, provisional");
}

static void stopped_daemon_leaves_what_it_measured(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = node_with(PARTS);
	struct energy_page_now late = now;
	late.boottime_ns = 160 * SECOND;
	report_take_energy(&r.energy, &n, &row, &late);
	assert_true(r.energy.uj == WH);
	check("stopped", &r);
	report_take_energy(&r.energy, &n, NULL, &late);
	text_has(&r, "not known: ceemsd has stopped");
}

static void nothing_known_is_not_printed_as_zero(void **state)
{
	(void)state;
	struct step_report r = {.job = 7, .step = RECORD_STEP_BATCH, .nodes = 1};
	report_no_energy(&r.energy, -ENODATA);
	check("nothing", &r);
}

/* ---- bounds ---------------------------------------------------------------------- */

static void names_from_the_page_cannot_act_on_a_terminal(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	struct energy_page_node n = node_with(PARTS);
	memcpy(n.source[ENERGY_PAGE_PACKAGE], "\033[2J\"\\\n\xff rapl 012", 16);
	n.emission_mg_per_kwh = 1;
	memcpy(n.emission_provider, "\x9b\x1b]0;evil\x07 \"\\ab", 16);
	report_take_energy(&r.energy, &n, &row, &now);
	auto_buf struct buf text = BUF_INIT;
	report_text(&r, &text);
	report_json(&r, &text);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];
		assert_true(c == '\n' || (c >= ' ' && c < 0x7f));
	}
	assert_non_null(strstr(text.data, "(??2J?"));
	assert_non_null(strstr(text.data, "\"provider\":\"???0?evil????ab"));
}

static void largest_numbers_fit_one_write(void **state)
{
	(void)state;
	struct step_report r;
	memset(&r, 0xff, sizeof(r));
	r.energy.unknown = NULL;
	r.has_cpu = r.has_memory = true;
	r.energy.provisional = r.energy.modelled = true;
	for (int i = 0; i < ENERGY_PAGE_DOMAINS; i++) {
		struct report_domain *d = &r.energy.domains[i];
		d->there = d->has_uj = true;
		memset(d->source, 'x', sizeof(d->source) - 1);
		d->source[sizeof(d->source) - 1] = '\0';
	}
	r.hot.count = HOT_FUNCTIONS;
	for (int i = 0; i < (int)HOT_FUNCTIONS; i++) {
		memset(r.hot.functions[i].name, '"', HOT_NAME_BYTES);
		r.hot.functions[i].name[HOT_NAME_BYTES - 1] = '\0';
	}
	memset(r.energy.emission_provider, 'x', ENERGY_PAGE_SOURCE_MAX);
	r.energy.emission_provider[ENERGY_PAGE_SOURCE_MAX - 1] = '\0';
	for (int json = 0; json < 2; json++) {
		auto_buf struct buf b = BUF_INIT;
		b.max = REPORT_MAX;
		json ? report_json(&r, &b) : report_text(&r, &b);
		assert_int_equal(buf_error(&b), 0);
	}
}

/* ---- hints ----------------------------------------------------------------------- */

static void hint_is_given_only_where_something_was_clearly_wasted(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	assert_int_equal(report_hint(&r), HINT_NONE);
	r.cpus = 8; /* 118 s in 62.5 s x 8 */
	assert_int_equal(report_hint(&r), HINT_CPUS);
	text_has(&r, "1.89 of 8 CPUs were busy on average: 2 would have been enough");
	r.cpu_ns = SECOND;
	text_has(&r, "0.016 of 8 CPUs were busy on average: 1 would have been enough");
	r.cpus = 1;
	text_has(&r, "the CPU was idle 98 % of the time");
	r.wall_ns = 9 * SECOND; /* too short to tell */
	r.cpu_ns = 0;
	assert_int_equal(report_hint(&r), HINT_NONE);
	r = plain_step();
	r.memory_asked_bytes = 1024 * MIB;
	assert_int_equal(report_hint(&r), HINT_NONE);
	r.memory_asked_bytes = 4096 * MIB;
	assert_int_equal(report_hint(&r), HINT_MEMORY);
	text_has(&r, "384 MiB of memory would have been enough");
	r.memory_asked_bytes = 0;
	assert_int_equal(report_hint(&r), HINT_NONE);
	r.wall_ns = SECOND;
	r.oom_kills = 1;
	text_has(&r, "1 process was killed for memory");
}

static void script_that_only_starts_steps_is_no_waste(void **state)
{
	(void)state;
	struct step_report r = plain_step();
	r.step = RECORD_STEP_BATCH;
	r.cpus = 64;
	r.memory_asked_bytes = 64 * 1024 * MIB;
	r.cpu_ns = SECOND / 10;
	assert_int_equal(report_hint(&r), HINT_NONE);
	r.cpu_ns = 600 * SECOND; /* it works itself, on a tenth of its CPUs */
	assert_int_equal(report_hint(&r), HINT_CPUS);
	r.step = 3;
	r.cpu_ns = SECOND / 10;
	assert_int_equal(report_hint(&r), HINT_CPUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(energy_comes_per_domain_with_its_source_and_grams),
		cmocka_unit_test(hot_functions_are_told_with_their_shares),
		cmocka_unit_test(counts_are_told_as_far_as_they_are_known),
		cmocka_unit_test(cycles_are_told_with_what_they_cover),
		cmocka_unit_test(gpus_are_told_as_far_as_they_were_read),
		cmocka_unit_test(host_energy_names_what_is_in_it),
		cmocka_unit_test(modelled_energy_says_so),
		cmocka_unit_test(even_a_step_of_microseconds_is_not_free),
		cmocka_unit_test(step_younger_than_a_tick_is_estimated_in_total),
		cmocka_unit_test(unknown_energy_says_why),
		cmocka_unit_test(ended_row_without_provisional_part_is_settled),
		cmocka_unit_test(stopped_daemon_leaves_what_it_measured),
		cmocka_unit_test(nothing_known_is_not_printed_as_zero),
		cmocka_unit_test(names_from_the_page_cannot_act_on_a_terminal),
		cmocka_unit_test(largest_numbers_fit_one_write),
		cmocka_unit_test(hint_is_given_only_where_something_was_clearly_wasted),
		cmocka_unit_test(script_that_only_starts_steps_is_no_waste),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
