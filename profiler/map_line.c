/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/map_line.h"

#include <stdlib.h>
#include <string.h>

#include "lib/parse.h"

static const struct module_key vdso_key = {.device = UINT64_MAX, .inode = 1};

bool map_line_is_vdso(const struct map_line *l)
{
	return l->key.device == vdso_key.device;
}

bool map_line_is_of(const struct map_line *l, const struct module_key *key)
{
	return l->key.device == key->device && l->key.inode == key->inode;
}

static bool take_number(char **at, int base, char end, uint64_t *ret)
{
	char *behind = *at;

	if (parse_hex_digit(**at) < 0) /* no sign, no blank */
		return false;
	*ret = strtoull(*at, &behind, base);
	if (behind == *at || *behind != end)
		return false;
	*at = behind + 1;
	return true;
}

bool map_line_parse(char *line, struct map_line *ret)
{
	enum { RIGHTS = 5, DEVICE_BITS = 20 }; /* "r-xp "; of major and minor */
	uint64_t major, minor;
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, 16, '-', &ret->start) ||
	    !take_number(&at, 16, ' ', &ret->end) || strnlen(at, RIGHTS) < RIGHTS)
		return false;
	ret->reads = at[0] == 'r';
	ret->writes = at[1] == 'w';
	ret->executes = at[2] == 'x';
	at += RIGHTS;
	if (!take_number(&at, 16, ' ', &ret->offset) ||
	    !take_number(&at, 16, ':', &major) || !take_number(&at, 16, ' ', &minor) ||
	    !take_number(&at, 10, ' ', &ret->key.inode) ||
	    (major | minor) >> DEVICE_BITS)
		return false;
	ret->key.device = major << 32 | minor;
	ret->path = at + strspn(at, " ");
	if (strcmp(ret->path, MAP_LINE_VDSO) == 0)
		ret->key = vdso_key;
	else if (*ret->path != '/' || !ret->key.inode)
		return false;
	return ret->end > ret->start;
}
