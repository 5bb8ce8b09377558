/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/prom.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"
#include "test/unit/unit.h"

static const struct prom_family cpu = {"x_cpu_seconds_total", PROM_COUNTER,
				       "CPU \"time\" of \\proc\nstat"};
static const struct prom_family mem = {"x_mem_bytes", PROM_GAUGE, "Memory"};
static const struct prom_family odd = {"x_fail_count", PROM_COUNTER, "Failures"};
static const struct prom_family kept = {"x_kept", PROM_UNKNOWN, "A kept name"};

static void render(struct prom *p, enum prom_format format, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(prom_render(p, format, out), 0);
	if (!out->data)
		buf_puts(out, "");
}

static void families_come_grouped_and_sorted_whatever_the_order(void **state)
{
	(void)state;
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;
	for (int unit = 1; unit <= 2; unit++) {
		struct prom_label l = {"u", unit == 1 ? "1" : "2"};
		prom_family(p, &mem);
		prom_put_u64(p, &l, 1, (uint64_t)unit * 10);
		prom_family(p, &cpu);
		prom_put_scaled(p, &l, 1, (uint64_t)unit * 1500000000, 9);
	}
	assert_int_equal(prom_samples(p), 4);
	render(p, PROM_TEXT, &out);
	assert_string_equal(
		out.data, "# HELP x_cpu_seconds_total CPU \"time\" of \\\\proc\\nstat\n"
			  "# TYPE x_cpu_seconds_total counter\n"
			  "x_cpu_seconds_total{u=\"1\"} 1.5\n"
			  "x_cpu_seconds_total{u=\"2\"} 3\n"
			  "# HELP x_mem_bytes Memory\n"
			  "# TYPE x_mem_bytes gauge\n"
			  "x_mem_bytes{u=\"1\"} 10\n"
			  "x_mem_bytes{u=\"2\"} 20\n");
	prom_free(p);
}

static void openmetrics_differs_in_the_comment_lines_alone(void **state)
{
	(void)state;
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;
	prom_family(p, &cpu);
	prom_put_u64(p, NULL, 0, 7);
	prom_family(p, &odd);
	prom_put_u64(p, NULL, 0, 8);
	prom_family(p, &kept);
	prom_put_f64(p, NULL, 0, NAN);
	render(p, PROM_OPENMETRICS, &out);
	assert_string_equal(
		out.data,
		"# HELP x_cpu_seconds CPU \\\"time\\\" of \\\\proc\\nstat\n"
		"# TYPE x_cpu_seconds counter\n"
		"x_cpu_seconds_total 7\n"
		"# HELP x_fail_count Failures\n# TYPE x_fail_count unknown\n"
		"x_fail_count 8\n"
		"# HELP x_kept A kept name\n# TYPE x_kept unknown\nx_kept NaN\n"
		"# EOF\n");
	render(p, PROM_TEXT, &out);
	assert_non_null(strstr(out.data, "# TYPE x_fail_count counter\n"));
	assert_non_null(strstr(out.data, "# TYPE x_kept untyped\n"));
	assert_null(strstr(out.data, "# EOF"));
	prom_free(p);
}

static void buckets_of_a_histogram_add_up(void **state)
{
	static const struct prom_family took = {"x_seconds", PROM_HISTOGRAM, "Times"};
	static const char *const bounds[] = {"0.001", "1", "+Inf"};
	static const char samples[] = "x_seconds_bucket{u=\"1\",le=\"0.001\"} 3\n"
				      "x_seconds_bucket{u=\"1\",le=\"1\"} 3\n"
				      "x_seconds_bucket{u=\"1\",le=\"+Inf\"} 7\n"
				      "x_seconds_sum{u=\"1\"} 12.5\n"
				      "x_seconds_count{u=\"1\"} 7\n";
	const uint64_t counts[] = {3, 0, 4};
	const struct prom_label label = {"u", "1"};
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;

	(void)state;
	prom_family(p, &took);
	prom_put_histogram(p, &label, 1,
			   &(struct prom_histogram){bounds, counts, 3, 12500, 3});
	assert_int_equal(prom_samples(p), 5);
	for (int format = PROM_TEXT; format <= PROM_OPENMETRICS; format++) {
		render(p, format, &out);
		assert_non_null(strstr(out.data, "# TYPE x_seconds histogram\n"));
		assert_non_null(strstr(out.data, samples));
	}
	prom_free(p);
}

static void label_values_are_escaped_and_made_valid_utf8(void **state)
{
	(void)state;
	static const struct {
		const char *in, *want;
	} cases[] = {
		{"plain", "{l=\"plain\"}"},
		{"", "{l=\"\"}"},
		{"a\"b\\c\nd", "{l=\"a\\\"b\\\\c\\nd\"}"},
		{"tab\tcr\r", "{l=\"tab\tcr\r\"}"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "{l=\"\xc3\xa9\xe2\x82\xac"
							 "\xf0\x9f\x98\x80\"}"},
		{"\xff", "{l=\"\xef\xbf\xbd\"}"},
		{"a\xc3", "{l=\"a\xef\xbf\xbd\"}"},
		{"\xed\xa0\x80", "{l=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"},
		{"\xc3\"", "{l=\"\xef\xbf\xbd\\\"\"}"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		struct prom_label l = {"l", cases[i].in};
		prom_render_labels(&b, &l, 1);
		assert_string_equal(b.data, cases[i].want);
	}
	auto_buf struct buf none = BUF_INIT;
	prom_render_labels(&none, NULL, 0);
	assert_int_equal(none.len, 0);
}

static void equal_names_at_two_addresses_are_one_family(void **state)
{
	(void)state;
	static const struct prom_family again = {"x_mem_bytes", PROM_GAUGE, "Memory"};
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;
	prom_family(p, &mem);
	prom_put_u64(p, &(struct prom_label){"u", "1"}, 1, 1);
	prom_family(p, &odd);
	prom_put_u64(p, NULL, 0, 0);
	prom_family(p, &again);
	prom_put_u64(p, &(struct prom_label){"u", "2"}, 1, 2);
	render(p, PROM_TEXT, &out);
	char *first = strstr(out.data, "# TYPE x_mem_bytes");
	assert_non_null(first);
	assert_null(strstr(first + 1, "# TYPE x_mem_bytes"));
	assert_non_null(strstr(first, "{u=\"1\"} 1\nx_mem_bytes{u=\"2\"} 2\n"));
	prom_free(p);
}

static void rollback_takes_back_samples_and_an_overflow(void **state)
{
	(void)state;
	struct prom *p = prom_new(600);
	auto_buf struct buf out = BUF_INIT;
	prom_family(p, &mem);
	prom_put_u64(p, NULL, 0, 1);
	struct prom_mark mark = prom_mark(p);
	/* goes on in the same family, then into another one, then over the limit */
	prom_put_u64(p, &(struct prom_label){"u", "2"}, 1, 2);
	prom_family(p, &cpu);
	for (int i = 0; i < 100; i++)
		prom_put_u64(p, NULL, 0, 3);
	assert_int_equal(prom_error(p), -EFBIG);
	assert_int_equal(prom_render(p, PROM_TEXT, &out), -EFBIG);
	prom_rollback(p, mark);
	assert_int_equal(prom_error(p), 0);
	assert_int_equal(prom_samples(p), 1);
	/* without a family nothing is put in a wrong one */
	prom_put_u64(p, NULL, 0, 99);
	prom_family(p, &odd);
	prom_put_u64(p, NULL, 0, 4);
	render(p, PROM_TEXT, &out);
	assert_string_equal(out.data,
			    "# HELP x_fail_count Failures\n"
			    "# TYPE x_fail_count counter\nx_fail_count 4\n"
			    "# HELP x_mem_bytes Memory\n# TYPE x_mem_bytes gauge\n"
			    "x_mem_bytes 1\n");
	prom_free(p);
}

static void family_without_samples_is_not_rendered(void **state)
{
	(void)state;
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;
	prom_family(p, &mem);
	prom_family(p, &cpu);
	render(p, PROM_TEXT, &out);
	assert_string_equal(out.data, "");
	render(p, PROM_OPENMETRICS, &out);
	assert_string_equal(out.data, "# EOF\n");
	prom_free(p);
}

static void reset_starts_a_new_scrape(void **state)
{
	(void)state;
	struct prom *p = prom_new(0);
	auto_buf struct buf out = BUF_INIT;
	prom_family(p, &mem);
	prom_put_u64(p, NULL, 0, 1);
	prom_reset(p);
	assert_int_equal(prom_samples(p), 0);
	prom_family(p, &odd);
	prom_put_u64(p, NULL, 0, 1);
	render(p, PROM_TEXT, &out);
	assert_null(strstr(out.data, "x_mem_bytes"));
	assert_non_null(strstr(out.data, "x_fail_count 1\n"));
	prom_free(p);
}

static void blocks_and_labels_give_the_same_line(void **state)
{
	(void)state;
	struct prom_label l[] = {{"a", "1"}, {"b", "x\"y"}};
	auto_buf struct buf block = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
	struct prom *p = prom_new(0), *q = prom_new(0);
	prom_render_labels(&block, l, 2);
	prom_family(p, &mem);
	prom_family(q, &mem);
	prom_put_u64(p, l, 2, UINT64_MAX);
	prom_put_block_u64(q, &block, UINT64_MAX);
	prom_put_f64(p, l, 2, 0.1);
	prom_put_block_f64(q, &block, 0.1);
	prom_put_scaled(p, l, 2, 1557888, 9);
	prom_put_block_scaled(q, &block, 1557888, 9);
	render(p, PROM_TEXT, &one);
	render(q, PROM_TEXT, &two);
	assert_string_equal(one.data, two.data);
	prom_free(p);
	prom_free(q);
}

/* Some with shared labels, some not, in the same families and in turns */
static void shared_labels_give_the_same_text(void **state)
{
	(void)state;
	const struct prom_family *const families[] = {&mem, &odd, &kept};
	struct prom *p = prom_new(0), *q = prom_new(0);
	auto_buf struct buf block = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
	char unit[8];

	for (unsigned i = 0; i < 2000; i++) {
		const struct prom_label l = {"u", unit};
		(void)snprintf(unit, sizeof(unit), "%u", i);
		buf_reset(&block);
		prom_render_labels(&block, &l, i % 7 ? 1 : 0);
		struct prom_shared shared = prom_share_labels(q, &block);
		for (unsigned f = 0; f < 3; f++) {
			uint64_t v = i % 11 ? i : UINT64_MAX - i;
			prom_family(p, families[f]);
			prom_put_block_u64(p, &block, v);
			prom_family(q, families[f]);
			if ((i + f) % 3)
				prom_put_shared_u64(q, shared, v);
			else
				prom_put_block_u64(q, &block, v);
		}
	}
	assert_int_equal(prom_samples(p), prom_samples(q));
	render(p, PROM_OPENMETRICS, &one);
	render(q, PROM_OPENMETRICS, &two);
	assert_string_equal(one.data, two.data);
	prom_free(p);
	prom_free(q);
}

static void shared_labels_are_rolled_back_and_bounded(void **state)
{
	(void)state;
	struct prom *p = prom_new(600);
	auto_buf struct buf block = BUF_INIT, out = BUF_INIT;

	prom_render_labels(&block, &(struct prom_label){"u", "1"}, 1);
	struct prom_shared first = prom_share_labels(p, &block);
	prom_family(p, &mem);
	prom_put_shared_u64(p, first, 1);
	struct prom_mark mark = prom_mark(p);
	for (int i = 0; i < 20; i++)
		prom_put_shared_u64(p, first, 2);
	/* as text it would be too much, though not as it is held */
	assert_int_equal(prom_error(p), -EFBIG);
	prom_rollback(p, mark);
	for (int i = 0; i < 200; i++)
		(void)prom_share_labels(p, &block);
	assert_int_equal(prom_error(p), -EFBIG);
	prom_rollback(p, mark);
	assert_int_equal(prom_error(p), 0);
	prom_family(p, &mem);
	prom_put_shared_u64(p, prom_share_labels(p, &block), 3);
	render(p, PROM_TEXT, &out);
	assert_string_equal(out.data,
			    "# HELP x_mem_bytes Memory\n# TYPE x_mem_bytes gauge\n"
			    "x_mem_bytes{u=\"1\"} 1\nx_mem_bytes{u=\"1\"} 3\n");
	prom_free(p);
}

static void bad_block_is_an_error_and_not_a_sample(void **state)
{
	(void)state;
	auto_buf struct buf block = BUF_INIT;
	struct prom *p = prom_new(0);
	buf_init(&block, 4);
	prom_render_labels(&block, &(struct prom_label){"l", "too long"}, 1);
	prom_family(p, &mem);
	prom_put_block_u64(p, &block, 1);
	assert_int_equal(prom_error(p), -EFBIG);
	assert_int_equal(prom_samples(p), 0);
	prom_free(p);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Copies the sample lines (those that do not begin with '#') of text. */
static void sample_lines(const struct buf *text, struct buf *out)
{
	const char *p = text->data, *end = p + text->len, *line;
	size_t len;
	while (scan_line(&p, end, &line, &len)) {
		if (len && line[0] != '#') {
			buf_put(out, line, len);
			buf_putc(out, '\n');
		}
	}
}

#define MANY 40

/* Any mix of families, labels, values and rollbacks: both formats hold the same sample
 * lines byte for byte, each family once, sorted, and as many samples as were put. */
static void both_formats_hold_identical_sample_lines(void **state)
{
	(void)state;
	static char names[MANY][32];
	static struct prom_family families[MANY];
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d_%s", i * 7 % MANY,
			 i % 3 == 0 ? "total" : "bytes");
		families[i] = (struct prom_family){names[i], (enum prom_type)(i % 3),
						   "help \"of\" it"};
	}
	uint64_t seed = 42;
	struct prom *p = prom_new(0);
	for (int round = 0; round < 200; round++) {
		auto_buf struct buf text = BUF_INIT, om = BUF_INIT;
		auto_buf struct buf a = BUF_INIT, b = BUF_INIT;
		prom_reset(p);
		size_t kept_samples = 0;
		for (int c = 0; c < 6; c++) {
			struct prom_mark mark = prom_mark(p);
			size_t put = next_random(&seed) % 60;
			for (size_t i = 0; i < put; i++) {
				char value[8];
				for (size_t k = 0; k < 7; k++)
					value[k] = (char)(1 + next_random(&seed) % 255);
				value[7] = '\0';
				struct prom_label l = {"l", value};
				prom_family(p, &families[next_random(&seed) % MANY]);
				prom_put_scaled(p, &l, 1, next_random(&seed),
						next_random(&seed) % 10);
			}
			if (next_random(&seed) % 4 == 0)
				prom_rollback(p, mark);
			else
				kept_samples += put;
		}
		assert_int_equal(prom_samples(p), kept_samples);
		render(p, PROM_TEXT, &text);
		render(p, PROM_OPENMETRICS, &om);
		sample_lines(&text, &a);
		sample_lines(&om, &b);
		assert_int_equal(a.len, b.len);
		if (a.len)
			assert_memory_equal(a.data, b.data, a.len);
		size_t lines = 0;
		for (size_t i = 0; i < a.len; i++)
			lines += a.data[i] == '\n';
		assert_int_equal(lines, kept_samples);

		char last[64] = "";
		const char *s = text.data, *end = s + text.len, *line;
		size_t len;
		while (scan_line(&s, end, &line, &len)) {
			if (len < 7 || memcmp(line, "# TYPE ", 7) != 0)
				continue;
			char name[64];
			snprintf(name, sizeof(name), "%.*s",
				 (int)strcspn(line + 7, " "), line + 7);
			assert_true(strcmp(last, name) < 0);
			memcpy(last, name, sizeof(last));
		}
	}
	prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_come_grouped_and_sorted_whatever_the_order),
		cmocka_unit_test(openmetrics_differs_in_the_comment_lines_alone),
		cmocka_unit_test(buckets_of_a_histogram_add_up),
		cmocka_unit_test(label_values_are_escaped_and_made_valid_utf8),
		cmocka_unit_test(equal_names_at_two_addresses_are_one_family),
		cmocka_unit_test(rollback_takes_back_samples_and_an_overflow),
		cmocka_unit_test(family_without_samples_is_not_rendered),
		cmocka_unit_test(reset_starts_a_new_scrape),
		cmocka_unit_test(blocks_and_labels_give_the_same_line),
		cmocka_unit_test(shared_labels_give_the_same_text),
		cmocka_unit_test(shared_labels_are_rolled_back_and_bounded),
		cmocka_unit_test(bad_block_is_an_error_and_not_a_sample),
		cmocka_unit_test(both_formats_hold_identical_sample_lines),
	};
	return cmocka_run_group_tests_name("prom_test", tests, NULL, NULL);
}
