# SPDX-License-Identifier: GPL-2.0-or-later

# libdaemon: ceemsd without its main, for tests
ARCHIVES += libdaemon
libdaemon_SRCS += daemon/collector_emissions.c
libdaemon_SRCS += daemon/collector_ring.c
libsources_SRCS += daemon/collector_courier.c
libdaemon_SRCS += daemon/collector_slurm.c
libdaemon_SRCS += daemon/courier_args.c
libdaemon_SRCS += daemon/discover.c
libdaemon_SRCS += daemon/emissions.c
libdaemon_SRCS += daemon/emissions_link.c
libdaemon_SRCS += daemon/energy.c
libdaemon_SRCS += daemon/energy_host.c
libdaemon_SRCS += daemon/energy_options.c
libdaemon_SRCS += daemon/energy_split.c
libdaemon_SRCS += daemon/export.c
libdaemon_SRCS += daemon/found.c
libdaemon_SRCS += daemon/gpus.c
libdaemon_SRCS += daemon/ingest.c
libdaemon_SRCS += daemon/inhabited.c
libdaemon_SRCS += daemon/options.c
libdaemon_SRCS += daemon/options_load.c
libdaemon_SRCS += daemon/power_curve.c
libdaemon_SRCS += daemon/sample.c
libdaemon_SRCS += daemon/unit_gpus.c
libdaemon_SRCS += daemon/steps_energy.c
libdaemon_SRCS += daemon/units.c
libdaemon_SRCS += daemon/units_energy.c
libdaemon_SRCS += daemon/units_expire.c
libdaemon_SRCS += daemon/units_find.c
libdaemon_SRCS += daemon/units_found.c
libdaemon_SRCS += daemon/units_index.c
libdaemon_SRCS += daemon/units_json.c
libdaemon_SRCS += daemon/units_report.c
libdaemon_SRCS += daemon/units_sound.c
libdaemon_SRCS += daemon/units_store.c
libdaemon_SRCS += daemon/units_totals.c
libdaemon_SRCS += daemon/units_work.c

# libticker: the energy ticks; uses libsources, libdaemon and libnode
ARCHIVES += libticker
libticker_SRCS += daemon/collector_energy.c
libticker_SRCS += daemon/node_use.c
libticker_SRCS += daemon/page_fill.c
libticker_SRCS += daemon/tick_thread.c
libticker_SRCS += daemon/ticker.c
libticker_SRCS += daemon/uses.c

# libsources: the sources of energy readings, their sampler and collectors
ARCHIVES += libsources
libsources_SRCS += daemon/capmc.c
libsources_SRCS += daemon/collector_cray_pm_counters.c
libsources_SRCS += daemon/collector_hwmon.c
libsources_SRCS += daemon/collector_model.c
libsources_SRCS += daemon/collector_ipmi_dcmi.c
libsources_SRCS += daemon/collector_rapl.c
libsources_SRCS += daemon/collector_redfish.c
libsources_SRCS += daemon/courier_link.c
libsources_SRCS += daemon/cray_text.c
libsources_SRCS += daemon/energy_counter.c
libsources_SRCS += daemon/kept.c
libsources_SRCS += daemon/hwmon_name.c
libsources_SRCS += daemon/ipmi.c
libsources_SRCS += daemon/ipmi_cmd.c
libsources_SRCS += daemon/ipmi_dcmi.c
libsources_SRCS += daemon/ipmi_lan.c
libsources_SRCS += daemon/ipmi_tool.c
libsources_SRCS += daemon/meters.c
libsources_SRCS += daemon/meters_resume.c
libsources_SRCS += daemon/msr.c
libsources_SRCS += daemon/perf_cpu.c
libsources_SRCS += daemon/power_model.c
libsources_SRCS += daemon/rapl_perf.c
libsources_SRCS += daemon/rapl_pmu.c
libsources_SRCS += daemon/rapl_powercap.c
libsources_SRCS += daemon/rapl_zone.c
libsources_SRCS += daemon/sampler.c
libsources_SRCS += daemon/source.c
libsources_SRCS += daemon/source_cray.c
libsources_SRCS += daemon/source_hwmon.c
libsources_SRCS += daemon/source_model.c
libsources_SRCS += daemon/source_ipmi.c
libsources_SRCS += daemon/source_rapl.c
libsources_SRCS += daemon/source_redfish.c
libsources_SRCS += daemon/source_view.c

# libweb: scrapes and what the daemon serves; a program that links it lists libweb libhttpd in
# _LIBS, $(libweb_USES) in _PKGS and -lcrypt in _LDLIBS
ARCHIVES += libweb
libweb_USES := $(libhttpd_USES) zlib
libweb_PKGS := $(libweb_USES)
libweb_SRCS += daemon/flight.c
libweb_SRCS += daemon/pages.c
libweb_SRCS += daemon/scrape.c
libweb_SRCS += daemon/self.c

# libnode: the collectors that read the node alone
ARCHIVES += libnode
libnode_SRCS += daemon/collector_cpu.c
libnode_SRCS += daemon/collector_infiniband.c
libnode_SRCS += daemon/collector_meminfo.c
libnode_SRCS += daemon/collector_netdev.c
libnode_SRCS += daemon/proc_parse.c
libnode_SRCS += daemon/procfile.c

# _LIBS in link order
PROGS += ceemsd
ceemsd_SRCS := daemon/main.c daemon/daemon.c daemon/daemon_energy.c daemon/loop.c daemon/collectors.c
ceemsd_LIBS := libreports libticker libnode libsources libweb libhttpd libdaemon libconf libbase
ceemsd_PKGS := $(libweb_USES)
ceemsd_LDLIBS := -lcrypt

# libreports: what the node tells the aggregator, into its spool; uses libticker and libdaemon
ARCHIVES += libreports
libreports_SRCS += daemon/cluster_name.c
libreports_SRCS += daemon/report_fill.c
libreports_SRCS += daemon/reporter.c
libreports_SRCS += daemon/report_age.c
libreports_SRCS += daemon/reports.c
