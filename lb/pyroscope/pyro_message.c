/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of values, as made by the parsers of protobuf and JSON and used by the
 * writers. */
#include "lb/pyroscope/pyro_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)4096)

struct pyro_chunk {
	struct pyro_chunk *next;
	_Alignas(16) char bytes[];
};

void pyro_arena_done(struct pyro_arena *a)
{
	while (a->chunks) {
		struct pyro_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	*a = (struct pyro_arena){0};
}

void *pyro_alloc(struct pyro_arena *a, size_t size)
{
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (size > a->left) {
		size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		struct pyro_chunk *c = malloc(sizeof(*c) + room);

		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
		a->room = c->bytes;
		a->left = room;
	}
	p = a->room;
	a->room += size;
	a->left -= size;
	return memset(p, 0, size);
}

int pyro_keep(struct pyro_arena *a, const void *bytes, size_t len, struct str *ret)
{
	char *copy = pyro_alloc(a, len + 1);

	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, bytes, len);
	*ret = (struct str){copy, (uint32_t)len};
	return 0;
}

struct pyro_message *pyro_new(struct pyro_arena *a, const struct pyro_type *type)
{
	struct pyro_message *m = pyro_alloc(a, sizeof(*m));

	if (m)
		m->type = type;
	return m;
}

int pyro_add(struct pyro_arena *a, struct pyro_message *m, const struct pyro_field *f,
	     struct pyro_value **ret, struct err *err)
{
	size_t place = (size_t)(f - m->type->fields), before = place;
	struct pyro_value **at = &m->values, *v;

	if (!m->last)
		m->last = pyro_alloc(a, m->type->count * sizeof(struct pyro_value *));
	if (!m->last)
		return err_set(err, -ENOMEM, "out of memory");
	if (m->last[place] && !f->repeated)
		return err_set(err, -EINVAL, "%s: field \"%s\" appears twice",
			       m->type->name, f->name);
	if (a->values == PYRO_VALUES_MAX)
		return err_set(err, -E2BIG, "more than %u values", PYRO_VALUES_MAX);
	/* after the last one of its field, or of the nearest field before */
	while (!m->last[before] && before)
		before--;
	if (m->last[before])
		at = &m->last[before]->next;
	v = pyro_alloc(a, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	a->values++;
	v->field = f;
	v->next = *at;
	*at = v;
	m->last[place] = v;
	*ret = v;
	return 0;
}

struct pyro_value *pyro_find(const struct pyro_message *m, enum pyro_role role)
{
	struct pyro_value *v = m->values;

	while (v && v->field->role != role)
		v = v->next;
	return v;
}

const struct pyro_field *pyro_field_of(const struct pyro_type *t, enum pyro_role role)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->fields[i].role == role)
			return &t->fields[i];
	return NULL;
}

bool pyro_is_default(const struct pyro_value *v)
{
	if (v->field->optional || v->field->repeated)
		return false;
	switch (v->field->kind) {
	case PYRO_STRING:
		return !v->string.len;
	case PYRO_DOUBLE:
		return v->number == 0;
	case PYRO_MESSAGE:
		return false;
	case PYRO_INT64:
	case PYRO_UINT32:
	case PYRO_BOOL:
	case PYRO_ENUM:
		break;
	}
	return !v->integer;
}
