/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/dynamic_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "profiler/files/elf_file.h"

struct dynamic_table {
	uint64_t symbols, names, names_size, gnu_hash, hash;
};

static bool read_dynamic(Elf *elf, struct dynamic_table *ret)
{
	GElf_Ehdr head;
	GElf_Phdr p, first;
	GElf_Dyn d;

	if (!gelf_getehdr(elf, &head) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !elf_file_segment(elf, PT_DYNAMIC, 0, &p) ||
	    !elf_file_segment(elf, PT_LOAD, p.p_vaddr, &first))
		return false;
	Elf_Data *data = elf_file_bytes(elf, p.p_vaddr, p.p_filesz, ELF_T_DYN);
	for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
		uint64_t at = d.d_un.d_ptr;
		/* glibc's loader makes addresses of the process of them */
		if (!head.e_shnum && head.e_type == ET_DYN && at >= head.e_entry &&
		    head.e_entry > first.p_vaddr + first.p_filesz)
			at -= head.e_entry;
		if (d.d_tag == DT_SYMTAB)
			ret->symbols = at;
		else if (d.d_tag == DT_STRTAB)
			ret->names = at;
		else if (d.d_tag == DT_STRSZ)
			ret->names_size = d.d_un.d_val;
		else if (d.d_tag == DT_GNU_HASH)
			ret->gnu_hash = at;
		else if (d.d_tag == DT_HASH)
			ret->hash = at;
	}
	return ret->symbols && ret->names;
}

/* One more than the highest number in any chain: only the hash tables know. */
static uint64_t count_symbols(Elf *elf, const struct dynamic_table *t, uint64_t most)
{
	Elf_Data *data = elf_file_bytes(elf, t->gnu_hash ? t->gnu_hash : t->hash,
					UINT64_MAX, ELF_T_WORD);
	const uint32_t *w = data ? data->d_buf : NULL;
	uint64_t words = data ? data->d_size / sizeof(*w) : 0, last = 0;

	if (words < 4)
		return 0;
	if (!t->gnu_hash)
		return w[1] < most ? w[1] : most;
	/* buckets, first symbol, 64 bit words of the filter, shift */
	uint64_t first_bucket = 4 + 2 * (uint64_t)w[2], buckets = w[0], from = w[1];
	uint64_t chains = first_bucket + buckets;
	for (uint64_t i = first_bucket; i < chains && i < words; i++)
		last = w[i] > last ? w[i] : last;
	if (last < from)
		return 0;
	for (; last < most; last++) {
		uint64_t i = chains + last - from;
		if (i >= words || (w[i] & 1))
			break;
	}
	return last + 1;
}

static bool is_named_function(const GElf_Sym *sym, const Elf_Data *names)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_name &&
	       sym->st_name < names->d_size &&
	       memchr((const char *)names->d_buf + sym->st_name, 0,
		      names->d_size - sym->st_name);
}

int dynamic_symbols_add(struct symbols *s, Elf *elf, size_t most)
{
	struct dynamic_table t = {0};
	size_t before = s->count;
	GElf_Sym sym;
	int rc = 0;

	if (!read_dynamic(elf, &t))
		return -ENODATA;
	uint64_t count = count_symbols(elf, &t, most);
	Elf_Data *data =
		elf_file_bytes(elf, t.symbols, count * sizeof(Elf64_Sym), ELF_T_SYM);
	Elf_Data *names = elf_file_bytes(elf, t.names, t.names_size, ELF_T_BYTE);
	for (int i = 0;
	     data && names && rc == 0 && s->count < most && gelf_getsym(data, i, &sym);
	     i++) {
		if (is_named_function(&sym, names))
			rc = symbols_add_one(s, sym.st_value, sym.st_size,
					     (const char *)names->d_buf + sym.st_name);
	}
	return rc < 0 ? rc : (int)(s->count - before);
}
