/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/buf.h"

/* Of entries that begin before an address, so many are looked at: code that is gone has
 * entries, too. */
enum { LOOK_BACK = 16, DIGITS_MAX = 16, NAME_BYTES_MAX = 512 };

static bool take_hex_number(const char **at, const char *end, uint64_t *ret)
{
	const char *begin = *at;
	uint64_t v = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 32) == 'x')
		begin = *at += 2;
	for (; *at < end && isxdigit((unsigned char)**at); (*at)++) {
		unsigned char c = (unsigned char)**at;
		v = v << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	if (*at == begin || *at - begin > DIGITS_MAX || *at == end || **at != ' ')
		return false;
	(*at)++;
	*ret = v;
	return true;
}

static int add_map_entry(struct perf_map *m, const char *text, const char *line,
			 const char *end)
{
	uint64_t address = 0, size = 0;
	const char *at = line;

	if (!take_hex_number(&at, end, &address) || !take_hex_number(&at, end, &size) ||
	    at == end || !size || size > UINT32_MAX)
		return 0; /* one that is being written, or none */
	if (m->count == m->room) {
		uint32_t room = m->room ? m->room * 2 : 1024;
		struct perf_map_entry *all = reallocarray(m->all, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		m->all = all;
		m->room = room;
	}
	m->all[m->count++] = (struct perf_map_entry){.address = address,
						     .size = (uint32_t)size,
						     .name = (uint32_t)(at - text)};
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct perf_map_entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int perf_map_parse(const char *text, size_t len, struct perf_map *m)
{
	int rc = 0;

	m->text = text;
	m->len = len;
	m->count = 0;
	for (size_t at = 0; at < len && m->count < PERF_MAP_ENTRIES_MAX && rc == 0;) {
		const char *end = memchr(text + at, '\n', len - at);
		if (!end)
			break; /* it is being written */
		rc = add_map_entry(m, text, text + at, end);
		at = (size_t)(end - text) + 1;
	}
	if (m->count)
		qsort(m->all, m->count, sizeof(*m->all), compare_entries);
	return rc;
}

int perf_map_read(int fd, struct perf_map *m)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (m->text && (size_t)st.st_size == m->len)
		return 0;
	perf_map_free(m);
	if (st.st_size > PERF_MAP_BYTES_MAX)
		return -EFBIG;
	if (!st.st_size)
		return 0;
	void *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return -errno;
	m->mapped = text;
	return perf_map_parse(text, (size_t)st.st_size, m);
}

static const struct perf_map_entry *find_entry(const struct perf_map *m,
					       uint64_t address)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (m->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < LOOK_BACK && low > i; i++) {
		const struct perf_map_entry *e = &m->all[low - 1 - i];
		if (address - e->address < e->size)
			return e;
	}
	return NULL;
}

void perf_map_find(const struct perf_map *m, uint64_t address, struct reader_names *ret)
{
	const struct perf_map_entry *e = find_entry(m, address);

	ret->count = ret->len = 0;
	if (!e)
		return;
	const char *name = m->text + e->name;
	const char *end = memchr(name, '\n', m->len - e->name);
	size_t len = end ? (size_t)(end - name) : m->len - e->name;
	if (len > NAME_BYTES_MAX)
		len = NAME_BYTES_MAX;
	memcpy(ret->text, name, len);
	for (size_t i = 0; i < len; i++) {
		if (!ret->text[i]) /* the end of a file that is being written */
			ret->text[i] = '?';
	}
	utf8_clean(ret->text, len);
	ret->text[len] = '\0';
	ret->len = (uint32_t)len + 1;
	ret->count = 1;
}

void perf_map_free(struct perf_map *m)
{
	if (m->mapped)
		(void)munmap(m->mapped, m->len);
	free(m->all);
	*m = (struct perf_map){0};
}
