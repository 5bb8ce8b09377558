/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power as a function of utilisation, as measured by a site or published by a
 * benchmark. In integers, so that the curve's points are met exactly. */
#include "daemon/power_curve.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

#define DECIMALS 6

static int scan_watts(const char **p, const char *end, uint64_t *ret_uw)
{
	const char *s = *p;
	uint64_t v;
	int rc = scan_u64(&s, end, &v);

	if (rc < 0)
		return rc;
	if (v > POWER_UW_MAX / 1000000)
		return -ERANGE;
	v *= 1000000;
	if (s < end && *s == '.') {
		uint64_t place = 1000000;
		const char *first = ++s;
		for (; s < end && *s >= '0' && *s <= '9'; s++) {
			if (s - first >= DECIMALS)
				return -EINVAL;
			place /= 10;
			v += place * (uint64_t)(*s - '0');
		}
		if (s == first)
			return -EINVAL;
	}
	if (v > POWER_UW_MAX)
		return -ERANGE;
	*ret_uw = v;
	*p = s;
	return 0;
}

int power_parse_watts(const char *text, size_t len, uint64_t *ret_uw)
{
	const char *p = text, *end = text + len;
	uint64_t v;
	int rc = scan_watts(&p, end, &v);

	if (rc < 0)
		return rc;
	if (p != end)
		return -EINVAL;
	*ret_uw = v;
	return 0;
}

/* What is wrong with a point that follows `last` (NULL: it is the first); NULL:
 * nothing */
static const char *find_objection(const struct power_point *p,
				  const struct power_point *last)
{
	if (p->percent > 100)
		return "more than 100 %";
	if (!last)
		return p->percent ? "the first must be of 0 %" : NULL;
	if (p->percent <= last->percent)
		return "percents must rise";
	if (p->uw < last->uw)
		return "watts must not fall";
	return NULL;
}

static int scan_point(const char **p, const char *end, struct power_point *ret)
{
	uint64_t percent;

	if (scan_u64(p, end, &percent) < 0 || *p == end || **p != ':')
		return -EINVAL;
	(*p)++;
	ret->percent = percent > 101 ? 101 : (uint32_t)percent;
	return scan_watts(p, end, &ret->uw);
}

int power_parse_curve(const char *text, size_t len, struct power_curve *ret,
		      struct err *err)
{
	const char *p = text, *end = text + len, *why;
	struct power_curve c = {.count = 0};

	do {
		struct power_point *at = &c.points[c.count];
		if (c.count == POWER_POINTS_MAX)
			return err_set(err, -EINVAL, "more than %u points",
				       POWER_POINTS_MAX);
		if (scan_point(&p, end, at) < 0 || (p < end && *p != ','))
			return err_set(err, -EINVAL,
				       "point %u is not \"percent:watts\"",
				       c.count + 1);
		why = find_objection(at, c.count ? at - 1 : NULL);
		if (why)
			return err_set(err, -EINVAL, "point %u: %s", c.count + 1, why);
		c.count++;
	} while (p++ < end);
	if (c.points[c.count - 1].percent != 100)
		return err_set(err, -EINVAL, "the last point must be of 100 %%");
	if (!c.points[c.count - 1].uw)
		return err_set(err, -EINVAL, "0 watts at 100 %%");
	*ret = c;
	return 0;
}

void power_linear(uint64_t idle_uw, uint64_t max_uw, struct power_curve *ret)
{
	*ret = (struct power_curve){.points = {{0, idle_uw}, {100, max_uw}},
				    .count = 2};
}

static int watts_option(const char *name, const char *text, uint64_t *ret_uw,
			struct err *err)
{
	if (power_parse_watts(text, strlen(text), ret_uw) < 0)
		return err_set(err, -EINVAL,
			       "--energy.model.%s=%s: not a number of watts", name,
			       text);
	return 0;
}

int power_configured(const char *idle_watts, const char *max_watts, const char *curve,
		     struct power_curve *ret, struct err *err)
{
	uint64_t idle_uw = 0, max_uw = 0;

	if (*curve && (*idle_watts || *max_watts))
		return err_set(err, -EINVAL,
			       "--energy.model.curve: has the watts of 0 and 100 %% in "
			       "it, --energy.model.%s does not go with it",
			       *idle_watts ? "idle-watts" : "max-watts");
	if (*curve) {
		struct err why = {""};
		int rc = power_parse_curve(curve, strlen(curve), ret, &why);
		return rc < 0 ? err_set(err, rc, "--energy.model.curve=%s: %s", curve,
					why.text)
			      : 1;
	}
	if (!*idle_watts && !*max_watts)
		return 0;
	if (!*idle_watts || !*max_watts)
		return err_set(err, -EINVAL,
			       "--energy.model.idle-watts and --energy.model.max-watts "
			       "are given together or not at all");
	if (watts_option("idle-watts", idle_watts, &idle_uw, err) < 0 ||
	    watts_option("max-watts", max_watts, &max_uw, err) < 0)
		return -EINVAL;
	if (max_uw < idle_uw || !max_uw)
		return err_set(err, -EINVAL, "--energy.model.max-watts=%s: %s",
			       max_watts,
			       max_uw ? "less than --energy.model.idle-watts" : "0");
	power_linear(idle_uw, max_uw, ret);
	return 1;
}

uint64_t power_at(const struct power_curve *c, uint64_t busy, uint64_t total)
{
	uint32_t i = 1;

	if (busy > total)
		busy = total;
	/* compares busy / total with percent / 100 without dividing */
	unsigned __int128 x = (unsigned __int128)busy * 100;
	while (i + 1 < c->count && x > (unsigned __int128)c->points[i].percent * total)
		i++;
	const struct power_point *a = &c->points[i - 1], *b = &c->points[i];
	unsigned __int128 past = x - (unsigned __int128)a->percent * total;
	return a->uw +
	       (uint64_t)((b->uw - a->uw) * past /
			  ((unsigned __int128)(b->percent - a->percent) * total));
}
