/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_JSON_H
#define CEEMS_COURIER_REDFISH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Parsers of Redfish resources (DMTF DSP0266, schemas of DSP8010). Accept any bytes:
 * a missing member, or one of another type than in the schema, is absent, never
 * guessed. */

#define REDFISH_BODY_MAX ((size_t)512 << 10)
#define REDFISH_DEPTH_MAX 32 /* nesting; deeper answers are refused */
#define REDFISH_PATH_BYTES 256
#define REDFISH_ID_BYTES 64 /* fits child_channel.chip */

struct json_object;

/* Parses a whole answer, which must be an object. -EBADMSG with the reason. Free with
 * redfish_json_free(). */
int redfish_json_parse(const char *text, size_t len, struct json_object **ret,
		       struct err *err);
void redfish_json_free(struct json_object **o);
#define auto_redfish_json __attribute__((cleanup(redfish_json_free)))

/* Whether we may follow this path from a service: below /redfish/, without query,
 * fragment (redfish_json_link() removes one), "..", or escapes of control
 * characters. */
bool redfish_path_ok(const char *path);

/* "@odata.id" of the member `name` of o (or of its "Links", if it is not in o). False:
 * there is none that may be followed. */
bool redfish_json_link(struct json_object *o, const char *name,
		       char ret[REDFISH_PATH_BYTES]);

/* The resource's own "@odata.id"; "" where it has none */
void redfish_json_self(struct json_object *o, char ret[REDFISH_PATH_BYTES]);

/* The i-th of a collection's "Members"; false: it is not a link. */
size_t redfish_json_members(struct json_object *o);
bool redfish_json_member(struct json_object *o, size_t i, char ret[REDFISH_PATH_BYTES]);

/* SessionService.SessionTimeout in seconds, 0: not given */
uint64_t redfish_json_session_timeout_s(struct json_object *o);

/* A Chassis resource. Paths that are missing are "". */
struct redfish_chassis {
	char id[REDFISH_ID_BYTES];
	char environment[REDFISH_PATH_BYTES], sensors[REDFISH_PATH_BYTES],
		power[REDFISH_PATH_BYTES];
	char subsystem[REDFISH_PATH_BYTES];    /* contains the power supplies */
	char contained_by[REDFISH_PATH_BYTES]; /* the enclosing chassis */
	bool has_system;                       /* Links.ComputerSystems is not empty */
};
/* -EBADMSG: no Id that can be a label */
int redfish_json_chassis(struct json_object *o, struct redfish_chassis *ret,
			 struct err *err);

/* Power and energy from one resource. 0: absent, since a machine that answers uses
 * some. */
struct redfish_reading {
	uint64_t power_uw, min_uw, max_uw, avg_uw;
	uint64_t energy_uj;     /* since some time */
	unsigned energy_digits; /* decimals of kWh, at most 9 */
};

/* Each adds what it finds to *ret, and returns whether it found power or energy. */

/* EnvironmentMetrics: PowerWatts, EnergykWh */
bool redfish_json_environment(struct json_object *o, struct redfish_reading *ret);
/* PowerSupplyMetrics: InputPowerWatts; energy of supplies is not used */
bool redfish_json_supply(struct json_object *o, struct redfish_reading *ret);
/* Sensor with ReadingType Power */
bool redfish_json_sensor(struct json_object *o, struct redfish_reading *ret);
/* Whether this power sensor is for the whole chassis. */
bool redfish_json_sensor_is_total(struct json_object *o);
/* Power (deprecated): the sum over PowerControl, without entries for parts of the
 * machine, which the others include. */
bool redfish_json_power(struct json_object *o, struct redfish_reading *ret);

#endif
