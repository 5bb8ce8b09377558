/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/web/units_json.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/units_energy.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

static char folder[] = "/tmp/ceems-json-test.XXXXXX";
static int dirfd_ = -1;
static struct units *u;

static int setup(void **state)
{
	(void)state;
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	bool made;
	if (!mkdtemp(folder))
		return -1;
	dirfd_ = fs_opendir_at(AT_FDCWD, folder, NULL);
	return units_open(dirfd_, 64, &u, &made, NULL);
}

static int teardown(void **state)
{
	(void)state;
	units_close(u);
	unlinkat(dirfd_, UNITS_PATH_NAME, 0);
	close(dirfd_);
	return rmdir(folder);
}

static struct record step(enum record_type type, const char *id)
{
	struct record r;
	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%s", id);
	r.step = RECORD_STEP_BATCH;
	r.uid = 1000;
	r.gid = 100;
	r.cpus = 4;
	r.memory_bytes = 1 << 30;
	r.boottime_ns = 5000000000;
	r.realtime_ns = 1700000000500000000;
	return r;
}

static uint64_t pos;

static void apply(const struct record *r)
{
	assert_int_equal(units_apply(u, r, ++pos, r->boottime_ns, r->realtime_ns, NULL),
			 0);
}

static json_object *parse(struct buf *out)
{
	assert_int_equal(units_put_json(u, out), 0);
	assert_int_equal(buf_error(out), 0);
	enum json_tokener_error error;
	json_object *o = json_tokener_parse_verbose(out->data, &error);
	if (!o)
		fail_msg("%s in %s", json_tokener_error_desc(error), out->data);
	return o;
}

static json_object *get(json_object *o, const char *key)
{
	json_object *v = NULL;
	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no %s in %s", key, json_object_to_json_string(o));
	return v;
}

static void empty_table_is_an_empty_list(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	json_object *o = parse(&out);
	assert_int_equal(json_object_array_length(get(o, "units")), 0);
	json_object_put(o);
}

static void facts_stand_beside_and_hints_apart(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "4711");
	snprintf(r.name, sizeof(r.name), "%s", "a \"b\"\n\xff</script>");
	snprintf(r.account, sizeof(r.account), "physics");
	snprintf(r.gpus, sizeof(r.gpus), "0-3");
	apply(&r);
	json_object *o = parse(&out);
	json_object *unit = json_object_array_get_idx(get(o, "units"), 0);
	assert_string_equal(json_object_get_string(get(unit, "id")), "4711");
	assert_string_equal(json_object_get_string(get(unit, "manager")), "slurm");
	assert_string_equal(json_object_get_string(get(unit, "state")), "running");
	assert_int_equal(json_object_get_int(get(unit, "uid")), 1000);
	assert_string_equal(json_object_to_json_string(get(unit, "cpus")), "4");
	assert_int_equal(json_object_get_int64(get(unit, "memory_bytes")), 1 << 30);
	assert_non_null(
		strstr(out.data, "\"started_realtime_ns\":1700000000500000000"));
	json_object *steps = get(unit, "steps");
	assert_int_equal(json_object_array_length(steps), 1);
	assert_string_equal(json_object_get_string(
				    get(json_object_array_get_idx(steps, 0), "step")),
			    "batch");
	json_object *hints = get(unit, "hints"), *none;
	assert_string_equal(json_object_get_string(get(hints, "account")), "physics");
	assert_string_equal(json_object_get_string(get(hints, "name")),
			    "a \"b\"\n\xef\xbf\xbd</script>");
	/* a GPU list that Slurm did not set is nobody's business */
	assert_false(json_object_object_get_ex(unit, "gpus", &none));
	assert_false(json_object_object_get_ex(hints, "gpus", &none));
	assert_false(json_object_object_get_ex(unit, "account", &none));
	json_object_put(o);
}

static void what_a_step_runs_is_a_hint(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "4713");
	r.step = 0;
	snprintf(r.command, sizeof(r.command), "burn\n");
	snprintf(r.name, sizeof(r.name), "other");
	apply(&r);
	r.step = 1;
	snprintf(r.name, sizeof(r.name), "burn\n");
	apply(&r);
	assert_int_equal(units_put_json(u, &out), 0);
	assert_non_null(strstr(out.data, "\"hints\":{\"trusted\":false,"
					 "\"command\":\"burn\\u000a\","
					 "\"name\":\"other\"}}"));
	assert_non_null(strstr(out.data, "\"hints\":{\"trusted\":false,"
					 "\"command\":\"burn\\u000a\"}}"));
}

static void pod_has_a_part_of_a_cpu(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "pod");
	r.manager = MANAGER_K8S;
	r.flags |= RECORD_MILLICPUS;
	r.cpus = 250;
	apply(&r);
	assert_int_equal(units_put_json(u, &out), 0);
	assert_non_null(strstr(out.data, "\"cpus\":0.25,"));
}

static void gpus_that_slurm_set_are_a_fact(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "4712");
	r.flags |= RECORD_GPUS_TRUSTED;
	snprintf(r.gpus, sizeof(r.gpus), "0-3");
	apply(&r);
	json_object *o = parse(&out);
	json_object *unit = json_object_array_get_idx(get(o, "units"), 0);
	assert_string_equal(json_object_get_string(get(unit, "gpus")), "0-3");
	json_object_put(o);
}

static void ended_unit_shows_its_final_counters(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "1");
	r.step = RECORD_STEP_EXTERN;
	apply(&r);
	r = step(RECORD_STEP_STOP, "1");
	r.step = RECORD_STEP_EXTERN;
	r.flags |= RECORD_LAST;
	r.counters.source = COUNTERS_CGROUP_V1;
	r.counters.cpu_user_ns = 1500000000;
	r.counters.cpu_system_ns = 1;
	r.counters.has_memory = true;
	r.counters.memory_peak_bytes = 12345;
	apply(&r);
	json_object *o = parse(&out);
	json_object *unit = json_object_array_get_idx(get(o, "units"), 0);
	assert_string_equal(json_object_get_string(get(unit, "state")), "ended");
	assert_non_null(strstr(out.data, "\"cpu_user_seconds\":1.5,"));
	assert_non_null(strstr(out.data, "\"cpu_system_seconds\":0.000000001,"));
	assert_int_equal(json_object_get_int(get(unit, "memory_peak_bytes")), 12345);
	json_object_put(o);
}

static void energy_is_there_once_something_was_measured(void **state)
{
	(void)state;
	auto_buf struct buf out = BUF_INIT;
	struct record r = step(RECORD_STEP_START, "1");
	apply(&r);
	json_object *o = parse(&out), *none;
	json_object *unit = json_object_array_get_idx(get(o, "units"), 0);
	assert_int_equal(json_object_object_length(get(unit, "energy_joules")), 0);
	json_object_put(o);
	buf_reset(&out);
	struct energy_state *e = units_energy_draft(u);
	e->node.measured_uj[ENERGY_PACKAGE] = 9000000;
	unit_energy_draft(u, 0)->account.settled_uj[ENERGY_PACKAGE] = 1234567;
	unit_energy_draft(u, 0)->account.open.other_uj = 5;
	step_energy_draft(u, 0)->uj[ENERGY_PACKAGE] = 1000001;
	units_energy_commit(u);
	o = parse(&out);
	unit = json_object_array_get_idx(get(o, "units"), 0);
	assert_string_equal(
		json_object_get_string(get(get(unit, "energy_joules"), "package")),
		"1.234567");
	assert_false(
		json_object_object_get_ex(get(unit, "energy_joules"), "host", &none));
	assert_string_equal(
		json_object_get_string(get(unit, "provisional_host_joules")),
		"0.000005");
	json_object *s = json_object_array_get_idx(get(unit, "steps"), 0);
	assert_string_equal(
		json_object_get_string(get(get(s, "energy_joules"), "package")),
		"1.000001");
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(empty_table_is_an_empty_list, setup,
						teardown),
		cmocka_unit_test_setup_teardown(facts_stand_beside_and_hints_apart,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_step_runs_is_a_hint, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pod_has_a_part_of_a_cpu, setup,
						teardown),
		cmocka_unit_test_setup_teardown(gpus_that_slurm_set_are_a_fact, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			energy_is_there_once_something_was_measured, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_unit_shows_its_final_counters,
						setup, teardown),
	};
	return cmocka_run_group_tests_name("units_json_test", tests, NULL, NULL);
}
