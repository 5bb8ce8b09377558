/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a ring that others write: each slot is copied between two reads of its word,
 * and shown only if nobody changed it meanwhile. */
#include "cli/tool/ringview.h"

#include <string.h>

#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/records/record.h"
#include "lib/records/ring_word.h"

#define LOOKS_MAX 8

static uint64_t load_slot_word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static enum ringview_state state_of(uint64_t word, uint32_t lap)
{
	int32_t ahead = ring_lap_diff(ring_word_lap(word), lap);
	unsigned state = ring_word_state(word);

	if (ahead < 0)
		return RINGVIEW_NONE;
	if (ahead == 1 && state == RING_FREE)
		return ring_word_second(word) == RING_MARK_HOLE ? RINGVIEW_HOLE
								: RINGVIEW_CONSUMED;
	if (ahead > 0)
		return RINGVIEW_GONE;
	return state == RING_PUBLISHED  ? RINGVIEW_PENDING
	       : state == RING_RESERVED ? RINGVIEW_RESERVED
					: RINGVIEW_NONE;
}

static void copy_record(const struct ring_slot *slot, struct ringview *v)
{
	uint32_t crc = slot->crc;

	v->len = slot->len;
	v->damaged = v->len > RING_RECORD_MAX;
	if (v->damaged) {
		v->len = 0;
		return;
	}
	memcpy(v->data, slot->data, v->len);
	v->damaged = crc32c(0, v->data, v->len) != crc;
}

void ringview_look(const struct ring *r, uint64_t pos, struct ringview *ret)
{
	const struct ring_slot *slot = &r->slots[pos & (r->count - 1)];
	uint32_t lap = ring_lap_of(pos, r->count);

	*ret = (struct ringview){.pos = pos, .state = RINGVIEW_GONE};
	for (int i = 0; i < LOOKS_MAX; i++) {
		uint64_t word = load_slot_word(&slot->word);
		ret->state = state_of(word, lap);
		ret->len = 0;
		ret->damaged = false;
		bool taken = ret->state == RINGVIEW_RESERVED ||
			     ret->state == RINGVIEW_PENDING;
		ret->pid = taken ? (uint32_t)ring_word_pid(word) : 0;
		if (ret->state != RINGVIEW_PENDING && ret->state != RINGVIEW_CONSUMED)
			return;
		copy_record(slot, ret);
		/* copy before the second read */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&slot->word, __ATOMIC_RELAXED) == word)
			return;
	}
	ret->state = RINGVIEW_GONE;
	ret->len = 0;
}

void ringview_range(const struct ring *r, uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t head = load_slot_word(&r->header->head),
		 tail = load_slot_word(&r->header->tail);

	/* head may be one behind a reservation whose owner died before moving it */
	*ret_end = tail == head + 1 ? tail : head;
	*ret_first = *ret_end > r->count ? *ret_end - r->count : 0;
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_view_key(struct buf *b, const char *name)
{
	buf_puts(b, ",\"");
	buf_puts(b, name);
	buf_puts(b, "\":");
}

static void put_view_number(struct buf *b, const char *name, uint64_t v)
{
	put_view_key(b, name);
	buf_put_u64(b, v);
}

/* absent: the number's value if it was not set */
static void put_view_known(struct buf *b, const char *name, uint64_t v, uint64_t absent)
{
	if (v != absent)
		put_view_number(b, name, v);
}

static void put_view_text(struct buf *b, const char *name, const char *s)
{
	if (!s[0])
		return;
	put_view_key(b, name);
	buf_put_json(b, s, strlen(s));
}

static void put_flags(struct buf *b, uint32_t flags)
{
	static const char *const names[] = {
		"cut",        "last",        "perf_hardware", "perf_software",
		"perf_cache", "report_text", "report_json",   "gpus_trusted",
		"signalled",  "running",     "millicpus",     "part",
		"gpu_pause",
	};
	bool first = true;

	if (!flags)
		return;
	put_view_key(b, "flags");
	for (unsigned i = 0; i < 32; i++) {
		if (!(flags >> i & 1))
			continue;
		buf_putc(b, first ? '[' : ',');
		first = false;
		if (i < sizeof(names) / sizeof(names[0]))
			buf_put_json(b, names[i], strlen(names[i]));
		else
			buf_printf(b, "\"bit%u\"", i);
	}
	buf_putc(b, ']');
}

static void put_view_counters(struct buf *b, const struct record_counters *c)
{
	static const char *const sources[] = {"none", "cgroup_v2", "cgroup_v1",
					      "rusage"};

	if (c->source == COUNTERS_NONE)
		return;
	put_view_key(b, "counters");
	buf_printf(b, "{\"source\":\"%s\"", c->source < 4 ? sources[c->source] : "?");
	put_view_number(b, "cpu_user_ns", c->cpu_user_ns);
	put_view_number(b, "cpu_system_ns", c->cpu_system_ns);
	if (c->has_memory)
		put_view_number(b, "memory_peak_bytes", c->memory_peak_bytes);
	if (c->has_io) {
		put_view_number(b, "io_read_bytes", c->io_read_bytes);
		put_view_number(b, "io_write_bytes", c->io_write_bytes);
	}
	put_view_number(b, "oom_kills", c->oom_kills);
	put_view_number(b, "read_ns", c->read_ns);
	buf_putc(b, '}');
}

static void put_view_cgroups(struct buf *b, const struct record *r)
{
	static const char *const names[] = {"unified", "cpuacct", "memory",
					    "cpuset",  "freezer", "cpu",
					    "pids",    "devices", "blkio"};

	if (!r->cgroup_count)
		return;
	put_view_key(b, "cgroups");
	buf_putc(b, '{');
	bool first = true;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = record_cgroup(r, 1u << i);
		if (!path)
			continue;
		buf_printf(b, "%s\"%s\":", first ? "" : ",", names[i]);
		buf_put_json(b, path, strlen(path));
		first = false;
	}
	buf_putc(b, '}');
}

static void put_view_devices(struct buf *b, const struct record *r)
{
	if (!r->device_count)
		return;
	put_view_key(b, "devices");
	for (uint32_t i = 0; i < r->device_count; i++) {
		const struct record_device *d = &r->devices[i];
		struct buf one = BUF_INIT;
		put_view_text(&one, "uuid", d->uuid);
		put_view_text(&one, "pci", d->pci);
		put_view_text(&one, "mig", d->mig);
		put_view_known(&one, "share_permille", d->share_permille, 0);
		buf_puts(b, i ? ",{" : "[{");
		if (one.len)
			buf_put(b, one.data + 1, one.len - 1); /* without the comma */
		buf_putc(b, '}');
		buf_done(&one);
	}
	buf_putc(b, ']');
}

/* What the job can forge is kept separate. */
static void put_view_hints(struct buf *b, const struct record *r)
{
	size_t start = b->len;

	put_view_text(b, "sluid", r->sluid);
	put_view_known(b, "het_job", r->het_job, RECORD_NO_VAL);
	put_view_text(b, "name", r->name);
	put_view_text(b, "account", r->account);
	put_view_text(b, "partition", r->partition);
	put_view_text(b, "user", r->user);
	put_view_text(b, "command", r->command);
	for (uint32_t i = 0; i < r->env_count; i++) {
		buf_puts(b, i ? "," : ",\"env\":{");
		buf_put_json(b, r->env[i].name, strlen(r->env[i].name));
		buf_putc(b, ':');
		buf_put_json(b, r->env[i].value, strlen(r->env[i].value));
	}
	if (r->env_count)
		buf_putc(b, '}');
	if (b->len > start && !buf_error(b))
		b->data[start] = '{';
}

static void put_view_record(struct buf *b, const struct record *r)
{
	char step[16];
	struct buf hints = BUF_INIT;

	put_view_text(b, "type", record_type_name(r->type));
	put_view_text(b, "manager", record_manager_name(r->manager));
	put_view_text(b, "unit", r->unit);
	if (r->type == RECORD_STEP_START || r->type == RECORD_STEP_STOP ||
	    r->type == RECORD_PART_START)
		put_view_text(b, "step", record_step_name(r->step, step));
	put_view_number(b, "realtime_ns", r->realtime_ns);
	put_view_number(b, "boottime_ns", r->boottime_ns);
	put_flags(b, r->flags);
	put_view_text(b, "node", r->node);
	put_view_known(b, "restarts", r->restarts, 0);
	put_view_known(b, "array_job", r->array_job, RECORD_NO_VAL);
	put_view_known(b, "array_task", r->array_task, RECORD_NO_VAL);
	put_view_number(b, "uid", r->uid);
	put_view_number(b, "gid", r->gid);
	put_view_known(b, "stepd_pid", r->stepd_pid, 0);
	put_view_known(b, "tasks", r->tasks, 0);
	put_view_known(b, "cpus", r->cpus, 0);
	put_view_known(b, "step_cpus", r->step_cpus, 0);
	put_view_known(b, "memory_bytes", r->memory_bytes, 0);
	put_view_known(b, "profile_hz", r->profile_hz, 0);
	put_view_known(b, "exit_status", r->exit_status, 0);
	put_view_text(b, "gpus", r->gpus);
	put_view_text(b, "gpu_share", r->gpu_share);
	put_view_devices(b, r);
	put_view_cgroups(b, r);
	put_view_counters(b, &r->counters);
	put_view_hints(&hints, r);
	if (hints.len) {
		put_view_key(b, "hints");
		buf_put(b, hints.data, hints.len);
		buf_putc(b, '}');
	}
	buf_done(&hints);
}

void ringview_put_json(struct buf *b, const struct ringview *v)
{
	static const char *const states[] = {
		[RINGVIEW_NONE] = "none",       [RINGVIEW_RESERVED] = "reserved",
		[RINGVIEW_PENDING] = "pending", [RINGVIEW_CONSUMED] = "consumed",
		[RINGVIEW_HOLE] = "hole",       [RINGVIEW_GONE] = "gone",
	};
	struct record r;
	struct err err;

	buf_printf(b, "{\"pos\":%ju,\"state\":\"%s\"", (uintmax_t)v->pos,
		   states[v->state]);
	put_view_known(b, "pid", v->pid, 0);
	if (v->damaged)
		put_view_text(b, "error", "checksum does not match");
	else if (v->state == RINGVIEW_PENDING || v->state == RINGVIEW_CONSUMED) {
		if (record_decode(v->data, v->len, &r, &err) == 0)
			put_view_record(b, &r);
		else
			put_view_text(b, "error", err.text);
	}
	buf_puts(b, "}\n");
}

void ringview_put_state(struct buf *b, const char *path, const struct ring *r,
			uint64_t now_ns)
{
	const struct ring_header *h = r->header;
	uint64_t head = load_slot_word(&h->head), tail = load_slot_word(&h->tail);
	uint64_t beat = load_slot_word(&h->heartbeat_ns);

	buf_puts(b, "{\"path\":");
	buf_put_json(b, path, strlen(path));
	put_view_number(b, "version", RING_VERSION);
	put_view_number(b, "slots", r->count);
	put_view_number(b, "slot_bytes", RING_SLOT_BYTES);
	put_view_number(b, "head", head);
	put_view_number(b, "tail", tail);
	put_view_number(b, "pending", head > tail ? head - tail : 0);
	put_view_number(b, "dropped", load_slot_word(&h->dropped));
	put_view_number(b, "torn", load_slot_word(&h->torn));
	put_view_key(b, "heartbeat_age_seconds");
	buf_put_scaled(b, now_ns > beat ? (now_ns - beat) / NSEC_PER_MSEC : 0, 3);
	put_view_number(b, "pidns", h->pidns);
	put_view_key(b, "created_seconds");
	buf_put_scaled(b, h->created_ns / NSEC_PER_MSEC, 3);
	buf_puts(b, "}\n");
}
