/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_NVML_LAB_H
#define CEEMS_TEST_UNIT_NVML_LAB_H

/* The made-up library (test/fake/nvml.c) in the test's own process */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/nvml.h"
#include "test/unit/unit.h"

static char lab_library[4096];

static inline void lab_find_library(void)
{
	const char *build = getenv("BUILD");
	char here[2048] = "";

	if (!build)
		build = "build";
	if (build[0] != '/' && !getcwd(here, sizeof(here)))
		exit(1);
	snprintf(lab_library, sizeof(lab_library), "%s%s%s/nvml_fake.so", here,
		 *here ? "/" : "", build);
}

static inline struct nvml *lab_open_library(void)
{
	struct nvml *n = NULL;
	struct err err;

	if (nvml_open(lab_library, &n, &err) < 0)
		fail_msg("%s", err.text);
	return n;
}

#endif
