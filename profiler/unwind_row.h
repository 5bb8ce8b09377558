/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_UNWIND_ROW_H
#define CEEMS_PROFILER_UNWIND_ROW_H

/* How to step from a frame to its caller, from one address on to the next row's: what
 * DWARF's call frame information says (DWARF 5, 6.4), cut down to what compilers use,
 * so that a kernel program can follow it. Read by bpf/profile.bpf.c, too: no libc here.
 *
 * The canonical frame address (CFA) is the stack pointer of the caller. Offsets are in
 * words of 8 bytes. On x86-64 the return address lies in the 8 bytes below the CFA. On
 * arm64 it is in the link register until a function saves it: behind the frame pointer,
 * or alone. */

enum unwind_cfa {
	UNWIND_CFA_UNKNOWN, /* nothing is known, or it is no rule of these */
	UNWIND_CFA_END,     /* the outermost frame: it has no caller */
	UNWIND_CFA_SP,      /* stack pointer + cfa_words */
	UNWIND_CFA_FP,      /* frame pointer + cfa_words */
	UNWIND_CFA_AT_FP, /* what lies at frame pointer + cfa_words (realigned stack) */
	UNWIND_CFA_PLT    /* an entry of the procedure linkage table: see the ABI */
};

enum unwind_fp {
	UNWIND_FP_SAME,   /* the caller's frame pointer is the present one */
	UNWIND_FP_AT_CFA, /* it lies at CFA + fp_words */
	UNWIND_FP_AT_FP,  /* it lies at the present frame pointer + fp_words */
	UNWIND_RA_AT_CFA  /* arm64: as SAME, and the return address at CFA + fp_words */
};

struct unwind_row {
	unsigned int pc; /* from the module's first address on */
	short cfa_words;
	signed char fp_words;
	unsigned char rule; /* UNWIND_RULE() */
};

#define UNWIND_RULE(cfa, fp) ((unsigned char)((cfa) | (fp) << 4))
#define UNWIND_RULE_CFA(rule) ((rule)&15)
#define UNWIND_RULE_FP(rule) ((rule) >> 4 & 7)
/* arm64, where a large frame has them at its other end: fp_words are from the register
 * on that the CFA is made of */
#define UNWIND_FROM_REGISTER 0x80

#endif
