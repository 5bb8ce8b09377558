/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_COURIER_ARGS_H
#define CEEMS_DAEMON_COURIER_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf/conf.h"
#include "lib/err.h"

struct options;

/* Whether an enabled collector needs the courier. */
bool courier_wanted(const struct options *o);
/* Whether debug files of profiled programs are: a server is named, and somebody may be
 * profiled. */
bool courier_fetches_debug_files(const struct options *o);
/* The options that it shares with ceemsd, as --name=value; free with
 * conf_list_done(). bmc_address: of this node's BMC, used unless configured; "":
 * unknown. spool: the reports' folder. */
int courier_args(const struct options *o, const char *bmc_address, const char *spool,
		 struct conf_list *ret);
/* --check-config: err has what the courier says about its files. 0: they are valid, or
 * there are none. */
int courier_check(const struct options *o, struct err *err);
/* Whether the Redfish file names the BMC's host. Searches its lines only, since not
 * ceemsd but whoever asks the BMC parses it. */
bool courier_names_bmc(const struct options *o);
/* --courier.path, else ceems-courier in the folder of this program. Cut to fit. */
void courier_path(const struct options *o, char *ret, size_t size);

#endif
