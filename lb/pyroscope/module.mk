# SPDX-License-Identifier: GPL-2.0-or-later

# libpyro: Pyroscope's calls; a program that links it lists libpyro libpromql libbase in
# _LIBS and zlib in _PKGS
ifeq ($(HAVE_ZLIB),1)
ARCHIVES += libpyro
libpyro_LIBS := libgate libpromql
libpyro_PKGS := zlib
libpyro_SRCS += lb/pyroscope/pyro.c
libpyro_SRCS += lb/pyroscope/pyro_body.c
libpyro_SRCS += lb/pyroscope/pyro_calls.c
libpyro_SRCS += lb/pyroscope/pyro_json.c
libpyro_SRCS += lb/pyroscope/pyro_message.c
libpyro_SRCS += lb/pyroscope/pyro_proto.c
libpyro_SRCS += lb/pyroscope/pyro_render.c
libpyro_SRCS += lb/pyroscope/pyro_request.c
libpyro_SRCS += lb/pyroscope/pyro_schema.c
endif
