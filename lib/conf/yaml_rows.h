/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_YAML_ROWS_H
#define CEEMS_LIB_CONF_YAML_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/conf/yaml_walk.h"

/* Nested YAML files by table: a row says a key's kind, the member that it fills, and
 * its range; a mapping has a table of rows, and a list the row of its items. What is
 * read lives in the reader's arena. A table ends with YAML_END. Not thread safe. */

struct yaml_row;

struct yaml_reader {
	struct yaml_walk w;
	struct arena *arena;
	bool expand;          /* replace $NAME in values, see yaml_walk_value() */
	bool empty_is_absent; /* a key with an empty text counts as not given */
	bool has_secret;      /* a row of yaml_read_secret() was given */
	struct buf *notes;    /* "key: note" lines; NULL: none are wanted */
	struct buf *files;    /* each path, a line each; NULL: the same */
	void *config;         /* the program's own */
};

/* Reads a value into at, the member of its row. key: the row's, or its list's.
 * 0; 1: as if the key (or the item) were not there; -EINVAL with file and line. */
typedef int (*yaml_read_f)(struct yaml_reader *r, const struct yaml_row *row,
			   const char *key, yaml_node_t *v, void *at);
/* Checks what was read to at. */
typedef int (*yaml_check_f)(struct yaml_reader *r, const char *key, yaml_node_t *v,
			    void *at);

struct yaml_header {
	const char *name, *value, *file; /* value or file */
	size_t line;
};

struct yaml_row {
	const char *key;
	yaml_read_f read;
	size_t off;                  /* of the member in the mapping's struct */
	size_t size;                 /* of the member; of a list's item */
	size_t count;                /* offset of a list's size_t for their number */
	size_t given;                /* of a size_t for the line of its value, or 0 */
	uint64_t min, max;           /* of a number; max: items of a list */
	uint64_t def;                /* of a number; see yaml_rows_default() */
	const struct yaml_row *rows; /* of a mapping; the row of a list's items */
	const char *words;           /* "none basic": yaml_read_word() stores 0, 1 */
	const char *note;            /* for the log when it is given */
	yaml_check_f check;          /* after it has been read, or NULL */
};

int yaml_read_text(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at); /* const char * */
int yaml_read_name(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at); /* a text that is not empty */
int yaml_read_secret(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at);
/* A file, by the folder of this one as in Prometheus, when it is relative. */
int yaml_read_path(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at);
int yaml_read_bool(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at);
/* Checks for true or false; true has no effect but the row's note. */
int yaml_read_unused_bool(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at);
/* uint16_t, uint32_t or uint64_t. A duration's range is in ms. */
int yaml_read_number(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at);
int yaml_read_ms(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		 yaml_node_t *v, void *at);
/* A duration, or a number of ms as in CEEMS */
int yaml_read_old_ms(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at);
int yaml_read_seconds(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at);
int yaml_read_bytes(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		    yaml_node_t *v, void *at);
int yaml_read_word(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at); /* an enum */
/* "TLS12" as 12, in an unsigned. */
int yaml_read_tls_version(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at);
int yaml_read_map(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		  yaml_node_t *v, void *at);
/* A pointer to items, allocated. */
int yaml_read_list(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at);
/* Prometheus' http_headers: NAME: {values, secrets, files}, as struct yaml_header *,
 * each value one of its own. The row's check sees them all. */
int yaml_read_headers(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at);
/* Refuses the key as not supported. */
int yaml_refuse(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		yaml_node_t *v, void *at);
/* Takes any value. */
int yaml_skip(struct yaml_reader *r, const struct yaml_row *row, const char *key,
	      yaml_node_t *v, void *at);

#define YAML_ROW(key_, read_, type_, member_, ...)                                     \
	{                                                                              \
		.key = (key_), .read = (read_), .off = offsetof(type_, member_),       \
		.size = sizeof(((type_ *)0)->member_), __VA_ARGS__                     \
	}
#define YAML_TEXT(key_, ...) YAML_ROW(key_, yaml_read_text, __VA_ARGS__, )
#define YAML_SECRET(key_, ...) YAML_ROW(key_, yaml_read_secret, __VA_ARGS__, )
#define YAML_PATH(key_, ...) YAML_ROW(key_, yaml_read_path, __VA_ARGS__, )
#define YAML_BOOL(key_, ...) YAML_ROW(key_, yaml_read_bool, __VA_ARGS__, )
/* kind: number, ms, seconds or bytes */
#define YAML_RANGE(key_, kind_, type_, member_, def_, min_, max_)                      \
	YAML_ROW(key_, yaml_read_##kind_, type_, member_, .def = (def_),               \
		 .min = (min_), .max = (max_))
/* A mapping of its own struct, the member, or of the same struct. */
#define YAML_MAP(key_, rows_, ...)                                                     \
	YAML_ROW(key_, yaml_read_map, __VA_ARGS__, .rows = (rows_))
#define YAML_SAME(key_, rows_, ...)                                                    \
	{                                                                              \
		.key = (key_), .read = yaml_read_map, .rows = (rows_), __VA_ARGS__     \
	}
#define YAML_LIST(key_, item_, type_, items_, count_, max_, ...)                       \
	{                                                                              \
		.key = (key_), .read = yaml_read_list, .rows = (item_),                \
		.off = offsetof(type_, items_), .count = offsetof(type_, count_),      \
		.size = sizeof(*((type_ *)0)->items_), .max = (max_), __VA_ARGS__      \
	}
#define YAML_HEADERS(key_, type_, items_, count_, max_, ...)                           \
	{                                                                              \
		.key = (key_), .read = yaml_read_headers,                              \
		.off = offsetof(type_, items_), .count = offsetof(type_, count_),      \
		.max = (max_), __VA_ARGS__                                             \
	}
#define YAML_REFUSED(key_)                                                             \
	{                                                                              \
		.key = (key_), .read = yaml_refuse                                     \
	}
#define YAML_SKIPPED(key_, ...)                                                        \
	{                                                                              \
		.key = (key_), .read = yaml_skip, __VA_ARGS__                          \
	}
#define YAML_END                                                                       \
	{                                                                              \
		.key = NULL                                                            \
	}

extern const struct yaml_row yaml_item_name; /* of a list of texts, none empty */

/* Puts defaults other than 0 into their members, those of mappings within too. Items of
 * lists get them as they are read. */
void yaml_rows_default(const struct yaml_row *rows, void *to);

/* Reads a text of at most max bytes whose root is a mapping of these rows. where: its
 * name in messages. No document: nothing is read. */
int yaml_rows_read(struct yaml_reader *r, const char *text, size_t len, size_t max,
		   const char *where, const struct yaml_row *rows, void *to);

/* A scalar as a text in the arena, expanded as the reader says. */
int yaml_reader_text(struct yaml_reader *r, const char *key, yaml_node_t *v,
		     const char **ret);
/* n bytes of the arena, zeroed; NULL: -ENOMEM is in the error. */
void *yaml_reader_alloc(struct yaml_reader *r, size_t n, size_t size);
int yaml_reader_no_memory(struct yaml_reader *r);
void yaml_reader_note(struct yaml_reader *r, const char *key, const char *text);

#endif
