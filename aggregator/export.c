/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dumps of a period for other programs. A cursor in one read-only transaction, so that
 * a dump of years needs no more memory than a page. */
#include "aggregator/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "aggregator/query.h"
#include "aggregator/records.h"
#include "lib/base64.h"
#include "lib/clock.h"

#define PAGE_ROWS "1000"
#define SUMMARY_BYTES_MAX ((size_t)4 << 20)
#define SUMS                                                                           \
	"d.cpu_user_ns, d.cpu_system_ns, d.cpu_alloc_ms, "                             \
	"d.memory_byte_ms, d.memory_alloc_byte_ms, d.memory_peak_bytes,"               \
	" d.io_read_bytes, d.io_write_bytes, d.net_rx_bytes, "                         \
	"d.net_tx_bytes, d.gpu_busy_ms, d.gpu_alloc_ms, "                              \
	"d.gpu_memory_byte_ms, d.package_uj, d.dram_uj, d.psys_uj, "                   \
	"d.gpu_uj, d.host_uj, d.other_uj, energy_total_uj(d.package_uj,"               \
	" d.dram_uj, d.psys_uj, d.gpu_uj, d.host_uj, d.other_uj) AS "                  \
	"energy_uj, d.grams"
#define NAMES                                                                          \
	"JOIN cluster c ON c.id = u.cluster LEFT JOIN person pe ON pe.id = u.person "  \
	"LEFT JOIN project pr ON pr.id = u.project "

enum row_form { ROW_CSV, ROW_LINE, ROW_JOBSTATS };

/* The statements end before the two times. Day columns compare with UTC's days. */
static const struct export_kind {
	const char *name, *sql, *order;
	enum row_form form;
} export_kinds[] = {
	{"units",
	 "SELECT c.name AS cluster, c.manager, u.uuid, u.restarts, pe.name AS "
	 "\"user\", "
	 "u.uid, pr.name AS project, u.name, u.partition, u.qos, u.state, u.exit_code, "
	 "u.submitted, u.started, u.ended, u.known_by, u.nodes, "
	 "unit_cpus(u.cpus, u.millicpus) AS cpus, u.memory_bytes, "
	 "u.gpus, u.node_list, u.wall_ms, u.node_ms, u.observed_ms, " SUMS
	 " FROM unit d, LATERAL (SELECT d.*) u " NAMES "WHERE u.ended >= ",
	 "u.ended, u.id", ROW_CSV},
	{"days",
	 "SELECT c.name AS cluster, c.manager, u.uuid, u.restarts, d.day, pe.name AS "
	 "\"user\", pr.name AS project, d.starts, d.wall_ms, d.node_ms, "
	 "d.observed_ms, " SUMS " FROM unit_day d JOIN unit u ON u.id = d.unit " NAMES
	 "WHERE utc_midnight(d.day) >= ",
	 "d.day, d.unit", ROW_CSV},
	{"usage",
	 "SELECT c.name AS cluster, c.manager, d.day, pe.name AS \"user\", pr.name AS "
	 "project, d.units, d.units_started, d.wall_ms, d.node_ms, d.observed_ms, "
	 "d.cpu_ns, "
	 "d.cpu_alloc_ms, d.memory_byte_ms, d.memory_alloc_byte_ms, d.io_read_bytes, "
	 "d.io_write_bytes, d.net_rx_bytes, d.net_tx_bytes, d.gpu_busy_ms, "
	 "d.gpu_alloc_ms, d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj, d.host_uj, "
	 "d.other_uj, energy_total_uj(d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj, "
	 "d.host_uj, d.other_uj) AS energy_uj, d.grams FROM usage_day d "
	 "JOIN cluster c ON c.id = d.cluster JOIN person pe ON pe.id = d.person "
	 "JOIN project pr ON pr.id = d.project WHERE utc_midnight(d.day) >= ",
	 "d.day, pe.name, pr.name, d.person", ROW_CSV},
	{"jobstats",
	 "SELECT c.name AS cluster, u.uuid AS job, export_jobstats(u.id)::text AS "
	 "admin_comment FROM unit u " NAMES
	 "WHERE c.manager = 'slurm' AND u.started IS NOT NULL AND u.ended >= ",
	 "u.ended, u.id", ROW_JOBSTATS},
	{"supremm",
	 "SELECT export_supremm(u.id)::text FROM unit u " NAMES
	 "WHERE c.manager = 'slurm' AND u.started IS NOT NULL AND u.person IS NOT NULL "
	 "AND u.ended >= ",
	 "u.ended, u.id", ROW_LINE},
};

struct export
{
	const struct export_kind *kind;
	uint64_t from_s, to_s;
	uint64_t rows;
};

static const struct export_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(export_kinds) / sizeof(export_kinds[0]); i++)
		if (strcmp(export_kinds[i].name, name) == 0)
			return &export_kinds[i];
	return NULL;
}

int export_check(const struct options *o, struct err *err)
{
	return !*o->export || find_kind(o->export)
		       ? 0
		       : err_set(err, -EINVAL,
				 "--export=%.100s: must be units, days, usage, "
				 "jobstats or "
				 "supremm",
				 o->export);
}

/* A text beginning as a formula does in a spreadsheet stays as it is: names of jobs are
 * data, and whoever opens them as formulas must say so to his program. */
static void print_csv_value(const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		fputs(s, stdout);
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			putchar('"');
		putchar(*s);
	}
	putchar('"');
}

/* "JS1:" and the summary, gzip in base64, as jobstats has it; "JS1:None": there is
 * none. */
static int put_jobstats(const char *json, struct buf *ret, struct err *err)
{
	static unsigned char packed[SUMMARY_BYTES_MAX];
	size_t n = strlen(json);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)json,
		      .avail_in = (uInt)n,
		      .next_out = packed,
		      .avail_out = sizeof(packed)};

	buf_puts(ret, "JS1:");
	if (!n) {
		buf_puts(ret, "None");
		return 0;
	}
	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	int done = deflate(&z, Z_FINISH);
	(void)deflateEnd(&z);
	if (done != Z_STREAM_END)
		return err_set(err, -EFBIG, "a job's summary is too long");
	base64_put(ret, packed, z.total_out);
	return 0;
}

static int print_row(const struct export *e, const PGresult *r, int row,
		     struct err *err)
{
	auto_buf struct buf text = {.max = 2 * SUMMARY_BYTES_MAX};
	int columns = PQnfields(r), last = columns - 1, rc = 0;

	if (e->kind->form == ROW_LINE) {
		puts(PQgetvalue(r, row, 0));
		return 0;
	}
	for (int i = 0; i < columns; i++) {
		if (i)
			putchar(',');
		if (e->kind->form == ROW_JOBSTATS && i == last)
			rc = put_jobstats(PQgetvalue(r, row, i), &text, err);
		else
			print_csv_value(PQgetvalue(r, row, i));
	}
	if (rc == 0 && text.len)
		fputs(text.data, stdout);
	putchar('\n');
	return rc;
}

static void print_names(const struct export *e, const PGresult *r)
{
	int columns = PQnfields(r);

	for (int i = 0; e->kind->form != ROW_LINE && i < columns; i++)
		printf("%s%s", i ? "," : "", PQfname(r, i));
	if (e->kind->form != ROW_LINE)
		putchar('\n');
}

static int run_text(struct pg *pg, const char *sql, PGresult **ret, struct err *err)
{
	auto_query struct query q = {.list_count = 0};

	query_put(&q, sql);
	return query_run(&q, pg, ret, err);
}

static int declare_cursor(const struct export *e, struct pg *pg, struct err *err)
{
	auto_buf struct buf sql = {.max = 1 << 16};

	/* only numbers and constants: a cursor's query takes no parameters here */
	buf_printf(&sql,
		   "DECLARE dump NO SCROLL CURSOR FOR %sto_timestamp(%" PRIu64
		   ") AND %s < to_timestamp(%" PRIu64 ") ORDER BY %s",
		   e->kind->sql, e->from_s,
		   strncmp(e->kind->order, "d.day", 5) == 0 ? "utc_midnight(d.day)"
							    : "u.ended",
		   e->to_s, e->kind->order);
	return buf_error(&sql) ? err_set(err, -ENOMEM, "out of memory")
			       : run_text(pg, sql.data, NULL, err);
}

static int dump_rows(struct pg *pg, void *arg, struct err *err)
{
	struct export *e = arg;
	int rc = run_text(pg, "SET LOCAL timezone = 'UTC'", NULL, err);

	if (rc == 0)
		rc = declare_cursor(e, pg, err);
	for (int n = 1; rc == 0 && n > 0;) {
		auto_pgresult PGresult *r = NULL;
		rc = run_text(pg, "FETCH " PAGE_ROWS " FROM dump", &r, err);
		if (rc < 0)
			break;
		if (!e->rows)
			print_names(e, r);
		n = PQntuples(r);
		for (int i = 0; rc == 0 && i < n; i++)
			rc = print_row(e, r, i, err);
		e->rows += (uint64_t)n;
		if (rc == 0 && ferror(stdout))
			rc = err_set(err, -EIO, "standard output cannot be written");
	}
	return rc;
}

int export_run(struct app *app, struct err *err)
{
	struct export e = {.kind = find_kind(app->options.export)};
	auto_pg struct pg *pg = NULL;
	int rc = export_check(&app->options, err);

	if (rc == 0)
		rc = records_period(&app->options, &e.from_s, &e.to_s, err);
	if (rc == 0)
		rc = pg_new(&app->pg, &pg, err);
	if (rc < 0)
		return rc;
	pg_statement_timeout(pg, 3600000);
	rc = pg_transaction(pg, PG_REPEATABLE_READ, 1, dump_rows, &e, err);
	if (rc == 0 && fflush(stdout) != 0)
		rc = err_set(err, -errno, "standard output: %s", strerror(errno));
	if (rc == 0)
		fprintf(stderr, "ceems_aggregator: %" PRIu64 " rows\n", e.rows);
	return rc;
}
