/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices a unit has: of a job by Slurm's indices and slurmd's own list, made
 * when the first unit with a GPU comes, of a pod by the driver's numbers. */
#include "daemon/gpus/gpu_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/gpus/driver_gpus.h"
#include "daemon/gpus/gpus_question.h"
#include "daemon/options.h"
#include "lib/clock.h"
#include "lib/log.h"

#define MAPS_MAX 64 /* slurmds on one host */
#define RETRY_NS (60 * NSEC_PER_SEC)
#define AGAIN_NS (600 * NSEC_PER_SEC) /* a known map is asked for again */
#define PATIENCE_MS 250 /* how long to wait for a slurmd that was just asked */
#define END_MS 10000

/* gres.conf may change, and slurmd be restarted, while we run: then running units keep
 * the devices that they were given by the list of before. */
struct gpu_map {
	char node[RECORD_NAME_MAX];
	bool known;
	uint64_t next_try_ns;
	struct gpus_question *asked; /* NULL: none is running */
	uint64_t asked_for_ns;       /* boot time from which on the answer holds */
	uint64_t answered_for_ns;    /* of the last one */
	uint32_t reloads;            /* of env, when it was asked for */
	struct gpus gpus;
	uint64_t since_ns;   /* boot time from which on gpus holds */
	struct gpus *before; /* NULL: it always did */
};

struct gpu_maps {
	const struct env *env;
	char slurmd[256]; /* absolute; "": none was found yet */
	size_t count;
	struct gpu_map *map[MAPS_MAX];
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

	if (m)
		m->env = env;
	return m;
}

void gpu_maps_free(struct gpu_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		if (gpus_question_done(m->map[i]->asked, END_MS) < 0)
			return; /* its thread still uses m */
		free(m->map[i]->before);
		free(m->map[i]);
	}
	free(m);
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
	struct gpus_question *q = map->asked;
	int rc = q->rc;

	map->asked = NULL;
	*err = q->err;
	if (rc == 0) {
		rc = gpus_apply_order_map(&q->gpus, m->env->options->gpu_order_map,
					  err);
		if (rc < 0)
			rc = err_prefix(err, rc, "--collector.slurm.gpu-order-map");
	}
	if (rc == 0)
		rc = keep_list(map, &q->gpus);
	if (rc == 0)
		map->answered_for_ns = map->asked_for_ns;
	(void)gpus_question_done(q, END_MS);
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

static int ask_for_map(struct gpu_maps *m, struct gpu_map *map, const struct unit *unit,
		       uint64_t now, struct err *err)
{
	bool is_reloaded = map->reloads != m->env->reloads;

	if (now < map->next_try_ns && !is_reloaded)
		return -EAGAIN;
	map->next_try_ns = now + RETRY_NS;
	map->reloads = m->env->reloads;
	map->asked_for_ns = is_reloaded ? now : unit->started_boottime_ns;
	if (!m->slurmd[0])
		find_slurmd(m, m->env->options->slurmd_path);
	if (!m->slurmd[0])
		return err_set(err, -ENOENT, "%s: not found",
			       m->env->options->slurmd_path);
	map->asked = gpus_question_new(m->env, m->slurmd, map->node);
	return map->asked ? 0 : err_set(err, -ENOMEM, "no thread for slurmd -G");
}

/* 0: the map is known, maybe the one of before; -EAGAIN: not yet; else slurmd cannot
 * tell. */
static int learn_gpu_map(struct gpu_maps *m, struct gpu_map *map,
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
	if (!gpus_question_wait(map->asked, patience_ms))
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
		struct gpu_use *ret, size_t max, struct err *err)
{
	if (!m)
		return err_set(err, -ENOENT, "no list of GPUs");
	if (unit->manager == MANAGER_K8S)
		return driver_gpus_of(m->env->driver_gpus, unit, ret, max, err);
	struct gpu_map *map = map_of(m, unit->node);
	if (!map)
		return err_set(err, -ENOMEM, "too many slurmds on this host");
	struct err why = {""};
	int rc = learn_gpu_map(m, map, unit, m->env->boottime_ns(),
			       patient ? PATIENCE_MS : 0, &why);
	if (rc < 0 && err)
		*err = why;
	return rc < 0 ? rc
		      : gpus_of(list_for_unit(map, unit), unit->gpus, unit->gpu_share,
				ret, max, err);
}
