/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct's text output. Columns are found by name, so that a site can use any set. */
#include "aggregator/sacct.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/parse.h"
#include "lib/rfc3339.h"

#define COLUMNS_MAX 128
#define TIME_MAX_S 16000000000ull

enum column {
	C_JOBIDRAW,
	C_JOBID,
	C_CLUSTER,
	C_USER,
	C_UID,
	C_GROUP,
	C_GID,
	C_ACCOUNT,
	C_QOS,
	C_PARTITION,
	C_RESERVATION,
	C_WCKEY,
	C_SUBMIT,
	C_ELIGIBLE,
	C_START,
	C_END,
	C_SUSPENDED,
	C_STATE,
	C_REASON,
	C_EXITCODE,
	C_DERIVED,
	C_LIMIT,
	C_NNODES,
	C_CPUS,
	C_ALLOCTRES,
	C_REQTRES,
	C_NODELIST,
	C_JOBNAME,
	C_WORKDIR,
	C_COMMENT,
	C_RESTARTS,
	C_FLAGS,
	C_PRIORITY,
	C_ADMINCOMMENT,
	C_SYSTEMCOMMENT,
	C_EXTRA,
	C_CONTAINER,
	C_CONSTRAINTS,
	C_LICENSES,
	C_QOSREQ,
	C_FAILEDNODE,
	COLUMNS
};

static const char *const names[COLUMNS] = {
	[C_JOBIDRAW] = "JobIDRaw",
	[C_JOBID] = "JobID",
	[C_CLUSTER] = "Cluster",
	[C_USER] = "User",
	[C_UID] = "UID",
	[C_GROUP] = "Group",
	[C_GID] = "GID",
	[C_ACCOUNT] = "Account",
	[C_QOS] = "QOS",
	[C_PARTITION] = "Partition",
	[C_RESERVATION] = "Reservation",
	[C_WCKEY] = "WCKey",
	[C_SUBMIT] = "Submit",
	[C_ELIGIBLE] = "Eligible",
	[C_START] = "Start",
	[C_END] = "End",
	[C_SUSPENDED] = "Suspended",
	[C_STATE] = "State",
	[C_REASON] = "Reason",
	[C_EXITCODE] = "ExitCode",
	[C_DERIVED] = "DerivedExitCode",
	[C_LIMIT] = "TimelimitRaw",
	[C_NNODES] = "NNodes",
	[C_CPUS] = "AllocCPUS",
	[C_ALLOCTRES] = "AllocTRES",
	[C_REQTRES] = "ReqTRES",
	[C_NODELIST] = "NodeList",
	[C_JOBNAME] = "JobName",
	[C_WORKDIR] = "WorkDir",
	[C_COMMENT] = "Comment",
	[C_RESTARTS] = "Restarts",
	[C_FLAGS] = "Flags",
	[C_PRIORITY] = "Priority",
	[C_ADMINCOMMENT] = "AdminComment",
	[C_SYSTEMCOMMENT] = "SystemComment",
	[C_EXTRA] = "Extra",
	[C_CONTAINER] = "Container",
	[C_CONSTRAINTS] = "Constraints",
	[C_LICENSES] = "Licenses",
	[C_QOSREQ] = "QOSREQ",
	[C_FAILEDNODE] = "FailedNode",
};

struct table {
	struct sacct_reader *r;
	char separator[SACCT_SEPARATOR_SIZE];
	size_t count;        /* columns in the text */
	int of[COLUMNS_MAX]; /* enum column, -1: none of ours */
	bool has[COLUMNS];
	const char *v[COLUMNS]; /* of this row; "" if empty */
	/* the last job's row, which its steps follow; its texts stay in the text */
	struct job job;
	const char *job_id; /* NULL: none */
	char flags[JOB_FLAGS_SIZE];
};

int sacct_state(const char *s, uint32_t *ret_state, uint32_t *ret_by)
{
	static const struct {
		const char *name;
		uint32_t state;
	} flagged[] = {
		{"REQUEUED", JOB_STATE_PENDING | JOB_FLAG_REQUEUE},
		{"RESIZING", JOB_STATE_RUNNING | JOB_FLAG_RESIZING},
		{"REVOKED", JOB_STATE_CANCELLED | JOB_FLAG_REVOKED},
		{"COMPLETING", JOB_STATE_RUNNING | JOB_FLAG_COMPLETING},
	};
	size_t n = strcspn(s, " ");

	for (uint32_t i = 0; i <= JOB_STATE_OUT_OF_MEMORY; i++) {
		const char *name = job_state_name(i);
		if (strlen(name) != n || strncasecmp(name, s, n) != 0)
			continue;
		*ret_state = i;
		if (strncmp(s + n, " by ", 4) != 0 || parse_u32(s + n + 4, ret_by) < 0)
			*ret_by = JOB_NO_VAL;
		return 0;
	}
	for (size_t i = 0; i < sizeof(flagged) / sizeof(flagged[0]); i++) {
		if (strcasecmp(flagged[i].name, s) == 0) {
			*ret_state = flagged[i].state;
			*ret_by = JOB_NO_VAL;
			return 0;
		}
	}
	return -EINVAL;
}

void sacct_refuse(struct sacct_reader *r, const char *why)
{
	if (!r->counts->refused++)
		snprintf(r->counts->first.text, sizeof(r->counts->first.text), "%s",
			 why);
}

void sacct_step(struct sacct_reader *r, const char *number, const char *name)
{
	size_t digits = strspn(number, "0123456789");

	/* "0+1": part of a heterogeneous job's step */
	if (!digits || digits > 10 || (number[digits] && number[digits] != '+') ||
	    !*name || r->step_count == SACCT_STEPS_MAX)
		return;
	buf_printf(&r->steps, "%s\"%.*s\":", r->step_count++ ? "," : "{", (int)digits,
		   number);
	size_t len = 0, n;
	while (name[len] && len < JOB_NAME_MAX) {
		n = utf8_len(name + len, strlen(name + len));
		len += n ? n : 1;
	}
	buf_put_json(&r->steps, name, len);
}

static int give_sacct_job(struct sacct_reader *r, const struct job *j, struct err *err)
{
	if (r->step_count)
		buf_putc(&r->steps, '}');
	if (buf_error(&r->steps))
		return err_set(err, -ENOMEM, "out of memory");
	r->counts->jobs++;
	return r->f(r->arg, j, r->step_count ? r->steps.data : NULL, err);
}

static int complete_sacct_job(struct sacct_reader *r, struct job *j, bool has_run,
			      struct err *err)
{
	if (!*j->cluster)
		j->cluster = r->cluster;
	if (!*j->cluster || !j->job_id || !j->submit_s) {
		sacct_refuse(r, "a row without cluster, job id or time of submission");
		return 0;
	}
	if (!has_run) {
		/* a requeued job has a row per run, each submitted again */
		if (r->last_job != j->job_id)
			r->last_run = 0;
		else if (r->last_submit_s != j->submit_s)
			r->last_run++;
		j->restarts = r->last_run;
	}
	r->last_job = j->job_id;
	r->last_submit_s = j->submit_s;
	if (j->end_s && j->start_s && j->end_s < j->start_s) {
		sacct_refuse(r, "a job that ended before it began");
		return 0;
	}
	j->event = (uint8_t)job_event_of(j->state, j->start_s != 0, false);
	return give_sacct_job(r, j, err);
}

int sacct_give(struct sacct_reader *r, struct job *j, bool has_run, struct err *err)
{
	int rc = complete_sacct_job(r, j, has_run, err);

	buf_reset(&r->steps);
	r->step_count = 0;
	return rc;
}

/* ---- values ---------------------------------------------------------------------- */

/* "2025-03-10T10:00:00" in this host's time zone. */
static int local_time(const char *s, uint64_t *ret)
{
	struct tm tm = {.tm_isdst = -1};
	const char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!end || *end)
		return -EINVAL;
	time_t t = mktime(&tm);
	if (t < 0)
		return -EINVAL;
	*ret = (uint64_t)t;
	return 0;
}

/* 0: unknown. */
static int take_time(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!*s || strcmp(s, "Unknown") == 0 || strcmp(s, "None") == 0) {
		*ret = 0;
		return 0;
	}
	int rc = parse_u64(s, &v);
	if (rc < 0)
		rc = rfc3339_parse(s, &v);
	if (rc < 0)
		rc = local_time(s, &v);
	if (rc < 0 || v > TIME_MAX_S)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* "[D-]HH:MM:SS[.mmm]" or "MM:SS": seconds. */
static uint64_t take_duration(const char *s)
{
	uint64_t days = 0, v = 0, part;
	size_t n = strcspn(s, "-");

	if (s[n] == '-') {
		if (parse_u64_len(s, n, &days) < 0 || days > 100000)
			return 0;
		s += n + 1;
	}
	for (int i = 0; i < 3; i++) {
		n = strspn(s, "0123456789");
		if (!n || n > 9 || parse_u64_len(s, n, &part) < 0)
			return 0;
		v = v * 60 + part;
		s += n;
		if (*s != ':')
			break;
		s++;
	}
	return days * 86400 + v;
}

/* "3:0" as a wait status. */
uint32_t sacct_exit(const char *s)
{
	uint64_t code, sig;
	size_t n = strcspn(s, ":");

	if (parse_u64_len(s, n, &code) < 0 || !s[n] || parse_u64(s + n + 1, &sig) < 0 ||
	    code > 255 || sig > 127)
		return JOB_NO_VAL;
	return (uint32_t)(code << 8 | sig);
}

static uint32_t take_u32(const char *s, uint32_t other)
{
	uint32_t v;

	return parse_u32(s, &v) == 0 ? v : other;
}

static uint32_t take_limit(const char *s)
{
	if (strcasecmp(s, "UNLIMITED") == 0)
		return JOB_INFINITE;
	return take_u32(s, JOB_NO_VAL);
}

/* "12_3": task 3 of array 12; "12+1": component 1 of heterogeneous job 12. */
static void take_group(const char *s, struct job *j)
{
	size_t n = strspn(s, "0123456789");
	uint64_t of;
	uint32_t one;

	if (!n || !s[n] || parse_u64_len(s, n, &of) < 0 || of > UINT32_MAX ||
	    parse_u32(s + n + 1, &one) < 0)
		return;
	if (s[n] == '_') {
		j->array_job = (uint32_t)of;
		j->array_task = one;
	} else if (s[n] == '+') {
		j->het_job = (uint32_t)of;
		j->het_offset = one;
	}
}

/* ---- rows ------------------------------------------------------------------------ */

/* "SchedMain,StartReceived", whose second word 22.05 misspells. */
static uint32_t flags_of_words(const char *s)
{
	static const struct {
		const char *word;
		uint32_t flag;
	} known[] = {
		{"SchedNotSet", JOB_DB_FLAG_NOTSET},
		{"SchedSubmit", JOB_DB_FLAG_SUBMIT},
		{"SchedMain", JOB_DB_FLAG_SCHED},
		{"SchedBackfill", JOB_DB_FLAG_BACKFILL},
		{"StartReceived", JOB_DB_FLAG_START_R},
		{"StartRecieved", JOB_DB_FLAG_START_R},
	};
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(s, known[i].word))
			flags |= known[i].flag;
	return flags;
}

static void take_column_texts(struct table *t, struct job *j)
{
	j->cluster = t->v[C_CLUSTER];
	j->user = t->v[C_USER];
	j->group = t->v[C_GROUP];
	j->account = t->v[C_ACCOUNT];
	j->qos = t->v[C_QOS];
	j->partition = t->v[C_PARTITION];
	j->reservation = t->v[C_RESERVATION];
	j->wckey = t->v[C_WCKEY];
	j->name = t->v[C_JOBNAME];
	j->work_dir = t->v[C_WORKDIR];
	j->comment = t->v[C_COMMENT];
	j->tres_allocated = t->v[C_ALLOCTRES];
	j->tres_requested = t->v[C_REQTRES];
	j->slurm_flags = job_flags_text(flags_of_words(t->v[C_FLAGS]), t->flags);
	j->admin_comment = t->v[C_ADMINCOMMENT];
	j->system_comment = t->v[C_SYSTEMCOMMENT];
	j->extra = t->v[C_EXTRA];
	j->container = t->v[C_CONTAINER];
	j->constraints = t->v[C_CONSTRAINTS];
	j->licenses = t->v[C_LICENSES];
	j->qos_requested = t->v[C_QOSREQ];
	j->failed_node = t->v[C_FAILEDNODE];
	if (strcmp(t->v[C_REASON], "None") != 0)
		j->reason_name = t->v[C_REASON];
	if (strcmp(t->v[C_NODELIST], "None assigned") != 0)
		j->nodes = t->v[C_NODELIST];
}

static int give_job(struct table *t, struct err *err)
{
	if (!t->job_id)
		return 0;
	t->job_id = NULL;
	return sacct_give(t->r, &t->job, t->has[C_RESTARTS], err);
}

/* "12.0" after the row of job 12 */
static void take_step(struct table *t, const char *id, const char *dot)
{
	size_t n = (size_t)(dot - id);

	if (t->job_id && strncmp(t->job_id, id, n) == 0 && !t->job_id[n])
		sacct_step(t->r, dot + 1, t->v[C_JOBNAME]);
}

static int take_row(struct table *t, struct err *err)
{
	const char *id = *t->v[C_JOBIDRAW] ? t->v[C_JOBIDRAW] : t->v[C_JOBID];
	const char *dot = strchr(id, '.');
	struct job j;

	if (dot) {
		take_step(t, id, dot);
		return 0;
	}
	int rc = give_job(t, err);
	if (rc < 0 || strchr(id, '[')) /* pending part of an array */
		return rc;
	job_init(&j);
	take_group(t->v[C_JOBID], &j);
	take_column_texts(t, &j);
	if (parse_u32(id, &j.job_id) < 0 ||
	    take_time(t->v[C_SUBMIT], &j.submit_s) < 0 ||
	    take_time(t->v[C_ELIGIBLE], &j.eligible_s) < 0 ||
	    take_time(t->v[C_START], &j.start_s) < 0 ||
	    take_time(t->v[C_END], &j.end_s) < 0 ||
	    sacct_state(t->v[C_STATE], &j.state, &j.cancelled_by) < 0) {
		sacct_refuse(t->r, "a row whose job id, times or state make no sense");
		return 0;
	}
	j.suspended_s = take_duration(t->v[C_SUSPENDED]);
	j.uid = take_u32(t->v[C_UID], JOB_NO_VAL);
	j.gid = take_u32(t->v[C_GID], JOB_NO_VAL);
	j.exit_code = sacct_exit(t->v[C_EXITCODE]);
	j.derived_exit_code = sacct_exit(t->v[C_DERIVED]);
	j.time_limit_min = take_limit(t->v[C_LIMIT]);
	j.node_count = take_u32(t->v[C_NNODES], 0);
	j.cpus = take_u32(t->v[C_CPUS], 0);
	j.restarts = take_u32(t->v[C_RESTARTS], 0);
	j.priority = take_u32(t->v[C_PRIORITY], 0);
	t->job = j;
	t->job_id = id;
	return 0;
}

/* Splits a line into the table's columns; false: wrong number of them. */
static bool cut_sacct_line(struct table *t, char *line, size_t len)
{
	size_t n = 0;

	for (int c = 0; c < COLUMNS; c++)
		t->v[c] = "";
	line[len] = '\0';
	/* -p adds a separator at the end */
	for (char *s = line;; n++) {
		char *end = strstr(s, t->separator);
		if (n < t->count && t->of[n] >= 0)
			t->v[t->of[n]] = s;
		if (!end)
			break;
		*end = '\0';
		s = end + strlen(t->separator);
	}
	return n + 1 == t->count;
}

static int read_column_names(struct table *t, char *line, size_t len, struct err *err)
{
	if (!*t->separator)
		snprintf(t->separator, sizeof(t->separator), "%s",
			 memchr(line, '\x1f', len) ? "\x1f" : "|");
	line[len] = '\0';
	for (char *s = line; s && t->count < COLUMNS_MAX;) {
		char *end = strstr(s, t->separator);
		if (end)
			*end = '\0';
		t->of[t->count] = -1;
		for (int c = 0; c < COLUMNS; c++) {
			if (strcasecmp(names[c], s) != 0)
				continue;
			t->of[t->count] = c;
			t->has[c] = true;
		}
		t->count++;
		s = end ? end + strlen(t->separator) : NULL;
	}
	if ((!t->has[C_JOBIDRAW] && !t->has[C_JOBID]) || !t->has[C_SUBMIT] ||
	    !t->has[C_STATE])
		return err_set(
			err, -EBADMSG,
			"not what sacct prints: the first line must name columns, "
			"of which JobIDRaw, Submit and State are needed (sacct -P "
			"without --noheader, or sacct --json)");
	return 0;
}

static size_t sacct_line_length(const char *s, const char *end)
{
	const char *nl = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;

	return nl ? (size_t)(nl - s) : (size_t)(end - s);
}

static size_t count_separators(const struct table *t, const char *s, size_t len)
{
	size_t n = 0, width = strlen(t->separator);
	const char *end = s + len;

	while ((s = memmem(s, (size_t)(end - s), t->separator, width)) != NULL) {
		s += width;
		n++;
	}
	return n;
}

/* The length of the row at s: a text of a user's may have newlines, so that it goes on
 * in the next line while it has too few columns or that line has no other. */
static size_t find_row_length(const struct table *t, const char *s, const char *end)
{
	size_t len = sacct_line_length(s, end), has;

	if (!t->count)
		return len;
	has = count_separators(t, s, len);
	while (s + len < end) {
		const char *next = s + len + 1;
		size_t n = sacct_line_length(next, end);
		size_t more = count_separators(t, next, n);
		if (has + more >= t->count)
			break;
		has += more;
		len += 1 + n;
	}
	return len;
}

static int read_table(struct sacct_reader *r, char *text, size_t len, struct err *err)
{
	struct table t = {.r = r};
	char *end = text + len;
	int rc = 0;

	snprintf(t.separator, sizeof(t.separator), "%s", r->separator);
	for (char *s = text; rc == 0 && s < end;) {
		size_t n = find_row_length(&t, s, end);
		char *next = s + n + 1;
		while (n && strchr("\r\n", s[n - 1]) && s[n - 1])
			n--;
		if (n == 0)
			;
		else if (memchr(s, '\0', n))
			sacct_refuse(r, "a row with a NUL");
		else if (t.count == 0)
			rc = read_column_names(&t, s, n, err);
		else if (!cut_sacct_line(&t, s, n))
			sacct_refuse(r,
				     "a row with more or fewer columns than names (a "
				     "name with a '|'? use --delimiter or --json)");
		else
			rc = take_row(&t, err);
		s = next;
	}
	if (rc == 0 && t.count == 0)
		return err_set(err, -EBADMSG, "not what sacct prints: it is empty");
	return rc < 0 ? rc : give_job(&t, err);
}

int sacct_read(char *text, size_t len, const char *separator, const char *cluster,
	       sacct_job_f f, void *arg, struct sacct_counts *ret, struct err *err)
{
	struct sacct_reader r = {.cluster = cluster,
				 .separator = separator,
				 .f = f,
				 .arg = arg,
				 .counts = ret};
	size_t blanks = 0;

	*ret = (struct sacct_counts){.jobs = 0};
	while (blanks < len && strchr(" \t\r\n", text[blanks]) && text[blanks])
		blanks++;
	r.steps.max = (size_t)SACCT_STEPS_MAX * (6 * JOB_NAME_MAX + 32);
	int rc = blanks < len && text[blanks] == '{' ? sacct_json(&r, text, len, err)
						     : read_table(&r, text, len, err);
	buf_done(&r.steps);
	return rc;
}
