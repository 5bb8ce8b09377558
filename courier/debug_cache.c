/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "courier/debug_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define AGAIN_S 86400
#define TREE ".build-id"
#define FREE_SHARE 20u /* of the file system, one in so many stays free */
#define EMPTY_BYTES 4096u

/* ---- what is there --------------------------------------------------------------- */

struct cached_file {
	char path[DEBUG_FILE_PATH_BYTES];
	uint64_t bytes;
	uint64_t used_ns; /* CLOCK_REALTIME */
};

struct cache_contents {
	uint64_t bytes;
	unsigned files;
	struct cached_file *list; /* of those that may go */
	size_t count, room;
};

static bool is_unfinished(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".new") == 0;
}

/* One that does not get into the list stays. */
static void list_file(struct cache_contents *t, const struct cached_file *f)
{
	size_t room = t->room ? 2 * t->room : 64;

	if (t->count == t->room) {
		struct cached_file *list = reallocarray(t->list, room, sizeof(*list));
		if (!list)
			return;
		t->list = list;
		t->room = room;
	}
	t->list[t->count++] = *f;
}

static void count_file(struct cache_contents *t, const struct stat *st,
		       const char *folder, const char *name)
{
	uint64_t bytes = (uint64_t)st->st_blocks * 512;
	struct cached_file f = {
		.bytes = bytes > EMPTY_BYTES ? bytes : EMPTY_BYTES,
		.used_ns = (uint64_t)st->st_mtim.tv_sec * NSEC_PER_SEC +
			   (uint64_t)st->st_mtim.tv_nsec,
	};

	t->files++;
	t->bytes += f.bytes;
	if (is_unfinished(name)) /* ours, which is to stay */
		return;
	int n = snprintf(f.path, sizeof(f.path), TREE "/%s/%s", folder, name);
	if (n < (int)sizeof(f.path)) /* else it is none of ours */
		list_file(t, &f);
}

/* unfinished: such files are removed. */
static void count_folder(int tree, const char *folder, bool unfinished,
			 struct cache_contents *t)
{
	int fd = fs_opendir_at(tree, folder, NULL);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		if (unfinished && is_unfinished(e->d_name))
			(void)unlinkat(dirfd(d), e->d_name, 0);
		else if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 S_ISREG(st.st_mode))
			count_file(t, &st, folder, e->d_name);
	}
}

static void look_through(const struct debug_cache *c, bool unfinished,
			 struct cache_contents *ret)
{
	int fd = fs_opendir_at(c->fd, TREE, NULL);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	*ret = (struct cache_contents){.files = 0};
	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		if (strlen(e->d_name) == 2 && e->d_name[0] != '.')
			count_folder(dirfd(d), e->d_name, unfinished, ret);
	}
}

/* ---- room ------------------------------------------------------------------------ */

int debug_cache_check_room(const struct debug_cache *c)
{
	struct statvfs fs;

	if (fstatvfs(c->fd, &fs) < 0)
		return -errno;
	return fs.f_bavail < fs.f_blocks / FREE_SHARE ? -ENOSPC : 0;
}

static int compare_use(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Until all that is there fits, in the file system as well. */
static int make_room(const struct debug_cache *c)
{
	struct cache_contents all;

	look_through(c, false, &all);
	auto_free struct cached_file *list = all.list;
	if (all.count)
		qsort(list, all.count, sizeof(*list), compare_use);
	for (size_t i = 0;; i++) {
		int rc = debug_cache_check_room(c);
		if (rc == 0 && all.files < DEBUG_CACHE_FILES_MAX &&
		    all.bytes <= c->max_bytes)
			return 0;
		if (rc < 0 && rc != -ENOSPC)
			return rc;
		if (i == all.count || unlinkat(c->fd, list[i].path, 0) < 0)
			return rc < 0 ? rc : -EFBIG;
		all.files--;
		all.bytes -= list[i].bytes;
	}
}

/* ---- the folder ------------------------------------------------------------------ */

int debug_cache_open(const char *folder, uint64_t max_bytes, struct debug_cache *ret,
		     struct err *err)
{
	struct cache_contents all;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "--debuginfod.folder: %s: %s", folder,
			       strerror(errno));
	int fd = fs_opendir_at(AT_FDCWD, folder, err);
	if (fd < 0)
		return fd;
	*ret = (struct debug_cache){.fd = fd, .folder = folder, .max_bytes = max_bytes};
	look_through(ret, true, &all);
	free(all.list);
	return 0;
}

void debug_cache_close(struct debug_cache *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

int debug_cache_told(const struct debug_cache *c, enum debug_file_news news,
		     const struct build_id *id, int64_t now_s)
{
	char path[DEBUG_FILE_PATH_BYTES];
	struct stat st;

	debug_file_path(id, path);
	if (fstatat(c->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return news == DEBUG_FILE_WANTED;
	if (news == DEBUG_FILE_USED) {
		(void)utimensat(c->fd, path, NULL, AT_SYMLINK_NOFOLLOW);
		return 0;
	}
	/* of the future: the clock was put back */
	return st.st_mtim.tv_sec + AGAIN_S <= now_s || st.st_mtim.tv_sec > now_s;
}

static int make_folders(const struct debug_cache *c, const char *path)
{
	char folder[sizeof(TREE "/xx")];

	if (mkdirat(c->fd, TREE, 0700) < 0 && errno != EEXIST)
		return -errno;
	memcpy(folder, path, sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	return mkdirat(c->fd, folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int debug_cache_begin(const struct debug_cache *c, const struct build_id *id,
		      struct debug_cache_new *ret, struct err *err)
{
	debug_file_path(id, ret->path);
	ret->fd = -1;
	int rc = make_room(c);
	if (rc == 0)
		rc = make_folders(c, ret->path);
	if (rc < 0)
		return err_set(err, rc, "%s: %s: no debug files are fetched", c->folder,
			       strerror(-rc));
	ret->fd = fs_create_new_at(c->fd, ret->path, 0600, ret->tmp, err);
	return ret->fd < 0 ? ret->fd : 0;
}

void debug_cache_abandon(const struct debug_cache *c, struct debug_cache_new *n)
{
	if (n->fd < 0)
		return;
	close(n->fd);
	n->fd = -1;
	(void)unlinkat(c->fd, n->tmp, 0);
}

int debug_cache_commit(const struct debug_cache *c, struct debug_cache_new *n,
		       struct err *err)
{
	/* it is counted already, by the name that it has still */
	int rc = make_room(c);

	if (rc == 0 && renameat(c->fd, n->tmp, c->fd, n->path) < 0)
		rc = -errno;
	if (rc < 0) {
		debug_cache_abandon(c, n);
		return err_set(err, rc, "%s/%s: %s", c->folder, n->path, strerror(-rc));
	}
	close(n->fd);
	n->fd = -1;
	return 0;
}
