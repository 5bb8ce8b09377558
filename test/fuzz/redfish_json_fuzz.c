/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a BMC answers: every reader on every answer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "courier/redfish_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void path_is_safe(const char *path)
{
	if (*path && (!redfish_path_ok(path) || strncmp(path, "/redfish/", 9) != 0 ||
		      strpbrk(path, "\r\n \t?#\\\"")))
		abort();
}

static void readings(struct json_object *o)
{
	static bool (*const readers[])(struct json_object *,
				       struct redfish_reading *) = {
		redfish_json_environment, redfish_json_supply, redfish_json_sensor,
		redfish_json_power};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct redfish_reading r = {0};
		bool found = readers[i](o, &r);
		if (found != (r.power_uw || r.energy_uj) &&
		    !(found == false && r.min_uw))
			abort();
		if (r.energy_digits > 9)
			abort();
	}
	(void)redfish_json_sensor_is_total(o);
	(void)redfish_json_session_timeout_s(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_redfish_json struct json_object *o = NULL;
	char path[REDFISH_PATH_BYTES] = "";
	struct redfish_chassis c;
	struct err err;

	if (redfish_json_parse((const char *)data, size, &o, &err) < 0)
		return 0;
	static const char *const names[] = {"Chassis", "Sessions", "PowerSupplies",
					    "Metrics"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (redfish_json_link(o, names[i], path))
			path_is_safe(path);
	}
	redfish_json_self(o, path);
	path_is_safe(path);
	size_t n = redfish_json_members(o);
	for (size_t i = 0; i < n && i < 1000; i++) {
		if (redfish_json_member(o, i, path))
			path_is_safe(path);
	}
	if (redfish_json_chassis(o, &c, &err) == 0) {
		path_is_safe(c.environment);
		path_is_safe(c.subsystem);
		path_is_safe(c.sensors);
		path_is_safe(c.power);
		path_is_safe(c.contained_by);
		if (!*c.id || strlen(c.id) >= sizeof(c.id))
			abort();
	}
	readings(o);
	return 0;
}
