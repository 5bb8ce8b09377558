/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses names and contents of Cray's pm_counters files. */
#include "daemon/sources/cray_text.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

static bool is_cray_word(const char *word, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(word, want, len) == 0;
}

static int scan_time(const char **p, const char *end, uint64_t *ret)
{
	const char *word;
	size_t len;

	if (!scan_blank(p, end))
		return 0; /* older firmware has none */
	if (scan_u64(p, end, ret) < 0 || !scan_word(p, end, &word, &len) ||
	    !is_cray_word(word, len, "us"))
		return -EINVAL;
	return 0;
}

int cray_parse(const char *text, size_t len, const char *unit, struct cray_reading *ret)
{
	struct cray_reading r = {0};
	const char *p = text, *line, *word;
	size_t line_len, word_len;

	if (!scan_line(&p, text + len, &line, &line_len))
		return -ENODATA;
	p = line;
	const char *end = line + line_len;
	if (!scan_blank(&p, end))
		return -ENODATA;
	if (scan_u64(&p, end, &r.value) < 0)
		return -EINVAL;
	if (unit && (!scan_word(&p, end, &word, &word_len) ||
		     !is_cray_word(word, word_len, unit)))
		return -EINVAL;
	if (scan_time(&p, end, &r.us) < 0 || scan_blank(&p, end))
		return -EINVAL;
	*ret = r;
	return 0;
}

static bool split_kind(const char *file, size_t *ret_len, enum source_kind *ret_kind)
{
	static const struct {
		const char *suffix;
		enum source_kind kind;
	} kinds[] = {{"energy", SOURCE_ENERGY},
		     {"power", SOURCE_POWER},
		     {"power_cap", SOURCE_POWER_LIMIT},
		     {"temp", SOURCE_TEMPERATURE}};
	size_t len = strlen(file);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].suffix);
		if (len < n || strcmp(file + len - n, kinds[i].suffix) != 0)
			continue;
		if (len > n && (len == n + 1 || file[len - n - 1] != '_'))
			continue;
		*ret_len = len > n ? len - n - 1 : 0;
		*ret_kind = kinds[i].kind;
		return true;
	}
	return false;
}

bool cray_file(const char *file, char ret_domain[CRAY_DOMAIN_BYTES],
	       enum source_kind *ret_kind, uint32_t *ret_index, bool *ret_numbered)
{
	static const char *const domains[] = {"cpu", "memory", "accel"};
	enum source_kind kind;
	uint32_t index = 0;
	size_t len;

	if (!split_kind(file, &len, &kind) || len >= CRAY_DOMAIN_BYTES)
		return false;
	if (!len) {
		memcpy(ret_domain, "node", sizeof("node"));
		*ret_kind = kind;
		*ret_index = 0;
		*ret_numbered = false;
		return true;
	}
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		size_t n = strlen(domains[i]);
		char digits[CRAY_DOMAIN_BYTES];
		if (len < n || memcmp(file, domains[i], n) != 0)
			continue;
		memcpy(digits, file + n, len - n);
		digits[len - n] = '\0';
		if (len > n && parse_u32(digits, &index) < 0)
			return false;
		memcpy(ret_domain, file, len);
		ret_domain[len] = '\0';
		*ret_kind = kind;
		*ret_index = index;
		*ret_numbered = len > n;
		return true;
	}
	return false;
}

const char *cray_unit(enum source_kind kind, uint64_t *ret_scale)
{
	*ret_scale = kind == SOURCE_TEMPERATURE ? 1000 : 1000000;
	if (kind == SOURCE_ENERGY)
		return "J";
	return kind == SOURCE_TEMPERATURE ? "C" : "W";
}
