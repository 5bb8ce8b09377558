/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PROM_H
#define CEEMS_LIB_PROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

/*
 * Builds one scrape. Samples are written once, as text: the Prometheus text format
 * 0.0.4 and OpenMetrics 1.0 differ only in the # lines, so one snapshot renders to
 * both. Samples of families may be added in any order: rendering groups them (all
 * samples of a family together, families sorted by name). Not thread safe.
 */

enum prom_type {
	PROM_COUNTER,
	PROM_GAUGE,
	PROM_UNKNOWN,  /* a kept name whose peer type OpenMetrics forbids:
			  "untyped"/"unknown" */
	PROM_HISTOGRAM /* prom_put_histogram() alone */
};

/* Declare as static const; compared by name. name is as in the samples ("..._total").
 * A PROM_COUNTER whose name does not end in _total renders as unknown in OpenMetrics,
 * so that both formats give the same series. help: one line, names the source. */
struct prom_family {
	const char *name;
	enum prom_type type;
	const char *help;
};

struct prom_label {
	const char *name;
	const char *value; /* escaped when written; invalid UTF-8 becomes U+FFFD */
};

enum prom_format { PROM_TEXT, PROM_OPENMETRICS };

#define PROM_CONTENT_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define PROM_CONTENT_TYPE_OPENMETRICS                                                  \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"

struct prom;

struct prom *prom_new(size_t max_bytes); /* NULL: no memory */
void prom_free(struct prom *p);
void prom_reset(struct prom *p);      /* empties, keeps memory */
int prom_error(const struct prom *p); /* sticky: 0, -ENOMEM, -EFBIG */
size_t prom_samples(const struct prom *p);

/* Writes the label block "{a=\"b\",...}" (nothing for n = 0) into out, for reuse: a
 * unit's labels are rendered once in its life, not once per sample. */
void prom_render_labels(struct buf *out, const struct prom_label *labels, size_t n);
/* Fills out with the labels of block, of which there are some, and one more. */
void prom_render_more(struct buf *out, const struct buf *block, const char *name,
		      const char *value);

/* The family that the next samples belong to. */
void prom_family(struct prom *p, const struct prom_family *family);

void prom_put_u64(struct prom *p, const struct prom_label *labels, size_t n,
		  uint64_t v);
/* A family with a sample of one label; label NULL: of none. */
void prom_put_one(struct prom *p, const struct prom_family *family, const char *label,
		  const char *value, uint64_t v);
void prom_put_f64(struct prom *p, const struct prom_label *labels, size_t n, double v);
/* v * 10^-decimals exactly: nanoseconds as seconds with decimals = 9 */
void prom_put_scaled(struct prom *p, const struct prom_label *labels, size_t n,
		     uint64_t v, unsigned decimals);
/* The same with a label block made by prom_render_labels(). */
void prom_put_block_u64(struct prom *p, const struct buf *block, uint64_t v);
void prom_put_block_f64(struct prom *p, const struct buf *block, double v);
void prom_put_block_scaled(struct prom *p, const struct buf *block, uint64_t v,
			   unsigned decimals);

/* The same with labels that many samples of this scrape have: a sample takes 16 bytes
 * until it is rendered. */
struct prom_shared {
	uint32_t start, len;
};
struct prom_shared prom_share_labels(struct prom *p, const struct buf *block);
void prom_put_shared_u64(struct prom *p, struct prom_shared labels, uint64_t v);

/* A classic histogram, with one label or more. bounds: of each bucket its upper one, as
 * text, the last "+Inf"; counts: of each bucket for itself. The sum is sum *
 * 10^-decimals. */
struct prom_histogram {
	const char *const *bounds;
	const uint64_t *counts;
	size_t buckets;
	uint64_t sum;
	unsigned decimals;
};
void prom_put_histogram(struct prom *p, const struct prom_label *labels, size_t n,
			const struct prom_histogram *h);

/* A collector's output is all or nothing: mark, collect, and roll back on failure. */
struct prom_mark {
	size_t bytes, chunks, samples, shared, expanded;
};
struct prom_mark prom_mark(const struct prom *p);
void prom_rollback(struct prom *p, struct prom_mark mark);

/* Appends the whole exposition to out. 0 or the sticky error. */
int prom_render(struct prom *p, enum prom_format format, struct buf *out);
/* The same piece by piece, each of whole lines. A piece is gone when put returns. */
int prom_render_pieces(struct prom *p, enum prom_format format,
		       void (*put)(void *arg, const char *text, size_t len), void *arg);

#endif
