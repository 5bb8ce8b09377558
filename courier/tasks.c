/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks of ceems-courier. One const struct task per file; its row here. */
#include "courier/courier.h"

extern const struct task task_debuginfod;
extern const struct task task_emissions_emaps;
extern const struct task task_emissions_file;
extern const struct task task_emissions_rte;
extern const struct task task_emissions_wt;
extern const struct task task_profiles;
extern const struct task task_redfish;
extern const struct task task_ship;

/* clang-format off */
const struct task *const tasks[] = {
	&task_debuginfod,
	&task_emissions_emaps,
	&task_emissions_file,
	&task_emissions_rte,
	&task_emissions_wt,
	&task_profiles,
	&task_redfish,
	&task_ship,
};
/* clang-format on */
const size_t tasks_count = sizeof(tasks) / sizeof(tasks[0]);
