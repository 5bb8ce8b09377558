# SPDX-License-Identifier: GPL-2.0-or-later

# libweb: scrapes and what the daemon serves; a program that links it lists libweb libhttpd in
# _LIBS, $(libweb_USES) in _PKGS and -lcrypt in _LDLIBS
ARCHIVES += libweb
libweb_LIBS := libdaemon
libweb_USES := $(libhttpd_USES) zlib
libweb_PKGS := $(libweb_USES)
libweb_SRCS += daemon/web/endpoints.c
libweb_SRCS += daemon/web/flight.c
libweb_SRCS += daemon/web/gzip_crc.c
libweb_SRCS += daemon/web/gzip_lines.c
libweb_SRCS += daemon/web/scrape.c
libweb_SRCS += daemon/web/self.c
libweb_SRCS += daemon/web/units_json.c
