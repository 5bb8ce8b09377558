/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/go_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
/* of functab: where it begins, and where its data are */
enum { HEADER_BYTES = 72, FUNCTION_BYTES = 8 };

struct go_table {
	const uint8_t *data;
	size_t size;
	uint64_t text, functions, names, table;
};

static uint64_t take_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint32_t take_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* The tables' section, and where the code begins: from Go 1.26 on the table does not
 * say */
static bool find_go_table(Elf *elf, struct go_table *t)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	uint64_t text = 0;
	bool by_c_linker = false;
	GElf_Shdr head;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &head)
					   ? elf_strptr(elf, names, head.sh_name)
					   : NULL;
		if (name && strcmp(name, ".text") == 0)
			text = head.sh_addr;
		by_c_linker = by_c_linker || (name && strcmp(name, ".init") == 0);
		if (!name || head.sh_type == SHT_NOBITS ||
		    (strcmp(name, ".gopclntab") != 0 &&
		     strcmp(name, ".data.rel.ro.gopclntab") != 0))
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		t->data = data ? data->d_buf : NULL;
		t->size = data ? data->d_size : 0;
	}
	if (!t->data || t->size < HEADER_BYTES)
		return false;
	uint32_t magic = take_u32(t->data);
	if ((magic != MAGIC_1_18 && magic != MAGIC_1_20) || t->data[7] != 8)
		return false;
	t->functions = take_u64(t->data + 8);
	t->text = take_u64(t->data + 24);
	if (!t->text && by_c_linker)
		return false; /* .text begins with code of C */
	if (!t->text)
		t->text = text;
	t->names = take_u64(t->data + 32);
	t->table = take_u64(t->data + 64);
	return t->names < t->size && t->table < t->size;
}

/* NULL: outside the table, or without an end in it */
static const char *name_of(const struct go_table *t, uint64_t function)
{
	if (function > t->size - t->table || t->size - t->table - function < 8)
		return NULL;
	uint64_t at = t->names + take_u32(t->data + t->table + function + 4);
	if (at >= t->size || !memchr(t->data + at, '\0', t->size - at))
		return NULL;
	return (const char *)t->data + at;
}

int go_names_add(struct symbols *s, Elf *elf, size_t most)
{
	struct go_table t = {0};
	size_t before = s->count;
	int rc = 0;

	if (!find_go_table(elf, &t))
		return -ENODATA;
	uint64_t room = (t.size - t.table) / FUNCTION_BYTES;
	for (uint64_t i = 0; i + 1 < room && i < t.functions && s->count < most && !rc;
	     i++) {
		const uint8_t *at = t.data + t.table + i * FUNCTION_BYTES;
		uint32_t begin = take_u32(at), end = take_u32(at + FUNCTION_BYTES);
		const char *name = name_of(&t, take_u32(at + 4));
		if (name && *name && end > begin)
			rc = symbols_add_one(s, t.text + begin, end - begin, name);
	}
	return rc < 0 ? rc : (int)(s->count - before);
}
