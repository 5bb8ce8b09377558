/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool setup: the command line and the questions. */
#include "cli/tool/setup.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/tool/tool.h"
#include "lib/http/client_url.h"
#include "lib/http/listen.h"
#include "lib/netaddr.h"

/* ---- answers --------------------------------------------------------------------- */

static size_t find_question(const struct setup *s, const char *name)
{
	size_t i = 0;

	while (s->role->questions[i].name &&
	       strcmp(s->role->questions[i].name, name) != 0)
		i++;
	return i; /* of none: an answer that is always empty */
}

const char *setup_answer(const struct setup *s, const char *name)
{
	return s->answers[find_question(s, name)];
}

bool setup_is_yes(const struct setup *s, const char *name)
{
	return strcasecmp(setup_answer(s, name), "yes") == 0;
}

int setup_check_yes(const char *answer, struct err *err)
{
	if (strcasecmp(answer, "yes") == 0 || strcasecmp(answer, "no") == 0)
		return 0;
	return err_set(err, -EINVAL, "\"%.60s\" is neither yes nor no", answer);
}

int setup_check_url(const char *answer, struct err *err)
{
	return *answer ? http_url_check(answer, err) : 0;
}

int setup_check_host(const char *answer, struct err *err)
{
	struct netaddr a;

	if (netaddr_parse(answer, &a) == 0)
		return 0;
	return err_set(err, -EINVAL, "\"%.60s\" is not an IP address", answer);
}

/* The host of [HOST]:PORT, "" for all addresses, as an address. */
static int read_listen_host(const char *address, char host[64], struct netaddr *ret)
{
	char port[16];
	int rc = listen_split(address, host, 64, port, sizeof(port));

	if (rc < 0 || strcmp(port, "0") == 0)
		return -EINVAL;
	return *host ? netaddr_parse(host, ret) : 0;
}

int setup_check_address(const char *answer, struct err *err)
{
	struct netaddr a;
	char host[64];

	if (read_listen_host(answer, host, &a) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "\"%.60s\" is not ADDRESS:PORT (such as 127.0.0.1:9010) or "
		       ":PORT",
		       answer);
}

bool setup_is_loopback(const char *address)
{
	struct netaddr a;
	char host[64];

	return read_listen_host(address, host, &a) == 0 && *host &&
	       netaddr_is_loopback(&a);
}

void setup_guess_aggregator(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/aggregator.d/" SETUP_FILE, s->dir);

	if (n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0)
		(void)snprintf(ret, SETUP_ANSWER_MAX, "http://127.0.0.1:9020");
}

void setup_guess_loopback(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "127.0.0.1");
}

/* ---- questions ------------------------------------------------------------------- */

static int check_setup_answer(const struct setup_question *q, const char *answer,
			      struct err *err)
{
	for (const char *c = answer; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return err_set(err, -EINVAL, "holds a control character");
	return q->check ? q->check(answer, err) : 0;
}

static bool ask_question(const struct setup_question *q, char answer[SETUP_ANSWER_MAX])
{
	char line[SETUP_ANSWER_MAX];
	struct err err = {""};

	for (int tries = 0; tries < 5; tries++) {
		printf("%s [%s]: ", q->text, answer);
		(void)fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return false;
		line[strcspn(line, "\n")] = '\0';
		const char *text = *line ? line : answer;
		if (strcmp(text, "-") == 0) /* takes the one before away */
			text = "";
		if (check_setup_answer(q, text, &err) == 0) {
			if (text != answer)
				(void)snprintf(answer, SETUP_ANSWER_MAX, "%s", text);
			return true;
		}
		printf("%s\n", err.text);
	}
	return false;
}

/* From the command line, else the last run, else a guess; then asked for. */
static int collect_answers(struct setup *s)
{
	struct err err = {""};

	setup_read_answers(s);
	for (size_t i = 0; s->role->questions[i].name; i++) {
		const struct setup_question *q = &s->role->questions[i];
		if (!s->given[i] && !*s->answers[i] && q->guess)
			q->guess(s, s->answers[i]);
		if (s->ask && q->text && !s->given[i] &&
		    !ask_question(q, s->answers[i]))
			return tool_usage_error("setup: no answer: --", q->name);
		if (check_setup_answer(q, s->answers[i], &err) < 0) {
			char what[64];
			(void)snprintf(what, sizeof(what), "setup: --%s: ", q->name);
			return tool_usage_error(what, err.text);
		}
	}
	return 0;
}

/* ---- the command ----------------------------------------------------------------- */

enum { OPT_DIR = 256, OPT_DEFAULTS, OPT_NO_START, OPT_FORCE, OPT_ANSWER };

static int read_setup_option(struct setup *s, int c, char **argv)
{
	if (c >= OPT_ANSWER) {
		size_t i = (size_t)(c - OPT_ANSWER);
		if (strlen(optarg) >= SETUP_ANSWER_MAX)
			return tool_usage_error("setup: too long: --",
						s->role->questions[i].name);
		/* "-" takes the one before away, here as where it is asked for */
		const char *text = strcmp(optarg, "-") == 0 ? "" : optarg;
		memcpy(s->answers[i], text, strlen(text) + 1);
		s->given[i] = true;
		return 0;
	}
	switch (c) {
	case OPT_DIR:
		s->dir = optarg;
		return 0;
	case OPT_DEFAULTS:
		s->ask = false;
		return 0;
	case OPT_NO_START:
		s->start = false;
		return 0;
	case OPT_FORCE:
		s->force = true;
		return 0;
	default:
		return tool_usage_error(c == ':' ? "needs a value: "
						 : "unknown option: ",
					argv[optind - 1]);
	}
}

static int read_setup_options(struct setup *s, int argc, char **argv)
{
	struct option longs[SETUP_QUESTIONS_MAX + 5] = {
		{"config-dir", required_argument, NULL, OPT_DIR},
		{"defaults", no_argument, NULL, OPT_DEFAULTS},
		{"no-start", no_argument, NULL, OPT_NO_START},
		{"force", no_argument, NULL, OPT_FORCE}};
	int c;

	for (int i = 0; s->role->questions[i].name; i++)
		longs[4 + i] = (struct option){s->role->questions[i].name,
					       required_argument, NULL, OPT_ANSWER + i};
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		int rc = read_setup_option(s, c, argv);
		if (rc)
			return rc;
	}
	return optind < argc ? tool_usage_error("unexpected argument: ", argv[optind])
			     : 0;
}

static int run_setup(const struct setup_role *role, int argc, char **argv)
{
	struct setup s = {.role = role,
			  .dir = "/etc/ceems",
			  .ask = isatty(STDIN_FILENO),
			  .start = true,
			  .f = {.out = stdout}};
	struct err err = {""};
	int rc = read_setup_options(&s, argc, argv);

	if (rc)
		return rc;
	/* services and Slurm's folder belong to the installed configuration */
	if (strcmp(s.dir, "/etc/ceems") != 0)
		s.start = false;
	rc = collect_answers(&s);
	if (rc)
		return rc;
	if (role->write(&s, &err) < 0) {
		(void)fprintf(stderr, "ceems_tool: setup: %s\n", err.text);
		return TOOL_FAILED;
	}
	role->check(&s);
	if (s.start && !s.f.count[LEVEL_FAIL])
		role->start(&s);
	else if (s.start)
		finding(&s.f, LEVEL_WARN, "correct it, then run setup again",
			"nothing was started: the configuration is refused");
	if (role->advise)
		role->advise(&s);
	return findings_end(&s.f);
}

int tool_setup_node(int argc, char **argv)
{
	return run_setup(&setup_node, argc, argv);
}

int tool_setup_aggregator(int argc, char **argv)
{
	return run_setup(&setup_aggregator, argc, argv);
}

int tool_setup_lb(int argc, char **argv)
{
	return run_setup(&setup_lb, argc, argv);
}
