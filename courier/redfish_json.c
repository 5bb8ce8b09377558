/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses Redfish resources: names and types from the schemas, and what BMCs make of
 * them. */
#include "courier/redfish_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/buf.h"
#include "lib/http/json.h"

#define WATTS_MAX 100000.0 /* of a node; more is a BMC's error */
#define KWH_MAX 4000000.0  /* 2^64 microjoules are 5.1 million kWh */
#define UJ_PER_KWH 3.6e12
#define CONTROLS_MAX 64u
#define DIGITS_MAX 9u

int redfish_json_parse(const char *text, size_t len, struct json_object **ret,
		       struct err *err)
{
	static const struct http_json_limits limits = {.bytes_max = REDFISH_BODY_MAX,
						       .depth_max = REDFISH_DEPTH_MAX};

	return http_json_object(text, len, &limits, ret, err);
}

void redfish_json_free(struct json_object **o)
{
	json_object_put(*o);
	*o = NULL;
}

/* 0: not a number within ]0, max] */
static double redfish_number_of(struct json_object *o, const char *name, double max)
{
	double d = 0;

	return http_json_number(o, name, &d) == 0 && isfinite(d) && d > 0 && d <= max
		       ? d
		       : 0;
}

static uint64_t redfish_microwatts(struct json_object *o, const char *name)
{
	return (uint64_t)llround(redfish_number_of(o, name, WATTS_MAX) * 1e6);
}

bool redfish_path_ok(const char *path)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
				      "UVWXYZ0123456789-._~/:@!$&'()*+,;=%";
	size_t n = strnlen(path, REDFISH_PATH_BYTES);

	return n < REDFISH_PATH_BYTES && strncmp(path, "/redfish/", 9) == 0 &&
	       strspn(path, allowed) == n && !strstr(path, "/../") &&
	       !strstr(path, "//") && !strstr(path, "%0") && !strstr(path, "%1") &&
	       !strcasestr(path, "%2e") && !strcasestr(path, "%2f") &&
	       (n < 3 || strcmp(path + n - 3, "/..") != 0);
}

static bool id_of(struct json_object *o, char ret[REDFISH_PATH_BYTES])
{
	const char *s = http_json_text(o, "@odata.id");
	size_t n = s ? strcspn(s, "#") : 0;
	char path[REDFISH_PATH_BYTES];

	if (!s || n >= sizeof(path))
		return false;
	memcpy(path, s, n);
	path[n] = '\0';
	if (!redfish_path_ok(path))
		return false;
	memcpy(ret, path, n + 1);
	return true;
}

bool redfish_json_link(struct json_object *o, const char *name,
		       char ret[REDFISH_PATH_BYTES])
{
	struct json_object *links = http_json_get(o, "Links", json_type_object);

	return id_of(http_json_get(o, name, json_type_object), ret) ||
	       id_of(http_json_get(links, name, json_type_object), ret);
}

void redfish_json_self(struct json_object *o, char ret[REDFISH_PATH_BYTES])
{
	ret[0] = '\0';
	(void)id_of(o, ret);
}

size_t redfish_json_members(struct json_object *o)
{
	struct json_object *a = http_json_get(o, "Members", json_type_array);
	return a ? json_object_array_length(a) : 0;
}

bool redfish_json_member(struct json_object *o, size_t i, char ret[REDFISH_PATH_BYTES])
{
	struct json_object *a = http_json_get(o, "Members", json_type_array);
	return a && id_of(json_object_array_get_idx(a, i), ret);
}

uint64_t redfish_json_session_timeout_s(struct json_object *o)
{
	return (uint64_t)redfish_number_of(o, "SessionTimeout", 1e9);
}

/* A label value: valid UTF-8 without control characters */
static bool is_id(const char *s)
{
	size_t n = strnlen(s, REDFISH_ID_BYTES), step = 1;

	if (!n || n == REDFISH_ID_BYTES)
		return false;
	for (size_t i = 0; i < n; i += step) {
		step = utf8_len(s + i, n - i);
		if (!step || (unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	}
	return true;
}

int redfish_json_chassis(struct json_object *o, struct redfish_chassis *ret,
			 struct err *err)
{
	const char *id = http_json_text(o, "Id");
	struct json_object *links = http_json_get(o, "Links", json_type_object);
	struct json_object *systems =
		http_json_get(links, "ComputerSystems", json_type_array);

	if (!id || !is_id(id))
		return err_set(err, -EBADMSG, "a chassis without an Id");
	memset(ret, 0, sizeof(*ret));
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	(void)redfish_json_link(o, "EnvironmentMetrics", ret->environment);
	(void)redfish_json_link(o, "PowerSubsystem", ret->subsystem);
	(void)redfish_json_link(o, "Sensors", ret->sensors);
	(void)redfish_json_link(o, "Power", ret->power);
	(void)redfish_json_link(o, "ContainedBy", ret->contained_by);
	ret->has_system = systems && json_object_array_length(systems) > 0;
	return 0;
}

/* Decimals, as the BMC wrote them: json-c keeps a double's text */
static unsigned digits_of(struct json_object *o, const char *name)
{
	struct json_object *v = http_json_get(o, name, json_type_double);
	const char *s =
		v ? json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN) : NULL;
	const char *point = s ? strchr(s, '.') : NULL;
	size_t n = point ? strspn(point + 1, "0123456789") : 0;

	return n < DIGITS_MAX ? (unsigned)n : DIGITS_MAX;
}

/* SensorEnergykWhExcerpt: LifetimeReading is never reset, Reading may be. */
static void take_energy(struct json_object *o, struct redfish_reading *ret)
{
	const char *name = redfish_number_of(o, "LifetimeReading", KWH_MAX) > 0
				   ? "LifetimeReading"
				   : "Reading";
	double kwh = redfish_number_of(o, name, KWH_MAX);

	if (kwh <= 0)
		return;
	ret->energy_uj = (uint64_t)(kwh * UJ_PER_KWH);
	ret->energy_digits = digits_of(o, name);
}

bool redfish_json_environment(struct json_object *o, struct redfish_reading *ret)
{
	uint64_t uw = redfish_microwatts(
		http_json_get(o, "PowerWatts", json_type_object), "Reading");

	ret->power_uw += uw;
	take_energy(http_json_get(o, "EnergykWh", json_type_object), ret);
	return uw || ret->energy_uj;
}

bool redfish_json_supply(struct json_object *o, struct redfish_reading *ret)
{
	uint64_t uw = redfish_microwatts(
		http_json_get(o, "InputPowerWatts", json_type_object), "Reading");

	ret->power_uw += uw;
	return uw > 0;
}

bool redfish_json_sensor(struct json_object *o, struct redfish_reading *ret)
{
	const char *type = http_json_text(o, "ReadingType");
	uint64_t uw = redfish_microwatts(o, "Reading");

	if (!type || strcmp(type, "Power") != 0 || !uw)
		return false;
	ret->power_uw += uw;
	ret->min_uw += redfish_microwatts(o, "LowestReading");
	ret->max_uw += redfish_microwatts(o, "PeakReading");
	ret->avg_uw += redfish_microwatts(o, "AverageReading");
	return true;
}

bool redfish_json_sensor_is_total(struct json_object *o)
{
	static const char *const ids[] = {"total_power",  "totalpower", "system_power",
					  "systempower",  "sys_power",  "chassis_power",
					  "chassispower", "input_power"};
	const char *context = http_json_text(o, "PhysicalContext");
	const char *id = http_json_text(o, "Id");
	struct redfish_reading r = {0};

	if (!redfish_json_sensor(o, &r))
		return false;
	for (size_t i = 0; id && i < sizeof(ids) / sizeof(ids[0]); i++) {
		/* OpenBMC puts the type before the name: power_total_power */
		const char *name = strncasecmp(id, "power_", 6) == 0 ? id + 6 : id;
		if (strcasecmp(id, ids[i]) == 0 || strcasecmp(name, ids[i]) == 0)
			return true;
	}
	return context && strcmp(context, "Chassis") == 0;
}

/* Processors, memory and the like: the machine's power includes them */
static bool is_part(struct json_object *control)
{
	static const char *const wholes[] = {"Chassis",     "SystemBoard",
					     "PowerSupply", "PowerSubsystem",
					     "Intake",      "Room"};
	const char *context = http_json_text(control, "PhysicalContext");

	for (size_t i = 0; context && i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		if (strcmp(context, wholes[i]) == 0)
			return false;
	}
	return context != NULL;
}

bool redfish_json_power(struct json_object *o, struct redfish_reading *ret)
{
	struct json_object *a = http_json_get(o, "PowerControl", json_type_array);
	size_t n = a ? json_object_array_length(a) : 0;
	struct redfish_reading sum = {0};

	for (size_t i = 0; i < n && i < CONTROLS_MAX; i++) {
		struct json_object *c = json_object_array_get_idx(a, i);
		struct json_object *m =
			http_json_get(c, "PowerMetrics", json_type_object);
		if (is_part(c))
			continue;
		sum.power_uw += redfish_microwatts(c, "PowerConsumedWatts");
		sum.min_uw += redfish_microwatts(m, "MinConsumedWatts");
		sum.max_uw += redfish_microwatts(m, "MaxConsumedWatts");
		sum.avg_uw += redfish_microwatts(m, "AverageConsumedWatts");
	}
	ret->power_uw += sum.power_uw;
	ret->min_uw += sum.min_uw;
	ret->max_uw += sum.max_uw;
	ret->avg_uw += sum.avg_uw;
	return sum.power_uw > 0;
}
