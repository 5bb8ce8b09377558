/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_SETUP_H
#define CEEMS_CLI_TOOL_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/finding.h"

/* ceems_tool setup: asks a few questions about a kind of host and writes the answers as
 * drop-ins of the packaged configuration, which itself is not changed. */

#define SETUP_QUESTIONS_MAX 6
#define SETUP_ANSWER_MAX 1024

struct setup;

struct setup_question {
	const char *name; /* its option, without "--" */
	const char *text; /* NULL: only an option, never asked */
	/* The answer where none was given before; NULL: "" */
	void (*guess)(const struct setup *s, char ret[SETUP_ANSWER_MAX]);
	int (*check)(const char *answer, struct err *err); /* NULL: any is right */
};

struct setup_role {
	const char *name, *folder; /* "node", "ceemsd.d": of the answers' drop-in */
	const struct setup_question *questions; /* ends with a NULL name */
	int (*write)(struct setup *s, struct err *err);
	void (*check)(struct setup *s); /* of what was written, as findings */
	void (*start)(struct setup *s);
	void (*advise)(struct setup *s); /* prints what is left to do */
};

struct setup {
	const struct setup_role *role;
	const char *dir; /* of the configuration */
	bool ask, start, force;
	char answers[SETUP_QUESTIONS_MAX][SETUP_ANSWER_MAX];
	bool given[SETUP_QUESTIONS_MAX]; /* on the command line */
	struct findings f;
};

extern const struct setup_role setup_node, setup_aggregator, setup_lb;

/* The answer to a question of the role. */
const char *setup_answer(const struct setup *s, const char *name);
bool setup_is_yes(const struct setup *s, const char *name);

/* Checks of answers, and guesses. */
int setup_check_address(const char *answer, struct err *err); /* [HOST]:PORT */
int setup_check_host(const char *answer, struct err *err);    /* an IP address */
int setup_check_url(const char *answer, struct err *err);
int setup_check_yes(const char *answer, struct err *err);
bool setup_is_loopback(const char *address);
void setup_guess_aggregator(const struct setup *s, char ret[SETUP_ANSWER_MAX]);
void setup_guess_loopback(const struct setup *s, char ret[SETUP_ANSWER_MAX]);

/* ---- files (setup_file.c) -------------------------------------------------------- */

#define SETUP_FILE "50-setup.yaml"

/* Writes DIR/FOLDER/50-setup.yaml: for root and a group (NULL: for everybody), and says
 * so. A file that somebody has edited is kept, with ours beside it, but with --force.
 */
int setup_put_dropin(struct setup *s, const char *folder, const char *group,
		     const struct buf *body, struct err *err);

/* The text of the role's drop-in, if there is one; its answers are read again. */
void setup_read_answers(struct setup *s);
void setup_put_answers(const struct setup *s, struct buf *body);

/* The drop-in of a web configuration: user with a password that is kept in
 * DIR/secrets/NAME-USER.password for reader (an account, else root), and a certificate
 * of its own where the server listens beyond this host. */
int setup_put_web(struct setup *s, const char *web, const char *name, const char *user,
		  const char *reader, const char *group, const char *listen,
		  struct err *err);

/* A list of texts as YAML: ["a", "b"]; text has commas between them. */
void setup_put_list(struct buf *out, const char *text);
void setup_put_text(struct buf *out, const char *text);

/* ---- this host (setup_host.c) ---------------------------------------------------- */

/* Runs a program of this system, and says when it fails. */
int setup_run(struct setup *s, const char *const argv[]);
/* systemctl enable --now, or restart, of a unit */
void setup_start_unit(struct setup *s, const char *unit);
/* A program's --check-config of DIR/FILE, and its web configuration */
void setup_check_program(struct setup *s, const char *program, const char *file,
			 const char *web);

/* ---- Slurm (setup_slurm.c) ------------------------------------------------------- */

bool setup_slurm_is_here(void);
void setup_guess_controller(const struct setup *s, char ret[SETUP_ANSWER_MAX]);
void setup_guess_cluster(const struct setup *s, char ret[SETUP_ANSWER_MAX]);
/* Prints the lines that slurm.conf and plugstack.conf lack; with add, writes them. */
void setup_slurm_lines(struct setup *s, bool add);

#endif
