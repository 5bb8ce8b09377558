# SPDX-License-Identifier: GPL-2.0-or-later
FUZZERS += cgroup
cgroup_fuzz_SRCS := lib/cgroup.c lib/cgroup_parse.c lib/cgroup_record.c lib/records/record.c lib/records/tlv.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
FUZZERS += conf
conf_fuzz_SRCS := lib/conf/conf.c lib/spelling.c lib/conf/conf_help.c lib/conf/conf_yaml.c lib/buf.c lib/err.c lib/fs.c lib/parse.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/secret.c
conf_fuzz_PKGS := yaml-0.1
FUZZERS += spool
spool_fuzz_SRCS := lib/records/spool_segment.c lib/buf.c lib/crc32c.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += slurmconf
slurmconf_fuzz_SRCS := lib/slurmconf.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
ifneq ($(filter libprofiler,$(ARCHIVES)),)
FUZZERS += elf_file
elf_file_fuzz_SRCS := profiler/files/dynamic_symbols.c profiler/files/elf_file.c profiler/files/file_names.c profiler/files/go_names.c profiler/files/inlined.c profiler/python_codes.c profiler/files/python_layout.c profiler/frame_names.c profiler/name_generations.c profiler/files/readable_name.c profiler/symbols.c profiler/files/unwind_table.c lib/records/debug_file.c lib/buf.c lib/err.c lib/siphash.c
elf_file_fuzz_PKGS := libdw libelf
FUZZERS += perf_map
perf_map_fuzz_SRCS := profiler/files/perf_map.c lib/buf.c lib/err.c
endif
FUZZERS += elfsym
elfsym_fuzz_SRCS := cli/tool/elfsym.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += spank_options
spank_options_fuzz_SRCS := lib/plugin/spank_options.c spank/gpulist.c lib/parse.c lib/err.c
FUZZERS += amd_metrics
amd_metrics_fuzz_SRCS := gpu/amd_metrics.c lib/err.c
FUZZERS += map_line
map_line_fuzz_SRCS := profiler/map_line.c lib/parse.c
map_line_fuzz_PKGS := libelf
FUZZERS += drm_fdinfo
drm_fdinfo_fuzz_SRCS := lib/drm/drm_fdinfo.c lib/parse.c
FUZZERS += gpus
gpus_fuzz_SRCS := daemon/gpus/gpus.c lib/drm/drm_gpus.c lib/exec.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
FUZZERS += record
record_fuzz_SRCS := lib/records/record.c lib/records/tlv.c lib/err.c lib/buf.c
FUZZERS += ring
ring_fuzz_SRCS := lib/boot.c lib/records/ring.c lib/records/ring_gone.c lib/records/record.c lib/records/tlv.c lib/crc32c.c lib/fs.c lib/parse.c lib/err.c lib/buf.c cli/tool/ringview.c
FUZZERS += units
units_fuzz_SRCS := $(filter daemon/units%.c,$(libdaemon_SRCS)) daemon/web/units_json.c daemon/steps_energy.c daemon/energy.c daemon/energy_host.c daemon/energy_split.c lib/boot.c lib/cgroup.c lib/cgroup_parse.c lib/cgroup_record.c lib/records/record.c lib/records/tlv.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
FUZZERS += answer
answer_fuzz_SRCS := lb/proxy/answer.c lib/http_text.c
FUZZERS += http_target
http_target_fuzz_SRCS := lib/http/target.c lib/http/listen.c lib/fd_store.c lib/notify.c lib/buf.c lib/err.c lib/fs.c lib/parse.c lib/netaddr.c
FUZZERS += negotiate
negotiate_fuzz_SRCS := lib/http/negotiate.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += proc
proc_fuzz_SRCS := daemon/node/proc_parse.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
FUZZERS += web_config
web_config_fuzz_SRCS := lib/http/web_config.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/arena.c lib/spelling.c lib/secret.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
web_config_fuzz_PKGS := yaml-0.1
FUZZERS += rapl
rapl_fuzz_SRCS := daemon/sources/rapl_zone.c daemon/sources/rapl_pmu.c daemon/sources/energy_counter.c lib/parse.c
FUZZERS += cray
cray_fuzz_SRCS := daemon/sources/cray_text.c daemon/sources/hwmon_name.c lib/parse.c
FUZZERS += hot_page
hot_page_fuzz_SRCS := lib/records/hot_page.c lib/records/page_file.c lib/crc32c.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
FUZZERS += counts_page
counts_page_fuzz_SRCS := lib/records/counts_page.c lib/records/page_file.c lib/crc32c.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
FUZZERS += energy_page
energy_page_fuzz_SRCS := lib/boot.c lib/records/energy_page.c lib/records/energy_page_writer.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
FUZZERS += emissions
endif
emissions_fuzz_SRCS := lib/emissions/emissions_emaps.c lib/emissions/emissions_file.c lib/emissions/emissions_json.c lib/http/json.c lib/emissions/emissions_providers.c lib/emissions/emissions_rte.c lib/emissions/emissions_wt.c \
	lib/emissions/emission.c lib/emissions/emission_table.c lib/rfc3339.c lib/http/client.c lib/secret.c lib/http/client_url.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
emissions_fuzz_PKGS := libcurl json-c
FUZZERS += power
power_fuzz_SRCS := daemon/power_curve.c lib/parse.c lib/err.c
FUZZERS += child_msg
child_msg_fuzz_SRCS := lib/records/child_msg.c lib/err.c lib/emissions/emission.c lib/buf.c lib/parse.c lib/fs.c
FUZZERS += ipmi
ipmi_fuzz_SRCS := daemon/sources/ipmi.c daemon/sources/ipmi_dcmi.c daemon/sources/ipmi_lan.c lib/err.c
FUZZERS += ipmi_tool
ipmi_tool_fuzz_SRCS := daemon/sources/capmc.c daemon/sources/ipmi.c daemon/sources/ipmi_cmd.c daemon/sources/ipmi_dcmi.c lib/err.c lib/parse.c
FUZZERS += gather_options
gather_options_fuzz_SRCS := lib/plugin/gather_options.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
FUZZERS += redfish_json redfish_config
endif
redfish_json_fuzz_SRCS := courier/redfish_json.c lib/http/json.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
redfish_json_fuzz_PKGS := json-c
redfish_config_fuzz_SRCS := courier/redfish_config.c courier/redfish_config_yaml.c lib/http/client_url.c lib/secret.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/arena.c lib/spelling.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
redfish_config_fuzz_PKGS := libcurl yaml-0.1
FUZZERS += proxy_path
proxy_path_fuzz_SRCS := redfish_proxy/path.c redfish_proxy/url.c lib/netaddr.c lib/parse.c lib/err.c
FUZZERS += proxy_config
proxy_config_fuzz_SRCS := redfish_proxy/config.c redfish_proxy/access.c redfish_proxy/path.c redfish_proxy/url.c \
	lib/netaddr.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/arena.c lib/spelling.c lib/secret.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
proxy_config_fuzz_PKGS := yaml-0.1
FUZZERS += report
report_fuzz_SRCS := lib/records/report.c lib/records/report_counts.c lib/records/tlv.c lib/err.c lib/buf.c
ifeq ($(HAVE_CURL),1)
FUZZERS += profile_answer
endif
profile_answer_fuzz_SRCS := lib/http/profile_push.c lib/http/client.c lib/http/client_url.c lib/secret.c lib/records/profile_record.c lib/records/spool_writer.c lib/records/spool_segment.c lib/records/tlv.c lib/crc32c.c lib/buf.c lib/fs.c lib/parse.c lib/err.c
profile_answer_fuzz_PKGS := libcurl
ifeq ($(HAVE_ZLIB),1)
FUZZERS += profile_inspect
endif
profile_inspect_fuzz_SRCS := aggregator/profiles/profile_inspect.c lib/buf.c lib/err.c
profile_inspect_fuzz_PKGS := zlib
FUZZERS += profile_record
profile_record_fuzz_SRCS := lib/records/profile_record.c lib/records/spool_writer.c lib/records/spool_segment.c lib/records/tlv.c lib/crc32c.c lib/buf.c lib/fs.c lib/parse.c lib/err.c
FUZZERS += job
job_fuzz_SRCS := lib/records/job.c lib/records/tlv.c lib/records/job_names.c lib/buf.c lib/parse.c lib/err.c
ifeq ($(HAVE_ZLIB),1)
FUZZERS += batch
batch_fuzz_SRCS := lib/records/batch.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
batch_fuzz_PKGS := zlib
FUZZERS += ingest
ingest_fuzz_SRCS := aggregator/ingest/ingest_claim.c lib/records/claim.c aggregator/ingest/ingest_decode.c aggregator/ingest/ingest_job.c aggregator/ingest/ingest_known.c aggregator/ingest/ingest_may.c aggregator/ingest/ingest_place.c lib/records/report_clock.c lib/boot.c lib/identity/party.c lib/netaddr.c aggregator/ingest/ingest_report.c aggregator/ingest/ingest_rows.c lib/siphash.c lib/records/batch.c lib/buf.c lib/err.c lib/fs.c lib/parse.c \
	lib/records/job.c lib/records/job_names.c lib/records/report.c lib/records/report_counts.c lib/records/record.c lib/records/tlv.c lib/rfc3339.c
ingest_fuzz_PKGS := zlib
endif
ifeq ($(HAVE_GNUTLS)$(HAVE_JSON),11)
FUZZERS += jwt
endif
jwt_fuzz_SRCS := lib/identity/jwt.c lib/base64.c lib/http/json.c lib/buf.c lib/fs.c lib/parse.c lib/err.c
jwt_fuzz_PKGS := gnutls json-c
ifeq ($(HAVE_GNUTLS)$(HAVE_CURL)$(HAVE_JSON),111)
FUZZERS += identity
endif
identity_fuzz_SRCS := lib/identity/identity.c lib/identity/uid_names.c lib/identity/munge_request.c lib/own_host.c lib/identity/party.c lib/identity/jwt_source.c lib/identity/jwt.c lib/base64.c lib/http/json.c lib/http/client.c lib/http/client_url.c lib/secret.c lib/netaddr.c lib/buf.c lib/err.c lib/fs.c lib/parse.c
identity_fuzz_PKGS := gnutls libcurl json-c
FUZZERS += jobcomp_options
jobcomp_options_fuzz_SRCS := lib/plugin/jobcomp_options.c jobcomp/tres.c lib/fs.c lib/parse.c lib/err.c lib/buf.c
FUZZERS += promql
promql_fuzz_SRCS := $(libpromql_SRCS) lib/siphash.c lib/buf.c lib/err.c lib/parse.c lib/rfc3339.c
ifeq ($(filter libcourier,$(ARCHIVES)),libcourier)
FUZZERS += ship_answer
endif
ship_answer_fuzz_SRCS := courier/ship_answer.c lib/http/json.c lib/parse.c lib/err.c lib/buf.c lib/fs.c
ship_answer_fuzz_PKGS := json-c
FUZZERS += ownership_answer
ownership_answer_fuzz_SRCS := lb/gate/ownership_answer.c lb/gate/ownership_rule.c $(libpromql_SRCS) lib/siphash.c lib/buf.c lib/err.c lib/parse.c lib/rfc3339.c
FUZZERS += prom_request
prom_request_fuzz_SRCS := $(libpromql_SRCS) lib/siphash.c lib/buf.c lib/err.c lib/parse.c lib/rfc3339.c
ifeq ($(HAVE_ZLIB),1)
FUZZERS += pyro
pyro_fuzz_SRCS := $(libpyro_SRCS) $(libpromql_SRCS) lib/base64.c lib/siphash.c lib/buf.c lib/err.c lib/parse.c lib/rfc3339.c
pyro_fuzz_PKGS := zlib
endif
ifeq ($(HAVE_JSON)$(HAVE_PQ)$(HAVE_MHD),111)
FUZZERS += sacct
FUZZERS += grafana
ifeq ($(HAVE_CURL),1)
FUZZERS += nova
endif
endif
sacct_fuzz_SRCS := aggregator/sacct.c aggregator/sacct_json.c aggregator/associations.c lib/records/job.c lib/records/job_json.c lib/records/job_names.c lib/records/tlv.c lib/http/json.c lib/rfc3339.c lib/parse.c lib/err.c lib/buf.c lib/fs.c
sacct_fuzz_PKGS := json-c
grafana_fuzz_SRCS := aggregator/grafana_members.c lib/http/json.c lib/parse.c lib/err.c lib/buf.c lib/fs.c
grafana_fuzz_PKGS := json-c
nova_fuzz_SRCS := aggregator/openstack/nova_json.c aggregator/openstack/keystone_json.c lib/http/client_url.c lib/secret.c lib/http/json.c lib/http/json_list.c lib/rfc3339.c lib/parse.c lib/err.c lib/buf.c lib/fs.c
nova_fuzz_PKGS := json-c libcurl
FUZZERS += api_params
api_params_fuzz_SRCS := aggregator/params.c lib/rfc3339.c lib/parse.c lib/err.c lib/buf.c lib/fs.c
FUZZERS += when
when_fuzz_SRCS := cli/cacct/when.c lib/err.c
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS),111)
FUZZERS += cacct
cacct_fuzz_SRCS := $(filter-out cli/cacct_%,$(libcacct_SRCS)) cli/cacct/cacct_query.c lib/http/client.c lib/http/client_url.c lib/http/json.c lib/identity/munge.c lib/identity/munge_request.c lib/own_host.c lib/fair.c lib/turns.c
cacct_fuzz_SRCS += lib/spelling.c lib/records/job_names.c lib/buf.c lib/err.c lib/fs.c lib/parse.c lib/rfc3339.c lib/secret.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/arena.c lib/netaddr.c
cacct_fuzz_PKGS := libcurl json-c yaml-0.1 gnutls
FUZZERS += flame
flame_fuzz_SRCS := cli/cacct/flame.c cli/cacct/flame_print.c cli/cacct/text.c lib/http/json.c lib/buf.c lib/err.c lib/parse.c lib/fs.c
flame_fuzz_PKGS := json-c
endif
ifneq ($(filter liblbsite,$(ARCHIVES)),)
FUZZERS += lb_filter lb_config
endif
lb_filter_fuzz_SRCS := lb/proxy/filter.c lib/buf.c lib/err.c lib/parse.c
lb_filter_fuzz_PKGS := zlib
lb_config_fuzz_SRCS := lb/site/backend.c lb/site/backend_set.c lb/promql/promql_features.c lb/site/site.c lb/site/site_backends.c lb/site/site_build.c lb/site/site_client.c lb/site/site_read.c \
	lib/http/client_url.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c lib/conf/yaml_merge.c lib/conf/dropins.c lib/arena.c lib/spelling.c lib/secret.c lib/prom.c lib/rfc3339.c lib/buf.c lib/err.c lib/fs.c lib/parse.c \
	lib/identity/identity.c lib/identity/uid_names.c lib/identity/role_entry.c lib/account.c lib/log.c lib/identity/party.c lib/identity/jwt.c lib/base64.c lib/identity/jwt_source.c lib/http/client.c lib/identity/munge.c lib/identity/munge_request.c lib/own_host.c lib/fair.c lib/turns.c lib/http/json.c \
	lib/netaddr.c
lb_config_fuzz_PKGS := $(liblbsite_USES)
FUZZERS += rdma
rdma_fuzz_SRCS := daemon/rdma/rdma_message.c
ifneq ($(filter liblibvirtwatch,$(ARCHIVES)),)
FUZZERS += domain_xml
domain_xml_fuzz_SRCS := contrib/libvirt/domain_group.c contrib/libvirt/domain_xml.c lib/cgroup.c lib/cgroup_parse.c lib/cgroup_record.c lib/records/record.c lib/records/tlv.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
domain_xml_fuzz_PKGS := libxml-2.0
endif
ifneq ($(filter libadmission,$(ARCHIVES)),)
FUZZERS += admission
admission_fuzz_SRCS := contrib/k8s/admission/owner.c contrib/k8s/admission/review.c lib/records/claim.c lib/records/tlv.c lib/base64.c lib/http/json.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
admission_fuzz_PKGS := json-c
endif
ifneq ($(filter libk8swatch,$(ARCHIVES)),)
FUZZERS += k8s_answers
k8s_answers_fuzz_SRCS := contrib/k8s/api_json.c contrib/k8s/device_name.c contrib/k8s/grpc_unix.c contrib/k8s/pod_info.c contrib/k8s/pod_json.c contrib/k8s/pod_proto.c contrib/k8s/slices.c $(BUILD)/contrib/k8s/kubelet.pb-c.c \
	lib/loop.c lib/http/pod_size.c lib/siphash.c lib/http/json.c lib/http/pod_size_json.c lib/cgroup.c lib/records/record.c lib/records/tlv.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
k8s_answers_fuzz_PKGS := libnghttp2 libprotobuf-c json-c
$(OBJ)/replay/contrib/k8s/pod_proto.o: $(BUILD)/contrib/k8s/kubelet.pb-c.c
endif
ifneq ($(filter libkube,$(ARCHIVES)),)
FUZZERS += kube_json
kube_json_fuzz_SRCS := aggregator/kubernetes/kube_json.c aggregator/kubernetes/kube_picks.c lib/http/json_list.c lib/http/pod_size.c lib/http/pod_size_json.c lib/cgroup.c lib/cgroup_parse.c lib/cgroup_record.c lib/records/record.c lib/records/tlv.c lib/http/json.c lib/rfc3339.c lib/parse.c lib/err.c lib/fs.c lib/buf.c
kube_json_fuzz_PKGS := json-c
endif
