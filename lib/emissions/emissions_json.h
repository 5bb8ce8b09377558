/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EMISSIONS_EMISSIONS_JSON_H
#define CEEMS_LIB_EMISSIONS_EMISSIONS_JSON_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/http/json.h"

/* A whole answer, which must be an object, bounded in size and depth. -EBADMSG. */
int emissions_json_object(const char *text, size_t len, struct json_object **ret,
			  struct err *err);

/* A member of an object that must be there and of this type, borrowed. -EBADMSG. */
int emissions_json_get(struct json_object *object, const char *key, enum json_type type,
		       struct json_object **ret, struct err *err);
/* The same as text, without NULs in it; borrowed. */
int emissions_json_text(struct json_object *object, const char *key, const char **ret,
			struct err *err);
/* A number, whole or not, never a text that looks like one. */
int emissions_json_number(struct json_object *object, const char *key, double *ret,
			  struct err *err);
/* A time with its zone. */
int emissions_json_time(struct json_object *object, const char *key, uint64_t *ret_s,
			struct err *err);

#endif
