/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes the files in the folder of a private cluster. */
#include "aggregator/cluster_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregator/cluster.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define SOCKET_NAME "/.s.PGSQL.5432"
#define LOG_KEPT_BYTES (8l << 20)
#define LOG_MAX_BYTES (64l << 20)
#define TAIL_BYTES 16384

int cluster_paths_of(const char *data_path, struct cluster_paths *ret, struct err *err)
{
	char cwd[PATH_MAX - 256] = "";
	size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path) -
		      strlen("/s" SOCKET_NAME) - 1;

	if (*data_path != '/' && !getcwd(cwd, sizeof(cwd)))
		return err_set(err, -errno, "the current folder: %s", strerror(errno));
	int n = snprintf(ret->data, sizeof(ret->data), "%s%s%s", cwd, *cwd ? "/" : "",
			 data_path);
	if (n < 0 || (size_t)n > room)
		return err_set(err, -ENAMETOOLONG,
			       "--data.path=%s is too long for a socket: at most %zu "
			       "bytes",
			       data_path, room);
	/* a quote would end the setting with the folder's name */
	if (strpbrk(ret->data, "'\\\n&?%#"))
		return err_set(err, -EINVAL,
			       "--data.path=%s: quotes, backslashes and %%?&# cannot "
			       "be in it",
			       data_path);
	snprintf(ret->pgdata, sizeof(ret->pgdata), "%s/pgdata", ret->data);
	snprintf(ret->socket, sizeof(ret->socket), "%s/s", ret->data);
	return 0;
}

char *cluster_path(const struct cluster_paths *at, const char *name, char *ret)
{
	snprintf(ret, PATH_MAX, "%s/%s", at->data, name);
	return ret;
}

void cluster_make_url(const struct cluster_paths *at, const char *database, char *ret,
		      size_t size)
{
	snprintf(ret, size, "host='%s' port=5432 dbname=%s user=ceems", at->socket,
		 database);
}

static int make_dir(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return 0;
	int rc = -errno;
	return err_set(err, rc, "make folder %s: %s", path, strerror(-rc));
}

/* The folder of a packaged installation exists; that of a trial may not. */
int cluster_prepare(const char *data_path, const struct privileges *who,
		    struct err *err)
{
	struct cluster_paths at;
	struct stat st;
	int rc = cluster_paths_of(data_path, &at, err);

	if (rc < 0)
		return rc;
	for (char *p = strchr(at.data + 1, '/'); rc == 0 && p; p = strchr(p + 1, '/')) {
		*p = '\0';
		rc = make_dir(at.data, 0755, err);
		*p = '/';
	}
	bool fresh = access(at.data, F_OK) < 0;
	if (rc == 0)
		rc = make_dir(at.data, 0700, err);
	if (rc < 0)
		return rc;
	auto_close int fd =
		open(at.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = -errno;
		return err_set(err, rc, "%s: %s", at.data, strerror(-rc));
	}
	if (fresh && who->drop && fchown(fd, who->uid, who->gid) < 0) {
		rc = -errno;
		return err_set(err, rc, "give %s to user %s: %s", at.data, who->user,
			       strerror(-rc));
	}
	if (!fresh && st.st_uid != who->uid)
		return err_set(err, -EPERM,
			       "--data.path=%s belongs to user %u, not to %s: chown "
			       "it, or name another folder",
			       at.data, (unsigned)st.st_uid, who->user);
	return 0;
}

static bool is_empty_folder(const char *path)
{
	auto_closedir DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return false;
	}
	return true;
}

int cluster_version(const struct cluster_paths *at, unsigned *ret, struct err *err)
{
	char path[PATH_MAX + 16], text[16];
	uint64_t major;

	snprintf(path, sizeof(path), "%s/PG_VERSION", at->pgdata);
	ssize_t n = fs_read_at(AT_FDCWD, path, text, sizeof(text), NULL);
	if (n == -ENOENT && is_empty_folder(at->pgdata)) {
		*ret = 0;
		return 0;
	}
	if (n == -EACCES)
		return err_set(err, -EACCES, "%s: %s", path, strerror(EACCES));
	if (n < 0 || parse_u64_len(text, strspn(text, "0123456789"), &major) < 0 ||
	    major == 0 || major > 1000)
		return err_set(err, -EEXIST,
			       "%s is not empty and not a Postgres database, or a "
			       "damaged one (PG_VERSION): restore a backup, or move it "
			       "away",
			       at->pgdata);
	*ret = (unsigned)major;
	return 0;
}

static int write_file(const char *dir, const char *name, const char *text,
		      struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s/%s", dir, name);
	return fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0600, err);
}

int cluster_include_settings(const char *pgdata, struct err *err)
{
	static const char text[] = "\ninclude_if_exists = 'ceems.conf'\n"
				   "include_if_exists = 'site.conf'\n";
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/postgresql.conf", pgdata);
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	int rc = fd < 0 ? -errno : fs_write_all(fd, text, strlen(text));
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

/* A sixteenth of the memory, 32 to 256 MiB: the kernel caches the rest. */
static unsigned shared_buffers_mib(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t mib = pages > 0 && page > 0
			       ? (uint64_t)pages * (uint64_t)page / 16 >> 20
			       : 32;

	return mib < 32 ? 32 : mib > 256 ? 256 : (unsigned)mib;
}

int cluster_write_settings(const struct cluster_paths *at, unsigned connections,
			   struct err *err)
{
	const struct passwd *pw = getpwuid(geteuid());
	char text[PATH_MAX + 2048];
	int rc = make_dir(at->socket, 0700, err);

	if (rc < 0)
		return rc;
	if (!pw)
		return err_set(
			err, -ENOENT,
			"uid %u has no login on this host, and Postgres needs one "
			"(--security.run-as-user)",
			(unsigned)geteuid());
	if (chmod(at->socket, 0700) < 0)
		return err_set(err, -errno, "%s: %s", at->socket, strerror(errno));
	snprintf(
		text, sizeof(text),
		"# written by ceems_aggregator at each start; a site's own settings go "
		"into site.conf\n"
		"listen_addresses = ''\n"
		"port = 5432\n"
		"unix_socket_directories = '%s'\n"
		"unix_socket_permissions = 0700\n"
		"max_connections = %u\n"
		"shared_buffers = %uMB\n"
		"wal_level = minimal\n"
		"max_wal_senders = 0\n"
		"max_wal_size = 1GB\n"
		"checkpoint_timeout = 10min\n"
		"max_parallel_workers_per_gather = 0\n"
		"jit = off\n"
		"timezone = 'UTC'\n"
		"log_timezone = 'UTC'\n"
		"log_destination = 'stderr'\n"
		"logging_collector = off\n"
		"log_line_prefix = '%%m [%%p] '\n",
		at->socket, connections, shared_buffers_mib());
	rc = write_file(at->pgdata, "ceems.conf", text, err);
	if (rc == 0)
		rc = write_file(at->pgdata, "pg_hba.conf",
				"# written by ceems_aggregator at each start\n"
				"local all ceems peer map=ceems\n",
				err);
	if (rc == 0) {
		snprintf(text, sizeof(text),
			 "# written by ceems_aggregator at each start\n"
			 "ceems \"%s\" ceems\n"
			 "ceems root ceems\n",
			 pw->pw_name);
		rc = write_file(at->pgdata, "pg_ident.conf", text, err);
	}
	return rc;
}

/* src/include/utils/pidfile.h: line 1 is the pid, line 8 the state. */
pid_t cluster_postmaster(const struct cluster_paths *at, bool *ret_ready)
{
	char path[PATH_MAX + 32], text[PATH_MAX + 256];
	const char *line, *p = text;
	size_t len;
	uint64_t pid = 0;

	snprintf(path, sizeof(path), "%s/postmaster.pid", at->pgdata);
	ssize_t n = fs_read_at(AT_FDCWD, path, text, sizeof(text), NULL);
	if (ret_ready)
		*ret_ready = false;
	for (int i = 1; n > 0 && i <= 8 && scan_line(&p, text + n, &line, &len); i++) {
		if (i == 1 && (parse_u64_len(line, len, &pid) < 0 || pid > INT_MAX))
			return 0;
		if (i == 8 && ret_ready)
			*ret_ready = len >= 5 && strncmp(line, "ready", 5) == 0;
	}
	return (pid_t)pid;
}

void cluster_forget_postmaster(const struct cluster_paths *at)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/postmaster.pid", at->pgdata);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s" SOCKET_NAME ".lock", at->socket);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s" SOCKET_NAME, at->socket);
	(void)unlink(path);
}

int cluster_open_log(const struct cluster_paths *at, struct err *err)
{
	char path[PATH_MAX], old[PATH_MAX];
	struct stat st;

	(void)cluster_path(at, "log", path);
	if (stat(path, &st) == 0 && st.st_size > LOG_KEPT_BYTES)
		(void)rename(path, cluster_path(at, "log.old", old));
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	if (fd >= 0)
		return fd;
	int rc = -errno;
	return err_set(err, rc, "%s: %s", path, strerror(-rc));
}

void cluster_bound_log(const struct cluster_paths *at)
{
	char path[PATH_MAX];
	struct stat st;

	(void)cluster_path(at, "log", path);
	if (stat(path, &st) == 0 && st.st_size > LOG_MAX_BYTES && truncate(path, 0) < 0)
		(void)unlink(path);
}

void cluster_last_words(const struct cluster_paths *at, char *ret, size_t size)
{
	static const char *const grave[] = {"FATAL:  ", "PANIC:  ", "ERROR:  "};
	char path[PATH_MAX], text[TAIL_BYTES + 1];
	const char *p = text, *line;
	size_t len;

	ret[0] = '\0';
	auto_close int fd = open(cluster_path(at, "log", path), O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (end < 0)
		return;
	ssize_t n =
		pread(fd, text, TAIL_BYTES, end > TAIL_BYTES ? end - TAIL_BYTES : 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	while (scan_line(&p, text + n, &line, &len)) {
		for (size_t i = 0; i < 3; i++) {
			const char *at_word = memmem(line, len, grave[i], 8);
			if (at_word)
				snprintf(ret, size, "%.*s",
					 (int)(len - (size_t)(at_word - line)),
					 at_word);
		}
	}
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) < 0 ? -errno : 0;
}

int cluster_remove(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0)
		return 0;
	return err_set(err, -EIO, "%s: cannot be removed", path);
}
