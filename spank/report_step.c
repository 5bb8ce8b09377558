/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints slurmstepd's facts about a step at its end to the user's stderr. */
#include "spank/report_step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/parse.h"
#include "spank/report.h"

/* ---- facts ----------------------------------------------------------------------- */

/* energy=PATH, else "energy" beside the ring; false when that is too long */
static bool page_path(const struct policy *p, char *ret, size_t size)
{
	const char *slash = strrchr(p->ring, '/');
	int n;
	if (p->energy[0])
		n = snprintf(ret, size, "%s", p->energy);
	else
		n = snprintf(ret, size, "%.*s/energy", (int)(slash - p->ring), p->ring);
	return n > 0 && (size_t)n < size;
}

static void take_energy(const struct step *s, uint32_t job,
			const struct energy_page_now *now,
			struct step_report_energy *ret)
{
	char path[RING_PATH_MAX + 8];
	struct energy_page page = ENERGY_PAGE_CLOSED;
	struct energy_page_node node;
	struct energy_page_row row;
	struct err err = {""};
	if (!page_path(s->policy, path, sizeof(path))) {
		report_no_energy(ret, -EBADF);
		return;
	}
	int rc = energy_page_open(path, &page, &err);
	if (rc < 0) {
		slurm_debug("ceems: %s", err.text);
		report_no_energy(ret, rc);
		return;
	}
	rc = energy_page_find(&page, job, s->record.step, s->record.stepd_pid, &node,
			      &row);
	energy_page_close(&page);
	if (rc == 0 || rc == -ENOENT)
		report_take_energy(ret, &node, rc == 0 ? &row : NULL, now);
	else
		report_no_energy(ret, rc);
}

static bool path_beside_ring(const struct step *s, const char *name, char *ret,
			     size_t size)
{
	const char *slash = strrchr(s->policy->ring, '/');
	int n = snprintf(ret, size, "%.*s/%s", (int)(slash - s->policy->ring),
			 s->policy->ring, name);

	return n > 0 && (size_t)n < size;
}

/* ceems-profiler writes them beside the ring, of steps that asked for a profile. */
static void take_functions(const struct step *s, uint32_t job, uint64_t now_ns,
			   struct hot_page_row *ret)
{
	char path[RING_PATH_MAX + 8];
	struct err err = {""};

	if (!s->record.profile_hz || !path_beside_ring(s, "hot", path, sizeof(path)))
		return;
	if (hot_page_find(path, job, s->record.step, s->record.stepd_pid, now_ns, ret,
			  &err) < 0)
		slurm_debug("ceems: %s", err.text);
}

/* ceemsd writes them beside the ring, if the site counts them. */
static void take_counts(const struct step *s, uint32_t job, uint64_t now_ns,
			struct step_counts *ret)
{
	char path[RING_PATH_MAX + 8];
	struct err err = {""};

	if (!path_beside_ring(s, "counts", path, sizeof(path)))
		return;
	if (counts_page_find(path, job, s->record.step, s->record.stepd_pid, now_ns,
			     ret, &err) < 0)
		slurm_debug("ceems: %s", err.text);
}

/* Memory requested by the step, else by the job; 0: none */
static uint64_t memory_asked(const struct step *s, spank_t sp)
{
	uint64_t mb = 0, bytes;
	if (spank_get_item(sp, S_STEP_ALLOC_MEM, &mb) == ESPANK_SUCCESS && mb &&
	    !__builtin_mul_overflow(mb, UINT64_C(1) << 20, &bytes))
		return bytes;
	return s->record.memory_bytes;
}

static void take_report(const struct step *s, spank_t sp, struct step_report *ret)
{
	const struct record *r = &s->record;
	const struct record_counters *c = &s->best;
	uint64_t now_ns = clock_boottime_ns();
	bool known = c->source != COUNTERS_NONE;
	uint32_t nodes = 1;
	*ret = (struct step_report){
		.step = r->step,
		.wall_ns = now_ns - s->begun_ns,
		.has_cpu = known,
		.cpu_ns = c->cpu_user_ns + c->cpu_system_ns,
		.cpus = r->step_cpus,
		.has_memory = known && c->has_memory,
		.memory_peak_bytes = c->memory_peak_bytes,
		.memory_asked_bytes = memory_asked(s, sp),
		.oom_kills = c->oom_kills,
		.has_gpus = r->gpus[0] != '\0',
	};
	if (parse_u32(r->unit, &ret->job) < 0)
		ret->job = 0;
	if (spank_get_item(sp, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS)
		nodes = 1;
	ret->nodes = nodes;
	struct energy_page_now now = {
		.boottime_ns = now_ns,
		.started_ns = s->begun_ns,
		.cpu_ns = ret->cpu_ns,
		.has_cpu = c->source == COUNTERS_CGROUP_V1 ||
			   c->source == COUNTERS_CGROUP_V2,
		.alloc_mcpu = r->step_cpus > UINT32_MAX / 1000 ? UINT32_MAX
							       : r->step_cpus * 1000,
	};
	take_energy(s, ret->job, &now, &ret->energy);
	take_counts(s, ret->job, now_ns, &ret->counts);
	take_functions(s, ret->job, now_ns, &ret->hot);
}

/* ---- the user's stderr ----------------------------------------------------------- */

/* Opens fd 2's file again: setting O_NONBLOCK on fd 2 itself would affect every process
 * of the step. */
static int open_nonblocking(void)
{
	char path[64];
	int n = snprintf(path, sizeof(path), "%s/self/fd/%d", step_host.proc,
			 STDERR_FILENO);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A writable pipe accepts PIPE_BUF bytes at once. */
static bool is_stderr_ready(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

/* A single write, complete or partial: 0 or negative errno. */
static int write_stderr(const char *text, size_t len)
{
	struct stat st;
	auto_close int own = -1;
	int fd = STDERR_FILENO;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* A file's offset (a batch script's output) belongs to the open file
	 * description, so it cannot be reopened. Writing may wait for the disk, like
	 * the script's own output. */
	if (!S_ISREG(st.st_mode)) {
		if (!is_stderr_ready())
			return -EAGAIN;
		own = open_nonblocking();
		fd = own >= 0 ? own : fd;
	}
	ssize_t n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

void report_step(const struct step *s, spank_t sp)
{
	uint32_t asked = s->record.flags & (RECORD_REPORT_TEXT | RECORD_REPORT_JSON);
	uint32_t node = 0;
	struct step_report report;
	struct buf text;
	if (!asked || s->is_extern ||
	    (spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS && node != 0))
		return;
	take_report(s, sp, &report);
	buf_init(&text, REPORT_MAX);
	if (asked & RECORD_REPORT_JSON)
		report_json(&report, &text);
	else
		report_text(&report, &text);
	int rc = buf_error(&text);
	if (rc == 0)
		rc = write_stderr(text.data, text.len);
	if (rc < 0)
		slurm_verbose("ceems: job %s: report not written: %s", s->record.unit,
			      strerror(-rc));
	buf_done(&text);
}
