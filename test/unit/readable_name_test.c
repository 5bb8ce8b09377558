/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/readable_name.h"

#include <string.h>

#include "test/unit/unit.h"

static void expect_name(const char *symbol, const char *wanted)
{
	char name[256];

	assert_int_equal(readable_name(symbol, name, sizeof(name)), strlen(wanted));
	assert_string_equal(name, wanted);
}

static void fortran_modules_are_as_they_are_written(void **state)
{
	(void)state;
	expect_name("__heat_MOD_relax", "heat::relax");
	expect_name("heat_mp_relax_", "heat::relax");
	expect_name("_QMheatPrelax", "heat::relax");
	expect_name("_QPsolve", "solve");
	expect_name("MAIN__", "MAIN__");
	expect_name("_QQmain", "_QQmain");
}

static void what_only_looks_like_fortran_stays(void **state)
{
	(void)state;
	expect_name("__MOD_", "__MOD_");
	expect_name("___MOD_", "___MOD_");
	expect_name("_mp_x_", "_mp_x_");
	expect_name("a_mp__", "a_mp__");
	expect_name("solve_mp_threads", "solve_mp_threads");
	expect_name("gmp_mp_Set_", "gmp_mp_Set_");
	expect_name("_QM", "_QM");
	expect_name("_QMP", "_QMP");
	expect_name("", "");
	expect_name("_", "_");
}

static void cxx_and_rust_are_demangled(void **state)
{
	(void)state;
	if (!readable_name_demangles)
		skip();
	expect_name("_ZN3foo3barEi", "foo::bar(int)");
	expect_name("_ZNSt6vectorIdSaIdEEixEm",
		    "std::vector<double, std::allocator<double> >::operator[](unsigned "
		    "long)");
	expect_name("_RNvC7mycrate3foo", "mycrate::foo");
	expect_name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		    "core::fmt::Write::write_fmt");
	expect_name("_Znotaname", "_Znotaname");
}

static void a_long_name_is_cut(void **state)
{
	char name[16], symbol[4096];

	(void)state;
	memset(symbol, 'x', sizeof(symbol));
	symbol[sizeof(symbol) - 1] = '\0';
	assert_int_equal(readable_name(symbol, name, sizeof(name)), 15);
	assert_string_equal(name, "xxxxxxxxxxxx...");
	symbol[0] = '_';
	symbol[1] = 'Z';
	assert_int_equal(readable_name(symbol, name, sizeof(name)), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fortran_modules_are_as_they_are_written),
		cmocka_unit_test(what_only_looks_like_fortran_stays),
		cmocka_unit_test(cxx_and_rust_are_demangled),
		cmocka_unit_test(a_long_name_is_cut),
	};

	return cmocka_run_group_tests_name("readable_name", tests, NULL, NULL);
}
