/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scrape as text. Samples are written once, in the order in which they come, and
 * divided into chunks of one family each; rendering walks the chunks family by family,
 * so that the output is grouped and sorted although a collector may go unit by unit.
 * Only the # lines depend on the format. */
#include "lib/prom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FAMILIES_MAX 65536u
/* Packed samples are written as text in pieces of about this. */
#define PIECE_BYTES 16384u

struct chunk {
	size_t start; /* in text; it ends where the next one starts */
	uint32_t family : 31;
	uint32_t packed : 1; /* struct packed_sample instead of text */
	uint32_t next;       /* of the same family; set when rendering */
};

struct packed_sample {
	struct prom_shared labels;
	uint64_t value;
};

struct family_slot {
	const struct prom_family *family;
	size_t name_len;
	uint32_t first, last; /* chunks; set when rendering */
};

struct prom {
	struct buf text;
	struct buf shared; /* labels of packed samples */
	size_t expanded;   /* bytes of text that packed samples become, at most */
	struct chunk *chunks;
	size_t chunk_count, chunk_cap;
	struct family_slot *slots;
	uint32_t slot_count, slot_cap;
	uint32_t *by_pointer; /* open addressing: index + 1 of a slot, 0 = free */
	const struct prom_family **keys;
	uint32_t hash_cap, hash_used;
	uint32_t current; /* slot, NONE before prom_family() */
	size_t samples;
	int error;
};

struct prom *prom_new(size_t max_bytes)
{
	struct prom *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	buf_init(&p->text, max_bytes);
	buf_init(&p->shared, max_bytes);
	p->current = NONE;
	return p;
}

void prom_free(struct prom *p)
{
	if (!p)
		return;
	buf_done(&p->text);
	buf_done(&p->shared);
	free(p->chunks);
	free(p->slots);
	free(p->by_pointer);
	free(p->keys);
	free(p);
}

void prom_reset(struct prom *p)
{
	buf_reset(&p->text);
	buf_reset(&p->shared);
	p->expanded = 0;
	p->chunk_count = 0;
	p->slot_count = 0;
	if (p->hash_cap)
		memset(p->by_pointer, 0, p->hash_cap * sizeof(*p->by_pointer));
	p->hash_used = 0;
	p->current = NONE;
	p->samples = 0;
	p->error = 0;
}

int prom_error(const struct prom *p)
{
	return p->error ? p->error : buf_error(&p->text);
}

size_t prom_samples(const struct prom *p)
{
	return p->samples;
}

/* Bytes that a label value may contain unescaped; others are checked. */
static bool is_plain_label_byte(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_label_value(struct buf *out, const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len;) {
		size_t run = i;
		while (run < len && is_plain_label_byte((unsigned char)s[run]))
			run++;
		buf_put(out, s + i, run - i);
		i = run;
		if (i == len)
			break;
		size_t n = utf8_len(s + i, len - i);
		if (n == 0) {
			buf_puts(out, "\xef\xbf\xbd");
			n = 1;
		} else if (s[i] == '\n') {
			buf_puts(out, "\\n");
		} else if (s[i] == '"' || s[i] == '\\') {
			buf_putc(out, '\\');
			buf_putc(out, s[i]);
		} else {
			buf_put(out, s + i, n);
		}
		i += n;
	}
}

static void put_prom_label(struct buf *out, const char *name, const char *value)
{
	buf_puts(out, name);
	buf_put(out, "=\"", 2);
	put_label_value(out, value);
	buf_putc(out, '"');
}

void prom_render_labels(struct buf *out, const struct prom_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_putc(out, i ? ',' : '{');
		put_prom_label(out, labels[i].name, labels[i].value);
	}
	if (n)
		buf_putc(out, '}');
}

void prom_render_more(struct buf *out, const struct buf *block, const char *name,
		      const char *value)
{
	buf_reset(out);
	if (buf_error(block)) {
		out->error = buf_error(block);
		return;
	}
	buf_put(out, block->data, block->len - 1);
	buf_putc(out, ',');
	put_prom_label(out, name, value);
	buf_putc(out, '}');
}

static uint32_t hash_pointer(const void *key, uint32_t cap)
{
	uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) & (cap - 1);
}

static bool hash_grow(struct prom *p)
{
	uint32_t cap = p->hash_cap ? p->hash_cap * 2 : 256;
	uint32_t *index = calloc(cap, sizeof(*index));
	const struct prom_family **keys = calloc(cap, sizeof(*keys));

	if (!index || !keys) {
		free(index);
		free(keys);
		p->error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < p->hash_cap; i++) {
		if (!p->by_pointer[i])
			continue;
		uint32_t h = hash_pointer(p->keys[i], cap);
		while (index[h])
			h = (h + 1) & (cap - 1);
		index[h] = p->by_pointer[i];
		keys[h] = p->keys[i];
	}
	free(p->by_pointer);
	free(p->keys);
	p->by_pointer = index;
	p->keys = keys;
	p->hash_cap = cap;
	return true;
}

/* The slot of a family with an unknown address: by name, else a new one. */
static uint32_t slot_by_name(struct prom *p, const struct prom_family *family)
{
	size_t len = strlen(family->name);

	for (uint32_t i = 0; i < p->slot_count; i++) {
		if (p->slots[i].name_len == len &&
		    memcmp(p->slots[i].family->name, family->name, len) == 0)
			return i;
	}
	if (p->slot_count == FAMILIES_MAX) {
		p->error = -EFBIG;
		return NONE;
	}
	if (p->slot_count == p->slot_cap) {
		uint32_t cap = p->slot_cap ? p->slot_cap * 2 : 64;
		struct family_slot *s = reallocarray(p->slots, cap, sizeof(*s));
		if (!s) {
			p->error = -ENOMEM;
			return NONE;
		}
		p->slots = s;
		p->slot_cap = cap;
	}
	p->slots[p->slot_count] =
		(struct family_slot){.family = family, .name_len = len};
	return p->slot_count++;
}

static uint32_t find_family_slot(struct prom *p, const struct prom_family *family)
{
	if (p->hash_used * 2 >= p->hash_cap && !hash_grow(p))
		return NONE;
	uint32_t h = hash_pointer(family, p->hash_cap);
	for (; p->by_pointer[h]; h = (h + 1) & (p->hash_cap - 1)) {
		if (p->keys[h] == family)
			return p->by_pointer[h] - 1;
	}
	uint32_t slot = slot_by_name(p, family);
	if (slot != NONE) {
		p->keys[h] = family;
		p->by_pointer[h] = slot + 1;
		p->hash_used++;
	}
	return slot;
}

static bool add_chunk(struct prom *p, uint32_t slot, bool packed)
{
	if (p->chunk_count == p->chunk_cap) {
		size_t cap = p->chunk_cap ? p->chunk_cap * 2 : 256;
		struct chunk *c = reallocarray(p->chunks, cap, sizeof(*c));
		if (!c) {
			p->error = -ENOMEM;
			return false;
		}
		p->chunks = c;
		p->chunk_cap = cap;
	}
	p->chunks[p->chunk_count++] = (struct chunk){
		.start = p->text.len, .family = slot, .next = NONE, .packed = packed};
	return true;
}

/* The last chunk is for what is put next: text, or packed samples */
static bool begin_chunk(struct prom *p, bool packed)
{
	struct chunk *c = &p->chunks[p->chunk_count - 1];

	if (c->packed == packed)
		return true;
	if (c->start != p->text.len)
		return add_chunk(p, p->current, packed);
	c->packed = packed;
	return true;
}

void prom_family(struct prom *p, const struct prom_family *family)
{
	if (prom_error(p))
		return;
	if (p->current != NONE && p->slots[p->current].family == family)
		return;
	uint32_t slot = find_family_slot(p, family);
	if (slot == NONE || slot == p->current)
		return;
	if (add_chunk(p, slot, false))
		p->current = slot;
}

/* Writes the name of the current family; false: nothing can be put. */
static bool begin_sample(struct prom *p)
{
	if (p->current == NONE || prom_error(p) || !begin_chunk(p, false))
		return false;
	const struct family_slot *s = &p->slots[p->current];
	buf_put(&p->text, s->family->name, s->name_len);
	return true;
}

static void end_sample(struct prom *p)
{
	buf_putc(&p->text, '\n');
	p->samples++;
}

static bool begin_labels(struct prom *p, const struct prom_label *labels, size_t n)
{
	if (!begin_sample(p))
		return false;
	prom_render_labels(&p->text, labels, n);
	buf_putc(&p->text, ' ');
	return true;
}

static bool begin_block(struct prom *p, const struct buf *block)
{
	if (buf_error(block)) {
		p->error = buf_error(block);
		return false;
	}
	if (!begin_sample(p))
		return false;
	char *at = buf_reserve(&p->text, block->len + 1);
	if (!at)
		return false;
	if (block->len)
		memcpy(at, block->data, block->len);
	at[block->len] = ' ';
	buf_commit(&p->text, block->len + 1);
	return true;
}

void prom_put_u64(struct prom *p, const struct prom_label *labels, size_t n, uint64_t v)
{
	if (!begin_labels(p, labels, n))
		return;
	buf_put_u64(&p->text, v);
	end_sample(p);
}

void prom_put_one(struct prom *p, const struct prom_family *family, const char *label,
		  const char *value, uint64_t v)
{
	const struct prom_label of = {label, value};

	prom_family(p, family);
	prom_put_u64(p, &of, label ? 1 : 0, v);
}

void prom_put_f64(struct prom *p, const struct prom_label *labels, size_t n, double v)
{
	if (!begin_labels(p, labels, n))
		return;
	buf_put_f64(&p->text, v);
	end_sample(p);
}

void prom_put_scaled(struct prom *p, const struct prom_label *labels, size_t n,
		     uint64_t v, unsigned decimals)
{
	if (!begin_labels(p, labels, n))
		return;
	buf_put_scaled(&p->text, v, decimals);
	end_sample(p);
}

/* The labels are written once; a sample has all but the brace at their end. */
static bool begin_part(struct prom *p, const char *suffix, const struct buf *labels)
{
	if (!begin_sample(p))
		return false;
	buf_puts(&p->text, suffix);
	buf_put(&p->text, labels->data, labels->len - 1);
	return true;
}

void prom_put_histogram(struct prom *p, const struct prom_label *labels, size_t n,
			const struct prom_histogram *h)
{
	auto_buf struct buf block = BUF_INIT;
	uint64_t count = 0;

	prom_render_labels(&block, labels, n);
	if (buf_error(&block)) {
		p->error = buf_error(&block);
		return;
	}
	for (size_t i = 0; i < h->buckets; i++) {
		if (!begin_part(p, "_bucket", &block))
			return;
		count += h->counts[i];
		buf_puts(&p->text, ",le=\"");
		buf_puts(&p->text, h->bounds[i]);
		buf_puts(&p->text, "\"} ");
		buf_put_u64(&p->text, count);
		end_sample(p);
	}
	if (!begin_part(p, "_sum", &block))
		return;
	buf_puts(&p->text, "} ");
	buf_put_scaled(&p->text, h->sum, h->decimals);
	end_sample(p);
	if (!begin_part(p, "_count", &block))
		return;
	buf_puts(&p->text, "} ");
	buf_put_u64(&p->text, count);
	end_sample(p);
}

void prom_put_block_u64(struct prom *p, const struct buf *block, uint64_t v)
{
	if (!begin_block(p, block))
		return;
	buf_put_u64(&p->text, v);
	end_sample(p);
}

void prom_put_block_f64(struct prom *p, const struct buf *block, double v)
{
	if (!begin_block(p, block))
		return;
	buf_put_f64(&p->text, v);
	end_sample(p);
}

void prom_put_block_scaled(struct prom *p, const struct buf *block, uint64_t v,
			   unsigned decimals)
{
	if (!begin_block(p, block))
		return;
	buf_put_scaled(&p->text, v, decimals);
	end_sample(p);
}

struct prom_shared prom_share_labels(struct prom *p, const struct buf *block)
{
	struct prom_shared s = {(uint32_t)p->shared.len, (uint32_t)block->len};

	if (buf_error(block) && !p->error)
		p->error = buf_error(block);
	buf_put(&p->shared, block->data, block->len);
	if (buf_error(&p->shared) && !p->error)
		p->error = buf_error(&p->shared);
	return s;
}

void prom_put_shared_u64(struct prom *p, struct prom_shared labels, uint64_t v)
{
	const struct packed_sample s = {labels, v};

	if (p->current == NONE || prom_error(p) || !begin_chunk(p, true))
		return;
	p->expanded += p->slots[p->current].name_len + labels.len + BUF_DIGITS_MAX + 2;
	/* its limit is that of the text which it becomes */
	if (p->text.max && p->expanded + p->text.len > p->text.max) {
		p->error = -EFBIG;
		return;
	}
	buf_put(&p->text, &s, sizeof(s));
	p->samples++;
}

struct prom_mark prom_mark(const struct prom *p)
{
	return (struct prom_mark){.bytes = p->text.len,
				  .chunks = p->chunk_count,
				  .samples = p->samples,
				  .shared = p->shared.len,
				  .expanded = p->expanded};
}

void prom_rollback(struct prom *p, struct prom_mark mark)
{
	buf_truncate(&p->text, mark.bytes);
	p->text.error = 0;
	buf_truncate(&p->shared, mark.shared);
	p->shared.error = 0;
	p->expanded = mark.expanded;
	p->chunk_count = mark.chunks;
	p->samples = mark.samples;
	/* the next writer must name its family */
	p->current = NONE;
	p->error = 0;
}

static size_t chunk_end(const struct prom *p, size_t i)
{
	return i + 1 < p->chunk_count ? p->chunks[i + 1].start : p->text.len;
}

static void link_chunks(struct prom *p)
{
	for (uint32_t i = 0; i < p->slot_count; i++)
		p->slots[i].first = p->slots[i].last = NONE;
	for (size_t i = 0; i < p->chunk_count; i++) {
		struct chunk *c = &p->chunks[i];
		struct family_slot *s = &p->slots[c->family];
		if (chunk_end(p, i) == c->start)
			continue;
		c->next = NONE;
		if (s->first == NONE)
			s->first = (uint32_t)i;
		else
			p->chunks[s->last].next = (uint32_t)i;
		s->last = (uint32_t)i;
	}
}

static int compare_families(const void *a, const void *b)
{
	const struct family_slot *const *x = a, *const *y = b;
	return strcmp((*x)->family->name, (*y)->family->name);
}

static bool ends_in_total(const struct family_slot *s)
{
	return s->name_len > 6 &&
	       memcmp(s->family->name + s->name_len - 6, "_total", 6) == 0;
}

static void put_family_help(struct buf *out, const char *s, enum prom_format format)
{
	for (; *s; s++) {
		if (*s == '\\')
			buf_puts(out, "\\\\");
		else if (*s == '\n')
			buf_puts(out, "\\n");
		else if (*s == '"' && format == PROM_OPENMETRICS)
			buf_puts(out, "\\\"");
		else
			buf_putc(out, *s);
	}
}

static void put_family_header(struct buf *out, const struct family_slot *s,
			      enum prom_format format)
{
	static const char *const text_types[] = {"counter", "gauge", "untyped",
						 "histogram"};
	static const char *const om_types[] = {"counter", "gauge", "unknown",
					       "histogram"};
	enum prom_type type = s->family->type;
	size_t name_len = s->name_len;
	const char *type_name = text_types[type];

	if (format == PROM_OPENMETRICS) {
		/* a counter's family is named without the suffix of its samples */
		if (type == PROM_COUNTER && ends_in_total(s))
			name_len -= 6;
		else if (type == PROM_COUNTER)
			type = PROM_UNKNOWN;
		type_name = om_types[type];
	}
	buf_puts(out, "# HELP ");
	buf_put(out, s->family->name, name_len);
	buf_putc(out, ' ');
	put_family_help(out, s->family->help ? s->family->help : "", format);
	buf_puts(out, "\n# TYPE ");
	buf_put(out, s->family->name, name_len);
	buf_putc(out, ' ');
	buf_puts(out, type_name);
	buf_putc(out, '\n');
}

struct pieces {
	void (*put)(void *arg, const char *text, size_t len);
	void *arg;
	struct buf text;
};

static void put_piece(struct pieces *to)
{
	if (to->text.len)
		to->put(to->arg, to->text.data, to->text.len);
	buf_truncate(&to->text, 0);
}

/* The line of a sample, whole or not at all */
static void put_packed_sample(const struct prom *p, const struct family_slot *s,
			      const struct packed_sample *sample, struct buf *to)
{
	char *begin =
		buf_reserve(to, s->name_len + sample->labels.len + BUF_DIGITS_MAX + 2);
	char *at = begin;

	if (!at)
		return;
	memcpy(at, s->family->name, s->name_len);
	at += s->name_len;
	memcpy(at, p->shared.data + sample->labels.start, sample->labels.len);
	at += sample->labels.len;
	*at++ = ' ';
	at += buf_print_u64(at, sample->value);
	*at++ = '\n';
	buf_commit(to, (size_t)(at - begin));
}

static void put_packed_chunk(const struct prom *p, size_t i, struct pieces *to)
{
	const struct family_slot *s = &p->slots[p->chunks[i].family];
	size_t end = chunk_end(p, i);
	struct packed_sample sample;

	for (size_t at = p->chunks[i].start; at + sizeof(sample) <= end;
	     at += sizeof(sample)) {
		memcpy(&sample, p->text.data + at, sizeof(sample));
		put_packed_sample(p, s, &sample, &to->text);
		if (to->text.len >= PIECE_BYTES)
			put_piece(to);
	}
}

static void put_chunk(const struct prom *p, size_t i, struct pieces *to)
{
	size_t start = p->chunks[i].start, len = chunk_end(p, i) - start;

	if (p->chunks[i].packed) {
		put_packed_chunk(p, i, to);
	} else if (to->text.len + len <= PIECE_BYTES) {
		buf_put(&to->text, p->text.data + start, len);
	} else {
		put_piece(to);
		to->put(to->arg, p->text.data + start, len);
	}
}

/* Families that have samples, by name. Returns how many. */
static uint32_t sort_families(struct prom *p, struct family_slot **ret)
{
	uint32_t n = 0;

	link_chunks(p);
	for (uint32_t i = 0; i < p->slot_count; i++) {
		if (p->slots[i].first != NONE)
			ret[n++] = &p->slots[i];
	}
	if (n)
		qsort(ret, n, sizeof(struct family_slot *), compare_families);
	return n;
}

int prom_render_pieces(struct prom *p, enum prom_format format,
		       void (*put)(void *arg, const char *text, size_t len), void *arg)
{
	struct pieces to = {put, arg, BUF_INIT};

	if (prom_error(p))
		return prom_error(p);
	struct family_slot **sorted =
		calloc(p->slot_count + 1u, sizeof(struct family_slot *));
	if (!sorted)
		return -ENOMEM;
	uint32_t n = sort_families(p, sorted);
	for (uint32_t i = 0; i < n; i++) {
		put_family_header(&to.text, sorted[i], format);
		for (uint32_t c = sorted[i]->first; c != NONE; c = p->chunks[c].next)
			put_chunk(p, c, &to);
	}
	free(sorted);
	if (format == PROM_OPENMETRICS)
		buf_puts(&to.text, "# EOF\n");
	put_piece(&to);
	int rc = buf_error(&to.text);
	buf_done(&to.text);
	return rc;
}

static void append_piece(void *arg, const char *text, size_t len)
{
	buf_put(arg, text, len);
}

int prom_render(struct prom *p, enum prom_format format, struct buf *out)
{
	int rc = prom_render_pieces(p, format, append_piece, out);

	return rc < 0 ? rc : buf_error(out);
}
