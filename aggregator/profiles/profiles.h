/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PROFILES_PROFILES_H
#define CEEMS_AGGREGATOR_PROFILES_PROFILES_H

#include "aggregator/app.h"

/*
 * POST /api/v1/profiles: a write-only way to the profile store, so that no node reaches
 * it: who reaches it can read everybody's profiles and write under any name. The answer
 * comes when the store has answered: nothing that was accepted waits here.
 */
extern const struct part part_profiles;

/* For the row in routes.c; arg is the struct app. */
void profiles_admit(void *arg, struct web_request *r);
void profiles_handle(void *arg, struct web_request *r);
void profiles_end(void *arg, struct web_request *r, unsigned status);

#endif
