/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/gpus_question.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/wait.h"

static void *ask_for_gpus(void *arg)
{
	struct gpus_question *q = arg;
	const char *node = *q->node ? q->node : NULL;
	int rc = q->slurmd ? gpus_probe(q->slurmd, node, &q->gpus, &q->err) : 0;

	if (rc == 0) /* without a driver the devices have indices but no UUIDs */
		(void)gpus_resolve(&q->gpus, q->env->procfd, q->env->sysfd, NULL);
	pthread_mutex_lock(&q->mutex);
	q->rc = rc;
	q->answered = true;
	pthread_cond_signal(&q->change);
	pthread_mutex_unlock(&q->mutex);
	return NULL;
}

static void destroy_question(struct gpus_question *q)
{
	pthread_cond_destroy(&q->change);
	pthread_mutex_destroy(&q->mutex);
	free(q);
}

struct gpus_question *gpus_question_new(const struct env *env, const char *slurmd,
					const char *node)
{
	struct gpus_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->env = env;
	q->slurmd = slurmd;
	q->node = node;
	pthread_mutex_init(&q->mutex, NULL);
	wait_cond_init(&q->change);
	if (pthread_create(&q->thread, NULL, ask_for_gpus, q) == 0)
		return q;
	destroy_question(q);
	return NULL;
}

bool gpus_question_wait(struct gpus_question *q, unsigned wait_ms)
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

int gpus_question_done(struct gpus_question *q, unsigned wait_ms)
{
	if (!q)
		return 0;
	if (!gpus_question_wait(q, wait_ms))
		return -ETIMEDOUT;
	pthread_join(q->thread, NULL);
	destroy_question(q);
	return 0;
}
