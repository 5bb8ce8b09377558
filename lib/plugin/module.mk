# SPDX-License-Identifier: GPL-2.0-or-later

# part of libbase: what each plugin may be told, for the plugin and for ceems_tool check
libbase_SRCS += lib/plugin/gather_options.c
libbase_SRCS += lib/plugin/jobcomp_options.c
libbase_SRCS += lib/plugin/spank_options.c
