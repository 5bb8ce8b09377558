/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/emissions.h"
#include "lib/rfc3339.h"
#include "test/unit/node.h"

extern const struct collector collector_emissions;
static const struct collector *const c = &collector_emissions;

#define TABLE "test/fixture/emissions/owid.csv"

static uint64_t now_s;

static uint64_t realtime(void)
{
	return now_s * NSEC_PER_SEC;
}

struct world {
	struct node node;
	struct emissions *emissions;
	char *lists[3][8];
};

static void list(struct world *w, unsigned which, struct conf_list *l, const char *text)
{
	static char copies[3][128];
	char *save = NULL;

	snprintf(copies[which], sizeof(copies[which]), "%s", text);
	l->items = w->lists[which];
	l->count = 0;
	for (char *s = strtok_r(copies[which], " ", &save); s;
	     s = strtok_r(NULL, " ", &save))
		l->items[l->count++] = s;
}

/* Words separated by blanks; the clock stands at 2025-08-07 10:00 UTC. */
static void world_init(struct world *w, const char *providers, const char *zones,
		       const char *prefer)
{
	struct err err;

	memset(w, 0, sizeof(*w));
	node_init(&w->node, "test/fixture/emissions");
	struct options *o = &w->node.options;
	list(w, 0, &o->emissions_providers, providers);
	list(w, 1, &o->emissions_zones, zones);
	list(w, 2, &o->emissions_prefer, prefer);
	o->emissions_max_age_ms = 6 * 3600 * 1000;
	o->emissions_owid_file = (char *)(uintptr_t)TABLE;
	now_s = 1754560800;
	w->node.env.realtime_ns = realtime;
	assert_int_equal(emissions_new(o, &w->emissions, &err), 0);
	assert_string_equal(err.text, "");
	w->node.env.emissions = w->emissions;
	node_open(&w->node, c);
}

static void world_done(struct world *w)
{
	node_done(&w->node, c);
	emissions_free(w->emissions);
}

static size_t provider(const char *name)
{
	int i = emission_provider_find(name);
	assert_true(i >= 0);
	return (size_t)i;
}

static void learn(struct world *w, const char *name, const char *zone, double grams,
		  uint64_t age_s)
{
	struct emission_set s = {0};
	assert_int_equal(emission_set_put(&s, zone, "", grams, now_s - age_s, NULL), 0);
	assert_int_equal(emissions_take(w->emissions, provider(name), &s, NULL), 0);
	assert_int_equal(s.count, 0);
	emissions_set_health(w->emissions, provider(name), 0);
}

static bool shows(struct world *w, const char *text)
{
	assert_int_equal(node_collect(&w->node, c), 0);
	return strstr(w->node.text.data, text) != NULL;
}

static void all_providers_are_the_golden_scrape(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "", "", "");
	learn(&w, "rte", "FR", 21.5, 900);
	learn(&w, "emaps", "US-CAL-CISO", 302, 3600);
	learn(&w, "wt", "CAISO_NORTH", 0, 300);
	emissions_set_health(w.emissions, provider("wt"), -EACCES);
	node_golden(&w.node, c, "test/golden/collector_emissions.prom");
	world_done(&w);
}

static void tables_alone_are_shown_without_anybody_being_asked(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "owid global", "", "");
	assert_true(shows(&w, "ceems_emissions_gCo2_kWh{provider=\"owid\",provider_"
			      "name=\"OWID\",country_code=\"FR\",country=\"France\"} "
			      "56.039\n"));
	assert_true(shows(&w, "ceems_emissions_gCo2_kWh{provider=\"global\",provider_"
			      "name=\"World Average\",country_code=\"ZZ\",country="
			      "\"World\"} 475\n"));
	assert_false(shows(&w, "ceems_emissions_provider_up"));
	assert_false(shows(&w, "ceems_emissions_age_seconds"));
	world_done(&w);
}

static void only_what_was_asked_for_is_shown(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "owid", "FR DE", "");
	assert_true(shows(&w, "country_code=\"FR\""));
	assert_true(shows(&w, "country_code=\"DE\""));
	assert_false(shows(&w, "country_code=\"TM\""));
	assert_false(shows(&w, "provider=\"global\""));
	world_done(&w);
}

static void the_last_value_ages_and_then_stops(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "rte", "FR", "");
	assert_false(shows(&w, "provider=\"rte\""));
	learn(&w, "rte", "FR", 21.5, 900);
	assert_true(shows(&w, "ceems_emissions_provider_up{provider=\"rte\"} 1\n"));
	emissions_set_health(w.emissions, provider("rte"), -ETIMEDOUT);
	now_s += 6 * 3600 - 900;
	assert_true(shows(&w, "country=\"FR\"} 21.5\n"));
	assert_true(shows(&w, "ceems_emissions_provider_up{provider=\"rte\"} 0\n"));
	assert_true(shows(&w, "ceems_emissions_factor_grams_per_joule"));
	now_s++;
	assert_false(shows(&w, "ceems_emissions_gCo2_kWh"));
	assert_false(shows(&w, "ceems_emissions_factor_grams_per_joule"));
	assert_true(shows(&w, "ceems_emissions_age_seconds{provider=\"rte\",country_"
			      "code=\"FR\"} 21601\n"));
	/* and comes back */
	learn(&w, "rte", "FR", 30, 60);
	assert_true(shows(&w, "country=\"FR\"} 30\n"));
	world_done(&w);
}

static void an_older_value_does_not_replace_a_newer_one(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "emaps", "", "");
	learn(&w, "emaps", "DE", 300, 60);
	learn(&w, "emaps", "DE", 100, 3600);
	assert_true(shows(&w, "country=\"DE\"} 300\n"));
	world_done(&w);
}

static void value_from_a_clock_ahead_of_ours_is_not_of_a_negative_age(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "wt", "", "");
	learn(&w, "wt", "PJM_DC", 300, (uint64_t)-600);
	assert_true(shows(&w, "country_code=\"PJM_DC\"} 0\n"));
	world_done(&w);
}

static const char *now_is(struct world *w, uint64_t *mg)
{
	static char text[64];
	struct emissions_now n;
	if (emissions_current(w->emissions, now_s, &n) < 0)
		return "none";
	*mg = n.mg_per_kwh;
	snprintf(text, sizeof(text), "%s %s", n.provider, n.zone);
	return text;
}

static void the_best_provider_of_the_nodes_zone_counts(void **state)
{
	(void)state;
	struct world w;
	uint64_t mg = 0;
	world_init(&w, "", "US-CAL-CISO CAISO_NORTH FR DE", "");
	assert_string_equal(now_is(&w, &mg), "owid FR");
	assert_int_equal(mg, 56039);
	learn(&w, "rte", "FR", 21.5, 900);
	assert_string_equal(now_is(&w, &mg), "rte FR");
	learn(&w, "emaps", "DE", 300, 60);
	assert_string_equal(now_is(&w, &mg), "emaps DE");
	learn(&w, "emaps", "US-CAL-CISO", 200, 60);
	assert_string_equal(now_is(&w, &mg), "emaps US-CAL-CISO");
	learn(&w, "file", "FR", 10, 60);
	assert_string_equal(now_is(&w, &mg), "file FR");
	now_s += 7 * 3600;
	/* all that was fetched is too old */
	assert_string_equal(now_is(&w, &mg), "owid FR");
	world_done(&w);
}

static void a_node_of_no_zone_has_the_worlds_mean(void **state)
{
	(void)state;
	struct world w;
	uint64_t mg = 0;
	world_init(&w, "", "", "");
	/* that RTE answers does not mean that we are in France */
	learn(&w, "rte", "FR", 21.5, 900);
	assert_string_equal(now_is(&w, &mg), "global ZZ");
	assert_int_equal(mg, 475000);
	world_done(&w);
	world_init(&w, "owid", "", "");
	assert_string_equal(now_is(&w, &mg), "none");
	world_done(&w);
}

static void the_order_can_be_given(void **state)
{
	(void)state;
	struct world w;
	uint64_t mg = 0;
	world_init(&w, "", "FR", "owid rte");
	learn(&w, "rte", "FR", 21.5, 900);
	assert_string_equal(now_is(&w, &mg), "owid FR");
	world_done(&w);
	/* named by hand, a provider of one zone needs no zone */
	world_init(&w, "", "", "wt");
	assert_string_equal(now_is(&w, &mg), "none");
	learn(&w, "wt", "CAISO_NORTH", 0, 60);
	assert_string_equal(now_is(&w, &mg), "wt CAISO_NORTH");
	assert_int_equal(mg, 0);
	world_done(&w);
}

static void ticks_see_news_within_ten_seconds(void **state)
{
	(void)state;
	struct world w;
	world_init(&w, "rte owid", "FR", "");
	const struct emissions_now *n = emissions_tick(w.emissions, NULL, now_s);
	assert_non_null(n);
	assert_string_equal(n->provider, "owid");
	learn(&w, "rte", "FR", 21.5, 900);
	n = emissions_tick(w.emissions, NULL, now_s + 10);
	assert_string_equal(n->provider, "rte");
	assert_int_equal(n->mg_per_kwh, 21500);
	/* also after the clock was set back by a day: what was fetched is in the
	 * future, and still the newest */
	n = emissions_tick(w.emissions, NULL, now_s - 86400);
	assert_string_equal(n->provider, "rte");
	n = emissions_tick(w.emissions, NULL, now_s + 86400);
	assert_string_equal(n->provider, "owid");
	world_done(&w);
	world_init(&w, "rte", "FR", "");
	assert_null(emissions_tick(w.emissions, NULL, now_s));
	world_done(&w);
}

static void a_bad_table_costs_only_itself(void **state)
{
	(void)state;
	struct options o = {.emissions_owid_file = (char *)(uintptr_t) "/nonexistent"};
	struct emissions *e = NULL;
	struct err err;
	assert_int_equal(emissions_new(&o, &e, &err), 0);
	assert_non_null(strstr(err.text, "/nonexistent"));
	assert_int_equal(emissions_of(e, provider("owid"))->count, 0);
	assert_int_equal(emissions_of(e, provider("global"))->count, 1);
	emissions_free(e);
	o.emissions_owid_file = (char *)(uintptr_t) "test/golden/collector_cpu.prom";
	assert_int_equal(emissions_new(&o, &e, &err), 0);
	assert_non_null(strstr(err.text, "line"));
	emissions_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_providers_are_the_golden_scrape),
		cmocka_unit_test(tables_alone_are_shown_without_anybody_being_asked),
		cmocka_unit_test(only_what_was_asked_for_is_shown),
		cmocka_unit_test(the_last_value_ages_and_then_stops),
		cmocka_unit_test(an_older_value_does_not_replace_a_newer_one),
		cmocka_unit_test(
			value_from_a_clock_ahead_of_ours_is_not_of_a_negative_age),
		cmocka_unit_test(the_best_provider_of_the_nodes_zone_counts),
		cmocka_unit_test(a_node_of_no_zone_has_the_worlds_mean),
		cmocka_unit_test(the_order_can_be_given),
		cmocka_unit_test(ticks_see_news_within_ten_seconds),
		cmocka_unit_test(a_bad_table_costs_only_itself),
	};
	return cmocka_run_group_tests_name("collector_emissions_test", tests, NULL,
					   NULL);
}
