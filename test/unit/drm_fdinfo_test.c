/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts are laid out as the kernel documents them: its
 * Documentation/gpu/drm-usage-stats.rst and what it says of each driver. None is of a
 * device that was here. */
#include "lib/drm/drm_fdinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "test/unit/unit.h"

#define HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t284\n"

static int parse_fdinfo(const char *text, struct drm_fdinfo *ret)
{
	return drm_fdinfo_parse(text, strlen(text), ret);
}

static const struct drm_engine *find_engine(const struct drm_fdinfo *f,
					    const char *name)
{
	for (uint32_t i = 0; i < f->engine_count; i++) {
		if (strcmp(f->engines[i].name, name) == 0)
			return &f->engines[i];
	}
	fail_msg("no engine %s", name);
	return NULL;
}

static void i915_tells_nanoseconds(void **state)
{
	struct drm_fdinfo f;
	(void)state;

	assert_int_equal(
		parse_fdinfo(HEAD
			     "drm-driver:\ti915\ndrm-client-id:\t39\n"
			     "drm-pdev:\t0000:00:02.0\ndrm-total-system0:\t6044 KiB\n"
			     "drm-shared-system0:\t0\ndrm-active-system0:\t0\n"
			     "drm-resident-system0:\t6040 KiB\n"
			     "drm-purgeable-system0:\t1688 KiB\n"
			     "drm-total-stolen-system0:\t0\n"
			     "drm-resident-stolen-system0:\t0\n"
			     "drm-engine-render:\t346249 ns\ndrm-engine-copy:\t0 ns\n"
			     "drm-engine-video:\t7000000000 ns\n"
			     "drm-engine-capacity-video:\t2\n"
			     "drm-engine-video-enhance:\t1 ns\n",
			     &f),
		0);
	assert_string_equal(f.driver, "i915");
	assert_string_equal(f.pdev, "0000:00:02.0");
	assert_int_equal(f.client, 39);
	assert_int_equal(f.engine_count, 4); /* a capacity is none */
	assert_int_equal(find_engine(&f, "render")->busy_ns, 346249);
	assert_int_equal(find_engine(&f, "copy")->busy_ns, 0);
	assert_int_equal(find_engine(&f, "video")->busy_ns, 7000000000);
	assert_int_equal(find_engine(&f, "video-enhance")->busy_ns, 1);
	assert_false(find_engine(&f, "video")->in_cycles);
	assert_true(f.has_memory);
	assert_int_equal(f.memory_bytes, 6040 << 10);
}

static void xe_tells_cycles(void **state)
{
	struct drm_fdinfo f;
	(void)state;

	assert_int_equal(
		parse_fdinfo(HEAD
			     "drm-driver:\txe\ndrm-client-id:\t3\n"
			     "drm-pdev:\t0000:03:00.0\ndrm-total-system:\t0\n"
			     "drm-resident-system:\t8 KiB\ndrm-total-gtt:\t192 KiB\n"
			     "drm-resident-gtt:\t192 KiB\ndrm-total-vram0:\t40000 KiB\n"
			     "drm-shared-vram0:\t16 MiB\ndrm-resident-vram0:\t20 MiB\n"
			     "drm-resident-stolen:\t0\ndrm-cycles-rcs:\t28257900\n"
			     "drm-total-cycles-rcs:\t7655183225\ndrm-cycles-vcs:\t5\n"
			     "drm-total-cycles-vcs:\t7655183226\n"
			     "drm-engine-capacity-vcs:\t2\n",
			     &f),
		0);
	assert_int_equal(f.engine_count, 2);
	assert_true(find_engine(&f, "rcs")->in_cycles);
	assert_int_equal(find_engine(&f, "rcs")->cycles, 28257900);
	assert_int_equal(find_engine(&f, "rcs")->total_cycles, 7655183225);
	assert_int_equal(find_engine(&f, "vcs")->cycles, 5);
	/* the card's own memory alone */
	assert_int_equal(f.memory_bytes, 20 << 20);
}

static void amdgpu_says_memory_twice(void **state)
{
	struct drm_fdinfo f;
	(void)state;

	assert_int_equal(
		parse_fdinfo(HEAD
			     "drm-driver:\tamdgpu\ndrm-client-id:\t12\n"
			     "drm-pdev:\t0000:c1:00.0\npasid:\t32770\n"
			     "drm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t64 KiB\n"
			     "drm-total-vram:\t4096 KiB\ndrm-resident-vram:\t2048 KiB\n"
			     "amd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t5 ns\n"
			     "drm-engine-enc_1:\t6 ns\n",
			     &f),
		0);
	assert_int_equal(f.memory_bytes, 2048 << 10);
	assert_int_equal(find_engine(&f, "gfx")->busy_ns, 5);
	assert_int_equal(find_engine(&f, "enc_1")->busy_ns, 6);
}

static void of_another_file_nothing_is_told(void **state)
{
	struct drm_fdinfo f = {.client = 77};
	(void)state;

	assert_int_equal(parse_fdinfo("", &f), -ENODATA);
	assert_int_equal(parse_fdinfo(HEAD, &f), -ENODATA);
	assert_int_equal(parse_fdinfo(HEAD "drm-driver:\tnouveau\n", &f), -ENODATA);
	/* a device that is not on PCI, a driver that numbers no clients */
	assert_int_equal(parse_fdinfo("drm-driver:\tv3d\ndrm-client-id:\t1\n", &f),
			 -ENODATA);
	assert_int_equal(
		parse_fdinfo("drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n", &f),
		-ENODATA);
	assert_int_equal(f.client, 77);
}

#define WHOSE "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t1\n"

static void what_is_malformed_is_left_out(void **state)
{
	struct drm_fdinfo f;
	(void)state;

	assert_int_equal(
		parse_fdinfo(WHOSE
			     "drm-engine-render:\t5 cycles\ndrm-engine-copy:\t-1 ns\n"
			     "drm-engine-video:\t99999999999999999999 ns\n"
			     "drm-engine-:\t5 ns\ndrm-engine-render\n"
			     "drm-engine-a-name-that-is-longer-than-any:\t5 ns\n"
			     "drm-resident-system:\t18446744073709551615 KiB\n"
			     "drm-resident-local0:\t5 GiB\ndrm-engine-ok:7 ns\n",
			     &f),
		0);
	assert_int_equal(f.engine_count, 1);
	assert_int_equal(find_engine(&f, "ok")->busy_ns, 7);
	assert_false(f.has_memory);
	assert_int_equal(parse_fdinfo("drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n"
				      "drm-client-id:\tfive\n",
				      &f),
			 -EINVAL);
	assert_int_equal(
		parse_fdinfo("drm-driver:\ti915\ndrm-client-id:\t1\n"
			     "drm-pdev:\t0000:00:02.0-and-much-more-than-that\n",
			     &f),
		-EINVAL);
}

static void engines_and_regions_beyond_the_bounds_are_left_out(void **state)
{
	auto_buf struct buf b = BUF_INIT;
	struct drm_fdinfo f;
	(void)state;

	buf_puts(&b, WHOSE);
	for (unsigned i = 0; i < 2 * DRM_ENGINES_MAX; i++)
		buf_printf(&b, "drm-engine-e%u:\t%u ns\ndrm-resident-r%u:\t1\n", i, i,
			   i);
	assert_int_equal(drm_fdinfo_parse(b.data, b.len, &f), 0);
	assert_int_equal(f.engine_count, DRM_ENGINES_MAX);
	assert_int_equal(find_engine(&f, "e15")->busy_ns, 15);
	assert_int_equal(f.memory_bytes, DRM_REGIONS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(i915_tells_nanoseconds),
		cmocka_unit_test(xe_tells_cycles),
		cmocka_unit_test(amdgpu_says_memory_twice),
		cmocka_unit_test(of_another_file_nothing_is_told),
		cmocka_unit_test(what_is_malformed_is_left_out),
		cmocka_unit_test(engines_and_regions_beyond_the_bounds_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
