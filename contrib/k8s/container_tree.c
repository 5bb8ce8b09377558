/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/container_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/group_file.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/fs.h"
#include "lib/log.h"

#define WATCH_BUCKETS 4096u /* powers of two */
#define PATH_BUCKETS 4096u
#define ENTRIES_MAX 4096u /* of a pod's folder */
#define LIVE_MAX 65536u   /* containers */

struct live_container {
	struct live_container *next; /* of its pod */
	struct live_container *next_watch;
	struct watched_pod *pod;
	int wd; /* of cgroup.events; -1: not watched */
	bool listed;
	struct container_run run; /* what is known of it by now */
	char path[];
};

struct watched_pod {
	struct watched_pod *next, *next_watch;
	int wd; /* of its folder; -1: not watched */
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
	struct watched_pod *pods_by_path[PATH_BUCKETS];
	/* by watch descriptor */
	struct watched_pod *pods_by_wd[WATCH_BUCKETS];
	struct live_container *containers_by_wd[WATCH_BUCKETS];
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

static unsigned bucket_of_wd(int wd)
{
	return (unsigned)wd & (WATCH_BUCKETS - 1);
}

static int watch_below(struct container_tree *t, const char *below, uint32_t mask)
{
	int wd = t->full ? -1 : group_file_watch(&t->place, t->fd, below, mask);

	if (wd < 0 && !t->full && errno == ENOSPC) {
		t->full = true;
		log_warn("fs.inotify.max_user_watches is reached: containers of "
			 "further pods are not seen, their pods are");
	}
	return wd;
}

static void link_container(struct container_tree *t, struct live_container *c)
{
	struct live_container **bucket = &t->containers_by_wd[bucket_of_wd(c->wd)];

	c->next_watch = *bucket;
	*bucket = c;
}

static void unlink_container(struct container_tree *t, const struct live_container *c)
{
	struct live_container **at = &t->containers_by_wd[bucket_of_wd(c->wd)];

	while (*at && *at != c)
		at = &(*at)->next_watch;
	if (*at)
		*at = c->next_watch;
}

static void unlink_pod(struct container_tree *t, const struct watched_pod *p)
{
	struct watched_pod **at = &t->pods_by_wd[bucket_of_wd(p->wd)];

	while (*at && *at != p)
		at = &(*at)->next_watch;
	if (*at)
		*at = p->next_watch;
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

static struct live_container *find_container(struct watched_pod *p, const char *id)
{
	struct live_container *c = p->containers;

	while (c && strcmp(c->run.id, id) != 0)
		c = c->next;
	return c;
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
	c->wd = group_file_path(&t->place, CGROUP_UNIFIED, path, GROUP_EVENTS, file)
			? watch_below(t, file, IN_MODIFY)
			: -1;
	if (c->wd >= 0)
		link_container(t, c);
	t->live++;
	pods_begin_container(t->pods, p->uid, &c->run, name);
}

static void end_container(struct container_tree *t, struct live_container *c)
{
	struct live_container **at = &c->pod->containers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->wd >= 0)
		unlink_container(t, c); /* the kernel has removed the watch */
	if (!c->run.ended_ns || c->wd < 0) {
		c->run.ended_ns = clock_boottime_ns();
		c->run.ended_realtime_ns = clock_realtime_ns();
	}
	pods_end_container(t->pods, c->pod->uid, &c->run);
	free(c);
	t->live--;
}

static void see_container(struct container_tree *t, struct watched_pod *p,
			  const char *name)
{
	char id[CGROUP_CONTAINER_ID_SIZE];

	if (!cgroup_container_id(name, id))
		return;
	struct live_container *c = find_container(p, id);
	if (!c) {
		begin_container(t, p, name, id);
		return;
	}
	c->listed = true;
	if (c->wd < 0)
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

static struct watched_pod **find_watched(struct container_tree *t, const char *path)
{
	uint32_t hash = crc32c(0, path, strlen(path));
	struct watched_pod **at = &t->pods_by_path[hash & (PATH_BUCKETS - 1)];

	while (*at && strcmp((*at)->path, path) != 0)
		at = &(*at)->next;
	return at;
}

static struct watched_pod *add_watched(struct container_tree *t,
				       struct watched_pod **at, const char *uid,
				       const char *path, uint32_t bit)
{
	size_t len = strlen(path) + 1;
	char full[GROUP_FILE_SIZE];
	struct watched_pod *p = group_file_path(&t->place, bit, path, "", full)
					? calloc(1, sizeof(*p) + len)
					: NULL;

	if (!p)
		return NULL;
	memcpy(p->path, path, len);
	(void)snprintf(p->uid, sizeof(p->uid), "%s", uid);
	p->bit = bit;
	p->wd = watch_below(t, full, IN_CREATE | IN_DELETE | IN_ONLYDIR);
	if (p->wd >= 0) {
		p->next_watch = t->pods_by_wd[bucket_of_wd(p->wd)];
		t->pods_by_wd[bucket_of_wd(p->wd)] = p;
	}
	*at = p;
	return p;
}

void container_tree_see_pod(struct container_tree *t, const char *uid, const char *path,
			    uint32_t bit)
{
	struct watched_pod **at = find_watched(t, path), *p = *at;
	bool list = !p || t->all || p->wd < 0;

	if (!p)
		p = add_watched(t, at, uid, path, bit);
	if (!p)
		return;
	p->listed = true;
	if (list)
		list_containers(t, p);
}

static void drop_watched(struct container_tree *t, struct watched_pod **at)
{
	struct watched_pod *p = *at;

	while (p->containers)
		end_container(t, p->containers);
	if (p->wd >= 0)
		unlink_pod(t, p);
	*at = p->next;
	free(p);
}

void container_tree_end_pod(struct container_tree *t, const char *path)
{
	struct watched_pod **at = find_watched(t, path);

	if (*at)
		drop_watched(t, at);
}

void container_tree_list_begin(struct container_tree *t, bool all)
{
	t->all = all;
	for (unsigned b = 0; b < PATH_BUCKETS; b++) {
		for (struct watched_pod *p = t->pods_by_path[b]; p; p = p->next)
			p->listed = false;
	}
}

void container_tree_list_end(struct container_tree *t)
{
	t->all = false;
	for (unsigned b = 0; b < PATH_BUCKETS; b++) {
		for (struct watched_pod **at = &t->pods_by_path[b]; *at;) {
			if ((*at)->listed)
				at = &(*at)->next;
			else
				drop_watched(t, at);
		}
	}
}

/* They go on without us: nobody is told of an end. */
void container_tree_free(struct container_tree *t)
{
	for (unsigned b = 0; t && b < PATH_BUCKETS; b++) {
		while (t->pods_by_path[b]) {
			struct watched_pod *p = t->pods_by_path[b];
			t->pods_by_path[b] = p->next;
			while (p->containers) {
				struct live_container *next = p->containers->next;
				free(p->containers);
				p->containers = next;
			}
			free(p);
		}
	}
	free(t);
}

/* ---- events ---------------------------------------------------------------------- */

static bool take_counters_event(struct container_tree *t, const struct inotify_event *e)
{
	struct live_container *c = t->containers_by_wd[bucket_of_wd(e->wd)];

	while (c && c->wd != e->wd)
		c = c->next_watch;
	if (c && e->mask & IN_MODIFY && group_file_is_empty(&t->place, c->path))
		read_counters(t, c);
	return c;
}

bool container_tree_take(struct container_tree *t, const struct inotify_event *e)
{
	struct watched_pod *p = t->pods_by_wd[bucket_of_wd(e->wd)];
	char id[CGROUP_CONTAINER_ID_SIZE];

	while (p && p->wd != e->wd)
		p = p->next_watch;
	if (!p)
		return take_counters_event(t, e);
	if (!e->len || !(e->mask & IN_ISDIR))
		return true;
	if (e->mask & IN_CREATE) {
		see_container(t, p, e->name);
	} else if (e->mask & IN_DELETE && cgroup_container_id(e->name, id)) {
		struct live_container *c = find_container(p, id);
		if (c)
			end_container(t, c);
	}
	return true;
}
