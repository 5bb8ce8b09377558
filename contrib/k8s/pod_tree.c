/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/pod_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/container_tree.h"
#include "contrib/k8s/group_file.h"
#include "contrib/k8s/group_index.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/log.h"

#define FOLDERS_MAX 15u
#define ENTRIES_MAX 100000u /* of one folder */
#define READS_MAX 64u       /* of events at a time: others wait for us, too */

struct folder {
	char path[RECORD_CGROUP_MAX]; /* from the mount of a hierarchy */
	int wd;                       /* -1: not watched */
};

/* A pod's cgroup.events (v2): when its last process has ended its group is still there
 * for a moment, and is read. */
struct last_look {
	struct group_entry entry; /* first */
	bool listed;              /* in the list after lost events */
	char uid[CGROUP_POD_UID_SIZE];
	struct record_counters counters; /* COUNTERS_NONE: not yet */
	char path[];
};

struct pod_tree {
	struct pods_place place;
	struct pods *pods;
	int fd;
	uint32_t hierarchy; /* enum record_cgroup_bit; 0: not found yet */
	struct folder folders[FOLDERS_MAX];
	unsigned count;
	bool overflow; /* events were lost */
	bool lost;     /* the list that is being read is after that */
	struct group_index looks;
	bool no_looks; /* they failed: no more watches */
	struct container_tree *containers;
};

/* root, and the folders of the two classes below it: "/kubepods/burstable", or with
 * systemd "/kubepods.slice/kubepods-burstable.slice". Guaranteed pods are in root. */
static void add_root(struct pod_tree *t, const char *root)
{
	static const char *const classes[] = {"burstable", "besteffort"};
	const char *base = strrchr(root, '/');
	size_t len = base ? strlen(base + 1) : 0;
	bool slice = len > 6 && strcmp(base + 1 + len - 6, ".slice") == 0;

	if (!base || t->count + 3 > FOLDERS_MAX || strlen(root) > 100)
		return;
	for (unsigned i = 0; i < 3; i++) {
		struct folder *f = &t->folders[t->count++];
		f->wd = -1;
		if (i == 0)
			(void)snprintf(f->path, sizeof(f->path), "%s", root);
		else if (slice)
			(void)snprintf(f->path, sizeof(f->path), "%s/%.*s-%s.slice",
				       root, (int)(len - 6), base + 1, classes[i - 1]);
		else
			(void)snprintf(f->path, sizeof(f->path), "%s/%s", root,
				       classes[i - 1]);
	}
}

int pod_tree_new(const struct pods_place *place, const char *root, struct pods *p,
		 struct pod_tree **ret, struct err *err)
{
	struct pod_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->place = *place;
	t->pods = p;
	t->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (t->fd < 0) {
		int rc = -errno;
		free(t);
		return err_set(err, rc, "inotify: %s: pods cannot be watched",
			       strerror(-rc));
	}
	t->containers = container_tree_new(&t->place, p, t->fd);
	if (!t->containers) {
		pod_tree_free(t);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (*root) {
		add_root(t, root);
	} else {
		add_root(t, "/kubepods");
		add_root(t, "/kubepods.slice");
		add_root(t, "/kubelet/kubepods");
		add_root(t, "/kubelet.slice/kubelet-kubepods.slice"); /* kind */
	}
	*ret = t;
	return 0;
}

void pod_tree_free(struct pod_tree *t)
{
	if (!t)
		return;
	group_index_free(&t->looks);
	container_tree_free(t->containers);
	close(t->fd);
	free(t);
}

int pod_tree_fd(const struct pod_tree *t)
{
	return t->fd;
}

static bool is_folder(const struct pod_tree *t, uint32_t bit, const char *path)
{
	char full[GROUP_FILE_SIZE];
	struct stat st;

	return group_file_path(&t->place, bit, path, "", full) &&
	       fstatat(t->place.cgroupfd, full, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* ---- last counters --------------------------------------------------------------- */

/* The files that are read now are final: no process can come back but by kubelet, which
 * has given up a pod without processes, or starts its next container, and then this is
 * called again. */
static void read_last(struct pod_tree *t, struct last_look *l)
{
	if (group_file_is_empty(&t->place, l->path))
		(void)group_file_counters(&t->place, l->path, &l->counters);
}

static struct last_look *add_look(struct pod_tree *t, const char *uid, const char *path)
{
	size_t len = strlen(path) + 1;
	struct last_look *l = calloc(1, sizeof(*l) + len);

	if (!l)
		return NULL;
	(void)snprintf(l->uid, sizeof(l->uid), "%s", uid);
	memcpy(l->path, path, len);
	l->listed = true;
	group_index_add(&t->looks, &l->entry, l->path);
	return l;
}

static void begin_look(struct pod_tree *t, const char *uid, const char *path)
{
	struct last_look *l = (void *)group_index_find(&t->looks, path);
	char file[GROUP_FILE_SIZE];

	if (l)
		l->listed = true;
	if ((l ? !t->lost : t->no_looks) ||
	    !group_file_path(&t->place, CGROUP_UNIFIED, path, GROUP_EVENTS, file))
		return;
	int wd = group_file_watch(&t->place, t->fd, file, IN_MODIFY);
	if (wd < 0 && errno == ENOSPC && !t->no_looks) {
		t->no_looks = true;
		log_warn("fs.inotify.max_user_watches is reached: where the kernel "
			 "program does not count, last counters are those of the last "
			 "reading");
	}
	if (!l && wd >= 0)
		l = add_look(t, uid, path);
	else if (l)
		read_last(t, l); /* it may have become empty meanwhile */
	if (l)
		group_index_watch(&t->looks, &l->entry, wd);
}

static void end_look(struct pod_tree *t, const char *uid, const char *path)
{
	struct last_look *l = (void *)group_index_find(&t->looks, path);
	bool known = l && l->counters.source != COUNTERS_NONE;

	container_tree_end_pod(t->containers, path);
	pods_end_group(t->pods, uid, path, known ? &l->counters : NULL);
	if (!l)
		return;
	group_index_remove(&t->looks, &l->entry);
	free(l); /* the kernel has removed its watch */
}

static void forget_listed(struct pod_tree *t)
{
	for (struct group_entry *e = group_index_next(&t->looks, NULL); e;
	     e = group_index_next(&t->looks, e))
		((struct last_look *)e)->listed = false;
}

static void end_unlisted(struct pod_tree *t)
{
	struct group_entry *next;

	for (struct group_entry *e = group_index_next(&t->looks, NULL); e; e = next) {
		const struct last_look *l = (const void *)e;
		next = group_index_next(&t->looks, e);
		if (!l->listed)
			end_look(t, l->uid, l->path);
	}
}

/* ---- folders --------------------------------------------------------------------- */

static bool find_uid(const struct folder *f, const char *name,
		     char uid[CGROUP_POD_UID_SIZE], char path[RECORD_CGROUP_MAX])
{
	const char *base = strrchr(f->path, '/');
	int n = snprintf(path, RECORD_CGROUP_MAX, "%s/%s", f->path, name);

	return n > 0 && (size_t)n < RECORD_CGROUP_MAX &&
	       cgroup_pod_uid(base ? base + 1 : "", name, uid);
}

/* The hierarchies in which pods are; their own groups there are made one after the
 * other, and may come in a moment. */
static uint32_t find_bits(const struct pod_tree *t, const struct folder *f)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < TELLER_HIERARCHIES; i++) {
		if (is_folder(t, teller_hierarchies[i], f->path))
			bits |= teller_hierarchies[i];
	}
	return bits;
}

static void see_name(struct pod_tree *t, const struct folder *f, const char *name,
		     bool before)
{
	char uid[CGROUP_POD_UID_SIZE], path[RECORD_CGROUP_MAX];

	if (!find_uid(f, name, uid, path))
		return;
	/* an earlier group of its path, whose end was not heard of */
	if (!pods_has_group(t->pods, uid, path))
		end_look(t, uid, path);
	pods_see_group(t->pods, uid, path, find_bits(t, f), before);
	begin_look(t, uid, path);
	container_tree_see_pod(t->containers, uid, path, t->hierarchy);
}

static void list_folder(struct pod_tree *t, struct folder *f, bool before)
{
	char full[GROUP_FILE_SIZE];
	struct dirent *e;

	if (!group_file_path(&t->place, t->hierarchy, f->path, "", full))
		return;
	int fd = fs_opendir_at(t->place.cgroupfd, full, NULL);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	for (unsigned i = 0; d && i < ENTRIES_MAX && (e = readdir(d)); i++) {
		if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
			see_name(t, f, e->d_name, before);
	}
}

/* True: it is watched since now. */
static bool watch_folder(struct pod_tree *t, struct folder *f)
{
	char full[GROUP_FILE_SIZE];
	int before = f->wd;

	/* after lost events it may be another folder */
	if ((f->wd >= 0 && !t->overflow) ||
	    !group_file_path(&t->place, t->hierarchy, f->path, "", full))
		return false;
	f->wd = group_file_watch(&t->place, t->fd, full,
				 IN_CREATE | IN_DELETE | IN_ONLYDIR);
	return f->wd >= 0 && f->wd != before;
}

static bool find_hierarchy(struct pod_tree *t)
{
	for (size_t i = 0; i < TELLER_HIERARCHIES && !t->hierarchy; i++) {
		for (unsigned k = 0; k < t->count && !t->hierarchy; k++) {
			if (is_folder(t, teller_hierarchies[i], t->folders[k].path))
				t->hierarchy = teller_hierarchies[i];
		}
	}
	return t->hierarchy != 0;
}

unsigned pod_tree_look(struct pod_tree *t, bool list, bool before)
{
	unsigned watched = 0;

	if (!find_hierarchy(t))
		return 0;
	/* a look first: what is made while we list comes twice, not never */
	for (unsigned i = 0; i < t->count; i++) {
		list |= watch_folder(t, &t->folders[i]);
		watched += t->folders[i].wd >= 0;
	}
	if (!list && !t->overflow)
		return watched;
	t->lost = t->overflow;
	t->overflow = false;
	if (t->lost)
		forget_listed(t);
	pods_list_groups_begin(t->pods);
	container_tree_list_begin(t->containers, t->lost);
	for (unsigned i = 0; i < t->count; i++)
		list_folder(t, &t->folders[i], before);
	if (t->lost)
		end_unlisted(t);
	container_tree_list_end(t->containers);
	pods_list_groups_end(t->pods);
	t->lost = false;
	return watched;
}

/* ---- events ---------------------------------------------------------------------- */

static struct folder *find_folder(struct pod_tree *t, int wd)
{
	for (unsigned i = 0; i < t->count; i++) {
		if (t->folders[i].wd == wd)
			return &t->folders[i];
	}
	return NULL;
}

static void take_event(struct pod_tree *t, const struct inotify_event *e)
{
	char uid[CGROUP_POD_UID_SIZE], path[RECORD_CGROUP_MAX];
	struct folder *f = find_folder(t, e->wd);

	if (e->mask & IN_Q_OVERFLOW) {
		t->overflow = true;
		return;
	}
	if (!f && container_tree_take(t->containers, e))
		return;
	if (!f) {
		struct group_entry *look = group_index_of_watch(&t->looks, e->wd);
		if (look && e->mask & IN_MODIFY)
			read_last(t, (void *)look);
		return;
	}
	if (e->mask & IN_IGNORED) { /* kubelet removes an empty folder of a class */
		f->wd = -1;
		return;
	}
	if (!e->len || !(e->mask & IN_ISDIR))
		return;
	if (e->mask & IN_CREATE)
		see_name(t, f, e->name, false);
	/* the next group of its path may be there, and known, by now */
	else if (e->mask & IN_DELETE && find_uid(f, e->name, uid, path) &&
		 !pods_has_group(t->pods, uid, path))
		end_look(t, uid, path);
}

void pod_tree_read(struct pod_tree *t)
{
	_Alignas(struct inotify_event) char data[16384];

	for (unsigned i = 0; i < READS_MAX; i++) {
		ssize_t len = read(t->fd, data, sizeof(data));
		if (len <= 0)
			return;
		for (const char *p = data; p < data + len;) {
			const struct inotify_event *e = (const void *)p;
			take_event(t, e);
			p += sizeof(*e) + e->len;
		}
	}
}
