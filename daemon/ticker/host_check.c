/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line through the host's watts over the GPUs'. */
#include "daemon/ticker/host_check.h"

#define INTERVALS 30u /* at least */
#define SPREAD_W 40.0 /* standard deviation of the GPUs' power */
/* Power supplies and fans follow the GPUs even where the sensor does not see them. */
#define LEAST_INCLUDED 0.75
#define MOST_WITHOUT 0.3

void host_check_add(struct host_check *c, const struct energy_node *node,
		    uint64_t host_uj)
{
	uint64_t parts_uj =
		node->measured_uj[ENERGY_PACKAGE] + node->measured_uj[ENERGY_DRAM];
	uint64_t gpu_uj = node->measured_uj[ENERGY_GPU];
	uint64_t ns = node->last_ns - c->last_ns;

	if (c->last_ns && ns && node->source[ENERGY_GPU] != ENERGY_NO_SOURCE) {
		double x = (double)(gpu_uj - c->gpu_uj) * 1e3 / (double)ns;
		double y = ((double)host_uj - (double)(parts_uj - c->parts_uj)) * 1e3 /
			   (double)ns;
		c->n++;
		c->x += x;
		c->y += y;
		c->xx += x * x;
		c->xy += x * y;
	}
	c->last_ns = node->last_ns;
	c->parts_uj = parts_uj;
	c->gpu_uj = gpu_uj;
}

enum host_check_result host_check_result(const struct host_check *c, double *ret_slope)
{
	double n = (double)c->n;

	if (c->n < INTERVALS)
		return HOST_CHECK_UNSURE;
	double spread = c->xx / n - c->x / n * (c->x / n);
	if (spread < SPREAD_W * SPREAD_W)
		return HOST_CHECK_UNSURE;
	*ret_slope = (c->xy / n - c->x / n * (c->y / n)) / spread;
	if (*ret_slope >= LEAST_INCLUDED)
		return HOST_INCLUDES_GPUS;
	return *ret_slope <= MOST_WITHOUT ? HOST_WITHOUT_GPUS : HOST_CHECK_UNSURE;
}
