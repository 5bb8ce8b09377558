/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Imports history and people from Slurm's commands, or from saved output. */
#include "aggregator/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/associations.h"
#include "aggregator/import_rows.h"
#include "aggregator/import_units.h"
#include "aggregator/periodic_job.h"
#include "aggregator/query.h"
#include "aggregator/sacct.h"
#include "lib/cleanup.h"
#include "lib/exec.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

#define ASSOCIATIONS_BYTES_MAX ((size_t)256 << 20)
#define SACCT_DEADLINE_MS 3600000u
#define SACCTMGR_DEADLINE_MS 60000u

#define SACCT_FORMAT                                                                   \
	"--format=JobIDRaw,JobID,Cluster,User,UID,Group,GID,Account,QOS,Partition,"    \
	"Reservation,WCKey,Submit,Eligible,Start,End,Suspended,State,Reason,"          \
	"ExitCode,DerivedExitCode,TimelimitRaw,NNodes,AllocCPUS,AllocTRES,ReqTRES,"    \
	"NodeList,JobName,WorkDir,Comment"

/* Columns that not every release has: asked for where sacct --helpformat names them.
 * SubmitLine may hold secrets and is not. */
static const char *const newer[] = {"Restarts",      "Flags",     "Priority",
				    "AdminComment",  "Extra",     "Container",
				    "SystemComment", "Licenses",  "Constraints",
				    "QOSREQ",        "FailedNode"};
#define NEWER_BYTES 160

/* ---- the input ------------------------------------------------------------------- */

static int read_all(int fd, size_t max, struct buf *ret, struct err *err)
{
	ret->max = max;
	for (;;) {
		char *room = buf_reserve(ret, 1 << 16);
		if (!room)
			return err_set(err, buf_error(ret), "more than %zu bytes", max);
		ssize_t n = read(fd, room, 1 << 16);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (n == 0)
			return 0;
		buf_commit(ret, (size_t)n);
	}
}

static int read_import_file(const char *path, size_t max, struct buf *ret,
			    struct err *err)
{
	if (strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, max, ret, err);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = read_all(fd, max, ret, err);
	return rc < 0 ? err_prefix(err, rc, "%s", path) : 0;
}

static int run_command(const char *const argv[], uint32_t deadline_ms, size_t max,
		       struct buf *ret, struct err *err)
{
	auto_buf struct buf said = {.max = 4096};
	const char *env[5] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "SLURM_TIME_FORMAT=%s"};
	auto_free char *conf = NULL;
	int status = 0;

	/* our own Slurm, if the site has several */
	if (getenv("SLURM_CONF") &&
	    asprintf(&conf, "SLURM_CONF=%s", getenv("SLURM_CONF")) > 0)
		env[3] = conf;
	ret->max = max;
	int rc = exec_run(argv, env, deadline_ms, ret, &said, &status, err);
	if (rc == 0 && status != 0)
		rc = err_set(err, -EIO, "%s: %.300s", argv[0],
			     said.len ? said.data : "failed");
	return rc;
}

/* ",Flags,Priority": those of the newer columns that this sacct has; "": it does not
 * say. */
static void ask_newer_columns(const char *sacct, char ret[NEWER_BYTES])
{
	auto_buf struct buf known = {.max = 1 << 16};
	const char *const argv[] = {sacct, "--helpformat", NULL};
	size_t len = 0;

	ret[0] = '\0';
	if (run_command(argv, SACCTMGR_DEADLINE_MS, known.max, &known, NULL) < 0)
		return;
	buf_putc(&known, '\0');
	if (buf_error(&known))
		return;
	char *save = NULL;
	for (char *w = strtok_r(known.data, " \t\n", &save); w;
	     w = strtok_r(NULL, " \t\n", &save))
		for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
			if (strcasecmp(w, newer[i]) == 0 &&
			    len + strlen(w) + 1 < NEWER_BYTES)
				len += (size_t)snprintf(ret + len, NEWER_BYTES - len,
							",%s", newer[i]);
}

/* One that no user knows: texts of theirs may have newlines and any separator. */
static int make_separator(char ret[SACCT_SEPARATOR_SIZE], struct err *err)
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return err_set(err, -errno, "getrandom: %s", strerror(errno));
	snprintf(ret, SACCT_SEPARATOR_SIZE, "\x1f%016" PRIx64 "\x1f", r);
	return 0;
}

/* separator: empty, and for our own sacct set to what is between columns */
static int read_sacct(const struct options *o, const char *file, struct buf *ret,
		      char separator[SACCT_SEPARATOR_SIZE], struct err *err)
{
	auto_free char *path = NULL, *start = NULL, *format = NULL, *delimiter = NULL;
	char more[NEWER_BYTES];

	if (file)
		return read_import_file(file, SACCT_TEXT_MAX, ret, err);
	int rc = make_separator(separator, err);
	if (rc < 0)
		return rc;
	if (asprintf(&delimiter, "--delimiter=%s", separator) < 0 ||
	    asprintf(&path, "%s/sacct", o->slurm_bindir) < 0 ||
	    asprintf(&start, "--starttime=%s", o->import_start) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	ask_newer_columns(path, more);
	if (asprintf(&format, "%s%s", SACCT_FORMAT, more) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const char *const argv[] = {path,      "-D",  "--allusers", "-P",
				    delimiter, start, format,       NULL};
	return run_command(argv, SACCT_DEADLINE_MS, SACCT_TEXT_MAX, ret, err);
}

static int read_associations(const struct options *o, const char *file, struct buf *ret,
			     struct err *err)
{
	auto_free char *path = NULL;

	if (file)
		return read_import_file(file, ASSOCIATIONS_BYTES_MAX, ret, err);
	if (asprintf(&path, "%s/sacctmgr", o->slurm_bindir) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const char *const argv[] = {
		path, "-n", "-P", "list", "associations", "format=Cluster,Account,User",
		NULL};
	return run_command(argv, SACCTMGR_DEADLINE_MS, ASSOCIATIONS_BYTES_MAX, ret,
			   err);
}

/* ---- jobs ------------------------------------------------------------------------ */

static int import_job(void *arg, const struct job *j, const char *step_names,
		      struct err *err)
{
	return import_rows_add(arg, j, step_names, "", err);
}

static int import_jobs(struct app *app, const char *file, struct pg *pg,
		       struct err *err)
{
	const struct options *o = &app->options;
	auto_buf struct buf text = {.max = SACCT_TEXT_MAX};
	struct import_rows m = {.pg = pg, .rows = {.max = IMPORT_ROWS_BYTES_MAX}};
	struct sacct_counts c;
	char separator[SACCT_SEPARATOR_SIZE] = "";
	int rc = read_sacct(o, file, &text, separator, err);

	if (rc == 0 && !text.len)
		rc = err_set(err, -EBADMSG, "not what sacct prints: it is empty");
	if (rc == 0)
		rc = sacct_read(text.data, text.len, separator, o->import_cluster,
				import_job, &m, &c, err);
	if (rc == 0)
		rc = import_rows_send(&m, err);
	buf_done(&m.rows);
	if (rc == 0)
		rc = import_rows_note(pg, "sacct", m.taken, err);
	if (rc < 0)
		return rc;
	printf("ceems_aggregator: %" PRIu64 " jobs read, %" PRIu64
	       " of them new or changed, %" PRIu64 " rows refused\n",
	       c.jobs, m.taken, c.refused);
	if (c.refused)
		fprintf(stderr, "ceems_aggregator: first refused: %s\n", c.first.text);
	return 0;
}

/* ---- people ---------------------------------------------------------------------- */

static int import_associations(const struct options *o, const char *file, struct pg *pg,
			       int64_t ret[2], size_t *ret_rows, struct err *err)
{
	auto_buf struct buf text = {.max = ASSOCIATIONS_BYTES_MAX};
	auto_buf struct buf list = {.max = 4 * ASSOCIATIONS_BYTES_MAX};
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	int rc = read_associations(o, file, &text, err);

	if (rc == 0)
		rc = associations_parse(text.data ? text.data : "", text.len, &list,
					ret_rows, err);
	if (rc < 0)
		return err_prefix(err, rc, "associations");
	query_put(&q, "SELECT added, ended FROM people_associate(");
	query_text(&q, list.data);
	query_put(&q, "::jsonb, 'sacctmgr')");
	rc = query_run(&q, pg, &r, err);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 0, &ret[0]);
	return rc == 0 ? pg_get_s64(r, 0, 1, &ret[1]) : rc;
}

struct people_call {
	const struct options *o;
	const char *file;
	int64_t changed[2];
	size_t rows;
};

static int associate_in(struct pg *pg, void *arg, struct err *err)
{
	struct people_call *c = arg;

	return import_associations(c->o, c->file, pg, c->changed, &c->rows, err);
}

static int import_people(struct app *app, const char *file, struct pg *pg,
			 struct err *err)
{
	struct people_call c = {.o = &app->options, .file = file};
	/* no retry: standard input cannot be read again */
	int rc = pg_transaction(pg, PG_READ_COMMITTED, 1, associate_in, &c, err);

	if (rc == 0)
		rc = import_rows_note(pg, "sacctmgr",
				      (uint64_t)(c.changed[0] + c.changed[1]), err);
	if (rc == 0)
		printf("ceems_aggregator: %zu associations of users read, %" PRId64
		       " memberships begin, %" PRId64 " end\n",
		       c.rows, c.changed[0], c.changed[1]);
	return rc;
}

/* ---- the commands ---------------------------------------------------------------- */

/* "sacct=FILE" or "sacct": whether it is this import, and the file. */
static bool is_import(const char *what, const char *name, const char **ret_file)
{
	size_t n = strlen(name);

	if (strncmp(what, name, n) != 0 || (what[n] && what[n] != '='))
		return false;
	*ret_file = what[n] ? what + n + 1 : NULL;
	return !what[n] || what[n + 1];
}

/* "CLUSTER/ID" */
struct settle {
	char cluster[256];
	const char *id;
};

static int read_settle(const char *text, struct settle *ret, struct err *err)
{
	const char *slash = strrchr(text, '/');

	if (!slash || slash == text || !slash[1] ||
	    (size_t)(slash - text) >= sizeof(ret->cluster))
		return err_set(err, -EINVAL, "--settle=%.100s: must be CLUSTER/ID",
			       text);
	snprintf(ret->cluster, sizeof(ret->cluster), "%.*s", (int)(slash - text), text);
	ret->id = slash + 1;
	return 0;
}

/* "CLUSTER/LOGIN:OLD:NEW" */
struct renumber {
	char text[512];
	const char *part[4];
};

static int read_renumber(const char *text, struct renumber *ret, struct err *err)
{
	uint32_t number;
	int n = snprintf(ret->text, sizeof(ret->text), "%s", text);
	char *p = ret->text;

	for (int i = 0; i < 4; i++) {
		ret->part[i] = p;
		p = p && i < 3 ? strchr(p, i ? ':' : '/') : NULL;
		if (p)
			*p++ = '\0';
	}
	if (n < 0 || (size_t)n >= sizeof(ret->text) || !ret->part[3] ||
	    !*ret->part[0] || !*ret->part[1] || parse_u32(ret->part[2], &number) < 0 ||
	    parse_u32(ret->part[3], &number) < 0)
		return err_set(err, -EINVAL,
			       "--renumber=%.100s: must be CLUSTER/LOGIN:OLD:NEW",
			       text);
	return 0;
}

int import_check(const struct options *o, struct err *err)
{
	struct renumber renumber;
	struct settle settle;
	const char *file;
	int rc = 0;

	if (*o->settle)
		rc = read_settle(o->settle, &settle, err);
	if (rc == 0 && *o->renumber)
		rc = read_renumber(o->renumber, &renumber, err);
	if (rc < 0)
		return rc;

	double pue;
	if (parse_f64(o->import_pue, &pue) < 0 || !(pue >= 1 && pue <= 10))
		return err_set(err, -EINVAL, "--import.pue=%.20s: must be 1 to 10",
			       o->import_pue);
	if (*o->import && !is_import(o->import, "sacct", &file) &&
	    !is_import(o->import, "sacctmgr", &file) &&
	    !(is_import(o->import, "units", &file) && file))
		return err_set(err, -EINVAL,
			       "--import=%.100s: must be sacct, sacct=FILE, sacctmgr, "
			       "sacctmgr=FILE or units=FILE",
			       o->import);
	if (*o->people && strcmp(o->people, "sacctmgr") != 0 && *o->people != '/')
		return err_set(err, -EINVAL,
			       "--people.associations=%.100s: must be sacctmgr or an "
			       "absolute path",
			       o->people);
	if (*o->slurm_bindir != '/')
		return err_set(err, -EINVAL, "--slurm.bindir must be an absolute path");
	return 0;
}

static int open_database(struct app *app, struct pg **ret, struct err *err)
{
	int rc = pg_new(&app->pg, ret, err);

	if (rc == 0)
		pg_statement_timeout(*ret, 600000);
	return rc;
}

int import_run(struct app *app, struct err *err)
{
	auto_pg struct pg *pg = NULL;
	const char *file = NULL;
	int rc = open_database(app, &pg, err);

	if (rc < 0)
		return rc;
	rc = is_import(app->options.import, "sacctmgr", &file)
		     ? import_people(app, file, pg, err)
		     : 1;
	if (rc == 1 && is_import(app->options.import, "sacct", &file))
		rc = import_jobs(app, file, pg, err);
	else if (rc == 1)
		rc = import_units(app, app->options.import + strlen("units="), pg, err);
	return rc;
}

/* Calls an SQL function of some texts and the caller's name that returns a number. */
static int call_for_operator(struct app *app, const char *function,
			     const char *const *texts, size_t count, int64_t *ret,
			     struct err *err)
{
	auto_pg struct pg *pg = NULL;
	auto_query struct query q = {.list_count = 0};
	auto_pgresult PGresult *r = NULL;
	const struct passwd *pw = getpwuid(getuid());
	int rc = open_database(app, &pg, err);

	query_put(&q, "SELECT ");
	query_put(&q, function);
	query_put(&q, "(");
	for (size_t i = 0; i < count; i++) {
		query_text(&q, texts[i]);
		query_put(&q, ", ");
	}
	query_text(&q, pw ? pw->pw_name : "?");
	query_put(&q, ")");
	if (rc == 0)
		rc = query_run(&q, pg, &r, err);
	if (rc == 0)
		rc = pg_get_s64(r, 0, 0, ret);
	return rc;
}

int settle_run(struct app *app, struct err *err)
{
	struct settle settle;
	int64_t n = 0;
	int rc = read_settle(app->options.settle, &settle, err);

	if (rc < 0)
		return rc;
	const char *const texts[] = {settle.cluster, settle.id};
	rc = call_for_operator(app, "unit_settle", texts, 2, &n, err);
	if (rc < 0)
		return rc;
	if (n == 0)
		return err_set(err, -ENOENT, "no unit %s is held", settle.id);
	printf("ceems_aggregator: %" PRId64 " runs can be seen by their owners again\n",
	       n);
	return 0;
}

int renumber_run(struct app *app, struct err *err)
{
	struct renumber renumber;
	int64_t n = 0;
	int rc = read_renumber(app->options.renumber, &renumber, err);

	if (rc < 0)
		return rc;
	rc = call_for_operator(app, "person_renumber", renumber.part, 4, &n, err);
	if (rc < 0)
		return rc;
	if (n < 0)
		return err_set(err, -ENOENT, "there is no such person");
	printf("ceems_aggregator: %" PRId64 " units were moved to the new uid\n", n);
	return 0;
}

int erase_run(struct app *app, struct err *err)
{
	const char *const texts[] = {app->options.erase};
	int64_t n = 0;
	int rc = call_for_operator(app, "person_erase", texts, 1, &n, err);

	if (rc < 0)
		return rc;
	if (n == 0)
		return err_set(err, -ENOENT, "there is no such person");
	if (n < 0)
		return err_set(err, -EINVAL,
			       "several people have had the login %s: --erase=%s:UID",
			       texts[0], texts[0]);
	printf("ceems_aggregator: erased on %" PRId64 " clusters\n", n);
	return 0;
}

/* ---- the refresh ----------------------------------------------------------------- */

struct people {
	struct app *app;
	struct periodic_job *job;
};

static int refresh_people(struct pg *pg, void *arg, struct err *err)
{
	struct people *s = arg;
	const struct options *o = &s->app->options;
	int64_t changed[2] = {0, 0};
	size_t rows = 0;
	int rc = import_associations(o, *o->people == '/' ? o->people : NULL, pg,
				     changed, &rows, err);

	if (rc == 0 && (changed[0] || changed[1]))
		log_info("people: %" PRId64 " memberships begin, %" PRId64 " end",
			 changed[0], changed[1]);
	return rc;
}

static int open_people(struct app *app, struct err *err)
{
	const struct options *o = &app->options;
	struct people *s = *o->people ? calloc(1, sizeof(*s)) : NULL;

	if (!*o->people)
		return 0;
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	const struct periodic_job_params p = {
		.name = "people",
		.lock = PERIODIC_JOB_PEOPLE,
		.period_ms = (unsigned)o->people_refresh_ms,
		.timeout_ms = 600000,
		.run = refresh_people,
		.arg = s,
	};
	s->app = app;
	app->people = s;
	return periodic_job_new(&app->pg, &p, &s->job, err);
}

static void stop_people(struct app *app)
{
	if (app->people && app->people->job)
		periodic_job_stop(app->people->job);
}

static void close_people(struct app *app)
{
	if (app->people)
		periodic_job_free(app->people->job);
	free(app->people);
	app->people = NULL;
}

const struct part part_people = {
	.name = "people",
	.check = import_check,
	.open = open_people,
	.stop = stop_people,
	.close = close_people,
};
