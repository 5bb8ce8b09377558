/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PARSE_H
#define CEEMS_LIB_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers from outside: the whole string must be the number, overflow is -ERANGE,
 * anything else -EINVAL; no locale, no leading blanks, no sign unless stated. On
 * failure *ret is untouched. */
int parse_u64(const char *s, uint64_t *ret) __attribute__((warn_unused_result));
/* The same for len bytes without a NUL. */
int parse_u64_len(const char *s, size_t len, uint64_t *ret)
	__attribute__((warn_unused_result));
int parse_u32(const char *s, uint32_t *ret) __attribute__((warn_unused_result));
int parse_s64(const char *s, int64_t *ret) __attribute__((warn_unused_result));
int parse_f64(const char *s, double *ret) __attribute__((warn_unused_result));
/* 0 to 15; -1: not a hexadecimal digit, of either case. */
static inline int parse_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* true false yes no on off 1 0 */
int parse_bool(const char *s, bool *ret) __attribute__((warn_unused_result));
/* Prometheus durations in decreasing units ("1h30m", "15s", "250ms"); bare "0" is
 * allowed, other bare numbers are not. Result in ms. */
int parse_duration_ms(const char *s, uint64_t *ret) __attribute__((warn_unused_result));
/* Bytes: a number with an optional B, KB, KiB, MB, MiB, GB or GiB (1000 and 1024). */
int parse_bytes(const char *s, uint64_t *ret) __attribute__((warn_unused_result));
/* The number of CPUs or nodes in a kernel list ("0-3,8"). "" is 0. At most 1 Mi. */
int parse_list_count(const char *s, size_t len, uint32_t *ret)
	__attribute__((warn_unused_result));

/* "0,18\n" or "0-3\n": the CPUs (below 65536) of a kernel list. Returns how many;
 * -EINVAL; -E2BIG: more than max. */
int parse_cpus(const char *text, size_t len, uint32_t *ret, size_t max)
	__attribute__((warn_unused_result));

/* Scanners for /proc and cgroup text: work on [*p, end), advance *p on success only. */
int scan_u64(const char **p, const char *end, uint64_t *ret)
	__attribute__((warn_unused_result));
/* Skips blanks and tabs; returns false at end of text or line. */
bool scan_blank(const char **p, const char *end);
/* One line without its newline; false when nothing is left. */
bool scan_line(const char **p, const char *end, const char **ret_line, size_t *ret_len);
/* One blank-separated word of a line; false when nothing is left. */
bool scan_word(const char **p, const char *end, const char **ret_word, size_t *ret_len);

#endif
