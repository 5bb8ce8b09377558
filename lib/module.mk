# SPDX-License-Identifier: GPL-2.0-or-later
# libbase: libc only; the PIC build of it is all that plugins link.
ARCHIVES += libbase
libbase_SRCS := lib/buf.c lib/err.c lib/fs.c lib/log.c lib/parse.c
libbase_SRCS += lib/crc32c.c
libbase_SRCS := lib/buf.c lib/err.c lib/fs.c lib/log.c lib/parse.c \
	lib/prom.c
