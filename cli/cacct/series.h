/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_SERIES_H
#define CEEMS_CLI_CACCT_SERIES_H

#include <json-c/json.h>
#include <stddef.h>

#include "cli/cacct/api.h"
#include "cli/cacct/unit.h"
#include "lib/buf.h"
#include "lib/err.h"

/* A unit's use by intervals, summed over its nodes. */

enum series_value {
	SERIES_NODES,
	SERIES_CPU_S,
	SERIES_MEMORY_MEAN_BYTES,
	SERIES_MEMORY_PEAK_BYTES,
	SERIES_IO_READ_BYTES,
	SERIES_IO_WRITE_BYTES,
	SERIES_NET_RX_BYTES,
	SERIES_NET_TX_BYTES,
	SERIES_GPU_BUSY_S,
	SERIES_GPU_MEMORY_MEAN_BYTES,
	SERIES_TOTAL_J,
	SERIES_PACKAGE_J,
	SERIES_DRAM_J,
	SERIES_PSYS_J,
	SERIES_GPU_J,
	SERIES_HOST_J,
	SERIES_OTHER_J,
	SERIES_COVERAGE,
	SERIES_GPU_SM_S,
	SERIES_GPU_OCCUPANCY_S,
	SERIES_GPU_TENSOR_S,
	SERIES_GPU_FP64_S,
	SERIES_GPU_FP32_S,
	SERIES_GPU_FP16_S,
	SERIES_GPU_DRAM_S,
	SERIES_VALUES
};

struct series_point {
	double t0_s, t1_s;           /* since 1970 */
	double value[SERIES_VALUES]; /* of the interval; NAN: not known */
	struct json_object *grams;   /* by provider; of hours alone, else NULL */
};

#define SERIES_POINTS_MAX 1000000u

struct series {
	struct series_point *points; /* by t0, without overlap */
	size_t count, room;
};

/* Asks the API for all of a unit's intervals, in several requests; by hours for those
 * that are no longer kept. */
int series_load(struct api *api, const struct unit *u, struct series *ret,
		struct err *err);
/* Those that overlap [from, to), as intervals or hours. */
int series_load_window(struct api *api, const struct unit *u, const char *resolution,
		       int64_t from_s, int64_t to_s, struct series *ret,
		       struct err *err);
void series_done(struct series *s);

/* Adds the points of a detail's "series". Points without times, or older than the last
 * one, are skipped. */
int series_add(struct series *s, struct json_object *detail, struct err *err);

/* CSV with a header: times as RFC 3339 in UTC and as seconds, then each value. */
void series_put_csv(const struct series *s, struct buf *out);

#endif
