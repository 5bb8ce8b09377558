# SPDX-License-Identifier: GPL-2.0-or-later
include test/unit/module.mk
include test/fuzz/module.mk
include test/e2e/module.mk
include test/bench/module.mk
include test/model/module.mk

# the web server and the node collectors without the rest of the daemon
PROGS += web_host
NOINST_PROGS += web_host
web_host_SRCS := test/fake/web_host.c
web_host_LIBS := libweb libhttpd libnode libconf libbase
web_host_PKGS := libmicrohttpd gnutls zlib yaml-0.1
web_host_LDLIBS := -lcrypt

# the load balancer's path without its decisions
ifneq ($(filter liblbproxy,$(ARCHIVES)),)
PROGS += lb_host
NOINST_PROGS += lb_host
lb_host_SRCS := test/fake/lb_host.c test/fake/lb_gate.c
lb_host_LIBS := liblbproxy libident libhttpd libhttp libconf libbase
lb_host_PKGS := $(liblbproxy_USES)
lb_host_LDLIBS := -lcrypt
endif

# routes that take bodies
PROGS += web_bodies
NOINST_PROGS += web_bodies
web_bodies_SRCS := test/fake/web_bodies.c
web_bodies_LIBS := libhttpd libconf libbase
web_bodies_PKGS := $(libhttpd_USES)
web_bodies_LDLIBS := -lcrypt

# made-up jobs for a ring, at any rate
PROGS += vm_put
NOINST_PROGS += vm_put
vm_put_SRCS := test/fake/vm_put.c
vm_put_LIBS := libbase
PROGS += unit_source
NOINST_PROGS += unit_source
unit_source_SRCS := test/fake/unit_source.c
unit_source_LIBS := libbase
PROGS += http_rude
NOINST_PROGS += http_rude
http_rude_SRCS := test/fake/http_rude.c
http_rude_LIBS := libbase
PROGS += http_crowd
NOINST_PROGS += http_crowd
http_crowd_SRCS := test/fake/http_crowd.c
http_crowd_LIBS := libbase
# runs a command as on a kernel without some calls
PROGS += older_kernel
NOINST_PROGS += older_kernel
older_kernel_SRCS := test/fake/older_kernel.c
PROGS += accept_proxy
NOINST_PROGS += accept_proxy
accept_proxy_SRCS := test/fake/accept_proxy.c
accept_proxy_LIBS := libbase
# an energy page with a test's own numbers
PROGS += energy_page_put
NOINST_PROGS += energy_page_put
energy_page_put_SRCS := test/fake/energy_page_put.c
energy_page_put_LIBS := libbase
PROGS += perf_around
NOINST_PROGS += perf_around
perf_around_SRCS := test/fake/perf_around.c
perf_around_LIBS := libbase
# ceems-opener with clocks for hardware events
ifneq ($(filter libopener,$(ARCHIVES)),)
PROGS += clock_opener
NOINST_PROGS += clock_opener
clock_opener_SRCS := opener/main.c test/fake/clock_events.c
clock_opener_LIBS := libopener libconf libbase
clock_opener_PKGS := libbpf yaml-0.1
endif
# what the profiler makes of a file
ifneq ($(filter libprofiler,$(ARCHIVES)),)
PROGS += unwind_rows
NOINST_PROGS += unwind_rows
unwind_rows_SRCS := test/unwind_rows.c
unwind_rows_LIBS := libprofiler libbase
unwind_rows_PKGS := libdw libelf
PROGS += file_names
NOINST_PROGS += file_names
file_names_SRCS := test/file_names.c
file_names_LIBS := libprofiler libbase
file_names_PKGS := $(libprofiler_USES)
file_names_LDLIBS := $(libprofiler_NEEDS)
endif
# a file system whose server stands still
PROGS += hung_fuse
NOINST_PROGS += hung_fuse
hung_fuse_SRCS := test/fake/hung_fuse.c
hung_fuse_LIBS := libbase
PROGS += known_loop
NOINST_PROGS += known_loop
known_loop_SRCS := test/fake/known_loop.c
known_loop_LIBS := libbase
PROGS += io_claims
NOINST_PROGS += io_claims
io_claims_SRCS := test/fake/io_claims.c
PROGS += io_ring
NOINST_PROGS += io_ring
io_ring_SRCS := test/fake/io_ring.c
PROGS += net_calls
NOINST_PROGS += net_calls
net_calls_SRCS := test/fake/net_calls.c
PROGS += io_submit
NOINST_PROGS += io_submit
io_submit_SRCS := test/fake/io_submit.c
PROGS += io_many
NOINST_PROGS += io_many
io_many_SRCS := test/fake/io_many.c
io_many_LIBS := libbase
PROGS += raw_env
NOINST_PROGS += raw_env
raw_env_SRCS := test/fake/raw_env.c
# a child of ceemsd that misbehaves
PROGS += courier_rude
NOINST_PROGS += courier_rude
courier_rude_SRCS := test/fake/courier_rude.c
courier_rude_LIBS := libbase
# what stands where NVIDIA's library is expected
all: $(BUILD)/nvml_fake.so
$(BUILD)/nvml_fake.so: test/fake/nvml.c test/fake/nvml_more.c test/fake/nvml_vgpu.c | test/fake/nvml_machine.h
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(call ALL_CFLAGS,-fPIC -fvisibility=hidden) $(ALL_LDFLAGS) -shared -o $@ $^
# what needs a real device (make check-device), and what writes down the library's answers
PROGS += check_device
NOINST_PROGS += check_device
check_device_SRCS := test/device/check_device.c test/device/cuda_load.c
check_device_LIBS := libgpu libbase
check_device_LDLIBS := -ldl
all: $(BUILD)/nvml_trace.so
$(BUILD)/nvml_trace.so: test/device/nvml_trace.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(call ALL_CFLAGS,-fPIC -fvisibility=hidden) $(ALL_LDFLAGS) -shared -o $@ $< -ldl -pthread
# providers of emission factors, good and bad
PROGS += emission_host
NOINST_PROGS += emission_host
emission_host_SRCS := test/fake/emission_host.c
emission_host_LIBS := libbase
# a made-up BMC
ifeq ($(HAVE_MHD),1)
PROGS += redfish_bmc
NOINST_PROGS += redfish_bmc
redfish_bmc_SRCS := test/fake/redfish_bmc.c
redfish_bmc_LIBS := libbase
redfish_bmc_PKGS := libmicrohttpd
endif
# writes an energy page of a node whose power is known
PROGS += energy_daemon
NOINST_PROGS += energy_daemon
energy_daemon_SRCS := test/fake/energy_daemon.c
energy_daemon_LIBS := libbase
# asks the BMC for its address
PROGS += ipmi_address
NOINST_PROGS += ipmi_address
ipmi_address_SRCS := test/fake/ipmi_address.c
ipmi_address_LIBS := libsources libbase
# a line over which checksums get wrong
PROGS += udp_flip
NOINST_PROGS += udp_flip
udp_flip_SRCS := test/fake/udp_flip.c
udp_flip_LIBS := libbase
# the API with recorded answers
PROGS += api_host
NOINST_PROGS += api_host
api_host_SRCS := test/fake/api_host.c
api_host_LIBS := libbase
# The tests' own PromQL programs: what ours understood, and queries by chance
PROGS += promql_print promql_random
NOINST_PROGS += promql_print promql_random
promql_print_SRCS := test/promql_print.c
promql_print_LIBS := libpromql libbase
# whether queries of a file can be proved
PROGS += promql_prove
NOINST_PROGS += promql_prove
promql_prove_SRCS := test/promql_prove.c
promql_prove_LIBS := libpromql libbase
# what is claimed for queries by chance
PROGS += promql_claims
NOINST_PROGS += promql_claims
promql_claims_SRCS := test/promql_claims.c test/promql_random.c
promql_claims_LIBS := libpromql libbase
promql_random_SRCS := test/promql_random.c test/promql_random_main.c
promql_random_LIBS := libbase
# records for a spool, and what stands where an aggregator is expected
PROGS += step_maker
NOINST_PROGS += step_maker
step_maker_SRCS := test/fake/step_maker.c
step_maker_LIBS := libbase
PROGS += spool_put
NOINST_PROGS += spool_put
spool_put_SRCS := test/fake/spool_put.c
spool_put_LIBS := libbase
PROGS += debug_put
NOINST_PROGS += debug_put
debug_put_SRCS := test/fake/debug_put.c
debug_put_LIBS := libbase
PROGS += profile_put
NOINST_PROGS += profile_put
profile_put_SRCS := test/fake/profile_put.c
profile_put_LIBS := libbase
PROGS += spool_late
NOINST_PROGS += spool_late
spool_late_SRCS := test/fake/spool_late.c
spool_late_LIBS := libbase
ifeq ($(HAVE_MHD)$(HAVE_GNUTLS)$(HAVE_ZLIB),111)
PROGS += ingest_host
NOINST_PROGS += ingest_host
ingest_host_SRCS := test/fake/ingest_host.c
ingest_host_LIBS := libident libbatch libbase
ingest_host_PKGS := libmicrohttpd gnutls zlib $(if $(HAVE_MUNGE),munge)
endif
# bodies of reports, made of lines
ifeq ($(HAVE_ZLIB),1)
PROGS += batch_make
NOINST_PROGS += batch_make
batch_make_SRCS := test/fake/batch_make.c
batch_make_LIBS := libbatch libbase
batch_make_PKGS := zlib
endif
# a server behind the load balancer that misbehaves, and many clients that do
PROGS += backend_rude http_cases
NOINST_PROGS += backend_rude http_cases
backend_rude_SRCS := test/fake/backend_rude.c
backend_rude_LIBS := libbase
http_cases_SRCS := test/fake/http_cases.c
http_cases_LIBS := libbase
