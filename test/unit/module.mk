# SPDX-License-Identifier: GPL-2.0-or-later
# One program per source file; <name>.c here unless <name>_SRCS says otherwise.
TESTS += buf_test parse_test fs_test err_test
buf_test_LIBS := libbase
parse_test_LIBS := libbase
fs_test_LIBS := libbase
err_test_LIBS := libbase
TESTS += crc32c_test
crc32c_test_LIBS := libbase
TESTS += prom_test
prom_test_LIBS := libbase
TESTS += cgroup_test
cgroup_test_LIBS := libbase
TESTS += conf_test
conf_test_LIBS := libconf libbase
conf_test_PKGS := yaml-0.1
TESTS += exec_test
exec_test_LIBS := libbase
TESTS += gpus_test
TESTS += ring_test
ring_test_LIBS := libbase
TESTS += record_test
record_test_LIBS := libbase
TESTS += spool_test
spool_test_LIBS := libbase
spool_test_LDFLAGS := -Wl,--wrap=pwrite,--wrap=ftruncate
gpus_test_LIBS := libdaemon libbase
TESTS += collector_slurm_test
collector_slurm_test_LIBS := libdaemon libconf libbase
collector_slurm_test_PKGS := yaml-0.1
TESTS += units_test
units_test_LIBS := libdaemon libbase
# need slurm/spank.h, not a Slurm
ifneq ($(wildcard /usr/include/slurm/spank.h),)
TESTS += spank_test
TESTS += spank_job_test
TESTS += spank_options_test
endif
spank_test_SRCS := test/unit/spank_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_test_LIBS := libbase
spank_job_test_SRCS := test/unit/spank_job_test.c test/fake/slurm_host.c spank/spank_ceems_job.c $(SPANK_SHARED)
spank_job_test_LIBS := libbase
spank_options_test_SRCS := test/unit/spank_options_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_options_test_LIBS := libbase
TESTS += collector_cpu_test
collector_cpu_test_LIBS := libnode libbase
TESTS += collector_infiniband_test
collector_infiniband_test_LIBS := libnode libbase
TESTS += collector_meminfo_test
collector_meminfo_test_LIBS := libnode libbase
TESTS += collector_netdev_test
collector_netdev_test_LIBS := libnode libbase
TESTS += negotiate_test
negotiate_test_LIBS := libweb libbase
TESTS += scrape_test
scrape_test_LIBS := libweb libbase
scrape_test_PKGS := zlib
TESTS += units_json_test
units_json_test_LIBS := libdaemon libbase
units_json_test_PKGS := json-c
TESTS += ring_torture
ring_torture_LIBS := libbase
TESTS += cli_check_test
cli_check_test_SRCS := test/unit/cli_check_test.c cli/check_plugstack.c cli/check_ring.c cli/check_slurm.c cli/elfsym.c cli/finding.c cli/slurmconf.c spank/options.c
cli_check_test_LIBS := libbase
