/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy that a model says is not shown as if it were measured. */
#include <math.h>
#include <string.h>

#include "cli/cacct/report.h"
#include "cli/cacct/summary.h"
#include "lib/http/json.h"
#include "test/unit/unit.h"

#define NOW 1774526400

/* What no sensor measured says so beside its number. */
static void modelled_energy_says_so(void **state)
{
	static const struct {
		const char *row, *report, *summary;
	} cases[] = {
		{"{\"uuid\":\"1\",\"energy_sources\":\"package=rapl,host=model\","
		 "\"energy_joules\":{\"package\":3600,\"host\":36000,\"total\":36000}}",
		 "10.0 Wh: host (model) 10.0 Wh; processors (rapl) 1.000 Wh",
		 "; 10.0 Wh by a model"},
		{"{\"uuid\":\"1\",\"energy_sources\":\"package=rapl,dram=model\","
		 "\"energy_joules\":{\"package\":32400,\"dram\":3600,\"total\":36000}}",
		 "10.0 Wh: processors (rapl) 9.000 Wh, memory (model) 1.000 Wh",
		 "; 10.0 Wh, 1.000 Wh of it by a model"},
		{"{\"uuid\":\"1\",\"energy_sources\":\"host=redfish,dram=model\","
		 "\"energy_joules\":{\"host\":36000,\"total\":36000}}",
		 "10.0 Wh: host (redfish) 10.0 Wh", "; 10.0 Wh"},
		{"{\"uuid\":\"1\",\"energy_joules\":{\"host\":36000,\"total\":36000}}",
		 "10.0 Wh: host 10.0 Wh", "; 10.0 Wh"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_json struct json_object *o = json_tokener_parse(cases[i].row);
		auto_buf struct buf text = BUF_INIT, sum = BUF_INIT;
		static struct cacct_report r;
		struct summary s = {.units = 0};
		const char *name;
		double ratio;
		memset(&r, 0, sizeof(r));
		unit_from_json(o, NOW, &r.unit);
		report_fact(&r, REPORT_ENERGY, &name, &ratio, &text);
		assert_string_equal(text.data, cases[i].report);
		summary_add(&s, &r.unit);
		summary_put(&s, &sum);
		const char *energy = strstr(sum.data, "; 10.0 Wh");
		assert_non_null(energy);
		assert_string_equal(energy, cases[i].summary);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modelled_energy_says_so),
	};

	return cmocka_run_group_tests_name("cacct_energy", tests, NULL, NULL);
}
