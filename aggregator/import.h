/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_IMPORT_H
#define CEEMS_AGGREGATOR_IMPORT_H

#include "aggregator/app.h"

/* What others know of jobs and people: sacct's output, sacctmgr's associations. */

/* --import WHAT[=FILE]: reads the file ("-": standard input), or runs Slurm's command
 * as the user that we are, and says what was taken. Doing it twice changes nothing. */
int import_run(struct app *app, struct err *err);
/* --erase LOGIN or LOGIN:UID: a person becomes a pseudonym. */
int erase_run(struct app *app, struct err *err);
/* --renumber CLUSTER/LOGIN:OLD:NEW: a person has another number. */
int renumber_run(struct app *app, struct err *err);
/* --settle CLUSTER/ID: slurmctld was right on whose a unit is. */
int settle_run(struct app *app, struct err *err);
/* Whether what these options say makes sense. */
int import_check(const struct options *o, struct err *err);

/* Refreshes who is in which project (--people.associations). */
extern const struct part part_people;

#endif
