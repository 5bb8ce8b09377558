/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool migrate database: the units of a CEEMS API server's SQLite file, as lines
 * of JSON that `ceems_aggregator --import=units=-` reads. The file is not trusted and
 * never written. What has no counterpart here is named, not left out silently. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/tool.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/err.h"

#define COLUMNS_BYTES 4096
#define TEXT_BYTES_MAX (1 << 20) /* of one value */
#define KEYS_MAX 256             /* of maps, named */

struct migration {
	const char *path, *config_file, *pue, *output;
	bool dry_run;
	sqlite3 *db;
	FILE *to; /* lines; NULL: nobody reads them */
	uint64_t written, bytes;
};

enum { OPT_DRY = 256, OPT_CONFIG, OPT_PUE, OPT_OUTPUT };

/* Columns of its table units (its migrations 1 to 9) that are copied. */
static const char *const texts[] = {
	"resource_manager", "cluster_id", "uuid",     "name",
	"project",          "groupname",  "username", "state"};
static const char *const numbers[] = {"created_at_ts", "started_at_ts", "ended_at_ts"};
static const char *const maps[] = {"allocation",
				   "tags",
				   "total_time_seconds",
				   "avg_cpu_usage",
				   "avg_cpu_mem_usage",
				   "total_cpu_energy_usage_kwh",
				   "total_cpu_emissions_gms",
				   "avg_gpu_usage",
				   "total_gpu_energy_usage_kwh",
				   "total_gpu_emissions_gms",
				   "total_io_write_stats",
				   "total_io_read_stats",
				   "total_ingress_stats"};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int fail_sqlite(struct migration *m, const char *what, struct err *err)
{
	const char *why = sqlite3_errmsg(m->db);
	int code = sqlite3_errcode(m->db);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return err_set(err, -EBADMSG,
			       "%s: %s: %s; nothing more is read: migrate a backup, or "
			       "what `sqlite3 FILE .recover` saves of it",
			       m->path, what, why);
	return err_set(err, -EIO, "%s: %s: %s", m->path, what, why);
}

/* Calls f for each row. */
static int query_rows(struct migration *m, const char *sql,
		      int (*f)(struct migration *m, sqlite3_stmt *row, struct err *err),
		      struct err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = 0, step = 0;

	if (sqlite3_prepare_v2(m->db, sql, -1, &s, NULL) != SQLITE_OK)
		return fail_sqlite(m, "reading units", err);
	while (rc == 0 && (step = sqlite3_step(s)) == SQLITE_ROW)
		rc = f(m, s, err);
	if (rc == 0 && step != SQLITE_DONE)
		rc = fail_sqlite(m, "reading units", err);
	sqlite3_finalize(s);
	return rc;
}

static const char *column_text(sqlite3_stmt *row, int i)
{
	const char *s = (const char *)sqlite3_column_text(row, i);

	return s ? s : "";
}

static int count_tables(struct migration *m, sqlite3_stmt *row, struct err *err)
{
	return sqlite3_column_int(row, 0) == 1
		       ? 0
		       : err_set(err, -EBADMSG,
				 "%s: it has no table units: this is no database of "
				 "ceems_api_server; nothing was read",
				 m->path);
}

/* 1: the table has that column. */
static int has_column(struct migration *m, const char *table, const char *column,
		      struct err *err)
{
	sqlite3_stmt *s = NULL;
	int n = 0;

	if (sqlite3_prepare_v2(
		    m->db, "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
		    -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_bind_text(s, 2, column, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		n = fail_sqlite(m, "reading its schema", err);
	else
		n = sqlite3_column_int(s, 0) > 0;
	sqlite3_finalize(s);
	return n;
}

static int check_column(struct migration *m, const char *column, struct err *err)
{
	int rc = has_column(m, "units", column, err);

	return rc == 0 ? err_set(err, -EBADMSG,
				 "%s: its table units has no column %s: this is no "
				 "database of ceems_api_server, or of a release that "
				 "is "
				 "not known here (known: 0.4 to 0.10); nothing was "
				 "read",
				 m->path, column)
		       : rc;
}

static int check_undamaged(struct migration *m, sqlite3_stmt *row, struct err *err)
{
	const char *said = column_text(row, 0);

	return strcmp(said, "ok") == 0
		       ? 0
		       : err_set(err, -EBADMSG,
				 "%s is damaged: %.200s; nothing was read: migrate a "
				 "backup, or what `sqlite3 FILE .recover` saves of it",
				 m->path, said);
}

static int open_peer_database(struct migration *m, struct err *err)
{
	struct stat st;

	/* SQLite would wait for ever for somebody to write into a FIFO */
	if (stat(m->path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: not a regular file", m->path);
	int rc = sqlite3_open_v2(m->path, &m->db, SQLITE_OPEN_READONLY, NULL);

	if (rc != SQLITE_OK)
		return m->db ? fail_sqlite(m, "cannot be opened", err)
			     : err_set(err, -ENOMEM, "out of memory");
	(void)sqlite3_busy_timeout(m->db, 10000);
	(void)sqlite3_limit(m->db, SQLITE_LIMIT_LENGTH, 64 * TEXT_BYTES_MAX);
	(void)sqlite3_db_config(m->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(m->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	rc = query_rows(m, "PRAGMA quick_check(1)", check_undamaged, err);
	/* a view could go on for ever */
	if (rc == 0)
		rc = query_rows(
			m,
			"SELECT count(*) FROM sqlite_master WHERE name = 'units' "
			"AND type = 'table'",
			count_tables, err);
	for (size_t i = 0; rc >= 0 && i < COUNT(texts); i++)
		rc = check_column(m, texts[i], err);
	for (size_t i = 0; rc >= 0 && i < COUNT(numbers); i++)
		rc = check_column(m, numbers[i], err);
	for (size_t i = 0; rc >= 0 && i < COUNT(maps); i++)
		rc = check_column(m, maps[i], err);
	return rc < 0 ? rc : 0;
}

/* ---- the lines ------------------------------------------------------------------- */

static void put_map_column(struct buf *sql, const char *name, const char *column)
{
	buf_printf(sql, ",'%s',CASE WHEN json_valid(%s) THEN json(%s) END", name,
		   column, column);
}

/* In the order in which runs of a job are numbered. */
static int put_units_query(struct migration *m, struct buf *sql, struct err *err)
{
	int egress = has_column(m, "units", "total_egress_stats", err);

	if (egress < 0)
		return egress;
	buf_puts(sql, "SELECT json_object('last_updated_at_ts',"
		      "1000 * strftime('%s', last_updated_at, 'utc')");
	for (size_t i = 0; i < COUNT(texts); i++)
		buf_printf(sql, ",'%s',CAST(%s AS TEXT)", texts[i], texts[i]);
	for (size_t i = 0; i < COUNT(numbers); i++)
		buf_printf(sql, ",'%s',CAST(%s AS INTEGER)", numbers[i], numbers[i]);
	for (size_t i = 0; i < COUNT(maps); i++)
		put_map_column(sql, maps[i], maps[i]);
	/* its migration 9 renamed it */
	put_map_column(sql, "total_egress_stats",
		       egress ? "total_egress_stats" : "total_outgress_stats");
	buf_puts(sql, ") FROM units WHERE resource_manager = 'slurm' "
		      "ORDER BY cluster_id, uuid, created_at_ts, started_at_ts");
	return buf_error(sql) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int write_unit(struct migration *m, sqlite3_stmt *row, struct err *err)
{
	const char *line = column_text(row, 0);
	int n = sqlite3_column_bytes(row, 0);

	m->written++;
	m->bytes += (uint64_t)n;
	if (m->to && (fwrite(line, (size_t)n, 1, m->to) != 1 || putc('\n', m->to) < 0))
		return err_set(err, -errno, "unit %" PRIu64 " cannot be handed on: %s",
			       m->written, strerror(errno));
	return 0;
}

/* ---- what has no counterpart ----------------------------------------------------- */

static int say_row(struct migration *m, sqlite3_stmt *row, struct err *err)
{
	(void)m;
	(void)err;
	/* names come from the file */
	for (const char *s = column_text(row, 0); *s; s++)
		putchar((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
	putchar('\n');
	return 0;
}

static int say_unmatched(struct migration *m, struct err *err)
{
	auto_buf struct buf sql = {.max = 1 << 16};
	int rc = query_rows(m,
			    "SELECT 'not migrated: ' || count(*) || ' units of ' || "
			    "ifnull(resource_manager, '') || ' (cluster ' || "
			    "ifnull(cluster_id, '') "
			    "|| '): only Slurm''s jobs are' FROM units WHERE "
			    "resource_manager IS NOT "
			    "'slurm' GROUP BY resource_manager, cluster_id LIMIT 100",
			    say_row, err);

	buf_puts(&sql, "SELECT DISTINCT 'no counterpart: ' || c || '.' || key FROM (");
	for (size_t i = 2; i < COUNT(maps); i++)
		buf_printf(
			&sql,
			"%sSELECT DISTINCT '%s' AS c, j.key FROM units, "
			"json_each(CASE WHEN json_valid(%s) THEN %s ELSE '{}' END) j",
			i > 2 ? " UNION ALL " : "", maps[i], maps[i], maps[i]);
	buf_printf(
		&sql,
		") WHERE NOT (key IN ('global', 'walltime', 'alloc_cputime', "
		"'alloc_cpumemtime', 'alloc_gputime', 'bytes_total') OR key = 'total' "
		"AND c LIKE 'total%%' OR c LIKE '%%emissions_gms') LIMIT %d",
		KEYS_MAX);
	if (rc == 0 && buf_error(&sql))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = query_rows(m, sql.data, say_row, err);
	if (rc == 0)
		rc = query_rows(
			m,
			"SELECT 'no counterpart: avg_gpu_mem_usage of ' || "
			"count(*) || ' units' FROM units WHERE "
			"avg_gpu_mem_usage NOT IN ('', '{}') HAVING count(*) > 0",
			say_row, err);
	if (rc == 0)
		puts("no counterpart: tables users, projects, admin_users: Slurm is "
		     "asked "
		     "who is in which project (people.associations: sacctmgr), and "
		     "admins "
		     "are in the configuration\n"
		     "no counterpart: tables usage, daily_usage: sums are made of "
		     "units");
	return rc;
}

/* ---- the aggregator -------------------------------------------------------------- */

/* Starts `ceems_aggregator --import=units=-`; its standard input is *ret. */
static int start_import(const struct migration *m, FILE **ret, pid_t *ret_pid,
			struct err *err)
{
	char path[PATH_MAX], config[PATH_MAX + 16], pue[64];
	int fds[2];

	if (tool_find_program("ceems_aggregator", path, sizeof(path)) < 0)
		return err_set(err, -ENOENT,
			       "ceems_aggregator is not here: run this where it is, or "
			       "write the units with --output FILE and give them to "
			       "`ceems_aggregator --import=units=FILE` there");
	(void)snprintf(config, sizeof(config), "--config.file=%s",
		       m->config_file ? m->config_file : "");
	(void)snprintf(pue, sizeof(pue), "--import.pue=%s", m->pue);
	const char *const argv[] = {path, "--import=units=-", pue,
				    m->config_file ? config : NULL, NULL};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		if (dup2(fds[0], STDIN_FILENO) >= 0)
			execv(path, (char *const *)argv);
		_exit(127);
	}
	(void)close(fds[0]);
	*ret = pid > 0 ? fdopen(fds[1], "w") : NULL;
	if (!*ret)
		(void)close(fds[1]);
	*ret_pid = pid;
	return *ret ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
}

static int end_import(pid_t pid, struct err *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "waitpid: %s", strerror(errno));
	return status == 0
		       ? 0
		       : err_set(err, -EIO,
				 "ceems_aggregator did not take the units, see above; "
				 "what it took is not doubled when this is run again");
}

static int migrate_units(struct migration *m, struct err *err)
{
	auto_buf struct buf sql = {.max = COLUMNS_BYTES};
	pid_t pid = -1;
	int rc = put_units_query(m, &sql, err);

	if (rc == 0 && m->output) {
		m->to = strcmp(m->output, "-") == 0 ? stdout : fopen(m->output, "wxe");
		if (!m->to)
			rc = err_set(err, -errno, "%s: %s", m->output, strerror(errno));
	} else if (rc == 0 && !m->dry_run) {
		rc = start_import(m, &m->to, &pid, err);
	}
	if (rc == 0)
		rc = query_rows(m, sql.data, write_unit, err);
	if (m->to && fclose(m->to) != 0 && rc == 0)
		rc = err_set(err, -errno, "%s", strerror(errno));
	m->to = NULL;
	if (pid > 0) {
		struct err said;
		int ended = end_import(pid, &said);
		if (ended < 0)
			rc = err_set(err, ended, "%s", said.text);
	}
	return rc;
}

static int run_migration(struct migration *m, struct err *err)
{
	int rc = open_peer_database(m, err);
	bool lines_on_stdout = m->output && strcmp(m->output, "-") == 0;

	if (rc == 0 && !lines_on_stdout)
		rc = say_unmatched(m, err);
	if (rc == 0 && fflush(stdout) == 0)
		rc = migrate_units(m, err);
	if (rc == 0 && !lines_on_stdout)
		printf("%s%" PRIu64 " units, %" PRIu64 " bytes\n",
		       m->dry_run  ? "would migrate: "
		       : m->output ? "written: "
				   : "handed to ceems_aggregator: ",
		       m->written, m->bytes);
	(void)sqlite3_close(m->db);
	return rc;
}

int tool_migrate_database(int argc, char **argv)
{
	static const struct option longs[] = {
		{"dry-run", no_argument, NULL, OPT_DRY},
		{"config.file", required_argument, NULL, OPT_CONFIG},
		{"pue", required_argument, NULL, OPT_PUE},
		{"output", required_argument, NULL, OPT_OUTPUT},
		{NULL, 0, NULL, 0}};
	struct migration m = {.pue = "1"};
	struct err err;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		if (c == OPT_DRY)
			m.dry_run = true;
		else if (c == OPT_CONFIG)
			m.config_file = optarg;
		else if (c == OPT_PUE)
			m.pue = optarg;
		else if (c == OPT_OUTPUT)
			m.output = optarg;
		else
			return tool_usage_error(c == ':' ? "needs a value: "
							 : "unknown option: ",
						argv[optind - 1]);
	}
	if (optind + 1 != argc)
		return tool_usage_error("migrate database: one file, such as "
					"/var/lib/ceems/ceems.db",
					"");
	if (m.dry_run && m.output)
		return tool_usage_error("--dry-run writes nothing: not with --output",
					"");
	m.path = argv[optind];
	(void)signal(SIGPIPE, SIG_IGN);
	if (run_migration(&m, &err) < 0) {
		fprintf(stderr, "ceems_tool: %s\n", err.text);
		return TOOL_FAILED;
	}
	return 0;
}
