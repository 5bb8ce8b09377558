/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One syntax for programs in all options that name one. */
#include "lib/identity/party.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

static const struct {
	enum party_kind kind;
	const char *word, *form;
} kinds_table[] = {
	{PARTY_CERTIFICATE, "certificate", "certificate:NAME"},
	{PARTY_PASSWORD, "password", "password:USER"},
	{PARTY_MUNGE, "munge", "munge:LOGIN"},
	{PARTY_TOKEN, "token", "token:NAME"},
	{PARTY_ADDRESS, "", "ADDRESS"},
};
#define KINDS (sizeof(kinds_table) / sizeof(kinds_table[0]))

static int say_forms(const char *text, unsigned kinds, struct err *err)
{
	char forms[160] = "";
	size_t n = 0;

	for (size_t i = 0; i < KINDS; i++) {
		const char *form = kinds_table[i].form;
		size_t len = strlen(form);
		if (!(kinds & kinds_table[i].kind) || n + len + 3 > sizeof(forms))
			continue;
		memcpy(forms + n, n ? ", " : "", n ? 2 : 0);
		n += n ? 2 : 0;
		memcpy(forms + n, form, len + 1);
		n += len;
	}
	return err_set(err, -EINVAL,
		       "%.100s: must be one of %s, with or without @ADDRESS", text,
		       forms);
}

/* What follows the last '@' is an address unless it cannot be one: logins may contain
 * one. */
static int split_address(const char *text, size_t *ret_len, struct party *p)
{
	const char *at = strrchr(text, '@');

	*ret_len = strlen(text);
	if (!at)
		return 0;
	if (netrange_parse(at + 1, &p->range) == 0) {
		p->has_range = true;
		*ret_len = (size_t)(at - text);
		return 0;
	}
	/* 10.0.0.300 or fd00::1/8 is a mistake, not part of a name */
	return strspn(at + 1, "0123456789./") == strlen(at + 1) || strchr(at, ':')
		       ? -EINVAL
		       : 0;
}

int party_parse(const char *text, unsigned kinds, struct party *ret, struct err *err)
{
	size_t word = strcspn(text, ":"), len;
	struct party p = {.kind = PARTY_ADDRESS};

	if ((kinds & PARTY_ADDRESS) && netrange_parse(text, &p.range) == 0) {
		p.has_range = true;
		*ret = p;
		return 0;
	}
	if (!text[word] || split_address(text, &len, &p) < 0 || len <= word + 1 ||
	    len - word - 1 >= sizeof(p.name))
		return say_forms(text, kinds, err);
	memcpy(p.name, text + word + 1, len - word - 1);
	p.kind = 0;
	for (size_t i = 0; i < KINDS; i++) {
		if ((kinds & kinds_table[i].kind) && word &&
		    strlen(kinds_table[i].word) == word &&
		    memcmp(kinds_table[i].word, text, word) == 0)
			p.kind = kinds_table[i].kind;
	}
	if (!p.kind)
		return say_forms(text, kinds, err);
	p.has_uid = p.kind == PARTY_MUNGE && parse_u32(p.name, &p.uid) == 0;
	*ret = p;
	return 0;
}

bool party_is_at(const struct party *p, const struct netaddr *peer)
{
	return !p->has_range || (peer && netrange_has(&p->range, peer));
}

bool party_is_account(const struct party *p, uint32_t uid, const char *login)
{
	if (p->kind != PARTY_MUNGE)
		return false;
	return p->has_uid ? p->uid == uid : *login && strcmp(p->name, login) == 0;
}
