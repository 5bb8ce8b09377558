/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The series of a unit from the API. */
#include "cli/cacct/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/cacct.h"
#include "lib/cleanup.h"
#include "lib/http/json.h"
#include "lib/rfc3339.h"

#define QUESTIONS_MAX 1000

static const struct {
	const char *name; /* in CSV */
	const char *from;
} values[SERIES_VALUES] = {
	[SERIES_NODES] = {"nodes", "nodes"},
	[SERIES_CPU_S] = {"cpu_seconds", "cpu_seconds"},
	[SERIES_MEMORY_MEAN_BYTES] = {"memory_mean_bytes", "memory_mean_bytes"},
	[SERIES_MEMORY_PEAK_BYTES] = {"memory_peak_bytes", "memory_peak_bytes"},
	[SERIES_IO_READ_BYTES] = {"io_read_bytes", "io_read_bytes"},
	[SERIES_IO_WRITE_BYTES] = {"io_write_bytes", "io_write_bytes"},
	[SERIES_NET_RX_BYTES] = {"net_rx_bytes", "net_rx_bytes"},
	[SERIES_NET_TX_BYTES] = {"net_tx_bytes", "net_tx_bytes"},
	[SERIES_GPU_BUSY_S] = {"gpu_busy_seconds", "gpu_busy_seconds"},
	[SERIES_GPU_MEMORY_MEAN_BYTES] = {"gpu_memory_mean_bytes",
					  "gpu_memory_mean_bytes"},
	[SERIES_TOTAL_J] = {"energy_joules", "energy_joules.total"},
	[SERIES_PACKAGE_J] = {"package_joules", "energy_joules.package"},
	[SERIES_DRAM_J] = {"dram_joules", "energy_joules.dram"},
	[SERIES_PSYS_J] = {"psys_joules", "energy_joules.psys"},
	[SERIES_GPU_J] = {"gpu_joules", "energy_joules.gpu"},
	[SERIES_HOST_J] = {"host_joules", "energy_joules.host"},
	[SERIES_OTHER_J] = {"other_joules", "energy_joules.other"},
	[SERIES_COVERAGE] = {"coverage", "coverage"},
	[SERIES_GPU_SM_S] = {"gpu_sm_active_seconds", "gpu_sm_active_seconds"},
	[SERIES_GPU_OCCUPANCY_S] = {"gpu_sm_occupancy_seconds",
				    "gpu_sm_occupancy_seconds"},
	[SERIES_GPU_TENSOR_S] = {"gpu_tensor_active_seconds",
				 "gpu_tensor_active_seconds"},
	[SERIES_GPU_FP64_S] = {"gpu_fp64_active_seconds", "gpu_fp64_active_seconds"},
	[SERIES_GPU_FP32_S] = {"gpu_fp32_active_seconds", "gpu_fp32_active_seconds"},
	[SERIES_GPU_FP16_S] = {"gpu_fp16_active_seconds", "gpu_fp16_active_seconds"},
	[SERIES_GPU_DRAM_S] = {"gpu_dram_active_seconds", "gpu_dram_active_seconds"},
};

static int add_point(struct series *s, struct json_object *o, struct err *err)
{
	struct series_point p = {.t0_s = unit_json_number(o, "t0_ts") / 1e3,
				 .t1_s = unit_json_number(o, "t1_ts") / 1e3};

	if (!(p.t0_s >= 0) || !(p.t1_s > p.t0_s) || p.t1_s > 1e12)
		return 0;
	if (s->count && p.t0_s <= s->points[s->count - 1].t0_s)
		return 0;
	if (s->count == SERIES_POINTS_MAX)
		return err_set(err, -EFBIG, "a longer series than %u points",
			       SERIES_POINTS_MAX);
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct series_point *n = reallocarray(s->points, room, sizeof(*n));
		if (!n)
			return err_set(err, -ENOMEM, "out of memory");
		s->points = n;
		s->room = room;
	}
	for (size_t i = 0; i < SERIES_VALUES; i++)
		p.value[i] = unit_json_number(o, values[i].from);
	p.grams = json_object_get(unit_json_at(o, "grams"));
	s->points[s->count++] = p;
	return 0;
}

int series_add(struct series *s, struct json_object *detail, struct err *err)
{
	struct json_object *list = unit_json_at(detail, "series");

	if (!list || !json_object_is_type(list, json_type_array))
		return 0;
	size_t n = json_object_array_length(list);
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		int rc = 0;
		if (json_object_is_type(o, json_type_object))
			rc = add_point(s, o, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The server limits the points per answer; the next request begins where the last
 * ended. */
int series_load_window(struct api *api, const struct unit *u, const char *resolution,
		       int64_t from_s, int64_t to_s, struct series *ret,
		       struct err *err)
{
	for (int i = 0; i < QUESTIONS_MAX; i++) {
		auto_json struct json_object *detail = NULL;
		size_t before = ret->count;
		int rc = cacct_detail(api, u, resolution, from_s, to_s, &detail, err);
		if (rc == 0)
			rc = series_add(ret, detail, err);
		if (rc < 0)
			return rc;
		if (ret->count == before)
			return 0;
		int64_t next = (int64_t)ceil(ret->points[ret->count - 1].t1_s);
		if (next <= from_s || (to_s > 0 && next >= to_s))
			return 0;
		from_s = next;
	}
	return err_set(err, -EFBIG, "the series does not end");
}

int series_load(struct api *api, const struct unit *u, struct series *ret,
		struct err *err)
{
	int rc = series_load_window(api, u, "interval", 0, 0, ret, err);

	if (rc == 0 && !ret->count)
		rc = series_load_window(api, u, "hour", 0, 0, ret, err);
	return rc;
}

void series_done(struct series *s)
{
	for (size_t i = 0; i < s->count; i++)
		json_object_put(s->points[i].grams);
	free(s->points);
	memset(s, 0, sizeof(*s));
}

void series_put_csv(const struct series *s, struct buf *out)
{
	char time[RFC3339_BYTES];

	buf_puts(out, "time,t0,t1");
	for (size_t v = 0; v < SERIES_VALUES; v++)
		buf_printf(out, ",%s", values[v].name);
	buf_puts(out, "\r\n");
	for (size_t i = 0; i < s->count && !buf_error(out); i++) {
		const struct series_point *p = &s->points[i];
		rfc3339_print((uint64_t)p->t0_s, time);
		buf_printf(out, "%s,%.3f,%.3f", time, p->t0_s, p->t1_s);
		for (size_t v = 0; v < SERIES_VALUES; v++) {
			buf_putc(out, ',');
			if (!isnan(p->value[v]))
				buf_put_f64(out, p->value[v]);
		}
		buf_puts(out, "\r\n");
	}
}
