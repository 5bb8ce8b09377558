/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose data the metrics of a selector contain: their families. */
#include "lb/promql/access_metrics.h"

#include <errno.h>
#include <string.h>

#include "lb/promql/re.h"

struct literals {
	access_each_f each;
	void *arg;
};

static int pass_literal(void *arg, const char *s, size_t len)
{
	struct literals *l = arg;

	return l->each(l->arg, (struct str){s, (uint32_t)len});
}

int access_values(const struct promql_matcher *m, access_each_f each, void *arg)
{
	struct literals l = {.each = each, .arg = arg};

	if (m->match == MATCH_EQUAL)
		return each(arg, m->value) ?: 1;
	if (m->match == MATCH_REGEX)
		return re_literals(m->value.p, m->value.len, pass_literal, &l);
	return -EINVAL;
}

static bool metric_fits_pattern(const char *pattern, struct str name)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return name.len >= n - 1 && memcmp(name.p, pattern, n - 1) == 0;
	return str_eq(name, pattern);
}

static const struct access_family *family_of(const struct access_policy *policy,
					     struct str metric)
{
	for (size_t i = 0; i < policy->family_count; i++)
		if (metric_fits_pattern(policy->families[i].metric, metric))
			return &policy->families[i];
	return NULL;
}

static void one_family(struct access_metrics *m, const struct access_family *f)
{
	m->count++;
	if (!f)
		m->known = false;
	if (f && f->operators)
		m->operators = true;
	if (!f || !f->label)
		return;
	m->harmless = false;
	m->differ = m->differ || (m->label && strcmp(m->label, f->label) != 0);
	m->label = f->label;
}

static int one_metric(void *arg, struct str name)
{
	struct access_metrics *m = arg;

	m->rc = steps_take(m->steps, 1 + m->policy->family_count, NULL);
	if (m->rc)
		return m->rc;
	one_family(m, name.len ? family_of(m->policy, name) : NULL);
	return 0;
}

struct access_metrics access_metrics_of(const struct access_policy *policy,
					struct promql *q, const struct promql_node *n)
{
	const struct access_metrics fresh = {.policy = policy,
					     .known = true,
					     .harmless = true,
					     .steps = promql_steps(q)};
	struct access_metrics m = fresh, none = {.policy = policy};
	int rc;

	if (n->name.len) {
		one_metric(&m, n->name);
		return m;
	}
	for (const struct promql_matcher *t = n->matchers; t; t = t->next) {
		if (!str_eq(t->name, "__name__"))
			continue;
		rc = steps_take(m.steps, t->value.len, NULL);
		rc = rc ? rc : access_values(t, one_metric, &m);
		m.rc = rc == -ENOMEM || rc == -E2BIG ? rc : 0;
		if (rc > 0 || m.rc)
			return m;
		m = fresh;
	}
	return none;
}

struct access_metrics access_profiles_of(const struct access_policy *policy,
					 struct str type)
{
	struct access_metrics m = {.policy = policy, .known = true, .harmless = true};

	if (type.len)
		one_metric(&m, type);
	else
		for (size_t i = 0; i < policy->family_count; i++)
			one_family(&m, &policy->families[i]);
	m.known = m.known && m.count;
	return m;
}
