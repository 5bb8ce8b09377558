/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void build_id_hex(const struct build_id *id, char ret[BUILD_ID_HEX_BYTES])
{
	ret[0] = '\0';
	for (uint32_t i = 0; i < id->len && i < BUILD_ID_MAX; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", id->bytes[i]);
}

void debug_file_path(const struct build_id *id, char ret[DEBUG_FILE_PATH_BYTES])
{
	char hex[BUILD_ID_HEX_BYTES];

	build_id_hex(id, hex);
	(void)snprintf(ret, DEBUG_FILE_PATH_BYTES, ".build-id/%.2s/%s.debug", hex,
		       hex + 2);
}

size_t debug_file_encode(enum debug_file_news news, const struct build_id *id,
			 uint8_t ret[DEBUG_FILE_RECORD_BYTES])
{
	ret[0] = DEBUG_FILE_RECORD_TYPE;
	ret[1] = (uint8_t)news;
	memcpy(ret + 2, id->bytes, id->len);
	return 2 + id->len;
}

int debug_file_decode(const void *data, size_t len, struct build_id *ret)
{
	const uint8_t *bytes = data;

	if (len < 2 + BUILD_ID_MIN || len > DEBUG_FILE_RECORD_BYTES ||
	    bytes[0] != DEBUG_FILE_RECORD_TYPE ||
	    (bytes[1] != DEBUG_FILE_WANTED && bytes[1] != DEBUG_FILE_USED))
		return -EPROTO;
	*ret = (struct build_id){.len = (uint32_t)len - 2};
	memcpy(ret->bytes, bytes + 2, len - 2);
	return bytes[1];
}
