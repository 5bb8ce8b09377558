/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_IMPORT_H
#define CEEMS_AGGREGATOR_IMPORT_H

#include "aggregator/app.h"

/* Imports about jobs and people: sacct's output, sacctmgr's associations. */

/* --import WHAT[=FILE]: reads the file ("-": standard input), or runs Slurm's command
 * as our user, and prints what was imported. Repeating it changes nothing. */
int import_run(struct app *app, struct err *err);
/* --erase LOGIN or LOGIN:UID: replaces a person by a pseudonym. */
int erase_run(struct app *app, struct err *err);
/* --renumber CLUSTER/LOGIN:OLD:NEW: changes a person's uid. */
int renumber_run(struct app *app, struct err *err);
/* --settle CLUSTER/ID: accepts slurmctld's word on a unit's owner. */
int settle_run(struct app *app, struct err *err);
/* Whether these options are consistent. */
int import_check(const struct options *o, struct err *err);

/* Refreshes project members (--people.associations). */
extern const struct part part_people;

#endif
