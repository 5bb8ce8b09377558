/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-libvirt: tells ceemsd of the virtual machines on this host. As
 * "ceems-libvirt hook" it is libvirt's hook script, which counts a domain's last
 * moment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "contrib/libvirt/domains.h"
#include "contrib/libvirt/options.h"
#include "contrib/libvirt/watch.h"
#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/privileges.h"

#define NAME "ceems-libvirt"
#define PATH_SIZE 256

struct paths {
	char ring[PATH_SIZE], keep[PATH_SIZE];
};

static int open_place(const struct options *o, struct paths *paths,
		      struct domains_place *ret, struct err *err)
{
	int n = snprintf(paths->ring, PATH_SIZE, "%s/ring", o->path_rundir);
	int k = snprintf(paths->keep, PATH_SIZE, "%s/libvirt", o->path_rundir);

	if (n < 0 || n >= PATH_SIZE || k < 0 || k >= PATH_SIZE)
		return err_set(err, -ENAMETOOLONG, "path.rundir: too long");
	*ret = (struct domains_place){
		.ring = paths->ring, .run_dir = o->run_dir, .keep = paths->keep};
	ret->cgroupfd = fs_opendir_at(AT_FDCWD, o->path_cgroupfs, err);
	if (ret->cgroupfd < 0)
		return ret->cgroupfd;
	ret->procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, err);
	if (ret->procfd < 0)
		return ret->procfd;
	return cgroup_probe(ret->cgroupfd, &ret->layout, err);
}

static bool is_word(const char *s, const char *word)
{
	return s && strcmp(s, word) == 0;
}

/* hook NAME stopped end EXTRA, the XML on stdin: https://libvirt.org/hooks.html. Never
 * fails: libvirt would not start or stop domains. */
static enum program_status run_hook(const struct options *o, int argc, char *argv[])
{
	auto_buf struct buf xml = BUF_INIT;
	struct domains_place place;
	struct paths paths;
	struct err err = {""};

	if (argc < 4 || !is_word(argv[2], "stopped") || !is_word(argv[3], "end"))
		return PROGRAM_OK;
	int rc = open_place(o, &paths, &place, &err);
	if (rc == 0)
		rc = fs_read_buf_at(AT_FDCWD, "/dev/stdin", DOMAIN_XML_MAX, &xml, &err);
	if (rc == 0)
		rc = domains_hook(&place, xml.data, xml.len, &err);
	if (rc < 0 && rc != -ENOENT)
		log_warn("hook: %s: the domain's last counters are those of the last "
			 "reading",
			 err.text);
	return PROGRAM_OK;
}

static enum program_status tell_of_domains(const struct options *o)
{
	struct domains_place place;
	struct paths paths;
	struct err err = {""};
	int rc = open_place(o, &paths, &place, &err);

	/* it is root's, as the ring is, and needs nothing else of root */
	if (rc == 0 && geteuid() == 0)
		rc = privileges_limit(&err);
	if (rc == 0 && geteuid() == 0)
		rc = privileges_keep(0, &err);
	struct domains *d = rc == 0 ? domains_new(&place) : NULL;
	if (rc == 0 && !d)
		rc = err_set(&err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = o->once ? watch_list(o, d, &err)
			     : watch_run(o, d, place.ring, &err);
	if (rc < 0)
		log_error("%s", err.text);
	domains_free(d);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = NAME,
		.options = libvirt_options,
		.option_count = libvirt_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct options options = {0};
	enum program_status status;
	bool hook = argc > 1 && is_word(argv[1], "hook");

	/* the hook's options come from the environment alone */
	if (!program_options(&program, hook ? 1 : argc, argv, &options, &warnings,
			     &status))
		return hook ? PROGRAM_OK : status;
	program_log(NAME, options.log_format, options.log_level, &warnings);
	status = hook ? run_hook(&options, argc - 1, argv + 1)
		      : tell_of_domains(&options);
	conf_release(libvirt_options, libvirt_options_count, &options);
	return status;
}
