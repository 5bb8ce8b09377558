# SPDX-License-Identifier: GPL-2.0-or-later
PROGS += ceems_tool
CLI_CHECK_SRCS := cli/check_plugstack.c
CLI_CHECK_SRCS += cli/check_ring.c
CLI_CHECK_SRCS += cli/check_slurm.c
CLI_CHECK_SRCS += cli/elfsym.c
CLI_CHECK_SRCS += cli/finding.c
CLI_CHECK_SRCS += cli/slurmconf.c
# what plugstack.conf may say is decided by the plugin's own parser
CLI_CHECK_SRCS += spank/options.c
ceems_tool_SRCS := cli/ceems_tool.c $(CLI_CHECK_SRCS)
ceems_tool_LIBS := libbase
# the ring, looked at from outside
PROGS += ceems-ringdump
ceems-ringdump_SRCS := cli/ringdump.c cli/ringview.c
ceems-ringdump_LIBS := libbase
