/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as bytes. Encoder and decoder walk the same table of fields, in order of
 * importance: what does not fit into a slot is left out from the end. */
#include "lib/records/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/records/tlv.h"

/* Numbers on the wire: never change or reuse one. Hints start at 256. */
enum field_id {
	F_MANAGER = 1,
	F_FLAGS = 2,
	F_REALTIME = 3,
	F_BOOTTIME = 4,
	F_UNIT = 5,
	F_STEP = 6,
	F_NODE = 7,
	F_RESTARTS = 8,
	F_ARRAY_JOB = 9,
	F_ARRAY_TASK = 10,
	F_UID = 11,
	F_GID = 12,
	F_STEPD_PID = 13,
	F_TASKS = 14,
	F_CPUS = 15,
	F_STEP_CPUS = 16,
	F_MEMORY = 17,
	F_PROFILE = 18,
	F_EXIT_STATUS = 19,
	F_COUNTERS = 20,
	F_GPUS = 21,
	F_GPU_SHARE = 22,
	F_CGROUP = 23,
	F_DEVICE = 24,
	F_FIGURES = 25,
	F_BEGAN = 26,

	F_SLUID = 256,
	F_NAME = 257,
	F_ACCOUNT = 258,
	F_PARTITION = 259,
	F_USER = 260,
	F_HET_JOB = 261,
	F_ENV = 262,
	F_COMMAND = 263,
};

enum field_kind { U8 = TLV_U8, U32 = TLV_U32, U64 = TLV_U64, TEXT = TLV_TEXT };
enum own_kind { COUNTERS = TLV_OTHER, CGROUP, ENV, DEVICE, FIGURES };

#define FIELD(id, kind, member, no_val)                                                \
	TLV_MEMBER(struct record, id, kind, member, no_val)

static const struct tlv_member record_fields[] = {
	/* required: together always less than a slot */
	FIELD(F_MANAGER, U8, manager, false),
	FIELD(F_FLAGS, U32, flags, false), /* always written: gets RECORD_CUT last */
	FIELD(F_REALTIME, U64, realtime_ns, false),
	FIELD(F_BOOTTIME, U64, boottime_ns, false),
	FIELD(F_UNIT, TEXT, unit, false),
	FIELD(F_STEP, U32, step, false), /* always written in STEP_* */
	/* optional */
	FIELD(F_RESTARTS, U32, restarts, false),
	FIELD(F_UID, U32, uid, false),
	FIELD(F_GID, U32, gid, false),
	FIELD(F_EXIT_STATUS, U32, exit_status, false),
	FIELD(F_BEGAN, U64, began_ns, false),
	FIELD(F_COUNTERS, COUNTERS, counters, false),
	FIELD(F_ARRAY_JOB, U32, array_job, true),
	FIELD(F_ARRAY_TASK, U32, array_task, true),
	FIELD(F_STEPD_PID, U32, stepd_pid, false),
	FIELD(F_TASKS, U32, tasks, false),
	FIELD(F_CPUS, U32, cpus, false),
	FIELD(F_STEP_CPUS, U32, step_cpus, false),
	FIELD(F_MEMORY, U64, memory_bytes, false),
	FIELD(F_PROFILE, U32, profile_hz, false),
	FIELD(F_NODE, TEXT, node, false),
	FIELD(F_GPUS, TEXT, gpus, false),
	FIELD(F_GPU_SHARE, TEXT, gpu_share, false),
	FIELD(F_CGROUP, CGROUP, cgroups, false),
	FIELD(F_DEVICE, DEVICE, devices, false),
	FIELD(F_FIGURES, FIGURES, figures, false),
	/* hints */
	FIELD(F_SLUID, TEXT, sluid, false),
	FIELD(F_HET_JOB, U32, het_job, true),
	FIELD(F_NAME, TEXT, name, false),
	FIELD(F_COMMAND, TEXT, command, false),
	FIELD(F_ACCOUNT, TEXT, account, false),
	FIELD(F_PARTITION, TEXT, partition, false),
	FIELD(F_USER, TEXT, user, false),
	FIELD(F_ENV, ENV, env, false),
};

#define FIELDS (sizeof(record_fields) / sizeof(record_fields[0]))
#define REQUIRED 6u /* the first so many of the table */
#define COUNTERS_BYTES (2u + 7u * 8u)

_Static_assert(FIELDS <= 64, "one bit per field");

/* ---- filling a record ------------------------------------------------------------ */

void record_init(struct record *r, enum record_type type, enum record_manager manager)
{
	memset(r, 0, sizeof(*r)); /* with the padding: equal records are equal bytes */
	r->type = (uint8_t)type;
	r->manager = (uint8_t)manager;
	r->array_job = RECORD_NO_VAL;
	r->array_task = RECORD_NO_VAL;
	r->het_job = RECORD_NO_VAL;
}

void record_set(struct record *r, char *dst, size_t dst_size, const char *s)
{
	/* reads no further than needed to decide where to cut */
	if (!tlv_copy_text(dst, dst_size, s ? s : "", s ? strnlen(s, dst_size + 4) : 0))
		r->flags |= RECORD_CUT;
}

static bool add_cgroup(struct record *r, uint32_t controllers, const char *path,
		       size_t len)
{
	for (uint32_t i = 0; i < r->cgroup_count; i++)
		if (strlen(r->cgroups[i].path) == len &&
		    memcmp(r->cgroups[i].path, path, len) == 0) {
			r->cgroups[i].controllers |= controllers;
			return true;
		}
	if (len >= RECORD_CGROUP_MAX || r->cgroup_count >= RECORD_CGROUPS_MAX) {
		r->flags |= RECORD_CUT; /* a truncated path would be another cgroup */
		return false;
	}
	struct record_cgroup *c = &r->cgroups[r->cgroup_count++];
	c->controllers = controllers;
	memcpy(c->path, path, len);
	c->path[len] = '\0';
	return true;
}

bool record_add_cgroup(struct record *r, uint32_t controller, const char *path)
{
	if (path[0] != '/')
		return false;
	return add_cgroup(r, controller, path, strnlen(path, RECORD_CGROUP_MAX));
}

static bool copy_whole(char *dst, size_t size, const char *s, size_t len)
{
	if (len >= size)
		return false;
	memcpy(dst, s, len);
	memset(dst + len, 0, size - len);
	return true;
}

bool record_add_device(struct record *r, const char *uuid, const char *pci,
		       const char *mig, uint16_t share_permille)
{
	struct record_device d = {.share_permille = share_permille};

	uuid = uuid ? uuid : "";
	pci = pci ? pci : "";
	mig = mig ? mig : "";
	if (r->device_count >= RECORD_DEVICES_MAX ||
	    !copy_whole(d.uuid, sizeof(d.uuid), uuid, strlen(uuid)) ||
	    !copy_whole(d.pci, sizeof(d.pci), pci, strlen(pci)) ||
	    !copy_whole(d.mig, sizeof(d.mig), mig, strlen(mig))) {
		r->flags |= RECORD_CUT;
		return false;
	}
	r->devices[r->device_count++] = d;
	return true;
}

bool record_add_figures(struct record *r, uint8_t kind, const char *name, uint8_t known,
			const uint64_t values[RECORD_FIGURES_VALUES])
{
	struct record_figures f = {.kind = kind, .known = known};

	if (r->figures_count >= RECORD_FIGURES_MAX ||
	    !copy_whole(f.name, sizeof(f.name), name, strlen(name))) {
		r->flags |= RECORD_CUT;
		return false;
	}
	memcpy(f.values, values, sizeof(f.values));
	r->figures[r->figures_count++] = f;
	return true;
}

const char *record_cgroup(const struct record *r, uint32_t controller)
{
	for (uint32_t i = 0; i < r->cgroup_count && i < RECORD_CGROUPS_MAX; i++)
		if (r->cgroups[i].controllers & controller)
			return r->cgroups[i].path;
	return NULL;
}

/* ---- encoding -------------------------------------------------------------------- */

static void put_record_counters(struct tlv_out *o, const struct record_counters *c)
{
	const uint64_t values[] = {
		c->cpu_user_ns,   c->cpu_system_ns,  c->memory_peak_bytes,
		c->io_read_bytes, c->io_write_bytes, c->oom_kills,
		c->read_ns,
	};

	if (c->source == COUNTERS_NONE)
		return;
	unsigned char *p = tlv_put(o, F_COUNTERS, COUNTERS_BYTES);
	if (!p)
		return;
	p[0] = c->source;
	p[1] = (unsigned char)(c->has_memory | c->has_io << 1);
	for (size_t i = 0; i < 7; i++)
		tlv_put_le(p + 2 + 8 * i, values[i], 8);
}

static void put_record_cgroups(struct tlv_out *o, const struct record *r)
{
	for (uint32_t i = 0; i < r->cgroup_count && i < RECORD_CGROUPS_MAX; i++) {
		const struct record_cgroup *c = &r->cgroups[i];
		size_t len = strnlen(c->path, sizeof(c->path));
		unsigned char *p = tlv_put(o, F_CGROUP, 4 + len);
		if (!p)
			return;
		tlv_put_le(p, c->controllers, 4);
		memcpy(p + 4, c->path, len);
	}
}

/* u16 share, then UUID, PCI address and MIG instance, each behind the u8 of its length
 */
static void put_record_devices(struct tlv_out *o, const struct record *r)
{
	for (uint32_t i = 0; i < r->device_count && i < RECORD_DEVICES_MAX; i++) {
		const struct record_device *d = &r->devices[i];
		const char *const texts[] = {d->uuid, d->pci, d->mig};
		const size_t lens[] = {strnlen(d->uuid, sizeof(d->uuid) - 1),
				       strnlen(d->pci, sizeof(d->pci) - 1),
				       strnlen(d->mig, sizeof(d->mig) - 1)};
		unsigned char *p =
			tlv_put(o, F_DEVICE, 5 + lens[0] + lens[1] + lens[2]);
		if (!p)
			return;
		tlv_put_le(p, d->share_permille, 2);
		p += 2;
		for (size_t t = 0; t < 3; t++) {
			*p++ = (unsigned char)lens[t];
			memcpy(p, texts[t], lens[t]);
			p += lens[t];
		}
	}
}

/* u8 kind, u8 the values that are there, u8 length of the name, the name, the values */
static void put_record_figures(struct tlv_out *o, const struct record *r)
{
	for (uint32_t i = 0; i < r->figures_count && i < RECORD_FIGURES_MAX; i++) {
		const struct record_figures *f = &r->figures[i];
		size_t name = strnlen(f->name, sizeof(f->name) - 1);
		size_t values = (size_t)__builtin_popcount(f->known);
		unsigned char *p = tlv_put(o, F_FIGURES, 3 + name + 8 * values);
		if (!p)
			return;
		*p++ = f->kind;
		*p++ = f->known;
		*p++ = (unsigned char)name;
		memcpy(p, f->name, name);
		p += name;
		for (size_t v = 0; v < RECORD_FIGURES_VALUES; v++) {
			if (!(f->known >> v & 1))
				continue;
			tlv_put_le(p, f->values[v], 8);
			p += 8;
		}
	}
}

/* u8 length of the name, the name, the value */
static void put_env(struct tlv_out *o, const struct record *r)
{
	for (uint32_t i = 0; i < r->env_count && i < RECORD_ENV_MAX; i++) {
		size_t name = strnlen(r->env[i].name, RECORD_ENV_NAME_MAX);
		size_t value = strnlen(r->env[i].value, RECORD_ENV_VALUE_MAX);
		unsigned char *p = tlv_put(o, F_ENV, 1 + name + value);
		if (!p)
			return;
		p[0] = (unsigned char)name;
		memcpy(p + 1, r->env[i].name, name);
		memcpy(p + 1 + name, r->env[i].value, value);
	}
}

static bool is_step(uint8_t type)
{
	return type == RECORD_STEP_START || type == RECORD_STEP_STOP ||
	       type == RECORD_PART_START;
}

static void put_record_member(struct tlv_out *o, const struct record *r,
			      const struct tlv_member *f)
{
	switch (f->kind) {
	case COUNTERS:
		put_record_counters(o, &r->counters);
		return;
	case CGROUP:
		put_record_cgroups(o, r);
		return;
	case ENV:
		put_env(o, r);
		return;
	case DEVICE:
		put_record_devices(o, r);
		return;
	case FIGURES:
		put_record_figures(o, r);
		return;
	default:
		break;
	}
	tlv_put_member(o, r, f,
		       f->id == F_MANAGER || f->id == F_FLAGS ||
			       (f->id == F_STEP && is_step(r->type)));
}

int record_encode(const struct record *r, void *buf, size_t size)
{
	struct tlv_out o;
	/* flags follow the type and the one byte of the manager */
	const size_t flags_at =
		TLV_HEAD_BYTES + TLV_FIELD_HEAD_BYTES + 1 + TLV_FIELD_HEAD_BYTES;
	int rc = tlv_begin(&o, buf, size, r->type);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < FIELDS; i++) {
		put_record_member(&o, r, &record_fields[i]);
		if (o.full && i < REQUIRED)
			return -EMSGSIZE;
	}
	if (o.full)
		tlv_put_le(o.data + flags_at, r->flags | RECORD_CUT, 4);
	return (int)o.len;
}

/* ---- decoding -------------------------------------------------------------------- */

static int bad_record_field(struct err *err, const struct tlv_member *f,
			    const char *what, size_t len)
{
	return tlv_bad(err, "record", f, what, len);
}

static int get_counters(struct record *r, const struct tlv_member *f,
			const unsigned char *p, size_t len, struct err *err)
{
	struct record_counters *c = &r->counters;
	uint64_t *const values[] = {
		&c->cpu_user_ns,   &c->cpu_system_ns,  &c->memory_peak_bytes,
		&c->io_read_bytes, &c->io_write_bytes, &c->oom_kills,
		&c->read_ns,
	};

	if (len < COUNTERS_BYTES) /* a later version may have more */
		return bad_record_field(err, f, "cut short", len);
	if (p[0] == COUNTERS_NONE || p[0] > COUNTERS_RUSAGE)
		return bad_record_field(err, f, "unknown source", len);
	c->source = p[0];
	c->has_memory = p[1] & 1;
	c->has_io = p[1] >> 1 & 1;
	for (size_t i = 0; i < 7; i++)
		*values[i] = tlv_get_le(p + 2 + 8 * i, 8);
	return 0;
}

static int get_cgroup(struct record *r, const struct tlv_member *f,
		      const unsigned char *p, size_t len, struct err *err)
{
	if (len < 5 || p[4] != '/')
		return bad_record_field(err, f, "not an absolute path", len);
	/* if there is no room it is left out and flagged */
	add_cgroup(r, (uint32_t)tlv_get_le(p, 4), (const char *)p + 4, len - 4);
	return 0;
}

/* A device of which a text is too long for us is left out. */
static int get_device(struct record *r, const struct tlv_member *f,
		      const unsigned char *p, size_t len, struct err *err)
{
	const unsigned char *texts[3], *end = p + len;
	size_t lens[3];

	if (len < 5)
		return bad_record_field(err, f, "cut short", len);
	struct record_device d = {.share_permille = (uint16_t)tlv_get_le(p, 2)};
	p += 2;
	for (size_t t = 0; t < 3; t++) {
		if (p == end || *p > end - p - 1)
			return bad_record_field(err, f, "cut short", len);
		lens[t] = *p++;
		texts[t] = p;
		p += lens[t];
		if (memchr(texts[t], 0, lens[t]))
			return bad_record_field(err, f, "zero byte in a text", len);
	}
	if (r->device_count >= RECORD_DEVICES_MAX ||
	    !copy_whole(d.uuid, sizeof(d.uuid), (const char *)texts[0], lens[0]) ||
	    !copy_whole(d.pci, sizeof(d.pci), (const char *)texts[1], lens[1]) ||
	    !copy_whole(d.mig, sizeof(d.mig), (const char *)texts[2], lens[2])) {
		r->flags |= RECORD_CUT;
		return 0;
	}
	r->devices[r->device_count++] = d;
	return 0;
}

/* A later version may have kinds that we do not know. */
static int get_figures(struct record *r, const struct tlv_member *f,
		       const unsigned char *p, size_t len, struct err *err)
{
	struct record_figures out = {.kind = 0};
	size_t name = len < 3 ? 0 : p[2];

	if (len < 3 || len != 3 + name + 8 * (size_t)__builtin_popcount(p[1]))
		return bad_record_field(err, f, "of another length", len);
	if (memchr(p + 3, 0, name))
		return bad_record_field(err, f, "zero byte in a text", len);
	if (r->figures_count >= RECORD_FIGURES_MAX ||
	    !copy_whole(out.name, sizeof(out.name), (const char *)p + 3, name)) {
		r->flags |= RECORD_CUT;
		return 0;
	}
	out.kind = p[0];
	out.known = p[1];
	p += 3 + name;
	for (size_t v = 0; v < RECORD_FIGURES_VALUES; v++) {
		if (!(out.known >> v & 1))
			continue;
		out.values[v] = tlv_get_le(p, 8);
		p += 8;
	}
	r->figures[r->figures_count++] = out;
	return 0;
}

static int get_env(struct record *r, const struct tlv_member *f, const unsigned char *p,
		   size_t len, struct err *err)
{
	if (!len || !p[0] || p[0] > len - 1)
		return bad_record_field(err, f, "no name", len);
	if (r->env_count >= RECORD_ENV_MAX || p[0] >= RECORD_ENV_NAME_MAX) {
		r->flags |= RECORD_CUT;
		return 0;
	}
	struct record_env *e = &r->env[r->env_count++];
	size_t name = p[0];
	memcpy(e->name, p + 1, name);
	e->name[name] = '\0';
	if (!tlv_copy_text(e->value, sizeof(e->value), (const char *)p + 1 + name,
			   len - 1 - name))
		r->flags |= RECORD_CUT;
	return 0;
}

static int get_record_member(struct record *r, const struct tlv_member *f,
			     const struct tlv_value *v, struct err *err)
{
	/* counters and the head of a cgroup hold zero bytes, text never does */
	bool text = f->kind == ENV || f->kind == CGROUP;
	size_t skip = f->kind == CGROUP ? 4 : 0;
	const unsigned char *p = v->data;
	uint32_t flags = r->flags;
	bool cut = false;

	if (text && v->len > skip && memchr(p + skip, 0, v->len - skip))
		return bad_record_field(err, f, "zero byte in a text", v->len);
	switch (f->kind) {
	case COUNTERS:
		return get_counters(r, f, p, v->len, err);
	case CGROUP:
		return get_cgroup(r, f, p, v->len, err);
	case ENV:
		return get_env(r, f, p, v->len, err);
	case DEVICE:
		return get_device(r, f, p, v->len, err);
	case FIGURES:
		return get_figures(r, f, p, v->len, err);
	default:
		break;
	}
	int rc = tlv_get_member(r, f, v, "record", &cut, err);
	if (cut)
		r->flags |= RECORD_CUT;
	if (f->id == F_FLAGS) /* earlier flags stay set, whatever the order of fields */
		r->flags |= flags;
	return rc;
}

static int check_record_required(const struct record *r, uint64_t seen, struct err *err)
{
	for (size_t i = 0; i < REQUIRED; i++) {
		const struct tlv_member *f = &record_fields[i];
		bool needed = f->id == F_STEP   ? is_step(r->type)
			      : f->id == F_UNIT ? r->type != RECORD_HELLO
						: f->id != F_FLAGS;
		bool there = seen >> i & 1;
		if (there && (f->kind == U64 || f->id == F_MANAGER))
			there = tlv_get_member_number(r, f) != 0;
		if (there && f->kind == TEXT)
			there = *((const char *)r + f->offset) != '\0';
		if (needed && !there)
			return err_set(err, -EPROTO, "record: field %s: missing",
				       f->name);
	}
	if (r->manager > MANAGER_K8S)
		return err_set(err, -EPROTO, "record: field manager: unknown (%u)",
			       r->manager);
	return 0;
}

int record_decode(const void *data, size_t len, struct record *ret, struct err *err)
{
	struct tlv_value v;
	struct tlv_in in;
	struct record r;
	uint64_t seen = 0;
	uint16_t type;
	int rc;

	if (tlv_open(&in, data, len, &type) < 0)
		return err_set(err, -EPROTO, "record: cut short (%zu bytes)", len);
	if (type < RECORD_UNIT_START || type > RECORD_PART_START)
		return err_set(err, -EPROTO, "record: unknown type %u", type);
	record_init(&r, (enum record_type)type, MANAGER_SLURM);
	while ((rc = tlv_next(&in, &v)) != 0) {
		size_t index = 0;
		const struct tlv_member *f =
			tlv_find(record_fields, FIELDS, v.id, &index);
		if (rc < 0 && !v.id)
			return err_set(err, rc, "record: cut short in a field head");
		if (rc < 0)
			return err_set(err, rc, "record: field %s (%u): cut short",
				       f ? f->name : "unknown", v.id);
		if (!f)
			continue;
		bool many = f->kind >= CGROUP;
		if (!many && seen >> index & 1)
			return bad_record_field(err, f, "there twice", v.len);
		seen |= (uint64_t)1 << index;
		rc = get_record_member(&r, f, &v, err);
		if (rc < 0)
			return rc;
	}
	rc = check_record_required(&r, seen, err);
	if (rc < 0)
		return rc;
	*ret = r;
	return 0;
}

/* ---- names ----------------------------------------------------------------------- */

const char *record_type_name(uint8_t type)
{
	static const char *const names[] = {"?",          "unit_start", "unit_stop",
					    "step_start", "step_stop",  "hello",
					    "part_start"};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

const char *record_manager_name(uint8_t manager)
{
	static const char *const names[] = {"?", "slurm", "libvirt", "k8s"};

	return manager < sizeof(names) / sizeof(names[0]) ? names[manager] : "?";
}

bool record_step_is_numbered(uint32_t step)
{
	return step <= 0xfffffff0u; /* slurm.h: SLURM_MAX_NORMAL_STEP_ID */
}

const char *record_step_name(uint32_t step, char buf[16])
{
	switch (step) {
	case RECORD_STEP_BATCH:
		snprintf(buf, 16, "batch");
		break;
	case RECORD_STEP_EXTERN:
		snprintf(buf, 16, "extern");
		break;
	case RECORD_STEP_INTERACTIVE:
		snprintf(buf, 16, "interactive");
		break;
	default:
		snprintf(buf, 16, "%u", step);
	}
	return buf;
}
