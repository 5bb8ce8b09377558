/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

#define NAME_MAX_BYTES 4096u

static void end_elf(Elf **elf)
{
	(void)elf_end(*elf);
}
#define auto_elf __attribute__((cleanup(end_elf)))

static Elf *begin_elf(int fd, struct err *err)
{
	(void)elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		(void)err_set(err, -ENOEXEC, "no ELF file");
	return elf;
}

int elf_file_segments(int fd, struct elf_segment ret[ELF_SEGMENTS_MAX], struct err *err)
{
	auto_elf Elf *elf = begin_elf(fd, err);
	size_t headers = 0;
	int count = 0;

	if (!elf || elf_getphdrnum(elf, &headers) != 0)
		return -ENOEXEC;
	for (size_t i = 0; i < headers && count < ELF_SEGMENTS_MAX; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    !(p.p_flags & PF_X) || p.p_filesz > UINT64_MAX - p.p_offset)
			continue;
		ret[count++] = (struct elf_segment){.start = p.p_offset,
						    .end = p.p_offset + p.p_filesz,
						    .shift = p.p_vaddr - p.p_offset};
	}
	return count;
}

static int grow_array(void **what, size_t *room, size_t need, size_t size)
{
	size_t more = *room ? *room : 256;

	if (need <= *room)
		return 0;
	while (more < need)
		more *= 2;
	void *grown = reallocarray(*what, more, size);
	if (!grown)
		return -ENOMEM;
	*what = grown;
	*room = more;
	return 0;
}

static int add_symbol(struct elf_names *n, const GElf_Sym *sym, const char *name)
{
	size_t len = strnlen(name, NAME_MAX_BYTES);
	void *symbols = n->symbols, *names = n->names;
	int rc = grow_array(&symbols, &n->room, n->count + 1, sizeof(*n->symbols));

	n->symbols = symbols;
	if (rc == 0 && n->names_len + len + 1 > UINT32_MAX)
		rc = -ENOMEM;
	if (rc == 0)
		rc = grow_array(&names, &n->names_room, n->names_len + len + 1, 1);
	n->names = names;
	if (rc < 0)
		return rc;
	memcpy(n->names + n->names_len, name, len);
	n->names[n->names_len + len] = '\0';
	n->symbols[n->count++] = (struct elf_symbol){.address = sym->st_value,
						     .size = sym->st_size,
						     .name = (uint32_t)n->names_len};
	n->names_len += len + 1;
	return 0;
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF;
}

static int read_symbols(Elf *elf, Elf_Scn *section, size_t most, struct elf_names *ret)
{
	GElf_Shdr head;
	Elf_Data *data = elf_getdata(section, NULL);
	int rc = 0;

	if (!gelf_getshdr(section, &head) || !data || !head.sh_entsize)
		return -ENOEXEC;
	size_t count = data->d_size / head.sh_entsize;
	for (size_t i = 0; i < count && ret->count < most && rc == 0; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || !is_function(&sym))
			continue;
		const char *name = elf_strptr(elf, head.sh_link, sym.st_name);
		if (name && *name)
			rc = add_symbol(ret, &sym, name);
	}
	return rc;
}

static Elf_Scn *find_section(Elf *elf, GElf_Word type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &head) && head.sh_type == type)
			return section;
	}
	return NULL;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* of several names the one with a size, then the first of the file */
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int elf_names_read(int fd, size_t most, struct elf_names *ret, struct err *err)
{
	*ret = (struct elf_names){0};
	auto_elf Elf *elf = begin_elf(fd, err);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	Elf_Scn *section = find_section(elf, SHT_SYMTAB);
	if (!section)
		section = find_section(elf, SHT_DYNSYM);
	int rc = section ? read_symbols(elf, section, most, ret) : 0;
	if (rc < 0)
		return err_set(err, rc, "symbols: %s", strerror(-rc));
	if (ret->count)
		qsort(ret->symbols, ret->count, sizeof(*ret->symbols), compare_symbols);
	return 0;
}

void elf_names_free(struct elf_names *n)
{
	free(n->symbols);
	free(n->names);
	*n = (struct elf_names){0};
}

const char *elf_names_find(const struct elf_names *n, uint64_t address)
{
	size_t low = 0, high = n->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (n->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	/* the first of those with one address is the best */
	while (low > 1 && n->symbols[low - 2].address == n->symbols[low - 1].address)
		low--;
	const struct elf_symbol *s = &n->symbols[low - 1];
	if (s->size && address - s->address >= s->size)
		return NULL;
	return n->names + s->name;
}
