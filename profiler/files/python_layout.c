/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/python_layout.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "profiler/files/elf_file.h"

/* 3.9 and 3.10: frames are objects. */
#define FRAME_OBJECTS                                                                  \
	.interpreters = 32, .interpreter_threads = 8, .thread_next = 8,                \
	.thread_id = 176, .thread_frame = 24, .frame_code = 32, .frame_previous = 24,  \
	.entry = PYTHON_ENTRY_EACH, .code_file = 104, .code_name = 112,                \
	.code_line = 40, .text = 48, .text_len = 16

/* What offsetof() says with the internal headers of each version: they stay as they are
 * from its first release on. interpreters: from _PyRuntime on. */
static const struct profile_python known[] = {
	{.minor = 9, FRAME_OBJECTS},
	{.minor = 10, FRAME_OBJECTS},
	{.minor = 11,
	 .interpreters = 40,
	 .interpreter_threads = 16,
	 .thread_next = 8,
	 .thread_id = 152,
	 .thread_frame = 56,
	 .has_cframe = 1,
	 .cframe_frame = 8,
	 .frame_code = 32,
	 .frame_previous = 48,
	 .frame_entry = 68,
	 .entry = PYTHON_ENTRY_FLAG,
	 .code_file = 112,
	 .code_name = 128,
	 .code_line = 72,
	 .text = 48,
	 .text_len = 16},
	{.minor = 12,
	 .interpreters = 40,
	 .interpreter_threads = 72,
	 .thread_next = 8,
	 .thread_id = 136,
	 .thread_frame = 56,
	 .has_cframe = 1,
	 .cframe_frame = 0,
	 .frame_code = 0,
	 .frame_previous = 8,
	 .frame_entry = 70,
	 .entry = PYTHON_ENTRY_SHIM,
	 .shim_owner = 3,
	 .code_file = 112,
	 .code_name = 128,
	 .code_line = 68,
	 .text = 40,
	 .text_len = 16},
};

/* Which of the 8-byte words of _Py_DebugOffsets
 * (Include/internal/pycore_debug_offsets.h) says what, in the order of offset_places()
 */
enum { WORDS_MAX = 96, PLACES = 13 };
static const uint8_t words_3_13[PLACES] = {5,  9,  21, 24, 23, 30, 29,
					   33, 35, 37, 39, 70, 69};
static const uint8_t words_3_14[PLACES] = {5,  9,  24, 27, 26, 33, 32,
					   36, 40, 42, 44, 80, 79};

static bool take_offsets(const uint64_t *words, const uint8_t *places,
			 struct profile_python *p)
{
	uint16_t *to[PLACES] = {
		NULL,
		&p->interpreter_threads,
		&p->thread_next,
		&p->thread_id,
		&p->thread_frame,
		&p->frame_code,
		&p->frame_previous,
		&p->frame_entry,
		&p->code_file,
		&p->code_name,
		&p->code_line,
		&p->text,
		&p->text_len,
	};

	for (int i = 0; i < PLACES; i++) {
		if (words[places[i]] > UINT16_MAX)
			return false;
		if (to[i])
			*to[i] = (uint16_t)words[places[i]];
	}
	p->interpreters = words[places[0]];
	return true;
}

static bool read_address(Elf *elf, uint64_t address, void *to, size_t size)
{
	const Elf_Data *data = elf_file_bytes(elf, address, size, ELF_T_BYTE);

	if (!data || data->d_size < size)
		return false;
	memcpy(to, data->d_buf, size);
	return true;
}

/* What tells versions apart that do not say it: each is exported by one, and all later
 */
enum python_symbol {
	SYMBOL_RUNTIME,
	SYMBOL_VERSION,
	SYMBOL_NEW_REF,      /* 3.10 */
	SYMBOL_CALL_NO_ARGS, /* 3.9 */
	SYMBOLS
};

static void find_symbols(Elf *elf, uint64_t ret[SYMBOLS])
{
	static const char *const names[SYMBOLS] = {"_PyRuntime", "Py_Version",
						   "Py_NewRef", "PyObject_CallNoArgs"};
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || !head.sh_entsize ||
		    (head.sh_type != SHT_DYNSYM && head.sh_type != SHT_SYMTAB))
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		size_t count = data ? data->d_size / head.sh_entsize : 0;
		for (size_t i = 0; i < count && i < (1u << 20); i++) {
			GElf_Sym sym;
			if (!gelf_getsym(data, (int)i, &sym) || !sym.st_value ||
			    sym.st_shndx == SHN_UNDEF)
				continue;
			const char *name = elf_strptr(elf, head.sh_link, sym.st_name);
			for (int n = 0; name && n < SYMBOLS; n++) {
				if (strcmp(name, names[n]) == 0)
					ret[n] = sym.st_value;
			}
		}
		if (ret[SYMBOL_RUNTIME])
			return;
	}
}

static int find_minor(Elf *elf, const uint64_t at[SYMBOLS])
{
	uint64_t version = 0;

	if (at[SYMBOL_VERSION] &&
	    read_address(elf, at[SYMBOL_VERSION], &version, sizeof(version)))
		return version >> 24 == 3 ? (int)(version >> 16 & 0xff) : 0;
	return at[SYMBOL_NEW_REF] ? 10 : at[SYMBOL_CALL_NO_ARGS] ? 9 : 0;
}

static int read_offsets(Elf *elf, uint64_t runtime, int minor,
			struct profile_python *ret)
{
	uint64_t words[WORDS_MAX] = {0};

	if (!read_address(elf, runtime, words, sizeof(words)) ||
	    memcmp(words, "xdebugpy", 8) != 0)
		return -EOPNOTSUPP;
	if (words[1] >> 16 != (0x0300u | (unsigned)minor) || words[2] != 0)
		return -EOPNOTSUPP; /* 2: free threads */
	ret->entry = PYTHON_ENTRY_SHIM;
	ret->shim_owner = 3; /* Include/internal/pycore_frame.h */
	ret->code_tags = minor >= 14 ? 3 : 0;
	if (!take_offsets(words, minor == 13 ? words_3_13 : words_3_14, ret))
		return -EOPNOTSUPP;
	ret->interpreters += runtime;
	return 0;
}

static int read_layout(Elf *elf, struct profile_python *ret)
{
	uint64_t at[SYMBOLS] = {0};

	find_symbols(elf, at);
	if (!at[SYMBOL_RUNTIME])
		return -ENODATA;
	int minor = find_minor(elf, at);
	*ret = (struct profile_python){.minor = (unsigned char)minor};
	if (minor == 13 || minor == 14)
		return read_offsets(elf, at[SYMBOL_RUNTIME], minor, ret);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].minor != minor)
			continue;
		*ret = known[i];
		ret->interpreters += at[SYMBOL_RUNTIME];
		return 0;
	}
	return -EOPNOTSUPP;
}

int python_layout_read(int fd, struct profile_python *ret)
{
	(void)elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int rc = elf && elf_kind(elf) == ELF_K_ELF ? read_layout(elf, ret) : -ENODATA;

	(void)elf_end(elf);
	return rc;
}
