/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/nvidia_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/parse.h"

#define CONTROL "nvidiactl"
#define MONITOR "driver/nvidia/capabilities/mig/monitor"
#define MINOR "DeviceFileMinor:"

int nvidia_files_explain(int procfd, int devfd, int rc, struct err *err)
{
	if (procfd < 0 || devfd < 0 ||
	    faccessat(procfd, "driver/nvidia/version", F_OK, 0) < 0 ||
	    faccessat(devfd, CONTROL, F_OK, 0) == 0)
		return rc;
	struct err why = *err;
	return err_set(err, rc,
		       "%s: /dev/" CONTROL " is not there, and nvidia-modprobe may not "
		       "make it for this service (NoNewPrivileges): run "
		       "`nvidia-modprobe -u -c 0` as root at boot, or "
		       "nvidia-persistenced",
		       err_text(&why));
}

/* "DeviceFileMinor: 2\nDeviceFileMode: 256\nDeviceFileModify: 1\n" */
static bool read_monitor_minor(int procfd, uint64_t *ret)
{
	char text[256];
	const char *at = text, *line;
	size_t n;
	ssize_t len =
		procfd < 0 ? -1 : fs_read_at(procfd, MONITOR, text, sizeof(text), NULL);

	while (len > 0 && scan_line(&at, text + len, &line, &n)) {
		const char *p = line + strlen(MINOR);
		if (n <= strlen(MINOR) || memcmp(line, MINOR, strlen(MINOR)) != 0)
			continue;
		return scan_blank(&p, line + n) && scan_u64(&p, line + n, ret) == 0;
	}
	return false;
}

bool nvidia_may_monitor(int procfd, int devfd, struct err *err)
{
	char name[48];
	uint64_t minor = 0;

	/* without the file the driver is older than such capabilities */
	if (devfd < 0 || !read_monitor_minor(procfd, &minor))
		return true;
	(void)snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%" PRIu64, minor);
	if (faccessat(devfd, name, R_OK, AT_EACCESS) == 0)
		return true;
	(void)err_set(err, -errno,
		      "/dev/%s (mig/monitor): %s: figures of instances may be missing: "
		      "let the service's user read it",
		      name, strerror(errno));
	return false;
}
