/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The boot id, cached: reading it in slurmstepd would cost more than the record that it
 * protects. */
#include "lib/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/vfs.h>

#include "lib/fs.h"

enum { UNKNOWN, BEING_WRITTEN, KNOWN };
static struct {
	int state;
	char id[BOOT_ID_BYTES];
} kept;

int boot_id(char ret[BOOT_ID_BYTES], struct err *err)
{
	char text[64];
	int unknown = UNKNOWN;

	if (__atomic_load_n(&kept.state, __ATOMIC_ACQUIRE) == KNOWN) {
		memcpy(ret, kept.id, sizeof(kept.id));
		return 0;
	}
	ssize_t n = fs_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text,
			       sizeof(text), err);
	if (n < 0)
		return (int)n;
	size_t len = strcspn(text, "\n");
	if (len >= BOOT_ID_BYTES)
		len = BOOT_ID_BYTES - 1;
	memset(ret, 0, BOOT_ID_BYTES);
	memcpy(ret, text, len);
	if (__atomic_compare_exchange_n(&kept.state, &unknown, BEING_WRITTEN, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		memcpy(kept.id, ret, sizeof(kept.id));
		__atomic_store_n(&kept.state, KNOWN, __ATOMIC_RELEASE);
	}
	return 0;
}

static bool on_tmpfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int boot_check_file(int fd, const struct stat *st, const char *path, uint64_t bytes,
		    uint64_t inode, const char id[BOOT_ID_BYTES], struct err *err)
{
	char now[BOOT_ID_BYTES];

	if ((uint64_t)st->st_size != bytes)
		return err_set(err, -EBADF,
			       "%s: %jd bytes, by its header it has %" PRIu64, path,
			       (intmax_t)st->st_size, bytes);
	if ((uint64_t)st->st_blocks * 512 < bytes)
		return err_set(err, -EBADF, "%s: not fully allocated", path);
	if (inode != (uint64_t)st->st_ino)
		return err_set(err, -EBADF, "%s: a copy of another file", path);
	if (on_tmpfs(fd))
		return 0;
	if (boot_id(now, err) < 0)
		return err_prefix(err, -EBADF, "%s: cannot read the boot id", path);
	if (memcmp(id, now, sizeof(now)) != 0)
		return err_set(err, -EBADF, "%s: from another boot", path);
	return 0;
}
