# SPDX-License-Identifier: GPL-2.0-or-later
FUZZERS += cgroup
cgroup_fuzz_SRCS := lib/cgroup.c lib/cgroup_parse.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
