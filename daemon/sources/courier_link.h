/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_COURIER_LINK_H
#define CEEMS_DAEMON_SOURCES_COURIER_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/err.h"
#include "lib/records/courier_msg.h"

/* ceems-courier as ceemsd's child: started, started again when it dies, listened to by
 * a thread of its own. What it said last is kept; nobody waits for it. */
struct courier_link;

/* path: of the program. args: further arguments, taken over. Nothing runs yet. -ENOENT
 * and the like: it is not there. */
int courier_link_new(const char *path, struct conf_list *args,
		     struct courier_link **ret, struct err *err);
void courier_args_done(struct conf_list *args);

/* Starts thread and child, as the user that calls. */
int courier_link_start(struct courier_link *l, struct err *err);

/* The newest message of this kind and name. Copies it into buf (aligned to 8, of size
 * bytes) and returns its length; -EAGAIN: none came yet; -EFBIG: size is too small.
 * COURIER_MESSAGE_MAX always fits. Thread safe, never waits for the child. */
int courier_link_get(struct courier_link *l, enum courier_kind kind, const char *name,
		     void *buf, size_t size);

/* Ends the child and starts it at once, so that it reads its files anew. Does not wait
 * for that. Thread safe; NULL-safe. */
void courier_link_restart(struct courier_link *l);

/* Times that the child was started */
uint64_t courier_link_starts(struct courier_link *l);

/* Ends the child: it is told, has four seconds to end sessions, then is killed.
 * NULL-safe. */
void courier_link_free(struct courier_link *l);

/* ---- daemon/courier_args.c ------------------------------------------------------- */

struct options;

/* Does any collector that is on live in the courier? */
bool courier_wanted(const struct options *o);
/* The options that it shares with ceemsd, as --name=value; freed by
 * courier_args_done(). bmc_address: of this node's BMC, for who was not told another;
 * "": not known. spool: where reports are. */
int courier_args(const struct options *o, const char *bmc_address, const char *spool,
		 struct conf_list *ret);
/* --check-config: what the courier says about its files is in err. 0: good,
 * or there is nothing to check. */
int courier_check(const struct options *o, struct err *err);
/* --courier.path, else ceems-courier in the folder of this program. Cut to fit. */
/* Does the Redfish file name the BMC's host? Told by its lines, since what asks the BMC
 * reads it, not ceemsd. */
bool courier_names_bmc(const struct options *o);
void courier_path(const struct options *o, char *ret, size_t size);

#endif
