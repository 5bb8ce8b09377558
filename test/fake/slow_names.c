/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded before libc (LD_PRELOAD): a name service as of sssd or LDAP.
 * SLOW_NAMES=UID:LOGIN:MS gives a number a login, after that many ms; "-" for LOGIN: it
 * does not answer at all. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
	       struct passwd **ret)
{
	const char *conf = getenv("SLOW_NAMES");
	char login[128];
	unsigned number, ms;

	*ret = NULL;
	if (!conf || sscanf(conf, "%u:%127[^:]:%u", &number, login, &ms) != 3 ||
	    number != uid)
		return 0;
	const struct timespec nap = {ms / 1000, (long)(ms % 1000) * 1000000};
	(void)nanosleep(&nap, NULL);
	if (strcmp(login, "-") == 0)
		return EIO;
	if (strlen(login) >= size)
		return ERANGE;
	memset(pw, 0, sizeof(*pw));
	pw->pw_name = memcpy(text, login, strlen(login) + 1);
	pw->pw_uid = pw->pw_gid = uid;
	pw->pw_dir = pw->pw_shell = pw->pw_gecos = pw->pw_passwd = text + strlen(text);
	*ret = pw;
	return 0;
}
