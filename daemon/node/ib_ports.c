/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/node/ib_ports.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

static int compare_device_names(const void *a, const void *b)
{
	const char *x = a, *y = b;
	size_t lx = strlen(x), ly = strlen(y);

	/* mlx5_2 before mlx5_10, port 2 before port 10 */
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp(x, y);
}

/* Sorted names in a folder; how many, or negative errno. */
static int list_devices(int dirfd, const char *path, char (*ret)[IB_NAME_BYTES],
			size_t max, struct err *err)
{
	int fd = fs_opendir_at(dirfd, path, err);
	if (fd < 0)
		return fd;
	auto_closedir DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	size_t n = 0;
	for (struct dirent *e; n < max && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (e->d_name[0] == '.' || len >= IB_NAME_BYTES)
			continue;
		memcpy(ret[n++], e->d_name, len + 1);
	}
	qsort(ret, n, sizeof(*ret), compare_device_names);
	return (int)n;
}

void ib_read_word(int fd, const char *path, char *ret, size_t size)
{
	ssize_t n = fs_read_at(fd, path, ret, size, NULL);

	if (n < 0)
		n = 0;
	ret[strcspn(ret, "\n")] = '\0';
	ret[n] = '\0';
}

int ib_read_state(int portfd, const char *file, uint64_t *ret)
{
	char text[IB_NAME_BYTES] = "";
	const char *p = text;
	uint64_t id;

	ib_read_word(portfd, file, text, sizeof(text));
	if (scan_u64(&p, text + strlen(text), &id) < 0 || *p != ':')
		return -ENODATA;
	*ret = id;
	return 0;
}

static int visit_device(const struct ib_visitor *v, int sysfd, const char *device,
			struct err *err)
{
	char path[sizeof(IB_CLASS) + IB_NAME_BYTES + 1];
	char ports[IB_PORTS_MAX][IB_NAME_BYTES];

	(void)snprintf(path, sizeof(path), IB_CLASS "/%.63s", device);
	auto_close int devfd = fs_opendir_at(sysfd, path, err);
	/* unplugged since it was listed, which is not an error */
	if (devfd < 0)
		return devfd == -ENOENT ? 0 : devfd;
	if (v->device)
		v->device(v->arg, devfd, device);
	int n = list_devices(devfd, "ports", ports, IB_PORTS_MAX, err);
	if (n < 0)
		return n == -ENOENT ? 0 : n;
	for (int i = 0; i < n; i++) {
		char port[sizeof("ports/") + IB_NAME_BYTES];
		(void)snprintf(port, sizeof(port), "ports/%.63s", ports[i]);
		auto_close int portfd = fs_opendir_at(devfd, port, NULL);
		if (portfd >= 0)
			v->port(v->arg, portfd, device, ports[i]);
	}
	return 0;
}

int ib_walk(int sysfd, const struct ib_visitor *visitor, struct err *err)
{
	char devices[IB_DEVICES_MAX][IB_NAME_BYTES];
	int n = list_devices(sysfd, IB_CLASS, devices, IB_DEVICES_MAX, err);
	int rc = n < 0 ? n : 0;

	for (int i = 0; i < n && rc == 0; i++)
		rc = visit_device(visitor, sysfd, devices[i], err);
	return rc;
}
