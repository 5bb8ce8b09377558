/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option values and plugstack.conf arguments. A user can forge the variables that carry
 * options into slurmstepd, so all parsers are total and bounded, and quoted text is
 * made printable first: it goes to slurmd's log. */
#include "lib/plugin/spank_options.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"
#include "lib/records/ring.h"

struct spank_word {
	const char *text;
	size_t len;
};

static bool spank_word_is(struct spank_word w, const char *s)
{
	return strlen(s) == w.len && memcmp(w.text, s, w.len) == 0;
}

/* The next comma-separated word; words may be empty. */
static struct spank_word word_next(const char **p)
{
	struct spank_word w = {*p, strcspn(*p, ",")};
	*p += w.len;
	return w;
}

struct quoted {
	char text[40];
};

static struct quoted quote_value(const char *s, size_t len)
{
	struct quoted q;
	size_t room = sizeof(q.text) - 1;
	size_t n = len < room ? len : room;
	memcpy(q.text, s, n);
	for (size_t i = 0; i < n; i++)
		if (q.text[i] <= ' ' || q.text[i] >= 0x7f)
			q.text[i] = '?';
	if (n < len)
		memcpy(q.text + n - 3, "...", 3);
	q.text[n] = '\0';
	return q;
}

void policy_init(struct policy *p)
{
	*p = (struct policy){.perf = true, .profile = true, .report = true};
	p->profile_max_hz = PROFILE_HZ_MAX;
	memcpy(p->ring, RING_PATH_DEFAULT, sizeof(RING_PATH_DEFAULT));
}

static bool env_name_ok(struct spank_word w)
{
	if (w.len == 0 || w.len >= RECORD_ENV_NAME_MAX)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		char c = w.text[i];
		bool letter =
			(c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
		if (!letter && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return true;
}

static int apply_env(struct policy *p, const char *names, struct err *err)
{
	const char *at = names;
	for (;;) {
		struct spank_word w = word_next(&at);
		if (!env_name_ok(w))
			return err_set(
				err, -EINVAL,
				"env: \"%s\" is not a name of at most %d characters",
				quote_value(w.text, w.len).text,
				RECORD_ENV_NAME_MAX - 1);
		if (p->env_count == RECORD_ENV_MAX)
			return err_set(err, -EINVAL, "env: more than %d names",
				       RECORD_ENV_MAX);
		memcpy(p->env[p->env_count], w.text, w.len);
		p->env[p->env_count++][w.len] = '\0';
		if (*at++ != ',')
			return 0;
	}
}

static int apply_path(const char *name, char to[RING_PATH_MAX], const char *path,
		      struct err *err)
{
	size_t len = strlen(path);
	if (path[0] != '/' || len >= RING_PATH_MAX)
		return err_set(err, -EINVAL,
			       "%s: \"%s\" is not an absolute path of at most %d bytes",
			       name, quote_value(path, len).text, RING_PATH_MAX - 1);
	memcpy(to, path, len + 1);
	return 0;
}

static int apply_ring(struct policy *p, const char *path, struct err *err)
{
	return apply_path("ring", p->ring, path, err);
}

static int apply_energy(struct policy *p, const char *path, struct err *err)
{
	return apply_path("energy", p->energy, path, err);
}

/* allow or deny, or -EINVAL */
static int allow_or_deny(const char *value, bool *ret)
{
	bool allow = strcmp(value, "allow") == 0;
	if (!allow && strcmp(value, "deny") != 0)
		return -EINVAL;
	*ret = allow;
	return 0;
}

static int apply_perf(struct policy *p, const char *value, struct err *err)
{
	bool always = strcmp(value, "always") == 0;
	if (!always && allow_or_deny(value, &p->perf) < 0)
		return err_set(err, -EINVAL,
			       "perf: \"%s\" is not allow, deny or always",
			       quote_value(value, strlen(value)).text);
	if (always)
		p->perf = true;
	p->perf_always = always;
	return 0;
}

static int apply_profile(struct policy *p, const char *value, struct err *err)
{
	uint32_t hz;
	if (strncmp(value, "max:", 4) == 0 && parse_u32(value + 4, &hz) == 0 &&
	    hz >= 1 && hz <= PROFILE_HZ_MAX) {
		p->profile = true;
		p->profile_max_hz = hz;
		return 0;
	}
	if (allow_or_deny(value, &p->profile) < 0)
		return err_set(err, -EINVAL,
			       "profile: \"%s\" is not allow, deny or max:HZ (1-%d)",
			       quote_value(value, strlen(value)).text, PROFILE_HZ_MAX);
	return 0;
}

static int apply_report(struct policy *p, const char *value, struct err *err)
{
	bool always = strcmp(value, "always") == 0;
	bool batch = strcmp(value, "batch") == 0;
	if (!always && !batch && allow_or_deny(value, &p->report) < 0)
		return err_set(err, -EINVAL,
			       "report: \"%s\" is not allow, deny, batch or always",
			       quote_value(value, strlen(value)).text);
	if (always || batch)
		p->report = true;
	p->report_always = always;
	p->report_batch = batch;
	return 0;
}

int policy_apply(struct policy *p, const char *arg, struct err *err)
{
	static const struct {
		const char *name;
		int (*apply)(struct policy *p, const char *value, struct err *err);
	} args[] = {
		{"ring=", apply_ring},     {"energy=", apply_energy},
		{"perf=", apply_perf},     {"profile=", apply_profile},
		{"report=", apply_report}, {"env=", apply_env},
	};
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		size_t n = strlen(args[i].name);
		if (strncmp(arg, args[i].name, n) == 0)
			return args[i].apply(p, arg + n, err);
	}
	return err_set(err, -EINVAL, "unknown argument \"%s\"",
		       quote_value(arg, strlen(arg)).text);
}

static int parse_perf(const char *value, uint32_t *ret, struct err *err)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} groups[] = {
		{"hardware", RECORD_PERF_HW},
		{"software", RECORD_PERF_SW},
		{"cache", RECORD_PERF_CACHE},
		{"nogpu", RECORD_GPU_PAUSE},
	};
	uint32_t flags = 0;
	const char *at = value;
	for (;;) {
		struct spank_word w = word_next(&at);
		uint32_t flag = 0;
		for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
			if (spank_word_is(w, groups[i].name))
				flag = groups[i].flag;
		if (!flag)
			return err_set(
				err, -EINVAL,
				"--ceems-perf: \"%s\" is not hardware, software, "
				"cache or nogpu",
				quote_value(w.text, w.len).text);
		flags |= flag;
		if (*at++ != ',')
			break;
	}
	*ret = flags;
	return 0;
}

static int parse_profile(const char *value, struct request *r, struct err *err)
{
	struct request found = *r;
	uint64_t hz;
	const char *at = value;

	found.profile_hz = PROFILE_HZ_DEFAULT;
	found.profile = 0;
	for (;;) {
		struct spank_word w = word_next(&at);
		if (spank_word_is(w, "off-cpu"))
			found.profile |= RECORD_OFF_CPU;
		else if (parse_u64_len(w.text, w.len, &hz) == 0 && hz >= 1 &&
			 hz <= PROFILE_HZ_MAX)
			found.profile_hz = (uint32_t)hz;
		else
			return err_set(err, -EINVAL,
				       "--ceems-profile: \"%s\" is not a rate in Hz "
				       "(1-%d) or off-cpu",
				       quote_value(w.text, w.len).text, PROFILE_HZ_MAX);
		if (*at++ != ',')
			break;
	}
	*r = found;
	return 0;
}

static int parse_report(const char *value, struct request *r, struct err *err)
{
	uint32_t report = 0;
	bool none = strcmp(value, "none") == 0;
	if (strcmp(value, "text") == 0)
		report = RECORD_REPORT_TEXT;
	else if (strcmp(value, "json") == 0)
		report = RECORD_REPORT_JSON;
	else if (!none)
		return err_set(err, -EINVAL,
			       "--ceems-report: \"%s\" is not text, json or none",
			       quote_value(value, strlen(value)).text);
	r->report = report;
	r->no_report = none;
	return 0;
}

static bool no_value(const char *value)
{
	return !value || !*value || strcmp(value, "(null)") == 0;
}

int request_parse(struct request *r, enum option option, const char *value,
		  struct err *err)
{
	bool none = no_value(value);
	if (!none && strnlen(value, OPTION_TEXT_MAX) == OPTION_TEXT_MAX)
		return err_set(err, -EINVAL, "--ceems option: \"%s\" is too long",
			       quote_value(value, OPTION_TEXT_MAX).text);
	switch (option) {
	case OPTION_PERF:
		if (!none)
			return parse_perf(value, &r->perf, err);
		r->perf = PERF_ALL;
		return 0;
	case OPTION_PROFILE:
		if (!none)
			return parse_profile(value, r, err);
		r->profile_hz = PROFILE_HZ_DEFAULT;
		return 0;
	case OPTION_REPORT:
		return parse_report(none ? "text" : value, r, err);
	}
	return err_set(err, -EINVAL, "unknown option %d", (int)option);
}

int request_limit(struct request *r, enum option option, const struct policy *p,
		  struct err *err)
{
	if (option == OPTION_PERF && r->perf && !p->perf) {
		r->perf = 0;
		return err_set(err, 1, "--ceems-perf is not allowed here, ignored");
	}
	if (option == OPTION_PROFILE && r->profile_hz && !p->profile) {
		r->profile_hz = r->profile = 0;
		return err_set(err, 1, "--ceems-profile is not allowed here, ignored");
	}
	if (option == OPTION_PROFILE && r->profile_hz > p->profile_max_hz) {
		uint32_t asked = r->profile_hz;
		r->profile_hz = p->profile_max_hz;
		return err_set(err, 1,
			       "--ceems-profile=%u: at most %u Hz here, lowered", asked,
			       p->profile_max_hz);
	}
	if (option == OPTION_REPORT && r->report && !p->report) {
		r->report = 0;
		return err_set(err, 1, "--ceems-report is not allowed here, ignored");
	}
	return 0;
}
