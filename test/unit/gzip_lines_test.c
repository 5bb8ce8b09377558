/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/web/gzip_lines.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "daemon/web/gzip_crc.h"
#include "test/unit/unit.h"

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Put in pieces that end with a line, or in one; zlib, which checks sum and size, must
 * read the same. Returns how many bytes it takes. */
static size_t check_round_trip(const char *text, size_t len, uint64_t *seed)
{
	auto_buf struct buf gzip = BUF_INIT;
	struct gzip_lines *z = gzip_lines_new(&gzip);
	char *out = malloc(len + 1);
	size_t from = 0;

	assert_non_null(z);
	assert_non_null(out);
	for (size_t i = 0; i < len; i++) {
		if (i + 1 < len && (!seed || text[i] != '\n' || next_random(seed) % 4))
			continue;
		/* as a piece: what is put may be gone afterwards */
		char *piece = malloc(i + 1 - from);
		assert_non_null(piece);
		memcpy(piece, text + from, i + 1 - from);
		gzip_lines_put(z, piece, i + 1 - from);
		free(piece);
		from = i + 1;
	}
	assert_int_equal(gzip_lines_end(z), 0);
	gzip_lines_free(z);
	z_stream s = {.next_in = (Bytef *)gzip.data,
		      .avail_in = (uInt)gzip.len,
		      .next_out = (Bytef *)out,
		      .avail_out = (uInt)len + 1};
	assert_int_equal(inflateInit2(&s, 15 + 16), Z_OK);
	assert_int_equal(inflate(&s, Z_FINISH), Z_STREAM_END);
	assert_int_equal(s.total_out, len);
	assert_int_equal(s.avail_in, 0);
	inflateEnd(&s);
	assert_memory_equal(out, text, len);
	free(out);
	return gzip.len;
}

static void put_sample(struct buf *b, unsigned unit, unsigned mount, uint64_t v)
{
	buf_printf(b,
		   "ceems_ebpf_read_bytes_total{manager=\"slurm\",hostname=\"n1\","
		   "uuid=\"%u\",mountpoint=\"/scratch/%u\"} %llu\n",
		   unit, mount, (unsigned long long)v);
}

static void a_scrape_is_read_back_and_small(void **state)
{
	(void)state;
	auto_buf struct buf text = BUF_INIT;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 8000; i++)
		put_sample(&text, i / 8 + 1, i % 8,
			   next_random(&seed) % 3 ? 0 : next_random(&seed));
	size_t bytes = check_round_trip(text.data, text.len, NULL);
	assert_true(bytes < text.len / 10);
	(void)check_round_trip(text.data, text.len, &seed);
}

static void any_bytes_are_read_back(void **state)
{
	(void)state;
	auto_buf struct buf text = BUF_INIT;
	uint64_t seed = 2;

	(void)check_round_trip("", 0, NULL);
	(void)check_round_trip("\n", 1, NULL);
	(void)check_round_trip("no end", 6, NULL);
	for (unsigned round = 0; round < 300; round++) {
		/* of few kinds of bytes, so that much is repeated, or of all */
		unsigned kinds = round % 3 == 0 ? 256 : round % 3 == 1 ? 3 : 8;
		size_t len = next_random(&seed) % 6000;
		buf_reset(&text);
		for (size_t i = 0; i < len; i++)
			buf_putc(&text,
				 kinds == 256
					 ? (char)next_random(&seed)
					 : "a\n\"/ _b1"[next_random(&seed) % kinds]);
		(void)check_round_trip(len ? text.data : "", len, &seed);
	}
}

/* Lines as long as what is compared, a bit longer, and changed in one place */
static void long_lines_are_read_back(void **state)
{
	(void)state;
	auto_buf struct buf text = BUF_INIT;
	uint64_t seed = 3;

	for (unsigned i = 0; i < 400; i++) {
		size_t len = 1020 + next_random(&seed) % 8;
		size_t odd = next_random(&seed) % len;
		for (size_t at = 0; at < len; at++)
			buf_putc(&text, at == odd ? '"' : 'x');
		buf_putc(&text, '\n');
	}
	(void)check_round_trip(text.data, text.len, NULL);
	(void)check_round_trip(text.data, text.len, &seed);
}

static void an_output_that_is_full_is_an_error(void **state)
{
	(void)state;
	auto_buf struct buf gzip = BUF_INIT;
	struct gzip_lines *z;

	buf_init(&gzip, 300);
	z = gzip_lines_new(&gzip);
	assert_non_null(z);
	gzip_lines_put(z, "a line\n", 7);
	assert_true(gzip_lines_end(z) < 0);
	gzip_lines_free(z);
}

static void the_check_sum_is_zlibs(void **state)
{
	(void)state;
	static unsigned char bytes[5000];
	uint64_t seed = 4;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)next_random(&seed);
	for (unsigned i = 0; i < 5000; i++) {
		size_t from = next_random(&seed) % 1000,
		       len = next_random(&seed) % 4000;
		uint32_t before = (uint32_t)next_random(&seed);
		assert_int_equal(gzip_crc(before, bytes + from, len),
				 crc32_z(before, bytes + from, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scrape_is_read_back_and_small),
		cmocka_unit_test(any_bytes_are_read_back),
		cmocka_unit_test(long_lines_are_read_back),
		cmocka_unit_test(an_output_that_is_full_is_an_error),
		cmocka_unit_test(the_check_sum_is_zlibs),
	};
	return cmocka_run_group_tests_name("gzip_lines", tests, NULL, NULL);
}
