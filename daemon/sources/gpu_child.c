/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/gpu_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/options.h"
#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/drm/drm_gpus.h"
#include "lib/exec.h"
#include "lib/log.h"
#include "lib/records/gpu_hold.h"

/* NVIDIA's kernel module is loaded, without which its library only says so, again and
 * again; or there is a device of another driver. */
static bool has_driver(int procfd, int sysfd)
{
	auto_free struct drm_gpus *others = calloc(1, sizeof(*others));

	return (others && drm_gpus_find(sysfd, others, NULL) == 0 && others->count) ||
	       faccessat(procfd, "driver/nvidia/version", F_OK, 0) == 0 ||
	       faccessat(sysfd, "module/nvidia", F_OK, 0) == 0;
}

static int add_child_arg(struct conf_list *list, struct buf *arg)
{
	return buf_error(arg) ? -ENOMEM : conf_list_add(list, arg->data);
}

static int fill_gpu_args(const struct options *o, int rundirfd, gid_t gid,
			 struct conf_list *ret)
{
	auto_buf struct buf nvml = BUF_INIT, period = BUF_INIT, level = BUF_INIT,
			    lock = BUF_INIT, accounting = BUF_INIT, sysfs = BUF_INIT,
			    procfs = BUF_INIT, devfs = BUF_INIT;

	buf_printf(&nvml, "--gpu.nvml=%s", o->gpu_nvml);
	buf_printf(&period, "--gpu.period=%" PRIu64 "ms", o->gpu_period_ms);
	buf_printf(&level, "--log.level=%s", program_log_levels[o->log_level]);
	buf_printf(&sysfs, "--path.sysfs=%s", o->path_sysfs);
	buf_printf(&procfs, "--path.procfs=%s", o->path_procfs);
	buf_printf(&devfs, "--path.devfs=%s", o->path_devfs);
	buf_printf(&accounting, "--gpu.accounting=%s",
		   o->gpu_accounting ? "enable" : "leave");
	int rc = add_child_arg(ret, &nvml);
	if (rc == 0)
		rc = add_child_arg(ret, &accounting);
	if (rc == 0)
		rc = add_child_arg(ret, &sysfs);
	if (rc == 0)
		rc = add_child_arg(ret, &procfs);
	if (rc == 0)
		rc = add_child_arg(ret, &devfs);
	if (rc == 0)
		rc = add_child_arg(ret, &period);
	if (rc == 0)
		rc = add_child_arg(ret, &level);
	if (rc < 0 || rundirfd < 0)
		return rc;
	auto_close int fd = openat(rundirfd, GPU_LOCK_NAME,
				   O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	buf_printf(&lock, "--gpu.lock=%s/" GPU_LOCK_NAME, o->path_rundir);
	/* for ceems-gpu's group alone: whoever can open it can lock it */
	if (fd < 0 || fchown(fd, (uid_t)-1, gid) < 0 || fchmod(fd, 0640) < 0) {
		log_warn("%s/" GPU_LOCK_NAME ": %s: nobody can wait for ceems-gpu to "
			 "let go of the driver",
			 o->path_rundir, strerror(errno));
		return 0;
	}
	return add_child_arg(ret, &lock);
}

int gpu_child_new(const struct options *o, const struct env *env, int rundirfd,
		  gid_t gid, struct child_link **ret, struct err *err)
{
	struct conf_list args = {0};
	char path[4096];

	/* a library that is given as a file is there */
	if (!strchr(o->gpu_nvml, '/') && !has_driver(env->procfd, env->sysfd))
		return err_set(err, -ENODEV, "no GPU driver is loaded");
	exec_beside(o->gpu_path, "ceems-gpu", path, sizeof(path));
	int rc = fill_gpu_args(o, rundirfd, gid, &args);
	if (rc == 0)
		rc = child_link_new("gpu", path, &args, ret, err);
	else
		(void)err_set(err, rc, "%s: %s", path, strerror(-rc));
	conf_list_done(&args);
	return rc;
}

void gpu_child_look(struct child_link *l, int rundirfd)
{
	if (l && rundirfd >= 0)
		child_link_hold(l, faccessat(rundirfd, GPU_RELEASE_NAME, F_OK, 0) == 0);
}
