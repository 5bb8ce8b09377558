/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of projects, from Slurm's database. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "aggregator/associations.h"

#define NAME_BYTES_MAX 256

static bool is_association_name(const char *s, size_t n)
{
	if (n > NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < n;) {
		size_t step = utf8_len(s + i, n - i);
		if (!step || (unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
		i += step;
	}
	return true;
}

/* Splits a line into cluster, account and user; it may end with a separator. */
static bool cut_association_line(const char *s, size_t n, const char *part[3],
				 size_t len[3])
{
	for (int i = 0; i < 3; i++) {
		const char *end = memchr(s, '|', n);
		part[i] = s;
		len[i] = end ? (size_t)(end - s) : n;
		if (!is_association_name(part[i], len[i]) || (i < 2 && !end))
			return false;
		n -= len[i] + (end ? 1 : 0);
		s += len[i] + (end ? 1 : 0);
	}
	return n == 0 && len[0] && len[1];
}

static bool is_header(const char *const part[3], const size_t len[3])
{
	return len[0] == 7 && memcmp(part[0], "Cluster", 7) == 0 && len[1] == 7 &&
	       memcmp(part[1], "Account", 7) == 0;
}

int associations_parse(const char *text, size_t len, struct buf *ret, size_t *ret_rows,
		       struct err *err)
{
	const char *end = text + len, *part[3];
	size_t users = 0, rows = 0, line = 0, n[3];

	buf_putc(ret, '[');
	for (const char *s = text; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t size = nl ? (size_t)(nl - s) : (size_t)(end - s);
		const char *next = nl ? nl + 1 : end;
		line++;
		if (size && s[size - 1] == '\r')
			size--;
		if (size && !cut_association_line(s, size, part, n))
			return err_set(
				err, -EBADMSG,
				"line %zu: not what sacctmgr -nP list associations "
				"format=Cluster,Account,User prints",
				line);
		if (size && !is_header(part, n)) {
			/* root is in Slurm's database by default */
			bool user =
				n[2] && !(n[2] == 4 && memcmp(part[2], "root", 4) == 0);
			buf_puts(ret, rows++ ? ",{\"cluster\":" : "{\"cluster\":");
			buf_put_json(ret, part[0], n[0]);
			buf_puts(ret, ",\"account\":");
			buf_put_json(ret, part[1], n[1]);
			if (user) {
				buf_puts(ret, ",\"user\":");
				buf_put_json(ret, part[2], n[2]);
			}
			buf_putc(ret, '}');
			users += user;
		}
		s = next;
	}
	buf_putc(ret, ']');
	/* an empty list would remove everybody's access */
	if (!rows)
		return err_set(err, -EBADMSG, "it has no associations");
	*ret_rows = users;
	return buf_error(ret);
}
