# SPDX-License-Identifier: GPL-2.0-or-later
# srun: what the plugins cost a user, on a real Slurm
BENCHES += gpu
BENCHES += srun
# prep: what prep_ceems.so adds to a launch
BENCHES += prep
# profiler: what sampling costs
BENCHES += profiler
# profiler_blocked: what it costs a switch that threads that block are looked at
BENCHES += profiler_blocked
# profiler_perf: what it says of programs beside perf, which copies their stacks
BENCHES += profiler_perf
# profiler_peer: ceemsd and its profiler beside the exporter of CEEMS with PEER=path
BENCHES += profiler_peer
# report: what --ceems-report adds to a step
BENCHES += report
ifeq ($(HAVE_SPANK),1)
BENCH_PROGS += spank_hooks
BENCHES += spank_hooks
endif
spank_hooks_SRCS := test/bench/spank_hooks_bench.c test/fake/slurm_host.c spank/spank_ceems.c $(SPANK_SHARED)
spank_hooks_LIBS := libbase
BENCH_PROGS += scrape_units
scrape_units_LIBS := libweb libhttpd libdaemon libsources libconf libbase
scrape_units_PKGS := libmicrohttpd gnutls zlib yaml-0.1
scrape_units_LDLIBS := -lcrypt
BENCHES += scrape_units
# k8s_churn: 50 pods a second for a minute, nothing lost
BENCHES += k8s_churn
# short_units: 500 units a second for a minute, nothing lost
BENCHES += short_units
# ring: what a record costs its producer
BENCH_PROGS += ring_bench
ring_bench_LIBS := libbase
BENCHES += ring
# daemon: a scrape, memory and processor time beside prometheus-node-exporter
BENCH_PROGS += http_time waker
http_time_LIBS := libbase
BENCHES += daemon
# scrape_node: a scrape of ceemsd beside one of node_exporter
BENCHES += scrape_node
BENCH_PROGS += scrape_client
scrape_client_LIBS := libbase
# attribution: energy of units against a known truth, beside the peer's rules
BENCH_PROGS += attribution
attribution_LIBS := libdaemon libbase
BENCHES += attribution
# rapl_wrap: energy lost when counters wrap, beside a scraped raw counter
BENCH_PROGS += rapl_wrap
rapl_wrap_LIBS := libsources libbase
BENCHES += rapl_wrap
# energy_tick: what a tick costs, and a daemon that makes one a second
BENCH_PROGS += energy_tick_cost
energy_tick_cost_LIBS := libticker libnode libsources libdaemon libconf libbase
energy_tick_cost_PKGS := yaml-0.1
BENCHES += energy_tick
# slow_bmc: scrapes do not wait for a BMC
BENCHES += slow_bmc
# slow_redfish: the same with a BMC that is asked by Redfish
BENCHES += slow_redfish
# energy_plugin: a question of Slurm's, and steps of 20 ms in sacct
BENCH_PROGS += gather_bench
gather_bench_LIBS := libgather libbase
BENCHES += energy_plugin
# prove: what the load balancer pays to know a query
BENCH_PROGS += prove
prove_LIBS := libpromql libbase
BENCHES += prove
# reports: what reports of units cost ceemsd
BENCH_PROGS += reports
reports_LIBS := libreports libticker libnode libsources libdaemon libconf libbase
reports_PKGS := yaml-0.1
BENCHES += reports
# drain: memory of ceems-courier while a full spool empties
BENCHES += drain
# jobcomp: what slurmctld waits for at a completion record, and jobs a second with and without
JOBCOMP_HERE := $(firstword $(filter %:$(shell slurmd -V 2>/dev/null | sed 's/^[^ ]* \([0-9.]*\).*/\1/'),$(JOBCOMP_BUILDS)))
LIBSLURMFULL := $(firstword $(wildcard /usr/lib/*/slurm-wlm/libslurmfull.so))
ifneq ($(and $(JOBCOMP_HERE),$(LIBSLURMFULL)),)
BENCH_PROGS += jobcomp_bench
jobcomp_bench_LIBS := libbase
jobcomp_bench_LDLIBS := $(LIBSLURMFULL) -Wl,-rpath,$(dir $(LIBSLURMFULL)) -ldl
$(OBJ)/test/bench/jobcomp_bench.o: CFLAGS += -isystem $(firstword $(subst :, ,$(JOBCOMP_HERE)))
endif
BENCHES += jobcomp
# visible: from the start of a job on a node until the API shows it
BENCHES += visible
# api: answers of the API among many units
BENCHES += api
# ingest: reports per second over HTTP into Postgres, beside a bare COPY
# ingest_scale: 10 000 nodes faster than they are, and what a report takes on disk
ifeq ($(HAVE_ZLIB),1)
BENCH_PROGS += ingest_load
ingest_load_LIBS := libbatch libbase
ingest_load_PKGS := zlib
endif
BENCHES += ingest
BENCHES += ingest_scale
# lb: the load balancer's path beside nginx as a plain reverse proxy
BENCHES += lb
# lb_checks: ceems_lb with all that it checks beside the same nginx
BENCHES += lb_checks
# lb_dashboard: answers of all sizes, 10 000 different queries that nobody asked before, panels at once
BENCHES += lb_dashboard
# lb_owned: what the load balancer's gate costs, and whose 10 000 units are
ifeq ($(filter libgate,$(ARCHIVES)),libgate)
BENCH_PROGS += lb_owned_bench
lb_owned_bench_LIBS := libgate libpyro libpromql libident libhttpd libhttp libconf libbase
lb_owned_bench_PKGS := $(libgate_USES) cmocka
BENCHES += lb_owned
endif # of lb_owned
# lb_client: the load balancer's own HTTP client beside libcurl's multi interface
ifneq ($(filter liblbproxy,$(ARCHIVES)),)
BENCH_PROGS += lb_client
lb_client_SRCS := test/bench/lb_client.c test/bench/lb_client_own.c test/bench/lb_client_curl.c
lb_client_SRCS += test/bench/lb_client_ends.c test/fake/lb_gate.c
lb_client_LIBS := liblbproxy libident libhttpd libhttp libconf libbase
lb_client_PKGS := $(liblbproxy_USES)
lb_client_LDLIBS := -lcrypt
BENCHES += lb_client
endif # of lb_client, which needs libcurl as the load balancer does
# web_attack: who proves who they are beside those who prove nothing, under a quota of a processor
BENCH_PROGS += open_loop
open_loop_LIBS := libbase
BENCHES += web_attack
ifeq ($(HAVE_BPF),1)
BENCH_PROGS += group_programs
group_programs_LIBS := libopener libbase
group_programs_PKGS := libbpf
BENCHES += group_programs
BENCH_PROGS += io_calls
io_calls_LIBS := libopener libbase
io_calls_PKGS := libbpf
BENCHES += io_calls
# scrape_ebpf: a scrape of 1000 units with 8 mounts each
BENCHES += scrape_ebpf
# peer_io: what ceemsd counts and costs, beside the exporter of CEEMS with PEER=path
BENCHES += peer_io
BENCH_PROGS += perf_exits
perf_exits_LIBS := libopener libbase
perf_exits_PKGS := libbpf
BENCHES += perf_exits
BENCH_PROGS += perf_switches
perf_switches_SRCS := test/bench/perf_switches.c test/fake/clock_events.c
perf_switches_LIBS := libopener libbase
perf_switches_PKGS := libbpf
BENCHES += perf_switches
endif
# openstack: 100 000 servers of a cloud into the database
BENCHES += openstack
# k8s_visible: how long until a pod is seen with cacct
BENCHES += k8s_visible
# kubernetes: 50 000 pods of a cluster into the database
BENCHES += kubernetes
# admission: reviews of the webhook
ifneq ($(filter libadmission,$(ARCHIVES)),)
BENCH_PROGS += admission_load
admission_load_LIBS := libbase
admission_load_PKGS := libcurl
BENCHES += admission
endif
