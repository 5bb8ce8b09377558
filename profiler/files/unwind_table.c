/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/unwind_table.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "profiler/files/elf_file.h"

enum { WORD = 8, ALIGNED = 64, REG_MAX = 31 };

/* The numbers that DWARF has for the frame pointer, the stack pointer and what has the
 * return address; the rule of an entry of the procedure linkage table, which pushes
 * nothing on arm64 */
struct registers {
	unsigned machine; /* e_machine */
	int fp, sp, ra;
	unsigned char plt;
};
static const struct registers known_registers[] = {
	/* psABI, figure 3.36 */
	{EM_X86_64, 6, 7, 16, UNWIND_RULE(UNWIND_CFA_PLT, UNWIND_FP_SAME)},
	/* aadwarf64, 4.1 */
	{EM_AARCH64, 29, 31, 30, UNWIND_RULE(UNWIND_CFA_SP, UNWIND_FP_SAME)},
};

/* ---- rules ----------------------------------------------------------------------- */

/* The register and offset of an operation "register + offset". */
static int base_of(const Dwarf_Op *op, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*offset = (int64_t)op->number;
		return op->atom - DW_OP_breg0;
	}
	if (op->atom == DW_OP_bregx) {
		*offset = (int64_t)op->number2;
		return op->number <= REG_MAX ? (int)op->number : -1;
	}
	return -1;
}

static bool words_of(int64_t offset, int64_t least, int64_t most, int64_t *ret)
{
	*ret = offset / WORD;
	return offset % WORD == 0 && *ret >= least && *ret <= most;
}

/* binutils' and lld's entry: SP + 8 + ((IP & 15) >= 11) * 8 */
static bool is_plt(const Dwarf_Op *ops, size_t count)
{
	static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15,
					DW_OP_and,   DW_OP_lit11,  DW_OP_ge,
					DW_OP_lit3,  DW_OP_shl,    DW_OP_plus};

	if (count != sizeof(atoms) || ops[0].number != WORD)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (ops[i].atom != atoms[i])
			return false;
	}
	return true;
}

static enum unwind_cfa cfa_rule(Dwarf_Frame *frame, const struct registers *r,
				int64_t *words)
{
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	int64_t offset = 0;

	*words = 0;
	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0)
		return UNWIND_CFA_UNKNOWN;
	if (r->machine == EM_X86_64 && is_plt(ops, count))
		return UNWIND_CFA_PLT;
	int base = base_of(&ops[0], &offset);
	if (!words_of(offset, SHRT_MIN, SHRT_MAX, words))
		return UNWIND_CFA_UNKNOWN;
	if (count == 1 && base == r->sp)
		return UNWIND_CFA_SP;
	if (count == 1 && base == r->fp)
		return UNWIND_CFA_FP;
	if (count == 2 && base == r->fp && ops[1].atom == DW_OP_deref)
		return UNWIND_CFA_AT_FP;
	return UNWIND_CFA_UNKNOWN;
}

/* Whether a register's old value lies at CFA + words. */
static bool is_at_cfa(const Dwarf_Op *ops, size_t count, int64_t *words)
{
	return (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst)) &&
	       ops[0].atom == DW_OP_call_frame_cfa &&
	       words_of(count == 2 ? (int64_t)ops[1].number : 0, -(SHRT_MAX + 1ll) * 2,
			SHRT_MAX, words);
}

/* -1: none of ours */
static int fp_rule(Dwarf_Frame *frame, const struct registers *r, int64_t *words)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t count = 0;
	int64_t offset = 0;

	*words = 0;
	if (dwarf_frame_register(frame, r->fp, memory, &ops, &count) != 0)
		return -1;
	if (count == 0) /* the same value, or one that nobody needs */
		return UNWIND_FP_SAME;
	/* an expression may use the CFA, which comes first; compilers use the register
	 */
	if (count == 2 && base_of(&ops[1], &offset) == r->fp &&
	    words_of(offset, SCHAR_MIN, SCHAR_MAX, words))
		return UNWIND_FP_AT_FP;
	return is_at_cfa(ops, count, words) ? UNWIND_FP_AT_CFA : -1;
}

enum return_address { RA_UNKNOWN, RA_NONE, RA_IN_REGISTER, RA_AT_CFA };

/* The ABI marks the outermost frame by a return address that is undefined. */
static enum return_address ra_rule(Dwarf_Frame *frame, const struct registers *r,
				   int64_t *words)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t count = 0;

	*words = 0;
	if (dwarf_frame_register(frame, r->ra, memory, &ops, &count) != 0)
		return RA_UNKNOWN;
	if (count == 0)
		return ops == memory ? RA_NONE : RA_IN_REGISTER;
	return is_at_cfa(ops, count, words) ? RA_AT_CFA : RA_UNKNOWN;
}

/* A row's rule of frame pointer and return address, where it can say them; words of the
 * register that lies lower; -1: it cannot */
static int join_rules(unsigned machine, int fp, enum return_address ra,
		      int64_t ra_words, int64_t *words)
{
	if (machine == EM_X86_64)
		return ra == RA_AT_CFA && ra_words == -1 ? fp : -1;
	if (fp == UNWIND_FP_AT_CFA)
		return ra == RA_AT_CFA && ra_words == *words + 1 ? fp : -1;
	if (fp != UNWIND_FP_SAME || ra != RA_AT_CFA)
		return fp == UNWIND_FP_SAME && ra == RA_IN_REGISTER ? fp : -1;
	*words = ra_words;
	return UNWIND_RA_AT_CFA;
}

static bool fits_row(int64_t words)
{
	return words >= SCHAR_MIN && words <= SCHAR_MAX;
}

static void read_rule(Dwarf_Frame *frame, const struct registers *r,
		      struct unwind_row *row)
{
	int64_t cfa_words = 0, words = 0, ra_words = 0;
	enum unwind_cfa cfa = cfa_rule(frame, r, &cfa_words);
	enum return_address ra = ra_rule(frame, r, &ra_words);
	int fp = fp_rule(frame, r, &words);
	unsigned from = 0;

	fp = join_rules(r->machine, fp, ra, ra_words, &words);
	if (!fits_row(words) && r->machine == EM_AARCH64) {
		words += cfa_words;
		from = UNWIND_FROM_REGISTER;
	}
	if (ra == RA_NONE) {
		row->rule = UNWIND_RULE(UNWIND_CFA_END, 0);
	} else if (cfa != UNWIND_CFA_UNKNOWN && fp >= 0 && fits_row(words)) {
		row->rule = (unsigned char)(UNWIND_RULE(cfa, (unsigned)fp) | from);
		row->cfa_words = (short)cfa_words;
		row->fp_words = (signed char)words;
	}
}

/* ---- rows ------------------------------------------------------------------------ */

static int add_row(struct unwind_table *t, size_t most, const struct unwind_row *row)
{
	struct unwind_row *last = t->count ? &t->rows[t->count - 1] : NULL;

	if (last && last->pc == row->pc) { /* two functions that touch */
		*last = *row;
		return 0;
	}
	if (last && last->rule == row->rule && last->cfa_words == row->cfa_words &&
	    last->fp_words == row->fp_words)
		return 0;
	if (t->count == most)
		return -E2BIG;
	if (t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 1024;
		struct unwind_row *rows = reallocarray(t->rows, room, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		t->rows = rows;
		t->room = room;
	}
	t->rows[t->count++] = *row;
	return 0;
}

/* The rows of the function at *pc, which ends below next; *pc is where it ends. */
static int add_function(struct unwind_table *t, size_t most, Dwarf_CFI *cfi,
			const struct registers *r, Dwarf_Addr next, Dwarf_Addr *pc)
{
	Dwarf_Addr from = 0, to = 0;
	int rc = 0;

	while (rc == 0 && *pc < next) {
		struct unwind_row row = {.pc = (uint32_t)*pc};
		Dwarf_Frame *frame = NULL;
		if (dwarf_cfi_addrframe(cfi, *pc, &frame) != 0)
			break;
		if (dwarf_frame_info(frame, &from, &to, NULL) >= 0 && to > *pc &&
		    to <= UINT32_MAX) {
			read_rule(frame, r, &row);
			t->refused += row.rule == 0;
			rc = add_row(t, most, &row);
			*pc = to;
		} else {
			rc = -ENOEXEC;
		}
		free(frame);
	}
	return rc;
}

/* ---- the file -------------------------------------------------------------------- */

/* Where the functions begin that .eh_frame describes (LSB, exception frames, 10.6.1) */
struct frames {
	const struct registers *registers;
	Elf_Data *data;
	const unsigned char *ident;
	GElf_Addr address;      /* of data in the program */
	GElf_Addr plt, plt_end; /* the procedure linkage table; 0: none */
	Dwarf_Addr *starts;
	size_t count, room;
	Dwarf_Off cie; /* that was looked at last, and how its addresses are written */
	int encoding;  /* DW_EH_PE_...; -1: not in a way that is known */
};

/* By .eh_frame_hdr, as the unwinder of a program does (LSB, exception frames, 10.6.2);
 * what lies behind .eh_frame in its segment comes after a length of 0. */
static Elf_Data *find_by_header(Elf *elf, GElf_Addr *ret_address)
{
	enum { POINTER_AT = 4, HEAD_BYTES = 8 };
	GElf_Phdr p;
	int32_t offset;

	if (!elf_file_segment(elf, PT_GNU_EH_FRAME, 0, &p))
		return NULL;
	Elf_Data *head = elf_file_bytes(elf, p.p_vaddr, HEAD_BYTES, ELF_T_BYTE);
	const uint8_t *at = head ? head->d_buf : NULL;
	if (!at || head->d_size < HEAD_BYTES || at[0] != 1 ||
	    at[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return NULL;
	memcpy(&offset, at + POINTER_AT, sizeof(offset));
	*ret_address = p.p_vaddr + POINTER_AT + (GElf_Addr)(int64_t)offset;
	return elf_file_bytes(elf, *ret_address, UINT64_MAX, ELF_T_BYTE);
}

static void take_section(Elf_Scn *section, const char *name, const GElf_Shdr *head,
			 struct frames *f)
{
	bool is_code = (head->sh_flags & SHF_EXECINSTR) && head->sh_addr < UINT32_MAX &&
		       head->sh_size < UINT32_MAX;

	if (head->sh_type == SHT_NOBITS)
		return;
	if (is_code && (strcmp(name, ".plt") == 0 || strcmp(name, ".iplt") == 0)) {
		f->plt = head->sh_addr;
		f->plt_end = head->sh_addr + head->sh_size;
	}
	if (!f->data && strcmp(name, ".eh_frame") == 0) {
		f->data = elf_rawdata(section, NULL);
		f->address = head->sh_addr;
	}
}

static int find_eh_frame(Elf *elf, struct frames *ret, struct err *err)
{
	size_t names = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return err_set(err, -ENODATA, "no sections");
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &head)
					   ? elf_strptr(elf, names, head.sh_name)
					   : NULL;
		if (name)
			take_section(section, name, &head, ret);
	}
	if (!ret->data)
		ret->data = find_by_header(elf, &ret->address);
	ret->ident = (const unsigned char *)elf_getident(elf, NULL);
	ret->cie = (Dwarf_Off)-1;
	return ret->data ? 0 : err_set(err, -ENODATA, "no .eh_frame");
}

/* The letters of the augmentation say what its data hold. */
static int encoding_of(const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data;
	size_t left = cie->augmentation_data_size;

	for (const char *c = cie->augmentation; c && *c; c++) {
		size_t size = 1;
		if (*c == 'z' || *c == 'S' || *c == 'B')
			continue;
		if (*c != 'R' && *c != 'L' && *c != 'P')
			return -1;
		if (*c == 'P' && left)
			size += (at[0] & 7) == DW_EH_PE_absptr ? 8 : 4;
		if (left < size)
			return -1;
		if (*c == 'R')
			return at[0];
		at += size;
		left -= size;
	}
	return DW_EH_PE_absptr;
}

static int add_start(struct frames *f, const Dwarf_CFI_Entry *entry)
{
	const uint8_t *data = f->data->d_buf;
	size_t at = (size_t)(entry->fde.start - data);
	int32_t offset;

	if (f->cie != entry->fde.CIE_pointer) {
		Dwarf_CFI_Entry cie;
		Dwarf_Off next;
		f->cie = entry->fde.CIE_pointer;
		f->encoding = dwarf_next_cfi(f->ident, f->data, true, f->cie, &next,
					     &cie) == 0 &&
					      dwarf_cfi_cie_p(&cie)
				      ? encoding_of(&cie.cie)
				      : -1;
	}
	if (f->encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    (size_t)(entry->fde.end - entry->fde.start) < sizeof(offset))
		return 0; /* no compiler writes it in another way here */
	if (f->count == f->room) {
		size_t room = f->room ? f->room * 2 : 1024;
		Dwarf_Addr *starts = reallocarray(f->starts, room, sizeof(*starts));
		if (!starts)
			return -ENOMEM;
		f->starts = starts;
		f->room = room;
	}
	memcpy(&offset, data + at, sizeof(offset));
	f->starts[f->count++] = f->address + at + (GElf_Addr)(int64_t)offset;
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const Dwarf_Addr *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int list_starts(struct frames *f)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0, next = 0;
	int rc = 0;

	for (; rc == 0; at = next) {
		int more = dwarf_next_cfi(f->ident, f->data, true, at, &next, &entry);
		if (more == 1)
			break;
		if (more < 0 && (next <= at || next == (Dwarf_Off)-1))
			break; /* what comes before is good */
		if (more == 0 && !dwarf_cfi_cie_p(&entry))
			rc = add_start(f, &entry);
	}
	if (f->count)
		qsort(f->starts, f->count, sizeof(*f->starts), compare_starts);
	return rc;
}

/* What lies between functions: alignment; code that nobody describes; or the procedure
 * linkage table, which GNU ld describes in dynamic files of x86-64 alone, though memcpy
 * and its like are called through it in a static one, too. */
static int add_gap(struct unwind_table *t, size_t most, const struct frames *f,
		   Dwarf_Addr from, Dwarf_Addr to)
{
	struct unwind_row none = {.pc = (uint32_t)from};
	struct unwind_row plt = {.pc = (uint32_t)f->plt, .rule = f->registers->plt};
	int rc = 0;

	if (t->count && (to < from || to - from >= ALIGNED))
		rc = add_row(t, most, &none);
	if (rc < 0 || !f->plt_end || f->plt < from || f->plt_end > to)
		return rc;
	rc = add_row(t, most, &plt);
	none.pc = (uint32_t)f->plt_end;
	return rc < 0 || f->plt_end == to ? rc : add_row(t, most, &none);
}

static int add_functions(struct unwind_table *t, size_t most, Elf *elf,
			 struct frames *f, struct err *err)
{
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	Dwarf_Addr pc = 0;

	if (!cfi)
		return err_set(err, -ENODATA, ".eh_frame: %s", dwarf_errmsg(-1));
	int rc = list_starts(f);
	for (size_t i = 0; i < f->count && rc == 0 && f->starts[i] <= UINT32_MAX; i++) {
		Dwarf_Addr next = i + 1 < f->count ? f->starts[i + 1] : UINT32_MAX;
		if (f->starts[i] < pc)
			continue; /* described twice */
		if (i == 0)
			rc = add_gap(t, most, f, 0, f->starts[0]);
		if (rc < 0)
			break;
		pc = f->starts[i];
		rc = add_function(t, most, cfi, f->registers, next, &pc);
		t->frames++;
		if (rc == 0)
			rc = add_gap(t, most, f, pc, next);
	}
	(void)dwarf_cfi_end(cfi);
	if (rc == -E2BIG)
		return err_set(err, rc, "more than %zu rows", most);
	return rc < 0 ? err_set(err, rc, "%s", strerror(-rc)) : 0;
}

static const struct registers *find_registers(Elf *elf)
{
	GElf_Ehdr head;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	for (size_t i = 0; i < sizeof(known_registers) / sizeof(known_registers[0]);
	     i++) {
		if (known_registers[i].machine == head.e_machine)
			return &known_registers[i];
	}
	return NULL;
}

int unwind_table_read(int fd, size_t most, struct unwind_table *ret, struct err *err)
{
	struct frames frames = {0};

	*ret = (struct unwind_table){0};
	(void)elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	frames.registers = find_registers(elf);
	int rc = frames.registers
			 ? find_eh_frame(elf, &frames, err)
			 : err_set(err, -ENOEXEC, "no ELF file of x86-64 or arm64");
	if (rc == 0)
		rc = add_functions(ret, most, elf, &frames, err);
	if (rc < 0)
		unwind_table_free(ret);
	free(frames.starts);
	(void)elf_end(elf);
	return rc;
}

void unwind_table_free(struct unwind_table *t)
{
	free(t->rows);
	*t = (struct unwind_table){0};
}

const struct unwind_row *unwind_table_find(const struct unwind_table *t, uint32_t pc)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->rows[low - 1] : NULL;
}
