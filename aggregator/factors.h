/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_FACTORS_H
#define CEEMS_AGGREGATOR_FACTORS_H

#include "aggregator/app.h"

/* Emission factors and PUE: --emissions.zone and --emissions.pue go into cluster_zone
 * and pue; factors are fetched by ceems-courier's code and stored when they change. The
 * database computes the rest (aggregator/sql/0004_rollup.sql). */
extern const struct part part_factors;

/* "PROVIDER=ZONE" or "CLUSTER/PROVIDER=ZONE", and "1.25" or "CLUSTER=1.25". cluster is
 * "" for all clusters. -EINVAL with a text. */
#define FACTOR_WORD_BYTES 64
struct factor_zone {
	char cluster[FACTOR_WORD_BYTES], provider[FACTOR_WORD_BYTES],
		zone[FACTOR_WORD_BYTES];
};
struct factor_pue {
	char cluster[FACTOR_WORD_BYTES];
	double pue;
};
int factor_zone_read(const char *text, struct factor_zone *ret, struct err *err);
int factor_pue_read(const char *text, struct factor_pue *ret, struct err *err);

#endif
