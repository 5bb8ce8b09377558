# SPDX-License-Identifier: GPL-2.0-or-later
"""One job, VM or pod. Every query names it (uuid="$uuid"), as the load balancer requires.
Totals are max_over_time() of the unit's own counters, or come from the records: both are exact
even for the shortest job. rate() shows present rates only (doc/metrics.md).
"""
from grafana import (RATE, Page, api, bars, beside_gpus, col, flame, of_gpus, profile, prom, series,
                     stat, table, text, var_api, var_label, var_source)
from users import KINDS, MORE, grams, kwh, only_provider, var_provider, variables

UNIT = 'uuid="$uuid"'
ON = UNIT + ',hostname=~"$host"'
NODE = "{{hostname}} {{cgrouphostname}}"
CPU_PROFILE = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def rate(metric, more=""):
    return f"rate({metric}{{{ON}{more}}}{RATE})"


def total(metric, more=""):
    return f"max_over_time({metric}{{{UNIT}{more}}}[$__range])"


def recorded(name):
    return f"{name}{{{ON}}}"


def what_it_was(p, kind, slash):
    """From the records: the unit, its nodes and its steps."""
    its = [("cluster_id", "${cluster}"), ("uuid", "${uuid}")]

    # asked for by its id, another user's unit is refused; from a list it would only be missing
    def of_it(columns):
        return api("/units/${cluster}/${uuid}", columns, [("resolution", "none")], window=False)

    columns = [col("name", "Name", "string"), col("username", "User", "string"),
               col("project", KINDS[kind]["project"], "string")]
    columns += [col(selector, text, "string") for selector, text in MORE[kind]]
    columns += [col("state", "State", "string", width=120),
                col("started_at_ts", "Started", "timestamp_epoch"),
                col("ended_at", "Ended", "string", width=220), col("elapsed", "Elapsed", "string"),
                col("allocation.nodes", "Nodes", width=80),
                col("allocation.cpus", "CPUs", width=80),
                col("allocation.mem", "Memory", unit="bytes"),
                col("allocation.gpus", "GPUs", width=80),
                col("known_by", "Known by", "string"),
                col("coverage", "Coverage", unit="percentunit")]
    if kind == "libvirt":  # runs on one at a time, which Nova does not count
        columns = [c for c in columns if c["text"] != "Nodes"]
    p.put(table("What it is", "From the records; one row for each run of this id in the "
                f"period. Known by \"node\": {KINDS[kind]['unknown']}.",
                api("/units" + slash, columns, its, window=False), columns,
                noValue="There is no such unit, or you may not see it"), 24, 4)
    for title, about, columns, unit in (
            ("CPU", "Average share of the allocation that was used, over its latest run.",
             [col("avg_cpu_usage.global", "CPU")], "percent"),
            ("Memory", "Average share of the allocation that was used, over its latest run.",
             [col("avg_cpu_mem_usage.global", "Memory")], "percent"),
            ("Peak memory", "Highest on any of its nodes.",
             [col("memory_peak_bytes", "Peak")], "bytes"),
            ("Energy", "With the building's share (PUE). –: not known.", kwh(), "kwatth"),
            ("Energy as measured", "By domain; total counts every joule once.",
             [col(f"energy_joules.{d}", d) for d in
              ("total", "package", "dram", "gpu", "other")], "joule")):
        p.put(stat(title, about, [of_it(columns)], unit, noValue="–"),
              8 if "measured" in title else 3 if title != "Energy" else 4, 4)
    p.put(stat("Emissions", "With the factors of the provider chosen above. –: not known.",
               [of_it(grams())], "massg", transform=only_provider(), noValue="–"), 3, 4)


def cpu(p, kind):
    p.row("CPU")
    used = f"{rate('ceems_compute_unit_cpu_user_seconds_total')} + " \
           f"{rate('ceems_compute_unit_cpu_system_seconds_total')}"
    p.put(series("CPU in use", "Share of its allocated CPUs in use, on each node.",
                 [prom(f"100 * ({used}) / ceems_compute_unit_cpus{{{ON}}}", NODE)], "percent",
                 legend="table"), 12, 8)
    p.put(series("User and system", "CPUs in use on all nodes, by mode.",
                 [prom(f"sum({rate('ceems_compute_unit_cpu_user_seconds_total')})", "user"),
                  prom(f"sum({rate('ceems_compute_unit_cpu_system_seconds_total')})", "system"),
                  prom(f"sum(ceems_compute_unit_cpus{{{ON}}})", "allocated")], "short"), 8, 8)
    p.put(stat("CPU time", "Exact total: the last value of the counters on each node.",
               [prom(f"sum({total('ceems_compute_unit_cpu_user_seconds_total')})", "user", True),
                prom(f"sum({total('ceems_compute_unit_cpu_system_seconds_total')})", "system",
                     True)], "s"), 4, 8)
    p.put(series("Throttled and waiting", "Seconds per second in which it was throttled by its CPU "
                 "limit, and in which all of its tasks waited for a CPU (pressure; cgroup v2).",
                 [prom(rate("ceems_compute_unit_cpu_throttled_seconds_total"),
                       "throttled, " + NODE),
                  prom(rate("ceems_compute_unit_cpu_psi_seconds"), "waiting, " + NODE)], "short"),
          12, 7)
    if kind == "slurm":
        p.put(series("Steps", "CPUs in use by each step. Needs ceemsd's option "
                     "--collector.slurm.steps.",
                     [prom("sum by (step) ("
                           + rate("ceems_compute_unit_step_cpu_user_seconds_total") + " + "
                           + rate("ceems_compute_unit_step_cpu_system_seconds_total") + ")",
                           "step {{step}}")], "short", stack=True), 12, 7)


def memory(p):
    p.row("Memory")
    p.put(series("Memory", "Memory of processes (rss), page cache, total, and the limit; sum "
                 "over its nodes.",
                 [prom(f"sum(ceems_compute_unit_memory_{m}_bytes{{{ON}}})", what)
                  for m, what in (("rss", "processes"), ("cache", "page cache"), ("used", "used"),
                                  ("total", "limit"))], "bytes", legend="table"), 12, 10)
    p.put(series("Memory, share of limit", "On each node.",
                 [prom(f"100 * ceems_compute_unit_memory_used_bytes{{{ON}}} / "
                       f"ceems_compute_unit_memory_total_bytes{{{ON}}}", NODE)], "percent"), 8, 10)
    p.put(stat("Memory", "Peak on any node, and processes killed because memory ran out.",
               [prom(f"max({total('ceems_compute_unit_memory_peak_bytes')})", "highest", True),
                prom(f"sum({total('ceems_compute_unit_oom_kills_total')})", "killed", True)],
               "bytes", overrides=[{"matcher": {"id": "byName", "options": "killed"},
                                    "properties": [{"id": "unit", "value": "none"}]}]), 4, 10)


def energy(p):
    p.row("Power and energy")
    joules = "ceems_compute_unit_energy_joules_total"
    p.put(series("Power by domain", "Power charged to it, sum over its nodes. host is its share of the "
                 "whole node and includes the others; psys overlaps with package and dram. model: "
                 "estimated, not measured.",
                 [prom(f"sum by (domain, source) ({rate(joules)})", "{{domain}} ({{source}})")],
                 "watt", legend="table"), 12, 8)
    p.put(series("Power on each node", "Every joule counts once.",
                 [prom(f"sum by (hostname) ({beside_gpus(joules, ON)})", "{{hostname}}"),
                  prom(f"sum by (hostname) ({of_gpus(joules, ON)})", "GPUs of {{hostname}}")],
                 "watt", stack=True), 8, 8)
    p.put(stat("Energy", "Total until the end of the period, as measured.",
               [prom(f"sum by (domain) ({total(joules)})", "{{domain}}", True)], "joule"), 4, 8)
    p.put(series("Power with the building's share", "From recording rules (ceems_tool prometheus "
                 "rules).",
                 [prom(f"sum({recorded('uuid:ceems_host_power_watts:pue')})", "host"),
                  prom(f"sum({recorded('uuid:ceems_gpu_power_watts:pue')})", "GPU")], "watt",
                 stack=True), 12, 7)
    p.put(series("Emissions", "Grams of CO2e per hour, by provider; from recording rules.",
                 [prom("3600 * sum by (provider) ("
                       + recorded("uuid:ceems_host_emissions_g_s:pue") + ")", "host, {{provider}}"),
                  prom("3600 * sum by (provider) ("
                       + recorded("uuid:ceems_gpu_emissions_g_s:pue") + ")", "GPU, {{provider}}")],
                 "massg"), 12, 7)


def gpu(p):
    p.row("GPU", closed=True)
    each = "{{hostname}} GPU {{index}}"
    p.put(series("GPU in use", "Usage of its share of each GPU. From recording rules and the "
                 "GPU exporter.", [prom(recorded("uuid:ceems_gpu_usage:ratio"), each)], "percent",
                 legend="table", max=100), 8, 8)
    p.put(series("GPU memory", "In use, of its share of each GPU.",
                 [prom(recorded("uuid:ceems_gpu_memory_usage:ratio"), each)], "percent", max=100),
          8, 8)
    p.put(series("GPU power", "Power of its share of each GPU, with the building's share.",
                 [prom(recorded("uuid:ceems_gpu_power_watts:pue"), each)], "watt"), 8, 8)
    p.put(series("Streaming multiprocessors", "Share of time in which they were active, and "
                 "how many of their warps were in use (occupancy).",
                 [prom(recorded("uuid:ceems_gpu_sm_active:ratio"), "active, " + each),
                  prom(recorded("uuid:ceems_gpu_sm_occupancy:ratio"), "occupancy, " + each)],
                 "percent", max=100), 8, 8)
    p.put(series("Tensor and graphics engines", "Share of time in which they were active.",
                 [prom(recorded("uuid:ceems_gpu_pipe_tensor_active:ratio"), "tensor, " + each),
                  prom(recorded("uuid:ceems_gpu_gr_engine_active:ratio"), "engine, " + each)],
                 "percent", max=100), 8, 8)
    p.put(series("Floating point engines", "FP64, FP32 and FP16 pipes: share of time active.",
                 [prom(recorded(f"uuid:ceems_gpu_pipe_{fp}_active:ratio"), f"{fp}, " + each)
                  for fp in ("fp64", "fp32", "fp16")], "percent", max=100), 8, 8)
    p.put(series("Memory interface", "Share of time in which data moved.",
                 [prom(recorded("uuid:ceems_gpu_dram_active:ratio"), each)], "percent", max=100),
          12, 7)
    p.put(series("PCIe and NVLink", "Traffic of its share of each GPU.",
                 [prom(recorded(f"uuid:ceems_gpu_{bus}_{way}:bytes_per_second"),
                       f"{bus} {way}, " + each)
                  for bus in ("pcie", "nvlink") for way in ("rx", "tx")], "Bps"), 12, 7)


def perf(p):
    p.row("CPU performance counters", closed=True)

    def per(a, b):
        return f"sum by (hostname) ({rate(a)}) / sum by (hostname) ({rate(b)})"
    n = "ceems_perf_"
    p.put(series("Instructions per cycle", "Above 1 is good for most code.",
                 [prom(per(n + "instructions_total", n + "cpucycles_total"), "{{hostname}}")],
                 "short"), 8, 8)
    p.put(series("Clock", "Average of the CPUs that it used.",
                 [prom(f"sum by (hostname) ({rate(n + 'cpucycles_total')}) / sum by (hostname) ("
                       + rate("ceems_compute_unit_cpu_user_seconds_total") + " + "
                       + rate("ceems_compute_unit_cpu_system_seconds_total") + ")",
                       "{{hostname}}")], "hertz"), 8, 8)
    p.put(series("Misses", "Share of accesses of each kind that missed.",
                 [prom(per(n + "branch_misses_total", n + "branch_instructions_total"),
                       "branches, {{hostname}}"),
                  prom(per(n + "cache_misses_total", n + "cache_refs_total"),
                       "cache, {{hostname}}"),
                  prom(per(n + "cache_l1d_read_misses_total", n + "cache_l1d_read_hits_total"),
                       "L1 reads, {{hostname}}"),
                  prom(per(n + "cache_ll_read_misses_total", n + "cache_ll_read_hits_total"),
                       "last level reads, {{hostname}}")], "percentunit"), 8, 8)
    p.put(series("Figures of raw events", "Per second, such as floating point operations, where "
                 "the site defines them.",
                 [prom(rate(n + "figure_total"), "{{figure}}, {{hostname}}")], "short"), 24, 7)
    p.put(series("Switches and migrations", "Per second, on each node.",
                 [prom(rate(n + "context_switches_total"), "switches, {{hostname}}"),
                  prom(rate(n + "cpu_migrations_total"), "migrations, {{hostname}}")], "cps"),
          12, 7)
    p.put(series("Page faults", "Per second; major ones waited for a disk.",
                 [prom(rate(n + "page_faults_total"), "all, {{hostname}}"),
                  prom(rate(n + "major_faults_total"), "major, {{hostname}}")], "cps"), 12, 7)


def io(p, kind, slash):
    p.row("Files and disks", closed=True)
    e = "ceems_ebpf_"
    p.put(series("Reading and writing", "By mount point, sum over its nodes.",
                 [prom(f"sum by (mountpoint) ({rate(e + w + '_bytes_total')})",
                       w + " {{mountpoint}}") for w in ("read", "write")], "Bps",
                 legend="table"), 8, 8)
    p.put(series("Read and write calls", "Calls per second, and those that failed.",
                 [prom(f"sum by (mountpoint) ({rate(e + w + '_' + what + '_total')})",
                       f"{w} {what} {{{{mountpoint}}}}")
                  for w in ("read", "write") for what in ("requests", "errors")], "cps"), 8, 8)
    p.put(series("File operations", "Files opened, created and removed per second.",
                 [prom(f"sum({rate(e + w + '_requests_total')})", w)
                  for w in ("open", "create", "unlink")], "cps"), 8, 8)
    p.put(series("Waiting for disks", "Share of time in which some or all of its tasks waited (pressure; "
                 "cgroup v2).",
                 [prom(rate("ceems_compute_unit_io_psi_seconds"), "all, " + NODE),
                  prom(rate("ceems_compute_unit_io_psi_some_seconds"), "some, " + NODE)],
                 "percentunit"), 12, 7)
    if kind in ("libvirt", "any"):
        b = "ceems_compute_unit_blkio_"
        p.put(series("Block devices", "Bytes per second, by device.",
                     [prom(f"sum by (device) ({rate(b + w + '_total_bytes')})", w + " {{device}}")
                      for w in ("read", "write")], "Bps"), 6, 7)
        p.put(series("Block requests", "Per second, by device.",
                     [prom(f"sum by (device) ({rate(b + w + '_total_requests')})",
                           w + " {{device}}") for w in ("read", "write")], "cps"), 6, 7)
    else:
        columns = [col("t0_ts", "From", "timestamp_epoch"), col("io_read_bytes", "Read"),
                   col("io_write_bytes", "Written")]
        p.put(bars("Read and written by hour", "From the records.",
                   [api("/units/${run}", columns, [("resolution", "hour")], "data.series")],
                   "bytes", "From"), 12, 7)
    if kind in ("slurm", "any"):
        p.put(series("Reading and writing on each node", "All mount points.",
                     [prom(f"sum by (hostname) ({rate(e + w + '_bytes_total')})",
                           w + " {{hostname}}") for w in ("read", "write")], "Bps",
                     legend="table"), 24, 8)


def network(p, kind):
    p.row("Network", closed=True)
    e = "ceems_ebpf_"
    by = "{{proto}} {{family}}"
    p.put(series("Received and sent", "By protocol, sum over its nodes.",
                 [prom(f"sum by (proto, family) ({rate(e + 'ingress_bytes_total')})", "in " + by),
                  prom(f"sum by (proto, family) ({rate(e + 'egress_bytes_total')})", "out " + by)],
                 "Bps", legend="table"), 8, 8)
    p.put(series("Packets", "Per second, and those that were sent again.",
                 [prom(f"sum by (proto) ({rate(e + w + '_packets_total')})", w + " {{proto}}")
                  for w in ("ingress", "egress", "retrans")], "pps"), 8, 8)
    p.put(series("RDMA", "Queue pairs in use, and registered memory.",
                 [prom(f"sum by (hostname) (ceems_rdma_qps_active{{{ON}}})",
                       "queue pairs {{hostname}}"),
                  prom(f"sum by (hostname) (ceems_rdma_mrs_len_active{{{ON}}})",
                       "bytes {{hostname}}")], "short"), 8, 8)
    if kind == "slurm":
        p.put(series("Received and sent on each node", "All protocols.",
                     [prom(f"sum by (hostname) ({rate(e + 'ingress_bytes_total')})",
                           "in {{hostname}}"),
                      prom(f"sum by (hostname) ({rate(e + 'egress_bytes_total')})",
                           "out {{hostname}}")], "Bps", legend="table"), 24, 8)


def profiling(p, kind):
    p.row("Where its time goes", closed=True)
    p.put(flame("CPU time by function", "From Pyroscope, for the period; of units that were profiled "
                + ("(srun --ceems-profile). " if kind == "slurm" else "")
                + "Time on a CPU of all threads on all nodes; functions have "
                "names where the program has symbols.",
                profile('{service_name="$uuid"}', CPU_PROFILE)), 24, 18)


def details(p, kind):
    p.row("From the records", closed=True)
    columns = [col("node", "Node", "string"), col("started_at_ts", "Started", "timestamp_epoch"),
               col("ended_at", "Ended", "string", width=220), col("how_ended", "How it ended", "string"),
               col("cpus", "CPUs"), col("memory_bytes", "Memory", unit="bytes"),
               col("final", "Final", "boolean")]
    p.put(table("Nodes", "Final: the node's last report has arrived.",
                api("/units/${run}", columns, [("resolution", "none")], "data.nodes"), columns),
          12, 8)
    if kind == "slurm":
        columns = [col("step", "Step", "string"),
                   col("started_at_ts", "Started", "timestamp_epoch"),
                   col("ended_at", "Ended", "string", width=220), col("exit_status", "Exit status"),
                   col("cpus", "CPUs"), col("tasks", "Tasks"),
                   col("cpu_user_seconds", "User", unit="s"),
                   col("cpu_system_seconds", "System", unit="s"),
                   col("memory_peak_bytes", "Peak memory", unit="bytes"),
                   col("energy_joules.total", "Energy", unit="joule")]
        p.put(table("Steps", "Each with its final counters, however short it was.",
                    api("/units/${run}", columns, [("resolution", "none")], "data.steps"),
                    columns), 12, 8)
        columns = [col("path", "Mount", "string"), col("read_bytes", "Read", unit="bytes"),
                   col("read_calls", "Read calls"), col("write_bytes", "Written", unit="bytes"),
                   col("write_calls", "Write calls"), col("read_errors", "Failed reads"),
                   col("write_errors", "Failed writes")]
        p.put(table("Files by mount", "Of its whole life on all its nodes, by the kernel's count; without a path: all "
                    "others. Empty where the site does not count it, or not from its begin to its end.",
                    api("/units/${run}", columns, [("resolution", "none")], "data.mounts"), columns),
              12, 8)
        columns = [col("node", "Node", "string"),
                   col("counts.read_bytes", "Read", unit="bytes"),
                   col("counts.write_bytes", "Written", unit="bytes"),
                   col("counts.net_rx_bytes", "Received", unit="bytes"),
                   col("counts.net_tx_bytes", "Sent", unit="bytes"),
                   col("counts.net_resent_packets", "Sent again"),
                   col("counts.minor_faults", "Minor faults"),
                   col("counts.major_faults", "Major faults"),
                   col("counts.context_switches", "Switches"),
                   col("counts.cpu_migrations", "Migrations"),
                   col("counts.cpu_cycles", "Cycles"),
                   col("counts.instructions", "Instructions"),
                   col("counts.cache_references", "Cache accesses"),
                   col("counts.cache_misses", "Cache misses")]
        p.put(table("Counted on each node", "Files, network and events of its whole life, by the kernel's "
                    "count; those of its CPUs where it asked for them.",
                    api("/units/${run}", columns, [("resolution", "none")], "data.node_counts"),
                    columns), 12, 8)
    columns = [col("t0_ts", "From", "timestamp_epoch"), col("energy_joules.total", "Energy")]
    p.put(bars("Energy, interval by interval", "As reported by the nodes; all other numbers "
               "from the records are sums of these.",
               [api("/units/${run}", columns, [("resolution", "interval")], "data.series")],
               "joule", "From"), 12, 8)
    columns = [col("t0_ts", "From", "timestamp_epoch"), col("cpu_seconds", "CPU time")]
    p.put(bars("CPU time, interval by interval", "As reported by the nodes.",
               [api("/units/${run}", columns, [("resolution", "interval")], "data.series")],
               "s", "From"), 12, 8)


def unit_page(kind, admin=False):
    k = KINDS[kind]
    slash = "/admin" if admin else ""
    p = Page("ceems-op-unit" if admin else k["page"], "operator" if admin else "user",
             "One unit (operators)" if admin else "One " + k["one"],
             f"One {k['one']}: its data, its present usage, and its records.",
             ["operator"] if admin else ["user", kind])
    its = [("cluster_id", "${cluster}"), ("uuid", "${uuid}")]
    p.variables = [var_source("prometheus", "Prometheus", "prometheus"),
                   var_source("profiles", "Profiles", "grafana-pyroscope-datasource")]
    p.variables += variables(admin, kind=None if admin else kind) + [
        var_api("uuid", k["id"], "/units" + slash, "uuid",
                [("cluster_id", "${cluster}"), ("limit", "1000")], window=True),
        var_api("run", "Run", "/units" + slash, "id", its, "started_at", hide=0),
        var_label("host", "Node", f"ceems_compute_unit_cpus{{{UNIT}}}", "hostname"),
        var_provider()]
    p.link("All units" if admin else "My " + k["many"],
           "ceems-op-units" if admin else k["list"])
    what_it_was(p, kind, slash)
    cpu(p, kind)
    memory(p)
    energy(p)
    gpu(p)
    if kind != "libvirt":
        perf(p)
    io(p, "any" if admin else kind, slash)
    network(p, kind)
    if kind != "libvirt":
        profiling(p, kind)
    details(p, kind)
    p.put(text("The counters of a unit begin at 0 and keep their last value when it ends: their "
               "highest value in a period that contains its whole life is its total."), 24, 2)
    return p


def pages():
    return [unit_page(k) for k in KINDS] + [unit_page("slurm", admin=True)]
