/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Health of ceems-courier: whether it runs, and the records that it sends from the
 * spool to the aggregator. */
#include <errno.h>
#include <stdint.h>

#include "daemon/collector.h"
#include "daemon/sources/child_link.h"
#include "lib/clock.h"

static const struct prom_family restarts = {
	"ceems_courier_restarts_total", PROM_COUNTER,
	"Times that ceems-courier was started again, after it died or at a reload"};
static const struct prom_family records = {
	"ceems_courier_records_total", PROM_COUNTER,
	"Records that aggregators accepted or refused, or that were set aside because "
	"none takes them, since ceems-courier started"};
static const struct prom_family posts = {
	"ceems_courier_posts_total", PROM_COUNTER,
	"Batches that were sent to an aggregator since ceems-courier started"};
static const struct prom_family failures = {
	"ceems_courier_post_failures_total", PROM_COUNTER,
	"Batches that were not accepted and will be sent again, since ceems-courier "
	"started"};
static const struct prom_family bytes = {
	"ceems_courier_sent_bytes_total", PROM_COUNTER,
	"Bytes of batches as they were sent since ceems-courier started"};
static const struct prom_family waiting = {
	"ceems_courier_waiting_records", PROM_GAUGE,
	"Records that ceems-courier has read and not yet delivered or set aside"};
static const struct prom_family courier_age = {
	"ceems_courier_waiting_seconds", PROM_GAUGE,
	"How long the oldest of these records has been waiting"};
static const struct prom_family last = {"ceems_courier_last_accepted_timestamp_seconds",
					PROM_GAUGE,
					"When an aggregator last took a batch"};

static const struct prom_family profiles = {
	"ceems_courier_profiles_total", PROM_COUNTER,
	"Profiles that the store accepted or refused, or that were dropped as too old "
	"for "
	"it, since ceems-courier started"};
static const struct prom_family profiles_waiting = {
	"ceems_courier_waiting_profiles", PROM_GAUGE,
	"Profiles that ceems-courier has found and not yet delivered or dropped"};
static const struct prom_family profiles_failures = {
	"ceems_courier_profile_post_failures_total", PROM_COUNTER,
	"Profiles that were not taken and will be sent again, since ceems-courier "
	"started"};

static const struct prom_family debug_files = {
	"ceems_courier_debug_files_total", PROM_COUNTER,
	"Debug files that were fetched, that no server had, or that were too long or "
	"did "
	"not fit, since ceems-courier started"};
static const struct prom_family debug_requests = {
	"ceems_courier_debug_file_requests_total", PROM_COUNTER,
	"Requests to debuginfod servers since ceems-courier started"};
static const struct prom_family debug_failures = {
	"ceems_courier_debug_file_failures_total", PROM_COUNTER,
	"Requests that a debuginfod server did not answer as one does, since "
	"ceems-courier started"};
static const struct prom_family debug_bytes = {
	"ceems_courier_debug_file_received_bytes_total", PROM_COUNTER,
	"Bytes of debug files that came, also of those that were not kept, since "
	"ceems-courier started"};

static int open_courier_collector(const struct env *env, void **ret_state,
				  struct err *err)
{
	if (!env->courier)
		return err_set(err, -ENODEV, "no ceems-courier");
	*ret_state = (void *)(uintptr_t)env;
	return 0;
}

struct courier_sink {
	struct prom *out;
	struct prom_label labels[2];
};

static void put_courier_value(const struct courier_sink *to,
			      const struct prom_family *family, uint64_t v)
{
	prom_family(to->out, family);
	prom_put_u64(to->out, to->labels, 1, v);
}

static void put_records(struct courier_sink *to, const char *result, uint64_t v)
{
	to->labels[1] = (struct prom_label){"result", result};
	prom_family(to->out, &records);
	prom_put_u64(to->out, to->labels, 2, v);
}

static void put_shipping(struct courier_sink *to, const struct child_shipping *m,
			 uint64_t now_ns)
{
	uint64_t since_ns = m->waiting_since_ns;
	uint64_t age_ns = since_ns && since_ns < now_ns ? now_ns - since_ns : 0;

	put_records(to, "accepted", m->accepted);
	put_records(to, "refused", m->refused);
	put_records(to, "set_aside", m->set_aside);
	put_courier_value(to, &posts, m->posts);
	put_courier_value(to, &failures, m->failures);
	put_courier_value(to, &bytes, m->bytes);
	put_courier_value(to, &waiting, m->waiting);
	prom_family(to->out, &courier_age);
	prom_put_scaled(to->out, to->labels, 1, age_ns, 9);
	if (m->last_taken_s)
		put_courier_value(to, &last, m->last_taken_s);
}

static void put_profile_count(struct courier_sink *to, const char *result, uint64_t v)
{
	to->labels[1] = (struct prom_label){"result", result};
	prom_family(to->out, &profiles);
	prom_put_u64(to->out, to->labels, 2, v);
}

static void put_profiles(struct courier_sink *to, const struct child_shipping *m)
{
	put_profile_count(to, "accepted", m->accepted);
	put_profile_count(to, "refused", m->refused);
	put_profile_count(to, "too_old", m->set_aside);
	put_courier_value(to, &profiles_failures, m->failures);
	put_courier_value(to, &profiles_waiting, m->waiting);
}

static void put_debug_count(struct courier_sink *to, const char *result, uint64_t v)
{
	to->labels[1] = (struct prom_label){"result", result};
	prom_family(to->out, &debug_files);
	prom_put_u64(to->out, to->labels, 2, v);
}

static void put_debug_files(struct courier_sink *to, const struct child_shipping *m)
{
	put_debug_count(to, "fetched", m->accepted);
	put_debug_count(to, "absent", m->set_aside);
	put_debug_count(to, "refused", m->refused);
	put_courier_value(to, &debug_requests, m->posts);
	put_courier_value(to, &debug_failures, m->failures);
	put_courier_value(to, &debug_bytes, m->bytes);
}

static int collect_courier(void *state, struct prom *out, struct err *err)
{
	const struct env *env = state;
	struct courier_sink to = {out, {{"hostname", env->hostname}}};
	uint64_t starts = child_link_starts(env->courier);
	struct child_shipping m;

	put_courier_value(&to, &restarts, starts ? starts - 1 : 0);
	if (child_link_get(env->courier, CHILD_SHIPPING, "ship", &m, sizeof(m)) > 0)
		put_shipping(&to, &m, env->boottime_ns());
	if (child_link_get(env->courier, CHILD_SHIPPING, "profiles", &m, sizeof(m)) > 0)
		put_profiles(&to, &m);
	if (child_link_get(env->courier, CHILD_SHIPPING, "debuginfod", &m, sizeof(m)) >
	    0)
		put_debug_files(&to, &m);
	return prom_error(out) ? err_set(err, prom_error(out), "no room for samples")
			       : 0;
}

static void close_courier(void *state)
{
	(void)state; /* the daemon's */
}

const struct collector collector_courier = {
	.name = "courier",
	.open = open_courier_collector,
	.collect = collect_courier,
	.close = close_courier,
};
