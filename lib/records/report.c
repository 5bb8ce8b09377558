/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports as bytes. */
#include "lib/records/report.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/tlv.h"

/* Numbers on the wire: never change or reuse one. Hints start at 256 and are numbered
 * as in lib/records/record.c. */
enum field_id {
	F_MANAGER = 1,
	F_FLAGS = 2,
	F_INSTANCE = 3,
	F_CLUSTER = 4,
	F_NODE = 5,
	F_BOOT_ID = 6,
	F_UNIT = 7,
	F_RESTARTS = 8,
	F_UID = 9,
	F_GID = 10,
	F_ARRAY_JOB = 11,
	F_ARRAY_TASK = 12,
	F_CPUS = 13,
	F_MEMORY = 14,
	F_GPU_COUNT = 15,
	F_GPUS = 16,
	F_GPU_SHARE = 17,
	F_STARTED = 18,
	F_ENDED = 19,
	F_END = 20,
	F_T0 = 21,
	F_T1 = 22,
	F_OBSERVED = 23,
	F_USE = 24,
	F_ENERGY = 25,
	F_STEPS_STARTED = 26,
	F_STEP = 27,
	F_STARTED_BOOTTIME = 28,
	F_BEFORE = 29,
	F_COUNTS = 30,
	F_MOUNT = 31,
	F_MILLICPUS = 32,
	F_SIZED = 33,

	F_SLUID = 256,
	F_NAME = 257,
	F_ACCOUNT = 258,
	F_PARTITION = 259,
	F_HET_JOB = 261,
	F_STEP_NAME = 263, /* after the steps */
};

enum own_kind { USE = TLV_OTHER, BEFORE, COUNTS, ENERGY, MOUNT, STEP, STEP_NAME };

#define FIELD(id, kind, member, no_val)                                                \
	TLV_MEMBER(struct report, id, kind, member, no_val)

static const struct tlv_member report_fields[] = {
	/* what every report has */
	FIELD(F_MANAGER, TLV_U8, manager, false),
	FIELD(F_FLAGS, TLV_U32, flags, false),
	FIELD(F_INSTANCE, TLV_U64, instance, false),
	FIELD(F_CLUSTER, TLV_TEXT, cluster, false),
	FIELD(F_NODE, TLV_TEXT, node, false),
	FIELD(F_UNIT, TLV_TEXT, unit, false),
	FIELD(F_STARTED, TLV_U64, started_ns, false),

	FIELD(F_BOOT_ID, TLV_TEXT, boot_id, false),
	FIELD(F_RESTARTS, TLV_U32, restarts, false),
	FIELD(F_UID, TLV_U32, uid, true),
	FIELD(F_GID, TLV_U32, gid, true),
	FIELD(F_ARRAY_JOB, TLV_U32, array_job, true),
	FIELD(F_ARRAY_TASK, TLV_U32, array_task, true),
	FIELD(F_CPUS, TLV_U32, cpus, false),
	FIELD(F_MILLICPUS, TLV_U32, millicpus, false),
	FIELD(F_SIZED, TLV_U64, sized_ns, false),
	FIELD(F_MEMORY, TLV_U64, memory_bytes, false),
	FIELD(F_GPU_COUNT, TLV_U32, gpu_count, false),
	FIELD(F_GPUS, TLV_TEXT, gpus, false),
	FIELD(F_GPU_SHARE, TLV_TEXT, gpu_share, false),
	FIELD(F_STARTED_BOOTTIME, TLV_U64, started_boottime_ns, false),
	FIELD(F_ENDED, TLV_U64, ended_ns, false),
	FIELD(F_END, TLV_U8, end, false),
	FIELD(F_T0, TLV_U64, t0_ns, false),
	FIELD(F_T1, TLV_U64, t1_ns, false),
	FIELD(F_OBSERVED, TLV_U64, observed_ns, false),
	FIELD(F_USE, USE, use, false),
	FIELD(F_BEFORE, BEFORE, before, false),
	FIELD(F_ENERGY, ENERGY, energy, false),
	FIELD(F_COUNTS, COUNTS, counts, false),
	FIELD(F_MOUNT, MOUNT, mounts, false),
	FIELD(F_STEPS_STARTED, TLV_U32, steps_started, false),
	FIELD(F_SLUID, TLV_TEXT, hints.sluid, false),
	FIELD(F_NAME, TLV_TEXT, hints.name, false),
	FIELD(F_ACCOUNT, TLV_TEXT, hints.account, false),
	FIELD(F_PARTITION, TLV_TEXT, hints.partition, false),
	FIELD(F_HET_JOB, TLV_U32, hints.het_job, true),
	FIELD(F_STEP, STEP, steps, false),
	FIELD(F_STEP_NAME, STEP_NAME, steps, false),
};

#define FIELDS (sizeof(report_fields) / sizeof(report_fields[0]))
#define REQUIRED 7u /* fields at the start of the table, without flags */
#define USE_VALUES 12u
#define BEFORE_VALUES 4u
#define ENERGY_HEAD_BYTES 12u
#define STEP_NUMBERS 5u
#define STEP_VALUES 8u
#define STEP_FIXED_BYTES (STEP_NUMBERS * 4u + STEP_VALUES * 8u + 1u)
#define STEP_ENERGY_BYTES 9u
#define STEP_NAME_HEAD_BYTES 5u
#define WHAT "report"

_Static_assert(FIELDS <= 64, "one bit per field");
_Static_assert(offsetof(struct report, steps) +
			       REPORT_STEPS_MAX * sizeof(struct report_step) ==
		       sizeof(struct report),
	       "steps come last");
/* everything except steps at its longest, and every step with all domains; names of
 * that many steps need not fit */
_Static_assert(4096 + REPORT_MOUNTS_MAX * 512 +
			       REPORT_STEPS_MAX *
				       (TLV_FIELD_HEAD_BYTES + STEP_FIXED_BYTES +
					(REPORT_DOMAINS - 1) * STEP_ENERGY_BYTES) <
		       REPORT_BYTES_MAX,
	       "a report always fits");

/* ---- filling a report ------------------------------------------------------------ */

void report_init(struct report *r, enum report_type type, enum record_manager manager)
{
	/* with the padding: equal reports are equal bytes */
	memset(r, 0, offsetof(struct report, steps));
	r->type = (uint8_t)type;
	r->manager = (uint8_t)manager;
	r->uid = RECORD_NO_VAL;
	r->gid = RECORD_NO_VAL;
	r->array_job = RECORD_NO_VAL;
	r->array_task = RECORD_NO_VAL;
	r->hints.het_job = RECORD_NO_VAL;
}

/* Names come from the environment of jobs; databases and JSON want UTF-8. */
static void make_utf8(char *s, size_t size)
{
	utf8_clean(s, strnlen(s, size));
}

void report_set(struct report *r, char *dst, size_t dst_size, const char *s)
{
	if (!tlv_copy_text(dst, dst_size, s ? s : "", s ? strnlen(s, dst_size + 4) : 0))
		r->flags |= REPORT_CUT;
	make_utf8(dst, dst_size);
}

static struct report_energy *find_energy(struct report *r, uint32_t domain,
					 const char *source)
{
	for (uint32_t i = 0; i < r->energy_count; i++) {
		if (r->energy[i].domain == domain &&
		    strcmp(r->energy[i].source, source) == 0)
			return &r->energy[i];
	}
	return NULL;
}

static struct report_energy *new_energy(struct report *r, uint32_t domain,
					const char *source)
{
	if (r->energy_count == REPORT_ENERGIES_MAX)
		return NULL;
	struct report_energy *e = &r->energy[r->energy_count++];
	memset(e, 0, sizeof(*e));
	e->domain = domain;
	report_set(r, e->source, sizeof(e->source), source);
	return e;
}

bool report_add_energy(struct report *r, uint32_t domain, const char *source,
		       uint64_t uj)
{
	struct report_energy *e = find_energy(r, domain, source);

	if (!e)
		e = new_energy(r, domain, source);
	if (!e)
		return false;
	e->uj += uj;
	return true;
}

/* ---- encoding -------------------------------------------------------------------- */

/* Which values are known, then all of them. Nothing if none is known. */
static void put_known_values(struct tlv_out *o, uint16_t id, uint32_t known,
			     const uint64_t *values, size_t n)
{
	unsigned char *p = known ? tlv_put(o, id, 4 + 8 * n) : NULL;

	if (!p)
		return;
	tlv_put_le(p, known, 4);
	for (size_t i = 0; i < n; i++)
		tlv_put_le(p + 4 + 8 * i, values[i], 8);
}

static void put_report_use(struct tlv_out *o, const struct report_use *u)
{
	const uint64_t values[USE_VALUES] = {
		u->cpu_user_ns,          u->cpu_system_ns,     u->cpu_throttled_ns,
		u->memory_average_bytes, u->memory_peak_bytes, u->oom_kills,
		u->io_read_bytes,        u->io_write_bytes,    u->network_rx_bytes,
		u->network_tx_bytes,     u->gpu_busy_ns,       u->gpu_memory_bytes,
	};

	put_known_values(o, F_USE, u->known, values, USE_VALUES);
}

static void put_report_before(struct tlv_out *o, const struct report_before *b)
{
	const uint64_t values[BEFORE_VALUES] = {b->cpu_user_ns, b->cpu_system_ns,
						b->io_read_bytes, b->io_write_bytes};

	put_known_values(o, F_BEFORE, b->known, values, BEFORE_VALUES);
}

static void put_energies(struct tlv_out *o, const struct report *r)
{
	for (uint32_t i = 0; i < r->energy_count && i < REPORT_ENERGIES_MAX; i++) {
		const struct report_energy *e = &r->energy[i];
		size_t len = strnlen(e->source, sizeof(e->source));
		unsigned char *p = tlv_put(o, F_ENERGY, ENERGY_HEAD_BYTES + len);
		if (!p)
			return;
		tlv_put_le(p, e->domain, 4);
		tlv_put_le(p + 4, e->uj, 8);
		memcpy(p + ENERGY_HEAD_BYTES, e->source, len);
	}
}

static void put_report_step(struct tlv_out *o, const struct report_step *s)
{
	const uint32_t numbers[STEP_NUMBERS] = {s->step, s->flags, s->exit_status,
						s->tasks, s->cpus};
	const uint64_t values[STEP_VALUES] = {
		s->started_ns,        s->ended_ns,      s->cpu_user_ns,
		s->cpu_system_ns,     s->io_read_bytes, s->io_write_bytes,
		s->memory_peak_bytes, s->oom_kills,
	};
	uint8_t domains = 0;

	for (uint32_t d = 1; d < REPORT_DOMAINS; d++)
		domains += s->energy_uj[d] != 0;
	unsigned char *p =
		tlv_put(o, F_STEP, STEP_FIXED_BYTES + STEP_ENERGY_BYTES * domains);
	if (!p)
		return;
	for (size_t i = 0; i < STEP_NUMBERS; i++, p += 4)
		tlv_put_le(p, numbers[i], 4);
	for (size_t i = 0; i < STEP_VALUES; i++, p += 8)
		tlv_put_le(p, values[i], 8);
	*p++ = domains;
	for (uint32_t d = 1; d < REPORT_DOMAINS; d++) {
		if (!s->energy_uj[d])
			continue;
		*p++ = (unsigned char)d;
		tlv_put_le(p, s->energy_uj[d], 8);
		p += 8;
	}
}

static void put_report_steps(struct tlv_out *o, const struct report *r)
{
	for (uint32_t i = 0; i < r->step_count && i < REPORT_STEPS_MAX; i++)
		put_report_step(o, &r->steps[i]);
}

/* u32 step, u8 length of the command, the command, the label */
static void put_step_names(struct tlv_out *o, const struct report *r)
{
	for (uint32_t i = 0; i < r->step_count && i < REPORT_STEPS_MAX; i++) {
		const struct report_step *s = &r->steps[i];
		size_t command = strnlen(s->command, sizeof(s->command));
		size_t label = strnlen(s->label, sizeof(s->label));
		if (!command && !label)
			continue;
		unsigned char *p =
			tlv_put(o, F_STEP_NAME, STEP_NAME_HEAD_BYTES + command + label);
		if (!p)
			return;
		tlv_put_le(p, s->step, 4);
		p[4] = (unsigned char)command;
		memcpy(p + STEP_NAME_HEAD_BYTES, s->command, command);
		memcpy(p + STEP_NAME_HEAD_BYTES + command, s->label, label);
	}
}

static void put_report_member(struct tlv_out *o, const struct report *r,
			      const struct tlv_member *f)
{
	switch (f->kind) {
	case USE:
		put_report_use(o, &r->use);
		return;
	case BEFORE:
		put_report_before(o, &r->before);
		return;
	case ENERGY:
		put_energies(o, r);
		return;
	case COUNTS:
		report_counts_put(o, F_COUNTS, &r->counts);
		return;
	case MOUNT:
		report_mounts_put(o, F_MOUNT, r->mounts, r->mount_count);
		return;
	case STEP:
		put_report_steps(o, r);
		return;
	case STEP_NAME:
		put_step_names(o, r);
		return;
	default:
		tlv_put_member(o, r, f, f->id == F_MANAGER || f->id == F_FLAGS);
	}
}

int report_encode(const struct report *r, void *buf, size_t size)
{
	/* flags follow the type and the one byte of the manager */
	const size_t flags_at =
		TLV_HEAD_BYTES + TLV_FIELD_HEAD_BYTES + 1 + TLV_FIELD_HEAD_BYTES;
	struct tlv_out o;
	int rc = tlv_begin(&o, buf, size, r->type);

	if (rc < 0)
		return rc;
	uint32_t cut = r->step_count > REPORT_STEPS_MAX ? REPORT_STEPS_CUT : 0;
	for (size_t i = 0; i < FIELDS; i++) {
		put_report_member(&o, r, &report_fields[i]);
		if (!o.full)
			continue;
		if (report_fields[i].kind < STEP)
			return -EMSGSIZE;
		cut |= report_fields[i].kind == STEP ? REPORT_STEPS_CUT : REPORT_CUT;
		break;
	}
	if (cut)
		tlv_put_le(o.data + flags_at, r->flags | cut, 4);
	return (int)o.len;
}

/* ---- decoding -------------------------------------------------------------------- */

/* Sums over many reports are kept in signed 64 bits. */
static int check_number(const struct tlv_member *f, uint64_t v, struct err *err)
{
	return v > INT64_MAX ? tlv_bad(err, WHAT, f, "number above 2^63 - 1", 8) : 0;
}

static int get_numbers(const struct tlv_member *f, const unsigned char *p,
		       uint64_t *const *values, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		*values[i] = tlv_get_le(p + 8 * i, 8);
		int rc = check_number(f, *values[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int get_known(const struct tlv_member *f, const struct tlv_value *v,
		     uint32_t *ret_known, uint64_t *const *values, size_t n,
		     struct err *err)
{
	if (v->len < 4 + 8 * n) /* a later version may have more */
		return tlv_bad(err, WHAT, f, "cut short", v->len);
	*ret_known = (uint32_t)tlv_get_le(v->data, 4);
	if (!*ret_known)
		return tlv_bad(err, WHAT, f, "nothing is known", v->len);
	return get_numbers(f, v->data + 4, values, n, err);
}

static int get_use(struct report *r, const struct tlv_member *f,
		   const struct tlv_value *v, struct err *err)
{
	struct report_use *u = &r->use;
	uint64_t *const values[USE_VALUES] = {
		&u->cpu_user_ns,          &u->cpu_system_ns,     &u->cpu_throttled_ns,
		&u->memory_average_bytes, &u->memory_peak_bytes, &u->oom_kills,
		&u->io_read_bytes,        &u->io_write_bytes,    &u->network_rx_bytes,
		&u->network_tx_bytes,     &u->gpu_busy_ns,       &u->gpu_memory_bytes,
	};

	return get_known(f, v, &u->known, values, USE_VALUES, err);
}

static int get_before(struct report *r, const struct tlv_member *f,
		      const struct tlv_value *v, struct err *err)
{
	struct report_before *b = &r->before;
	uint64_t *const values[BEFORE_VALUES] = {&b->cpu_user_ns, &b->cpu_system_ns,
						 &b->io_read_bytes, &b->io_write_bytes};

	return get_known(f, v, &b->known, values, BEFORE_VALUES, err);
}

static int get_energy(struct report *r, const struct tlv_member *f,
		      const struct tlv_value *v, struct err *err)
{
	char source[REPORT_SOURCE_MAX];

	if (v->len < ENERGY_HEAD_BYTES)
		return tlv_bad(err, WHAT, f, "cut short", v->len);
	size_t len = v->len - ENERGY_HEAD_BYTES;
	const char *text = (const char *)v->data + ENERGY_HEAD_BYTES;
	if (len && memchr(text, 0, len))
		return tlv_bad(err, WHAT, f, "zero byte in a text", v->len);
	uint32_t domain = (uint32_t)tlv_get_le(v->data, 4);
	uint64_t uj = tlv_get_le(v->data + 4, 8);
	int rc = check_number(f, uj, err);
	if (rc < 0)
		return rc;
	if (!tlv_copy_text(source, sizeof(source), text, len))
		r->flags |= REPORT_CUT;
	make_utf8(source, sizeof(source));
	if (find_energy(r, domain, source))
		return tlv_bad(err, WHAT, f, "there twice", v->len);
	struct report_energy *e = new_energy(r, domain, source);
	if (e)
		e->uj = uj;
	else
		r->flags |= REPORT_CUT;
	return 0;
}

static int get_step(struct report *r, const struct tlv_member *f,
		    const struct tlv_value *v, struct err *err)
{
	const unsigned char *p = v->data;

	if (v->len < STEP_FIXED_BYTES)
		return tlv_bad(err, WHAT, f, "cut short", v->len);
	if (r->step_count == REPORT_STEPS_MAX) {
		r->flags |= REPORT_STEPS_CUT;
		return 0;
	}
	struct report_step *s = &r->steps[r->step_count++];
	uint32_t *const numbers[STEP_NUMBERS] = {&s->step, &s->flags, &s->exit_status,
						 &s->tasks, &s->cpus};
	uint64_t *const values[STEP_VALUES] = {
		&s->started_ns,        &s->ended_ns,      &s->cpu_user_ns,
		&s->cpu_system_ns,     &s->io_read_bytes, &s->io_write_bytes,
		&s->memory_peak_bytes, &s->oom_kills,
	};
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < STEP_NUMBERS; i++, p += 4)
		*numbers[i] = (uint32_t)tlv_get_le(p, 4);
	int rc = get_numbers(f, p, values, STEP_VALUES, err);
	if (rc < 0)
		return rc;
	p += (size_t)8 * STEP_VALUES;
	size_t domains = *p++;
	if (v->len < STEP_FIXED_BYTES + domains * STEP_ENERGY_BYTES)
		return tlv_bad(err, WHAT, f, "cut short in its energy", v->len);
	for (; domains; domains--, p += STEP_ENERGY_BYTES) {
		uint64_t uj = tlv_get_le(p + 1, 8);
		rc = check_number(f, uj, err);
		if (rc < 0)
			return rc;
		if (*p && *p < REPORT_DOMAINS)
			s->energy_uj[*p] = uj;
	}
	return 0;
}

static struct report_step *find_report_step(struct report *r, uint32_t step)
{
	for (uint32_t i = 0; i < r->step_count; i++) {
		if (r->steps[i].step == step)
			return &r->steps[i];
	}
	return NULL;
}

static void get_report_text(struct report *r, char *dst, const unsigned char *p,
			    size_t len)
{
	if (!tlv_copy_text(dst, RECORD_NAME_MAX, (const char *)p, len))
		r->flags |= REPORT_CUT;
	make_utf8(dst, RECORD_NAME_MAX);
}

static int get_step_name(struct report *r, const struct tlv_member *f,
			 const struct tlv_value *v, struct err *err)
{
	const unsigned char *p = v->data;

	if (v->len < STEP_NAME_HEAD_BYTES || p[4] > v->len - STEP_NAME_HEAD_BYTES)
		return tlv_bad(err, WHAT, f, "cut short in its names", v->len);
	size_t command = p[4], label = v->len - STEP_NAME_HEAD_BYTES - command;
	if (memchr(p + STEP_NAME_HEAD_BYTES, 0, command + label))
		return tlv_bad(err, WHAT, f, "zero byte in a text", v->len);
	/* a step that was left out */
	struct report_step *s = find_report_step(r, (uint32_t)tlv_get_le(p, 4));
	if (!s)
		return 0;
	p += STEP_NAME_HEAD_BYTES;
	get_report_text(r, s->command, p, command);
	get_report_text(r, s->label, p + command, label);
	return 0;
}

/* More than a report has are left out. */
static int get_report_mount(struct report *r, const struct tlv_member *f,
			    const struct tlv_value *v, struct err *err)
{
	bool cut = r->mount_count == REPORT_MOUNTS_MAX;
	int rc = cut ? 0
		     : report_mount_get(&r->mounts[r->mount_count++], f, v, WHAT, &cut,
					err);

	if (cut)
		r->flags |= REPORT_CUT;
	return rc;
}

static int get_report_member(struct report *r, const struct tlv_member *f,
			     const struct tlv_value *v, struct err *err)
{
	uint32_t flags = r->flags;
	bool cut = false;

	switch (f->kind) {
	case USE:
		return get_use(r, f, v, err);
	case BEFORE:
		return get_before(r, f, v, err);
	case ENERGY:
		return get_energy(r, f, v, err);
	case COUNTS:
		return report_counts_get(&r->counts, f, v, WHAT, err);
	case MOUNT:
		return get_report_mount(r, f, v, err);
	case STEP:
		return get_step(r, f, v, err);
	case STEP_NAME:
		return get_step_name(r, f, v, err);
	default:
		break;
	}
	int rc = tlv_get_member(r, f, v, WHAT, &cut, err);
	if (rc < 0)
		return rc;
	if (f->kind == TLV_TEXT)
		make_utf8((char *)r + f->offset, f->size);
	if (f->kind == TLV_U64)
		rc = check_number(f, tlv_get_member_number(r, f), err);
	if (f->id == F_FLAGS) /* earlier flags stay set, whatever the order of fields */
		r->flags |= flags;
	if (cut)
		r->flags |= REPORT_CUT;
	return rc;
}

static int refuse_missing_field(struct err *err, const char *name)
{
	return err_set(err, -EPROTO, "report: field %s: missing", name);
}

static int check_window(const struct report *r, struct err *err)
{
	if (r->type == REPORT_START)
		return 0;
	if (!r->t0_ns || !r->t1_ns)
		return refuse_missing_field(err, r->t0_ns ? "t1_ns" : "t0_ns");
	if (r->t0_ns >= r->t1_ns)
		return err_set(err, -EPROTO, "report: field t1_ns: not after t0_ns");
	if (r->observed_ns > r->t1_ns - r->t0_ns)
		return err_set(err, -EPROTO,
			       "report: field observed_ns: longer than t1 - t0");
	if (r->type != REPORT_FINAL)
		return 0;
	if (!r->ended_ns || !r->end)
		return refuse_missing_field(err, r->end ? "ended_ns" : "end");
	return 0;
}

static int check_report_required(const struct report *r, struct err *err)
{
	for (size_t i = 0; i < REQUIRED; i++) {
		if (report_fields[i].id != F_FLAGS &&
		    tlv_is_absent(r, &report_fields[i]))
			return refuse_missing_field(err, report_fields[i].name);
	}
	if (r->manager > MANAGER_K8S)
		return err_set(err, -EPROTO, "report: field manager: unknown (%u)",
			       r->manager);
	return check_window(r, err);
}

int report_decode(const void *data, size_t len, struct report *ret, struct err *err)
{
	struct tlv_value v;
	struct tlv_in in;
	uint64_t seen = 0;
	uint16_t type;
	int rc;

	if (tlv_open(&in, data, len, &type) < 0)
		return err_set(err, -EPROTO, "report: cut short (%zu bytes)", len);
	if (type < REPORT_START || type > REPORT_FINAL)
		return err_set(err, -EPROTO, "report: unknown type %u", type);
	report_init(ret, (enum report_type)type, MANAGER_SLURM);
	ret->manager = 0;
	while ((rc = tlv_next(&in, &v)) != 0) {
		size_t index = 0;
		const struct tlv_member *f =
			tlv_find(report_fields, FIELDS, v.id, &index);
		if (rc < 0 && !v.id)
			return err_set(err, rc, "report: cut short in a field head");
		if (rc < 0)
			return err_set(err, rc, "report: field %s (%u): cut short",
				       f ? f->name : "unknown", v.id);
		if (!f)
			continue;
		bool many = f->kind >= ENERGY && f->kind <= STEP_NAME;
		if (!many && seen >> index & 1)
			return tlv_bad(err, WHAT, f, "there twice", v.len);
		seen |= (uint64_t)1 << index;
		rc = get_report_member(ret, f, &v, err);
		if (rc < 0)
			return rc;
	}
	return check_report_required(ret, err);
}

bool report_equal(const struct report *a, const struct report *b)
{
	if (memcmp(a, b, offsetof(struct report, steps)) != 0 ||
	    a->step_count > REPORT_STEPS_MAX)
		return false;
	return memcmp(a->steps, b->steps, a->step_count * sizeof(a->steps[0])) == 0;
}

/* ---- names ----------------------------------------------------------------------- */

const char *report_type_name(uint8_t type)
{
	switch (type) {
	case REPORT_START:
		return "start";
	case REPORT_INTERVAL:
		return "interval";
	case REPORT_FINAL:
		return "final";
	default:
		return "?";
	}
}

const char *report_end_name(uint8_t end)
{
	static const char *const names[] = {"", "completed", "failed", "oom", "lost"};

	return end < sizeof(names) / sizeof(names[0]) ? names[end] : "?";
}

const char *report_domain_name(uint32_t domain)
{
	static const char *const names[] = {"?",   "package", "dram", "psys",
					    "gpu", "host",    "other"};

	return domain < sizeof(names) / sizeof(names[0]) ? names[domain] : "?";
}
