# SPDX-License-Identifier: GPL-2.0-or-later
# Compiler, flags, variants and optional libraries.

PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
AR ?= ar
V ?= 0
WERROR ?= 0
SAN ?=
comma := ,
empty :=
space := $(empty) $(empty)

# Variants build apart: SAN=address,undefined -> build/san-address-undefined
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
# However it is spelled, a file has one name: the lists of what it was made from (x.d) hold names
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
OBJ := $(BUILD)/obj

WARNINGS := -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wundef -Wvla -Wwrite-strings -Wimplicit-fallthrough $(if $(filter 1,$(WERROR)),-Werror)
# gcc's thread sanitizer does not understand fences. The one in use (cli/tool/ringview.c) is between
# processes, which no sanitizer checks.
WARNINGS += $(if $(findstring thread,$(SAN)),$(if $(findstring clang,$(CC)),,-Wno-tsan))
HARDENING := -fstack-protector-strong -fPIE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
OPT := $(if $(SAN),-O1 -fno-omit-frame-pointer -fsanitize=$(SAN),-O2)
# Of unit tests and of what fuzzers' corpora run through: compiling takes a quarter of the time, running no longer
TEST_OPT := $(if $(SAN),,-O0 -U_FORTIFY_SOURCE)
BASE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -g $(OPT) $(WARNINGS) $(HARDENING) -I. \
	-DCEEMS_VERSION='"$(VERSION)"' -pthread
BASE_LDFLAGS := -pthread $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,relro,-z,now
PIE_LDFLAGS := -pie

# User flags come last and are never replaced.
ALL_CFLAGS = $(BASE_CFLAGS) $(1) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(BASE_LDFLAGS) $(LDFLAGS)

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2);)

PKG_CONFIG ?= pkg-config
have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo 1)

HAVE_MHD := $(call have,libmicrohttpd)
HAVE_GNUTLS := $(call have,gnutls)
HAVE_ZLIB := $(call have,zlib)
HAVE_YAML := $(call have,yaml-0.1)
HAVE_JSON := $(call have,json-c)
HAVE_CURL := $(call have,libcurl)
HAVE_PQ := $(call have,libpq)
HAVE_MUNGE := $(call have,munge)
HAVE_XML := $(call have,libxml-2.0)
HAVE_LIBVIRT := $(call have,libvirt)
HAVE_NGHTTP2 := $(call have,libnghttp2)
HAVE_CMOCKA := $(call have,cmocka)
HAVE_SQLITE := $(call have,sqlite3)
HAVE_LZMA := $(call have,liblzma)
HAVE_DW := $(and $(call have,libdw),$(call have,libelf),1)
PROTOC_C ?= $(shell command -v protoc-c 2>/dev/null)
HAVE_PROTOBUF_C := $(if $(PROTOC_C),$(call have,libprotobuf-c))
# those have no .pc file
have_header = $(shell echo '\#include <$(1)>' | $(CC) -E - >/dev/null 2>&1 && echo 1)
HAVE_IBERTY := $(call have_header,libiberty/demangle.h)
HAVE_SPANK := $(call have_header,slurm/spank.h)

# A component switched on by hand must not be left out silently: WITH_DAEMON=yes
require = $(if $(filter yes,$(WITH_$(1))),$(if $(2),,$(error WITH_$(1)=yes but $(3) is missing)))
