/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_CONF_H
#define CEEMS_LIB_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/*
 * One table of options per program serves the command line, the YAML file, the
 * environment, --help, --check-config and doc/config.md. Precedence: default < CEEMS_*
 * environment < --config.file < its drop-ins (lib/conf/dropins.h) < command line. The
 * option "config.file" names the YAML file, which may be missing only at its default
 * path. An empty variable counts as unset.
 *
 * Command line: --name=value, --name value, and for CONF_BOOL --name and --no-name
 * (--no-collector.x for collector.x). Repeated CONF_LIST options append. YAML: nested
 * mappings and dotted keys are the same thing; where a name is also a prefix of others
 * ("collector.slurm" and "collector.slurm.psi-metrics") the nested mapping's key
 * "enabled" is the name itself. Sequences for CONF_LIST. An unknown key is an error
 * that names line and key. Environment: CEEMS_ + the name in upper case with '.' and
 * '-' as '_' (CEEMS_WEB_LISTEN_ADDRESS), plus the peer's own variable if .env names
 * one; lists are comma separated there.
 */

enum conf_kind {
	CONF_BOOL,     /* bool */
	CONF_U64,      /* uint64_t, with min and max */
	CONF_DURATION, /* uint64_t ms, with min and max in ms */
	CONF_BYTES,    /* uint64_t */
	CONF_STRING,   /* char *, owned; "" allowed */
	CONF_LIST,     /* struct conf_list, owned strings */
	CONF_ENUM,     /* int: index into choices */
};

struct conf_list {
	char **items;
	size_t count; /* at most CONF_LIST_MAX */
};
#define CONF_LIST_MAX 256
int conf_list_add(struct conf_list *l, const char *text); /* -ENOMEM, -E2BIG */
void conf_list_done(struct conf_list *l); /* frees the strings; l is empty then */

enum conf_flag {
	CONF_HIDDEN = 1 << 0, /* not in --help (still documented) */
	CONF_DEPRECATED =
		1 << 1, /* accepted with one log line naming the new name (.alias_of) */
	CONF_RELOAD = 1 << 2, /* takes effect on SIGHUP; others are reported as needing
				 a restart */
	CONF_ELSEWHERE =
		1 << 3, /* "config.file" alone: the program reads that file itself */
	CONF_OTHERS = 1 << 4, /* "config.file" alone: the file is shared with another
				 program; unknown keys are ignored */
	CONF_LATER = 1 << 5,  /* a CONF_BOOL for what a later release will do, or a
				 prefix ("name.") of such options: refused with that
				 message unless switched off; not in --help */
};

struct conf_opt {
	const char *name;
	enum conf_kind kind;
	size_t off; /* offsetof(struct options, member); aliases have their target's */
	const char *def;            /* default as text; "" or NULL: zero / empty */
	const char *help;           /* one line */
	unsigned flags;             /* enum conf_flag */
	const char *alias_of;       /* canonical name when this is another spelling */
	const char *env;            /* additional environment variable, or NULL */
	const char *const *choices; /* CONF_ENUM, NULL-terminated */
	uint64_t min, max;          /* CONF_U64, CONF_DURATION; max 0 = no limit */
};

/* A row of a program's table; its value is a member of the program's struct options.
 * Help and further members of struct conf_opt follow. */
#define CONF_ROW(name_, kind_, member_, def_, ...)                                     \
	{                                                                              \
		.name = name_, .kind = kind_,                                          \
		.off = offsetof(struct options, member_), .def = def_,                 \
		.help = __VA_ARGS__                                                    \
	}

/* Fills dst (zeroed by the caller, struct of the program) from all sources. argv may
 * hold --config.file=PATH. 0; 1: --help or --version was given and their text is in
 * out; negative errno, err names the flag, file:line or variable. warnings gets one
 * line per deprecated or ignored item. On failure dst is released. */
int conf_load(const struct conf_opt *opts, size_t n, const char *program, int argc,
	      char *const argv[], void *dst, struct buf *out, struct buf *warnings,
	      struct err *err);
void conf_release(const struct conf_opt *opts, size_t n, void *dst);

/* Whether two loaded structs have the same value of an option. At a reload, a
 * difference in an option without CONF_RELOAD needs a restart. */
bool conf_equal(const struct conf_opt *o, const void *a, const void *b);

/* The YAML reader alone, on a text: for the fuzzer and --check-config. On failure dst
 * may be partly set: call conf_release(). Errors read "FILE:LINE: what". */
int conf_load_yaml(const struct conf_opt *opts, size_t n, const char *text, size_t len,
		   const char *file, void *dst, struct err *err);

/* One row per option in the form of doc/config.md (a table), or of --help. */
void conf_help(const struct conf_opt *opts, size_t n, const char *program,
	       struct buf *out);
void conf_markdown(const struct conf_opt *opts, size_t n, struct buf *out);

#endif
