/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/container_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/group_file.h"
#include "contrib/k8s/group_index.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"

#define ENTRIES_MAX 4096u /* of a pod's folder */
#define LIVE_MAX 65536u   /* containers */

struct live_container {
	struct group_entry entry;    /* first; watched is cgroup.events */
	struct live_container *next; /* of its pod */
	struct watched_pod *pod;
	bool listed;
	struct container_run run; /* what is known of it by now */
	char path[];
};

struct watched_pod {
	struct group_entry entry; /* first; watched is its folder */
	bool listed;
	uint32_t bit; /* hierarchy */
	char uid[CGROUP_POD_UID_SIZE];
	struct live_container *containers;
	char path[];
};

struct container_tree {
	struct pods_place place;
	struct pods *pods;
	int fd;
	bool full; /* the kernel has no more watches for us */
	bool all;  /* the list that is being read is one of containers, too */
	uint32_t live;
	struct group_index pods_index, containers_index;
};

struct container_tree *container_tree_new(const struct pods_place *place,
					  struct pods *p, int inotify_fd)
{
	struct container_tree *t = calloc(1, sizeof(*t));

	if (t) {
		t->place = *place;
		t->pods = p;
		t->fd = inotify_fd;
	}
	return t;
}

/* ---- watches --------------------------------------------------------------------- */

/* After lost events again: what is watched already keeps its descriptor. */
static int watch_below(struct container_tree *t, const char *below, uint32_t mask)
{
	int wd = t->full && !t->all ? -1
				    : group_file_watch(&t->place, t->fd, below, mask);

	if (wd < 0 && !t->full && errno == ENOSPC) {
		t->full = true;
		log_warn("fs.inotify.max_user_watches is reached: containers of "
			 "further pods are not seen, their pods are");
	}
	return wd;
}

/* ---- containers ------------------------------------------------------------------ */

/* The files that are read now are final: an empty container does not run again. */
static void read_counters(struct container_tree *t, struct live_container *c)
{
	if (!group_file_counters(&t->place, c->path, &c->run.counters))
		return;
	c->run.ended_ns = clock_boottime_ns();
	c->run.ended_realtime_ns = clock_realtime_ns();
}

static uint32_t run_of_group(const struct container_tree *t, uint32_t bit,
			     const char *path)
{
	struct record r;

	record_init(&r, RECORD_STEP_START, MANAGER_K8S);
	(void)record_add_cgroup(&r, bit, path);
	return teller_run(t->place.cgroupfd, &t->place.layout, &r);
}

static struct live_container *find_container(const struct container_tree *t,
					     const struct watched_pod *p,
					     const char *name)
{
	char path[RECORD_CGROUP_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", p->path, name);

	return n > 0 && (size_t)n < sizeof(path)
		       ? (void *)group_index_find(&t->containers_index, path)
		       : NULL;
}

static void begin_container(struct container_tree *t, struct watched_pod *p,
			    const char *name, const char *id)
{
	char path[RECORD_CGROUP_MAX], file[GROUP_FILE_SIZE];
	int n = snprintf(path, sizeof(path), "%s/%s", p->path, name);

	if (n < 0 || (size_t)n >= sizeof(path) || t->live >= LIVE_MAX)
		return;
	uint32_t run = run_of_group(t, p->bit, path);
	struct live_container *c = run ? calloc(1, sizeof(*c) + (size_t)n + 1) : NULL;
	if (!c)
		return; /* it is gone by now */
	memcpy(c->path, path, (size_t)n + 1);
	memcpy(c->run.id, id, sizeof(c->run.id));
	c->run.run = run;
	c->run.began_ns = clock_boottime_ns();
	c->pod = p;
	c->listed = true;
	c->next = p->containers;
	p->containers = c;
	group_index_add(&t->containers_index, &c->entry, c->path);
	if (group_file_path(&t->place, CGROUP_UNIFIED, path, GROUP_EVENTS, file))
		group_index_watch(&t->containers_index, &c->entry,
				  watch_below(t, file, IN_MODIFY));
	t->live++;
	pods_begin_container(t->pods, p->uid, &c->run, name);
}

static void end_container(struct container_tree *t, struct live_container *c)
{
	struct live_container **at = &c->pod->containers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (!c->run.ended_ns || c->entry.wd < 0) {
		c->run.ended_ns = clock_boottime_ns();
		c->run.ended_realtime_ns = clock_realtime_ns();
	}
	pods_end_container(t->pods, c->pod->uid, &c->run);
	group_index_remove(&t->containers_index, &c->entry);
	free(c); /* the kernel has removed its watch */
	t->live--;
}

static void see_container(struct container_tree *t, struct watched_pod *p,
			  const char *name)
{
	char id[CGROUP_CONTAINER_ID_SIZE];

	if (!cgroup_container_id(name, id))
		return;
	struct live_container *c = find_container(t, p, name);
	if (!c) {
		begin_container(t, p, name, id);
		return;
	}
	c->listed = true;
	if (c->entry.wd < 0 || (t->all && group_file_is_empty(&t->place, c->path)))
		read_counters(t, c);
}

static void list_containers(struct container_tree *t, struct watched_pod *p)
{
	char full[GROUP_FILE_SIZE];
	struct live_container *next;
	struct dirent *e;

	for (struct live_container *c = p->containers; c; c = c->next)
		c->listed = false;
	if (!group_file_path(&t->place, p->bit, p->path, "", full))
		return;
	int fd = fs_opendir_at(t->place.cgroupfd, full, NULL);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	for (unsigned i = 0; d && i < ENTRIES_MAX && (e = readdir(d)); i++) {
		if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
			see_container(t, p, e->d_name);
	}
	for (struct live_container *c = p->containers; d && c; c = next) {
		next = c->next;
		if (!c->listed)
			end_container(t, c);
	}
}

/* ---- pods ------------------------------------------------------------------------ */

static void watch_pod(struct container_tree *t, struct watched_pod *p)
{
	char full[GROUP_FILE_SIZE];

	if (group_file_path(&t->place, p->bit, p->path, "", full))
		group_index_watch(
			&t->pods_index, &p->entry,
			watch_below(t, full, IN_CREATE | IN_DELETE | IN_ONLYDIR));
}

static struct watched_pod *add_watched(struct container_tree *t, const char *uid,
				       const char *path, uint32_t bit)
{
	size_t len = strlen(path) + 1;
	struct watched_pod *p = calloc(1, sizeof(*p) + len);

	if (!p)
		return NULL;
	memcpy(p->path, path, len);
	(void)snprintf(p->uid, sizeof(p->uid), "%s", uid);
	p->bit = bit;
	group_index_add(&t->pods_index, &p->entry, p->path);
	watch_pod(t, p);
	return p;
}

void container_tree_see_pod(struct container_tree *t, const char *uid, const char *path,
			    uint32_t bit)
{
	struct watched_pod *p = (void *)group_index_find(&t->pods_index, path);
	bool list = !p || t->all || p->entry.wd < 0;

	if (!p)
		p = add_watched(t, uid, path, bit);
	else if (t->all) /* its group may be another, whose watch was never made */
		watch_pod(t, p);
	if (!p)
		return;
	p->listed = true;
	if (list)
		list_containers(t, p);
}

static void drop_watched(struct container_tree *t, struct watched_pod *p)
{
	while (p->containers)
		end_container(t, p->containers);
	group_index_remove(&t->pods_index, &p->entry);
	free(p);
}

void container_tree_end_pod(struct container_tree *t, const char *path)
{
	struct group_entry *e = group_index_find(&t->pods_index, path);

	if (e)
		drop_watched(t, (void *)e);
}

void container_tree_list_begin(struct container_tree *t, bool all)
{
	t->all = all;
	for (struct group_entry *e = group_index_next(&t->pods_index, NULL); e;
	     e = group_index_next(&t->pods_index, e))
		((struct watched_pod *)e)->listed = false;
}

void container_tree_list_end(struct container_tree *t)
{
	struct group_entry *next;

	t->all = false;
	for (struct group_entry *e = group_index_next(&t->pods_index, NULL); e;
	     e = next) {
		next = group_index_next(&t->pods_index, e);
		if (!((struct watched_pod *)e)->listed)
			drop_watched(t, (void *)e);
	}
}

/* They go on without us: nobody is told of an end. */
void container_tree_free(struct container_tree *t)
{
	if (!t)
		return;
	group_index_free(&t->containers_index);
	group_index_free(&t->pods_index);
	free(t);
}

/* ---- events ---------------------------------------------------------------------- */

static bool take_counters_event(struct container_tree *t, const struct inotify_event *e)
{
	struct live_container *c =
		(void *)group_index_of_watch(&t->containers_index, e->wd);

	if (c && e->mask & IN_MODIFY && group_file_is_empty(&t->place, c->path))
		read_counters(t, c);
	return c;
}

bool container_tree_take(struct container_tree *t, const struct inotify_event *e)
{
	struct watched_pod *p = (void *)group_index_of_watch(&t->pods_index, e->wd);
	char id[CGROUP_CONTAINER_ID_SIZE];

	if (!p)
		return take_counters_event(t, e);
	if (!e->len || !(e->mask & IN_ISDIR))
		return true;
	if (e->mask & IN_CREATE) {
		see_container(t, p, e->name);
	} else if (e->mask & IN_DELETE && cgroup_container_id(e->name, id)) {
		struct live_container *c = find_container(t, p, e->name);
		if (c)
			end_container(t, c);
	}
	return true;
}
