# SPDX-License-Identifier: GPL-2.0-or-later
FUZZERS += cgroup
cgroup_fuzz_SRCS := lib/cgroup.c lib/cgroup_parse.c lib/cgroup_record.c lib/record.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
FUZZERS += conf
conf_fuzz_SRCS := lib/conf.c lib/conf_help.c lib/conf_yaml.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
conf_fuzz_PKGS := yaml-0.1
FUZZERS += spool
spool_fuzz_SRCS := lib/spool_segment.c lib/buf.c lib/crc32c.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += slurmconf
slurmconf_fuzz_SRCS := cli/slurmconf.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += elfsym
elfsym_fuzz_SRCS := cli/elfsym.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += spank_options
spank_options_fuzz_SRCS := spank/options.c spank/gpulist.c lib/parse.c lib/err.c
FUZZERS += gpus
gpus_fuzz_SRCS := daemon/gpus.c lib/exec.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
