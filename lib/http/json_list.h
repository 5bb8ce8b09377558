/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_JSON_LIST_H
#define CEEMS_LIB_HTTP_JSON_LIST_H

#include "lib/buf.h"
#include "lib/http/json.h"

/* A JSON object, of which one member is a list of objects that may be long, while its
 * text arrives: the list's elements are taken one by one and forgotten, so that memory
 * is bounded by one of them and by all that is not the list. The text is not trusted;
 * what was taken counts only once http_json_list_end() has found all of it right. */
struct http_json_list {
	const char *name; /* of the member */
	/* Of an element, and of the object without them. */
	struct http_json_limits limits;
	/* Takes an element, which is borrowed. Negative errno ends the reading. */
	int (*take)(void *arg, struct json_object *element, struct err *err);
	void *arg;
	const struct http_json_pick
		*picks;   /* all that is kept of an element; NULL: all */
	bool may_be_null; /* the list: that is an empty one */

	/* zero at first */
	struct buf text,
		rest; /* of the element that arrives; of all but the elements */
	size_t elements;
	unsigned depth; /* of { and [ */
	bool in_string, escaped, in_list, had_list;
};

/* The next bytes, cut anywhere. -EBADMSG: not JSON, not an object in the list, or two
 * such lists; -EFBIG: beyond the limits; -ENOMEM; or what take() returned. */
int http_json_list_feed(struct http_json_list *l, const char *data, size_t len,
			struct err *err);
/* All has arrived. The object with an empty list, as http_json_object() gives it;
 * -EBADMSG, too, where the list is missing. */
int http_json_list_end(struct http_json_list *l, struct json_object **ret,
		       struct err *err);
void http_json_list_done(struct http_json_list *l);

#endif
