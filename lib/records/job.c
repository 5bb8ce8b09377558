/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's completion record as bytes. Encoder and decoder walk the same table of
 * fields. */
#include "lib/records/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/tlv.h"

/* Numbers on the wire: never change or reuse one. */
enum field_id {
	F_EVENT = 1,
	F_FLAGS = 2,
	F_CLUSTER = 3,
	F_JOB_ID = 4,
	F_RESTARTS = 5,
	F_STATE = 6,
	F_UID = 7,
	F_GID = 8,
	F_RECORDED = 9,
	F_SLUID = 10,
	F_SUBMIT = 11,
	F_ELIGIBLE = 12,
	F_START = 13,
	F_END = 14,
	F_RESIZE = 15,
	F_SUSPENDED = 16,
	F_ARRAY_JOB = 17,
	F_ARRAY_TASK = 18,
	F_ARRAY_COUNT = 19,
	F_HET_JOB = 20,
	F_HET_OFFSET = 21,
	F_EXIT_CODE = 22,
	F_DERIVED_EXIT_CODE = 23,
	F_REASON = 24,
	F_CANCELLED_BY = 25,
	F_TIME_LIMIT = 26,
	F_NODE_COUNT = 27,
	F_CPUS = 28,
	F_TASKS = 29,
	F_DB_INDEX = 30,
	F_PRIORITY = 31,

	F_USER = 40,
	F_GROUP = 41,
	F_ACCOUNT = 42,
	F_QOS = 43,
	F_PARTITION = 44,
	F_RESERVATION = 45,
	F_WCKEY = 46,
	F_NAME = 47,
	F_COMMENT = 48,
	F_ADMIN_COMMENT = 49,
	F_WORK_DIR = 50,
	F_REASON_NAME = 51,
	F_ARRAY_TASKS = 52,
	F_NODES = 53,
	F_TRES_REQUESTED = 54,
	F_TRES_ALLOCATED = 55,
	F_GRES = 56,
	F_SYSTEM_COMMENT = 57,
	F_EXTRA = 58,
	F_CONTAINER = 59,
	F_CONSTRAINTS = 60,
	F_LICENSES = 61,
	F_QOS_REQUESTED = 62,
	F_FAILED_NODE = 63,
	F_SLURM_FLAGS = 64,
	F_SUBMIT_LINE = 65,
};

enum field_kind { U8, U32, U64, TEXT, LIST, HOSTS, PER_NODE };

/* When a number is not written */
enum field_absent { ZERO, NO_VAL, NEVER };

struct field {
	uint16_t id;
	uint8_t kind;
	uint8_t absent;
	uint32_t max; /* of a text */
	size_t offset;
	const char *name;
};

#define NUMBER(id, kind, member, absent)                                               \
	{                                                                              \
		id, kind, absent, 0, offsetof(struct job, member), #member             \
	}
#define STRING(id, kind, member, max)                                                  \
	{                                                                              \
		id, kind, ZERO, max, offsetof(struct job, member), #member             \
	}

static const struct field job_fields[] = {
	NUMBER(F_EVENT, U8, event, NEVER),
	NUMBER(F_FLAGS, U32, flags, NEVER), /* second: gets JOB_CUT and its like last */
	STRING(F_CLUSTER, TEXT, cluster, JOB_NAME_MAX),
	NUMBER(F_JOB_ID, U32, job_id, NEVER),
	NUMBER(F_STATE, U32, state, NEVER),
	NUMBER(F_UID, U32, uid, NEVER),
	NUMBER(F_GID, U32, gid, NEVER),
	NUMBER(F_RECORDED, U64, recorded_ns, NEVER),
	NUMBER(F_SUBMIT, U64, submit_s, NEVER),
	/* those above are required */
	NUMBER(F_RESTARTS, U32, restarts, ZERO),
	NUMBER(F_SLUID, U64, sluid, ZERO),
	NUMBER(F_DB_INDEX, U64, db_index, ZERO),
	NUMBER(F_ELIGIBLE, U64, eligible_s, ZERO),
	NUMBER(F_START, U64, start_s, ZERO),
	NUMBER(F_END, U64, end_s, ZERO),
	NUMBER(F_RESIZE, U64, resize_s, ZERO),
	NUMBER(F_SUSPENDED, U64, suspended_s, ZERO),
	NUMBER(F_ARRAY_JOB, U32, array_job, NO_VAL),
	NUMBER(F_ARRAY_TASK, U32, array_task, NO_VAL),
	NUMBER(F_ARRAY_COUNT, U32, array_task_count, ZERO),
	NUMBER(F_HET_JOB, U32, het_job, NO_VAL),
	NUMBER(F_HET_OFFSET, U32, het_offset, NO_VAL),
	NUMBER(F_EXIT_CODE, U32, exit_code, NO_VAL),
	NUMBER(F_DERIVED_EXIT_CODE, U32, derived_exit_code, NO_VAL),
	NUMBER(F_REASON, U32, reason, ZERO),
	NUMBER(F_CANCELLED_BY, U32, cancelled_by, NO_VAL),
	NUMBER(F_TIME_LIMIT, U32, time_limit_min, NO_VAL),
	NUMBER(F_NODE_COUNT, U32, node_count, ZERO),
	NUMBER(F_CPUS, U32, cpus, ZERO),
	NUMBER(F_TASKS, U32, tasks, ZERO),
	NUMBER(F_PRIORITY, U32, priority, ZERO),
	STRING(F_USER, TEXT, user, JOB_NAME_MAX),
	STRING(F_GROUP, TEXT, group, JOB_NAME_MAX),
	STRING(F_ACCOUNT, TEXT, account, JOB_NAME_MAX),
	STRING(F_QOS, TEXT, qos, JOB_NAME_MAX),
	STRING(F_PARTITION, TEXT, partition, JOB_NAME_MAX),
	STRING(F_RESERVATION, TEXT, reservation, JOB_NAME_MAX),
	STRING(F_WCKEY, TEXT, wckey, JOB_NAME_MAX),
	STRING(F_NAME, TEXT, name, JOB_LONG_MAX),
	STRING(F_COMMENT, TEXT, comment, JOB_LONG_MAX),
	STRING(F_ADMIN_COMMENT, TEXT, admin_comment, JOB_LONG_MAX),
	STRING(F_SYSTEM_COMMENT, TEXT, system_comment, JOB_LONG_MAX),
	STRING(F_EXTRA, TEXT, extra, JOB_LONG_MAX),
	STRING(F_CONTAINER, TEXT, container, JOB_LONG_MAX),
	STRING(F_CONSTRAINTS, TEXT, constraints, JOB_LONG_MAX),
	STRING(F_LICENSES, TEXT, licenses, JOB_LONG_MAX),
	STRING(F_QOS_REQUESTED, TEXT, qos_requested, JOB_NAME_MAX),
	STRING(F_FAILED_NODE, TEXT, failed_node, JOB_NAME_MAX),
	STRING(F_SLURM_FLAGS, TEXT, slurm_flags, JOB_NAME_MAX),
	STRING(F_SUBMIT_LINE, TEXT, submit_line, JOB_LINE_MAX),
	STRING(F_WORK_DIR, TEXT, work_dir, JOB_LONG_MAX),
	STRING(F_REASON_NAME, TEXT, reason_name, JOB_NAME_MAX),
	STRING(F_ARRAY_TASKS, LIST, array_tasks, JOB_GRES_MAX),
	STRING(F_NODES, HOSTS, nodes, JOB_NODES_MAX),
	STRING(F_TRES_REQUESTED, LIST, tres_requested, JOB_LONG_MAX),
	STRING(F_TRES_ALLOCATED, LIST, tres_allocated, JOB_LONG_MAX),
	STRING(F_GRES, PER_NODE, gres, JOB_GRES_MAX),
};

#define FIELDS (sizeof(job_fields) / sizeof(job_fields[0]))
#define REQUIRED 9u

_Static_assert(FIELDS <= 64, "one bit per field");
_Static_assert(JOB_NODES_MAX + 2 * JOB_GRES_MAX + JOB_LINE_MAX + 11 * JOB_LONG_MAX +
			       13 * JOB_NAME_MAX + 64 * 16 <
		       JOB_RECORD_MAX,
	       "every record fits");

static size_t job_number_bytes(uint8_t kind)
{
	return kind == U8 ? 1 : kind == U32 ? 4 : 8;
}

static bool is_text_field(const struct field *f)
{
	return f->kind >= TEXT;
}

/* ---- members --------------------------------------------------------------------- */

static uint64_t get_number(const struct job *j, const struct field *f)
{
	const char *p = (const char *)j + f->offset;

	switch (f->kind) {
	case U8:
		return *(const uint8_t *)p;
	case U32:
		return *(const uint32_t *)(const void *)p;
	default:
		return *(const uint64_t *)(const void *)p;
	}
}

static void set_job_number(struct job *j, const struct field *f, uint64_t v)
{
	char *p = (char *)j + f->offset;

	switch (f->kind) {
	case U8:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case U32:
		*(uint32_t *)(void *)p = (uint32_t)v;
		break;
	default:
		*(uint64_t *)(void *)p = v;
	}
}

static const char **job_text_member(struct job *j, const struct field *f)
{
	return (const char **)(void *)((char *)j + f->offset);
}

static const char *get_job_text(const struct job *j, const struct field *f)
{
	const char *s =
		*(const char *const *)(const void *)((const char *)j + f->offset);

	return s ? s : "";
}

void job_init(struct job *j)
{
	memset(j, 0, sizeof(*j));
	for (size_t i = 0; i < FIELDS; i++) {
		if (is_text_field(&job_fields[i]))
			*job_text_member(j, &job_fields[i]) = "";
		else if (job_fields[i].absent == NO_VAL)
			set_job_number(j, &job_fields[i], JOB_NO_VAL);
	}
}

void job_done(struct job *j)
{
	if (!j)
		return;
	free(j->memory);
	job_init(j);
}

/* ---- encoding -------------------------------------------------------------------- */

struct job_out {
	struct tlv_out to;
	uint32_t cut; /* enum job_flag: what was */
};

/* Where to cut a text longer than max: between two characters. */
static size_t cut_text(const char *s, size_t len, size_t max)
{
	size_t i = 0;

	for (size_t n; i < max; i += n) {
		n = utf8_len(s + i, len - i);
		if (!n)
			n = 1;
		if (i + n > max)
			break;
	}
	return i;
}

/* After which element the list still fits, including a "]"; *ret_open: one is needed. A
 * host list cut elsewhere would name other hosts. */
static size_t cut_list(const char *s, size_t max, char separator, bool *ret_open)
{
	size_t at = 0;
	bool open = false;

	for (size_t i = 0; i + 1 < max; i++) {
		if (s[i] == separator) {
			at = i;
			*ret_open = open;
		}
		if (s[i] == '[')
			open = true;
		else if (s[i] == ']')
			open = false;
	}
	return at;
}

static void put_job_text(struct job_out *o, const struct field *f, const char *s)
{
	size_t len = strnlen(s, (size_t)f->max + 4), n = len;
	bool open = false;

	if (len > f->max) {
		o->cut |= JOB_CUT | (f->id == F_SUBMIT_LINE ? JOB_LINE_CUT : 0);
		if (f->kind == TEXT)
			n = cut_text(s, len, f->max);
		else
			n = cut_list(s, f->max, f->kind == PER_NODE ? ';' : ',', &open);
		open = open && f->kind == HOSTS;
	}
	unsigned char *p = n ? tlv_put(&o->to, f->id, n + open) : NULL;
	if (!p)
		return;
	memcpy(p, s, n);
	if (open)
		p[n] = ']';
}

static void put_job_number(struct tlv_out *o, const struct field *f, uint64_t v)
{
	if (f->absent == NEVER || v != (f->absent == NO_VAL ? JOB_NO_VAL : 0))
		tlv_put_number(o, f->id, v, job_number_bytes(f->kind));
}

static bool is_complete_job(const struct job *j)
{
	return j->event >= JOB_EVENT_ENDED && j->event < JOB_EVENTS && j->job_id &&
	       j->recorded_ns && j->submit_s && j->cluster && *j->cluster;
}

int job_encode(const struct job *j, void *buf, size_t size)
{
	struct job_out o = {.cut = 0};
	/* flags follow the type and the one byte of the event */
	const size_t flags_at =
		TLV_HEAD_BYTES + TLV_FIELD_HEAD_BYTES + 1 + TLV_FIELD_HEAD_BYTES;

	if (!is_complete_job(j))
		return -EINVAL;
	if (tlv_begin(&o.to, buf, size, JOB_RECORD_TYPE) < 0)
		return -EMSGSIZE;
	for (size_t i = 0; i < FIELDS; i++) {
		if (is_text_field(&job_fields[i]))
			put_job_text(&o, &job_fields[i],
				     get_job_text(j, &job_fields[i]));
		else
			put_job_number(&o.to, &job_fields[i],
				       get_number(j, &job_fields[i]));
	}
	if (o.to.full)
		return -EMSGSIZE;
	if (o.cut)
		tlv_put_le(o.to.data + flags_at, j->flags | o.cut, 4);
	return (int)o.to.len;
}

int job_add_names(void *buf, size_t len, size_t size, const char *user,
		  const char *group)
{
	struct job_out o = {.to = {.data = buf, .size = size, .len = len}};
	const struct field names[] = {
		STRING(F_USER, TEXT, user, JOB_NAME_MAX),
		STRING(F_GROUP, TEXT, group, JOB_NAME_MAX),
	};

	put_job_text(&o, &names[0], user ? user : "");
	put_job_text(&o, &names[1], group ? group : "");
	return o.to.full ? -EMSGSIZE : (int)o.to.len;
}

/* ---- decoding -------------------------------------------------------------------- */

static int bad_job_field(struct err *err, const struct field *f, const char *what,
			 size_t len)
{
	return err_set(err, -EPROTO, "job record: field %s: %s (%zu bytes)", f->name,
		       what, len);
}

static const struct field *find_field(uint64_t id, size_t *ret_index)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (job_fields[i].id == id) {
			*ret_index = i;
			return &job_fields[i];
		}
	return NULL;
}

static int check_field(const struct field *f, const struct tlv_value *v,
		       struct err *err)
{
	if (!is_text_field(f))
		return v->len == job_number_bytes(f->kind)
			       ? 0
			       : bad_job_field(err, f, "not a number of its size",
					       v->len);
	if (memchr(v->data, 0, v->len))
		return bad_job_field(err, f, "zero byte in a text", v->len);
	return 0; /* a later version may write longer ones */
}

static int find_all(struct tlv_in *in, struct tlv_value found[FIELDS], struct err *err)
{
	struct tlv_value v = {.id = 0};
	int rc;

	while ((rc = tlv_next(in, &v)) == 1) {
		size_t index = 0;
		const struct field *f = find_field(v.id, &index);

		if (!f)
			continue;
		if (found[index].data)
			return bad_job_field(err, f, "there twice", v.len);
		rc = check_field(f, &v, err);
		if (rc < 0)
			return rc;
		found[index] = v;
	}
	if (rc < 0 && !v.id)
		return err_set(err, -EPROTO, "job record: cut short in a field head");
	if (rc < 0) {
		size_t index = 0;
		const struct field *f = find_field(v.id, &index);

		return err_set(err, -EPROTO, "job record: field %s (%u): cut short",
			       f ? f->name : "unknown", (unsigned)v.id);
	}
	for (size_t i = 0; i < REQUIRED; i++)
		if (!found[i].data)
			return err_set(err, -EPROTO, "job record: field %s: missing",
				       job_fields[i].name);
	return 0;
}

/* Copies a text with '?' for invalid UTF-8 bytes. Returns past its NUL. */
static char *copy_utf8_text(char *dst, const struct tlv_value *v)
{
	if (v->len) /* absent: no data */
		memcpy(dst, v->data, v->len);
	utf8_clean(dst, v->len);
	dst[v->len] = '\0';
	return dst + v->len + 1;
}

int job_decode(const void *data, size_t len, struct job *ret, struct err *err)
{
	struct tlv_value found[FIELDS] = {{.id = 0}};
	struct tlv_in in;
	uint16_t type = 0;
	size_t room = 1;
	struct job j;

	if (len > JOB_RECORD_MAX || tlv_open(&in, data, len, &type) < 0)
		return err_set(err, -EPROTO, "job record: %zu bytes", len);
	if (type != JOB_RECORD_TYPE)
		return err_set(err, -EPROTO, "job record: type %u is not a job",
			       (unsigned)type);
	int rc = find_all(&in, found, err);
	if (rc < 0)
		return rc;
	job_init(&j);
	for (size_t i = 0; i < FIELDS; i++) {
		if (found[i].data && is_text_field(&job_fields[i]))
			room += found[i].len + 1;
		else if (found[i].data)
			set_job_number(&j, &job_fields[i],
				       tlv_get_le(found[i].data, found[i].len));
	}
	char *memory = malloc(room), *next = memory;
	if (!memory)
		return err_set(err, -ENOMEM, "job record: no memory");
	for (size_t i = 0; i < FIELDS; i++) {
		if (!found[i].data || !is_text_field(&job_fields[i]))
			continue;
		*job_text_member(&j, &job_fields[i]) = next;
		next = copy_utf8_text(next, &found[i]);
	}
	j.memory = memory;
	if (!is_complete_job(&j)) {
		job_done(&j);
		return err_set(err, -EPROTO,
			       "job record: cluster, job, submit time, event or time "
			       "of the call is missing");
	}
	*ret = j;
	return 0;
}
