/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node's power from its BMC. Which resource of a chassis has it is discovered once
 * and kept, so that a poll costs one request per chassis. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "courier/courier.h"
#include "courier/redfish_bmc.h"
#include "lib/clock.h"
#include "lib/log.h"

#define CHASSIS_MAX 16u
#define PATHS_MAX 16u /* power supplies, or sensors */
#define SENSORS_TRIED 64u
#define FINE_DIGITS 3u /* decimals of kWh: a step is 3.6 kJ, some seconds of a node */
#define REDISCOVER_NS (300 * NSEC_PER_SEC)

typedef bool (*reader_f)(struct json_object *o, struct redfish_reading *ret);

struct seat {
	struct redfish_chassis chassis;
	char self[REDFISH_PATH_BYTES];
	bool counts; /* counts for the host */
	reader_f read;
	char paths[PATHS_MAX][REDFISH_PATH_BYTES]; /* requested each time, and summed */
	size_t path_count;
	struct redfish_reading last;
	uint64_t power_ns, energy_ns; /* when they were measured */
	bool fine;                    /* energy has enough resolution */
};

struct redfish {
	struct courier *courier;
	struct redfish_config config;
	struct redfish_bmc *bmc;
	struct seat *seats; /* CHASSIS_MAX */
	size_t count;
	bool found;
	uint64_t rediscover_ns;
};

static void redfish_close(void *state)
{
	struct redfish *r = state;

	if (!r)
		return;
	redfish_bmc_free(r->bmc);
	redfish_config_done(&r->config);
	free(r->seats);
	free(r);
}

static int open_bmc(struct redfish *r, struct err *err)
{
	const struct options *o = &r->courier->options;
	char *url = NULL;
	int rc = redfish_config_load(o->redfish_config_file, o->redfish_expand_env,
				     &r->config, err);

	if (rc < 0)
		return rc;
	if (r->config.old_name)
		log_warn("%s: redfish_web_config is called redfish_collector now",
			 o->redfish_config_file);
	if (r->config.insecure)
		log_warn("%s: insecure_skip_verify: anyone can pose as the BMC and get "
			 "its password",
			 o->redfish_config_file);
	rc = redfish_config_set_node(&r->config, r->courier->hostname, err);
	if (rc < 0)
		return rc;
	const char *address = o->redfish_bmc_address ? o->redfish_bmc_address : "";
	/* a proxy without a named BMC uses the node's own */
	if (r->config.hostname || *address || !r->config.external_url)
		rc = redfish_config_url(&r->config, r->courier->hostname, address, &url,
					err);
	if (rc == 0)
		rc = redfish_bmc_new(&r->config, url, o->redfish_interval_ms,
				     &r->courier->stop, &r->bmc, err);
	free(url);
	return rc;
}

static int redfish_open(struct courier *c, void **ret_state, struct err *err)
{
	if (!c->options.collector_redfish)
		return -ENODEV;
	if (!*c->options.redfish_config_file)
		return err_set(err, -EINVAL,
			       "no --collector.redfish.config.file is given");
	struct redfish *r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->courier = c;
	r->seats = calloc(CHASSIS_MAX, sizeof(*r->seats));
	int rc = r->seats ? open_bmc(r, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		redfish_close(r);
		return rc;
	}
	*ret_state = r;
	return 0;
}

/* ---- discovery ------------------------------------------------------------------- */

/* A missing or malformed resource is not a failure of the whole; a network error is. */
static bool is_absence(int rc)
{
	return rc == -ENOENT || rc == -EBADMSG || rc == -EIO;
}

/* Adds this path if it gives a reading: 1, 0 or failure. */
static int try_path(struct redfish *r, struct seat *s, reader_f read, const char *path,
		    struct err *err)
{
	auto_redfish_json struct json_object *o = NULL;
	struct redfish_reading reading = {0};

	if (!*path || s->path_count == PATHS_MAX)
		return 0;
	int rc = redfish_bmc_get(r->bmc, path, &o, err);
	if (rc < 0)
		return is_absence(rc) ? 0 : rc;
	if (!read(o, &reading))
		return 0;
	s->read = read;
	(void)snprintf(s->paths[s->path_count++], REDFISH_PATH_BYTES, "%s", path);
	return 1;
}

static int get_link(struct redfish *r, const char *path, const char *name, char *ret,
		    struct err *err)
{
	auto_redfish_json struct json_object *o = NULL;
	int rc = redfish_bmc_get(r->bmc, path, &o, err);

	if (rc < 0)
		return is_absence(rc) ? 0 : rc;
	return redfish_json_link(o, name, ret);
}

/* PowerSubsystem -> PowerSupplies -> each supply -> its Metrics */
static int try_supplies(struct redfish *r, struct seat *s, struct err *err)
{
	auto_redfish_json struct json_object *list = NULL;
	char supplies[REDFISH_PATH_BYTES], supply[REDFISH_PATH_BYTES],
		metrics[REDFISH_PATH_BYTES];
	int rc = 0;

	if (!*s->chassis.subsystem)
		return 0;
	rc = get_link(r, s->chassis.subsystem, "PowerSupplies", supplies, err);
	if (rc <= 0)
		return rc;
	rc = redfish_bmc_get(r->bmc, supplies, &list, err);
	if (rc < 0)
		return is_absence(rc) ? 0 : rc;
	size_t n = redfish_json_members(list);
	for (size_t i = 0; i < n && i < PATHS_MAX; i++) {
		if (!redfish_json_member(list, i, supply))
			continue;
		rc = get_link(r, supply, "Metrics", metrics, err);
		if (rc > 0)
			rc = try_path(r, s, redfish_json_supply, metrics, err);
		if (rc < 0)
			return rc;
	}
	return s->path_count > 0;
}

static bool read_total(struct json_object *o, struct redfish_reading *ret)
{
	return redfish_json_sensor_is_total(o) && redfish_json_sensor(o, ret);
}

/* A single sensor: that of the whole chassis */
static int try_sensors(struct redfish *r, struct seat *s, struct err *err)
{
	auto_redfish_json struct json_object *list = NULL;
	char path[REDFISH_PATH_BYTES];

	if (!*s->chassis.sensors)
		return 0;
	int rc = redfish_bmc_get(r->bmc, s->chassis.sensors, &list, err);
	if (rc < 0)
		return is_absence(rc) ? 0 : rc;
	size_t n = redfish_json_members(list), tried = 0;
	for (size_t i = 0; i < n && tried < SENSORS_TRIED; i++) {
		/* do not request hundreds of temperatures */
		if (!redfish_json_member(list, i, path) || !strcasestr(path, "power"))
			continue;
		tried++;
		rc = try_path(r, s, read_total, path, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The newer resources first; Power is deprecated since 2020. */
static int find_readings(struct redfish *r, struct seat *s, struct err *err)
{
	int rc = try_path(r, s, redfish_json_environment, s->chassis.environment, err);

	if (rc == 0)
		rc = try_supplies(r, s, err);
	if (rc == 0)
		rc = try_sensors(r, s, err);
	if (rc == 0)
		rc = try_path(r, s, redfish_json_power, s->chassis.power, err);
	return rc;
}

static int find_chassis(struct redfish *r, const char *path, struct err *err)
{
	auto_redfish_json struct json_object *o = NULL;
	struct seat *s = &r->seats[r->count];
	int rc = redfish_bmc_get(r->bmc, path, &o, err);

	if (rc < 0)
		return is_absence(rc) ? 0 : rc;
	memset(s, 0, sizeof(*s));
	if (redfish_json_chassis(o, &s->chassis, err) < 0)
		return 0;
	redfish_json_self(o, s->self);
	if (!*s->self)
		(void)snprintf(s->self, sizeof(s->self), "%s", path);
	rc = find_readings(r, s, err);
	if (rc > 0)
		r->count++;
	return rc < 0 ? rc : 0;
}

static bool is_seat_named(const struct redfish_config *c, const char *id)
{
	for (size_t i = 0; i < c->chassis_count; i++) {
		if (strcmp(c->chassis[i], id) == 0)
			return true;
	}
	return false;
}

static const struct seat *find_enclosing_seat(const struct redfish *r,
					      const struct seat *s)
{
	for (size_t i = 0; i < r->count; i++) {
		if (&r->seats[i] != s && *s->chassis.contained_by &&
		    strcmp(r->seats[i].self, s->chassis.contained_by) == 0)
			return &r->seats[i];
	}
	return NULL;
}

/* Nothing may count twice: if chassis contain a system, only those count; of nested
 * chassis the outer one that counts; those named in the file take precedence. */
static void choose_counting(struct redfish *r)
{
	bool any_system = false;

	for (size_t i = 0; i < r->count; i++)
		any_system |= r->seats[i].chassis.has_system;
	for (size_t i = 0; i < r->count; i++) {
		struct seat *s = &r->seats[i];
		const struct seat *outer = find_enclosing_seat(r, s);
		bool candidate = !any_system || s->chassis.has_system;
		bool outer_counts = outer && (!any_system || outer->chassis.has_system);
		s->counts = r->config.chassis_count
				    ? is_seat_named(&r->config, s->chassis.id)
				    : candidate && !outer_counts;
	}
}

static int discover_chassis(struct redfish *r, struct err *err)
{
	auto_redfish_json struct json_object *root = NULL;
	auto_redfish_json struct json_object *list = NULL;
	char path[REDFISH_PATH_BYTES];

	r->count = 0;
	int rc = redfish_bmc_get(r->bmc, "/redfish/v1/", &root, err);
	if (rc < 0)
		return rc;
	if (!redfish_json_link(root, "Chassis", path))
		return err_set(err, -EBADMSG,
			       "the BMC's service root lists no chassis");
	rc = redfish_bmc_get(r->bmc, path, &list, err);
	if (rc < 0)
		return rc;
	size_t n = redfish_json_members(list);
	for (size_t i = 0; i < n && r->count < CHASSIS_MAX; i++) {
		rc = redfish_json_member(list, i, path) ? find_chassis(r, path, err)
							: 0;
		if (rc < 0)
			return rc;
	}
	if (r->count == 0)
		return err_set(err, -ENODATA,
			       "no chassis of the BMC reports its power");
	choose_counting(r);
	for (size_t i = 0; i < r->count; i++)
		log_info("redfish: chassis %s: power from %s%s", r->seats[i].chassis.id,
			 r->seats[i].paths[0],
			 r->seats[i].counts ? ", counts for the node" : "");
	r->found = true;
	return 0;
}

/* ---- polling --------------------------------------------------------------------- */

/* Everything of the chassis or nothing: a missing supply must not look like lower
 * power. */
static int look_at_chassis(struct redfish *r, struct seat *s, struct err *err)
{
	struct redfish_reading sum = {0};
	uint64_t asked_ns = clock_boottime_ns();

	for (size_t i = 0; i < s->path_count; i++) {
		auto_redfish_json struct json_object *o = NULL;
		int rc = redfish_bmc_get(r->bmc, s->paths[i], &o, err);
		if (rc < 0)
			return rc;
		if (!s->read(o, &sum))
			return err_set(err, -ENODATA, "%s: it has no power reading",
				       s->paths[i]);
	}
	if (sum.power_uw)
		s->power_ns = asked_ns;
	if (sum.energy_uj && sum.energy_uj != s->last.energy_uj)
		s->energy_ns = asked_ns;
	s->fine = s->fine || sum.energy_digits >= FINE_DIGITS;
	s->last = sum;
	return 0;
}

struct snapshot_out {
	struct child_snapshot *m;
	uint32_t count;
};

static void put_redfish_channel(struct snapshot_out *out, const struct seat *s,
				enum child_channel_kind kind, uint64_t raw,
				uint64_t measured_ns, bool counts)
{
	if (!raw || out->count == CHILD_CHANNELS_MAX)
		return;
	struct child_channel *c = &out->m->channels[out->count++];
	c->kind = (uint8_t)kind;
	c->domain = counts ? CHILD_DOMAIN_HOST : CHILD_DOMAIN_NONE;
	c->raw = c->value = raw;
	c->measured_ns = measured_ns;
	(void)snprintf(c->name, sizeof(c->name), "chassis");
	(void)snprintf(c->chip, sizeof(c->chip), "%s", s->chassis.id);
}

static void put_seat(struct snapshot_out *out, const struct seat *s)
{
	bool by_energy = s->fine && s->last.energy_uj;

	put_redfish_channel(out, s, CHILD_ENERGY, s->last.energy_uj, s->energy_ns,
			    s->counts && by_energy);
	put_redfish_channel(out, s, CHILD_POWER, s->last.power_uw, s->power_ns,
			    s->counts && !by_energy);
	put_redfish_channel(out, s, CHILD_POWER_MIN, s->last.min_uw, s->power_ns,
			    false);
	put_redfish_channel(out, s, CHILD_POWER_MAX, s->last.max_uw, s->power_ns,
			    false);
	put_redfish_channel(out, s, CHILD_POWER_AVG, s->last.avg_uw, s->power_ns,
			    false);
}

/* Includes values that could not be read, with their old time, so that they age. */
static void publish_readings(struct redfish *r, uint64_t asked_ns)
{
	static const size_t bytes = sizeof(struct child_snapshot) +
				    CHILD_CHANNELS_MAX * sizeof(struct child_channel);
	uint64_t now_ns = clock_boottime_ns();
	uint64_t took_ms = (now_ns - asked_ns) / NSEC_PER_MSEC;
	uint64_t period_ms = r->courier->options.redfish_interval_ms;
	struct snapshot_out out = {.m = calloc(1, bytes)};

	if (!out.m)
		return;
	for (size_t i = 0; i < r->count; i++)
		put_seat(&out, &r->seats[i]);
	out.m->sampled_ns = now_ns;
	out.m->period_ms = took_ms > period_ms ? took_ms : period_ms;
	courier_send(r->courier, &out.m->head, CHILD_SNAPSHOT, "redfish", out.count,
		     sizeof(*out.m) + out.count * sizeof(struct child_channel));
	free(out.m);
}

static int redfish_poll(void *state, struct err *err)
{
	struct redfish *r = state;
	uint64_t now_ns = clock_boottime_ns();
	int rc = r->found ? 0 : discover_chassis(r, err), failed = 0;

	for (size_t i = 0; i < r->count && rc == 0; i++) {
		int one = look_at_chassis(r, &r->seats[i], err);
		if (one < 0)
			failed = one;
		if (one < 0 && !is_absence(one) && one != -ENODATA)
			rc = one; /* the BMC does not answer: do not ask it again */
	}
	if (rc == 0)
		publish_readings(r, now_ns);
	/* A resource is gone: rediscover from time to time. */
	if (rc == 0 && failed && now_ns >= r->rediscover_ns) {
		r->rediscover_ns = now_ns + REDISCOVER_NS;
		r->found = false;
	}
	return rc < 0 ? rc : failed;
}

static uint64_t redfish_period_ms(const void *state)
{
	const struct redfish *r = state;
	return r->courier->options.redfish_interval_ms;
}

const struct task task_redfish = {
	.name = "redfish",
	.open = redfish_open,
	.poll = redfish_poll,
	.period_ms = redfish_period_ms,
	.close = redfish_close,
};
