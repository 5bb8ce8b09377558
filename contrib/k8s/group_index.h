/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_GROUP_INDEX_H
#define CEEMS_CONTRIB_K8S_GROUP_INDEX_H

/*
 * Control groups by their path and by the watch descriptor of inotify(7) that is
 * theirs. An entry is the first member of its owner's struct. One thread.
 */
struct group_entry {
	const char *path; /* the owner's, the same while it is in an index */
	int wd;           /* by group_index_watch(); -1: not watched */
	/* the index's */
	struct group_entry *next_path, *next_wd;
};

#define GROUP_INDEX_BUCKETS 4096u /* power of two */
/* Zero-initialise; holds no memory of its own. */
struct group_index {
	struct group_entry *by_path[GROUP_INDEX_BUCKETS];
	struct group_entry *by_wd[GROUP_INDEX_BUCKETS];
};

/* Not watched yet. There is no other of its path. */
void group_index_add(struct group_index *x, struct group_entry *e, const char *path);
void group_index_remove(struct group_index *x, struct group_entry *e);
/* Its watch is this one from now on; -1: none. */
void group_index_watch(struct group_index *x, struct group_entry *e, int wd);

/* NULL: there is none. */
struct group_entry *group_index_find(const struct group_index *x, const char *path);
struct group_entry *group_index_of_watch(const struct group_index *x, int wd);
/* The next of all, the first after NULL. Ask before e is removed. */
struct group_entry *group_index_next(const struct group_index *x,
				     const struct group_entry *e);
/* free(3) for each of them: the last use of the index. */
void group_index_free(struct group_index *x);

#endif
