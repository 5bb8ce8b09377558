/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/file_names.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "lib/cleanup.h"
#include "profiler/files/dynamic_symbols.h"
#include "profiler/files/go_names.h"
#include "profiler/files/readable_name.h"

#define SYMBOLS_MAX (1u << 20)
#define EMBEDDED_BYTES_MAX (16ul << 20)
enum { NAME_BYTES_MAX = 1024 };

static Elf_Scn *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	GElf_Shdr head;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &head)
					   ? elf_strptr(elf, names, head.sh_name)
					   : NULL;
		if (name && strcmp(name, wanted) == 0 && head.sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}

/* ---- .gnu_debugdata: an ELF file packed by xz, with a .symtab alone -------------- */

#ifdef HAVE_LZMA
static char *unpack_xz(const void *data, size_t size, size_t *ret_size)
{
	lzma_stream z = LZMA_STREAM_INIT;
	auto_free uint8_t *out = malloc(EMBEDDED_BYTES_MAX);

	if (!out || lzma_stream_decoder(&z, EMBEDDED_BYTES_MAX, 0) != LZMA_OK)
		return NULL;
	z.next_in = data;
	z.avail_in = size;
	z.next_out = out;
	z.avail_out = EMBEDDED_BYTES_MAX;
	lzma_ret rc = lzma_code(&z, LZMA_FINISH);
	*ret_size = z.total_out;
	lzma_end(&z);
	return rc == LZMA_STREAM_END ? (char *)steal_ptr(&out) : NULL;
}
#else
static char *unpack_xz(const void *data, size_t size, size_t *ret_size)
{
	(void)data;
	(void)size;
	(void)ret_size;
	return NULL;
}
#endif

static void add_embedded(struct file_names *n)
{
	Elf_Scn *section = find_section(n->elf, ".gnu_debugdata");
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	size_t size = 0;

	if (!data)
		return;
	n->embedded_data = unpack_xz(data->d_buf, data->d_size, &size);
	if (n->embedded_data)
		n->embedded = elf_memory(n->embedded_data, size);
	if (n->embedded)
		(void)symbols_add(&n->symbols, n->embedded, SHT_SYMTAB, SYMBOLS_MAX);
}

/* ---- the separate file with what was stripped ------------------------------------ */

static bool read_build_id(Elf *elf, struct build_id *ret)
{
	const void *bytes = NULL;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;

	*ret = (struct build_id){.len = 0};
	if (len < BUILD_ID_MIN || len > BUILD_ID_MAX)
		return false;
	memcpy(ret->bytes, bytes, (size_t)len);
	ret->len = (uint32_t)len;
	return true;
}

static bool open_debug_file(struct file_names *n, const char *root)
{
	char name[DEBUG_FILE_PATH_BYTES], path[PATH_MAX];
	struct build_id own;

	if (!n->id.len || !root)
		return false;
	debug_file_path(&n->id, name);
	int room = snprintf(path, sizeof(path), "%s/%s", root, name);
	if (room >= (int)sizeof(path))
		return false;
	n->debug_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n->debug =
		n->debug_fd < 0 ? NULL : elf_begin(n->debug_fd, ELF_C_READ_MMAP, NULL);
	if (read_build_id(n->debug, &own) && own.len == n->id.len &&
	    memcmp(own.bytes, n->id.bytes, own.len) == 0)
		return true;
	(void)elf_end(n->debug);
	n->debug = NULL;
	if (n->debug_fd >= 0)
		close(n->debug_fd);
	n->debug_fd = -1;
	return false;
}

/* What is asked of a server is told to it: a program that has its symbols misses too
 * little for that. */
static void find_debug_file(struct file_names *n, const char *root, const char *fetched,
			    bool stripped)
{
	(void)read_build_id(n->elf, &n->id);
	if (open_debug_file(n, root) || !stripped || !n->id.len)
		return;
	n->debug_file = open_debug_file(n, fetched) ? READER_DEBUG_FETCHED
						    : READER_DEBUG_MISSING;
}

/* ---- all ------------------------------------------------------------------------- */

void file_names_open(int fd, const char *debug_root, const char *fetched,
		     struct file_names *ret)
{
	*ret = (struct file_names){.debug_fd = -1};
	(void)elf_version(EV_CURRENT);
	ret->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!ret->elf || elf_kind(ret->elf) != ELF_K_ELF)
		return;
	bool dwarf = find_section(ret->elf, ".debug_info") != NULL;
	int whole = symbols_add(&ret->symbols, ret->elf, SHT_SYMTAB, SYMBOLS_MAX);
	if (!dwarf || whole <= 0)
		find_debug_file(ret, debug_root, fetched, whole <= 0);
	if (whole <= 0) {
		/* of several names for one function the first is taken */
		if (ret->debug)
			(void)symbols_add(&ret->symbols, ret->debug, SHT_SYMTAB,
					  SYMBOLS_MAX);
		if (symbols_add(&ret->symbols, ret->elf, SHT_DYNSYM, SYMBOLS_MAX) <= 0)
			(void)dynamic_symbols_add(&ret->symbols, ret->elf, SYMBOLS_MAX);
		add_embedded(ret);
		(void)go_names_add(&ret->symbols, ret->elf, SYMBOLS_MAX);
	}
	symbols_sort(&ret->symbols);
	if (dwarf || ret->debug)
		(void)inlined_open(dwarf ? ret->elf : ret->debug, &ret->inlined);
}

static void put_name(struct reader_names *ret, const char *symbol)
{
	size_t left = sizeof(ret->text) - ret->len;

	if (ret->count == READER_NAMES_MAX || left < NAME_BYTES_MAX / 4)
		return;
	if (left > NAME_BYTES_MAX)
		left = NAME_BYTES_MAX;
	ret->len += (uint32_t)readable_name(symbol, ret->text + ret->len, left) + 1;
	ret->count++;
}

void file_names_find(struct file_names *n, uint64_t address, struct reader_names *ret)
{
	const char *inlined[READER_NAMES_MAX];
	const char *symbol = symbols_find(&n->symbols, address);
	unsigned count = 0;

	ret->count = ret->len = 0;
	if (n->inlined.dwarf)
		count = inlined_find(&n->inlined, address, READER_NAMES_MAX, inlined);
	/* the linker's name tells clones and aliases apart */
	if (symbol && count)
		count--;
	for (unsigned i = 0; i < count; i++)
		put_name(ret, inlined[i]);
	if (symbol)
		put_name(ret, symbol);
}

void file_names_close(struct file_names *n)
{
	inlined_close(&n->inlined);
	symbols_free(&n->symbols);
	(void)elf_end(n->embedded);
	free(n->embedded_data);
	(void)elf_end(n->debug);
	if (n->debug_fd >= 0)
		close(n->debug_fd);
	(void)elf_end(n->elf);
	*n = (struct file_names){.debug_fd = -1};
}
