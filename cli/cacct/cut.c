/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A unit's part in a window. Slurm's accounting has no history of a job's sums and
 * returns whole ones with truncated times; the aggregator has them by hours and
 * intervals. */
#include "cli/cacct/cut.h"

#include <math.h>
#include <string.h>

#define HOUR_S 3600.0

struct span {
	double from_s, to_s;
};

static struct span life_of(const struct unit *u, double now_s)
{
	const double *n = u->number;

	return (struct span){n[UNIT_STARTED],
			     isnan(n[UNIT_ENDED]) ? now_s : n[UNIT_ENDED]};
}

static struct span common_span(struct span a, struct span b)
{
	struct span s = {fmax(a.from_s, b.from_s), fmin(a.to_s, b.to_s)};

	s.to_s = fmax(s.from_s, s.to_s);
	return s;
}

static double length_of(struct span s)
{
	return s.to_s - s.from_s;
}

bool cut_needs(const struct unit *u, double from_s, double to_s, double now_s)
{
	struct span life = life_of(u, now_s);

	return life.from_s < from_s || life.to_s > to_s;
}

void cut_times(struct unit *u, double from_s, double to_s, double now_s)
{
	double *n = u->number;

	/* as _cluster_get_jobs() of Slurm's accounting_storage/mysql */
	to_s = fmin(to_s, now_s);
	bool whole = !isnan(n[UNIT_ENDED]) && n[UNIT_ENDED] <= to_s &&
		     n[UNIT_STARTED] >= from_s;
	if (n[UNIT_STARTED] < from_s)
		n[UNIT_STARTED] = from_s;
	if (isnan(n[UNIT_ENDED]) || n[UNIT_ENDED] > to_s)
		n[UNIT_ENDED] = to_s;
	if (isnan(n[UNIT_STARTED]))
		n[UNIT_STARTED] = n[UNIT_ENDED];
	if (whole)
		return;
	n[UNIT_ELAPSED_S] = fmax(0, n[UNIT_ENDED] - n[UNIT_STARTED]);
	if (!isnan(n[UNIT_CPUS]))
		n[UNIT_CPU_ALLOC_S] = n[UNIT_CPUS] * n[UNIT_ELAPSED_S];
}

static const struct {
	enum unit_number to;
	enum series_value from;
	bool strict; /* missing in the hours of an older server */
} sums[] = {
	{UNIT_CPU_S, SERIES_CPU_S, false},
	{UNIT_IO_READ_BYTES, SERIES_IO_READ_BYTES, false},
	{UNIT_IO_WRITE_BYTES, SERIES_IO_WRITE_BYTES, false},
	{UNIT_NET_RX_BYTES, SERIES_NET_RX_BYTES, false},
	{UNIT_NET_TX_BYTES, SERIES_NET_TX_BYTES, false},
	{UNIT_ENERGY_J, SERIES_TOTAL_J, false},
	{UNIT_PACKAGE_J, SERIES_PACKAGE_J, false},
	{UNIT_DRAM_J, SERIES_DRAM_J, false},
	{UNIT_PSYS_J, SERIES_PSYS_J, false},
	{UNIT_GPU_J, SERIES_GPU_J, false},
	{UNIT_HOST_J, SERIES_HOST_J, false},
	{UNIT_OTHER_J, SERIES_OTHER_J, false},
	{UNIT_GPU_RATIO, SERIES_GPU_BUSY_S, true}, /* over time and GPUs, below */
	{UNIT_MEMORY_MEAN_BYTES, SERIES_MEMORY_MEAN_BYTES, true}, /* over time */
	{UNIT_COVERAGE, SERIES_COVERAGE, false},                  /* over time */
};

static const enum unit_number lost[] = {
	UNIT_CPU_USER_S,
	UNIT_CPU_SYSTEM_S,
	UNIT_CPU_RATIO,
	UNIT_CPU_SIDE_J,
	UNIT_GPU_SIDE_J,
	UNIT_MEMORY_RATIO,
	UNIT_GPU_MEMORY_RATIO,
	UNIT_MEMORY_PEAK_BYTES,
	UNIT_MEMORY_PEAK_RATIO,
	UNIT_WASTED_CPU_S,
	UNIT_WASTED_J,
	UNIT_WASTED_GPU_S,
	UNIT_WASTED_GPU_J,
	UNIT_GPU_IDLE_S,
	UNIT_GPU_ALLOC_S,
	UNIT_GPU_MEMORY_MEAN_BYTES,
	UNIT_GPU_MEMORY_PEAK_BYTES,
	UNIT_GPU_SM_RATIO,
	UNIT_GPU_OCCUPANCY_RATIO,
	UNIT_GPU_TENSOR_RATIO,
	UNIT_GPU_FP64_RATIO,
	UNIT_GPU_FP32_RATIO,
	UNIT_GPU_FP16_RATIO,
	UNIT_GPU_DRAM_RATIO,
};

static bool is_mean(enum series_value v)
{
	return v == SERIES_MEMORY_MEAN_BYTES || v == SERIES_GPU_MEMORY_MEAN_BYTES ||
	       v == SERIES_COVERAGE;
}

/* The share of a point that falls into the part, by time. A point covers time in which
 * the unit ran. */
static double share_of(const struct series_point *p, struct span life, struct span part,
		       enum series_value v)
{
	struct span whole = common_span((struct span){p->t0_s, p->t1_s}, life);
	double time_s = length_of(common_span(whole, part));

	if (!(time_s > 0))
		return 0;
	return is_mean(v) ? time_s : time_s / length_of(whole);
}

struct sum {
	double value, peak;
	bool known, missing;
};

static void add_points(struct sum *s, const struct series *of, struct span life,
		       struct span part, enum series_value v)
{
	for (size_t i = 0; i < of->count; i++) {
		const struct series_point *p = &of->points[i];
		double share = share_of(p, life, part, v);
		if (!(share > 0))
			continue;
		if (isnan(p->value[v])) {
			s->missing = true;
			continue;
		}
		s->known = true;
		s->value += share * p->value[v];
		s->peak = fmax(s->peak, p->value[v]);
	}
}

/* The window's part of the hour that an edge is in; empty if there is none. */
static struct span edge_part(const struct unit *u, const struct cut *cut, int which,
			     double now_s)
{
	struct span hour, life = life_of(u, now_s);

	if (!cut_edge(u, cut, which, now_s, &hour.from_s, &hour.to_s))
		return (struct span){0, 0};
	struct span part = common_span(
		hour, common_span(life, (struct span){cut->from_s, cut->to_s}));
	/* both edges in one hour: the first has all of it */
	double other;
	if (which == 1 && cut_edge(u, cut, 0, now_s, &other, &hour.to_s) &&
	    other == hour.from_s)
		return (struct span){0, 0};
	return part;
}

static bool series_has_part(const struct series *s, struct span life, struct span part)
{
	for (size_t i = 0; i < s->count; i++)
		if (share_of(&s->points[i], life, part, SERIES_CPU_S) > 0)
			return true;
	return false;
}

/* What the edge's hour has beyond its intervals: a job may use something after Slurm
 * has ended it. Both parts of such an hour get their share. */
static double find_rest(const struct cut *cut, int which, struct span life,
			struct span part, enum series_value v)
{
	double from_s = floor(part.from_s / HOUR_S) * HOUR_S;
	const struct span hour = {from_s, from_s + HOUR_S};
	struct sum told = {0}, all = {0};

	if (is_mean(v))
		return 1;
	add_points(&told, &cut->edges[which], life, hour, v);
	add_points(&all, &cut->hours, life, hour, v);
	return told.value > 0 ? fmax(1, all.value / told.value) : 1;
}

static struct sum sum_of(const struct unit *u, const struct cut *cut,
			 enum series_value v, double now_s)
{
	struct span life = life_of(u, now_s);
	struct span rest = common_span(life, (struct span){cut->from_s, cut->to_s});
	struct sum s = {0};

	for (int e = 0; e < 2; e++) {
		struct span part = edge_part(u, cut, e, now_s);
		if (!(length_of(part) > 0) ||
		    !series_has_part(&cut->edges[e], life, part))
			continue;
		struct sum some = {0};
		add_points(&some, &cut->edges[e], life, part, v);
		s.value += some.value * find_rest(cut, e, life, part, v);
		s.peak = fmax(s.peak, some.peak);
		s.known |= some.known;
		s.missing |= some.missing;
		if (e == 0)
			rest.from_s = part.to_s;
		else
			rest.to_s = part.from_s;
	}
	if (rest.to_s > rest.from_s)
		add_points(&s, &cut->hours, life, rest, v);
	return s;
}

static void add_hour_grams(struct unit *u, struct json_object *of_hour, double share)
{
	struct unit hour = {.grams_count = 0};

	unit_read_grams(&hour, of_hour);
	for (size_t i = 0; i < hour.grams_count; i++)
		for (size_t g = 0; g < u->grams_count; g++)
			if (strcmp(u->grams[g].provider, hour.grams[i].provider) == 0)
				u->grams[g].grams =
					(isnan(u->grams[g].grams) ? 0
								  : u->grams[g].grams) +
					share * hour.grams[i].grams;
}

/* A provider without any hour in the window is unknown there. */
static void drop_unknown_grams(struct unit *u)
{
	size_t kept = 0;

	for (size_t g = 0; g < u->grams_count; g++)
		if (!isnan(u->grams[g].grams))
			u->grams[kept++] = u->grams[g];
	u->grams_count = kept;
}

/* Grams in proportion to the energy of each hour. */
static void cut_grams(struct unit *u, const struct cut *cut, double now_s)
{
	struct span life = life_of(u, now_s);
	struct span window = common_span(life, (struct span){cut->from_s, cut->to_s});

	for (size_t g = 0; g < u->grams_count; g++)
		u->grams[g].grams = NAN;
	for (size_t i = 0; i < cut->hours.count; i++) {
		const struct series_point *p = &cut->hours.points[i];
		double share = share_of(p, life, window, SERIES_TOTAL_J);
		struct cut hour = *cut;
		hour.from_s = fmax(cut->from_s, p->t0_s);
		hour.to_s = fmin(cut->to_s, p->t1_s);
		if (share > 0 && share < 1 && p->value[SERIES_TOTAL_J] > 0) {
			struct sum part = sum_of(u, &hour, SERIES_TOTAL_J, now_s);
			share = fmin(1, part.value / p->value[SERIES_TOTAL_J]);
		}
		if (share > 0)
			add_hour_grams(u, p->grams, share);
	}
	drop_unknown_grams(u);
}

void cut_forget_sums(struct unit *u)
{
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		u->number[sums[i].to] = NAN;
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		u->number[lost[i]] = NAN;
	u->grams_count = 0;
}

/* The peer's kWh include the building's share, which is constant over a life. */
static double building_share(const struct unit *u)
{
	const double *n = u->number;
	double side = n[UNIT_CPU_SIDE_J] +
		      (isnan(n[UNIT_GPU_SIDE_J]) ? 0 : n[UNIT_GPU_SIDE_J]);

	return n[UNIT_ENERGY_J] > 0 ? side / n[UNIT_ENERGY_J] : NAN;
}

void cut_sums(struct unit *u, const struct cut *cut, double now_s)
{
	double *n = u->number, pue = building_share(u);
	bool has_gpu_side = !isnan(n[UNIT_GPU_SIDE_J]);
	struct unit whole = *u;
	double time_s = length_of(
		common_span(life_of(u, now_s), (struct span){cut->from_s, cut->to_s}));

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		n[lost[i]] = NAN;
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct sum s = sum_of(&whole, cut, sums[i].from, now_s);
		bool known = s.known && !(s.missing && sums[i].strict);
		n[sums[i].to] = !known                  ? NAN
				: is_mean(sums[i].from) ? s.value / time_s
							: s.value;
	}
	struct sum peak = sum_of(&whole, cut, SERIES_MEMORY_PEAK_BYTES, now_s);
	if (peak.known)
		n[UNIT_MEMORY_PEAK_BYTES] = peak.peak;
	n[UNIT_GPU_RATIO] /= n[UNIT_GPUS] * time_s;
	n[UNIT_GPU_ALLOC_S] = n[UNIT_GPUS] * time_s;
	n[UNIT_CPU_RATIO] = n[UNIT_CPU_S] / (n[UNIT_CPUS] * time_s);
	n[UNIT_MEMORY_RATIO] = n[UNIT_MEMORY_MEAN_BYTES] / n[UNIT_MEMORY_BYTES];
	double gpu_j = isnan(n[UNIT_GPU_J]) ? 0 : n[UNIT_GPU_J];
	n[UNIT_CPU_SIDE_J] = (n[UNIT_ENERGY_J] - gpu_j) * pue;
	if (has_gpu_side)
		n[UNIT_GPU_SIDE_J] = gpu_j * pue;
	cut_grams(u, cut, now_s);
}

bool cut_edge(const struct unit *u, const struct cut *cut, int which, double now_s,
	      double *ret_from_s, double *ret_to_s)
{
	struct span life = life_of(u, now_s);
	double at = which ? cut->to_s : cut->from_s;

	if (!(at > life.from_s && at < life.to_s) || fmod(at, HOUR_S) == 0)
		return false;
	*ret_from_s = floor(at / HOUR_S) * HOUR_S;
	*ret_to_s = *ret_from_s + HOUR_S;
	return true;
}
