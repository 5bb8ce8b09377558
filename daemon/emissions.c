/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This node's emission factors: tables read at start, what the courier sends, and the
 * choice between them. */
#include "daemon/emissions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

#define TABLE_MAX ((size_t)4 << 20)
#define PROVIDERS 6
#define LOOK_S 10u /* so that a message of 28 KiB is not copied at each tick */

struct emissions {
	const struct options *options;
	struct emission_set sets[PROVIDERS]; /* by index into emission_providers */
	int health[PROVIDERS];
	/* of emissions_tick() */
	uint64_t looked_s;
	bool has_now;
	struct emissions_now now;
};

/* The most current and most local come first. */
static const char *const preferred[] = {"file", "emaps", "rte", "wt", "owid", "global"};

static bool is_listed_text(const struct conf_list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], text) == 0)
			return true;
	}
	return false;
}

bool emissions_enabled(const struct options *o, size_t provider)
{
	return !o->emissions_providers.count ||
	       is_listed_text(&o->emissions_providers,
			      emission_providers[provider].name);
}

bool emissions_wanted_zone(const struct emissions *e, const char *zone)
{
	const struct conf_list *l = &e->options->emissions_zones;

	return !l->count || is_listed_text(l, zone);
}

static int load_owid(const struct options *o, struct emission_set *ret, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;

	if (!*o->emissions_owid_file)
		return emission_owid(ret, err);
	int rc =
		fs_read_buf_at(AT_FDCWD, o->emissions_owid_file, TABLE_MAX, &text, err);
	if (rc < 0)
		return rc;
	rc = emission_owid_parse(text.data ? text.data : "", text.len, ret, err);
	return rc < 0 ? err_prefix(err, rc, "%s", o->emissions_owid_file) : 0;
}

int emissions_new(const struct options *o, struct emissions **ret, struct err *err)
{
	_Static_assert(PROVIDERS >= sizeof(preferred) / sizeof(preferred[0]),
		       "each has a set");
	struct emissions *e = calloc(1, sizeof(*e));

	if (!e || emission_providers_count > PROVIDERS) {
		free(e);
		return err_set(err, -ENOMEM, "out of memory");
	}
	e->options = o;
	if (err)
		err->text[0] = '\0';
	for (size_t i = 0; i < emission_providers_count; i++) {
		const char *name = emission_providers[i].name;
		struct err why = {""};
		int rc = 0;
		e->health[i] = -EINPROGRESS;
		if (!emissions_enabled(o, i))
			continue;
		if (strcmp(name, "owid") == 0)
			rc = load_owid(o, &e->sets[i], &why);
		else if (strcmp(name, "global") == 0)
			rc = emission_global(&e->sets[i], &why);
		if (rc < 0) {
			emission_set_done(&e->sets[i]);
			(void)err_set(err, rc, "%s: %s", name, why.text);
		}
	}
	*ret = e;
	return 0;
}

void emissions_free(struct emissions *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < PROVIDERS; i++)
		emission_set_done(&e->sets[i]);
	free(e);
}

int emissions_take(struct emissions *e, size_t provider, struct emission_set *s,
		   struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->count && rc == 0; i++) {
		const struct emission_factor *f = &s->items[i];
		rc = emission_set_put(&e->sets[provider], f->zone, f->country,
				      (double)f->mg_per_kwh / 1000.0, f->time_s, err);
	}
	emission_set_done(s);
	return rc;
}

void emissions_set_health(struct emissions *e, size_t provider, int rc)
{
	e->health[provider] = rc;
}

int emissions_health(const struct emissions *e, size_t provider)
{
	return e->health[provider];
}

const struct emission_set *emissions_of(const struct emissions *e, size_t provider)
{
	return &e->sets[provider];
}

bool emissions_is_stale(const struct emissions *e, size_t provider,
			const struct emission_factor *f, uint64_t now_s)
{
	return emission_providers[provider].fetched &&
	       now_s > f->time_s + e->options->emissions_max_age_ms / 1000;
}

static const struct emission_factor *find_fresh_factor(const struct emissions *e,
						       size_t provider,
						       const char *zone, uint64_t now_s)
{
	const struct emission_factor *f = emission_set_find(&e->sets[provider], zone);

	return f && !emissions_is_stale(e, provider, f, now_s) ? f : NULL;
}

/* One provider's factor for this node; asked: it was named in --emissions.prefer. */
static const struct emission_factor *
find_node_factor(const struct emissions *e, size_t provider, bool asked, uint64_t now_s)
{
	const struct conf_list *zones = &e->options->emissions_zones;
	const struct emission_set *s = &e->sets[provider];

	if (strcmp(emission_providers[provider].name, "global") == 0)
		return find_fresh_factor(e, provider, "ZZ", now_s);
	for (size_t i = 0; i < zones->count; i++) {
		const struct emission_factor *f =
			find_fresh_factor(e, provider, zones->items[i], now_s);
		if (f)
			return f;
	}
	if (asked && !zones->count && s->count == 1)
		return find_fresh_factor(e, provider, s->items[0].zone, now_s);
	return NULL;
}

int emissions_current(const struct emissions *e, uint64_t now_s,
		      struct emissions_now *ret)
{
	const struct conf_list *l = &e->options->emissions_prefer;
	size_t n = l->count ? l->count : sizeof(preferred) / sizeof(preferred[0]);

	for (size_t i = 0; i < n; i++) {
		int p = emission_provider_find(l->count ? l->items[i] : preferred[i]);
		if (p < 0)
			continue;
		const struct emission_factor *f =
			find_node_factor(e, (size_t)p, l->count > 0, now_s);
		if (!f)
			continue;
		ret->mg_per_kwh = f->mg_per_kwh;
		ret->provider = emission_providers[p].name;
		memcpy(ret->zone, f->zone, sizeof(ret->zone));
		return 0;
	}
	return -ENODATA;
}

const struct emissions_now *emissions_tick(struct emissions *e, struct child_link *link,
					   uint64_t now_s)
{
	/* the wall clock may have been set back */
	if (!e->looked_s || now_s < e->looked_s || now_s >= e->looked_s + LOOK_S) {
		emissions_refresh(e, link);
		e->has_now = emissions_current(e, now_s, &e->now) == 0;
		e->looked_s = now_s;
	}
	return e->has_now ? &e->now : NULL;
}
