# SPDX-License-Identifier: GPL-2.0-or-later

# zones and the shipped table: libc only
libbase_SRCS += lib/emissions/emission.c
libbase_SRCS += lib/emissions/emission_table.c
$(OBJ)/lib/emissions/emission_table.o $(OBJ)/pic/lib/emissions/emission_table.o: contrib/emissions/owid.csv

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
