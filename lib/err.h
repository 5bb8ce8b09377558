/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_ERR_H
#define CEEMS_LIB_ERR_H

#define ERR_TEXT_MAX 512

/* The text of the last failure, owned by the caller; meaningful only after a call
 * failed. */
struct err {
	char text[ERR_TEXT_MAX];
};

/* Stores a formatted text (cut to fit) in err, which may be NULL, and returns rc, a
 * negative errno, so that a failure is one line: return err_set(err, -EINVAL, ...). */
int err_set(struct err *err, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is already there; returns rc. */
int err_prefix(struct err *err, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The text, or "" for NULL. Borrowed. */
const char *err_text(const struct err *err);

#ifdef __clang_analyzer__
/* What the analyzer cannot see: errno is not 0 after a failure, so a failure is never
 * taken for success. */
#define err_set(err, rc, ...)                                                          \
	({                                                                             \
		int err_rc_ = (rc);                                                    \
		if (!__builtin_constant_p(rc) && err_rc_ >= 0)                         \
			__builtin_unreachable();                                       \
		(err_set)((err), err_rc_, __VA_ARGS__);                                \
		err_rc_;                                                               \
	})
#define err_prefix(err, rc, ...)                                                       \
	({                                                                             \
		int err_rc_ = (rc);                                                    \
		if (!__builtin_constant_p(rc) && err_rc_ >= 0)                         \
			__builtin_unreachable();                                       \
		(err_prefix)((err), err_rc_, __VA_ARGS__);                             \
		err_rc_;                                                               \
	})
#endif

#endif
