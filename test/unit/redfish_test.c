/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The redfish task against a BMC whose every answer the test makes up. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "courier/courier.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/http_script.h"
#include "test/unit/scratch.h"

extern const struct task task_redfish;

#define PATHS_MAX 32

/* What was said, in place of standard error */
static char said[4096];

void __wrap_log_at(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void __wrap_log_at(int level, const char *fmt, ...)
{
	va_list ap;
	(void)level;
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

struct bmc {
	struct http_script server;
	pthread_mutex_t lock;
	struct {
		const char *path, *json;
	} paths[PATHS_MAX];
	size_t count;
	bool closed;  /* asks for sessions */
	bool refuses; /* no login is good */
	bool forgets; /* each session is gone at once */
	bool moves;   /* /redfish/v1/ redirects to itself */
	bool cuts;    /* in the middle of each answer */
	unsigned logins, logouts, gets, session;
	char seen[65536]; /* all requests */
	size_t seen_len;
};

struct world {
	struct bmc bmc;
	struct courier courier;
	void *state;
	int peer;
	unsigned timeout_ms; /* of a request; 0: long */
	char dir[SCRATCH_PATH], file[SCRATCH_PATH + 16];
	struct err err;
	union {
		struct child_snapshot m;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
};

static void put(struct bmc *b, const char *path, const char *json)
{
	pthread_mutex_lock(&b->lock);
	size_t i = 0;
	while (i < b->count && strcmp(b->paths[i].path, path) != 0)
		i++;
	assert_true(i < PATHS_MAX);
	b->paths[i].path = path;
	b->paths[i].json = json;
	if (i == b->count)
		b->count++;
	pthread_mutex_unlock(&b->lock);
}

static const char *find(const struct bmc *b, const char *request)
{
	const char *path = strchr(request, ' ') + 1;
	size_t n = strcspn(path, " ");
	for (size_t i = 0; i < b->count; i++) {
		if (strlen(b->paths[i].path) == n &&
		    strncmp(b->paths[i].path, path, n) == 0)
			return b->paths[i].json;
	}
	return NULL;
}

static bool has_session(const struct bmc *b, const char *request)
{
	char header[64];
	snprintf(header, sizeof(header), "X-Auth-Token: token%u\r\n", b->session);
	return b->session && strstr(request, header);
}

static void login(struct bmc *b, const char *request, struct buf *out)
{
	char headers[256];
	b->logins++;
	if (b->refuses || !strstr(request, "{\"UserName\":\"reader\","
					   "\"Password\":\"pl\\\"nted\"}")) {
		http_script_put(out, 401, "", "{}");
		return;
	}
	b->session = b->logins;
	snprintf(headers, sizeof(headers),
		 "X-Auth-Token: token%u\r\nLocation: "
		 "http://bmc/redfish/v1/SessionService/Sessions/%u\r\n",
		 b->session, b->session);
	http_script_put(out, 201, headers, "{}");
	if (b->forgets)
		b->session = 0;
}

static void get(struct bmc *b, const char *request, struct buf *out)
{
	const char *json = find(b, request);
	bool root = strncmp(request, "GET /redfish/v1/ ", 17) == 0;
	b->gets++;
	if (b->moves && root)
		http_script_put(out, 302, "Location: /redfish/v1/\r\n", "");
	else if (b->closed && !root && !has_session(b, request))
		http_script_put(out, 401, "", "{}");
	else if (json && strcmp(json, "forbidden") == 0)
		http_script_put(out, 403, "", "{}");
	else if (json)
		http_script_put(out, 200, "", json);
	else
		http_script_put(out, 404, "", "{}");
}

static bool answer(void *arg, const char *request, struct buf *out)
{
	struct bmc *b = arg;
	size_t n = strlen(request);
	pthread_mutex_lock(&b->lock);
	if (b->seen_len + n < sizeof(b->seen)) {
		memcpy(b->seen + b->seen_len, request, n + 1);
		b->seen_len += n;
	}
	if (strncmp(request, "POST /redfish/v1/SessionService/Sessions ", 41) == 0) {
		login(b, request, out);
	} else if (strncmp(request, "DELETE /redfish/v1/SessionService/Sessions/",
			   43) == 0) {
		b->logouts += has_session(b, request);
		http_script_put(out, 204, "", "");
	} else {
		get(b, request, out);
	}
	bool cuts = b->cuts;
	if (cuts && out->len > 60)
		buf_truncate(out, out->len - 10);
	pthread_mutex_unlock(&b->lock);
	return !cuts;
}

#define ROOT "/redfish/v1/"
#define CHASSIS ROOT "Chassis"
#define ONE CHASSIS "/1"

static void plain_chassis(struct bmc *b)
{
	put(b, ROOT,
	    "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/Chassis\"},\"SessionService\":{"
	    "\"@odata.id\":\"/redfish/v1/SessionService\"},\"Links\":{\"Sessions\":{"
	    "\"@odata.id\":\"/redfish/v1/SessionService/Sessions\"}}}");
	put(b, ROOT "SessionService", "{\"SessionTimeout\":1800}");
	put(b, CHASSIS, "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1\"}]}");
	put(b, ONE,
	    "{\"Id\":\"1\",\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/1/Power\"},"
	    "\"EnvironmentMetrics\":{\"@odata.id\":\"/redfish/v1/Chassis/1/"
	    "EnvironmentMetrics\"}}");
	put(b, ONE "/Power",
	    "{\"PowerControl\":[{\"PowerConsumedWatts\":344,\"PowerMetrics\":{"
	    "\"MinConsumedWatts\":271,\"MaxConsumedWatts\":489,"
	    "\"AverageConsumedWatts\":319.5}}]}");
}

static void world_init(struct world *w)
{
	int pair[2];
	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->bmc.lock, NULL);
	http_script_start(&w->bmc.server, answer, &w->bmc);
	plain_chassis(&w->bmc);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	w->peer = pair[1];
	w->courier.link = pair[0];
	snprintf(w->courier.hostname, sizeof(w->courier.hostname), "127.0.0");
	scratch_make(w->dir);
	snprintf(w->file, sizeof(w->file), "%s/redfish.yaml", w->dir);
	w->courier.options = (struct options){.collector_redfish = true,
					      .redfish_config_file = w->file,
					      .redfish_interval_ms = 5000};
}

static void configure(struct world *w, const char *more)
{
	char text[1024];
	const char *port = strrchr(w->bmc.server.url, ':') + 1;
	int n = snprintf(text, sizeof(text),
			 "redfish_collector:\n  protocol: http\n  hostname: "
			 "'{hostname}.1'\n  port: %s\n  timeout: %u\n%s",
			 port, w->timeout_ms ? w->timeout_ms : 10000, more);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, w->file, text, (size_t)n, 0600, NULL), 0);
	if (task_redfish.open(&w->courier, &w->state, &w->err) < 0)
		fail_msg("%s", w->err.text);
}

static void world_done(struct world *w)
{
	task_redfish.close(w->state);
	http_script_stop(&w->bmc.server);
	close(w->peer);
	close(w->courier.link);
	scratch_remove(w->dir);
}

#define LOGIN "  username: reader\n  password: 'pl\"nted'\n"

static int look(struct world *w)
{
	w->err.text[0] = '\0';
	return task_redfish.poll(w->state, &w->err);
}

/* The next snapshot, or false */
static bool heard(struct world *w)
{
	ssize_t n = recv(w->peer, &w->in, sizeof(w->in), MSG_DONTWAIT);
	if (n <= 0)
		return false;
	assert_int_equal(child_msg_check(&w->in, (size_t)n, &w->err), CHILD_SNAPSHOT);
	return true;
}

static const struct child_channel *find_channel(struct world *w, const char *chassis,
						enum child_channel_kind kind)
{
	for (uint32_t i = 0; i < w->in.m.head.count; i++) {
		const struct child_channel *c = &w->in.m.channels[i];
		if (c->kind == kind && strcmp(c->chip, chassis) == 0)
			return c;
	}
	return NULL;
}

static uint64_t value(struct world *w, const char *chassis,
		      enum child_channel_kind kind)
{
	const struct child_channel *c = find_channel(w, chassis, kind);
	return c ? c->raw : 0;
}

static void the_deprecated_resource_is_the_last_resort(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "1", CHILD_POWER), 344000000);
	assert_int_equal(value(&w, "1", CHILD_POWER_MIN), 271000000);
	assert_int_equal(value(&w, "1", CHILD_POWER_MAX), 489000000);
	assert_int_equal(value(&w, "1", CHILD_POWER_AVG), 319500000);
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_HOST);
	/* then one request is enough, on the connection that is there */
	unsigned gets = w.bmc.gets;
	assert_int_equal(look(&w), 0);
	assert_int_equal(w.bmc.gets, gets + 1);
	assert_int_equal(atomic_load(&w.bmc.server.connections), 1);
	world_done(&w);
}

static void what_the_account_may_not_see_is_passed_over(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	put(&w.bmc, ONE "/EnvironmentMetrics", "forbidden");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "1", CHILD_POWER), 344000000);
	world_done(&w);
}

static void newer_resources_go_before(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	put(&w.bmc, ONE "/EnvironmentMetrics",
	    "{\"PowerWatts\":{\"Reading\":374.25},\"EnergykWh\":{\"Reading\":12,"
	    "\"LifetimeReading\":325675.125}}");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "1", CHILD_POWER), 374250000);
	/* the counter has steps of 3.6 kJ: it counts, the watts are shown */
	const struct child_channel *e = find_channel(&w, "1", CHILD_ENERGY);
	assert_non_null(e);
	assert_true(e->raw == 1172430450000000000ull);
	assert_int_equal(e->domain, CHILD_DOMAIN_HOST);
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_NONE);
	/* a counter that stands still was not measured again */
	uint64_t then = e->measured_ns;
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_true(find_channel(&w, "1", CHILD_ENERGY)->measured_ns == then);
	assert_true(find_channel(&w, "1", CHILD_POWER)->measured_ns > then);
	world_done(&w);
}

static void a_coarse_counter_is_shown_and_watts_count(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	put(&w.bmc, ONE "/EnvironmentMetrics",
	    "{\"PowerWatts\":{\"Reading\":374},\"EnergykWh\":{\"Reading\":325675}}");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(find_channel(&w, "1", CHILD_ENERGY)->domain,
			 CHILD_DOMAIN_NONE);
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_HOST);
	world_done(&w);
}

static void supplies_are_summed_or_not_told(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	put(&w.bmc, ONE,
	    "{\"Id\":\"1\",\"PowerSubsystem\":{\"@odata.id\":\"/redfish/v1/Chassis/1/"
	    "PowerSubsystem\"}}");
	put(&w.bmc, ONE "/PowerSubsystem",
	    "{\"PowerSupplies\":{\"@odata.id\":\"/redfish/v1/Chassis/1/PS\"}}");
	put(&w.bmc, ONE "/PS",
	    "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1/PS/0\"},{\"@odata."
	    "id\":\"/redfish/v1/Chassis/1/PS/1\"},{},7]}");
	put(&w.bmc, ONE "/PS/0",
	    "{\"Metrics\":{\"@odata.id\":\"/redfish/v1/Chassis/1/PS/0/M\"}}");
	put(&w.bmc, ONE "/PS/1",
	    "{\"Metrics\":{\"@odata.id\":\"/redfish/v1/Chassis/1/PS/1/M\"}}");
	put(&w.bmc, ONE "/PS/0/M", "{\"InputPowerWatts\":{\"Reading\":200.5}}");
	put(&w.bmc, ONE "/PS/1/M", "{\"InputPowerWatts\":{\"Reading\":100}}");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "1", CHILD_POWER), 300500000);
	uint64_t then = find_channel(&w, "1", CHILD_POWER)->measured_ns;
	/* half a node is no reading: the last one ages */
	put(&w.bmc, ONE "/PS/1/M", "{\"InputPowerWatts\":{\"Reading\":null}}");
	assert_int_equal(look(&w), -ENODATA);
	assert_true(heard(&w));
	assert_true(find_channel(&w, "1", CHILD_POWER)->measured_ns == then);
	world_done(&w);
}

static void the_sensor_of_the_whole_is_found(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	put(&w.bmc, ONE,
	    "{\"Id\":\"1\",\"Sensors\":{\"@odata.id\":\"/redfish/v1/Chassis/1/S\"}}");
	put(&w.bmc, ONE "/S",
	    "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1/S/temp_1\"},{"
	    "\"@odata.id\":\"/redfish/v1/Chassis/1/S/power_cpu0\"},{\"@odata.id\":\"/"
	    "redfish/v1/Chassis/1/S/power_total_power\"}]}");
	put(&w.bmc, ONE "/S/power_cpu0",
	    "{\"Id\":\"power_cpu0\",\"ReadingType\":\"Power\",\"Reading\":99}");
	put(&w.bmc, ONE "/S/power_total_power",
	    "{\"Id\":\"power_total_power\",\"ReadingType\":\"Power\",\"Reading\":401,"
	    "\"PeakReading\":500}");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "1", CHILD_POWER), 401000000);
	assert_int_equal(value(&w, "1", CHILD_POWER_MAX), 500000000);
	assert_null(strstr(w.bmc.seen, "temp_1 "));
	world_done(&w);
}

static void two_chassis(struct bmc *b)
{
	put(b, CHASSIS,
	    "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1\"},{\"@odata.id\":\"/"
	    "redfish/v1/Chassis/2\"}]}");
	put(b, ONE,
	    "{\"Id\":\"1\",\"@odata.id\":\"/redfish/v1/Chassis/1\",\"Power\":{\"@odata."
	    "id\":\"/redfish/v1/Chassis/1/Power\"},\"Links\":{\"Contains\":[]}}");
	put(b, CHASSIS "/2",
	    "{\"Id\":\"2\",\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/2/Power\"},"
	    "\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/redfish/v1/Chassis/1\"}}}");
	put(b, CHASSIS "/2/Power", "{\"PowerControl\":[{\"PowerConsumedWatts\":44}]}");
}

static void what_is_inside_another_chassis_does_not_count_twice(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	two_chassis(&w.bmc);
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(value(&w, "2", CHILD_POWER), 44000000);
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_HOST);
	assert_int_equal(find_channel(&w, "2", CHILD_POWER)->domain, CHILD_DOMAIN_NONE);
	world_done(&w);
	/* unless the operator says which one counts */
	world_init(&w);
	two_chassis(&w.bmc);
	configure(&w, "  chassis: ['2']\n");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_NONE);
	assert_int_equal(find_channel(&w, "2", CHILD_POWER)->domain, CHILD_DOMAIN_HOST);
	world_done(&w);
	/* or a system sits in one: an enclosure has none */
	world_init(&w);
	two_chassis(&w.bmc);
	put(&w.bmc, CHASSIS "/2",
	    "{\"Id\":\"2\",\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/2/Power\"},"
	    "\"Links\":{\"ComputerSystems\":[{}],\"ContainedBy\":{\"@odata.id\":\"/"
	    "redfish/v1/Chassis/1\"}}}");
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(find_channel(&w, "1", CHILD_POWER)->domain, CHILD_DOMAIN_NONE);
	assert_int_equal(find_channel(&w, "2", CHILD_POWER)->domain, CHILD_DOMAIN_HOST);
	world_done(&w);
}

static void one_session_is_made_kept_and_ended(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	w.bmc.closed = true;
	configure(&w, LOGIN);
	for (int i = 0; i < 5; i++)
		assert_int_equal(look(&w), 0);
	assert_int_equal(w.bmc.logins, 1);
	assert_int_equal(w.bmc.logouts, 0);
	/* the BMC restarted: the session is made anew, nothing is lost */
	w.bmc.session = 0;
	while (heard(&w))
		;
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	assert_int_equal(w.bmc.logins, 2);
	task_redfish.close(w.state);
	w.state = NULL;
	assert_int_equal(w.bmc.logouts, 1);
	world_done(&w);
}

static void a_session_ends_although_we_are_told_to_stop(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	w.bmc.closed = true;
	configure(&w, LOGIN);
	assert_int_equal(look(&w), 0);
	atomic_store(&w.courier.stop, true);
	assert_int_equal(look(&w), -ECANCELED);
	task_redfish.close(w.state);
	w.state = NULL;
	assert_int_equal(w.bmc.logouts, 1);
	world_done(&w);
}

static void a_session_shorter_than_the_interval_is_warned_of(void **state)
{
	(void)state;
	struct world w;
	for (unsigned i = 0; i < 2; i++) {
		world_init(&w);
		w.bmc.closed = true;
		put(&w.bmc, ROOT "SessionService",
		    i ? "{\"SessionTimeout\":6}" : "{\"SessionTimeout\":5}");
		configure(&w, LOGIN);
		said[0] = '\0';
		/* the last line is about the chassis, so stop before it */
		put(&w.bmc, CHASSIS, "{}");
		assert_true(look(&w) < 0);
		assert_true((strstr(said, "sessions of the BMC end after 5 s") !=
			     NULL) == (i == 0));
		world_done(&w);
	}
}

static void a_refused_login_is_not_repeated_soon(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	w.bmc.closed = w.bmc.refuses = true;
	configure(&w, LOGIN);
	for (int i = 0; i < 20; i++)
		assert_int_equal(look(&w), -EACCES);
	assert_int_equal(w.bmc.logins, 1);
	assert_false(heard(&w));
	assert_null(strstr(w.err.text, "nted"));
	world_done(&w);
}

static void a_bmc_that_forgets_each_session_is_not_asked_for_ever(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	w.bmc.closed = w.bmc.forgets = true;
	configure(&w, LOGIN);
	/* a login that is good, and then a 401 to every question */
	for (int i = 0; i < 20; i++)
		assert_int_equal(look(&w), -EACCES);
	assert_true(w.bmc.logins <= 2);
	assert_true(w.bmc.gets < 20);
	world_done(&w);
}

static void basic_authentication_instead_of_sessions(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	configure(&w, "  use_session_token: false\n" LOGIN);
	assert_int_equal(look(&w), 0);
	assert_int_equal(w.bmc.logins, 0);
	assert_non_null(
		strstr(w.bmc.seen, "Authorization: Basic cmVhZGVyOnBsIm50ZWQ="));
	world_done(&w);
}

static void a_password_comes_from_a_file_at_each_login(void **state)
{
	(void)state;
	struct world w;
	char path[SCRATCH_PATH + 16];
	world_init(&w);
	w.bmc.closed = true;
	snprintf(path, sizeof(path), "%s/password", w.dir);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, "pl\"nted\n", 8, 0600, NULL), 0);
	configure(&w, "  username: reader\n  password_file: password\n");
	assert_int_equal(look(&w), 0);
	assert_int_equal(w.bmc.logins, 1);
	/* open to others, it is not read: then there is no login either */
	assert_int_equal(chmod(path, 0644), 0);
	w.bmc.session = 0;
	assert_int_equal(look(&w), -EPERM);
	assert_int_equal(w.bmc.logins, 1);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(look(&w), 0);
	assert_int_equal(w.bmc.logins, 2);
	world_done(&w);
}

static void the_proxy_is_asked_and_told_which_bmc(void **state)
{
	(void)state;
	struct world w;
	char more[256], header[128];
	world_init(&w);
	w.bmc.closed = true;
	snprintf(more, sizeof(more),
		 "  external_url: %s/\n  basic_auth: {username: node, password: x}\n"
		 "  http_headers: {X-Site: {values: [a]}}\n" LOGIN,
		 w.bmc.server.url);
	snprintf(w.courier.hostname, sizeof(w.courier.hostname), "192.0.2");
	configure(&w, more);
	assert_int_equal(look(&w), 0);
	assert_true(heard(&w));
	snprintf(header, sizeof(header), "X-Redfish-Url: http://192.0.2.1:%s\r\n",
		 strrchr(w.bmc.server.url, ':') + 1);
	assert_non_null(strstr(w.bmc.seen, header));
	assert_non_null(strstr(w.bmc.seen, "Authorization: Basic bm9kZTp4\r\n"));
	assert_non_null(strstr(w.bmc.seen, "X-Site: a\r\n"));
	assert_non_null(strstr(w.bmc.seen, "X-Auth-Token: token1\r\n"));
	world_done(&w);
}

static void *timed_look(void *arg)
{
	struct world *w = arg;
	(void)look(w);
	return NULL;
}

static void bad_answers_are_failures_and_no_readings(void **state)
{
	(void)state;
	static char deep[20002], huge[600000];
	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	memset(huge, ' ', sizeof(huge) - 1);
	static const char *const texts[] = {
		deep,
		huge,
		"",
		"<html>login</html>",
		"{\"PowerControl\":",
		"[]",
		"null",
		"{}",
		"{\"PowerControl\":{}}",
		"{\"PowerControl\":[]}",
		"{\"PowerControl\":[7,null,[],{}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":\"344\"}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":null}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":-344}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":0}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":1e300}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":NaN}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":[344]}]}",
		"{\"PowerControl\":[{\"PowerConsumedWatts\":344}]} trailing",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct world w;
		world_init(&w);
		configure(&w, "");
		assert_int_equal(look(&w), 0);
		assert_true(heard(&w));
		uint64_t then = find_channel(&w, "1", CHILD_POWER)->measured_ns;
		put(&w.bmc, ONE "/Power", texts[i]);
		assert_true(look(&w) < 0);
		assert_true(w.err.text[0]);
		/* what was known ages */
		if (heard(&w))
			assert_true(find_channel(&w, "1", CHILD_POWER)->measured_ns ==
				    then);
		/* and it works again, when the BMC does */
		plain_chassis(&w.bmc);
		for (int n = 0; n < 3 && look(&w) < 0; n++)
			;
		assert_true(heard(&w));
		while (heard(&w))
			;
		assert_true(find_channel(&w, "1", CHILD_POWER)->measured_ns > then);
		world_done(&w);
	}
}

static void bad_trees_are_failures(void **state)
{
	(void)state;
	static const struct {
		const char *path, *json;
	} cases[] = {
		{ROOT, "{}"},
		{ROOT, "{\"Chassis\":{}}"},
		{ROOT, "{\"Chassis\":\"/redfish/v1/Chassis\"}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":7}}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":\"http://other/redfish/v1\"}}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":\"//other/redfish/v1\"}}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":\"/redfish/../etc\"}}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/%2e%2e/x\"}}"},
		{ROOT, "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/a\\r\\nX: y\"}}"},
		{CHASSIS, "{}"},
		{CHASSIS, "{\"Members\":{}}"},
		{CHASSIS, "{\"Members\":[]}"},
		{CHASSIS, "{\"Members\":[{}, 1, null]}"},
		{ONE, "{}"},
		{ONE, "{\"Id\":7}"},
		{ONE, "{\"Id\":\"1\"}"},
		{ONE, "{\"Id\":\"1\",\"Power\":{\"@odata.id\":\"/redfish/v1/\"}}"},
		{ONE,
		 "{\"Id\":\"a\\nb\",\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/"
		 "1/Power\"}}"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		world_init(&w);
		put(&w.bmc, cases[i].path, cases[i].json);
		configure(&w, "");
		assert_true(look(&w) < 0);
		assert_true(w.err.text[0]);
		assert_false(heard(&w));
		world_done(&w);
	}
}

static void a_redirect_loop_and_a_cut_connection_are_failures(void **state)
{
	(void)state;
	struct world w;
	world_init(&w);
	w.bmc.moves = true;
	configure(&w, LOGIN);
	assert_int_equal(look(&w), -ELOOP);
	assert_true(w.bmc.gets <= 5);
	w.bmc.moves = false;
	w.bmc.cuts = true;
	assert_int_equal(look(&w), -ECONNRESET);
	w.bmc.cuts = false;
	assert_int_equal(look(&w), 0);
	world_done(&w);
}

/* A server that takes a connection and never answers */
static void a_bmc_that_hangs_costs_its_timeout(void **state)
{
	(void)state;
	struct world w;
	pthread_t t;
	world_init(&w);
	w.timeout_ms = 4000;
	configure(&w, "");
	assert_int_equal(look(&w), 0);
	pthread_mutex_lock(&w.bmc.lock); /* its thread waits for us */
	assert_int_equal(pthread_create(&t, NULL, timed_look, &w), 0);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&w.bmc.lock);
	assert_non_null(strstr(w.err.text, "imed out"));
	world_done(&w);
}

static void a_config_that_is_open_to_others_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		mode_t mode;
		int rc;
	} cases[] = {
		{"redfish_collector: {hostname: h, password: x}", 0644, -EPERM},
		{"redfish_collector: {hostname: h, password: x}", 0660, -EPERM},
		{"redfish_collector: {hostname: h, password: x}", 0640, 0},
		{"redfish_collector: {hostname: h, password_file: x}", 0644, 0},
		{"redfish_collector: {hostname: h, password_file: x}", 0666, -EPERM},
		{"redfish_web_config: {hostname: h}", 0600, 0},
		{"redfish_collector: {}", 0600, -EINVAL},
		{"redfish_collector: {hostname: h, nonsense: 1}", 0600, -EINVAL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		world_init(&w);
		assert_int_equal(fs_write_atomic_at(AT_FDCWD, w.file, cases[i].text,
						    strlen(cases[i].text),
						    cases[i].mode, NULL),
				 0);
		assert_int_equal(task_redfish.open(&w.courier, &w.state, &w.err),
				 cases[i].rc);
		world_done(&w);
	}
	struct world w;
	world_init(&w);
	w.courier.options.collector_redfish = false;
	assert_int_equal(task_redfish.open(&w.courier, &w.state, &w.err), -ENODEV);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_deprecated_resource_is_the_last_resort),
		cmocka_unit_test(what_the_account_may_not_see_is_passed_over),
		cmocka_unit_test(newer_resources_go_before),
		cmocka_unit_test(a_coarse_counter_is_shown_and_watts_count),
		cmocka_unit_test(supplies_are_summed_or_not_told),
		cmocka_unit_test(the_sensor_of_the_whole_is_found),
		cmocka_unit_test(what_is_inside_another_chassis_does_not_count_twice),
		cmocka_unit_test(one_session_is_made_kept_and_ended),
		cmocka_unit_test(a_session_ends_although_we_are_told_to_stop),
		cmocka_unit_test(a_session_shorter_than_the_interval_is_warned_of),
		cmocka_unit_test(a_refused_login_is_not_repeated_soon),
		cmocka_unit_test(a_bmc_that_forgets_each_session_is_not_asked_for_ever),
		cmocka_unit_test(basic_authentication_instead_of_sessions),
		cmocka_unit_test(a_password_comes_from_a_file_at_each_login),
		cmocka_unit_test(the_proxy_is_asked_and_told_which_bmc),
		cmocka_unit_test(bad_answers_are_failures_and_no_readings),
		cmocka_unit_test(bad_trees_are_failures),
		cmocka_unit_test(a_redirect_loop_and_a_cut_connection_are_failures),
		cmocka_unit_test(a_bmc_that_hangs_costs_its_timeout),
		cmocka_unit_test(a_config_that_is_open_to_others_is_refused),
	};
	log_init("redfish_test", LOG_LOGFMT, LOG_ERR);
	return cmocka_run_group_tests_name("redfish_test", tests, NULL, NULL);
}
