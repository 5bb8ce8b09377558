/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes an energy page as ceemsd does, with what a test says: a node whose package is
 * measured by the source "fake", and one row. The tick is now.
 * usage: energy_page_put PATH JOB STEP STEPD_PID UJ DYNAMIC_UJ_PER_CPU_S MG_PER_KWH */
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/records/energy_page.h"

int main(int argc, char *argv[])
{
	uint64_t n[6];
	struct err err;
	struct energy_page_writer *w;
	if (argc != 8) {
		fprintf(stderr, "usage: %s PATH and six numbers\n", argv[0]);
		return 2;
	}
	for (int i = 0; i < 6; i++) {
		if (parse_u64(argv[i + 2], &n[i]) < 0) {
			fprintf(stderr, "%s: no number\n", argv[i + 2]);
			return 2;
		}
	}
	struct energy_page_node node = {
		.tick_ns = clock_boottime_ns(),
		.interval_ns = NSEC_PER_SEC,
		.total_mask = 1u << ENERGY_PAGE_PACKAGE,
		.dynamic_uj_per_cpu_s = n[4],
		.emission_mg_per_kwh = (uint32_t)n[5],
		.source = {[ENERGY_PAGE_PACKAGE] = "fake"},
		.emission_provider = "fake-grid",
	};
	struct energy_page_row row = {
		.job = (uint32_t)n[0],
		.step = (uint32_t)n[1],
		.stepd_pid = (uint32_t)n[2],
		.uj = {[ENERGY_PAGE_PACKAGE] = n[3]},
		.total_uj = n[3],
	};
	int rc = energy_page_writer_open(argv[1], ENERGY_PAGE_ROWS_MIN, &w, &err);
	if (rc == 0) {
		energy_page_begin(w, &node);
		rc = energy_page_add(w, &row);
		if (rc == 0)
			rc = energy_page_commit(w, &err);
		energy_page_writer_free(w);
	}
	if (rc < 0)
		fprintf(stderr, "%s: %s\n", argv[0], err.text);
	return rc < 0;
}
