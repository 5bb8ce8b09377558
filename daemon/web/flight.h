/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_FLIGHT_H
#define CEEMS_DAEMON_WEB_FLIGHT_H

#include "daemon/web/scrape.h"
#include "lib/err.h"

/* Scrapes on behalf of sleeping connections: a thread collects once for all requests
 * that came before it began, so that a slow collector delays no other page, and twelve
 * scrapers cost two collections. Thread safe. */

struct flight;

/* rc is 0 and the caller must unref result, or rc is negative and result NULL. Called
 * on the flight's thread. */
typedef void (*flight_done_f)(void *arg, int rc, struct scrape_result *result);

/* A waiting request, owned by the caller, who keeps it until done is called. */
struct flight_wait {
	struct flight_wait *next;
	flight_done_f done;
	void *arg;
};

int flight_new(struct scrape *scrape, struct flight **ret, struct err *err);
/* Ends the thread; waiting requests get -ESHUTDOWN first, later ones are refused. */
void flight_stop(struct flight *f);
void flight_free(struct flight *f); /* after flight_stop(); accepts NULL */

/* Submits a request. -ESHUTDOWN: stopping, done is not called. */
int flight_submit(struct flight *f, struct flight_wait *w);

#endif
