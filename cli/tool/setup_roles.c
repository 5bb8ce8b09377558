/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool setup: what is asked about each kind of host, and what becomes of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/setup.h"
#include "lib/secret.h"

static void guess_no(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "no");
}

/* ---- node ------------------------------------------------------------------------ */

static void guess_node_listen(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "127.0.0.1:9010");
}

static const struct setup_question node_questions[] = {
	{"aggregator", "URL of the aggregator, - for none", setup_guess_aggregator,
	 setup_check_url},
	{"listen", "Address and port on which Prometheus reads metrics, :9010 for all",
	 guess_node_listen, setup_check_address},
	{"controller", "Does slurmctld run on this host? yes or no",
	 setup_guess_controller, setup_check_yes},
	{"slurm", "Add our lines to Slurm's files on this host now? yes or no",
	 guess_no, setup_check_yes},
	{"ca-file", NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL},
};

/* Where to send records, for ceemsd and for the courier beside slurmctld. */
static void put_aggregator_url(const struct setup *s, struct buf *out)
{
	if (!*setup_answer(s, "aggregator"))
		return;
	buf_puts(out, "aggregator.url: [");
	setup_put_text(out, setup_answer(s, "aggregator"));
	buf_puts(out, "]\n");
	if (*setup_answer(s, "ca-file")) {
		buf_puts(out, "aggregator.ca-file: ");
		setup_put_text(out, setup_answer(s, "ca-file"));
		buf_puts(out, "\n");
	}
}

/* Where cacct and the load balancer ask, under the peer's key. */
static void put_api_server(const struct setup *s, struct buf *out)
{
	buf_puts(out, "ceems_api_server:\n  web:\n    url: ");
	setup_put_text(out, setup_answer(s, "aggregator"));
	if (*setup_answer(s, "ca-file")) {
		buf_puts(out, "\n    tls_config:\n      ca_file: ");
		setup_put_text(out, setup_answer(s, "ca-file"));
	}
	buf_puts(out, "\n");
}

static int write_cacct(struct setup *s, struct err *err)
{
	auto_buf struct buf b = BUF_INIT;

	put_api_server(s, &b);
	return setup_put_dropin(s, "cacct.d", NULL, &b, err);
}

static int write_courier(struct setup *s, struct err *err)
{
	auto_buf struct buf b = BUF_INIT;

	put_aggregator_url(s, &b);
	buf_puts(&b, "ship.spool: [/var/spool/ceems/jobcomp]\n");
	return setup_put_dropin(s, "ceems-courier.d", NULL, &b, err);
}

static int write_node(struct setup *s, struct err *err)
{
	static const char *const tmpfiles[] = {"systemd-tmpfiles", "--create",
					       "ceems-jobcomp.conf", NULL};
	auto_buf struct buf b = BUF_INIT;
	const char *listen = setup_answer(s, "listen");
	int rc;

	setup_put_answers(s, &b);
	buf_puts(&b, "web.listen-address: [");
	setup_put_text(&b, listen);
	buf_puts(&b, "]\n");
	put_aggregator_url(s, &b);
	rc = setup_put_dropin(s, "ceemsd.d", "ceems", &b, err);
	if (rc == 0)
		rc = setup_put_web(s, "web-config.d", "ceemsd", "prometheus",
				   "prometheus", "ceems", listen, err);
	if (rc < 0 || !*setup_answer(s, "aggregator"))
		return rc;
	rc = write_cacct(s, err);
	if (rc == 0 && setup_is_yes(s, "controller")) {
		if (s->start) /* which the courier's check looks for */
			(void)setup_run(s, tmpfiles);
		rc = write_courier(s, err);
	}
	return rc;
}

static bool has_courier(const struct setup *s)
{
	return setup_is_yes(s, "controller") && *setup_answer(s, "aggregator");
}

static void check_node_files(struct setup *s)
{
	setup_check_program(s, "ceemsd", "ceemsd.yaml", "web-config.yaml");
	if (has_courier(s))
		setup_check_program(s, "ceems-courier", "ceems-courier.yaml", NULL);
}

static void start_node(struct setup *s)
{
	static const char *const link[] = {"ceems-slurm-plugins", "link", NULL};

	if (setup_slurm_is_here() && setup_run(s, link) == 0)
		finding(&s->f, LEVEL_OK, NULL, "plugins are in Slurm's own folder");
	setup_start_unit(s, "ceemsd");
	if (has_courier(s))
		setup_start_unit(s, "ceems-courier");
}

static void advise_node(struct setup *s)
{
	setup_slurm_lines(s, setup_is_yes(s, "slurm"));
}

const struct setup_role setup_node = {.name = "node",
				      .folder = "ceemsd.d",
				      .questions = node_questions,
				      .write = write_node,
				      .check = check_node_files,
				      .start = start_node,
				      .advise = advise_node};

/* ---- aggregator ------------------------------------------------------------------ */

static int check_database_url(const char *answer, struct err *err)
{
	const char *at = strchr(answer, '@'), *colon;

	if (!*answer)
		return 0;
	if (strncmp(answer, "postgresql://", 13) != 0)
		return err_set(err, -EINVAL,
			       "\"%.60s\" does not begin with "
			       "postgresql://",
			       answer);
	colon = strchr(answer + 13, ':');
	if (at && colon && colon < at)
		return err_set(err, -EINVAL,
			       "the URL holds a password: put it into a passfile, and "
			       "append ?passfile=FILE");
	return 0;
}

static void guess_aggregator_listen(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "127.0.0.1:9020");
}

static void guess_admins(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "root");
}

static const struct setup_question aggregator_questions[] = {
	{"database",
	 "Postgres server as postgresql://USER@HOST/DATABASE, - for a private one "
	 "(trials and small sites)",
	 NULL, check_database_url},
	{"listen", "Address and port on which nodes and users ask, :9020 for all",
	 guess_aggregator_listen, setup_check_address},
	{"front-end", "IP address of the load balancer and of Grafana",
	 setup_guess_loopback, setup_check_host},
	{"admins", "Logins that may see everything, with commas", guess_admins, NULL},
	{NULL, NULL, NULL, NULL},
};

static int write_aggregator(struct setup *s, struct err *err)
{
	auto_buf struct buf b = BUF_INIT, front = BUF_INIT;
	const char *listen = setup_answer(s, "listen"),
		   *host = setup_answer(s, "front-end");

	setup_put_answers(s, &b);
	if (*setup_answer(s, "database")) {
		buf_puts(&b, "db.url: ");
		setup_put_text(&b, setup_answer(s, "database"));
		buf_puts(&b, "\n");
	}
	buf_puts(&b, "web.listen-address: [");
	setup_put_text(&b, listen);
	buf_printf(&front, "munge:ceems-lb@%s,password:grafana@%s", host, host);
	buf_puts(&b, "]\nidentity.front-end: ");
	setup_put_list(&b, front.data ? front.data : "");
	buf_puts(&b, "\nadmin.users: ");
	setup_put_list(&b, setup_answer(s, "admins"));
	buf_puts(&b, "\n");
	int rc = setup_put_dropin(s, "aggregator.d", "ceems-aggregator", &b, err);
	return rc < 0 ? rc
		      : setup_put_web(s, "aggregator-web.d", "aggregator", "grafana",
				      "grafana", "ceems-aggregator", listen, err);
}

static void check_aggregator_files(struct setup *s)
{
	setup_check_program(s, "ceems_aggregator", "aggregator.yaml",
			    "aggregator-web.yaml");
}

static void start_aggregator(struct setup *s)
{
	setup_start_unit(s, "ceems_aggregator");
}

const struct setup_role setup_aggregator = {.name = "aggregator",
					    .folder = "aggregator.d",
					    .questions = aggregator_questions,
					    .write = write_aggregator,
					    .check = check_aggregator_files,
					    .start = start_aggregator};

/* ---- lb -------------------------------------------------------------------------- */

static int check_cluster_name(const char *answer, struct err *err)
{
	size_t n = strspn(answer, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-.");

	return n && !answer[n] ? 0
			       : err_set(err, -EINVAL,
					 "\"%.60s\" is not the name of a "
					 "cluster",
					 answer);
}

static void guess_prometheus(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "http://127.0.0.1:9090");
}

static void guess_api(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	(void)s;
	(void)snprintf(ret, SETUP_ANSWER_MAX, "http://127.0.0.1:9020");
}

static const struct setup_question lb_questions[] = {
	{"cluster", "Name of the cluster, ClusterName of slurm.conf",
	 setup_guess_cluster, check_cluster_name},
	{"prometheus", "URL of its Prometheus", guess_prometheus, setup_check_url},
	{"aggregator", "URL of the aggregator", guess_api, setup_check_url},
	{"grafana", "IP address of Grafana", setup_guess_loopback, setup_check_host},
	{"ca-file", NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL},
};

static int write_lb(struct setup *s, struct err *err)
{
	auto_buf struct buf b = BUF_INIT;

	setup_put_answers(s, &b);
	buf_puts(&b, "ceems_lb:\n  backends:\n    - id: ");
	setup_put_text(&b, setup_answer(s, "cluster"));
	buf_puts(&b, "\n      tsdb:\n        - web:\n            url: ");
	setup_put_text(&b, setup_answer(s, "prometheus"));
	buf_puts(&b, "\n  identity:\n    front_ends: [\"password:grafana\"]\n"
		     "    front_end_addresses: [");
	setup_put_text(&b, setup_answer(s, "grafana"));
	buf_puts(&b, "]\n");
	put_api_server(s, &b);
	int rc = setup_put_dropin(s, "lb.d", "ceems-lb", &b, err);
	return rc < 0 ? rc
		      : setup_put_web(s, "lb-web.d", "lb", "grafana", "grafana",
				      "ceems-lb", "127.0.0.1:9030", err);
}

static void check_lb_files(struct setup *s)
{
	setup_check_program(s, "ceems_lb", "lb.yaml", "lb-web.yaml");
}

static void start_lb(struct setup *s)
{
	setup_start_unit(s, "ceems_lb");
}

const struct setup_role setup_lb = {.name = "lb",
				    .folder = "lb.d",
				    .questions = lb_questions,
				    .write = write_lb,
				    .check = check_lb_files,
				    .start = start_lb};
