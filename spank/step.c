/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step as seen by slurmstepd. Slurm's items and the kernel give facts; values from
 * the job's environment are only hints in the record, except the one GPU variable per
 * kind of step that Slurm itself sets or unsets. */
#include "spank/step.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clamp.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/ring.h"
#include "spank/arm_wait.h"
#include "spank/gpulist.h"
#include "spank/report_step.h"

#define PROC_CGROUP_MAX                                                                \
	8192               /* bytes of a /proc/PID/cgroup; v1 has a line a hierarchy */
#define OWNER_WAIT_MS 200  /* for an effective id that another thread has changed */
#define ENV_VALUE_MAX 1024 /* longer lists are refused */
#define SHARE_VALUE_MAX 16
#define ENV_VARIABLES_MAX 100000

static void nap_for_a_millisecond(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	nanosleep(&nap, NULL);
}

struct step_host step_host = {
	.proc = "/proc",
	.cgroup = "/sys/fs/cgroup",
	.ring_owner = 0,
	.nap = nap_for_a_millisecond,
	.boottime_ns = clock_boottime_ns,
};

void step_init(struct step *s, const struct policy *policy, const struct request *asked)
{
	memset(s, 0, sizeof(*s));
	s->policy = policy;
	s->asked = asked;
	s->stepd_pid = getpid();
}

/* ---- facts ----------------------------------------------------------------------- */

static uint32_t item_u32(spank_t sp, spank_item_t item, uint32_t otherwise)
{
	uint32_t v = otherwise;
	return spank_get_item(sp, item, &v) == ESPANK_SUCCESS ? v : otherwise;
}

/* A core list such as "0-3,8"; 0: unknown. */
static uint32_t item_cores(spank_t sp, spank_item_t item)
{
	char *list = NULL;
	uint32_t n = 0;
	if (spank_get_item(sp, item, &list) != ESPANK_SUCCESS || !list ||
	    parse_list_count(list, strnlen(list, ENV_VALUE_MAX), &n) < 0)
		return 0;
	return n;
}

/* Slurm has the job's CPUs, but only the step's cores: CPUs per core are taken from the
 * job. */
static void take_cpus(struct record *r, spank_t sp)
{
	uint16_t cpus = 0;
	if (spank_get_item(sp, S_JOB_NCPUS, &cpus) != ESPANK_SUCCESS)
		cpus = 0;
	uint32_t job_cores = item_cores(sp, S_JOB_ALLOC_CORES);
	uint32_t step_cores = item_cores(sp, S_STEP_ALLOC_CORES);
	uint32_t threads = job_cores && cpus % job_cores == 0 ? cpus / job_cores : 1;
	r->cpus = cpus;
	r->step_cpus = step_cores * (threads ? threads : 1);
}

static void take_memory(struct record *r, spank_t sp)
{
	uint64_t mb = 0, bytes;
	if (spank_get_item(sp, S_JOB_ALLOC_MEM, &mb) == ESPANK_SUCCESS &&
	    !__builtin_mul_overflow(mb, UINT64_C(1) << 20, &bytes))
		r->memory_bytes = bytes;
}

static void take_items(struct record *r, spank_t sp)
{
	uid_t uid = 0;
	gid_t gid = 0;
	snprintf(r->unit, sizeof(r->unit), "%u", item_u32(sp, S_JOB_ID, 0));
	r->step = item_u32(sp, S_JOB_STEPID, RECORD_NO_VAL);
	if (spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS)
		r->uid = (uint32_t)uid;
	if (spank_get_item(sp, S_JOB_GID, &gid) == ESPANK_SUCCESS)
		r->gid = (uint32_t)gid;
	/* Outside arrays 22.05 returns the job's own id as the array's; the task id
	 * tells. Only for a batch script are they from slurmctld: for other steps
	 * slurmstepd takes them from SLURM_ARRAY_* in srun's environment. */
	uint32_t array = item_u32(sp, S_JOB_ARRAY_ID, 0);
	uint32_t task = item_u32(sp, S_JOB_ARRAY_TASK_ID, RECORD_NO_VAL);
	if (r->step == RECORD_STEP_BATCH && array && array != RECORD_NO_VAL &&
	    task != RECORD_NO_VAL) {
		r->array_job = array;
		r->array_task = task;
	}
	uint32_t restarts = item_u32(sp, S_SLURM_RESTART_COUNT, 0);
	r->restarts = restarts == RECORD_NO_VAL ? 0 : restarts;
	r->tasks = item_u32(sp, S_JOB_LOCAL_TASK_COUNT, 0);
	take_cpus(r, sp);
	take_memory(r, sp);
}

/* ---- the job's environment ------------------------------------------------------- */

enum job_variable {
	ENV_SLUID,
	ENV_NAME,
	ENV_ACCOUNT,
	ENV_PARTITION,
	ENV_USER,
	ENV_HET_JOB,
	ENV_JOB_GPUS,
	ENV_STEP_GPUS,
	ENV_SHARDS,
	ENV_MPS,
	ENV_PERF,
	ENV_OF_SITE, /* the first of policy's */
	ENV_COUNT = ENV_OF_SITE + RECORD_ENV_MAX,
};

static const char *const variables[ENV_OF_SITE] = {
	[ENV_SLUID] = "SLURM_JOB_SLUID",
	[ENV_NAME] = "SLURM_JOB_NAME",
	[ENV_ACCOUNT] = "SLURM_JOB_ACCOUNT",
	[ENV_PARTITION] = "SLURM_JOB_PARTITION",
	[ENV_USER] = "SLURM_JOB_USER",
	[ENV_HET_JOB] = "SLURM_HET_JOB_ID",
	[ENV_JOB_GPUS] = "SLURM_JOB_GPUS",
	[ENV_STEP_GPUS] = "SLURM_STEP_GPUS",
	[ENV_SHARDS] = "SLURM_SHARDS_ON_NODE",
	[ENV_MPS] = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	[ENV_PERF] = "CEEMS_ENABLE_PERF", /* of the peer's exporter */
};

/* The values are Slurm's, valid during the hook; NULL: not there. */
struct job_env {
	const char *name[ENV_COUNT];
	size_t name_len[ENV_COUNT];
	const char *value[ENV_COUNT];
	size_t count;
	uint64_t lengths; /* a bit for each name_len: most variables are not wanted */
};

static void want_variable(struct job_env *env, const char *name)
{
	size_t len = strlen(name);
	env->name[env->count] = name;
	env->name_len[env->count++] = len;
	env->lengths |= UINT64_C(1) << len % 64;
}

/* Of variables that are there twice the first counts, as in spank_getenv(). */
static void take_variable(struct job_env *env, const char *text)
{
	const char *end = strchrnul(text, '=');
	size_t len = (size_t)(end - text);
	if (!*end || !(env->lengths >> len % 64 & 1))
		return;
	for (size_t i = 0; i < env->count; i++)
		if (env->name_len[i] == len && !env->value[i] &&
		    memcmp(env->name[i], text, len) == 0)
			env->value[i] = end + 1;
}

/* In one walk: spank_getenv() walks through the environment for each name. */
static void read_job_env(spank_t sp, const struct policy *policy, struct job_env *env)
{
	char **text = NULL;
	*env = (struct job_env){.count = 0};
	for (size_t i = 0; i < ENV_OF_SITE; i++)
		want_variable(env, variables[i]);
	for (uint32_t i = 0; i < policy->env_count; i++)
		want_variable(env, policy->env[i]);
	if (spank_get_item(sp, S_JOB_ENV, &text) != ESPANK_SUCCESS || !text)
		return;
	for (size_t i = 0; i < ENV_VARIABLES_MAX && text[i]; i++)
		take_variable(env, text[i]);
}

/* NULL also for a value of max bytes or more: half a list would be another one. */
static const char *whole_value(const struct job_env *env, enum job_variable which,
			       size_t max)
{
	const char *value = env->value[which];
	return value && strnlen(value, max) < max ? value : NULL;
}

static void take_hint(struct record *r, const char *value, char *dst, size_t size)
{
	if (value)
		record_set(r, dst, size, value);
}

static void take_hints(struct record *r, const struct job_env *env)
{
	take_hint(r, env->value[ENV_SLUID], r->sluid, sizeof(r->sluid));
	take_hint(r, env->value[ENV_NAME], r->name, sizeof(r->name));
	take_hint(r, env->value[ENV_ACCOUNT], r->account, sizeof(r->account));
	take_hint(r, env->value[ENV_PARTITION], r->partition, sizeof(r->partition));
	take_hint(r, env->value[ENV_USER], r->user, sizeof(r->user));
	const char *het = whole_value(env, ENV_HET_JOB, ENV_VALUE_MAX);
	if (het && parse_u32(het, &r->het_job) < 0)
		r->het_job = RECORD_NO_VAL;
	for (size_t i = ENV_OF_SITE; i < env->count; i++) {
		struct record_env *e = &r->env[r->env_count];
		if (!env->value[i])
			continue;
		record_set(r, e->name, sizeof(e->name), env->name[i]);
		record_set(r, e->value, sizeof(e->value), env->value[i]);
		r->env_count++;
	}
}

/* slurmstepd does not know a step's name, which srun sends to slurmctld only. It is the
 * program without its folder, or srun -J's name, which srun also puts into
 * SLURM_JOB_NAME; the aggregator knows which of the two it is (doc/slurm.md). */
static void take_command(struct record *r, spank_t sp)
{
	int argc = 0;
	char **argv = NULL;
	if (!record_step_is_numbered(r->step) ||
	    spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS ||
	    argc < 1 || !argv || !argv[0])
		return;
	const char *slash = strrchr(argv[0], '/');
	record_set(r, r->command, sizeof(r->command), slash ? slash + 1 : argv[0]);
}

/* Slurm sets or unsets SLURM_JOB_GPUS for batch and interactive steps and
 * SLURM_STEP_GPUS for numbered ones; the other one is whatever the user exported.
 * Without GresTypes=gpu in the cluster both are the user's, which only the daemon can
 * know (slurmd -G): the flag means "the right variable", not "true". */
static void take_step_gpus(struct record *r, const struct job_env *env)
{
	bool batch = r->step == RECORD_STEP_BATCH || r->step == RECORD_STEP_INTERACTIVE;
	if (r->step == RECORD_STEP_EXTERN)
		return;
	enum job_variable which = batch ? ENV_JOB_GPUS : ENV_STEP_GPUS;
	const char *list = whole_value(env, which, ENV_VALUE_MAX);
	if (!list)
		return;
	int rc = gpulist_canonical(list, r->gpus, sizeof(r->gpus));
	if (rc < 0) {
		slurm_debug("ceems: %s is not a list of GPU indices, ignored",
			    variables[which]);
		return;
	}
	if (rc > 0)
		r->flags |= RECORD_CUT;
	r->flags |= RECORD_GPUS_TRUSTED;
	const char *shards = whole_value(env, ENV_SHARDS, SHARE_VALUE_MAX);
	const char *mps = whole_value(env, ENV_MPS, SHARE_VALUE_MAX);
	gpulist_share(shards ? shards : "", mps ? mps : "", r->gpu_share,
		      sizeof(r->gpu_share));
}

static void take_request(struct step *s, const struct job_env *env)
{
	struct record *r = &s->record;
	uint32_t perf = s->asked->perf;
	const uint32_t pause = perf & RECORD_GPU_PAUSE; /* counts nothing */
	perf &= ~pause;
	if (!perf && s->policy->perf) {
		const char *value = whole_value(env, ENV_PERF, SHARE_VALUE_MAX);
		bool on = false;
		if (value && parse_bool(value, &on) == 0 && on)
			perf = PERF_ALL;
	}
	if (!perf && s->policy->perf_always)
		perf = PERF_ALL;
	r->flags |= perf | pause | s->asked->report | s->asked->profile;
	if (!s->asked->report && !s->asked->no_report &&
	    (s->policy->report_always ||
	     (s->policy->report_batch && r->step == RECORD_STEP_BATCH)))
		r->flags |= RECORD_REPORT_TEXT;
	r->profile_hz = s->asked->profile_hz;
}

/* ---- cgroups and counters -------------------------------------------------------- */

static int probe_layout(struct step *s)
{
	if (s->layout_known == LAYOUT_SEEN)
		return 0;
	auto_close int fd = fs_opendir_at(AT_FDCWD, step_host.cgroup, NULL);
	int rc = fd < 0 ? fd : cgroup_probe(fd, &s->layout, NULL);
	if (rc == 0)
		s->layout_known = LAYOUT_SEEN;
	return rc;
}

/* In the extern step slurmstepd itself is in cpuacct's root. */
static void share_path_with_cpuacct(struct step *s)
{
	if (probe_layout(s) < 0)
		return;
	auto_close int fd = fs_opendir_at(AT_FDCWD, step_host.cgroup, NULL);
	if (fd >= 0)
		cgroup_record_share_cpuacct(fd, &s->layout, &s->record);
}

static void take_cgroups(struct step *s, spank_t sp)
{
	char path[64], text[PROC_CGROUP_MAX];
	pid_t pid = 0;
	struct err err;
	if (spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS && pid > 0)
		snprintf(path, sizeof(path), "%s/%d/cgroup", step_host.proc, (int)pid);
	else
		snprintf(path, sizeof(path), "%s/self/cgroup", step_host.proc);
	ssize_t len = fs_read_at(AT_FDCWD, path, text, sizeof(text), &err);
	if (len < 0) {
		slurm_debug("ceems: %s, the step has no cgroup in its record",
			    err.text);
		return;
	}
	cgroup_record_paths(text, (size_t)len, &s->record);
	if (s->is_extern)
		share_path_with_cpuacct(s);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_usec * 1000;
}

/* What slurmstepd has reaped since it forked the tasks. Only in slurmstepd itself: a
 * contained hook is another process without children, whose zero would be wrong; and
 * not for the extern step, whose processes are not slurmstepd's children. */
static int read_rusage(const struct step *s, struct record_counters *ret)
{
	struct rusage now;
	if (s->is_extern || getpid() != s->stepd_pid ||
	    getrusage(RUSAGE_CHILDREN, &now) < 0)
		return -ENODATA;
	*ret = (struct record_counters){.source = COUNTERS_RUSAGE, .has_memory = true};
	ret->cpu_user_ns = clamp_minus(timeval_ns(now.ru_utime),
				       timeval_ns(s->children_before.ru_utime));
	ret->cpu_system_ns = clamp_minus(timeval_ns(now.ru_stime),
					 timeval_ns(s->children_before.ru_stime));
	ret->memory_peak_bytes = (uint64_t)now.ru_maxrss * 1024;
	ret->read_ns = clock_boottime_ns();
	return 0;
}

/* A step whose tasks all ended well and that never used an eighth of its job's memory
 * was not killed for it; otherwise the limits are read. */
static uint64_t harmless_peak(const struct step *s)
{
	return s->exit_status || !s->ended ? 0 : s->record.memory_bytes / 8;
}

static int read_layout(struct step *s, struct record_counters *ret)
{
	struct err err;
	const struct record *r = &s->record;
	struct record_counters reaped = {0};
	(void)read_rusage(s, &reaped);
	struct cgroup_known known = {
		.has_cpu = s->best.source == COUNTERS_CGROUP_V1 ||
			   s->best.source == COUNTERS_CGROUP_V2,
		.cpu_user_ns = s->best.cpu_user_ns,
		.cpu_system_ns = s->best.cpu_system_ns,
		.ratio_user_ns = reaped.cpu_user_ns,
		.ratio_system_ns = reaped.cpu_system_ns,
		.harmless_peak_bytes = harmless_peak(s),
	};
	int rc = cgroup_final_counters(AT_FDCWD, step_host.cgroup, &s->layout,
				       r->cgroups, r->cgroup_count, &known, ret, &err);
	if (rc < 0)
		slurm_debug2("ceems: %s", err.text);
	return rc;
}

/* 1: unchanged since the last reading */
static int read_cgroup(struct step *s, struct record_counters *ret)
{
	const struct record *r = &s->record;
	if (!r->cgroup_count)
		return -ENODATA;
	if (s->layout_known == LAYOUT_UNKNOWN &&
	    cgroup_guess(r->cgroups, r->cgroup_count, &s->layout))
		s->layout_known = LAYOUT_GUESSED;
	if (s->layout_known == LAYOUT_UNKNOWN && probe_layout(s) < 0)
		return -ENODEV;
	int rc = read_layout(s, ret);
	/* a group that was there by the guess, and is not now, is gone */
	if (rc >= 0 || s->layout_known == LAYOUT_SEEN ||
	    s->best.source != COUNTERS_NONE || probe_layout(s) < 0)
		return rc;
	return read_layout(s, ret);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void step_keep_largest(struct record_counters *best, const struct record_counters *now)
{
	if (now->source == COUNTERS_NONE)
		return;
	if (best->source == COUNTERS_NONE || now->source < best->source) {
		*best = *now;
		return;
	}
	if (now->source > best->source)
		return;
	/* user and system are parts of one exact sum: keep the pair with the larger
	 * sum */
	if (now->cpu_user_ns + now->cpu_system_ns >=
	    best->cpu_user_ns + best->cpu_system_ns) {
		best->cpu_user_ns = now->cpu_user_ns;
		best->cpu_system_ns = now->cpu_system_ns;
		best->read_ns = now->read_ns;
	}
	best->has_memory |= now->has_memory;
	best->has_io |= now->has_io;
	best->memory_peak_bytes =
		max_u64(best->memory_peak_bytes, now->memory_peak_bytes);
	best->io_read_bytes = max_u64(best->io_read_bytes, now->io_read_bytes);
	best->io_write_bytes = max_u64(best->io_write_bytes, now->io_write_bytes);
	best->oom_kills = max_u64(best->oom_kills, now->oom_kills);
}

static void read_counters(struct step *s)
{
	struct record_counters now = {0};
	int rc = read_cgroup(s, &now);
	/* rusage adds nothing to an earlier reading from a cgroup */
	bool had_cgroup = s->best.source == COUNTERS_CGROUP_V1 ||
			  s->best.source == COUNTERS_CGROUP_V2;
	if (rc < 0 && !had_cgroup)
		rc = read_rusage(s, &now);
	if (rc == 0)
		step_keep_largest(&s->best, &now);
}

/* ---- records --------------------------------------------------------------------- */

/* While an extern step ends, Slurm's X11 clean-up, another thread of slurmstepd,
 * briefly sets the whole process to the user's effective id (seen with 24.11.5 in one
 * of four jobs on a slow machine). The ring can only be opened before or after that. */
static bool wait_for_owner(void)
{
	for (int i = 0; i < OWNER_WAIT_MS; i++) {
		if (geteuid() == step_host.ring_owner)
			return true;
		step_host.nap();
	}
	return false;
}

/* The id may also change between the check and the open. */
static int send_as_owner(const char *path, const unsigned char *data, size_t len,
			 struct err *err)
{
	int rc = -EPERM;
	for (int i = 0; i < 3 && rc == -EPERM; i++) {
		if (!wait_for_owner())
			return err_set(err, -EPERM, "not running as the ring's owner");
		rc = ring_send(path, step_host.ring_owner, data, len, err);
	}
	return rc;
}

void step_publish(struct record *r, enum record_type type, const struct policy *policy,
		  bool *failed_before)
{
	unsigned char data[RING_RECORD_MAX];
	struct err err = {""};
	r->type = (uint8_t)type;
	r->realtime_ns = clock_realtime_ns();
	r->boottime_ns = clock_boottime_ns();
	int len = record_encode(r, data, sizeof(data));
	int rc = len < 0 ? err_set(&err, len, "record too long")
			 : send_as_owner(policy->ring, data, (size_t)len, &err);
	if (rc == 0)
		return;
	if (*failed_before)
		slurm_debug("ceems: job %s: %s not recorded: %s", r->unit,
			    record_type_name(r->type), err.text);
	else
		slurm_verbose("ceems: job %s: %s not recorded: %s", r->unit,
			      record_type_name(r->type), err.text);
	*failed_before = true;
}

static void publish_stop(struct step *s, uint32_t flags)
{
	struct record *r = &s->record;
	r->flags |= flags;
	r->exit_status = s->exit_status;
	if (WIFSIGNALED(s->exit_status))
		r->flags |= RECORD_SIGNALLED;
	r->counters = s->best;
	step_publish(r, RECORD_STEP_STOP, s->policy, &s->ring_failed);
}

void step_task_forked(struct step *s, spank_t sp)
{
	struct record *r = &s->record;
	struct job_env env;
	if (s->begun)
		return;
	s->begun = true;
	s->begun_ns = clock_boottime_ns();
	record_init(r, RECORD_STEP_START, MANAGER_SLURM);
	take_items(r, sp);
	s->is_extern = r->step == RECORD_STEP_EXTERN;
	r->stepd_pid = (uint32_t)s->stepd_pid;
	take_cgroups(s, sp);
	read_job_env(sp, s->policy, &env);
	take_step_gpus(r, &env);
	take_request(s, &env);
	take_hints(r, &env);
	take_command(r, sp);
	if (getrusage(RUSAGE_CHILDREN, &s->children_before) < 0 ||
	    getpid() != s->stepd_pid)
		memset(&s->children_before, 0, sizeof(s->children_before));
	if (s->is_extern)
		step_publish(r, RECORD_UNIT_START, s->policy, &s->ring_failed);
	step_publish(r, RECORD_STEP_START, s->policy, &s->ring_failed);
	arm_wait(s);
}

void step_task_ended(struct step *s, spank_t sp)
{
	int status = 0;
	if (!s->begun)
		return;
	s->ended++;
	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS &&
	    (uint32_t)status > s->exit_status && status > 0)
		s->exit_status = (uint32_t)status;
	read_counters(s);
	if (s->ended != s->record.tasks)
		return;
	publish_stop(s, 0);
	report_step(s, sp);
}

void step_exit(struct step *s)
{
	if (!s->begun || s->last_sent)
		return;
	s->last_sent = true;
	read_counters(s);
	publish_stop(s, RECORD_LAST);
	if (s->is_extern) {
		memset(&s->record.counters, 0, sizeof(s->record.counters));
		step_publish(&s->record, RECORD_UNIT_STOP, s->policy, &s->ring_failed);
	}
}
