/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_TLV_H
#define CEEMS_LIB_RECORDS_TLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Messages as bytes: a head of two bytes (u16, the message's type; all types are below
 * 256, so the first byte is the type), then fields as (u16 id, u16 length, value),
 * little-endian, unaligned. Readers skip unknown ids. Used for the records of the ring
 * (lib/records/record.h) and of the spool (lib/records/report.h).
 *
 * A table maps members of a struct to fields, for both directions.
 */

#define TLV_HEAD_BYTES 2u
#define TLV_FIELD_HEAD_BYTES 4u
#define TLV_NO_VAL 0xfffffffeu /* Slurm's NO_VAL: an absent number that may be 0 */

void tlv_put_le(unsigned char *p, uint64_t v, size_t bytes);
uint64_t tlv_get_le(const unsigned char *p, size_t bytes);

/* ---- writing --------------------------------------------------------------------- */

struct tlv_out {
	unsigned char *data;
	size_t size, len;
	bool full; /* a field did not fit; nothing is put from then on */
};

/* Begins a message in buf. -EMSGSIZE: not even room for the head. */
int tlv_begin(struct tlv_out *ret, void *buf, size_t size, uint8_t type);
/* Room for a value of len bytes (at most 65535), NULL when there is none. */
unsigned char *tlv_put(struct tlv_out *o, uint16_t id, size_t len);
void tlv_put_number(struct tlv_out *o, uint16_t id, uint64_t v, size_t bytes);
/* At most size bytes up to a NUL; an empty text is no field. */
void tlv_put_text(struct tlv_out *o, uint16_t id, const char *s, size_t size);

/* ---- reading --------------------------------------------------------------------- */

struct tlv_in {
	const unsigned char *p, *end;
};

struct tlv_value {
	uint16_t id;
	size_t len;
	const unsigned char *data; /* borrowed from the message */
};

/* 0 and the type, or -EPROTO when not even the head is there. */
int tlv_open(struct tlv_in *ret, const void *data, size_t len, uint16_t *ret_type);
/* 1: *ret is the next field; 0: no more; -EPROTO: truncated; ret->id is the field's if
 * its head was complete, else 0. */
int tlv_next(struct tlv_in *in, struct tlv_value *ret);

/* Copies at most len bytes up to a NUL into a text of dst_size: whole UTF-8
 * characters only (an invalid byte counts as one), the rest of dst is cleared. False:
 * it was cut. */
bool tlv_copy_text(char *dst, size_t dst_size, const char *s, size_t len);

/* ---- tables ---------------------------------------------------------------------- */

enum tlv_kind {
	TLV_U8,
	TLV_U32,
	TLV_U64,
	TLV_TEXT, /* a char array with NUL; on the wire without it, and without any zero
		     byte */
	TLV_OTHER, /* first of the kinds that the owner of the table handles itself */
};

struct tlv_member {
	uint16_t id;
	uint8_t kind;
	bool no_val; /* a number that is TLV_NO_VAL when absent, else 0 */
	uint32_t offset, size;
	const char *name; /* in error texts */
};

#define TLV_MEMBER(type, id, kind, member, no_val)                                     \
	{                                                                              \
		id, kind, no_val, (uint32_t)offsetof(type, member),                    \
			(uint32_t)sizeof(((type *)0)->member), #member                 \
	}

uint64_t tlv_get_member_number(const void *base, const struct tlv_member *m);
bool tlv_is_absent(const void *base, const struct tlv_member *m);

/* Puts a number or text of base; an absent one only if always is set. */
void tlv_put_member(struct tlv_out *o, const void *base, const struct tlv_member *m,
		    bool always);
/* Takes a number or text from v. -EPROTO with "what: field NAME: ..."; *ret_cut (may be
 * NULL) is set, never cleared, when a text did not fit. */
int tlv_get_member(void *base, const struct tlv_member *m, const struct tlv_value *v,
		   const char *what, bool *ret_cut, struct err *err);

/* The member with that id, NULL: none; *ret_index (may be NULL) is its index. */
const struct tlv_member *tlv_find(const struct tlv_member *members, size_t count,
				  uint16_t id, size_t *ret_index);
/* -EPROTO and the text "what: field NAME: problem (N bytes)" */
int tlv_bad(struct err *err, const char *what, const struct tlv_member *m,
	    const char *problem, size_t len);

#endif
