/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the library accepts in a request's head although other parsers would read it
 * differently: NULs, lines without CR, continuation lines (RFC 9112, 2.2 and 5.2).
 * Before 1.0 it does not report them; but its strings point into the head's buffer,
 * with NULs at line ends, so each must begin where the one before it ends. */
#include "lib/http/web_head.h"

#include <stdint.h>
#include <string.h>

#include "lib/http_text.h"

struct head_walk {
	const char *at; /* where the next name must begin */
	bool exact;
	bool control; /* a character that no value may contain */
};

static bool keeps_bytes(void)
{
	return strverscmp(MHD_get_version(), "1.0.0") < 0;
}

static enum MHD_Result walk_header(void *cls, enum MHD_ValueKind kind, const char *name,
				   size_t name_len, const char *value, size_t value_len)
{
	struct head_walk *w = cls;

	(void)kind;
	if (!value)
		value_len = 0;
	w->control |= !http_text_is_value(value, value_len);
	if (!w->exact)
		return MHD_YES;
	w->exact = value && name == w->at;
	if (!w->exact)
		return MHD_YES;
	const char *at = name + name_len + 1; /* after the colon */
	while (*at == ' ' || *at == '\t')
		at++;
	w->exact = at == value;
	w->at = value + value_len + 2;
	return MHD_YES;
}

const char *web_head_wrong(struct web_request *r, const char *method,
			   const char *version)
{
	struct head_walk w = {.exact = keeps_bytes() && r->uri && *version};
	bool looks = w.exact;

	if (looks && version != r->uri + r->uri_len + 1)
		return "NUL in request\n";
	w.at = version + strlen(version) + 2;
	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, walk_header, &w);
	if (w.control)
		return "control character in a header\n";
	if (!looks)
		return NULL;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (!w.exact || !info || w.at + 2 != method + info->header_size)
		return "NUL, bare LF or folded line in request\n";
	return NULL;
}
