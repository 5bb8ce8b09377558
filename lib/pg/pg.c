/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection: making it, backing off and losing it. A server that hangs counts as
 * down: nothing here waits longer than its limit. */
#include "lib/pg/pg.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/pg/pg_impl.h"

#define CONNECT_TIMEOUT_S 5
#define STATEMENT_TIMEOUT_MS 30000
/* time for the answer in addition to the statement's */
#define ANSWER_GRACE_MS 3000
#define BACKOFF_MIN_MS 250
#define BACKOFF_MAX_MS 4000

static int parse_url(const char *url, struct err *err)
{
	char *why = NULL;
	PQconninfoOption *o = PQconninfoParse(url, &why);

	if (o) {
		PQconninfoFree(o);
		return 0;
	}
	/* libpq's text repeats parts of the URL */
	bool secret = strchr(url, '@') || strstr(url, "password");
	int rc = err_set(err, -EINVAL,
			 "not a URL or connection string of Postgres%s%.*s",
			 secret || !why ? "" : ": ",
			 secret || !why ? 0 : (int)strcspn(why, "\n"), why ? why : "");
	PQfreemem(why);
	return rc;
}

int pg_new(const struct pg_params *params, struct pg **ret, struct err *err)
{
	int rc = parse_url(params->url, err);

	if (rc < 0)
		return rc;
	struct pg *pg = calloc(1, sizeof(*pg));
	if (!pg)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&pg->mutex, NULL);
	pg->url = strdup(params->url);
	pg->application = strdup(params->application ? params->application : "ceems");
	pg->connect_timeout_s = params->connect_timeout_s ? params->connect_timeout_s
							  : CONNECT_TIMEOUT_S;
	pg->statement_timeout_ms = params->statement_timeout_ms
					   ? params->statement_timeout_ms
					   : STATEMENT_TIMEOUT_MS;
	pg->timeout_ms = pg->statement_timeout_ms;
	pg->any_host = params->any_host;
	if (!pg->url || !pg->application) {
		pg_free(pg);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = pg;
	return 0;
}

void pg_forget_statements(struct pg *pg)
{
	pg->prepared_count = 0;
	while (pg->kept_count)
		free(pg->kept[--pg->kept_count]);
}

void pg_disconnect(struct pg *pg)
{
	pthread_mutex_lock(&pg->mutex);
	PQfreeCancel(pg->cancel);
	pg->cancel = NULL;
	pthread_mutex_unlock(&pg->mutex);
	PQfinish(pg->conn);
	pg->conn = NULL;
	pg_forget_statements(pg);
	pg->where[0] = '\0';
}

void pg_free(struct pg *pg)
{
	if (!pg)
		return;
	pg_disconnect(pg);
	pthread_mutex_destroy(&pg->mutex);
	free(pg->url);
	free(pg->application);
	free(pg);
}

bool pg_connected(const struct pg *pg)
{
	return pg->conn && PQstatus(pg->conn) == CONNECTION_OK;
}

const char *pg_where(const struct pg *pg)
{
	return pg->where;
}

int pg_version(const struct pg *pg)
{
	return pg->conn ? PQserverVersion(pg->conn) : 0;
}

const char *pg_sqlstate(const struct pg *pg)
{
	return pg->sqlstate;
}

void pg_connect_now(struct pg *pg)
{
	pg->next_try_ns = 0;
}

void pg_statement_timeout(struct pg *pg, unsigned ms)
{
	pg->timeout_ms = ms ? ms : pg->statement_timeout_ms;
}

void pg_interrupt(struct pg *pg)
{
	char why[256];

	pthread_mutex_lock(&pg->mutex);
	pg->interrupted = true;
	if (pg->cancel)
		(void)PQcancel(pg->cancel, why, sizeof(why));
	pthread_mutex_unlock(&pg->mutex);
}

static bool is_interrupted(struct pg *pg)
{
	pthread_mutex_lock(&pg->mutex);
	bool yes = pg->interrupted;
	pthread_mutex_unlock(&pg->mutex);
	return yes;
}

/* After a failure: backs off for half to all of a doubling time, so that clients do not
 * reconnect in step. */
static void leave_alone(struct pg *pg)
{
	uint64_t random = 0;
	unsigned shift = pg->failures < 5 ? pg->failures : 5;
	uint64_t gap_ms = (uint64_t)BACKOFF_MIN_MS << shift;

	if (gap_ms > BACKOFF_MAX_MS)
		gap_ms = BACKOFF_MAX_MS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = clock_boottime_ns();
	gap_ms = gap_ms / 2 + random % (gap_ms / 2 + 1);
	pg->failures++;
	pg->next_try_ns = clock_boottime_ns() + gap_ms * NSEC_PER_MSEC;
}

static void say_where(struct pg *pg)
{
	const char *host = PQhost(pg->conn), *port = PQport(pg->conn);

	snprintf(pg->where, sizeof(pg->where), "%s:%s/%s as %s", host ? host : "",
		 port ? port : "", PQdb(pg->conn), PQuser(pg->conn));
}

static void ignore_notice(void *arg, const PGresult *r)
{
	(void)arg;
	(void)r; /* drops NOTICEs, which would go to stderr */
}

/* libpq's own text (untranslated unless a program asks for it): there is no SQLSTATE
 * for target_session_attrs (fe-connect.c). */
static bool says_read_only(const char *text)
{
	return strstr(text, "session is read-only") ||
	       strstr(text, "server is in hot standby mode");
}

bool pg_read_only(const struct pg *pg)
{
	return pg->read_only;
}

/* libpq's texts have a line for each host. */
static int connect_failed(struct pg *pg, int rc, const char *text, struct err *err)
{
	char line[ERR_TEXT_MAX - 64];
	size_t n = 0;

	for (const char *p = text ? text : ""; *p && n + 3 < sizeof(line); p++) {
		if (*p != '\n')
			line[n++] = *p;
		else if (p[1])
			n += (size_t)snprintf(line + n, sizeof(line) - n, "; ");
	}
	line[n] = '\0';
	pg_disconnect(pg);
	leave_alone(pg);
	pg->read_only = says_read_only(line);
	(void)err_set(&pg->last, rc, "%s: %s",
		      pg->read_only ? "the database is read-only (promote the standby, "
				      "name its primary in db.url, or set "
				      "default_transaction_read_only = off)"
				    : "no connection to the database",
		      line);
	return err_set(err, rc, "%s", pg->last.text);
}

/* Defaults for what the URL does not contain: libpq takes the last value of a key, so
 * the URL, expanded as "dbname", comes after ours (34.1: PQconnectdbParams). */
static PGconn *open_conn(const struct pg *pg)
{
	char seconds[16];
	const char *const keys[] = {"connect_timeout",
				    "keepalives_idle",
				    "keepalives_interval",
				    "keepalives_count",
				    "tcp_user_timeout",
				    "target_session_attrs",
				    "client_encoding",
				    "fallback_application_name",
				    "dbname",
				    NULL};
	const char *const values[] = {seconds, "10",
				      "5",     "3",
				      "20000", pg->any_host ? "any" : "read-write",
				      "UTF8",  pg->application,
				      pg->url, NULL};

	snprintf(seconds, sizeof(seconds), "%u", pg->connect_timeout_s);
	return PQconnectdbParams(keys, values, 1);
}

static int set_session(struct pg *pg, struct err *err)
{
	struct err why = {""};
	char sql[256];

	/* a fixed format of times, whatever the server's settings */
	snprintf(sql, sizeof(sql),
		 "SET datestyle = 'ISO'; SET timezone = 'UTC'; "
		 "SET intervalstyle = 'iso_8601'; "
		 "SET idle_in_transaction_session_timeout = '60s'; "
		 "SET statement_timeout = %u",
		 pg->timeout_ms);
	int rc = PQsetnonblocking(pg->conn, 1) == 0 && PQsendQuery(pg->conn, sql)
			 ? pg_finish(pg, PGRES_COMMAND_OK, NULL, &why)
			 : pg_fail(pg, NULL, &why);
	if (rc < 0)
		return connect_failed(pg, -EHOSTDOWN, why.text, err);
	pg->timeout_set_ms = pg->timeout_ms;
	return 0;
}

int pg_connect(struct pg *pg, struct err *err)
{
	if (is_interrupted(pg))
		return err_set(err, -ECANCELED, "the program is stopping");
	if (pg_connected(pg))
		return 0;
	if (clock_boottime_ns() < pg->next_try_ns)
		return err_set(err, -EHOSTDOWN, "%s", pg->last.text);
	pg_disconnect(pg);
	pg->sqlstate[0] = '\0';
	pg->conn = open_conn(pg);
	if (!pg->conn)
		return err_set(err, -ENOMEM, "out of memory");
	if (PQstatus(pg->conn) != CONNECTION_OK)
		return connect_failed(pg, -EHOSTDOWN, PQerrorMessage(pg->conn), err);
	PQsetNoticeReceiver(pg->conn, ignore_notice, NULL);
	int rc = set_session(pg, err);
	if (rc < 0)
		return rc;
	pg->failures = 0;
	say_where(pg);
	pthread_mutex_lock(&pg->mutex);
	pg->cancel = PQgetCancel(pg->conn);
	pthread_mutex_unlock(&pg->mutex);
	return 0;
}

int pg_state_errno(const char *s)
{
	static const struct {
		const char *prefix;
		int rc;
	} states[] = {
		{"08", -EHOSTDOWN},    /* connection */
		{"25006", -EHOSTDOWN}, /* read-only: became a standby */
		{"57P", -EHOSTDOWN},   /* shutting down, crashed, starting, dropped */
		{"53300", -EHOSTDOWN}, /* too many connections */
		{"40", -EAGAIN},       /* serialization, deadlock */
		{"55P03", -EAGAIN},    /* lock not available */
		{"57014", -ETIMEDOUT}, /* cancelled: by the statement's time */
		{"53200", -ENOMEM},    {"53", -ENOSPC},    {"42501", -EACCES},
		{"28", -EACCES},       {"23505", -EEXIST}, {"22", -EINVAL},
		{"23", -EINVAL},
	};

	if (!*s)
		return -EHOSTDOWN;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (strncmp(s, states[i].prefix, strlen(states[i].prefix)) == 0)
			return states[i].rc;
	}
	return -EIO;
}

int pg_fail(struct pg *pg, const PGresult *r, struct err *err)
{
	const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	bool lost = PQstatus(pg->conn) != CONNECTION_OK;
	struct err why = {""};
	int rc;

	snprintf(pg->sqlstate, sizeof(pg->sqlstate), "%s", state ? state : "");
	if (!text)
		text = PQerrorMessage(pg->conn);
	rc = lost && !state ? -EHOSTDOWN : pg_state_errno(pg->sqlstate);
	(void)err_set(&why, rc, "database: %.*s%s%s%s", (int)strcspn(text, "\n"), text,
		      state ? " (" : "", state ? state : "", state ? ")" : "");
	if (rc == -EHOSTDOWN || lost) {
		pg->last = why;
		pg_disconnect(pg);
	}
	return err_set(err, rc, "%s", why.text);
}

static int give_up(struct pg *pg, struct err *err)
{
	(void)err_set(&pg->last, -EHOSTDOWN, "database: no answer in time");
	pg_disconnect(pg);
	leave_alone(pg);
	return err_set(err, -EHOSTDOWN, "%s", pg->last.text);
}

uint64_t pg_deadline_ns(const struct pg *pg)
{
	return clock_boottime_ns() +
	       (pg->timeout_ms + (uint64_t)ANSWER_GRACE_MS) * NSEC_PER_MSEC;
}

/* One turn of the socket: sends what is waiting, reads what has arrived. */
static int turn_socket(struct pg *pg, bool sending, uint64_t deadline_ns,
		       struct err *err)
{
	struct pollfd p = {.fd = PQsocket(pg->conn),
			   .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
	uint64_t now_ns = clock_boottime_ns();

	if (now_ns >= deadline_ns)
		return give_up(pg, err);
	int n = poll(&p, 1, (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1);
	if (n < 0 && errno != EINTR) {
		int rc = -errno;
		return err_set(err, rc, "poll: %s", strerror(-rc));
	}
	if (n > 0 && (p.revents & ~POLLOUT) && !PQconsumeInput(pg->conn))
		return pg_fail(pg, NULL, err);
	return 0;
}

int pg_flush(struct pg *pg, uint64_t deadline_ns, struct err *err)
{
	for (;;) {
		int waits = PQflush(pg->conn);
		if (waits < 0)
			return pg_fail(pg, NULL, err);
		if (waits == 0)
			return 0;
		int rc = turn_socket(pg, true, deadline_ns, err);
		if (rc < 0)
			return rc;
	}
}

/* 0: libpq has an answer; -EHOSTDOWN: the server is gone or hangs. */
static int wait_answer(struct pg *pg, uint64_t deadline_ns, struct err *err)
{
	int rc = 0;

	while (rc == 0 && PQisBusy(pg->conn))
		rc = turn_socket(pg, false, deadline_ns, err);
	return rc;
}

int pg_finish(struct pg *pg, ExecStatusType want, PGresult **ret, struct err *err)
{
	uint64_t deadline_ns = pg_deadline_ns(pg);
	auto_pgresult PGresult *last = NULL;
	bool failed = false;
	int rc = pg_flush(pg, deadline_ns, err);

	if (rc < 0)
		return rc;
	for (;;) {
		rc = wait_answer(pg, deadline_ns, err);
		if (rc < 0)
			return rc;
		PGresult *r = PQgetResult(pg->conn);
		if (!r)
			break;
		if (failed) {
			PQclear(r);
			continue;
		}
		PQclear(last);
		last = r;
		ExecStatusType s = PQresultStatus(r);
		if (s == want && s == PGRES_COPY_IN)
			break;
		failed = s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK &&
			 s != PGRES_EMPTY_QUERY;
		if (s == PGRES_COPY_IN || s == PGRES_COPY_OUT || s == PGRES_COPY_BOTH) {
			pg_disconnect(pg); /* an unexpected COPY */
			return err_set(err, -EIO, "database: COPY in a query");
		}
		if (failed && PQstatus(pg->conn) != CONNECTION_OK)
			break;
	}
	if (!last || failed)
		return pg_fail(pg, last, err);
	if (ret)
		*ret = steal_ptr(&last);
	return 0;
}

int pg_begin(struct pg *pg, struct err *err)
{
	char sql[64];
	int rc;

	/* a transaction must not continue on another connection */
	if (pg->in_transaction && !pg_connected(pg))
		return err_set(err, -EHOSTDOWN, "%s", pg->last.text);
	rc = pg_connect(pg, err);
	if (rc < 0 || pg->timeout_set_ms == pg->timeout_ms)
		return rc;
	snprintf(sql, sizeof(sql), "SET statement_timeout = %u", pg->timeout_ms);
	if (!PQsendQuery(pg->conn, sql))
		return pg_fail(pg, NULL, err);
	rc = pg_finish(pg, PGRES_COMMAND_OK, NULL, err);
	if (rc == 0)
		pg->timeout_set_ms = pg->timeout_ms;
	return rc;
}
