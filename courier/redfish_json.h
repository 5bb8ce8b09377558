/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_JSON_H
#define CEEMS_COURIER_REDFISH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Readers of Redfish resources (DMTF DSP0266, schemas of DSP8010). Total on any bytes:
 * what is missing or of another type than the schema says is absent, never guessed. */

#define REDFISH_BODY_MAX ((size_t)512 << 10)
#define REDFISH_DEPTH_MAX 32 /* of nesting; beyond it the answer is refused */
#define REDFISH_PATH_BYTES 256
#define REDFISH_ID_BYTES 64 /* fits courier_channel.chip */

struct json_object;

/* Parses a whole answer, which must be an object. -EBADMSG with the reason. Free with
 * redfish_json_free(). */
int redfish_json_parse(const char *text, size_t len, struct json_object **ret,
		       struct err *err);
void redfish_json_free(struct json_object **o);
#define auto_redfish_json __attribute__((cleanup(redfish_json_free)))

/* Is it a path that a service may send us to: below /redfish/, without query, fragment
 * (one that is there is cut by redfish_json_link), "..", escapes of controls? */
bool redfish_path_ok(const char *path);

/* "@odata.id" of the member `name` of o (of its "Links" too, where it is not in o
 * itself). false: there is none that may be followed. */
bool redfish_json_link(struct json_object *o, const char *name,
		       char ret[REDFISH_PATH_BYTES]);

/* The resource's own "@odata.id"; "" where it has none */
void redfish_json_self(struct json_object *o, char ret[REDFISH_PATH_BYTES]);

/* The i-th of a collection's "Members"; false where it is no link. */
size_t redfish_json_members(struct json_object *o);
bool redfish_json_member(struct json_object *o, size_t i, char ret[REDFISH_PATH_BYTES]);

/* SessionService.SessionTimeout in seconds, 0: not said */
uint64_t redfish_json_session_timeout_s(struct json_object *o);

/* A Chassis resource. Paths that are missing are "". */
struct redfish_chassis {
	char id[REDFISH_ID_BYTES];
	char environment[REDFISH_PATH_BYTES], sensors[REDFISH_PATH_BYTES],
		power[REDFISH_PATH_BYTES];
	char subsystem[REDFISH_PATH_BYTES];    /* PowerSubsystem, which has supplies */
	char contained_by[REDFISH_PATH_BYTES]; /* the chassis around it */
	bool has_system;                       /* Links.ComputerSystems is not empty */
};
/* -EBADMSG: without an Id that can be a label */
int redfish_json_chassis(struct json_object *o, struct redfish_chassis *ret,
			 struct err *err);

/* What one resource says of power. 0 means absent: no machine that answers takes none.
 */
struct redfish_reading {
	uint64_t power_uw, min_uw, max_uw, avg_uw;
	uint64_t energy_uj;     /* since some time */
	unsigned energy_digits; /* of kWh behind the point, at most 9 */
};

/* Each adds to *ret what it finds, and returns whether it found power or energy. */

/* EnvironmentMetrics: PowerWatts, EnergykWh */
bool redfish_json_environment(struct json_object *o, struct redfish_reading *ret);
/* PowerSupplyMetrics: InputPowerWatts; energy of supplies is not taken */
bool redfish_json_supply(struct json_object *o, struct redfish_reading *ret);
/* Sensor with ReadingType Power */
bool redfish_json_sensor(struct json_object *o, struct redfish_reading *ret);
/* Is this power sensor that of the whole chassis? */
bool redfish_json_sensor_is_total(struct json_object *o);
/* Power (deprecated): the sum over PowerControl, without entries of a part of the
 * machine, which are in the others. */
bool redfish_json_power(struct json_object *o, struct redfish_reading *ret);

#endif
