/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ownership cache: answers of the aggregator by user, cluster and unit. */
#include "lb/gate/ownership.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/ownership_impl.h"

/* Precedes the runs of a unit, or the units of a list */
struct head {
	uint64_t boot_ms; /* time of the question */
	int64_t as_of_ms;
};

struct cached {
	struct head head;
	struct ownership_run runs[OWNERSHIP_RUNS_MAX];
};

#define MINUTE_MS 60000
#define LISTS 1024u
#define LISTS_BYTES ((size_t)64 << 20)
#define ROLES 65536u
#define ENTRY_BYTES 400u /* of a unit with few runs, including key and table */

void ownership_key(struct buf *out, enum ownership_kind kind, const char *login,
		   const char *cluster, const uint32_t *uid, bool named)
{
	buf_putc(out, (char)kind);
	buf_put(out, login, strlen(login) + 1);
	buf_put(out, cluster, strlen(cluster) + 1);
	buf_putc(out, named ? 'n' : 'p');
	buf_putc(out, uid ? '1' : '0');
	if (uid)
		buf_put(out, uid, sizeof(*uid));
}

bool ownership_is_id(struct str id)
{
	if (!id.len || id.len > OWNERSHIP_ID_BYTES)
		return false;
	for (uint32_t i = 0; i < id.len; i++) {
		char c = id.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		      (c >= 'A' && c <= 'Z') || (c && strchr("._:+-", c))))
			return false;
	}
	return true;
}

static struct ownership_answer_time age_of(const struct ownership_who *who,
					   const struct head *h)
{
	uint64_t age = who->boot_ms > h->boot_ms ? who->boot_ms - h->boot_ms : 0;

	return (struct ownership_answer_time){
		.age_ms = (int64_t)age, .as_of_ms = h->as_of_ms, .now_ms = who->now_ms};
}

size_t ownership_look(struct ownership_cache *o, const struct ownership_who *who,
		      struct access_claim *claims, size_t count)
{
	auto_buf struct buf key = BUF_INIT;
	size_t prefix, unknown = 0;
	bool ages = false;

	ownership_key(&key, KIND_UNITS, who->login, who->cluster,
		      who->has_uid ? &who->uid : NULL, who->named);
	prefix = key.len;
	for (size_t i = 0; i < count; i++) {
		struct access_claim *c = &claims[i];
		struct cached cached;
		struct ownership_answer_time age;
		size_t len;

		c->answer = ACCESS_NO_ID;
		if (!ownership_is_id(c->id))
			continue;
		buf_truncate(&key, prefix);
		buf_put(&key, c->id.p, c->id.len);
		c->answer = ACCESS_UNASKED;
		if (!buf_error(&key) &&
		    lru_copy(o->units, key.data, key.len, who->boot_ms, &cached,
			     sizeof(cached), &len)) {
			age = age_of(who, &cached.head);
			c->answer =
				ownership_judge(&who->rules, cached.runs,
						(len - sizeof(struct head)) /
							sizeof(struct ownership_run),
						&age, c->from_ms, c->to_ms);
			ages = ages || (c->answer == ACCESS_OWN &&
					ownership_ages(&who->rules, age.age_ms));
		}
		unknown += c->answer == ACCESS_UNASKED;
	}
	atomic_fetch_add_explicit(&o->hits, count - unknown, memory_order_relaxed);
	atomic_fetch_add_explicit(&o->misses, unknown, memory_order_relaxed);
	/* unknown units are asked about now, and these with them or by the next
	 * request */
	if (ages && !unknown)
		ownership_refresh(o, who, claims, count);
	return unknown;
}

bool ownership_is_known(struct ownership_cache *o, const struct ownership_ask *ask,
			struct str id, uint64_t since_ms, uint64_t boot_ms)
{
	auto_buf struct buf key = BUF_INIT;
	struct cached cached;
	size_t len;

	ownership_key(&key, KIND_UNITS, ask->login, ask->cluster,
		      ask->has_uid ? &ask->uid : NULL, ask->named);
	buf_put(&key, id.p, id.len);
	return !buf_error(&key) &&
	       lru_copy(o->units, key.data, key.len, boot_ms, &cached, sizeof(cached),
			&len) &&
	       cached.head.boot_ms >= since_ms;
}

bool ownership_look_role(struct ownership_cache *o, const struct ownership_who *who,
			 enum ownership_role *ret)
{
	auto_buf struct buf key = BUF_INIT;
	unsigned char role;
	size_t len;

	ownership_key(&key, KIND_ROLE, who->login, who->cluster,
		      who->has_uid ? &who->uid : NULL, who->named);
	if (buf_error(&key) ||
	    !lru_copy(o->roles, key.data, key.len, who->boot_ms, &role, 1, &len))
		return false;
	*ret = (enum ownership_role)role;
	return true;
}

/* ---- lists of one's own units ---------------------------------------------------- */

void ownership_round(int64_t *from_ms, int64_t *to_ms)
{
	*from_ms -= ((*from_ms % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
	*to_ms += (MINUTE_MS - *to_ms % MINUTE_MS) % MINUTE_MS;
}

int ownership_pick(const struct ownership_rules *rules,
		   const struct ownership_unit *units, size_t count,
		   const struct ownership_answer_time *t, int64_t from_ms,
		   int64_t to_ms, int64_t around_ms, struct buf *ret, size_t *ret_count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ownership_unit *u = &units[i];
		enum access_answer a =
			ownership_judge(rules, u->runs, u->count, t,
					from_ms - around_ms, to_ms + around_ms);

		if (a == ACCESS_UNASKED)
			return 0;
		if (a != ACCESS_OWN || !ownership_is_id(u->id) ||
		    !ownership_meets(u->runs, u->count, from_ms, to_ms))
			continue;
		buf_put(ret, u->id.p, u->id.len);
		buf_putc(ret, '\0');
		n++;
	}
	*ret_count = n;
	return buf_error(ret) ?: 1;
}

static void list_key(struct buf *out, const struct ownership_who *who, int64_t from_ms,
		     int64_t to_ms, uint32_t most)
{
	ownership_key(out, KIND_LIST, who->login, who->cluster,
		      who->has_uid ? &who->uid : NULL, who->named);
	buf_put(out, &from_ms, sizeof(from_ms));
	buf_put(out, &to_ms, sizeof(to_ms));
	buf_put(out, &most, sizeof(most));
}

/* head, then for each unit: length, number of runs, id, runs */
static void list_bytes(struct buf *out, const struct head *h,
		       const struct ownership_answer *a)
{
	buf_put(out, h, sizeof(*h));
	for (size_t i = 0; i < a->count; i++) {
		const struct ownership_unit *u = &a->units[i];
		uint32_t n[2] = {u->id.len, (uint32_t)u->count};

		buf_put(out, n, sizeof(n));
		buf_put(out, u->id.p, u->id.len);
		buf_put(out, u->runs, u->count * sizeof(*u->runs));
	}
}

static int pick_bytes(const struct ownership_who *who, const struct buf *list,
		      int64_t from_ms, int64_t to_ms, int64_t around_ms,
		      struct buf *ret, size_t *ret_count)
{
	const char *p = list->data + sizeof(struct head), *end = list->data + list->len;
	struct ownership_run runs[OWNERSHIP_RUNS_MAX];
	struct ownership_answer_time age;
	struct head head;
	size_t n = 0;

	memcpy(&head, list->data, sizeof(head));
	age = age_of(who, &head);
	while (p < end) {
		uint32_t lens[2];
		struct ownership_unit u = {.runs = runs};
		size_t one = 0;
		int rc;

		memcpy(lens, p, sizeof(lens));
		u.id = (struct str){p + sizeof(lens), lens[0]};
		u.count = lens[1];
		p += sizeof(lens) + lens[0];
		memcpy(runs, p, u.count * sizeof(*runs));
		p += u.count * sizeof(*runs);
		rc = ownership_pick(&who->rules, &u, 1, &age, from_ms, to_ms, around_ms,
				    ret, &one);
		if (rc <= 0)
			return rc;
		n += one;
	}
	*ret_count = n;
	return 1;
}

int ownership_look_list(struct ownership_cache *o, const struct ownership_who *who,
			int64_t from_ms, int64_t to_ms, int64_t around_ms,
			uint32_t most, struct buf *ret, size_t *ret_count)
{
	auto_buf struct buf key = BUF_INIT, list = BUF_INIT;
	int64_t from = from_ms, to = to_ms;
	int rc = 0;

	ownership_round(&from, &to);
	list_key(&key, who, from, to, most);
	if (!buf_error(&key) &&
	    lru_get(o->lists, key.data, key.len, who->boot_ms, &list))
		rc = pick_bytes(who, &list, from_ms, to_ms, around_ms, ret, ret_count);
	if (rc <= 0)
		buf_reset(ret);
	atomic_fetch_add(rc > 0 ? &o->hits : &o->misses, 1);
	return rc;
}

/* ---- storing --------------------------------------------------------------------- */

static void remember_units(struct ownership_cache *o, const struct ownership_ask *ask,
			   const struct ownership_unit *units, size_t count,
			   const struct head *head, uint64_t until_ms)
{
	auto_buf struct buf key = BUF_INIT;
	size_t prefix;

	ownership_key(&key, KIND_UNITS, ask->login, ask->cluster,
		      ask->has_uid ? &ask->uid : NULL, ask->named);
	prefix = key.len;
	for (size_t i = 0; i < count; i++) {
		const struct ownership_unit *u = &units[i];
		struct cached c = {.head = *head};

		if (!ownership_is_id(u->id))
			continue;
		if (u->count)
			memcpy(c.runs, u->runs, u->count * sizeof(*u->runs));
		buf_truncate(&key, prefix);
		buf_put(&key, u->id.p, u->id.len);
		if (!buf_error(&key))
			lru_put(o->units, key.data, key.len, &c,
				sizeof(c.head) + u->count * sizeof(*u->runs), until_ms);
	}
}

static void remember_list(struct ownership_cache *o, const struct ownership_ask *ask,
			  const struct ownership_answer *a, const struct head *head,
			  const struct ownership_rules *rules)
{
	const struct ownership_who who = {.login = ask->login,
					  .cluster = ask->cluster,
					  .has_uid = ask->has_uid,
					  .named = ask->named,
					  .uid = ask->uid};
	auto_buf struct buf key = BUF_INIT, list = BUF_INIT;
	/* units that are missing may have begun since */
	int64_t hold =
		ask->to_ms > head->as_of_ms ? rules->unknown_ms : rules->ownership_ms;

	list_key(&key, &who, ask->from_ms, ask->to_ms, ask->most);
	list_bytes(&list, head, a);
	if (!buf_error(&key) && !buf_error(&list))
		lru_put(o->lists, key.data, key.len, list.data, list.len,
			head->boot_ms + (uint64_t)hold);
}

void ownership_remember(struct ownership_cache *o, const struct ownership_ask *ask,
			const struct ownership_answer *a, int64_t as_of_ms,
			uint64_t boot_ms, const struct ownership_rules *rules)
{
	const struct head head = {.boot_ms = boot_ms, .as_of_ms = as_of_ms};
	unsigned char role = (unsigned char)a->role;
	auto_buf struct buf key = BUF_INIT;

	uint64_t until_ms = boot_ms + (uint64_t)rules->ownership_ms;

	if (ask->own) {
		remember_list(o, ask, a, &head, rules);
	} else {
		remember_units(o, ask, a->latest, a->latest_count, &head, until_ms);
		remember_units(o, ask, a->units, a->count, &head, until_ms);
	}
	ownership_key(&key, KIND_ROLE, ask->login, ask->cluster,
		      ask->has_uid ? &ask->uid : NULL, ask->named);
	if (!buf_error(&key))
		lru_put(o->roles, key.data, key.len, &role, 1,
			boot_ms + (uint64_t)(a->role == OWNERSHIP_USER
						     ? rules->unknown_ms
						     : rules->ownership_ms));
}

/* ---- life ------------------------------------------------------------------------ */

int ownership_new(const struct ownership_params *params, struct ownership_cache **ret,
		  struct err *err)
{
	struct ownership_cache *o = calloc(1, sizeof(*o));

	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	o->params = *params;
	o->entries = OWNERSHIP_ENTRIES;
	pthread_mutex_init(&o->mutex, NULL);
	if (thread_pool_new(params->threads ? params->threads : 4,
			    params->ask ? NULL : (void (*)(void *))ownership_link_free,
			    &o->pool) ||
	    lru_new(OWNERSHIP_ENTRIES, (size_t)OWNERSHIP_ENTRIES * ENTRY_BYTES,
		    &o->units) ||
	    lru_new(LISTS, LISTS_BYTES, &o->lists) ||
	    lru_new(ROLES, (size_t)ROLES * ENTRY_BYTES, &o->roles)) {
		ownership_free(o);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = o;
	return 0;
}

void ownership_set_site(struct ownership_cache *o, struct site *s, uint32_t entries)
{
	struct site *old;

	entries = entries ? entries : OWNERSHIP_ENTRIES;
	pthread_mutex_lock(&o->mutex);
	old = o->site;
	o->site = s ? site_ref(s) : NULL;
	o->generation++;
	o->entries = entries;
	lru_limit(o->units, entries, (size_t)entries * ENTRY_BYTES);
	lru_clear(o->units);
	lru_clear(o->lists);
	lru_clear(o->roles);
	pthread_mutex_unlock(&o->mutex);
	if (old)
		site_unref(old);
}

int ownership_start(struct ownership_cache *o, struct err *err)
{
	return thread_pool_start(o->pool, err);
}

void ownership_stop(struct ownership_cache *o)
{
	thread_pool_stop(o->pool);
}

void ownership_free(struct ownership_cache *o)
{
	if (!o)
		return;
	thread_pool_free(o->pool);
	lru_free(o->units);
	lru_free(o->lists);
	lru_free(o->roles);
	if (o->site)
		site_unref(o->site);
	pthread_mutex_destroy(&o->mutex);
	free(o);
}
