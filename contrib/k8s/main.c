/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-k8s: tells ceemsd of the pods on this node. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "contrib/k8s/options.h"
#include "contrib/k8s/watch.h"
#include "lib/conf/program.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/privileges.h"

#define NAME "ceems-k8s"
#define PATH_SIZE 256

static int tell_of_pods(const struct options *o, struct err *err)
{
	struct pods_place place = {.cgroupfd = -1, .cgroupfs = o->path_cgroupfs};
	char ring[PATH_SIZE];
	int n = snprintf(ring, sizeof(ring), "%s/ring", o->path_rundir);

	if (n < 0 || n >= PATH_SIZE)
		return err_set(err, -ENAMETOOLONG, "path.rundir: too long");
	place.ring = ring;
	place.cgroupfd = fs_opendir_at(AT_FDCWD, o->path_cgroupfs, err);
	if (place.cgroupfd < 0)
		return place.cgroupfd;
	int rc = cgroup_probe(place.cgroupfd, &place.layout, err);
	/* it is root's, as the ring and kubelet's sockets are, and needs nothing else
	 * of root */
	if (rc == 0 && geteuid() == 0)
		rc = privileges_limit(err);
	if (rc == 0 && geteuid() == 0)
		rc = privileges_keep(0, err);
	if (rc < 0)
		return rc;
	return o->once ? watch_list(o, &place, err) : watch_run(o, &place, err);
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = NAME,
		.options = k8s_options,
		.option_count = k8s_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct options options = {0};
	enum program_status status;
	struct err err = {""};

	if (!program_options(&program, argc, argv, &options, &warnings, &status))
		return status;
	program_log(NAME, options.log_format, options.log_level, &warnings);
	int rc = tell_of_pods(&options, &err);
	if (rc < 0)
		log_error("%s", err.text);
	conf_release(k8s_options, k8s_options_count, &options);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}
