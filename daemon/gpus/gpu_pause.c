/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/gpu_pause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/exec.h"
#include "lib/log.h"
#include "lib/periodic.h"

#define STATE_NAME "gpu-paused" /* '1': paused, or about to be */
#define TURN_MS 100u
#define AGAIN_MS 10000u /* after a failure */
#define DEADLINE_MS 5000u
#define OUTPUT_MAX 4096u
#define STACK_BYTES ((size_t)128 << 10)

struct gpu_pause {
	char dcgmi[256];
	int state_fd;
	atomic_uint wanted; /* steps */
	atomic_bool is_paused;
	atomic_uint_fast64_t pauses, resumes, failures;
	struct log_repeat failing; /* of the thread */
	struct periodic thread;
};

static int keep_pause_state(const struct gpu_pause *p, bool paused)
{
	return pwrite(p->state_fd, paused ? "1" : "0", 1, 0) == 1 ? 0 : -EIO;
}

static bool read_pause_state(int fd)
{
	char c = '0';

	return pread(fd, &c, 1, 0) == 1 && c == '1';
}

int gpu_pause_new(const char *dcgmi, int rundirfd, uid_t uid, gid_t gid,
		  struct gpu_pause **ret, struct err *err)
{
	if (dcgmi[0] != '/' || strlen(dcgmi) >= sizeof((*ret)->dcgmi))
		return err_set(err, -EINVAL, "--gpu.dcgmi: %s: not an absolute path",
			       dcgmi);
	struct gpu_pause *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	(void)snprintf(p->dcgmi, sizeof(p->dcgmi), "%s", dcgmi);
	periodic_init(&p->thread);
	p->state_fd = openat(rundirfd, STATE_NAME,
			     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (p->state_fd < 0 || fchown(p->state_fd, uid, gid) < 0) {
		int rc = err_set(err, -errno, STATE_NAME ": %s", strerror(errno));
		gpu_pause_free(p);
		return rc;
	}
	atomic_store(&p->is_paused, read_pause_state(p->state_fd));
	*ret = p;
	return 0;
}

/* 0, also if DCGM says that it is so already */
static int run_dcgmi(const struct gpu_pause *p, const char *what, struct err *err)
{
	const char *const argv[] = {p->dcgmi, "profile", what, NULL};
	auto_buf struct buf out = BUF_INIT, errout = BUF_INIT;
	int status = 0;

	buf_init(&out, OUTPUT_MAX);
	buf_init(&errout, OUTPUT_MAX);
	int rc = exec_run(argv, NULL, DEADLINE_MS, &out, &errout, &status, err);
	if (rc < 0)
		return rc;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	const char *why = errout.len ? errout.data : out.data ? out.data : "";
	return err_set(err, -EIO, "%s profile %s: exit status %d: %.*s", p->dcgmi, what,
		       WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		       (int)strcspn(why, "\n"), why);
}

/* The file says so before the program is run: a pause that nobody remembers would last.
 */
static int pause_or_resume(struct gpu_pause *p, bool pause, struct err *err)
{
	int rc = pause ? keep_pause_state(p, true) : 0;

	if (rc < 0)
		return err_set(err, rc, STATE_NAME " cannot be written");
	rc = run_dcgmi(p, pause ? "--pause" : "--resume", err);
	if (rc < 0)
		return rc;
	atomic_store(&p->is_paused, pause);
	atomic_fetch_add(pause ? &p->pauses : &p->resumes, 1);
	log_info("gpu: profiling by DCGM is %s", pause ? "paused" : "resumed");
	return pause ? 0 : keep_pause_state(p, false);
}

static uint64_t take_pause_turn(void *arg)
{
	struct gpu_pause *p = arg;
	bool want = atomic_load(&p->wanted) > 0, is = atomic_load(&p->is_paused);
	struct err err = {""};

	/* a pause that failed may have worked all the same */
	if (want == is && (want || !read_pause_state(p->state_fd)))
		return TURN_MS;
	if (pause_or_resume(p, want, &err) == 0) {
		(void)log_repeat_over(&p->failing);
		return TURN_MS;
	}
	atomic_fetch_add(&p->failures, 1);
	if (log_repeat_due(&p->failing, clock_boottime_ns()))
		log_warn("gpu: %s: profiling by DCGM is not %s; tried again", err.text,
			 want ? "paused" : "resumed");
	return AGAIN_MS;
}

int gpu_pause_start(struct gpu_pause *p, struct err *err)
{
	int rc = periodic_start(&p->thread, STACK_BYTES, take_pause_turn, NULL, p);

	return rc < 0 ? err_set(err, rc, "thread: %s", strerror(-rc)) : 0;
}

void gpu_pause_look(struct gpu_pause *p, const struct units *table)
{
	struct units *u = (struct units *)table;
	uint32_t n = 0;

	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1)) {
		const struct step *s = steps_get(u, i);
		if (s->state != UNIT_RUNNING || !(s->flags & RECORD_GPU_PAUSE))
			continue;
		/* of GPUs that Slurm gave: nobody else pauses what is others' */
		const struct unit *unit = units_get(u, steps_unit(u, i));
		n += unit->manager == MANAGER_SLURM && unit->gpus[0];
	}
	atomic_store(&p->wanted, n);
}

void gpu_pause_free(struct gpu_pause *p)
{
	struct err err = {""};

	if (!p)
		return;
	periodic_done(&p->thread);
	if (p->state_fd >= 0 && read_pause_state(p->state_fd) &&
	    pause_or_resume(p, false, &err) < 0)
		log_warn("gpu: %s: profiling by DCGM stays paused until ceemsd is "
			 "started again, or somebody resumes it",
			 err.text);
	if (p->state_fd >= 0)
		close(p->state_fd);
	free(p);
}

static const struct prom_family pause_steps = {
	"ceems_gpu_profiling_pause_steps", PROM_GAUGE,
	"Running steps with GPUs that asked for no reading of their performance "
	"counters "
	"by DCGM"};
static const struct prom_family pause_state = {
	"ceems_gpu_profiling_paused", PROM_GAUGE,
	"1 while ceemsd has DCGM's profiling paused"};
static const struct prom_family pause_runs = {
	"ceems_gpu_profiling_pauses_total", PROM_COUNTER,
	"Times that dcgmi paused or resumed DCGM's profiling, and failed to"};

void gpu_pause_export(struct gpu_pause *p, const char *hostname, struct prom *out)
{
	if (!p)
		return;
	const struct {
		const char *what;
		uint64_t n;
	} runs[] = {{"pause", atomic_load(&p->pauses)},
		    {"resume", atomic_load(&p->resumes)},
		    {"failure", atomic_load(&p->failures)}};

	prom_put_one(out, &pause_steps, "hostname", hostname, atomic_load(&p->wanted));
	prom_put_one(out, &pause_state, "hostname", hostname,
		     atomic_load(&p->is_paused));
	prom_family(out, &pause_runs);
	for (size_t i = 0; i < 3; i++) {
		const struct prom_label labels[] = {{"hostname", hostname},
						    {"what", runs[i].what}};
		prom_put_u64(out, labels, 2, runs[i].n);
	}
}
