/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_UID_NAMES_H
#define CEEMS_LIB_IDENTITY_UID_NAMES_H

#include <stdint.h>

#include "lib/err.h"

/* Logins of numbers by the name service, for a server's threads. One that is slow or
 * hangs (sssd, LDAP) keeps two threads, not all of them: answers are kept for a minute,
 * and while two questions are open only what is known is answered. Thread safe. */

#define UID_NAMES_KEPT_S 60     /* an answer is used for so long without asking */
#define UID_NAMES_STALE_S 3600  /* and for so long while there is no other */
#define UID_NAMES_ASKING_MAX 2u /* questions at a time */
#define UID_NAMES_LOGIN_BYTES 256

struct uid_names;

struct uid_names *uid_names_new(void);    /* NULL: out of memory */
void uid_names_free(struct uid_names *n); /* accepts NULL */

/* The login, "" where there is none. -EHOSTDOWN: the name service does not answer, or
 * is slow and the number is not known yet. getpwuid_r(3). */
int uid_names_get(struct uid_names *n, uint32_t uid, char ret[UID_NAMES_LOGIN_BYTES],
		  struct err *err);

#endif
