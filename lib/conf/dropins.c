/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and reads the drop-ins of a configuration file, so that what a tool writes and
 * what a site or a package wrote are never in the same file. */
#include "lib/conf/dropins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/secret.h"

#define ENTRIES_MAX 4096 /* of the folder, other files included */

int dropins_folder(const char *config_file, char *ret, size_t size)
{
	const char *dot = strrchr(config_file, '.');
	size_t len = strlen(config_file);

	if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
		len = (size_t)(dot - config_file);
	int n = snprintf(ret, size, "%.*s.d", (int)len, config_file);
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

static int is_dropin(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 &&
	       strcmp(e->d_name + len - 5, ".yaml") == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct dropin *)a)->file,
		      ((const struct dropin *)b)->file);
}

static int list_dropins(const char *folder, struct dropins *d, struct err *err)
{
	auto_closedir DIR *dir = opendir(folder);
	int rc = -errno;

	if (!dir && (rc == -ENOENT || rc == -ENOTDIR))
		return 0;
	if (!dir)
		return err_set(err, rc, "%s: %s", folder, strerror(-rc));
	d->items = calloc(DROPINS_MAX, sizeof(*d->items));
	if (!d->items)
		return err_set(err, -ENOMEM, "%s: out of memory", folder);
	for (size_t n = 0;; n++) {
		errno = 0;
		const struct dirent *e = readdir(dir);
		rc = -errno;
		if (!e)
			break;
		if (n == ENTRIES_MAX || (is_dropin(e) && d->count == DROPINS_MAX))
			return err_set(err, -E2BIG, "%s: more than %d files", folder,
				       n == ENTRIES_MAX ? ENTRIES_MAX : DROPINS_MAX);
		if (!is_dropin(e))
			continue;
		char **file = &d->items[d->count].file;
		if (asprintf(file, "%s/%s", folder, e->d_name) < 0) {
			*file = NULL;
			return err_set(err, -ENOMEM, "%s: out of memory", folder);
		}
		d->count++;
	}
	qsort(d->items, d->count, sizeof(*d->items), compare_names);
	return rc < 0 ? err_set(err, rc, "%s: %s", folder, strerror(-rc)) : 0;
}

int dropins_read(const char *config_file, struct dropins *ret, struct err *err)
{
	char folder[PATH_MAX];
	int rc = dropins_folder(config_file, folder, sizeof(folder));

	if (rc < 0)
		return err_set(err, rc, "%.200s: the name is too long", config_file);
	rc = list_dropins(folder, ret, err);
	for (size_t i = 0; rc == 0 && i < ret->count; i++) {
		struct dropin *one = &ret->items[i];
		rc = secret_read(one->file, DROPIN_BYTES_MAX, &one->text, &one->st,
				 err);
	}
	if (rc < 0)
		dropins_done(ret);
	return rc;
}

int dropins_check_secret(const struct dropins *d, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < d->count; i++)
		rc = secret_check(d->items[i].file, &d->items[i].st, err);
	return rc;
}

int dropins_check_writers(const struct dropins *d, struct err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->items[i].st.st_mode & 0022)
			return err_set(err, -EPERM,
				       "%s: can be written by others than its owner "
				       "(mode %04o), refused (chmod go-w)",
				       d->items[i].file,
				       d->items[i].st.st_mode & 07777);
	}
	return 0;
}

void dropins_done(struct dropins *d)
{
	for (size_t i = 0; d->items && i < d->count; i++) {
		free(d->items[i].file);
		secret_wipe(&d->items[i].text);
	}
	free(d->items);
	*d = (struct dropins){.count = 0};
}
