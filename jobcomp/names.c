/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of ids, looked up on the plugin's own thread, never under slurmctld's locks. */
#include "jobcomp/names.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>

static struct names_slot *find_name_slot(struct names_slot *slots, uint32_t id)
{
	return &slots[id % NAMES_SLOTS];
}

static bool is_name_known(const struct names_slot *s, uint32_t id, uint64_t now_ns)
{
	return s->until_ns > now_ns && s->id == id;
}

static const char *remember_name(struct names_slot *s, uint32_t id, uint64_t now_ns,
				 const char *text)
{
	s->id = id;
	s->until_ns = now_ns + NAMES_KEEP_NS;
	/* a truncated name would be somebody else's */
	int n = snprintf(s->text, sizeof(s->text), "%s", text ? text : "");
	if (n < 0 || (size_t)n >= sizeof(s->text))
		s->text[0] = '\0';
	return s->text;
}

const char *names_user(struct names *n, uint32_t uid, uint64_t now_ns)
{
	struct names_slot *s = find_name_slot(n->users, uid);
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (is_name_known(s, uid, now_ns))
		return s->text;
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) != 0)
		found = NULL;
	return remember_name(s, uid, now_ns, found ? found->pw_name : NULL);
}

const char *names_group(struct names *n, uint32_t gid, uint64_t now_ns)
{
	struct names_slot *s = find_name_slot(n->groups, gid);
	struct group gr, *found = NULL;
	char buf[65536]; /* a group with all its members */

	if (is_name_known(s, gid, now_ns))
		return s->text;
	if (getgrgid_r(gid, &gr, buf, sizeof(buf), &found) != 0)
		found = NULL;
	return remember_name(s, gid, now_ns, found ? found->gr_name : NULL);
}
