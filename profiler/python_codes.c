/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/python_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"

#define SLOTS (PYTHON_CODES_MAX * 2u)

void python_codes_free(struct python_codes *c)
{
	name_generations_free(&c->names);
	free(c->now.slots);
	free(c->before.slots);
	c->now = c->before = (struct python_table){0};
}

static struct python_slot *find_code(const struct python_table *t, uint32_t process,
				     uint64_t word)
{
	uint64_t hash = (word ^ (uint64_t)process << 20) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 40) & (SLOTS - 1);

	for (;; at = (at + 1) & (SLOTS - 1)) { /* at most half are used */
		struct python_slot *s = &t->slots[at];
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

static int add_code_name(struct python_codes *c, const struct python_code *code)
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
	return rc < 0 ? rc : name_generations_add(&c->names, text.data, text.len);
}

bool python_codes_add(struct python_codes *c, const struct python_code *code)
{
	struct python_table *t = &c->now;

	if (!t->slots)
		t->slots = calloc(SLOTS, sizeof(*t->slots));
	if (!t->slots || !code->head.process)
		return false;
	uint64_t word = code->word & ~PYTHON_WORD_ENTRY;
	struct python_slot *s = find_code(t, code->head.process, word);
	if (s->process)
		return true;
	int name = t->used == PYTHON_CODES_MAX ? -ENOSPC : add_code_name(c, code);
	if (name < 0)
		return false;
	*s = (struct python_slot){
		.word = word,
		.process = code->head.process,
		.name = (uint32_t)name,
	};
	t->used++;
	return true;
}

int python_codes_find(const struct python_codes *c, uint32_t process, uint64_t word)
{
	const struct python_table *tables[] = {&c->now, &c->before};

	for (size_t i = 0; process && i < 2; i++) {
		if (!tables[i]->slots)
			continue;
		const struct python_slot *s =
			find_code(tables[i], process, word & ~PYTHON_WORD_ENTRY);
		if (s->process)
			return (int)s->name;
	}
	return -ENOENT;
}

bool python_codes_turn(struct python_codes *c, uint32_t since_s, uint32_t now_s)
{
	if (!name_generations_may_turn(&c->names, c->now.used, since_s))
		return false;
	name_generations_turn(&c->names, now_s);
	free(c->before.slots);
	c->before = c->now;
	c->now = (struct python_table){0};
	return true;
}

const char *python_codes_name(const struct python_codes *c, uint32_t number)
{
	return name_generations_find(&c->names, number);
}

uint64_t python_codes_bytes(const struct python_codes *c)
{
	uint64_t tables = (c->now.slots != NULL) + (c->before.slots != NULL);

	return tables * SLOTS * sizeof(*c->now.slots) +
	       name_generations_bytes(&c->names);
}

bool python_is_loop(const char *function)
{
	static const char loop[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	return strncmp(function, loop, sizeof(loop) - 1) == 0 ||
	       strncmp(function, tail, sizeof(tail) - 1) == 0;
}
