/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices of a Slurm job, as samples. The indices are from the job's record and
 * need slurmd's own list (daemon/gpus.h). */
#include "daemon/unit_gpus.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/gpus.h"
#include "daemon/options.h"
#include "daemon/sources/child_link.h"
#include "daemon/vgpus/gpu_vgpus.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/wait.h"

#define MAPS_MAX 64 /* slurmds on one host */
#define RETRY_NS (60 * NSEC_PER_SEC)
#define AGAIN_NS (600 * NSEC_PER_SEC) /* a known map is asked for again */
#define PATIENCE_MS 250 /* how long to wait for a slurmd that was just asked */

/* Asked on a separate thread: without its slurmctld a slurmd -G may take until its
 * deadline, and scrapes hold the daemon's lock. */
struct question {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t change;
	bool answered; /* under mutex; then the members below are the asker's again */
	const char *slurmd, *node;
	int rc;
	struct err err;
	struct gpus gpus;
};

/* gres.conf may change, and slurmd be restarted, while we run: then running units keep
 * the devices that they were given by the list of before. */
struct gpu_map {
	char node[RECORD_NAME_MAX];
	bool known;
	uint64_t next_try_ns;
	struct question *asked;   /* NULL: none is running */
	uint64_t asked_for_ns;    /* boot time from which on the answer holds */
	uint64_t answered_for_ns; /* of the last one */
	uint32_t reloads;         /* of env, when it was asked for */
	struct gpus gpus;
	uint64_t since_ns;   /* boot time from which on gpus holds */
	struct gpus *before; /* NULL: it always did */
};

struct gpu_maps {
	const struct env *env;
	char slurmd[256]; /* absolute; "": there is none */
	size_t count;
	struct gpu_map *map[MAPS_MAX];
	struct gpu_vgpus *vgpus; /* NULL: of Slurm's units alone */
	struct log_repeat unknown;
};

/* --collector.slurm.slurmd-path without a slash is searched for in the packages'
 * folders, not in $PATH, which is not trusted. */
static void find_slurmd(struct gpu_maps *m, const char *name)
{
	static const char *const dirs[] = {"/usr/sbin/", "/usr/local/sbin/",
					   "/opt/slurm/sbin/", "/usr/bin/"};

	if (name[0] == '/') {
		(void)snprintf(m->slurmd, sizeof(m->slurmd), "%s", name);
		return;
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		(void)snprintf(m->slurmd, sizeof(m->slurmd), "%s%s", dirs[i], name);
		if (!strchr(name, '/') && access(m->slurmd, X_OK) == 0)
			return;
	}
	m->slurmd[0] = '\0';
}

struct gpu_maps *gpu_maps_new(const struct env *env)
{
	struct gpu_maps *m = calloc(1, sizeof(*m));

	if (m) {
		m->env = env;
		find_slurmd(m, env->options->slurmd_path);
	}
	return m;
}

static void *ask_slurmd(void *arg)
{
	struct question *q = arg;
	int rc = gpus_probe(q->slurmd, q->node, &q->gpus, &q->err);

	pthread_mutex_lock(&q->mutex);
	q->rc = rc;
	q->answered = true;
	pthread_cond_signal(&q->change);
	pthread_mutex_unlock(&q->mutex);
	return NULL;
}

static void question_free(struct question *q)
{
	if (!q)
		return;
	pthread_join(q->thread, NULL);
	pthread_cond_destroy(&q->change);
	pthread_mutex_destroy(&q->mutex);
	free(q);
}

static struct question *question_new(const struct gpu_maps *m,
				     const struct gpu_map *map)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->slurmd = m->slurmd;
	q->node = map->node[0] ? map->node : NULL;
	pthread_mutex_init(&q->mutex, NULL);
	wait_cond_init(&q->change);
	if (pthread_create(&q->thread, NULL, ask_slurmd, q) == 0)
		return q;
	pthread_cond_destroy(&q->change);
	pthread_mutex_destroy(&q->mutex);
	free(q);
	return NULL;
}

/* Whether the answer has come, after waiting at most wait_ms. */
static bool wait_for_answer(struct question *q, unsigned wait_ms)
{
	struct timespec until = wait_in(wait_ms);

	pthread_mutex_lock(&q->mutex);
	while (wait_ms && !q->answered)
		if (pthread_cond_timedwait(&q->change, &q->mutex, &until) == ETIMEDOUT)
			break;
	bool is = q->answered;
	pthread_mutex_unlock(&q->mutex);
	return is;
}

void gpu_maps_free(struct gpu_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		question_free(m->map[i]->asked);
		free(m->map[i]->before);
		free(m->map[i]);
	}
	gpu_vgpus_free(m->vgpus);
	free(m);
}

void unit_gpus_done(struct unit_gpus *u)
{
	for (size_t i = 0; i < u->count; i++)
		buf_done(&u->use[i].labels);
	free(u->use);
	*u = (struct unit_gpus){0};
}

static struct gpu_map *map_of(struct gpu_maps *m, const char *node)
{
	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->map[i]->node, node) == 0)
			return m->map[i];
	}
	if (m->count == MAPS_MAX)
		return NULL;
	struct gpu_map *map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	memcpy(map->node, node, strnlen(node, sizeof(map->node) - 1));
	m->map[m->count++] = map;
	return map;
}

static bool is_same_list(const struct gpus *a, const struct gpus *b)
{
	return a->managed == b->managed && a->shards == b->shards && a->mps == b->mps &&
	       a->count == b->count && a->shard_count == b->shard_count &&
	       memcmp(a->gpu, b->gpu, a->count * sizeof(a->gpu[0])) == 0;
}

/* Of the lists that held before only the last is kept. */
static int keep_list(struct gpu_map *map, const struct gpus *now)
{
	if (map->known && is_same_list(&map->gpus, now))
		return 0;
	if (map->known) {
		if (!map->before)
			map->before = malloc(sizeof(*map->before));
		if (!map->before)
			return -ENOMEM;
		*map->before = map->gpus;
		map->since_ns = map->asked_for_ns;
		log_info("slurm: slurmd has another list of GPUs than before, of %u: "
			 "it is used for jobs that start from now on",
			 now->count);
	}
	map->gpus = *now;
	return 0;
}

static int take_answer(const struct gpu_maps *m, struct gpu_map *map, struct err *err)
{
	struct question *q = map->asked;
	int rc = q->rc;

	map->asked = NULL;
	if (err)
		*err = q->err;
	if (rc == 0) {
		/* without a driver the devices have indices but no UUIDs */
		(void)gpus_resolve(&q->gpus, m->env->procfd, m->env->sysfd, NULL);
		rc = gpus_apply_order_map(&q->gpus, m->env->options->gpu_order_map,
					  err);
		if (rc < 0)
			rc = err_prefix(err, rc, "--collector.slurm.gpu-order-map");
	}
	if (rc == 0)
		rc = keep_list(map, &q->gpus);
	if (rc == 0)
		map->answered_for_ns = map->asked_for_ns;
	question_free(q);
	return rc;
}

/* A list that is known is asked for again after a reload, and when a unit starts long
 * after the last answer. */
static bool is_outdated(const struct gpu_maps *m, const struct gpu_map *map,
			const struct unit *unit)
{
	return map->reloads != m->env->reloads ||
	       unit->started_boottime_ns > map->answered_for_ns + AGAIN_NS;
}

static int ask_for_map(const struct gpu_maps *m, struct gpu_map *map,
		       const struct unit *unit, uint64_t now, struct err *err)
{
	bool is_reloaded = map->reloads != m->env->reloads;

	if (now < map->next_try_ns && !is_reloaded)
		return -EAGAIN;
	map->next_try_ns = now + RETRY_NS;
	map->reloads = m->env->reloads;
	map->asked_for_ns = is_reloaded ? now : unit->started_boottime_ns;
	if (!m->slurmd[0])
		return err_set(err, -ENOENT, "%s: not found",
			       m->env->options->slurmd_path);
	map->asked = question_new(m, map);
	return map->asked ? 0 : err_set(err, -ENOMEM, "no thread for slurmd -G");
}

/* 0: the map is known, maybe the one of before; -EAGAIN: not yet; else slurmd cannot
 * tell. */
static int learn_gpu_map(const struct gpu_maps *m, struct gpu_map *map,
			 const struct unit *unit, uint64_t now, unsigned wait_ms,
			 struct err *err)
{
	unsigned patience_ms = 0;

	if (!map->asked) {
		if (map->known && !is_outdated(m, map, unit))
			return 0;
		int rc = ask_for_map(m, map, unit, now, err);
		if (rc < 0)
			return map->known ? 0 : rc;
		patience_ms = map->known ? 0 : wait_ms;
	}
	if (!wait_for_answer(map->asked, patience_ms))
		return map->known ? 0 : -EAGAIN;
	int rc = take_answer(m, map, err);
	if (rc < 0 && map->known)
		log_warn("slurm: %s: the list of GPUs of before is used", err->text);
	map->known |= rc == 0;
	return map->known ? 0 : rc;
}

static const struct gpus *list_for_unit(const struct gpu_map *map,
					const struct unit *unit)
{
	bool is_older = unit->started_boottime_ns < map->since_ns;

	return map->before && is_older ? map->before : &map->gpus;
}

int gpu_maps_of(struct gpu_maps *m, const struct unit *unit, bool patient,
		struct gpu_use *ret, size_t max)
{
	struct gpu_map *map = map_of(m, unit->node);
	struct err err = {""};
	int rc = map ? learn_gpu_map(m, map, unit, m->env->boottime_ns(),
				     patient ? PATIENCE_MS : 0, &err)
		     : -ENOMEM;

	return rc < 0 ? rc
		      : gpus_of(list_for_unit(map, unit), unit->gpus, unit->gpu_share,
				ret, max, NULL);
}

static int render_gpu_labels(const struct gpu_maps *m, const struct unit *unit,
			     const struct gpu_use *use, struct unit_gpu *out)
{
	char index[16], hindex[RECORD_NAME_MAX * 5], instance[16] = "";

	(void)snprintf(index, sizeof(index), "%u", use->gpu->index);
	(void)snprintf(hindex, sizeof(hindex), "%s/gpu-%s", m->env->hostname, index);
	if (use->gpu->instance != GPUS_NONE)
		(void)snprintf(instance, sizeof(instance), "%u", use->gpu->instance);
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", m->env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"index", index},
		{"hindex", hindex},
		{"gpuuuid", use->gpu->uuid},
		{"gpuiid", instance},
	};
	prom_render_labels(&out->labels, labels, sizeof(labels) / sizeof(labels[0]));
	out->share = use->share;
	out->device = use->share < 1 ? GPUS_NONE : use->gpu->smi_index;
	out->instance = use->gpu->instance;
	out->compute = use->gpu->compute;
	out->is_part = use->gpu->siblings > 1;
	return buf_error(&out->labels);
}

static int take_unit_gpus(const struct gpu_maps *m, const struct gpu_map *map,
			  const struct unit *unit, struct unit_gpus *u, struct err *err)
{
	struct gpu_use use[GPUS_MAX];
	int n = gpus_of(list_for_unit(map, unit), unit->gpus, unit->gpu_share, use,
			GPUS_MAX, err);

	if (n <= 0)
		return n;
	u->use = calloc((size_t)n, sizeof(*u->use));
	if (!u->use)
		return err_set(err, -ENOMEM, "no memory");
	for (int i = 0; i < n; i++) {
		int rc = render_gpu_labels(m, unit, &use[i], &u->use[u->count++]);
		if (rc < 0)
			return err_set(err, rc, "no memory");
	}
	return 0;
}

static void find_unit_gpus(struct gpu_maps *m, const struct unit *unit,
			   struct unit_gpus *u)
{
	uint64_t now = m->env->boottime_ns();
	struct gpu_map *map = map_of(m, unit->node);
	struct err err = {.text = "too many slurmds on this host"};
	int rc = map ? learn_gpu_map(m, map, unit, now, PATIENCE_MS, &err) : -ENOMEM;

	if (rc == -EAGAIN)
		return;
	if (rc == 0) {
		rc = take_unit_gpus(m, map, unit, u, &err);
		/* it will not be understood at the next scrape either */
		u->done = true;
	}
	if (rc < 0 && log_repeat_due(&m->unknown, now))
		log_warn("slurm: job %s: gpus %s: %s: not exported", unit->id,
			 unit->gpus, err.text);
}

static const struct prom_family family_flag = {
	"ceems_compute_unit_gpu_index_flag", PROM_GAUGE,
	"Share of the device that the job holds, 1 = all of it (Slurm's gres indices, "
	"slurmd -G)"};

static const struct unit_gpu_column {
	enum child_gpu_value value;
	struct prom_family family;
	unsigned decimals;
} unit_gpu_columns[] = {
	{CHILD_GPU_POWER,
	 {"ceems_compute_unit_gpu_power_watts", PROM_GAUGE,
	  "Power of a device that the unit holds as a whole"},
	 6},
	{CHILD_GPU_BUSY,
	 {"ceems_compute_unit_gpu_busy_ratio", PROM_GAUGE,
	  "Share of the driver's last sample period in which a kernel ran on a device "
	  "that the unit holds as a whole"},
	 6},
	{CHILD_GPU_MEMORY_USED,
	 {"ceems_compute_unit_gpu_memory_used_bytes", PROM_GAUGE,
	  "Memory in use of a device that the unit holds as a whole, or of its "
	  "instance"},
	 0},
	{CHILD_GPU_MEMORY_TOTAL,
	 {"ceems_compute_unit_gpu_memory_size_bytes", PROM_GAUGE,
	  "Memory of a device that the unit holds as a whole, or of its instance"},
	 0},
	{CHILD_GPU_SM_COUNT,
	 {"ceems_compute_unit_gpu_sm_count", PROM_GAUGE,
	  "Multiprocessors, or compute units, of a device that the unit holds as a "
	  "whole, or of its instance (the driver's count)"},
	 0},
};

#define UNIT_GPU_SM_COLUMN (sizeof(unit_gpu_columns) / sizeof(unit_gpu_columns[0]) - 1)

static const struct prom_family unit_gpu_figures[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] = {"ceems_compute_unit_gpu_graphics_active_ratio",
				PROM_GAUGE,
				"Any engine active, of the device or instance that the "
				"unit holds (performance counters)"},
	[CHILD_GPU_SM] = {"ceems_compute_unit_gpu_sm_active_ratio", PROM_GAUGE,
			  "Multiprocessors with a warp, of the device or instance that "
			  "the unit holds (performance counters)"},
	[CHILD_GPU_OCCUPANCY] = {"ceems_compute_unit_gpu_sm_occupancy_ratio",
				 PROM_GAUGE,
				 "Warps on the multiprocessors, of the device or "
				 "instance that the unit holds (performance counters)"},
	[CHILD_GPU_TENSOR] = {"ceems_compute_unit_gpu_tensor_active_ratio", PROM_GAUGE,
			      "Tensor cores in use, of the device or instance that the "
			      "unit holds (performance counters)"},
	[CHILD_GPU_FP64] = {"ceems_compute_unit_gpu_fp64_active_ratio", PROM_GAUGE,
			    "FP64 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_FP32] = {"ceems_compute_unit_gpu_fp32_active_ratio", PROM_GAUGE,
			    "FP32 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_FP16] = {"ceems_compute_unit_gpu_fp16_active_ratio", PROM_GAUGE,
			    "FP16 units in use, of the device or instance that the "
			    "unit holds (performance counters)"},
	[CHILD_GPU_DRAM] = {"ceems_compute_unit_gpu_dram_active_ratio", PROM_GAUGE,
			    "Bandwidth to memory in use, of the device or instance "
			    "that the unit holds (performance counters)"},
};

/* The last message of use's device, if it is not too old */
union gpu_message {
	struct child_gpu gpu;
	struct child_gpu_instances instances;
	char bytes[sizeof(struct child_gpu_instances) +
		   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
};
_Static_assert(sizeof(union gpu_message) >=
		       sizeof(struct child_gpu) +
			       CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point),
	       "both kinds fit");

static bool get_gpu_message(const struct gpu_maps *m, const struct unit_gpu *use,
			    enum child_kind kind, union gpu_message *ret)
{
	char name[CHILD_NAME_BYTES];
	uint64_t now_ns = m->env->boottime_ns();

	(void)snprintf(name, sizeof(name), "gpu%u", use->device);
	if (!m->env->gpu || use->device == GPUS_NONE ||
	    child_link_get(m->env->gpu, kind, name, ret, sizeof(*ret)) < 0)
		return false;
	uint64_t read_ns =
		kind == CHILD_GPU ? ret->gpu.read_ns : ret->instances.read_ns;
	return now_ns <= read_ns + CHILD_GPU_STALE_NS;
}

static void put_unit_figures(const struct unit_gpu *use,
			     const struct child_gpu_profile *p, struct prom *out)
{
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (!(p->have >> i & 1))
			continue;
		prom_family(out, &unit_gpu_figures[i]);
		prom_put_block_scaled(out, &use->labels, p->ppm[i], 6);
	}
}

/* A device that one unit holds has that unit's figures. */
static void put_device_values(const struct gpu_maps *m, const struct unit_gpu *use,
			      struct prom *out)
{
	static const size_t n = sizeof(unit_gpu_columns) / sizeof(unit_gpu_columns[0]);
	union gpu_message in;

	if (!get_gpu_message(m, use, CHILD_GPU, &in))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct unit_gpu_column *c = &unit_gpu_columns[i];
		if (!child_gpu_has(&in.gpu, c->value))
			continue;
		prom_family(out, &c->family);
		prom_put_block_scaled(out, &use->labels, in.gpu.value[c->value],
				      c->decimals);
	}
	put_unit_figures(use, &in.gpu.profile, out);
}

/* The message's entry of what use holds; *alone: no other one is of its GPU instance.
 */
static const struct child_gpu_instance *
find_held_instance(const struct child_gpu_instances *m, const struct unit_gpu *use,
		   bool *alone)
{
	const struct child_gpu_instance *g = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_instance *in = &m->items[i];
		if (in->gi != use->instance)
			continue;
		count++;
		if (!g && (use->compute == GPUS_NONE || use->compute == in->ci))
			g = in;
	}
	*alone = count == 1 && !use->is_part;
	return *alone || use->compute != GPUS_NONE ? g : NULL;
}

static void put_instance_memory(const struct unit_gpu *use,
				const struct child_gpu_instance *g, struct prom *out)
{
	static const struct {
		enum child_gpu_instance_value which;
		enum child_gpu_value same; /* as of a device */
	} values[] = {{CHILD_GPU_INSTANCE_USED, CHILD_GPU_MEMORY_USED},
		      {CHILD_GPU_INSTANCE_TOTAL, CHILD_GPU_MEMORY_TOTAL}};
	static const size_t n = sizeof(unit_gpu_columns) / sizeof(unit_gpu_columns[0]);

	for (size_t i = 0; i < 2; i++) {
		if (!(g->have >> values[i].which & 1))
			continue;
		for (size_t c = 0; c < n; c++) {
			if (unit_gpu_columns[c].value == values[i].same)
				prom_family(out, &unit_gpu_columns[c].family);
		}
		prom_put_block_u64(out, &use->labels, g->value[values[i].which]);
	}
}

/* An instance has no power, and how busy it is only its figures tell. Memory and
 * figures are the GPU instance's: of one of several compute instances they are not. */
static void put_instance_values(const struct gpu_maps *m, const struct unit_gpu *use,
				struct prom *out)
{
	union gpu_message in;
	bool alone;

	if (!get_gpu_message(m, use, CHILD_GPU_INSTANCES, &in))
		return;
	const struct child_gpu_instance *g =
		find_held_instance(&in.instances, use, &alone);
	if (!g)
		return;
	if (alone)
		put_instance_memory(use, g, out);
	if (g->sm_count) {
		prom_family(out, &unit_gpu_columns[UNIT_GPU_SM_COLUMN].family);
		prom_put_block_u64(out, &use->labels, g->sm_count);
	}
	if (alone)
		put_unit_figures(use, &g->profile, out);
}

void gpu_maps_read_vgpus(struct gpu_maps *m)
{
	if (!m->vgpus && m->env->gpu)
		m->vgpus = gpu_vgpus_new(m->env);
	if (m->vgpus)
		gpu_vgpus_take(m->vgpus, CHILD_GPUS_MAX);
}

static const struct prom_family vgpu_info = {
	"ceems_compute_unit_gpu_vgpu_info", PROM_GAUGE,
	"A part of a device (vGPU) that the virtual machine has, and its type"};

static void put_vgpu(const struct gpu_maps *m, const struct unit *unit,
		     const struct gpu_vgpu *v, struct prom *out)
{
	const struct child_gpu_vgpu *said = &v->said;
	char index[16], hindex[RECORD_NAME_MAX * 5], instance[16] = "", id[16];
	(void)snprintf(index, sizeof(index), "%u", v->device);
	(void)snprintf(hindex, sizeof(hindex), "%s/gpu-%s", m->env->hostname, index);
	(void)snprintf(id, sizeof(id), "%u", said->id);
	if (said->gi != CHILD_GPU_NONE)
		(void)snprintf(instance, sizeof(instance), "%u", said->gi);
	const struct prom_label labels[] = {
		{"manager", record_manager_name((uint8_t)unit->manager)},
		{"hostname", m->env->hostname},
		{"cgrouphostname", unit->node},
		{"uuid", unit->id},
		{"index", index},
		{"hindex", hindex},
		{"gpuuuid", v->gpu_uuid},
		{"gpuiid", instance},
		{"vgpu", id},
		{"type", said->type}};
	static const struct {
		enum child_gpu_vgpu_value which;
		enum child_gpu_value same; /* as of a device */
	} values[] = {{CHILD_GPU_VGPU_BUSY, CHILD_GPU_BUSY},
		      {CHILD_GPU_VGPU_USED, CHILD_GPU_MEMORY_USED},
		      {CHILD_GPU_VGPU_SIZE, CHILD_GPU_MEMORY_TOTAL}};
	const uint64_t value[] = {said->busy_ppm, said->used_bytes, said->size_bytes};

	prom_family(out, &vgpu_info);
	prom_put_u64(out, labels, 10, 1);
	prom_family(out, &family_flag);
	prom_put_scaled(out, labels, 9, v->share_ppm, 6);
	for (size_t i = 0; i < 3; i++) {
		const struct unit_gpu_column *c = unit_gpu_columns;
		if (!(said->have >> values[i].which & 1))
			continue;
		while (c->value != values[i].same)
			c++;
		prom_family(out, &c->family);
		prom_put_scaled(out, labels, 9, value[i], c->decimals);
	}
}

static void export_vgpus(const struct gpu_maps *m, const struct unit *unit,
			 struct prom *out)
{
	const struct gpu_vgpu *v = NULL;

	while ((v = gpu_vgpus_next(m->vgpus, unit->id, v)))
		put_vgpu(m, unit, v, out);
}

void gpu_maps_export(struct gpu_maps *m, const struct unit *unit, struct unit_gpus *u,
		     struct prom *out)
{
	if (unit->manager != MANAGER_SLURM)
		export_vgpus(m, unit, out);
	if (unit->manager != MANAGER_SLURM || !unit->gpus[0])
		return;
	if (!u->done)
		find_unit_gpus(m, unit, u);
	prom_family(out, &family_flag);
	for (size_t i = 0; i < u->count; i++)
		prom_put_block_f64(out, &u->use[i].labels, u->use[i].share);
	for (size_t i = 0; i < u->count; i++)
		if (u->use[i].instance == GPUS_NONE)
			put_device_values(m, &u->use[i], out);
		else
			put_instance_values(m, &u->use[i], out);
}

/* ---- processes on devices -------------------------------------------------------- */

static const struct prom_family gpu_processes = {
	"ceems_gpu_processes", PROM_GAUGE,
	"Processes on the device: of a unit that was given it (holder), of another one "
	"(other_unit), of no unit (outside)"};
static const struct prom_family foreign_processes = {
	"ceems_compute_unit_gpu_foreign_processes", PROM_GAUGE,
	"Processes of the unit on a device that it was not given"};

enum process_owner { OF_HOLDER, OF_OTHER_UNIT, OF_NO_UNIT, PROCESS_OWNERS };

/* A unit and its processes on a device that it was not given */
struct gpu_intruder {
	uint32_t unit, processes;
};

struct process_tally {
	uint64_t owned[PROCESS_OWNERS];
	size_t count;
	struct gpu_intruder intruder[CHILD_GPU_PROCESSES_MAX];
};

/* Of what is not known it is assumed that it was given. */
static bool was_given(struct gpu_maps *m, const struct unit *unit, uint32_t device,
		      const struct child_gpu_process *p)
{
	struct gpu_use use[GPUS_MAX];

	if (unit->manager != MANAGER_SLURM)
		return true;
	if (!unit->gpus[0])
		return false;
	int n = gpu_maps_of(m, unit, false, use, GPUS_MAX);
	for (int i = 0; i < n; i++) {
		const struct gpu *g = use[i].gpu;
		if (g->smi_index == GPUS_NONE)
			return true;
		if (g->smi_index != device)
			continue;
		if (g->instance == GPUS_NONE || p->gi == CHILD_GPU_NONE)
			return true;
		if (g->instance == p->gi &&
		    (g->compute == GPUS_NONE || p->ci == CHILD_GPU_NONE ||
		     g->compute == p->ci))
			return true;
	}
	return n < 0;
}

static void note_intruder(struct process_tally *t, uint32_t unit)
{
	size_t i = 0;

	while (i < t->count && t->intruder[i].unit != unit)
		i++;
	if (i == t->count)
		t->intruder[t->count++] = (struct gpu_intruder){.unit = unit};
	t->intruder[i].processes++;
}

static void tally_process(struct gpu_maps *m, struct units *units, uint32_t device,
			  const struct child_gpu_process *p, struct process_tally *t)
{
	char path[RECORD_CGROUP_MAX];

	cgroup_step_of_pid(m->env->procfd, p->pid, path);
	uint32_t step = *path ? steps_find_path(units, path) : UNITS_NONE;
	if (step == UNITS_NONE) {
		t->owned[OF_NO_UNIT]++;
		return;
	}
	uint32_t unit = steps_unit(units, step);
	const struct unit *u = units_get(units, unit);
	bool given = was_given(m, u, device, p);
	t->owned[given ? OF_HOLDER : OF_OTHER_UNIT]++;
	if (!given)
		note_intruder(t, unit);
}

static void put_process_tally(const struct gpu_maps *m, struct units *units,
			      const struct child_gpu_processes *in,
			      const struct process_tally *t, struct prom *out)
{
	static const char *const owners[PROCESS_OWNERS] = {"holder", "other_unit",
							   "outside"};
	char index[16];

	(void)snprintf(index, sizeof(index), "%u", in->index);
	prom_family(out, &gpu_processes);
	for (unsigned i = 0; i < PROCESS_OWNERS; i++) {
		const struct prom_label labels[] = {{"hostname", m->env->hostname},
						    {"index", index},
						    {"gpuuuid", in->uuid},
						    {"owner", owners[i]}};
		prom_put_u64(out, labels, 4, t->owned[i]);
	}
	prom_family(out, &foreign_processes);
	for (size_t i = 0; i < t->count; i++) {
		const struct unit *u = units_get(units, t->intruder[i].unit);
		const struct prom_label labels[] = {
			{"manager", record_manager_name((uint8_t)u->manager)},
			{"hostname", m->env->hostname},
			{"cgrouphostname", u->node},
			{"uuid", u->id},
			{"gpuindex", index},
			{"gpuuuid", in->uuid},
		};
		prom_put_u64(out, labels, 6, t->intruder[i].processes);
	}
}

void gpu_maps_export_processes(struct gpu_maps *m, struct units *units,
			       struct prom *out)
{
	union {
		struct child_gpu_processes m;
		char bytes[sizeof(struct child_gpu_processes) +
			   CHILD_GPU_PROCESSES_MAX * sizeof(struct child_gpu_process)];
	} in;
	char name[CHILD_NAME_BYTES];

	for (uint32_t i = 0; i < CHILD_GPUS_MAX && m->env->gpu; i++) {
		struct process_tally tally = {.count = 0};
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(m->env->gpu, CHILD_GPU_PROCESSES, name, &in,
				   sizeof(in)) < 0 ||
		    m->env->boottime_ns() > in.m.read_ns + CHILD_GPU_STALE_NS)
			continue;
		for (uint32_t k = 0; k < in.m.head.count; k++) {
			if (!in.m.items[k].ended)
				tally_process(m, units, i, &in.m.items[k], &tally);
		}
		put_process_tally(m, units, &in.m, &tally, out);
	}
}
