/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_HEAD_H
#define CEEMS_LIB_HTTP_WEB_HEAD_H

/* The bytes of a request's head, for web.c. */
#include "lib/http/web_impl.h"

/* NULL, or why the head is malformed: a NUL, a line without CR or continued on the
 * next, a control character in a value. method, version: as the library gave them to
 * its handler. */
const char *web_head_wrong(struct web_request *r, const char *method,
			   const char *version);

#endif
