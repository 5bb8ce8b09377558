# SPDX-License-Identifier: GPL-2.0-or-later
# One program per source file; <name>.c here unless <name>_SRCS says otherwise.
# allocations that fail when a test says so (test/fake/starve.h)
STARVE_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=aligned_alloc,--wrap=strdup,--wrap=strndup,--wrap=asprintf,--wrap=vasprintf
TESTS += buf_test parse_test fs_test err_test
buf_test_LIBS := libbase
parse_test_LIBS := libbase
fs_test_LIBS := libbase
fs_test_LDFLAGS := -Wl,--wrap=unlinkat
err_test_LIBS := libbase
TESTS += signals_test
signals_test_LIBS := libbase
TESTS += fence_test
fence_test_LIBS := libbase
TESTS += sandbox_test
sandbox_test_LIBS := libbase
TESTS += fair_test
fair_test_LIBS := libbase
TESTS += time_share_test
time_share_test_LIBS := libbase
TESTS += turns_test
turns_test_LIBS := libbase
TESTS += loop_test
loop_test_LIBS := libbase
TESTS += crc32c_test
crc32c_test_LIBS := libbase
TESTS += http_text_test
http_text_test_LIBS := libbase
TESTS += siphash_test
siphash_test_LIBS := libbase
TESTS += periodic_test
periodic_test_LIBS := libbase
TESTS += wait_test
wait_test_LIBS := libbase
TESTS += prom_test
prom_test_LIBS := libbase
TESTS += cgroup_test
cgroup_test_LIBS := libbase
TESTS += cgroup_pod_test
cgroup_pod_test_LIBS := libbase
TESTS += cgroup_io_test
cgroup_io_test_LIBS := libbase
TESTS += cgroup_read_test
cgroup_read_test_LIBS := libbase
TESTS += cgroup_fds_test
cgroup_fds_test_LIBS := libbase
TESTS += conf_test
conf_test_LIBS := libconf libbase
conf_test_PKGS := yaml-0.1
TESTS += service_test
service_test_LIBS := libconf libbase
service_test_PKGS := yaml-0.1
TESTS += exec_test
exec_test_LIBS := libbase
TESTS += gpus_test
TESTS += ring_attach_test
ring_attach_test_LIBS := libbase
TESTS += ring_test
ring_test_LIBS := libbase
TESTS += record_test
record_test_LIBS := libbase
TESTS += spool_test
spool_test_LIBS := libbase
spool_test_LDFLAGS := -Wl,--wrap=pwrite,--wrap=ftruncate
gpus_test_LIBS := libdaemon libbase
TESTS += collector_k8s_test
collector_k8s_test_LIBS := libgroups libdaemon libsources libconf libbase
collector_k8s_test_PKGS := yaml-0.1
TESTS += collector_libvirt_test
collector_libvirt_test_LIBS := libgroups libdaemon libsources libconf libbase
collector_libvirt_test_PKGS := yaml-0.1
TESTS += collector_slurm_series_test
collector_slurm_series_test_LIBS := libdaemon libsources libconf libbase
collector_slurm_series_test_PKGS := yaml-0.1
TESTS += collector_slurm_test
collector_slurm_test_LIBS := libdaemon libsources libconf libbase
collector_slurm_test_PKGS := yaml-0.1
TESTS += units_test units_energy_test units_expire_test units_part_test units_store_test
units_test_LIBS := libdaemon libbase
units_energy_test_LIBS := libdaemon libbase
units_expire_test_LIBS := libdaemon libbase
units_expire_test_LDFLAGS := -Wl,--wrap=posix_fallocate
units_part_test_LIBS := libdaemon libbase
units_store_test_LIBS := libdaemon libbase
ifneq ($(filter libcacct,$(ARCHIVES)),)
TESTS += flame_test
flame_test_LIBS := libcacct libident libhttp libconf libbase
flame_test_PKGS := $(libcacct_USES)
endif
TESTS += report_test
report_test_SRCS := test/unit/report_test.c spank/report.c
report_test_LIBS := libbase
# need slurm/spank.h, not a Slurm
ifeq ($(HAVE_SPANK),1)
TESTS += spank_test
TESTS += spank_arm_wait_test
TESTS += spank_safe_test
TESTS += spank_job_test
TESTS += spank_options_test
TESTS += spank_report_test
endif
spank_test_SRCS := test/unit/spank_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_test_LIBS := libbase
spank_arm_wait_test_SRCS := test/unit/spank_arm_wait_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_arm_wait_test_LIBS := libbase
spank_safe_test_SRCS := test/unit/spank_safe_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_safe_test_LIBS := libbase
spank_job_test_SRCS := test/unit/spank_job_test.c test/fake/slurm_host.c spank/spank_ceems_job.c $(SPANK_SHARED)
spank_job_test_LIBS := libbase
spank_options_test_SRCS := test/unit/spank_options_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_options_test_LIBS := libbase
spank_report_test_SRCS := test/unit/spank_report_test.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_report_test_LIBS := libbase
TESTS += base64_test
base64_test_LIBS := libbase
TESTS += collector_cpu_test
collector_cpu_test_LIBS := libnode libbase
TESTS += collector_infiniband_test
collector_infiniband_test_LIBS := libnode libbase
TESTS += collector_meminfo_test
collector_meminfo_test_LIBS := libnode libbase
TESTS += collector_netdev_test
collector_netdev_test_LIBS := libnode libbase
TESTS += negotiate_test
negotiate_test_LIBS := libhttpd libconf libbase
TESTS += scrape_test
scrape_test_LIBS := libweb libbase
scrape_test_PKGS := zlib
TESTS += gzip_lines_test
gzip_lines_test_LIBS := libweb libbase
gzip_lines_test_PKGS := zlib
TESTS += units_json_test
units_json_test_LIBS := libweb libdaemon libbase
units_json_test_PKGS := json-c
TESTS += ring_torture
ring_torture_LIBS := libbase
TESTS += cli_check_test
cli_check_test_SRCS := test/unit/cli_check_test.c cli/tool/check_energy.c cli/tool/check_jobcomp.c cli/tool/check_plugstack.c cli/tool/check_ring.c cli/tool/check_slurm.c cli/tool/elfsym.c
cli_check_test_LIBS := libgather libjobcomp libbase
TESTS += migrate_unit_test
migrate_unit_test_SRCS := test/unit/migrate_unit_test.c cli/tool/migrate_unit.c
migrate_unit_test_LIBS := libconf libbase
migrate_unit_test_PKGS := yaml-0.1
TESTS += web_order_test
web_order_test_LIBS := libhttpd libbase
TESTS += web_conn_test
web_conn_test_LIBS := libhttpd libbase
web_conn_test_PKGS := gnutls
web_conn_test_LDFLAGS := -Wl,--wrap=clock_gettime
TESTS += web_budget_test
web_budget_test_LIBS := libhttpd libbase
TESTS += web_auth_test
web_auth_test_LIBS := libhttpd libconf libbase
web_auth_test_PKGS := gnutls yaml-0.1
web_auth_test_LDLIBS := -lcrypt
web_auth_test_LDFLAGS := -Wl,--wrap=clock_gettime
TESTS += dropins_test
dropins_test_LIBS := libconf libbase
dropins_test_PKGS := yaml-0.1
TESTS += yaml_merge_test
yaml_merge_test_LIBS := libconf libbase
yaml_merge_test_PKGS := yaml-0.1
TESTS += kubeconfig_test
kubeconfig_test_LIBS := libconf libbase
kubeconfig_test_PKGS := yaml-0.1
TESTS += yaml_rows_test
yaml_rows_test_LIBS := libconf libbase
yaml_rows_test_PKGS := yaml-0.1
TESTS += web_config_test
web_config_test_LIBS := libhttpd libconf libbase
web_config_test_PKGS := yaml-0.1
TESTS += ingest_test
ingest_test_LIBS := libdaemon libsources libconf libbase
ingest_test_PKGS := yaml-0.1
TESTS += collector_ebpf_test
collector_ebpf_test_LIBS := libgroups libdaemon libbase
TESTS += collector_perf_test
collector_perf_test_LIBS := libgroups libdaemon libbase
TESTS += collector_rdma_test
collector_rdma_test_LIBS := librdma libgroups libnode libdaemon libbase
TESTS += drm_uses_test
drm_uses_test_LIBS := libdrmuses libprofiles libgroups libsources libdaemon libbase
TESTS += rdma_sample_test
rdma_sample_test_LIBS := librdma libgroups libnode libdaemon libbase
TESTS += rdma_counts_test
rdma_counts_test_LIBS := librdma libgroups libnode libdaemon libbase
TESTS += rdma_message_test
rdma_message_test_LIBS := librdma libbase
TESTS += step_groups_test
step_groups_test_SRCS := test/unit/step_groups_test.c test/unit/step_groups_lab.c
step_groups_test_LIBS := libgroups libdaemon libbase
TESTS += step_finals_test
step_finals_test_SRCS := test/unit/step_finals_test.c test/unit/step_groups_lab.c
step_finals_test_LIBS := libgroups libdaemon libbase
ifneq ($(filter libopener,$(ARCHIVES)),)
TESTS += adopt_test
adopt_test_LIBS := libopener libbase
adopt_test_PKGS := libbpf
TESTS += opener_limits_test
opener_limits_test_LIBS := libopener libbase
opener_limits_test_PKGS := libbpf
TESTS += collector_drm_test
collector_drm_test_LIBS := libdrmuses libprofiles libopener libgroups libsources libdaemon libbase
collector_drm_test_PKGS := libbpf
TESTS += group_programs_test
group_programs_test_LIBS := libopener libgroups libdaemon libbase
group_programs_test_PKGS := libbpf
endif
TESTS += io_paths_test
io_paths_test_LIBS := libgroups libdaemon libbase
TESTS += unit_io_test
unit_io_test_LIBS := libgroups libdaemon libbase
TESTS += unit_counts_test
unit_counts_test_LIBS := libgroups libdaemon libbase
TESTS += running_steps_test
running_steps_test_LIBS := libdaemon libbase
TESTS += inhabited_test
inhabited_test_LIBS := libdaemon libbase
TESTS += discover_test
discover_test_LIBS := libdaemon libbase
TESTS += cgroup_record_test
cgroup_record_test_LIBS := libbase
TESTS += spool_process_test
spool_process_test_LIBS := libbase
TESTS += ringdump_test
ringdump_test_SRCS := test/unit/ringdump_test.c cli/tool/ringview.c
ringdump_test_LIBS := libbase
ringdump_test_RUNS := ceems-ringdump
TESTS += profiling_file_test
profiling_file_test_LIBS := libdaemon libconf libbase
profiling_file_test_PKGS := yaml-0.1
TESTS += options_test
options_test_LIBS := libdaemon libconf libbase
options_test_PKGS := yaml-0.1
TESTS += fd_store_test
fd_store_test_LIBS := libbase
TESTS += notify_test
notify_test_LIBS := libbase
TESTS += collector_ring_test
collector_ring_test_LIBS := libdaemon libsources libconf libbase
collector_ring_test_PKGS := yaml-0.1
TESTS += listen_test
listen_test_LIBS := libhttpd libconf libbase
TESTS += energy_test
energy_test_LIBS := libdaemon libbase
TESTS += energy_property_test
energy_property_test_LIBS := libdaemon libbase
TESTS += web_policy_test
web_policy_test_LIBS := libhttpd libconf libbase
web_policy_test_PKGS := gnutls yaml-0.1
web_policy_test_LDFLAGS := -Wl,--wrap=web_config_load
TESTS += energy_counter_test
energy_counter_test_LIBS := libsources libbase
TESTS += collector_rapl_test
collector_rapl_test_LIBS := libsources libbase
TESTS += collector_hwmon_test
collector_hwmon_test_LIBS := libsources libbase
TESTS += collector_cray_pm_counters_test
collector_cray_pm_counters_test_LIBS := libsources libbase
collector_cray_pm_counters_test_LDFLAGS := -Wl,--wrap=fs_read_at
TESTS += sampler_test
sampler_test_LIBS := libsources libbase
TESTS += self_test
self_test_LIBS := libweb libbase
self_test_PKGS := zlib
ifeq ($(HAVE_CURL),1)
TESTS += http_client_test
http_client_test_LIBS := libhttp libbase
http_client_test_PKGS := libcurl libmicrohttpd
endif
TESTS += energy_page_test
energy_page_test_LIBS := libbase
energy_page_test_LDFLAGS := -Wl,--wrap=pwrite
TESTS += rfc3339_test
rfc3339_test_LIBS := libbase
TESTS += emission_test
emission_test_LIBS := libbase
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
TESTS += http_json_test http_json_list_test
http_json_test_LIBS := libhttp libbase
http_json_test_PKGS := libcurl json-c
http_json_list_test_LIBS := libhttp libbase
http_json_list_test_PKGS := libcurl json-c
TESTS += emissions_parse_test
emissions_parse_test_LIBS := libemissions libhttp libbase
emissions_parse_test_PKGS := libcurl json-c
TESTS += emissions_fetch_test
emissions_fetch_test_LIBS := libcourier libemissions libhttp libconf libbase
emissions_fetch_test_PKGS := $(libcourier_USES)
endif
TESTS += power_curve_test
power_curve_test_LIBS := libdaemon libbase
TESTS += collector_model_test
collector_model_test_LIBS := libsources libnode libdaemon libbase
TESTS += child_msg_test
child_msg_test_LIBS := libbase
TESTS += child_link_test
child_link_test_LIBS := libsources libdaemon libconf libbase
child_link_test_PKGS := yaml-0.1
child_link_test_RUNS := courier_rude
TESTS += collector_emissions_test
collector_emissions_test_LIBS := libdaemon libbase
TESTS += ipmi_test
ipmi_test_LIBS := libsources libbase
TESTS += ipmi_cmd_test
ipmi_cmd_test_LIBS := libsources libbase
TESTS += collector_ipmi_dcmi_test
collector_ipmi_dcmi_test_LIBS := libsources libbase
collector_emissions_test_LIBS := libdaemon libsources libbase
TESTS += hardware_raw_test
hardware_raw_test_LIBS := libbase
TESTS += node_figures_test
node_figures_test_LIBS := libsources libgroups libdaemon libnode libconf libbase
node_figures_test_PKGS := yaml-0.1
TESTS += perf_figures_test
perf_figures_test_LIBS := libgroups libdaemon libconf libbase
perf_figures_test_PKGS := yaml-0.1
ifneq ($(filter libopener,$(ARCHIVES)),)
TESTS += hardware_probe_test
endif
hardware_probe_test_LIBS := libopener libgroups libdaemon libbase
hardware_probe_test_PKGS := libbpf
hardware_probe_test_LDFLAGS := -Wl,--wrap=syscall
TESTS += unit_hardware_test
unit_hardware_test_LIBS := libgroups libdaemon libbase
TESTS += rapl_perf_test
rapl_perf_test_LIBS := libsources libbase
ifeq ($(HAVE_CURL)$(HAVE_MHD),11)
TESTS += proxy_path_test proxy_access_test
proxy_path_test_LIBS := libredfishproxy libbase
proxy_access_test_LIBS := libredfishproxy libconf libbase
proxy_access_test_PKGS := yaml-0.1
TESTS += proxy_cache_test proxy_config_test proxy_session_test
proxy_cache_test_LIBS := libredfishproxy libbase
proxy_config_test_LIBS := libredfishproxy libconf libbase
proxy_config_test_PKGS := yaml-0.1
proxy_session_test_LIBS := libredfishproxy libhttp libbase
proxy_session_test_PKGS := libcurl
endif
TESTS += meters_test ticker_test
meters_test_LIBS := libticker libnode libsources libdaemon libconf libbase
meters_test_PKGS := yaml-0.1
ticker_test_LIBS := libticker libnode libsources libdaemon libconf libbase
ticker_test_PKGS := yaml-0.1
TESTS += energy_restart_test
energy_restart_test_LIBS := libticker libnode libsources libdaemon libconf libbase
energy_restart_test_PKGS := yaml-0.1

TESTS += collector_energy_test
collector_energy_test_LIBS := libticker libnode libsources libdaemon libconf libbase
collector_energy_test_PKGS := yaml-0.1
TESTS += collector_courier_test
collector_courier_test_LIBS := libsources libbase
collector_courier_test_LDFLAGS := -Wl,--wrap=child_link_get,--wrap=child_link_starts
TESTS += collector_profiler_test
collector_profiler_test_LIBS := libprofiles libsources libdaemon libreports libsources libconf libbase
collector_profiler_test_LDFLAGS := -Wl,--wrap=child_link_get,--wrap=child_link_starts
TESTS += collector_gpu_test
collector_gpu_test_LIBS := libsources libbase
collector_gpu_test_LDFLAGS := -Wl,--wrap=child_link_get,--wrap=child_link_starts
TESTS += amd_test
amd_test_LIBS := libgpu libconf libbase
amd_test_PKGS := yaml-0.1
amd_test_LDLIBS := -ldl
TESTS += pci_gpus_test
pci_gpus_test_LIBS := libbase
TESTS += drm_fdinfo_test
drm_fdinfo_test_LIBS := libbase
TESTS += drm_gpus_test
drm_gpus_test_LIBS := libbase
TESTS += amd_metrics_test
amd_metrics_test_LIBS := libgpu libconf libbase
amd_metrics_test_PKGS := yaml-0.1
TESTS += gpu_maps_test
gpu_maps_test_LIBS := libdaemon libconf libbase
gpu_maps_test_PKGS := yaml-0.1
TESTS += driver_gpus_test
driver_gpus_test_LIBS := libdaemon libconf libbase
driver_gpus_test_PKGS := yaml-0.1
driver_gpus_test_LDFLAGS := -Wl,--wrap=child_link_get
TESTS += gpu_sharing_test
gpu_sharing_test_LIBS := libticker libnode libsources libdaemon libconf libbase
gpu_sharing_test_PKGS := yaml-0.1
gpu_sharing_test_LDFLAGS := -Wl,--wrap=child_link_get,--wrap=cgroup_unit_of_pid,--wrap=steps_find_path,--wrap=steps_unit,--wrap=unit_serial
TESTS += gpu_use_test
gpu_use_test_LIBS := libticker libnode libsources libdaemon libconf libbase
gpu_use_test_PKGS := yaml-0.1
gpu_use_test_LDFLAGS := -Wl,--wrap=child_link_get,--wrap=unit_report_gpus,--wrap=gpu_sharing_use
TESTS += usage_deltas_test
usage_deltas_test_LIBS := libticker libnode libsources libdaemon libconf libbase
usage_deltas_test_PKGS := yaml-0.1
usage_deltas_test_LDFLAGS := -Wl,--wrap=gpu_maps_of,--wrap=gpu_weights_of,--wrap=gpu_vgpus_next
TESTS += gpu_weights_test
gpu_weights_test_LIBS := libticker libnode libsources libdaemon libconf libbase
gpu_weights_test_PKGS := yaml-0.1
gpu_weights_test_LDFLAGS := -Wl,--wrap=child_link_get
TESTS += module_check_test
module_check_test_LIBS := libgpu libbase
TESTS += refresh_test
refresh_test_LIBS := libgpu libbase
TESTS += nvml_test
nvml_test_LIBS := libgpu libconf libbase
nvml_test_PKGS := yaml-0.1
nvml_test_LDLIBS := -ldl
nvml_test_RUNS := nvml_fake.so
TESTS += device_nvml_test
device_nvml_test_LIBS := libgpu libconf libbase
device_nvml_test_PKGS := yaml-0.1
device_nvml_test_LDLIBS := -ldl
device_nvml_test_LDFLAGS := -Wl,--wrap=dlsym,--wrap=clock_gettime
device_nvml_test_RUNS := nvml_fake.so
TESTS += collector_redfish_test
collector_redfish_test_LIBS := libsources libbase
collector_redfish_test_LDFLAGS := -Wl,--wrap=child_link_get
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
TESTS += redfish_test
redfish_test_LIBS := libcourier $(libcourier_NEEDS)
redfish_test_PKGS := $(libcourier_USES)
redfish_test_LDFLAGS := -Wl,--wrap=log_at
TESTS += redfish_config_test
redfish_config_test_LIBS := libcourier $(libcourier_NEEDS)
redfish_config_test_PKGS := $(libcourier_USES)
endif
TESTS += energy_page_fill_test
energy_page_fill_test_LIBS := libticker libnode libsources libdaemon libconf libbase
energy_page_fill_test_PKGS := yaml-0.1
TESTS += gather_test
gather_test_LIBS := libgather libbase
TESTS += keep_test
keep_test_LIBS := libgather libbase
TESTS += sample_test
sample_test_LIBS := libdaemon libbase
TESTS += found_test
found_test_LIBS := libdaemon libsources libconf libbase
found_test_PKGS := yaml-0.1
TESTS += energy_options_test
energy_options_test_LIBS := libdaemon libconf libbase
energy_options_test_PKGS := yaml-0.1
TESTS += hot_page_test
hot_page_test_LIBS := libbase
TESTS += counts_page_test
counts_page_test_LIBS := libbase
TESTS += claim_test
claim_test_LIBS := libbase
TESTS += report_clock_test
report_clock_test_LIBS := libbase
TESTS += node_report_test
node_report_test_LIBS := libbase
TESTS += debug_file_test
debug_file_test_LIBS := libbase
TESTS += profile_record_test
profile_record_test_LIBS := libbase
TESTS += job_test
job_test_LIBS := libbase
# a real Postgres, where there is one
ifeq ($(HAVE_PQ),1)
TESTS += pg_test
pg_test_LIBS := libpg libbase
pg_test_PKGS := libpq
endif
ifeq ($(filter libhttp,$(ARCHIVES)),libhttp)
TESTS += profile_push_test
profile_push_test_LIBS := libhttp libbase
profile_push_test_PKGS := libcurl $(if $(HAVE_JSON),json-c)
endif
ifeq ($(filter libcourier,$(ARCHIVES)),libcourier)
TESTS += debug_cache_test
debug_cache_test_LIBS := libcourier $(libcourier_NEEDS)
debug_cache_test_PKGS := $(libcourier_USES)
debug_cache_test_LDFLAGS := -Wl,--wrap=fstatvfs,--wrap=unlinkat,--wrap=fstatat
TESTS += ship_test
ship_test_LIBS := libcourier $(libcourier_NEEDS)
ship_test_PKGS := $(libcourier_USES)
endif
ifeq ($(HAVE_ZLIB),1)
TESTS += batch_test
batch_test_LIBS := libbatch libbase
batch_test_PKGS := zlib
endif
ifeq ($(HAVE_GNUTLS)$(HAVE_CURL)$(HAVE_JSON),111)
TESTS += uid_names_test
uid_names_test_LIBS := libident libbase
uid_names_test_PKGS := $(libident_PKGS)
uid_names_test_LDFLAGS := -Wl,--wrap=getpwuid_r
TESTS += identity_test munge_request_test role_entry_test jwt_test sacct_test params_test grafana_test nova_json_test keystone_json_test cloud_config_test
endif
identity_test_LIBS := libident libhttp libbase
munge_request_test_LIBS := libident libhttp libbase
munge_request_test_PKGS := $(libident_PKGS)
role_entry_test_LIBS := libident libhttp libbase
role_entry_test_PKGS := $(libident_PKGS)
identity_test_PKGS := $(libident_PKGS)
jwt_test_LIBS := libident libhttp libbase
jwt_test_PKGS := $(libident_PKGS)
ifeq ($(HAVE_PQ),1)
TESTS += pg_pool_test
pg_pool_test_LIBS := libpg libbase
pg_pool_test_PKGS := libpq
endif
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS),111)
# sacct's time syntax, beside libslurm's where there is one
TESTS += when_test
when_test_LIBS := libcacct libbase
TESTS += cacct_test
cacct_test_SRCS := test/unit/cacct_test.c test/unit/cacct_answers.c
cacct_test_LIBS := libcacct libident libhttp libconf libbase
cacct_test_PKGS := $(libcacct_USES)
TESTS += cacct_report_test
cacct_report_test_SRCS := test/unit/cacct_report_test.c test/unit/cacct_answers.c
cacct_report_test_LIBS := libcacct libident libhttp libconf libbase
cacct_report_test_PKGS := $(libcacct_USES)
TESTS += cacct_energy_test
cacct_energy_test_LIBS := libcacct libident libhttp libconf libbase
cacct_energy_test_PKGS := $(libcacct_USES)
TESTS += cut_test
cut_test_LIBS := libcacct libident libhttp libconf libbase
cut_test_PKGS := $(libcacct_USES)
endif
TESTS += jobcomp_options_test
jobcomp_options_test_LIBS := libjobcomp libbase
TESTS += jobcomp_tres_test
jobcomp_tres_test_LIBS := libjobcomp libbase
TESTS += jobcomp_queue_test
jobcomp_queue_test_LIBS := libjobcomp libbase
TESTS += jobcomp_writer_test
jobcomp_writer_test_LIBS := libjobcomp libbase
TESTS += promql_test promql_dialect_test re_test json_read_test
promql_dialect_test_SRCS := test/unit/promql_dialect_test.c test/promql_random.c
promql_dialect_test_LIBS := libpromql libbase
json_read_test_LIBS := libpromql libbase
promql_test_SRCS := test/unit/promql_test.c test/promql_random.c
promql_test_LIBS := libpromql libbase
re_test_LIBS := libpromql libbase
TESTS += reporter_test reporter_sums_test
reporter_sums_test_LIBS := libreports libticker libnode libsources libdaemon libconf libbase
reporter_sums_test_PKGS := yaml-0.1
reporter_test_LIBS := libreports libticker libnode libsources libdaemon libconf libbase
reporter_test_PKGS := yaml-0.1
ifeq ($(HAVE_PQ)$(HAVE_MHD),11)
TESTS += profile_inspect_test
profile_inspect_test_LIBS := libaggregator libbase
profile_inspect_test_PKGS := $(libaggregator_USES)
TESTS += partitions_test periodic_job_test witness_test
witness_test_LIBS := libaggregator libpg libbase
witness_test_PKGS := $(libaggregator_USES)
periodic_job_test_LIBS := libaggregator libpg libbase
periodic_job_test_PKGS := $(libaggregator_USES)
partitions_test_LIBS := libaggregator libpg libbase
partitions_test_PKGS := $(libaggregator_USES)
partitions_test_LDFLAGS := -Wl,--wrap=clock_gettime
endif
TESTS += access_test
TESTS += access_dialect_test
access_dialect_test_LIBS := libpromql libbase
access_test_SRCS := test/unit/access_test.c test/promql_random.c
access_test_LIBS := libpromql libbase
# from a request to a verdict
ifeq ($(filter libgate,$(ARCHIVES)),libgate)
GATE_LIBS := libgate libpyro libpromql libident libhttpd libhttp libconf libbase
TESTS += gate_test gate_holes_test gate_memory_test gate_random_test gate_wait_test gate_ahead_test ownership_test ownership_ask_test
gate_memory_test_SRCS := test/unit/gate_memory_test.c test/fake/starve.c
gate_memory_test_LIBS := $(GATE_LIBS)
gate_memory_test_PKGS := $(libgate_USES)
gate_memory_test_LDFLAGS := $(STARVE_LDFLAGS)
gate_ahead_test_LIBS := $(GATE_LIBS)
gate_ahead_test_PKGS := $(libgate_USES)
gate_wait_test_LIBS := $(GATE_LIBS)
gate_wait_test_PKGS := $(libgate_USES)
ownership_ask_test_LIBS := $(GATE_LIBS)
TESTS += thread_pool_test
thread_pool_test_LIBS := $(GATE_LIBS)
thread_pool_test_PKGS := $(libgate_USES)
ownership_ask_test_PKGS := $(libgate_USES)
gate_random_test_SRCS := test/unit/gate_random_test.c test/promql_random.c
gate_random_test_LIBS := $(GATE_LIBS)
gate_random_test_PKGS := $(libgate_USES)
gate_holes_test_LIBS := $(GATE_LIBS)
gate_holes_test_PKGS := $(libgate_USES)
ownership_test_LIBS := $(GATE_LIBS)
ownership_test_PKGS := $(libgate_USES)
gate_test_LIBS := $(GATE_LIBS)
gate_test_PKGS := $(libgate_USES)
endif # of the gate
TESTS += cluster_name_test
cluster_name_test_LIBS := libreports libbase
TESTS += report_age_test
report_age_test_LIBS := libreports libbase
TESTS += prom_request_test
prom_request_test_LIBS := libpromql libbase
ifeq ($(HAVE_ZLIB),1)
TESTS += pyro_test
pyro_test_LIBS := libpyro libpromql libbase
pyro_test_PKGS := zlib
TESTS += pyro_message_test
pyro_message_test_LIBS := libpyro libpromql libbase
pyro_message_test_PKGS := zlib
TESTS += steps_test
steps_test_LIBS := libpyro libpromql libbase
steps_test_PKGS := zlib
TESTS += pyro_body_test
pyro_body_test_LIBS := libpyro libpromql libbase
pyro_body_test_PKGS := zlib
TESTS += pyro_render_test
pyro_render_test_LIBS := libpyro libpromql libbase
pyro_render_test_PKGS := zlib
endif
TESTS += job_json_test
job_json_test_LIBS := libbase
sacct_test_LIBS := libaggregator libhttp libbase
sacct_test_PKGS := json-c libcurl
params_test_LIBS := libaggregator libbase
nova_json_test_LIBS := libcloud libident libhttp libconf libbase
nova_json_test_PKGS := $(libaggregator_USES)
keystone_json_test_LIBS := libcloud libident libhttp libconf libbase
keystone_json_test_PKGS := $(libaggregator_USES)
cloud_config_test_LIBS := libcloud libident libhttp libconf libbase
cloud_config_test_PKGS := $(libaggregator_USES)
grafana_test_LIBS := libaggregator libident libhttpd libhttp libconf libbase
grafana_test_PKGS := $(libaggregator_USES)
grafana_test_LDLIBS := -lcrypt
ifeq ($(HAVE_PQ)$(HAVE_MHD)$(HAVE_ZLIB),111)
TESTS += ingest_may_test
ingest_may_test_LIBS := libingest libident libbase
TESTS += ingest_place_test
ingest_place_test_LIBS := libingest libbatch libident libbase
ingest_place_test_PKGS := zlib
TESTS += ingest_decode_test
ingest_decode_test_SRCS := test/unit/ingest_decode_test.c test/fake/starve.c
ingest_decode_test_LDFLAGS := $(STARVE_LDFLAGS)
ingest_decode_test_LIBS := libingest libbatch libident libbase
ingest_decode_test_PKGS := zlib
endif
ifneq ($(filter liblbsite,$(ARCHIVES)),)
TESTS += lb_backend_test
lb_backend_test_LIBS := liblbsite libpromql libident libhttp libconf libbase
lb_backend_test_PKGS := $(liblbsite_USES)
TESTS += lb_health_test
lb_health_test_LIBS := liblbsite libpromql libident libhttp libconf libbase
lb_health_test_PKGS := $(liblbsite_USES)
TESTS += lb_site_test
lb_site_test_SRCS := test/unit/lb_site_test.c test/fake/starve.c
lb_site_test_LDFLAGS := $(STARVE_LDFLAGS)
lb_site_test_LIBS := liblbsite libpromql libident libhttp libconf libbase
lb_site_test_PKGS := $(liblbsite_USES)
endif
ifneq ($(filter liblbproxy,$(ARCHIVES)),)
TESTS += answer_test
answer_test_LIBS := liblbproxy libbase
TESTS += resolve_test
resolve_test_LIBS := liblbproxy libbase
resolve_test_LDFLAGS := -Wl,--wrap=getaddrinfo,--wrap=freeaddrinfo
endif
ifneq ($(filter liblbproxy,$(ARCHIVES)),)
TESTS += lb_filter_test
lb_filter_test_LIBS := liblbproxy libbase
lb_filter_test_PKGS := zlib
endif
TESTS += privileges_test
privileges_test_LIBS := libbase
privileges_test_LDFLAGS := -Wl,--wrap=syscall
# contrib/k8s
ifneq ($(filter libk8swatch,$(ARCHIVES)),)
TESTS += pods_test containers_test group_index_test k8s_answers_test slices_test device_name_test
device_name_test_LIBS := libk8swatch libbase
device_name_test_PKGS := $(libk8swatch_PKGS)
slices_test_LIBS := libk8swatch libadapter libhttp libbase
slices_test_PKGS := $(libk8swatch_PKGS)
group_index_test_LIBS := libk8swatch libbase
containers_test_LIBS := libk8swatch libadapter libbase
containers_test_PKGS := $(libk8swatch_PKGS)
pods_test_LIBS := libk8swatch libadapter libbase
pods_test_PKGS := $(libk8swatch_PKGS)
k8s_answers_test_LIBS := libk8swatch libadapter libhttp libbase
k8s_answers_test_PKGS := $(libk8swatch_PKGS)
$(OBJ)/test/unit/k8s_answers_test.o: $(BUILD)/contrib/k8s/kubelet.pb-c.c
$(OBJ)/test/unit/k8s_answers_test.o: CPPFLAGS += -I$(BUILD)
endif
# contrib/libvirt, as far as it needs no libvirt
ifneq ($(filter liblibvirtwatch,$(ARCHIVES)),)
TESTS += domain_figures_test domain_group_test domain_xml_test domains_test
domain_figures_test_LIBS := liblibvirtwatch libadapter libbase
domain_figures_test_PKGS := libxml-2.0
domain_group_test_LIBS := liblibvirtwatch libadapter libbase
domain_group_test_PKGS := libxml-2.0
domain_xml_test_LIBS := liblibvirtwatch libadapter libbase
domain_xml_test_PKGS := libxml-2.0
domains_test_LIBS := liblibvirtwatch libadapter libbase
domains_test_PKGS := libxml-2.0
endif
# contrib/k8s/admission
ifneq ($(filter libadmission,$(ARCHIVES)),)
TESTS += admission_review_test
admission_review_test_LIBS := libadmission libhttp libconf libbase
admission_review_test_PKGS := json-c libcurl yaml-0.1
TESTS += admission_claims_test
admission_claims_test_LIBS := libadmission libhttp libconf libbase
admission_claims_test_PKGS := json-c libcurl yaml-0.1
endif
ifneq ($(filter libprofiler,$(ARCHIVES)),)
TESTS += dynamic_symbols_test
dynamic_symbols_test_LIBS := libprofiler libopener libhttp libconf libbase
dynamic_symbols_test_PKGS := libbpf $(libprofiler_USES)
dynamic_symbols_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += debug_files_test
debug_files_test_LIBS := libprofiler libopener libhttp libconf libbase
debug_files_test_PKGS := libbpf $(libprofiler_USES)
debug_files_test_LDLIBS := $(libprofiler_NEEDS)
debug_files_test_LDFLAGS := -Wl,--wrap=reader_read_debug,--wrap=reader_forget_file
TESTS += learn_queue_test
learn_queue_test_LIBS := libprofiler libopener libhttp libconf libbase
learn_queue_test_PKGS := libbpf $(libprofiler_USES)
learn_queue_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += profile_serve_test
profile_serve_test_LIBS := libprofiler libopener libhttp libconf libbase
profile_serve_test_PKGS := libbpf $(libprofiler_USES)
profile_serve_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += blocked_test
blocked_test_LIBS := libprofiler libopener libhttp libconf libbase
blocked_test_PKGS := libbpf $(libprofiler_USES)
blocked_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += sample_ring_test
sample_ring_test_LIBS := libprofiler libopener libhttp libconf libbase
sample_ring_test_PKGS := libbpf $(libprofiler_USES)
sample_ring_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += map_line_test
map_line_test_LIBS := libprofiler libbase
map_line_test_PKGS := $(libprofiler_USES)
map_line_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += process_maps_test
process_maps_test_LIBS := libprofiler libopener libhttp libconf libbase
process_maps_test_PKGS := libbpf $(libprofiler_USES)
process_maps_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += profile_memory_test
profile_memory_test_LIBS := libopener libconf libbase
profile_memory_test_PKGS := libbpf
TESTS += profile_worker_test
profile_worker_test_LIBS := libopener libconf libbase
profile_worker_test_PKGS := libbpf
profile_worker_test_RUNS := hung_fuse
TESTS += step_profiles_test
step_profiles_test_LIBS := libprofiler libopener libhttp libconf libbase
step_profiles_test_PKGS := libbpf $(libprofiler_USES)
step_profiles_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += tables_test
tables_test_LIBS := libprofiler libopener libhttp libconf libbase
tables_test_PKGS := libbpf $(libprofiler_USES)
tables_test_LDLIBS := $(libprofiler_NEEDS)
TESTS += reader_test readable_name_test python_layout_test reader_files_test reader_debug_test
TESTS += stack_parts_test
stack_parts_test_LIBS := libprofiler libbase
stack_parts_test_PKGS := $(libprofiler_PKGS)
stack_parts_test_LDLIBS := $(libprofiler_NEEDS)
reader_test_LIBS := libprofiler libbase
reader_test_LDFLAGS := -Wl,--wrap=clock_gettime
reader_test_PKGS := $(libprofiler_USES)
reader_test_LDLIBS := $(libprofiler_NEEDS)
reader_files_test_LIBS := libprofiler libbase
reader_files_test_PKGS := $(libprofiler_USES)
reader_files_test_LDLIBS := $(libprofiler_NEEDS)
reader_debug_test_LIBS := libprofiler libopener libhttp libconf libbase
reader_debug_test_PKGS := libbpf $(libprofiler_USES)
reader_debug_test_LDLIBS := $(libprofiler_NEEDS)
python_layout_test_LIBS := libprofiler libbase
python_layout_test_PKGS := $(libprofiler_USES)
python_layout_test_LDLIBS := $(libprofiler_NEEDS)
readable_name_test_LIBS := libprofiler libbase
readable_name_test_PKGS := $(libprofiler_USES)
readable_name_test_LDLIBS := $(libprofiler_NEEDS)
endif
ifneq ($(filter libkube,$(ARCHIVES)),)
TESTS += kube_json_test
kube_json_test_LIBS := libkube libhttp libconf libbase
kube_json_test_PKGS := json-c libcurl yaml-0.1
endif
