/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/pod_size.h"

#include <string.h>

#include "lib/parse.h"

#define DIGITS_MAX 40u /* of a quantity: the API server writes fewer */

static uint64_t add_bounded(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_amount(struct pod_amount *to, const struct pod_amount *a)
{
	to->cpu_milli = add_bounded(to->cpu_milli, a->cpu_milli);
	to->memory_bytes = add_bounded(to->memory_bytes, a->memory_bytes);
}

static void raise_amount(struct pod_amount *to, const struct pod_amount *a)
{
	if (a->cpu_milli > to->cpu_milli)
		to->cpu_milli = a->cpu_milli;
	if (a->memory_bytes > to->memory_bytes)
		to->memory_bytes = a->memory_bytes;
}

void pod_size_add(struct pod_size *s, enum pod_part part, const struct pod_amount *a)
{
	struct pod_amount with_sidecars = *a;

	switch (part) {
	case PART_CONTAINER:
		add_amount(&s->sum, a);
		break;
	case PART_SIDECAR:
		add_amount(&s->sidecars, a);
		break;
	case PART_INIT:
		add_amount(&with_sidecars, &s->sidecars);
		raise_amount(&s->init, &with_sidecars);
		break;
	case PART_OVERHEAD:
		s->overhead = *a;
		break;
	case PART_WHOLE:
		s->whole = *a;
		break;
	}
}

void pod_size_add_container(struct pod_size *s, bool init, const char *restart_policy,
			    const struct pod_amount *now,
			    const struct pod_amount *asked)
{
	struct pod_amount a = pod_amount_or(now, asked);
	bool sidecar = init && strcmp(restart_policy, "Always") == 0;

	pod_size_add(s, sidecar ? PART_SIDECAR : init ? PART_INIT : PART_CONTAINER, &a);
}

struct pod_amount pod_size_total(const struct pod_size *s)
{
	struct pod_amount total = s->sum;

	add_amount(&total, &s->sidecars);
	raise_amount(&total, &s->init);
	if (s->whole.cpu_milli)
		total.cpu_milli = s->whole.cpu_milli;
	if (s->whole.memory_bytes)
		total.memory_bytes = s->whole.memory_bytes;
	add_amount(&total, &s->overhead);
	return total;
}

/* ---- quantities ------------------------------------------------------------------ */

struct suffix {
	char name[3];
	int exponent;  /* of ten */
	unsigned bits; /* or of two */
};

static const struct suffix suffixes[] = {
	{"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
	{"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10},
	{"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static bool multiply_bounded(uint64_t *v, uint64_t by)
{
	return !__builtin_mul_overflow(*v, by, v);
}

/* What follows the digits. False: not a suffix. */
static bool read_suffix(const char *p, size_t len, int *ret_exponent,
			unsigned *ret_bits)
{
	uint64_t number;

	if (!len)
		return true;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strlen(suffixes[i].name) != len ||
		    memcmp(suffixes[i].name, p, len) != 0)
			continue;
		*ret_exponent = suffixes[i].exponent;
		*ret_bits = suffixes[i].bits;
		return true;
	}
	if (*p != 'e' && *p != 'E')
		return false;
	bool minus = len > 1 && p[1] == '-';
	size_t skip = 1u + (minus || (len > 1 && p[1] == '+'));
	if (parse_u64_len(p + skip, len - skip, &number) < 0 || number > 30)
		return false;
	*ret_exponent = minus ? -(int)number : (int)number;
	return true;
}

bool pod_quantity(const char *text, size_t len, uint64_t *ret_milli)
{
	uint64_t value = 0;
	unsigned bits = 0, digits = 0;
	int exponent = 0, fraction = 0;
	size_t i = 0;
	bool dot = false, more = false;

	for (; i < len && i < DIGITS_MAX; i++) {
		if (text[i] == '.' && !dot) {
			dot = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			break;
		digits++;
		uint64_t digit = (uint64_t)(text[i] - '0');
		if (value > (UINT64_MAX - digit) / 10) {
			if (!dot)
				return false;
			more |= digit != 0; /* too small to count but by rounding */
			continue;
		}
		value = value * 10 + digit;
		fraction += dot;
	}
	if (!digits || !read_suffix(text + i, len - i, &exponent, &bits))
		return false;
	/* thousandths; binary suffixes first, so that 0.5Ki is exact */
	exponent += 3 - fraction;
	for (; bits; bits -= 10) {
		if (!multiply_bounded(&value, 1024))
			return false;
	}
	for (; exponent > 0; exponent--) {
		if (!multiply_bounded(&value, 10))
			return false;
	}
	for (; exponent < 0; exponent++) {
		more |= value % 10 != 0;
		value /= 10;
	}
	*ret_milli = add_bounded(value, more);
	return true;
}

void pod_amount_set(struct pod_amount *a, const char *name, const char *text,
		    size_t len)
{
	uint64_t milli;

	if (strcmp(name, "cpu") == 0 && pod_quantity(text, len, &milli))
		a->cpu_milli = milli;
	else if (strcmp(name, "memory") == 0 && pod_quantity(text, len, &milli))
		a->memory_bytes = milli / 1000 + (milli % 1000 != 0);
}

struct pod_amount pod_amount_or(const struct pod_amount *requests,
				const struct pod_amount *limits)
{
	return (struct pod_amount){
		.cpu_milli =
			requests->cpu_milli ? requests->cpu_milli : limits->cpu_milli,
		.memory_bytes = requests->memory_bytes ? requests->memory_bytes
						       : limits->memory_bytes,
	};
}
