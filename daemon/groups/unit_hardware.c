/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_hardware.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/groups/step_groups.h"
#include "daemon/options.h"
#include "daemon/perf_kinds.h"
#include "daemon/units.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/records/hardware_refusal.h"
#include "lib/records/ring.h"

_Static_assert(sizeof(struct hardware_counts) ==
		       COUNTS_WORDS * sizeof(unsigned long long),
	       "one stripe");

struct hardware_unit {
	uint64_t serial; /* unit_serial() that it belongs to */
	uint64_t values[HARDWARE_EVENTS];
};

struct unit_hardware {
	const struct env *env;
	struct unit_counts *counts;
	struct hardware_control *control;
	int leaders;
	uint32_t groups, capacity;
	struct hardware_unit *units;
	/* [unit][group] of COUNTS_WORDS: what values has, and what the kernel has now
	 */
	unsigned long long *seen, *now; /* now: of one update, else 0 */
	uint32_t counted, ran;          /* mask of events, of all units so far */
	uint64_t asked_ns;              /* when a unit last asked */
	uint32_t ready;                 /* enum ring_armed */
	unsigned generation;
	struct log_repeat arm_log;
};

/* ---- what the opener hands over -------------------------------------------------- */

int hardware_slots_open(struct hardware_slots *s, struct opened_part *part,
			struct err *err)
{
	*s = (struct hardware_slots){.leaders = -1};
	int rc = opened_part_take(part, s->counts.fds, HARDWARE_FDS, err);
	if (rc < 0)
		return rc;
	s->counts.fd_count = HARDWARE_FDS;
	s->counts.slots = part->count;
	s->counts.stripes = part->detail[HARDWARE_DETAIL_STRIPES];
	s->counts.kinds = part->detail[HARDWARE_DETAIL_GROUPS];
	s->leaders = s->counts.fds[HARDWARE_FD_LEADERS];
	int control = s->counts.fds[HARDWARE_FD_CONTROL];
	if (!s->counts.kinds || s->counts.kinds > HARDWARE_GROUPS_MAX) {
		rc = err_set(err, -EPROTO, "%u groups", s->counts.kinds);
		hardware_slots_close(s);
		return rc;
	}
	rc = slot_counts_open(&s->counts, err);
	if (rc < 0)
		return rc;
	void *map = mmap(NULL, sizeof(*s->control), PROT_READ | PROT_WRITE, MAP_SHARED,
			 control, 0);
	if (map == MAP_FAILED) {
		rc = err_set(err, -errno, "map the events: %s", strerror(errno));
		hardware_slots_close(s);
		return rc;
	}
	s->control = map;
	return 0;
}

void hardware_slots_close(struct hardware_slots *s)
{
	if (s->control)
		munmap(s->control, sizeof(*s->control));
	slot_counts_close(&s->counts);
	*s = (struct hardware_slots){.leaders = -1};
}

static uint32_t opened_events(const struct hardware_control *c)
{
	uint32_t mask = 0;

	for (uint32_t g = 0; g < c->groups && g < HARDWARE_GROUPS_MAX; g++)
		mask |= c->group_events[g];
	return mask;
}

static void put_event_names(struct buf *out, uint32_t events)
{
	const char *between = "";

	for (uint32_t e = 0; e < HARDWARE_EVENTS; e++) {
		if (!(events & 1u << e))
			continue;
		if (e >= HARDWARE_RAW)
			buf_printf(out, "%sraw event %u", between,
				   e - HARDWARE_RAW + 1);
		else
			buf_printf(out, "%s%s", between, hardware_kinds[e].name);
		between = ", ";
	}
}

void hardware_slots_text(const struct hardware_slots *s, struct buf *out)
{
	uint32_t left = 0;

	put_event_names(out, opened_events(s->control));
	for (uint32_t e = 0; e < HARDWARE_EVENTS; e++)
		left |= s->control->refused[e] ? 1u << e : 0;
	for (uint32_t first = 0; first < HARDWARE_EVENTS; first++) {
		int why = s->control->refused[first];
		uint32_t same = 0;
		if (!(left & 1u << first))
			continue;
		for (uint32_t e = first; e < HARDWARE_EVENTS; e++)
			same |= s->control->refused[e] == why ? 1u << e : 0;
		buf_puts(out, "; not ");
		put_event_names(out, same);
		buf_printf(out, " (%s)", hardware_refusal(why));
		left &= ~same;
	}
}

/* ---- arming ---------------------------------------------------------------------- */

/* The next message's group, and its descriptors. -EAGAIN, -EPIPE: there is none. */
static int look_at_leaders(int leaders, uint32_t *ret_group,
			   int fds[HARDWARE_LEADERS_MAX], size_t *ret_count)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(HARDWARE_LEADERS_MAX * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = ret_group, .iov_len = sizeof(*ret_group)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(leaders, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_count = 0;
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*ret_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *ret_count * sizeof(int));
	}
	if (n == sizeof(*ret_group) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	while (*ret_count)
		close(fds[--*ret_count]);
	return -EPROTO;
}

/* Enables or disables the events of these groups on all CPUs. */
static int switch_events(int leaders, uint32_t groups, bool enable)
{
	const int from = 0;
	int rc = 0, failed = 0;

	if (setsockopt(leaders, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
		return -errno;
	while (rc == 0) {
		int fds[HARDWARE_LEADERS_MAX];
		uint32_t group;
		size_t count;
		rc = look_at_leaders(leaders, &group, fds, &count);
		bool meant = rc == 0 && group < 32 && (groups & 1u << group);
		for (size_t i = 0; i < count; i++) {
			if (meant && ioctl(fds[i],
					   enable ? PERF_EVENT_IOC_ENABLE
						  : PERF_EVENT_IOC_DISABLE,
					   0) < 0)
				failed = -errno;
			close(fds[i]);
		}
	}
	return rc == -EAGAIN || rc == -EPIPE ? failed : rc;
}

static uint32_t groups_of(const struct hardware_control *c, uint32_t groups,
			  uint32_t events)
{
	uint32_t mask = 0;

	for (uint32_t g = 0; g < groups; g++) {
		if (c->group_events[g] & events)
			mask |= 1u << g;
	}
	return mask;
}

uint32_t unit_hardware_asked(const struct options *o, const struct unit *unit)
{
	uint32_t mask = 0;

	if ((o->perf_hardware && !o->perf_env_vars.count) ||
	    (unit && (unit->flags & RECORD_PERF_HW)))
		mask |= HARDWARE_GENERAL_MASK | HARDWARE_RAW_MASK;
	if ((o->perf_cache && !o->perf_env_vars.count) ||
	    (unit && (unit->flags & RECORD_PERF_CACHE)))
		mask |= HARDWARE_CACHE_MASK;
	return mask & (hardware_kinds_opened(o) | HARDWARE_RAW_MASK);
}

static uint32_t wanted_events(const struct unit_hardware *u)
{
	const struct env *env = u->env;
	uint32_t mask = unit_hardware_asked(env->options, NULL);

	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1)) {
		const struct unit *unit = units_get(env->units, i);
		if (unit->state == UNIT_RUNNING)
			mask |= unit_hardware_asked(env->options, unit);
	}
	return mask;
}

static void arm_groups(struct unit_hardware *u, uint32_t groups)
{
	struct hardware_control *c = u->control;
	uint32_t before = c->armed ? c->armed_groups : 0;
	int rc = 0;

	if (groups & ~before)
		rc = switch_events(u->leaders, groups & ~before, true);
	__atomic_store_n(&c->armed_groups, groups, __ATOMIC_RELEASE);
	if (!groups)
		__atomic_store_n(&c->armed, 0, __ATOMIC_RELEASE);
	else if (!c->armed)
		__atomic_store_n(&c->armed, ++u->generation ? u->generation : 1,
				 __ATOMIC_RELEASE);
	if (before & ~groups) {
		int off = switch_events(u->leaders, before & ~groups, false);
		rc = rc ? rc : off;
	}
	if (rc < 0 && log_repeat_due(&u->arm_log, u->env->boottime_ns()))
		log_warn("perf: enable or disable the hardware events: %s: some CPUs' "
			 "may be missing",
			 strerror(-rc));
}

/* Those of which all groups are armed, and those of which there is none. */
static uint32_t ready_kinds(const struct unit_hardware *u, uint32_t armed)
{
	uint32_t general = groups_of(u->control, u->groups,
				     HARDWARE_GENERAL_MASK | HARDWARE_RAW_MASK);
	uint32_t cache = groups_of(u->control, u->groups, HARDWARE_CACHE_MASK);

	return ((general & ~armed) ? 0 : RING_ARMED_HARDWARE) |
	       ((cache & ~armed) ? 0 : RING_ARMED_CACHE);
}

void unit_hardware_tick(struct unit_hardware *u, uint64_t now_ns)
{
	uint32_t before = u->control->armed ? u->control->armed_groups : 0;
	uint32_t wanted = groups_of(u->control, u->groups, wanted_events(u));
	uint32_t groups = wanted;

	if ((groups & before) == before)
		u->asked_ns = now_ns;
	else if (now_ns < u->asked_ns + HARDWARE_IDLE_MS * NSEC_PER_MSEC)
		groups |= before;
	if (groups != before)
		arm_groups(u, groups);
	if (now_ns + HARDWARE_LEAVE_MS * NSEC_PER_MSEC <
	    u->asked_ns + HARDWARE_IDLE_MS * NSEC_PER_MSEC)
		wanted |= groups;
	u->ready = ready_kinds(u, wanted);
}

uint32_t unit_hardware_ready(const struct unit_hardware *u)
{
	return u->ready;
}

bool unit_hardware_armed(const struct unit_hardware *u)
{
	return u->control->armed;
}

/* ---- what units have ------------------------------------------------------------- */

static size_t unit_words_of(const struct unit_hardware *u)
{
	return (size_t)u->groups * COUNTS_WORDS;
}

int unit_hardware_new(const struct env *env, struct hardware_slots *slots,
		      struct unit_hardware **ret, struct err *err)
{
	struct unit_hardware *u = calloc(1, sizeof(*u));

	if (!u) {
		hardware_slots_close(slots);
		return err_set(err, -ENOMEM, "out of memory");
	}
	u->env = env;
	u->control = slots->control;
	u->leaders = slots->leaders;
	u->groups = slots->counts.kinds;
	u->generation = u->control->armed; /* kept over a restart */
	u->capacity = units_capacity(env->units);
	u->units = calloc(u->capacity, sizeof(*u->units));
	u->seen = calloc(u->capacity, unit_words_of(u) * sizeof(*u->seen));
	u->now = calloc(u->capacity, unit_words_of(u) * sizeof(*u->now));
	int rc = unit_counts_new(env->units, &slots->counts, &u->counts, err);
	slots->control = NULL;
	if (!rc && (!u->units || !u->seen || !u->now))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		unit_hardware_free(u);
		return rc;
	}
	*ret = u;
	return 0;
}

void unit_hardware_free(struct unit_hardware *u)
{
	if (!u)
		return;
	unit_counts_free(u->counts);
	munmap(u->control, sizeof(*u->control));
	free(u->units);
	free(u->seen);
	free(u->now);
	free(u);
}

void unit_hardware_end_slot(struct unit_hardware *u, uint32_t slot, uint32_t unit)
{
	unit_counts_end_slot(u->counts, slot, unit);
}

static uint64_t scale_up(uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
	return (uint64_t)((unsigned __int128)value * enabled_ns / running_ns);
}

/* Adds what has come since the last time, scaled by that time's share of the counter:
 * a sum of such parts never falls, unlike one that is scaled as a whole. A time without
 * a counter is left for the next one. */
static void update_group(struct unit_hardware *u, struct hardware_unit *h,
			 uint32_t group, const struct hardware_counts *now,
			 struct hardware_counts *seen)
{
	uint64_t running_ns = now->running_ns - seen->running_ns;
	uint32_t member = 0;

	if (!running_ns)
		return;
	for (uint32_t e = 0; e < HARDWARE_EVENTS && member < HARDWARE_MEMBERS; e++) {
		if (!(u->control->group_events[group] & 1u << e))
			continue;
		uint64_t more = now->values[member] - seen->values[member];
		h->values[e] +=
			scale_up(more, now->enabled_ns - seen->enabled_ns, running_ns);
		u->ran |= 1u << e;
		if (more)
			u->counted |= 1u << e;
		member++;
	}
	*seen = *now;
}

static void update_unit(struct unit_hardware *u, uint32_t unit)
{
	struct hardware_unit *h = &u->units[unit];
	unsigned long long *now = &u->now[unit * unit_words_of(u)];
	unsigned long long *seen = &u->seen[unit * unit_words_of(u)];

	unit_counts_add_ended(u->counts, unit, now);
	if (h->serial != unit_serial(u->env->units, unit)) {
		*h = (struct hardware_unit){.serial = unit_serial(u->env->units, unit)};
		memset(seen, 0, unit_words_of(u) * sizeof(*seen));
	}
	for (uint32_t g = 0; g < u->groups; g++) {
		struct hardware_counts c, s;
		memcpy(&c, now + g * COUNTS_WORDS, sizeof(c));
		memcpy(&s, seen + g * COUNTS_WORDS, sizeof(s));
		update_group(u, h, g, &c, &s);
		memcpy(seen + g * COUNTS_WORDS, &s, sizeof(s));
	}
	memset(now, 0, unit_words_of(u) * sizeof(*now));
}

void unit_hardware_update(struct unit_hardware *u)
{
	const struct env *env = u->env;
	uint32_t unit;

	for (uint32_t slot = 0;
	     (slot = step_groups_next(env->step_groups, slot, &unit)) != UINT32_MAX;
	     slot++)
		unit_counts_add_slot(u->counts, slot, &u->now[unit * unit_words_of(u)]);
	for (uint32_t i = units_next(env->units, 0); i != UNITS_NONE;
	     i = units_next(env->units, i + 1))
		update_unit(u, i);
}

void unit_hardware_total(const struct unit_hardware *u, uint32_t unit,
			 struct hardware_total *ret)
{
	*ret = (struct hardware_total){.events = 0};
	if (unit >= u->capacity ||
	    u->units[unit].serial != unit_serial(u->env->units, unit))
		return;
	for (uint32_t g = 0; g < u->groups; g++) {
		struct hardware_counts seen;
		memcpy(&seen, &u->seen[unit * unit_words_of(u) + g * COUNTS_WORDS],
		       sizeof(seen));
		for (uint32_t e = 0; e < HARDWARE_EVENTS && seen.running_ns; e++) {
			if (!(u->control->group_events[g] & 1u << e))
				continue;
			ret->enabled_ns[e] = seen.enabled_ns;
			ret->running_ns[e] = seen.running_ns;
			ret->values[e] = u->units[unit].values[e];
			ret->events |= 1u << e;
		}
	}
	ret->ran = ret->events;
	ret->events &= u->counted;
}

void unit_hardware_slot(const struct unit_hardware *u, uint32_t slot,
			struct hardware_total *ret)
{
	unsigned long long words[HARDWARE_GROUPS_MAX * COUNTS_WORDS] = {0};

	*ret = (struct hardware_total){.events = 0};
	unit_counts_add_slot(u->counts, slot, words);
	for (uint32_t g = 0; g < u->groups; g++) {
		struct hardware_counts c;
		memcpy(&c, words + (size_t)g * COUNTS_WORDS, sizeof(c));
		for (uint32_t e = 0, member = 0;
		     e < HARDWARE_EVENTS && member < HARDWARE_MEMBERS && c.running_ns;
		     e++) {
			if (!(u->control->group_events[g] & 1u << e))
				continue;
			ret->values[e] = scale_up(c.values[member++], c.enabled_ns,
						  c.running_ns);
			ret->enabled_ns[e] = c.enabled_ns;
			ret->running_ns[e] = c.running_ns;
			ret->events |= 1u << e;
		}
	}
	ret->ran = ret->events;
	ret->events &= u->counted;
}

enum hardware_state unit_hardware_state(const struct unit_hardware *u, uint32_t event)
{
	if (u->control->refused[event])
		return HARDWARE_REFUSED;
	if (!(opened_events(u->control) & 1u << event))
		return HARDWARE_NOT_ASKED;
	return (u->ran & ~u->counted) & 1u << event ? HARDWARE_SILENT : HARDWARE_COUNTS;
}
