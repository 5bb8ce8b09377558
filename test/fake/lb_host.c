/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load balancer's path without its decisions, for tests and measurements of it.
 *
 *	lb_host [--workers N] [--drain MS] [--timeout MS] [--first-byte MS]
 *		[--config FILE] [--ca FILE] [--cert FILE] [--name NAME]
 *		[--filter LABEL] BACKEND...
 *
 * BACKEND: HOST:PORT or tls:HOST:PORT; --ca, --cert (with its key) and --name are for
 * TLS. Prints "ready PORT PORT", runs until its standard input ends, then prints for
 * each backend how often it was picked and how that ended. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lb/proxy/worker.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "test/fake/lb_gate.h"

static struct backend_set set;
static const char *ca, *cert, *server_name, *label;
static uint32_t first_byte_ms;

static bool option(const char *name, const char *value, struct workers_params *p,
		   uint32_t *timeout)
{
	const char **text = strcmp(name, "--ca") == 0       ? &ca
			    : strcmp(name, "--cert") == 0   ? &cert
			    : strcmp(name, "--name") == 0   ? &server_name
			    : strcmp(name, "--filter") == 0 ? &label
							    : NULL;

	if (text) {
		*text = value;
		return true;
	}
	if (strcmp(name, "--workers") == 0)
		return parse_u32(value, &p->count) == 0;
	if (strcmp(name, "--first-byte") == 0)
		return parse_u32(value, &first_byte_ms) == 0;
	if (strcmp(name, "--drain") == 0)
		return parse_u32(value, &p->drain_ms) == 0;
	if (strcmp(name, "--timeout") == 0)
		return parse_u32(value, timeout) == 0;
	if (strcmp(name, "--config") != 0)
		return false;
	p->config_file = value;
	return true;
}

static void report(void)
{
	for (size_t i = 0; i < set.count; i++) {
		struct fake_backend *b = &set.backends[i];
		printf("backend %zu picked %u answered %u failed %u timed_out %u "
		       "cancelled %u refs %u\n",
		       i, b->picked, b->ended[BACKEND_ANSWERED],
		       b->ended[BACKEND_FAILED], b->ended[BACKEND_TIMED_OUT],
		       b->ended[BACKEND_CANCELLED], b->refs);
	}
}

int main(int argc, char **argv)
{
	static const char *const listen[] = {"127.0.0.1:0"};
	struct workers_params p = {
		.listen = {listen, listen}, .listen_count = {1, 1}, .drain_ms = 2000};
	struct workers *w = NULL;
	struct err err = {""};
	uint32_t timeout = 0;
	char text[256];
	int i = 1;

	for (; i + 1 < argc && option(argv[i], argv[i + 1], &p, &timeout); i += 2)
		;
	for (; i < argc; i++) {
		if (fake_backend_add(&set, argv[i]) < 0)
			return 2;
		struct backend *b = &set.backends[set.count - 1].public;
		b->timeout_ms = timeout ? timeout : b->timeout_ms;
		b->first_byte_timeout_ms = first_byte_ms;
		b->ca_file = ca;
		b->cert_file = cert;
		b->server_name = server_name;
		b->filter_labels = &label;
		b->filter_label_count = label ? 1 : 0;
	}
	signal(SIGPIPE, SIG_IGN);
	log_init("lb_host", LOG_LOGFMT, LOG_INFO);
	if (fake_gate_new(&set, &p.gate) < 0) {
		fprintf(stderr, "lb_host: %s\n", err_text(&err));
		return 1;
	}
	if (workers_start(&p, &w, &err) < 0) {
		fprintf(stderr, "lb_host: %s\n", err_text(&err));
		return 1;
	}
	printf("ready %u %u\n", workers_port(w, SITE_PROMETHEUS, 0),
	       workers_port(w, SITE_PYROSCOPE, 0));
	fflush(stdout);
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		;
	workers_stop(w);
	gate_free(p.gate);
	report();
	return 0;
}
