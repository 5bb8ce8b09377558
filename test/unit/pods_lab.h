/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_PODS_LAB_H
#define CEEMS_TEST_PODS_LAB_H

/* Control groups of pods as folders, which inotify watches as it watches the kernel's,
 * and a real ring. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/k8s/pod_tree.h"
#include "contrib/k8s/pods.h"
#include "lib/fs.h"
#include "lib/records/ring.h"
#include "test/unit/adapter_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define UID "3f1d2c7a-0000-4000-8000-00000000002a"
#define OTHER "3f1d2c7a-0000-4000-8000-00000000002b"
#define STATIC "0123456789abcdef0123456789abcdef"
#define GROUP "/kubepods/burstable/pod" UID

static struct err err;

struct lab {
	char folder[64], ring_path[128], cgroup[128];
	struct pods_place place;
	struct pods *pods;
	struct pod_tree *tree;
	struct ring ring;
	struct record last;
};

static inline void make_ring(struct lab *l)
{
	bool made;

	if (ring_consumer_open(l->ring_path, RING_SLOTS_MIN, &l->ring, &made, &err) < 0)
		fail_msg("%s", err.text);
}

/* As when /run/ceems was cleaned */
static inline void replace_ring(struct lab *l)
{
	char spare[160];

	ring_consumer_close(&l->ring);
	assert_int_equal(unlink(l->ring_path), 0);
	(void)snprintf(spare, sizeof(spare), "%s" RING_SPARE, l->ring_path);
	(void)unlink(spare);
	make_ring(l);
}

static inline void make_path(const struct lab *l, const char *path)
{
	char copy[512];

	(void)snprintf(copy, sizeof(copy), "%s/%s/", l->cgroup, path);
	for (char *p = copy + strlen(l->cgroup) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(copy, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

static inline void remove_path(const struct lab *l, const char *path)
{
	char full[512];

	(void)snprintf(full, sizeof(full), "%s/%s", l->cgroup, path);
	assert_int_equal(rmdir(full), 0);
}

static inline void put_file(const struct lab *l, const char *name, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", l->cgroup, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* of v2 */
static inline void lab_init(struct lab *l, bool ring)
{
	*l = (struct lab){.ring = {.fd = -1}};
	scratch_make(l->folder);
	(void)snprintf(l->ring_path, sizeof(l->ring_path), "%s/ring", l->folder);
	(void)snprintf(l->cgroup, sizeof(l->cgroup), "%s/cgroup", l->folder);
	assert_int_equal(mkdir(l->cgroup, 0755), 0);
	put_file(l, "cgroup.controllers", "cpu memory\n");
	l->place = (struct pods_place){.ring = l->ring_path, .cgroupfs = l->cgroup};
	l->place.cgroupfd = fs_opendir_at(AT_FDCWD, l->cgroup, &err);
	assert_true(l->place.cgroupfd >= 0);
	assert_int_equal(cgroup_probe(l->place.cgroupfd, &l->place.layout, &err), 0);
	if (ring)
		make_ring(l);
	l->pods = pods_new(&l->place);
	assert_non_null(l->pods);
	assert_int_equal(pod_tree_new(&l->place, "", l->pods, &l->tree, &err), 0);
}

static inline void lab_done(struct lab *l)
{
	pod_tree_free(l->tree);
	pods_free(l->pods);
	ring_consumer_close(&l->ring);
	close(l->place.cgroupfd);
	scratch_remove(l->folder);
}

static inline bool next_record(struct lab *l)
{
	return take_adapter_record(&l->ring, &l->last);
}

static inline struct pod_info info_of(const char *uid, const char *namespace,
				      const char *name)
{
	struct pod_info i = {.cpu_milli = 250, .memory_bytes = 64 << 20};

	(void)snprintf(i.uid, sizeof(i.uid), "%s", uid);
	(void)snprintf(i.namespace, sizeof(i.namespace), "%s", namespace);
	(void)snprintf(i.name, sizeof(i.name), "%s", name);
	return i;
}

#endif
