/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/drm/drm_fdinfo.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

struct drm_text {
	const char *at;
	size_t len;
};

/* How well a key tells of memory in use: drm-memory is an old name of drm-resident, and
 * total has what is not backed, too. */
enum region_rank { REGION_UNKNOWN, REGION_TOTAL, REGION_MEMORY, REGION_RESIDENT };

struct drm_region {
	char name[DRM_NAME_BYTES];
	enum region_rank rank;
	uint64_t bytes;
};

struct drm_regions {
	uint32_t count;
	struct drm_region region[DRM_REGIONS_MAX];
};

static bool skip_prefix(struct drm_text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (t->len < n || memcmp(t->at, prefix, n) != 0)
		return false;
	t->at += n;
	t->len -= n;
	return true;
}

static bool copy_drm_name(struct drm_text t, char *ret, size_t size)
{
	if (!t.len || t.len >= size || memchr(t.at, '\0', t.len))
		return false;
	memcpy(ret, t.at, t.len);
	ret[t.len] = '\0';
	return true;
}

/* "123", "123 ns" or "123 KiB": the number, and the word after it */
static bool read_drm_number(struct drm_text t, uint64_t *ret, struct drm_text *ret_unit)
{
	const char *p = t.at, *end = t.at + t.len, *word = NULL;
	size_t len = 0;

	if (scan_u64(&p, end, ret) < 0 || (p < end && !scan_blank(&p, end)))
		return false;
	if (!scan_word(&p, end, &word, &len))
		len = 0;
	*ret_unit = (struct drm_text){word, len};
	return true;
}

static bool is_unit(struct drm_text t, const char *name)
{
	return t.len == strlen(name) && memcmp(t.at, name, t.len) == 0;
}

static bool read_drm_bytes(struct drm_text t, uint64_t *ret)
{
	struct drm_text unit;
	uint64_t n, scale = 1;

	if (!read_drm_number(t, &n, &unit))
		return false;
	if (is_unit(unit, "KiB"))
		scale = 1024;
	else if (is_unit(unit, "MiB"))
		scale = 1024 * 1024;
	else if (unit.len)
		return false;
	return !__builtin_mul_overflow(n, scale, ret);
}

static struct drm_engine *find_engine(struct drm_fdinfo *f, struct drm_text name)
{
	struct drm_engine e = {.name = ""};

	if (!copy_drm_name(name, e.name, sizeof(e.name)))
		return NULL;
	for (uint32_t i = 0; i < f->engine_count; i++) {
		if (strcmp(f->engines[i].name, e.name) == 0)
			return &f->engines[i];
	}
	if (f->engine_count == DRM_ENGINES_MAX)
		return NULL;
	f->engines[f->engine_count] = e;
	return &f->engines[f->engine_count++];
}

static void take_engine(struct drm_fdinfo *f, struct drm_text key,
			struct drm_text value)
{
	bool is_total = skip_prefix(&key, "total-cycles-");
	bool in_cycles = is_total || skip_prefix(&key, "cycles-");
	struct drm_text unit;
	uint64_t n;

	if (!in_cycles &&
	    (!skip_prefix(&key, "engine-") || skip_prefix(&key, "capacity-")))
		return;
	if (!read_drm_number(value, &n, &unit) || (!in_cycles && !is_unit(unit, "ns")))
		return;
	struct drm_engine *e = find_engine(f, key);
	if (!e)
		return;
	e->in_cycles |= in_cycles;
	if (is_total)
		e->total_cycles = n;
	else if (in_cycles)
		e->cycles = n;
	else
		e->busy_ns = n;
}

static void take_region(struct drm_regions *r, struct drm_text key,
			struct drm_text value)
{
	struct drm_region n = {.rank = REGION_UNKNOWN};
	uint32_t i = 0;

	if (skip_prefix(&key, "resident-"))
		n.rank = REGION_RESIDENT;
	else if (skip_prefix(&key, "memory-"))
		n.rank = REGION_MEMORY;
	else if (skip_prefix(&key, "total-") && !skip_prefix(&key, "cycles-"))
		n.rank = REGION_TOTAL;
	if (n.rank == REGION_UNKNOWN || !read_drm_bytes(value, &n.bytes) ||
	    !copy_drm_name(key, n.name, sizeof(n.name)))
		return;
	while (i < r->count && strcmp(r->region[i].name, n.name) != 0)
		i++;
	if (i == DRM_REGIONS_MAX)
		return;
	if (i == r->count)
		r->count++;
	if (n.rank > r->region[i].rank)
		r->region[i] = n;
}

static bool is_of_device(const struct drm_region *r)
{
	return strncmp(r->name, "vram", 4) == 0 || strncmp(r->name, "local", 5) == 0;
}

static void add_regions(const struct drm_regions *r, struct drm_fdinfo *f)
{
	bool has_own = false;

	for (uint32_t i = 0; i < r->count; i++)
		has_own |= is_of_device(&r->region[i]);
	for (uint32_t i = 0; i < r->count; i++) {
		if (has_own && !is_of_device(&r->region[i]))
			continue;
		if (__builtin_add_overflow(f->memory_bytes, r->region[i].bytes,
					   &f->memory_bytes))
			f->memory_bytes = UINT64_MAX;
	}
	f->has_memory = r->count > 0;
}

/* Without what surrounds a value: "drm-pdev:\t0000:03:00.0" */
static struct drm_text trim_value(struct drm_text t)
{
	while (t.len && (*t.at == ' ' || *t.at == '\t'))
		t.at++, t.len--;
	while (t.len && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

int drm_fdinfo_parse(const char *text, size_t len, struct drm_fdinfo *ret)
{
	const char *at = text, *end = text + len, *line;
	struct drm_fdinfo f = {.driver = ""};
	struct drm_regions regions = {.count = 0};
	bool has_client = false, good = true;
	size_t n;

	while (scan_line(&at, end, &line, &n)) {
		const char *colon = memchr(line, ':', n);
		struct drm_text key = {line, colon ? (size_t)(colon - line) : 0};
		if (!colon || !skip_prefix(&key, "drm-"))
			continue;
		struct drm_text unit,
			value = trim_value((struct drm_text){
				colon + 1, n - (size_t)(colon + 1 - line)});
		if (is_unit(key, "driver")) {
			good &= copy_drm_name(value, f.driver, sizeof(f.driver));
		} else if (is_unit(key, "pdev")) {
			good &= copy_drm_name(value, f.pdev, sizeof(f.pdev));
		} else if (is_unit(key, "client-id")) {
			has_client = read_drm_number(value, &f.client, &unit);
			good &= has_client;
		} else {
			take_engine(&f, key, value);
			take_region(&regions, key, value);
		}
	}
	if (!good)
		return -EINVAL;
	if (!*f.driver || !*f.pdev || !has_client)
		return -ENODATA;
	add_regions(&regions, &f);
	*ret = f;
	return 0;
}
