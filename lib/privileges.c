/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops root. Capabilities by bare system calls: libcap is not worth a dependency for
 * "none". */
#include "lib/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/parse.h"

#define CAPABILITIES_MAX 64

static void take_user(struct privileges *p, const struct passwd *pw)
{
	snprintf(p->user, sizeof(p->user), "%s", pw->pw_name);
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
}

static int find_user(const char *user, struct privileges *p, struct err *err)
{
	const struct passwd *pw;
	uint32_t uid;

	if (!*user) {
		pw = getpwnam("ceems");
		p->fallback = !pw;
		if (!pw)
			pw = getpwnam("nobody");
		if (pw) {
			take_user(p, pw);
		} else {
			snprintf(p->user, sizeof(p->user), "65534");
			p->uid = p->gid = 65534; /* the kernel's overflow ids */
		}
		return 0;
	}
	pw = getpwnam(user);
	if (!pw && parse_u32(user, &uid) == 0) {
		pw = getpwuid(uid);
		if (!pw) {
			snprintf(p->user, sizeof(p->user), "%s", user);
			p->uid = uid;
			p->gid = uid;
			return 0;
		}
	}
	if (!pw)
		return err_set(err, -ENOENT, "--security.run-as-user=%s: no such user",
			       user);
	take_user(p, pw);
	return 0;
}

int privileges_choose(const char *user, bool drop, struct privileges *ret,
		      struct err *err)
{
	struct privileges p = {.uid = geteuid(), .gid = getegid()};

	if (geteuid() == 0 && drop) {
		int rc = find_user(user, &p, err);
		if (rc)
			return rc;
		p.drop = p.uid != 0;
	} else if (geteuid() != 0 && *user) {
		struct privileges wanted = {0};
		int rc = find_user(user, &wanted, err);
		if (rc)
			return rc;
		if (wanted.uid != geteuid())
			return err_set(
				err, -EPERM,
				"--security.run-as-user=%s: only root can become "
				"another user",
				user);
	}
	*ret = p;
	return 0;
}

int privileges_limit(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		int rc = -errno;
		return err_set(err, rc, "no_new_privs: %s", strerror(-rc));
	}
	/* Both may be refused (not root, old kernel), and then matter less. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long cap = 0; cap < CAPABILITIES_MAX; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	}
	return 0;
}

int privileges_hide(struct err *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
		return 0;
	int rc = -errno;
	return err_set(err, rc, "PR_SET_DUMPABLE: %s", strerror(-rc));
}

/* A systemd unit without capabilities may also forbid this call
 * (SystemCallFilter=~@privileged): then there is nothing to drop. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}}, has[2] = {{0}};

	if (syscall(SYS_capset, &head, none) == 0)
		return 0;
	int rc = -errno;
	if (syscall(SYS_capget, &head, has) < 0 || memcmp(has, none, sizeof(has)) != 0)
		return rc;
	return 0;
}

int privileges_drop(const struct privileges *p, struct err *err)
{
	int rc;

	if (p->drop) {
		/* glibc does the set*id calls in every thread */
		if ((initgroups(p->user, p->gid) < 0 && setgroups(0, NULL) < 0) ||
		    setresgid(p->gid, p->gid, p->gid) < 0 ||
		    setresuid(p->uid, p->uid, p->uid) < 0) {
			rc = -errno;
			return err_set(err, rc, "become user %s: %s", p->user,
				       strerror(-rc));
		}
		if (setuid(0) == 0 || geteuid() != p->uid || getegid() != p->gid)
			return err_set(
				err, -EPERM,
				"become user %s: root privileges could be regained",
				p->user);
	} else if (geteuid() == 0) {
		return 0; /* --no-security.drop-privileges */
	}
	rc = drop_capabilities();
	if (rc)
		return err_set(err, rc, "drop capabilities: %s", strerror(-rc));
	return 0;
}

int privileges_keep(uint64_t capabilities, struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {{0}};
	int rc = syscall(SYS_capget, &head, has) < 0 ? -errno : 0;

	for (unsigned i = 0; i < 2; i++) {
		has[i].permitted &= (uint32_t)(capabilities >> 32 * i);
		has[i].effective = has[i].permitted;
		has[i].inheritable = 0;
	}
	if (!rc && syscall(SYS_capset, &head, has) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "give capabilities up: %s", strerror(-rc)) : 0;
}
