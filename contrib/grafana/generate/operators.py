# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages for operators: the cluster, one node, and ceems itself.

These queries name no unit, so the load balancer answers them only for roles (operator, admin),
as the API does with /admin and /usage/projects.
"""
from grafana import (RATE, Page, all_watts, api, bargauge, beside_gpus, col, in_order, of_gpus, pie,
                     prom, series, stat, table, var_api, var_label, var_source)
from users import CLUSTER, USE, daily, grams, kwh, only_provider, var_provider

AGE = [("green", None), ("orange", 60), ("red", 300)]
BAD = [("green", None), ("red", 1)]


def rate(metric, match=""):
    return f"rate({metric}{{{match}}}{RATE})" if match else f"rate({metric}{RATE})"


def cluster_power(p):
    node, att = "ceems_node_energy_joules_total", "ceems_node_attributed_energy_joules_total"
    rest = "ceems_node_unattributed_energy_joules_total"
    p.put(stat("Power", "All nodes, as measured.",
               [prom(all_watts(node), "now", True)], "watt"), 4, 4)
    p.put(stat("Charged to units", "Share of the power measured now.",
               [prom(f"{all_watts(att)} / {all_watts(node)}", "now", True)],
               "percentunit"), 4, 4)
    p.put(stat("Running", "Units running now.", [prom("sum(ceems_compute_units)", "units", True)],
               "none"), 4, 4)
    p.put(stat("Nodes", "Nodes that answer scrapes (up) and that do not (down).",
               [prom("count(ceems_exporter_build_info)", "up", True),
                prom("count(up{job=\"ceems\"} == 0) or vector(0)", "down", True)], "none"), 4, 4)
    p.put(stat("Unbalanced nodes", "Units + system + idle must equal what the sensor measured, on "
               "each node, for each domain and in each scrape. Anything but 0 is a bug in CEEMS.",
               [prom(f"count(abs(sum by (instance, domain) ({node}) "
                     f"- sum by (instance, domain) ({att}) - sum by (instance, domain) ({rest})) "
                     "> 0.001) or vector(0)", "nodes and domains", True)], "none", steps=BAD),
          4, 4)
    p.put(stat("Silent sensors", "Sources without a new measurement for five minutes.",
               [prom("count(ceems_energy_source_age_seconds > 300) or vector(0)", "sources", True)],
               "none", steps=BAD), 4, 4)
    p.row("Power and energy")
    p.put(series("Power", "Power charged to units, idle power (charged to nobody) and power of "
                 "the system itself; their sum is the measured power.",
                 [prom(f"sum({beside_gpus(att)})", "units"),
                  prom(f"sum({of_gpus(att)})", "GPUs of units"),
                  prom(f"sum by (kind) ({beside_gpus(rest)})", "{{kind}}"),
                  prom(f"sum by (kind) ({of_gpus(rest)})", "GPUs, {{kind}}")], "watt",
                 stack=True),
          12, 8)
    p.put(series("Power by domain", "host includes package, dram and other, and gpu where the "
                 "host's sensor does.",
                 [prom(f"sum by (domain, source) ({rate(node)})", "{{domain}} ({{source}})")],
                 "watt"), 12, 8)


def cluster_records(p):
    p.row("Projects and people")
    columns = [col("project", "Project", "string",
                   links=[("The project", "/d/ceems-op-project?var-project=${__value.raw}"
                           "&var-cluster=${cluster}&${__url_time_range}")]),
               col("num_users", "Users"), col("num_units", "Units"),
               col("cpu_seconds", "CPU time used", unit="dtdurations", width=160),
               col("avg_cpu_usage.global", "CPU", unit="percent"),
               col("avg_cpu_mem_usage.global", "Memory", unit="percent"),
               col("avg_gpu_usage.global", "GPU", unit="percent")] + kwh() + grams() + [
                   col("coverage", "Coverage", unit="percentunit")]
    p.put(table("Use by project", "Highest energy first. CPU, Memory and GPU: average share of the allocation.",
                api("/usage/projects", columns, [CLUSTER]), columns, only_provider()), 16, 11)
    p.put(pie("Energy by project", "Without GPUs, with the building's share.",
              [api("/usage/projects", [columns[0], kwh()[0]], [CLUSTER])], "kwatth"), 8, 11)
    columns = [col("username", "User", "string"), col("project", "Project", "string"),
               col("num_units", "Units"),
               col("total_time_seconds.alloc_cputime", "Allocated", unit="dtdurations"),
               col("cpu_seconds", "Used", unit="dtdurations"),
               col("avg_cpu_usage.global", "CPU", unit="percent"),
               col("avg_cpu_mem_usage.global", "Memory", unit="percent"), kwh()[0]]
    unused = [{"id": "calculateField", "options": {
        "mode": "binary", "alias": "Unused CPU time", "binary": {
            "left": "Allocated", "operator": "-", "right": "Used"}}},
              {"id": "sortBy", "options": {"sort": [{"field": "Unused CPU time",
                                                     "desc": True}]}},
              in_order(columns[:2] + [col("", "Unused CPU time")] + columns[2:])]
    p.put(table("Waste", "Allocated CPU time that was not used, highest first: these users may want "
                "to request less.", api("/usage/current/admin", columns, [CLUSTER]),
                columns, unused, overrides=[
                    {"matcher": {"id": "byName", "options": "Unused CPU time"},
                     "properties": [{"id": "unit", "value": "dtdurations"},
                                    {"id": "custom.width", "value": 190}]}]), 16, 11)
    p.put(bargauge("Coverage by project", "Share of the units' run time on nodes that was "
                   "observed. Below 99 % the sums are too low.",
                   [api("/usage/projects", [col("project", "Project", "string"),
                                            col("coverage", "Coverage")], [CLUSTER])],
                   "percentunit", steps=[("red", None), ("orange", 0.95), ("green", 0.99)],
                   min=0, max=1), 8, 11)
    gpu = "max by (manager, uuid) (max_over_time(ceems_compute_unit_gpu_{}_seconds_total[$__range]))"
    idle, busy, held = (gpu.format(name) for name in ("idle", "busy", "observed"))
    joules = ('max by (manager, uuid) (max_over_time('
              'ceems_compute_unit_energy_joules_total{domain="gpu"}[$__range]))')
    p.put(table("Idle GPUs", "Units whose GPUs did nothing for longest, each GPU counted. Of GPUs that ceemsd "
                "reads and that a unit holds as a whole.", prom(f"topk(50, {idle}) > 0", table=True),
                transform=columns_of("manager", "uuid", "Idle"), sort="Idle",
                overrides=[unit_of("Idle", "dtdurations")]), 12, 9)
    p.put(table("Energy of idle GPUs", "The part of the energy of a unit's GPUs that their unused time has.",
                prom(f"topk(50, {joules} * (1 - {busy} / ({held} > 0))) > 0", table=True),
                transform=columns_of("manager", "uuid", "Energy"), sort="Energy",
                overrides=[unit_of("Energy", "joule")]), 12, 9)
    p.row("Day by day")
    daily(p, "/usage/daily/admin", [CLUSTER], "All units.")


def cluster_state(p):
    p.row("How busy")
    p.put(series("CPU", "All nodes of each scrape job; from recording rules.",
                 [prom("job:ceems_cpu_usage:avg_ratio_irate", "{{job}}")], "percent", max=100),
          8, 7)
    p.put(series("Memory", "All nodes of each scrape job; from recording rules.",
                 [prom("job:ceems_cpu_memory_usage:avg_ratio", "{{job}}")], "percent", max=100),
          8, 7)
    p.put(series("Units that ended", "In the preceding hour, by their final state.",
                 [prom("sum by (state) (increase(ceems_units_ended_total[1h]))", "{{state}}")],
                 "short", stack=True), 8, 7)
    p.row("Emissions")
    p.put(series("Emissions", "Grams of CO2e per hour, by the factor that each node uses; from "
                 "recording rules.",
                 [prom("3600 * sum by (provider) (job:ceems_host_emissions_g_s:pue)",
                       "host, {{provider}}")], "massg"), 8, 7)
    p.put(series("Emission factors", "Grams per kWh in use on nodes.",
                 [prom("3.6e6 * max by (provider, country_code) "
                       "(ceems_emissions_factor_grams_per_joule)",
                       "{{provider}} {{country_code}}")], "short"), 8, 7)
    p.put(table("Providers", "Age of the latest value of each provider.",
                prom("max by (provider, country_code) (ceems_emissions_age_seconds)",
                     table=True), transform=columns_of("provider", "country_code", "Age"),
                overrides=[unit_of("Age", "dtdurations")]), 8, 7)
    p.row("Sensors and data")
    p.put(table("Age of sensors", "Time since the latest measurement of each source, the oldest "
                "first.", prom("topk(50, max by (instance, source) "
                               "(ceems_energy_source_age_seconds))", table=True),
                transform=columns_of("instance", "source", "Age"), sort="Age",
                overrides=[unit_of("Age", "dtdurations")]), 8, 9)
    p.put(table("Collectors that failed", "At the last scrape.",
                prom("ceems_scrape_collector_success == 0", table=True),
                transform=columns_of("instance", "collector", "Value")), 8, 9)
    p.put(series("What may be missing", "Energy counters that fell or jumped (such a reading adds nothing), "
                 "counters that could not be continued after ceemsd was down, and lost reports.",
                 [prom("sum by (source) (increase(ceems_energy_source_resets_total[1h]))",
                       "resets {{source}}"),
                  prom("sum by (source) (increase(ceems_energy_source_gaps_total[1h]))",
                       "gaps {{source}}"),
                  prom("sum by (kind) (increase(ceems_reports_lost_total[1h]))",
                       "lost reports {{kind}}")], "short"), 8, 9)


def columns_of(*names):
    """Of a table from Prometheus only these labels, and its value under the last name."""
    keep = "|".join(names[:-1])
    return [{"id": "filterFieldsByName", "options": {"include": {
        "pattern": f"^({keep}|Value.*)$"}}},
            {"id": "renameByRegex", "options": {"regex": "^Value.*", "renamePattern": names[-1]}}]


def unit_of(name, unit):
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": "unit", "value": unit}]}


def cluster():
    p = Page("ceems-op-cluster", "operator", "Cluster",
             "Power, energy by project, unattributed energy, waste, sensors, coverage and "
             "emissions of a cluster.", ["operator"], "now-24h", "1m")
    p.variables = [var_source("prometheus", "Prometheus", "prometheus"),
                   var_source("api", "API", "yesoreyeram-infinity-datasource"),
                   var_api("cluster", "Cluster", "/clusters/admin", "id"),
                   var_provider()]
    p.link("All units", "ceems-op-units")
    p.link("Nodes", "ceems-op-node")
    p.link("ceems itself", "ceems-op-self")
    cluster_power(p)
    cluster_records(p)
    cluster_state(p)
    return p


def node():
    p = Page("ceems-op-node", "operator", "Node",
             "One node: its users, its power, and each of its sensors.", ["operator"],
             "now-6h", "1m")
    p.variables = [var_source("prometheus", "Prometheus", "prometheus"),
                   var_label("node", "Node", "ceems_cpu_count", "hostname", multi=False),
                   var_label("instance", "Exporter", 'ceems_cpu_count{hostname="$node"}',
                             "instance", multi=False, hide=2)]
    p.link("Cluster", "ceems-op-cluster")
    on, at = 'hostname="$node"', 'instance="$instance"'
    joules = "ceems_compute_unit_energy_joules_total"
    att = "ceems_node_attributed_energy_joules_total"
    rest = "ceems_node_unattributed_energy_joules_total"
    p.row("Who uses it")
    p.put(series("Units", "The twenty with the highest power; every joule counts once.",
                 [prom(f"topk(20, sum by (manager, uuid) ({beside_gpus(joules, on)}))",
                       "{{manager}} {{uuid}}"),
                  prom(f"topk(20, sum by (manager, uuid) ({of_gpus(joules, on)}))",
                       "GPUs of {{manager}} {{uuid}}")], "watt", stack=True), 12, 9)
    p.put(series("CPUs", "CPUs used by each unit, and by everything together.",
                 [prom("topk(20, sum by (uuid) ("
                       f"{rate('ceems_compute_unit_cpu_user_seconds_total', on)} + "
                       f"{rate('ceems_compute_unit_cpu_system_seconds_total', on)}))", "{{uuid}}"),
                  prom("sum(rate(ceems_cpu_seconds_total{" + on
                       + ',mode!~"idle|iowait|steal"}' + RATE + "))", "all")], "short"), 12, 9)
    p.row("Power")
    p.put(series("Charged, idle and system", "Their sum is the measured power.",
                 [prom(f"sum({beside_gpus(att, on)})", "units"),
                  prom(f"sum({of_gpus(att, on)})", "GPUs of units"),
                  prom(f"sum by (kind) ({beside_gpus(rest, on)})", "{{kind}}"),
                  prom(f"sum by (kind) ({of_gpus(rest, on)})", "GPUs, {{kind}}")], "watt",
                 stack=True), 8, 8)
    p.put(series("Domains", "By domain and source.",
                 [prom(f"sum by (domain, source) ({rate('ceems_node_energy_joules_total', on)})",
                       "{{domain}} ({{source}})"),
                  prom(f"ceems_node_idle_power_watts{{{on}}}", "idle {{domain}}")], "watt"), 8, 8)
    p.put(stat("Sensors", "Time since the latest measurement of each source.",
               [prom(f"max by (source) (ceems_energy_source_age_seconds{{{at}}})", "{{source}}",
                     True)], "dtdurations", steps=AGE), 4, 8)
    p.put(stat("Deficit", "Energy of the parts beyond what the host's sensor showed, to be paid back by "
               "later intervals; and the estimate since its last reading.",
               [prom(f"ceems_node_energy_deficit_joules{{{on}}}", "deficit", True),
                prom(f"sum by (domain) (ceems_node_provisional_energy_joules{{{on}}})",
                     "provisional {{domain}}", True)], "joule"), 4, 8)
    p.row("How busy")
    p.put(series("CPU", "Share of all CPUs, by mode.",
                 [prom("100 * sum by (mode) (rate(ceems_cpu_seconds_total{" + on
                       + ',mode!="idle"}' + RATE + ")) / scalar(ceems_cpu_count{" + on + "})",
                       "{{mode}}")], "percent", stack=True), 8, 7)
    p.put(series("Memory", "The whole node.",
                 [prom(f"ceems_meminfo_MemTotal_bytes{{{on}}} - "
                       f"ceems_meminfo_MemAvailable_bytes{{{on}}}", "used"),
                  prom(f"ceems_meminfo_MemTotal_bytes{{{on}}}", "all")], "bytes"), 8, 7)
    p.put(series("Units", "Running, and ended in the preceding hour.",
                 [prom(f"sum(ceems_compute_units{{{on}}})", "running"),
                  prom(f"sum by (state) (increase(ceems_units_ended_total{{{on}}}[1h]))",
                       "{{state}} in an hour")], "short"), 8, 7)
    p.row("Sensors one by one", closed=True)
    p.put(series("RAPL", "Processors and memory, by zone.",
                 [prom("rate({__name__=~\"ceems_rapl_[a-z]+_joules_total\"," + on + "}" + RATE
                       + ")", "{{__name__}} {{index}}")], "watt"), 8, 8)
    p.put(series("BMC", "IPMI (DCMI), the BMC's own average, and Redfish.",
                 [prom(f"ceems_ipmi_dcmi_current_watts{{{on}}}", "IPMI"),
                  prom(f"ceems_ipmi_dcmi_avg_watts{{{on}}}", "IPMI, average"),
                  prom(f"ceems_redfish_current_watts{{{on}}}", "Redfish {{chassis}}")], "watt"),
          8, 8)
    p.put(series("Other sensors", "Kernel power meters (hwmon), Cray's counters, and the model.",
                 [prom(f"ceems_hwmon_power_current_watts{{{on}}}", "{{chip_name}} {{sensor}}"),
                  prom(f"ceems_cray_pm_counters_power_watts{{{on}}}", "Cray {{domain}}"),
                  prom(f"ceems_model_power_watts{{{on}}}", "model")], "watt"), 8, 8)
    p.row("Network", closed=True)
    p.put(series("Ethernet", "By device.",
                 [prom(rate("ceems_netdev_receive_bytes_total", on), "in {{device}}"),
                  prom(rate("ceems_netdev_transmit_bytes_total", on), "out {{device}}")], "Bps"),
          12, 8)
    p.put(series("InfiniBand", "By port.",
                 [prom(rate("ceems_infiniband_port_data_received_bytes_total", at),
                       "in {{device}} {{port}}"),
                  prom(rate("ceems_infiniband_port_data_transmitted_bytes_total", at),
                       "out {{device}} {{port}}")], "Bps"), 12, 8)
    return p


def self_page():
    p = Page("ceems-op-self", "operator", "ceems itself",
             "Daemons, couriers, the aggregator and the load balancer: their cost, and data that may be lost.",
             ["operator"], "now-6h", "1m")
    p.variables = [var_source("prometheus", "Prometheus", "prometheus")]
    p.link("Cluster", "ceems-op-cluster")
    p.row("Nodes")
    p.put(series("CPU of ceemsd", "Percent of one CPU: average and highest of all nodes.",
                 [prom(f"100 * avg(rate(process_cpu_seconds_total{{job=\"ceems\"}}{RATE}))",
                       "average"),
                  prom(f"100 * max(rate(process_cpu_seconds_total{{job=\"ceems\"}}{RATE}))",
                       "highest")], "percent"), 6, 7)
    p.put(series("Memory of ceemsd", "Resident memory, average and highest of all nodes.",
                 [prom("avg(process_resident_memory_bytes{job=\"ceems\"})", "average"),
                  prom("max(process_resident_memory_bytes{job=\"ceems\"})", "highest")],
                 "bytes"), 6, 7)
    p.put(series("Collectors", "Time that each takes for a scrape, highest of all nodes.",
                 [prom("max by (collector) (ceems_scrape_collector_duration_seconds)",
                       "{{collector}}")], "s"), 6, 7)
    p.put(series("Collectors that failed", "Number of nodes.",
                 [prom("count by (collector) (ceems_scrape_collector_success == 0)",
                       "{{collector}}")], "short"), 6, 7)
    p.row("The ring and the unit table")
    p.put(series("Records", "Records of Slurm's plugins, per second.",
                 [prom(f"sum({rate('ceems_ring_records_total')})", "records")], "cps"), 8, 7)
    p.put(series("Records lost", "Per second: lost because the ring was full, because their writer died, or "
                 "because they could not be read; stops without a start; and steps for which the "
                 "unit table had no room.",
                 [prom(f"sum({rate('ceems_ring_dropped_total')})", "ring full"),
                  prom(f"sum({rate('ceems_ring_torn_total')})", "torn"),
                  prom(f"sum({rate('ceems_ring_bad_records_total')})", "unreadable"),
                  prom(f"sum({rate('ceems_units_late_stops_total')})", "late stops"),
                  prom(f"sum({rate('ceems_units_refused_records_total')})", "table full")],
                 "cps"), 8, 7)
    p.put(series("Fill level", "Highest of all nodes.",
                 [prom("max(ceems_ring_pending / ceems_ring_slots)", "ring"),
                  prom("max(ceems_units_table_used / ceems_units_table_capacity)", "units"),
                  prom("max(ceems_steps_table_used / ceems_steps_table_capacity)", "steps")],
                 "percentunit", max=1), 8, 7)
    p.row("Reports to the aggregator")
    p.put(series("Written", "Per second, by kind.",
                 [prom(f"sum by (kind) ({rate('ceems_reports_written_total')})", "{{kind}}")],
                 "cps"), 6, 7)
    p.put(series("Waiting", "Age of the oldest report that is not sent yet: highest of all nodes, and 95th percentile.",
                 [prom("max(ceems_reports_oldest_unsent_age_seconds)", "oldest"),
                  prom("quantile(0.95, ceems_reports_oldest_unsent_age_seconds)", "95 %")],
                 "s"), 6, 7)
    p.put(series("Spools", "The largest, and the sum of all.",
                 [prom("max(ceems_reports_spool_bytes)", "largest"),
                  prom("sum(ceems_reports_spool_bytes)", "all")], "bytes"), 6, 7)
    p.put(series("Couriers", "Per second: batches sent and not taken, records by result, restarts.",
                 [prom(f"sum({rate('ceems_courier_posts_total')})", "sent"),
                  prom(f"sum({rate('ceems_courier_post_failures_total')})", "not taken"),
                  prom(f"sum by (result) ({rate('ceems_courier_records_total')})",
                       "records {{result}}"),
                  prom(f"sum({rate('ceems_courier_restarts_total')})", "restarts")], "cps"), 6, 7)
    p.row("The aggregator")
    a = "ceems_aggregator_"
    p.put(stat("Database", "1: reachable.", [prom(f"min({a}database_up)", "up", True)], "none",
               steps=[("red", None), ("green", 1)]), 3, 7)
    p.put(stat("Backlog", "How long the oldest hour has been waiting for its roll-up; rows that are not "
               "linked yet.",
               [prom(f"max({a}rollup_lag_seconds)", "roll-up", True),
                prom(f"sum({a}unlinked)", "unlinked rows", True)], "none",
               overrides=[unit_of("roll-up", "s")]), 3, 7)
    p.put(series("Ingested", "Rows committed per second, by kind.",
                 [prom(f"sum by (kind) ({rate(a + 'ingest_records_total')})", "{{kind}}")],
                 "cps"), 6, 7)
    p.put(series("Refused and failed", "Per second.",
                 [prom(f"sum({rate(a + 'ingest_refused_records_total')})", "records refused"),
                  prom(f"sum({rate(a + 'ingest_failed_pushes_total')})", "pushes failed"),
                  prom(f"sum({rate(a + 'ingest_differing_total')})", "repeated, but different"),
                  prom(f"sum by (reason) ({rate(a + 'api_refused_total')})",
                       "requests, {{reason}}")], "cps"), 6, 7)
    p.put(series("API", "Requests per second, by status class.",
                 [prom(f"sum by (code) ({rate(a + 'api_requests_total')})", "{{code}}")], "reqps"),
          6, 7)
    balancer(p)
    return p


def balancer(p):
    p.row("The load balancer")
    b = "ceems_lb_"
    p.put(series("Requests", "Per second, by API and status class.",
                 [prom(f"sum by (api, code) ({rate(b + 'requests_total')})", "{{api}} {{code}}")],
                 "reqps"), 6, 7)
    p.put(series("Decisions", "Per second, by reason: granted for own units or a role; "
                 "refused and why.",
                 [prom(f"sum by (verdict, reason) ({rate(b + 'decisions_total')})",
                       "{{verdict}}: {{reason}}")], "cps"), 6, 7)
    p.put(series("Ownership requests", "Requests to the aggregator and those that it did not answer, per "
                 "second; and the average time of one.",
                 [prom(f"sum({rate(b + 'ownership_questions_total')})", "requests"),
                  prom(f"sum({rate(b + 'ownership_failures_total')})", "not answered"),
                  prom(f"sum({rate(b + 'ownership_seconds_total')}) / "
                       f"sum({rate(b + 'ownership_questions_total')})", "seconds")], "short"),
          6, 7)
    p.put(series("Backends", "1: healthy.",
                 [prom(f"min by (cluster, protocol, backend) ({b}backend_up)",
                       "{{cluster}} {{protocol}} {{backend}}")], "short", max=1), 6, 7)


def pages():
    return [cluster(), node(), self_page()]
