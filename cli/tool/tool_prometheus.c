/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool prometheus rules|alerts|relabel|scrape-config: to stdout, for review
 * before they go into Prometheus' configuration. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/tool/prometheus.h"
#include "cli/tool/tool.h"
#include "lib/fs.h"
#include "lib/parse.h"

enum { OPT_PUE = 256, OPT_INTERVAL, OPT_GPU, OPT_ZONE, OPT_PROVIDERS, OPT_CLUSTER };

static int print_result(int rc, const struct buf *out, const struct err *err)
{
	if (rc == 0 && fs_write_all(STDOUT_FILENO, out->data, out->len) == 0)
		return 0;
	(void)fprintf(stderr, "ceems_tool: %s\n",
		      rc < 0 ? err_text(err) : "cannot write the output");
	return rc == -EINVAL ? TOOL_USAGE : TOOL_FAILED;
}

static int bad_option(int c, char **argv)
{
	return tool_usage_error(c == ':' ? "needs a value: " : "unknown option: ",
				argv[optind - 1]);
}

int tool_prometheus_rules(int argc, char **argv)
{
	static const struct option longs[] = {
		{"pue", required_argument, NULL, OPT_PUE},
		{"scrape-interval", required_argument, NULL, OPT_INTERVAL},
		{"gpu", required_argument, NULL, OPT_GPU},
		{"country-code", required_argument, NULL, OPT_ZONE},
		{"providers", required_argument, NULL, OPT_PROVIDERS},
		{NULL, 0, NULL, 0}};
	struct prometheus_rules r = {.pue = 1,
				     .scrape_interval_ms = 30000,
				     .gpu = "none",
				     .zone = "",
				     .providers = "owid,rte,emaps,wt"};
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		switch (c) {
		case OPT_PUE:
			if (parse_f64(optarg, &r.pue) < 0 ||
			    !(r.pue >= 1 && r.pue <= 10))
				return tool_usage_error("--pue: not 1 to 10: ", optarg);
			break;
		case OPT_INTERVAL:
			if (parse_duration_ms(optarg, &r.scrape_interval_ms) < 0 ||
			    r.scrape_interval_ms < 1000 ||
			    r.scrape_interval_ms > 3600000)
				return tool_usage_error(
					"--scrape-interval: not 1s to 1h: ", optarg);
			break;
		case OPT_GPU:
			r.gpu = optarg;
			break;
		case OPT_ZONE:
			r.zone = optarg;
			break;
		case OPT_PROVIDERS:
			r.providers = optarg;
			break;
		default:
			return bad_option(c, argv);
		}
	}
	if (optind < argc)
		return tool_usage_error("unexpected argument: ", argv[optind]);
	int rc = prometheus_rules(&r, &out, &err);
	return print_result(rc, &out, &err);
}

int tool_prometheus_alerts(int argc, char **argv)
{
	auto_buf struct buf out = BUF_INIT;

	if (argc != 1)
		return tool_usage_error("prometheus alerts takes no argument: ",
					argv[1]);
	buf_puts(&out, prometheus_alerts());
	return print_result(buf_error(&out), &out, NULL);
}

int tool_prometheus_relabel(int argc, char **argv)
{
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};

	if (argc != 2)
		return tool_usage_error(
			"prometheus relabel: dcgm, amd-smi or amd-device-metrics", "");
	int rc = prometheus_relabel(argv[1], &out, &err);
	return print_result(rc, &out, &err);
}

int tool_prometheus_scrape_config(int argc, char **argv)
{
	static const struct option longs[] = {
		{"cluster", required_argument, NULL, OPT_CLUSTER}, {NULL, 0, NULL, 0}};
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};
	const char *cluster = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		if (c != OPT_CLUSTER)
			return bad_option(c, argv);
		cluster = optarg;
	}
	if (optind == argc)
		return tool_usage_error("prometheus scrape-config: name the nodes: ",
					"node001:9010 ...");
	int rc = prometheus_scrape((const char *const *)argv + optind,
				   (size_t)(argc - optind), cluster, &out, &err);
	return print_result(rc, &out, &err);
}
