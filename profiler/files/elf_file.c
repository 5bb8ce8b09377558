/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/elf_file.h"

#include <errno.h>

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

bool elf_file_segment(Elf *elf, GElf_Word type, uint64_t address, GElf_Phdr *ret)
{
	size_t headers = 0;

	if (elf_getphdrnum(elf, &headers) != 0)
		return false;
	for (size_t i = 0; i < headers && gelf_getphdr(elf, (int)i, ret); i++) {
		if (ret->p_type == type &&
		    (type != PT_LOAD || (address >= ret->p_vaddr &&
					 address - ret->p_vaddr < ret->p_filesz)))
			return true;
	}
	return false;
}

Elf_Data *elf_file_bytes(Elf *elf, uint64_t address, uint64_t most, Elf_Type type)
{
	GElf_Phdr p;

	if (!elf_file_segment(elf, PT_LOAD, address, &p))
		return NULL;
	uint64_t into = address - p.p_vaddr, size = p.p_filesz - into;
	return elf_getdata_rawchunk(elf, (int64_t)(p.p_offset + into),
				    size < most ? size : most, type);
}
