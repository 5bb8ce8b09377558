/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int symbols_add_one(struct symbols *s, uint64_t address, uint64_t size,
		    const char *name)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		struct symbol *all = reallocarray(s->all, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		s->all = all;
		s->room = room;
	}
	s->all[s->count] = (struct symbol){
		.address = address,
		.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
		.order = (uint32_t)s->count,
		.name = name,
	};
	s->count++;
	return 0;
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF;
}

static Elf_Scn *find_table(Elf *elf, GElf_Word type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, ret) && ret->sh_type == type &&
		    ret->sh_entsize)
			return section;
	}
	return NULL;
}

int symbols_add(struct symbols *s, Elf *elf, GElf_Word type, size_t most)
{
	GElf_Shdr head = {0};
	Elf_Scn *section = find_table(elf, type, &head);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t before = s->count, count = data ? data->d_size / head.sh_entsize : 0;
	int rc = 0;

	for (size_t i = 0; i < count && s->count < most && rc == 0; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || !is_function(&sym))
			continue;
		const char *name = elf_strptr(elf, head.sh_link, sym.st_name);
		if (name && *name)
			rc = symbols_add_one(s, sym.st_value, sym.st_size, name);
	}
	return rc < 0 ? rc : (int)(s->count - before);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* of several names the one with a size, then the first of the file */
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void symbols_sort(struct symbols *s)
{
	if (s->count)
		qsort(s->all, s->count, sizeof(*s->all), compare_symbols);
}

const char *symbols_find(const struct symbols *s, uint64_t address)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	/* the first of those with one address is the best */
	while (low > 1 && s->all[low - 2].address == s->all[low - 1].address)
		low--;
	const struct symbol *found = &s->all[low - 1];
	if (found->size && address - found->address >= found->size)
		return NULL;
	return found->name;
}

void symbols_free(struct symbols *s)
{
	free(s->all);
	*s = (struct symbols){0};
}
