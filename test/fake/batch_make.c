/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports and job records as a test wants them: lines on stdin, the body of a POST
 * (lib/records/batch.h) on stdout, packed with --packed.
 *
 * start|interval|final key=value ...: cluster node unit instance restarts uid cpus
 * millicpus sized manager (a number)
 * memory started ended t0 t1 end user system mean peak package dram host other source
 * tensor (GPUs' time, ns) before_user before_system (of one that was found)
 * flags name boot boottime (of the start) step; times in seconds; sluid (its control
 * group's name) or hint (a SLUID of its environment), as texts
 *
 * job key=value ...: id cluster user account uid submit start end resize state event
 * restarts name nodes node_count sluid (a number)
 *
 * clock boottime=SECONDS realtime=SECONDS boot=ID node=NAME: of the sender, first
 *
 * claim key=value ...: cluster kind uid namespace name owner controller by at
 *
 * raw HEX: any bytes
 *
 * many N ...: the line N times, instances counted up
 *
 * In values \xHH is a byte. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/batch.h"
#include "lib/records/claim.h"
#include "lib/records/job.h"
#include "lib/records/report.h"
#include "lib/records/report_clock.h"

#define WORDS_MAX 64
#define NS 1000000000ull

struct line {
	char *words[WORDS_MAX];
	size_t count;
};

static void die(const char *what)
{
	fprintf(stderr, "batch_make: %s\n", what);
	exit(1);
}

static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] == 'x' && s[2] && s[3]) {
			char hex[3] = {s[2], s[3], 0};
			*to++ = (char)strtoul(hex, NULL, 16);
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static const char *get(const struct line *l, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 1; i < l->count; i++) {
		if (strncmp(l->words[i], key, n) == 0 && l->words[i][n] == '=')
			return l->words[i] + n + 1;
	}
	return NULL;
}

static uint64_t number(const struct line *l, const char *key, uint64_t otherwise)
{
	const char *s = get(l, key);
	uint64_t v;

	if (!s)
		return otherwise;
	if (parse_u64(s, &v) < 0)
		die(key);
	return v;
}

static void text(const struct line *l, const char *key, const char *otherwise,
		 char *ret, size_t size)
{
	const char *s = get(l, key);

	snprintf(ret, size, "%s", s ? s : otherwise);
}

static void energy(const struct line *l, struct report *r)
{
	static const char *const names[] = {"package", "dram", "psys",
					    "gpu",     "host", "other"};
	const char *source = get(l, "source");

	for (uint32_t d = 0; d < 6; d++) {
		if (get(l, names[d]))
			report_add_energy(r, d + 1, source ? source : "rapl",
					  number(l, names[d], 0));
	}
}

static void use(const struct line *l, struct report *r)
{
	r->t0_ns =
		number(l, "t0", r->type == REPORT_FINAL ? r->started_ns / NS : 0) * NS;
	r->t1_ns = number(l, "t1", r->type == REPORT_FINAL ? r->ended_ns / NS : 0) * NS;
	r->observed_ns = number(l, "observed", (r->t1_ns - r->t0_ns) / NS) * NS;
	if (get(l, "user") || get(l, "system"))
		r->use.known |= REPORT_HAS_CPU;
	r->use.cpu_user_ns = number(l, "user", 0);
	r->use.cpu_system_ns = number(l, "system", 0);
	if (get(l, "mean"))
		r->use.known |= REPORT_HAS_MEMORY_AVERAGE;
	r->use.memory_average_bytes = number(l, "mean", 0);
	if (get(l, "peak"))
		r->use.known |= REPORT_HAS_MEMORY_PEAK;
	r->use.memory_peak_bytes = number(l, "peak", 0);
	if (get(l, "tensor"))
		report_count_set(&r->counts, COUNT_GPU_FIGURE + 2,
				 number(l, "tensor", 0));
	energy(l, r);
}

static void before(const struct line *l, struct report *r)
{
	if (!get(l, "before_user"))
		return;
	r->flags |= REPORT_FOUND;
	r->before = (struct report_before){REPORT_HAS_CPU, number(l, "before_user", 0),
					   number(l, "before_system", 0), 0, 0};
}

static void step(const struct line *l, struct report *r)
{
	if (!get(l, "step"))
		return;
	r->steps[0] = (struct report_step){
		.step = (uint32_t)number(l, "step", 0),
		.started_ns = r->started_ns,
		.ended_ns = r->ended_ns,
		.flags = r->ended_ns ? 0 : REPORT_STEP_RUNNING,
		.cpu_user_ns = number(l, "user", 0),
	};
	r->step_count = r->steps_started = 1;
}

static int make_report(const struct line *l, uint64_t more, unsigned char *out,
		       size_t size)
{
	static struct report r;
	uint8_t type = *l->words[0] == 's'   ? REPORT_START
		       : *l->words[0] == 'i' ? REPORT_INTERVAL
					     : REPORT_FINAL;

	report_init(&r, type, (enum record_manager)number(l, "manager", MANAGER_SLURM));
	r.instance = number(l, "instance", 1) + more;
	text(l, "cluster", "c1", r.cluster, sizeof(r.cluster));
	text(l, "node", "n1", r.node, sizeof(r.node));
	text(l, "unit", "1", r.unit, sizeof(r.unit));
	text(l, "boot", "11111111-2222-3333-4444-555555555555", r.boot_id,
	     sizeof(r.boot_id));
	text(l, "name", "", r.hints.name, sizeof(r.hints.name));
	text(l, "hint", "", r.hints.sluid, sizeof(r.hints.sluid));
	r.flags = (uint32_t)number(l, "flags", 0);
	if (get(l, "sluid")) {
		text(l, "sluid", "", r.hints.sluid, sizeof(r.hints.sluid));
		r.flags |= REPORT_SLUID;
	}
	r.restarts = (uint32_t)number(l, "restarts", 0);
	r.uid = (uint32_t)number(l, "uid", 1000);
	r.cpus = (uint32_t)number(l, "cpus", 0);
	r.millicpus = (uint32_t)number(l, "millicpus", 0);
	r.sized_ns = number(l, "sized", 0) * NS;
	r.memory_bytes = number(l, "memory", 0);
	r.started_ns = number(l, "started", 0) * NS;
	r.started_boottime_ns = number(l, "boottime", 0) * NS;
	r.ended_ns = number(l, "ended", 0) * NS;
	if (type == REPORT_FINAL)
		r.end = (uint8_t)number(l, "end", REPORT_END_COMPLETED);
	if (type != REPORT_START)
		use(l, &r);
	step(l, &r);
	before(l, &r);
	return report_encode(&r, out, size);
}

static int make_clock(const struct line *l, unsigned char *out, size_t size)
{
	struct report_clock c = {0};

	text(l, "node", "n1", c.node, sizeof(c.node));
	text(l, "boot", "11111111-2222-3333-4444-555555555555", c.boot_id,
	     sizeof(c.boot_id));
	c.boottime_ns = number(l, "boottime", 0) * NS;
	c.realtime_ns = number(l, "realtime", 0) * NS;
	return report_clock_encode(&c, out, size);
}

static int make_job(const struct line *l, uint64_t more, unsigned char *out,
		    size_t size)
{
	struct job j;
	const char *s;

	job_init(&j);
	j.job_id = (uint32_t)(number(l, "id", 1) + more);
	j.event = (uint8_t)number(l, "event", JOB_EVENT_ENDED);
	j.state = (uint32_t)number(l, "state", JOB_STATE_COMPLETED);
	j.restarts = (uint32_t)number(l, "restarts", 0);
	j.uid = j.gid = (uint32_t)number(l, "uid", 1000);
	j.submit_s = number(l, "submit", 1);
	j.start_s = number(l, "start", 0);
	j.end_s = number(l, "end", 0);
	j.resize_s = number(l, "resize", 0);
	j.recorded_ns = (j.end_s ? j.end_s : 1) * NS;
	j.cluster = (s = get(l, "cluster")) ? s : "c1";
	j.user = (s = get(l, "user")) ? s : "ann";
	j.account = (s = get(l, "account")) ? s : "physics";
	j.name = (s = get(l, "name")) ? s : "job";
	j.nodes = (s = get(l, "nodes")) ? s : "";
	j.node_count = (uint32_t)number(l, "node_count", 0);
	j.sluid = number(l, "sluid", 0);
	return job_encode(&j, out, size);
}

static int make_claim(const struct line *l, unsigned char *out, size_t size)
{
	static struct claim c;

	memset(&c, 0, sizeof(c));
	text(l, "cluster", "k1", c.cluster, sizeof(c.cluster));
	text(l, "kind", "Pod", c.kind, sizeof(c.kind));
	text(l, "uid", "", c.uid, sizeof(c.uid));
	text(l, "namespace", "web", c.namespace, sizeof(c.namespace));
	text(l, "name", "", c.name, sizeof(c.name));
	text(l, "owner", "", c.owner, sizeof(c.owner));
	text(l, "controller", "", c.controller, sizeof(c.controller));
	c.by = (uint8_t)number(l, "by", CLAIM_BY_USER);
	c.at_ns = number(l, "at", 1) * NS;
	return claim_encode(&c, out, size);
}

static int make_raw(const struct line *l, unsigned char *out, size_t size)
{
	const char *hex = l->count > 1 ? l->words[1] : "";
	size_t n = 0;

	for (; hex[0] && hex[1] && n < size; hex += 2) {
		char two[3] = {hex[0], hex[1], 0};
		out[n++] = (unsigned char)strtoul(two, NULL, 16);
	}
	return (int)n;
}

static void add(struct batch *b, const struct line *l, uint64_t more)
{
	static unsigned char out[JOB_RECORD_MAX];
	int n;

	if (strcmp(l->words[0], "job") == 0)
		n = make_job(l, more, out, sizeof(out));
	else if (strcmp(l->words[0], "clock") == 0)
		n = make_clock(l, out, sizeof(out));
	else if (strcmp(l->words[0], "claim") == 0)
		n = make_claim(l, out, sizeof(out));
	else if (strcmp(l->words[0], "raw") == 0)
		n = make_raw(l, out, sizeof(out));
	else
		n = make_report(l, more, out, sizeof(out));
	if (n <= 0 || batch_add(b, out, (size_t)n) < 0)
		die(l->words[0]);
}

static void split(char *text_, struct line *l)
{
	char *save = NULL;

	l->count = 0;
	for (char *w = strtok_r(text_, " \n", &save); w && l->count < WORDS_MAX;
	     w = strtok_r(NULL, " \n", &save)) {
		unescape(w);
		l->words[l->count++] = w;
	}
}

int main(int argc, char *argv[])
{
	bool packed = argc > 1 && strcmp(argv[1], "--packed") == 0;
	struct batch b = {0};
	struct buf out = BUF_INIT;
	char *text_ = NULL;
	size_t cap = 0;
	struct line l;

	batch_begin(&b, 0);
	while (getline(&text_, &cap, stdin) > 0) {
		uint64_t times = 1;
		split(text_, &l);
		if (!l.count)
			continue;
		if (strcmp(l.words[0], "many") == 0 && l.count > 2) {
			if (parse_u64(l.words[1], &times) < 0)
				die("many");
			memmove(l.words, l.words + 2,
				(l.count -= 2) * sizeof(l.words[0]));
		}
		for (uint64_t i = 0; i < times; i++)
			add(&b, &l, i);
	}
	free(text_);
	if (packed && batch_pack(b.plain.data, b.plain.len, &out) < 0)
		die("pack");
	const struct buf *body = packed ? &out : &b.plain;
	int rc = fs_write_all(STDOUT_FILENO, body->data, body->len);
	buf_done(&out);
	buf_done(&b.plain);
	return rc < 0;
}
