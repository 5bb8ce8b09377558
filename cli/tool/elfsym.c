/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one symbol's value. Everything in the file is checked against its length before
 * use: it may be anything. */
#include "cli/tool/elfsym.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/fs.h"

#define FILE_MAX (64u << 20)

struct image {
	const char *data;
	size_t len;
};

/* Copies len bytes at off, which also takes care of alignment. */
static bool copy_from_image(const struct image *f, uint64_t off, void *ret, size_t len)
{
	if (off > f->len || len > f->len - off)
		return false;
	memcpy(ret, f->data + off, len);
	return true;
}

static bool read_section(const struct image *f, const Elf64_Ehdr *e, unsigned i,
			 Elf64_Shdr *ret)
{
	return i < e->e_shnum && e->e_shoff <= f->len &&
	       copy_from_image(f, e->e_shoff + (uint64_t)i * sizeof(*ret), ret,
			       sizeof(*ret));
}

static bool name_is(const struct image *f, const Elf64_Shdr *strings, uint32_t at,
		    const char *symbol)
{
	size_t n = strlen(symbol) + 1;

	return at < strings->sh_size && n <= strings->sh_size - at &&
	       strings->sh_offset <= f->len && at <= f->len - strings->sh_offset &&
	       n <= f->len - strings->sh_offset - at &&
	       memcmp(f->data + strings->sh_offset + at, symbol, n) == 0;
}

static bool value_of(const struct image *f, const Elf64_Ehdr *e, const Elf64_Sym *sym,
		     uint32_t *ret)
{
	Elf64_Shdr s;

	if (sym->st_size != sizeof(*ret) || !read_section(f, e, sym->st_shndx, &s) ||
	    s.sh_type != SHT_PROGBITS || sym->st_value < s.sh_addr ||
	    sym->st_value - s.sh_addr > s.sh_size || s.sh_offset > f->len)
		return false;
	return copy_from_image(f, s.sh_offset + (sym->st_value - s.sh_addr), ret,
			       sizeof(*ret));
}

static int search_symbol(const struct image *f, const Elf64_Ehdr *e,
			 const Elf64_Shdr *table, const char *symbol, uint32_t *ret)
{
	Elf64_Shdr strings;

	if (table->sh_offset > f->len || table->sh_size > f->len - table->sh_offset ||
	    !read_section(f, e, table->sh_link, &strings))
		return -ENOENT;
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size;
	     at += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;
		if (!copy_from_image(f, table->sh_offset + at, &sym, sizeof(sym)))
			break;
		if (name_is(f, &strings, sym.st_name, symbol) &&
		    value_of(f, e, &sym, ret))
			return 0;
	}
	return -ENOENT;
}

int elfsym_u32(const void *data, size_t len, const char *symbol, uint32_t *ret,
	       struct err *err)
{
	const struct image f = {data, len};
	Elf64_Ehdr e;

	if (!copy_from_image(&f, 0, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -EINVAL, "not a shared object");
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
	    e.e_type != ET_DYN || e.e_shentsize != sizeof(Elf64_Shdr))
		return err_set(err, -EINVAL,
			       "not a 64-bit little-endian shared object");
	for (unsigned i = 0; i < e.e_shnum; i++) { /* at most 65535 */
		Elf64_Shdr s;
		if (!read_section(&f, &e, i, &s))
			return err_set(err, -EINVAL, "cut off");
		if (s.sh_type == SHT_DYNSYM)
			return search_symbol(&f, &e, &s, symbol, ret) == 0
				       ? 0
				       : err_set(err, -ENOENT, "no symbol %s", symbol);
	}
	return err_set(err, -ENOENT, "no symbol %s", symbol);
}

int elfsym_file_u32(const char *path, const char *symbol, uint32_t *ret,
		    struct err *err)
{
	struct buf b;

	buf_init(&b, FILE_MAX + 8192);
	int rc = fs_read_buf_at(AT_FDCWD, path, FILE_MAX, &b, err);
	if (rc == 0) {
		rc = elfsym_u32(b.data ? b.data : "", b.len, symbol, ret, err);
		if (rc < 0)
			err_prefix(err, rc, "%s", path);
	}
	buf_done(&b);
	return rc;
}
