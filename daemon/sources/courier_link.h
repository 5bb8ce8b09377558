/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_COURIER_LINK_H
#define CEEMS_DAEMON_SOURCES_COURIER_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/err.h"
#include "lib/records/courier_msg.h"

/* ceems-courier as a child of ceemsd: started, restarted when it dies, and read by a
 * thread. Its latest messages are kept; nothing waits for it. */
struct courier_link;

/* path: the program. args: more arguments, whose ownership is taken. Starts nothing
 * yet. -ENOENT and the like: the program cannot be found. */
int courier_link_new(const char *path, struct conf_list *args,
		     struct courier_link **ret, struct err *err);
void courier_args_done(struct conf_list *args);

/* Starts thread and child, as the calling user. */
int courier_link_start(struct courier_link *l, struct err *err);

/* The newest message of this kind and name. Copies it into buf (aligned to 8) and
 * returns its length; -EAGAIN: there is none yet; -EFBIG: size is too small.
 * COURIER_MESSAGE_MAX always suffices. Thread safe, never waits for the child. */
int courier_link_get(struct courier_link *l, enum courier_kind kind, const char *name,
		     void *buf, size_t size);

/* Ends and restarts the child, so that it reads its files again. Does not wait for
 * that. Thread safe; NULL-safe. */
void courier_link_restart(struct courier_link *l);

/* How often the child was started */
uint64_t courier_link_starts(struct courier_link *l);

/* Ends the child: it is asked to, has four seconds to end sessions, and is then killed.
 * NULL-safe. */
void courier_link_free(struct courier_link *l);

/* ---- daemon/courier_args.c ------------------------------------------------------- */

struct options;

/* Whether an enabled collector needs the courier. */
bool courier_wanted(const struct options *o);
/* The options that it shares with ceemsd, as --name=value; free with
 * courier_args_done(). bmc_address: of this node's BMC, used unless configured; "":
 * unknown. spool: the reports' folder. */
int courier_args(const struct options *o, const char *bmc_address, const char *spool,
		 struct conf_list *ret);
/* --check-config: err has what the courier says about its files. 0: they are valid, or
 * there are none. */
int courier_check(const struct options *o, struct err *err);
/* --courier.path, else ceems-courier in the folder of this program. Cut to fit. */
/* Whether the Redfish file names the BMC's host. Searches its lines only, since not
 * ceemsd but whoever asks the BMC parses it. */
bool courier_names_bmc(const struct options *o);
void courier_path(const struct options *o, char *ret, size_t size);

#endif
