/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Factors of the site's own: a file or URL with lines of time, zone and g/kWh, such as
 * a utility's forecast, or what one node fetched for all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/emissions/emissions.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/rfc3339.h"

#define LINES_MAX 200000u

static char *trim_field(char *s)
{
	s += strspn(s, " \t");
	size_t n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = '\0';
	return s;
}

/* 0, or 1 when the row is still in the future. */
static int read_factor_row(char *text, uint64_t now_s, struct emission_set *ret,
			   struct err *err)
{
	char *fields[4] = {NULL, NULL, NULL, NULL}, *p = text;
	uint64_t time_s;
	double grams;

	/* a name may have commas */
	for (size_t i = 0; i < 3 && p; i++)
		fields[i] = trim_field(strsep(&p, ","));
	if (!fields[2])
		return err_set(err, -EBADMSG, "not \"time,zone,g/kWh\"");
	fields[3] = p ? trim_field(p) : NULL;
	if (parse_u64(fields[0], &time_s) < 0 && rfc3339_parse(fields[0], &time_s) < 0)
		return err_set(err, -EBADMSG, "\"%.40s\" is not a time with a zone",
			       fields[0]);
	if (parse_f64(fields[2], &grams) < 0)
		return err_set(err, -EBADMSG, "\"%.40s\" is not a number", fields[2]);
	if (time_s > now_s)
		return 1;
	return emission_set_put(ret, fields[1], fields[3], grams, time_s, err);
}

int emissions_file_parse(const char *text, size_t len, uint64_t now_s,
			 struct emission_set *ret, struct err *err)
{
	const char *p = text, *line;
	size_t n, number = 0, future = 0, taken = 0;
	char copy[512];

	while (scan_line(&p, text + len, &line, &n)) {
		if (++number > LINES_MAX)
			return err_set(err, -EBADMSG, "more than %u lines", LINES_MAX);
		if (n >= sizeof(copy) || memchr(line, '\0', n))
			return err_set(err, -EBADMSG, "line %zu: not a line of text",
				       number);
		memcpy(copy, line, n);
		copy[n] = '\0';
		char *s = trim_field(copy);
		if (!*s || *s == '#' || (number == 1 && strncmp(s, "time,", 5) == 0))
			continue;
		int rc = read_factor_row(s, now_s, ret, err);
		if (rc < 0)
			return err_prefix(err, rc, "line %zu", number);
		future += rc == 1;
		taken += rc == 0;
	}
	if (taken)
		return 0;
	return err_set(err, -ENODATA, "%s",
		       future ? "nothing in it yet: all times are in the future"
			      : "nothing in it");
}

static bool is_url(const char *s)
{
	return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0;
}

static int check_file_configured(const struct emissions_config *config, struct err *err)
{
	if (!config->file || !*config->file)
		return err_set(err, -ENODATA, "--emissions.file is not set");
	return 0;
}

static int read_path(const char *path, struct buf *ret, struct err *err)
{
	struct stat st;

	/* opening a FIFO would block */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: not a file", path);
	return fs_read_buf_at(AT_FDCWD, path, EMISSIONS_BODY_MAX, ret, err);
}

static int take_factor_file(const struct buf *text, struct emissions_ask *ask,
			    struct emission_set *ret, struct err *err)
{
	struct emission_set all = {0};
	int rc = emissions_file_parse(text->data ? text->data : "", text->len,
				      ask->now_s, &all, err);

	for (size_t i = 0; rc == 0 && i < all.count; i++) {
		const struct emission_factor *f = &all.items[i];
		if (emissions_wants_zone(ask->config, f->zone))
			rc = emission_set_put(ret, f->zone, f->country,
					      (double)f->mg_per_kwh / 1000.0, f->time_s,
					      err);
	}
	emission_set_done(&all);
	if (rc == 0 && !ret->count)
		return err_set(err, -ENODATA, "none of the zones named is in it");
	return rc;
}

static int fetch_factor_file(void *state, struct emissions_ask *ask,
			     struct emission_set *ret, struct err *err)
{
	auto_http_response struct http_response answer = {0};
	auto_buf struct buf text = BUF_INIT;
	const char *file = ask->config->file;
	struct http_request r = {.url = file};
	bool url = is_url(file);

	(void)state;
	int rc = url ? emissions_get(ask, &r, &answer, err)
		     : read_path(file, &text, err);
	if (rc < 0)
		return rc;
	rc = take_factor_file(url ? &answer.body : &text, ask, ret, err);
	return rc < 0 ? err_prefix(err, rc, "%s", url ? answer.url : file) : 0;
}

const struct emissions_provider emissions_file = {
	.name = "file",
	.period_s = 300,
	.configured = check_file_configured,
	.fetch = fetch_factor_file,
};
