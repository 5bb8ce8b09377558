# SPDX-License-Identifier: GPL-2.0-or-later
PROGS += ceems_tool
CLI_CHECK_SRCS := cli/check_plugstack.c
CLI_CHECK_SRCS += cli/check_energy.c
CLI_CHECK_SRCS += cli/check_ring.c
CLI_CHECK_SRCS += cli/check_slurm.c
CLI_CHECK_SRCS += cli/elfsym.c
CLI_CHECK_SRCS += cli/finding.c
CLI_CHECK_SRCS += cli/slurmconf.c
# what plugins may be told is decided by their own parsers (libgather: the energy plugin)
CLI_CHECK_SRCS += spank/options.c
ceems_tool_SRCS := cli/ceems_tool.c $(CLI_CHECK_SRCS)
ceems_tool_LIBS := libgather libbase
# the ring, looked at from outside
PROGS += ceems-ringdump
ceems-ringdump_SRCS := cli/ringdump.c cli/ringview.c
ceems-ringdump_LIBS := libbase
