/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of providers of emission factors, by a real client, and what is made of
 * the answers of servers that behave and of servers that do not. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "courier/courier.h"
#include "lib/emissions/emissions.h"
#include "lib/fs.h"
#include "lib/rfc3339.h"
#include "test/unit/http_script.h"

#define NOW_S 1754560800u /* 2025-08-07T10:00:00Z */
#define SECRET "pl4nted-secret"

struct world {
	struct http_script server;
	struct http_client *client;
	struct emissions_config config;
	struct emissions_ask ask;
	struct emission_set set;
	struct err err;
	void *state;
	const struct emissions_provider *provider;
	/* the server's side */
	char requests[16][2048];
	unsigned count;
	const char *mode;
	unsigned logins, refuse_tokens;
};

#define RTE_GOOD                                                                       \
	"{\"total_count\":1,\"results\":[{\"taux_co2\":23,\"date_heure\":"             \
	"\"2025-08-07T09:45:00+00:00\"}]}"
#define WT_GOOD                                                                        \
	"{\"data\":[{\"point_time\":\"2025-08-07T09:55:00+00:00\",\"value\":870}],"    \
	"\"meta\":{\"region\":\"CAISO_NORTH\",\"signal_type\":\"co2_moer\","           \
	"\"units\":\"lbs_co2_per_mwh\"}}"

static bool begins(const char *request, const char *with)
{
	return strncmp(request, with, strlen(with)) == 0;
}

/* A server that misbehaves in the way that mode says; true: it has answered. */
static bool misbehave(const char *mode, struct buf *out, bool *ret_more)
{
	static const struct {
		const char *mode;
		unsigned status;
		const char *headers, *body;
	} answers[] = {
		{"500", 500, "", "oops " SECRET},
		{"404", 404, "", ""},
		{"401", 401, "", "who is " SECRET},
		{"429", 429, "Retry-After: 7200\r\n", ""},
		{"429 forever", 429, "Retry-After: 99999999999\r\n", ""},
		{"503", 503, "Retry-After: Fri, 08 Aug 2025 10:00:00 GMT\r\n", ""},
		{"redirect", 302, "Location: http://127.0.0.2:1/\r\n", ""},
		{"loop", 302, "Location: /again\r\n", ""},
		{"204", 204, "", ""},
		{"html", 200, "Content-Type: text/html\r\n", "<html>log in</html>"},
		{"half", 200, "", "{\"results\":[{\"taux_co2\":23,\"date_"},
		{"empty list", 200, "", "{\"results\":[],\"data\":[]}"},
		{"nothing", 200, "", ""},
	};

	*ret_more = true;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (strcmp(mode, answers[i].mode) == 0) {
			http_script_put(out, answers[i].status, answers[i].headers,
					answers[i].body);
			return true;
		}
	}
	if (strcmp(mode, "slow") == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{");
		return true;
	}
	if (strcmp(mode, "cut") == 0) {
		buf_puts(out, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{");
		*ret_more = false;
		return true;
	}
	return false;
}

static void answer_wt(struct world *w, const char *request, struct buf *out)
{
	char token[96];

	if (begins(request, "GET /login ")) {
		snprintf(token, sizeof(token), "{\"token\":\"tok%u-" SECRET "\"}",
			 ++w->logins);
		http_script_put(out, 200, "", token);
		return;
	}
	snprintf(token, sizeof(token), "Authorization: Bearer tok%u-" SECRET "\r\n",
		 w->logins);
	if (w->refuse_tokens) {
		w->refuse_tokens--;
		http_script_put(out, 403, "", "");
	} else if (!strstr(request, token)) {
		http_script_put(out, 401, "", "");
	} else {
		http_script_put(out, 200, "", WT_GOOD);
	}
}

static void answer_emaps(const struct world *w, const char *request, struct buf *out)
{
	char zone[32] = "", body[256];

	bool with_token = strstr(request, "auth-token: " SECRET "\r\n");
	if (strcmp(w->mode, "zones without token") == 0 &&
	    begins(request, "GET /zones "))
		with_token = !with_token;
	if (!with_token) {
		http_script_put(out, 401, "", "");
	} else if (strcmp(w->mode, "no zones") == 0 && begins(request, "GET /zones ")) {
		http_script_put(out, 500, "", "");
	} else if (begins(request, "GET /zones ")) {
		http_script_put(out, 200, "",
				"{\"DE\":{\"zoneName\":\"Germany\"},\"FR\":{"
				"\"zoneName\":\"France\"},\"US-CAL-CISO\":{"
				"\"countryName\":\"USA\",\"zoneName\":\"CAISO\"}}");
	} else {
		const char *z = strstr(request, "zone=") + strlen("zone=");
		memcpy(zone, z, strcspn(z, " "));
		if (strcmp(w->mode, "one throttles") == 0 && strcmp(zone, "FR") == 0) {
			http_script_put(out, 429, "Retry-After: 7200\r\n", "");
			return;
		}
		if (strcmp(w->mode, "one refused") == 0 && strcmp(zone, "DE") == 0) {
			http_script_put(out, 403, "", "");
			return;
		}
		if (strcmp(w->mode, "one fails") == 0 && strcmp(zone, "FR") == 0) {
			http_script_put(out, 500, "", "");
			return;
		}
		snprintf(body, sizeof(body),
			 "{\"zone\":\"%s\",\"carbonIntensity\":302,\"datetime\":"
			 "\"2025-08-07T09:00:00.000Z\"}",
			 zone);
		http_script_put(out, 200, "", body);
	}
}

static bool answer(void *arg, const char *request, struct buf *out)
{
	struct world *w = arg;
	bool more;

	if (w->count < 16)
		snprintf(w->requests[w->count++], sizeof(w->requests[0]), "%s",
			 request);
	if (misbehave(w->mode, out, &more))
		return more;
	if (w->provider == &emissions_wt)
		answer_wt(w, request, out);
	else if (w->provider == &emissions_emaps)
		answer_emaps(w, request, out);
	else if (w->provider == &emissions_file)
		http_script_put(out, 200, "",
				"2025-08-07T09:00:00Z,FR,30\n"
				"2025-08-07T09:00:00Z,DE,300\n");
	else
		http_script_put(out, 200, "", RTE_GOOD);
	return true;
}

static void setup(struct world *w, const struct emissions_provider *p)
{
	struct http_client_config http = {.timeout_ms = 2000, .redirects = 3};

	memset(w, 0, sizeof(*w));
	w->provider = p;
	w->mode = "good";
	http_script_start(&w->server, answer, w);
	w->config = (struct emissions_config){.rte_url = w->server.url,
					      .emaps_url = w->server.url,
					      .wt_url = w->server.url,
					      .file = w->server.url,
					      .emaps_token = SECRET,
					      .wt_user = "joe",
					      .wt_password = SECRET,
					      .wt_region = "CAISO_NORTH"};
	assert_int_equal(http_client_new(&http, &w->client, NULL), 0);
	assert_int_equal(p->configured(&w->config, &w->err), 0);
	if (p->open)
		assert_int_equal(p->open(&w->state, &w->err), 0);
}

static void teardown(struct world *w)
{
	if (w->provider->close)
		w->provider->close(w->state);
	emission_set_done(&w->set);
	http_client_free(w->client);
	http_script_stop(&w->server);
}

static int fetch_at(struct world *w, uint64_t now_s)
{
	emission_set_done(&w->set);
	w->count = 0;
	w->ask = (struct emissions_ask){
		.config = &w->config, .client = w->client, .now_s = now_s};
	w->err.text[0] = '\0';
	int rc = w->provider->fetch(w->state, &w->ask, &w->set, &w->err);
	assert_null(strstr(w->err.text, SECRET));
	assert_null(strstr(w->ask.partial.text, SECRET));
	if (rc < 0)
		assert_true(w->err.text[0]);
	return rc;
}

static int fetch(struct world *w)
{
	return fetch_at(w, NOW_S);
}

static uint64_t mg(const struct world *w, const char *zone)
{
	const struct emission_factor *f = emission_set_find(&w->set, zone);
	return f ? f->mg_per_kwh : 0;
}

static void rte_is_asked_for_the_newest_value_whatever_the_hour(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_rte);
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(mg(&w, "FR"), 23000);
	assert_int_equal(w.count, 1);
	assert_true(begins(w.requests[0],
			   "GET /catalog/datasets/eco2mix-national-tr/records?"));
	assert_non_null(strstr(w.requests[0], "timezone=UTC"));
	w.requests[0][strcspn(w.requests[0], "\r\n")] = '\0'; /* Host: has a port */
	assert_null(strstr(w.requests[0], "2025")); /* no day: midnight is harmless */
	teardown(&w);
}

static void wattime_window_is_utc_on_hosts_of_any_zone(void **state)
{
	(void)state;
	static const char *const zones[] = {"UTC", "Asia/Tokyo", "America/Los_Angeles",
					    "CEST-7"};
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		struct world w;
		setenv("TZ", zones[i], 1);
		tzset();
		setup(&w, &emissions_wt);
		assert_int_equal(fetch(&w), 0);
		assert_int_equal(w.count, 2);
		assert_non_null(strstr(w.requests[1], "/v3/historical?"));
		assert_non_null(strstr(w.requests[1], "region=CAISO_NORTH"));
		assert_non_null(strstr(w.requests[1], "start=2025-08-07T09:00:00Z"));
		assert_non_null(strstr(w.requests[1], "end=2025-08-07T10:00:00Z"));
		assert_int_equal(mg(&w, "CAISO_NORTH"), 394625);
		teardown(&w);
	}
	unsetenv("TZ");
	tzset();
}

static void wt_logs_in_once_for_many_questions(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_wt);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(fetch_at(&w, NOW_S + 240 * i), 0);
	assert_int_equal(w.logins, 1);
	assert_int_equal(w.count, 1);
	/* the token is over, and so it is when the clock was set back */
	assert_int_equal(fetch_at(&w, NOW_S + 1500), 0);
	assert_int_equal(w.logins, 2);
	assert_int_equal(fetch_at(&w, NOW_S - 86400), 0);
	assert_int_equal(w.logins, 3);
	teardown(&w);
}

static void wt_logs_in_again_when_its_token_is_refused(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_wt);
	assert_int_equal(fetch(&w), 0);
	w.refuse_tokens = 1;
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.logins, 2);
	/* once, not for ever */
	w.refuse_tokens = 100;
	assert_int_equal(fetch(&w), -EACCES);
	assert_int_equal(w.logins, 3);
	assert_int_equal(w.count, 3);
	teardown(&w);
}

static void wt_password_comes_from_a_file_of_safe_mode_too(void **state)
{
	(void)state;
	struct world w;
	char path[] = "/tmp/ceems-wt-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, SECRET "\n", strlen(SECRET) + 1), 0);
	setup(&w, &emissions_wt);
	w.config.wt_password = NULL;
	w.config.wt_password_file = path;
	assert_int_equal(fetch(&w), 0);
	/* joe:pl4nted-secret */
	assert_non_null(strstr(w.requests[0],
			       "Authorization: Basic am9lOnBsNG50ZWQtc2VjcmV0\r\n"));
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(fetch_at(&w, NOW_S + 3000), -EPERM);
	teardown(&w);
	close(fd);
	unlink(path);
}

static void emaps_asks_for_the_sites_zones_only(void **state)
{
	(void)state;
	static const char *const zones[] = {"FR", "US-CAL-CISO", "XX"};
	struct world w;
	setup(&w, &emissions_emaps);
	w.config.zones = zones;
	w.config.zone_count = 3;
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.count, 3);
	assert_true(begins(w.requests[0], "GET /zones "));
	assert_non_null(strstr(w.requests[1], "zone=FR "));
	assert_non_null(strstr(w.requests[2], "zone=US-CAL-CISO "));
	assert_int_equal(w.set.count, 2);
	assert_string_equal(emission_set_find(&w.set, "US-CAL-CISO")->country,
			    "USA CAISO");
	/* which zones there are is asked once a day */
	assert_int_equal(fetch_at(&w, NOW_S + 1800), 0);
	assert_int_equal(w.count, 2);
	assert_int_equal(fetch_at(&w, NOW_S + 86400), 0);
	assert_int_equal(w.count, 3);
	/* one connection for all of it */
	assert_int_equal(atomic_load(&w.server.connections), 1);
	teardown(&w);
}

static void emaps_without_zones_asks_for_what_the_token_opens(void **state)
{
	(void)state;
	struct world w;
	static const char *const elsewhere[] = {"XX"};
	setup(&w, &emissions_emaps);
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 3);
	teardown(&w);
	setup(&w, &emissions_emaps);
	w.config.zones = elsewhere;
	w.config.zone_count = 1;
	assert_int_equal(fetch(&w), -ENODATA);
	assert_int_equal(w.count, 1);
	teardown(&w);
}

static void emaps_zones_that_were_named_need_no_list(void **state)
{
	(void)state;
	static const char *const zones[] = {"FR"};
	static const char *const modes[] = {"zones without token", "no zones"};
	for (size_t i = 0; i < 2; i++) {
		struct world w;
		setup(&w, &emissions_emaps);
		w.mode = modes[i];
		assert_true(fetch(&w) < 0);
		w.config.zones = zones;
		w.config.zone_count = 1;
		assert_int_equal(fetch(&w), 0);
		assert_int_equal(mg(&w, "FR"), 302000);
		assert_string_equal(emission_set_find(&w.set, "FR")->country,
				    i ? "FR" : "France");
		teardown(&w);
	}
}

static void emaps_zone_that_fails_costs_itself(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_emaps);
	w.mode = "one fails";
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 2);
	assert_non_null(strstr(w.ask.partial.text, "FR"));
	/* a zone that the token does not open, too */
	w.mode = "one refused";
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 2);
	/* one that asks for peace ends the round, what came is kept */
	w.mode = "one throttles";
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 1);
	assert_int_equal(w.ask.retry_after_s, 7200);
	teardown(&w);
}

static void emaps_token_comes_from_a_file_too(void **state)
{
	(void)state;
	struct world w;
	char path[] = "/tmp/ceems-emaps-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, SECRET "\n", strlen(SECRET) + 1), 0);
	setup(&w, &emissions_emaps);
	w.config.emaps_token = NULL;
	w.config.emaps_token_file = path;
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(fetch(&w), -EPERM);
	teardown(&w);
	close(fd);
	unlink(path);
}

static void token_that_is_no_header_is_not_sent(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_emaps);
	w.config.emaps_token = SECRET "\r\nHost: elsewhere";
	assert_int_equal(fetch(&w), -EINVAL);
	assert_int_equal(w.count, 0);
	teardown(&w);
}

static void file_is_taken_from_a_url_too(void **state)
{
	(void)state;
	static const char *const zones[] = {"FR"};
	struct world w;
	setup(&w, &emissions_file);
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 2);
	w.config.zones = zones;
	w.config.zone_count = 1;
	assert_int_equal(fetch(&w), 0);
	assert_int_equal(w.set.count, 1);
	teardown(&w);
}

static void only_files_are_read_as_files(void **state)
{
	(void)state;
	struct world w;
	setup(&w, &emissions_file);
	w.config.file = "/dev/zero";
	assert_int_equal(fetch(&w), -EINVAL);
	w.config.file = "/nonexistent/factors";
	assert_int_equal(fetch(&w), -ENOENT);
	w.config.file = "file:///etc/passwd";
	assert_int_equal(fetch(&w), -ENOENT);
	teardown(&w);
}

static void servers_that_misbehave_give_an_error_and_no_value(void **state)
{
	(void)state;
	static const struct {
		const char *mode;
		int rc;
		uint64_t retry_after_s;
		const char *says;
	} cases[] = {
		{"500", -EIO, 0, "500"},
		{"404", -EIO, 0, "404"},
		{"401", -EACCES, 0, "401"},
		{"429", -EBUSY, 7200, "asks to wait"},
		{"429 forever", -EBUSY, 86400, "asks to wait"},
		{"503", -EBUSY, 600, "asks to wait"},
		{"redirect", -EREMCHG, 0, "elsewhere"},
		{"loop", -ELOOP, 0, ""},
		{"204", -EIO, 0, "204"},
		{"html", -EBADMSG, 0, ""},
		{"half", -EBADMSG, 0, ""},
		{"nothing", -EBADMSG, 0, "empty"},
		{"slow", -ETIMEDOUT, 0, ""},
		{"cut", -ECONNRESET, 0, ""},
	};
	for (size_t p = 0; p < emissions_providers_count; p++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct world w;
			setup(&w, emissions_providers[p]);
			w.mode = cases[i].mode;
			int rc = fetch(&w);
			/* where a password is sent, no redirect is followed */
			if (rc == -EREMCHG && strcmp(w.mode, "loop") == 0)
				rc = -ELOOP;
			if (rc != cases[i].rc || !strstr(w.err.text, cases[i].says))
				fail_msg("%s, %s: %d %s", w.provider->name, w.mode, rc,
					 w.err.text);
			assert_int_equal(w.set.count, 0);
			assert_int_equal(w.ask.retry_after_s, cases[i].retry_after_s);
			teardown(&w);
		}
	}
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	static const char *const zones[] = {"DE"};
	struct emissions_config none = {.zones = zones, .zone_count = 1, .file = ""};
	for (size_t p = 0; p < emissions_providers_count; p++) {
		struct err err = {""};
		assert_int_equal(emissions_providers[p]->configured(&none, &err),
				 -ENODATA);
		assert_true(err.text[0]);
		assert_true(emission_provider_find(emissions_providers[p]->name) >= 0);
		assert_true(emission_providers[emission_provider_find(
						       emissions_providers[p]->name)]
				    .fetched);
	}
}

/* ---- the task around it ---------------------------------------------------------- */

extern const struct task task_emissions_rte;

struct office {
	struct world w;
	struct courier courier;
	int ceemsd; /* the other end */
	void *state;
};

static void office_open(struct office *o)
{
	int pair[2];

	memset(o, 0, sizeof(*o));
	setup(&o->w, &emissions_rte);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair),
			 0);
	o->courier.link = pair[0];
	o->ceemsd = pair[1];
	o->courier.options.collector_emissions = true;
	o->courier.options.emissions_rte_url = o->w.server.url;
	o->courier.options.emissions_ca_file = (char *)(uintptr_t) "";
	assert_int_equal(task_emissions_rte.open(&o->courier, &o->state, &o->w.err), 0);
}

static void office_close(struct office *o)
{
	task_emissions_rte.close(o->state);
	close(o->courier.link);
	close(o->ceemsd);
	teardown(&o->w);
}

static uint64_t poll_and_wait_s(struct office *o, int want)
{
	struct err err = {""};
	assert_int_equal(task_emissions_rte.poll(o->state, &err), want);
	return task_emissions_rte.period_ms(o->state) / 1000;
}

static void what_came_goes_to_ceemsd(void **state)
{
	(void)state;
	struct office o;
	union {
		struct child_factors m;
		uint64_t align[CHILD_MESSAGE_MAX / 8];
	} in;
	office_open(&o);
	assert_in_range(poll_and_wait_s(&o, 0), 900, 990);
	ssize_t n = recv(o.ceemsd, &in, sizeof(in), 0);
	assert_true(n > 0);
	assert_int_equal(child_msg_check(&in, (size_t)n, NULL), CHILD_FACTORS);
	assert_string_equal(in.m.head.name, "emissions_rte");
	assert_int_equal(in.m.head.count, 1);
	assert_string_equal(in.m.factors[0].zone, "FR");
	assert_int_equal(in.m.factors[0].mg_per_kwh, 23000);
	/* a failure sends nothing: what ceemsd has, it keeps */
	o.w.mode = "500";
	(void)poll_and_wait_s(&o, -EIO);
	assert_true(recv(o.ceemsd, &in, sizeof(in), 0) < 0);
	office_close(&o);
}

static void provider_that_fails_is_left_alone_for_longer_and_longer(void **state)
{
	(void)state;
	struct office o;
	office_open(&o);
	o.w.mode = "500";
	uint64_t before = 0, s = 0;
	for (int i = 0; i < 12; i++) {
		s = poll_and_wait_s(&o, -EIO);
		assert_true(s >= before);
		assert_true(i > 0 ? s > 60 : s == 60);
		before = s;
	}
	assert_int_equal(s, 3600);
	o.w.mode = "429";
	assert_int_equal(poll_and_wait_s(&o, -EBUSY), 7200);
	o.w.mode = "good";
	assert_in_range(poll_and_wait_s(&o, 0), 900, 990);
	o.w.mode = "500";
	assert_int_equal(poll_and_wait_s(&o, -EIO), 60);
	office_close(&o);
}

static void provider_that_was_not_asked_for_is_off(void **state)
{
	(void)state;
	struct office o;
	void *s = NULL;
	char *only[] = {(char *)(uintptr_t) "emaps"};
	char *zones[] = {(char *)(uintptr_t) "DE"};
	office_open(&o);
	struct options *opts = &o.courier.options;
	opts->collector_emissions = false;
	assert_int_equal(task_emissions_rte.open(&o.courier, &s, NULL), -ENODEV);
	opts->collector_emissions = true;
	opts->emissions_providers = (struct conf_list){only, 1};
	assert_int_equal(task_emissions_rte.open(&o.courier, &s, NULL), -ENODEV);
	opts->emissions_providers = (struct conf_list){NULL, 0};
	opts->emissions_zones = (struct conf_list){zones, 1};
	assert_int_equal(task_emissions_rte.open(&o.courier, &s, NULL), -ENODEV);
	assert_null(s);
	office_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rte_is_asked_for_the_newest_value_whatever_the_hour),
		cmocka_unit_test(wattime_window_is_utc_on_hosts_of_any_zone),
		cmocka_unit_test(wt_logs_in_once_for_many_questions),
		cmocka_unit_test(wt_logs_in_again_when_its_token_is_refused),
		cmocka_unit_test(wt_password_comes_from_a_file_of_safe_mode_too),
		cmocka_unit_test(emaps_asks_for_the_sites_zones_only),
		cmocka_unit_test(emaps_without_zones_asks_for_what_the_token_opens),
		cmocka_unit_test(emaps_zones_that_were_named_need_no_list),
		cmocka_unit_test(emaps_zone_that_fails_costs_itself),
		cmocka_unit_test(emaps_token_comes_from_a_file_too),
		cmocka_unit_test(token_that_is_no_header_is_not_sent),
		cmocka_unit_test(file_is_taken_from_a_url_too),
		cmocka_unit_test(only_files_are_read_as_files),
		cmocka_unit_test(servers_that_misbehave_give_an_error_and_no_value),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(what_came_goes_to_ceemsd),
		cmocka_unit_test(
			provider_that_fails_is_left_alone_for_longer_and_longer),
		cmocka_unit_test(provider_that_was_not_asked_for_is_off),
	};
	return cmocka_run_group_tests_name("emissions_fetch_test", tests, NULL, NULL);
}
