/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_CACCT_H
#define CEEMS_CLI_CACCT_CACCT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cli/cacct/api.h"
#include "cli/cacct/columns.h"
#include "cli/cacct/jobsel.h"
#include "cli/cacct/kind.h"
#include "cli/cacct/site.h"
#include "cli/cacct/table.h"
#include "lib/buf.h"
#include "lib/err.h"

/* What the command line asked for, and the parts of cacct. */

#define CACCT_LIST_MAX 256

/* A comma-separated list option, given once or several times. */
struct cacct_list {
	char *items[CACCT_LIST_MAX]; /* into text */
	size_t count;
	char *text[16]; /* owned */
	size_t texts;
};

enum cacct_command {
	CACCT_TABLE,
	CACCT_REPORT,
	CACCT_SERIES,
	CACCT_USAGE,
	CACCT_PRINTED
};

enum cacct_period {
	CACCT_BY_NONE,
	CACCT_BY_DAY,
	CACCT_BY_WEEK,
	CACCT_BY_MONTH,
};

struct cacct {
	enum cacct_command command;
	struct site site;
	/* which */
	struct jobsel jobs;
	struct cacct_list users, accounts, states, partitions, clusters, qos, names,
		groups;
	struct kind_set kinds;
	bool all_users, all_clusters, steps, truncate;
	bool has_start, has_end;
	time_t now, start, end;
	/* what rows of usage are grouped by */
	bool by_cluster, by_account, by_user, has_by;
	enum cacct_period by_period;
	/* how */
	struct columns columns;
	bool long_form, own_columns, json;
	struct table_style style;
	struct columns_order order;
	bool summary;
	/* report and series */
	const char *report_of; /* as it was written */
	const char *html_file; /* NULL: text on stdout */
	const char *out_dir;
	unsigned step_s; /* of series, 0: what the server allows */
	bool color, terminal;
	bool flame;   /* of a report: where its time went, */
	bool off_cpu; /* blocked */
};

/* Reads the command line and the configuration. 0; -EINVAL and the like with a text;
 * CACCT_PRINTED in c->command: help or the like is in out. */
int cacct_options(int argc, char **argv, time_t now, struct cacct *c, struct buf *out,
		  struct err *err);
void cacct_done(struct cacct *c);

bool cacct_list_has(const struct cacct_list *l, const char *text); /* empty: true */

/* Whether the user asked for no users but herself. True if none were named. */
bool cacct_names_self(const struct cacct *c);
/* Appends the parameters for clusters, accounts and users. */
void cacct_put_whose(const struct cacct *c, bool has_users, struct buf *t);
/* Prints the server's warnings on stderr. */
void cacct_put_warnings(struct json_object *meta);

/* A row that was asked for. */
typedef int (*cacct_unit_f)(void *arg, const struct unit *u, struct json_object *row,
			    struct err *err);
/* Asks the API for the units and calls f for each selected one. */
int cacct_units(struct cacct *c, struct api *api, cacct_unit_f f, void *arg,
		struct json_object **ret_meta, struct err *err);

/* /units/{id} of a row: its nodes, steps and, by resolution (none, interval, hour), its
 * series of [from, to), 0: since ever, until now. Free with json_object_put(). */
int cacct_detail(struct api *api, const struct unit *u, const char *resolution,
		 int64_t from_s, int64_t to_s, struct json_object **ret,
		 struct err *err);

/* The commands: 0, or negative with a text. */
int cacct_table(struct cacct *c, struct api *api, struct buf *out, struct err *err);
int cacct_report(struct cacct *c, struct api *api, struct buf *out, struct err *err);
int cacct_usage(struct cacct *c, struct api *api, struct buf *out, struct err *err);
int cacct_series(struct cacct *c, struct api *api, struct buf *out, struct err *err);

#endif
