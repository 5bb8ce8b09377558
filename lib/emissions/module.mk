# SPDX-License-Identifier: GPL-2.0-or-later

# libemissions: providers of emission factors that are asked over the network
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
ARCHIVES += libemissions
libemissions_PKGS := libcurl json-c
libemissions_SRCS += lib/emissions/emissions_emaps.c
libemissions_SRCS += lib/emissions/emissions_file.c
libemissions_SRCS += lib/emissions/emissions_json.c
libemissions_SRCS += lib/emissions/emissions_providers.c
libemissions_SRCS += lib/emissions/emissions_rte.c
libemissions_SRCS += lib/emissions/emissions_wt.c
endif
