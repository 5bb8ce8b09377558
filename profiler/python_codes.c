/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/python_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"

#define SLOTS (PYTHON_CODES_MAX * 2u)

void python_codes_free(struct python_codes *c)
{
	frame_names_free(&c->names);
	free(c->slots);
	*c = (struct python_codes){0};
}

static struct python_slot *find_code(const struct python_codes *c, uint32_t process,
				     uint64_t word)
{
	uint64_t hash = (word ^ (uint64_t)process << 20) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 40) & (SLOTS - 1);

	for (;; at = (at + 1) & (SLOTS - 1)) { /* at most half are used */
		struct python_slot *s = &c->slots[at];
		if (!s->process || (s->process == process && s->word == word))
			return s;
	}
}

/* The last two parts of a path: most packages have an __init__.py */
static const char *short_path(const char *path)
{
	const char *end = strrchr(path, '/'), *at = end;

	while (at && at > path && at[-1] != '/')
		at--;
	return end ? (at == path ? end + 1 : at) : path;
}

static int add_code_name(struct python_codes *c, const struct python_code *code,
			 uint32_t *ret)
{
	char name[PYTHON_TEXT_BYTES], file[PYTHON_TEXT_BYTES];
	auto_buf struct buf text = BUF_INIT;

	memcpy(name, code->name, sizeof(name));
	memcpy(file, code->file, sizeof(file));
	name[sizeof(name) - 1] = file[sizeof(file) - 1] = '\0';
	utf8_clean(name, strlen(name));
	utf8_clean(file, strlen(file));
	buf_printf(&text, "%s (%s)", *name ? name : "?", short_path(file));
	int rc = buf_error(&text);
	return rc < 0 ? rc : frame_names_add(&c->names, text.data, text.len, ret);
}

bool python_codes_add(struct python_codes *c, const struct python_code *code)
{
	uint32_t name = 0;

	if (!c->slots)
		c->slots = calloc(SLOTS, sizeof(*c->slots));
	if (!c->slots || !code->head.process)
		return false;
	uint64_t word = code->word & ~PYTHON_WORD_ENTRY;
	struct python_slot *s = find_code(c, code->head.process, word);
	if (s->process)
		return true;
	if (c->used == PYTHON_CODES_MAX || add_code_name(c, code, &name) < 0)
		return false;
	*s = (struct python_slot){
		.word = word, .process = code->head.process, .name = name};
	c->used++;
	return true;
}

int python_codes_find(const struct python_codes *c, uint32_t process, uint64_t word)
{
	if (!c->slots || !process)
		return -ENOENT;
	const struct python_slot *s = find_code(c, process, word & ~PYTHON_WORD_ENTRY);
	return s->process ? (int)s->name : -ENOENT;
}

const char *python_codes_name(const struct python_codes *c, uint32_t number)
{
	return number < c->names.count ? c->names.all[number] : NULL;
}

uint64_t python_codes_bytes(const struct python_codes *c)
{
	return (c->slots ? SLOTS * sizeof(*c->slots) : 0) + c->names.count * 64u;
}

bool python_is_loop(const char *function)
{
	static const char loop[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	return strncmp(function, loop, sizeof(loop) - 1) == 0 ||
	       strncmp(function, tail, sizeof(tail) - 1) == 0;
}
