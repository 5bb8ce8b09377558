# SPDX-License-Identifier: GPL-2.0-or-later
"""My jobs (VMs, pods), and a project; with what operators see of everybody by the same pages.

All numbers here come from the records: they hold units that no scrape ever saw, and whose they
are is decided by the API.
"""
from grafana import (Page, api, bargauge, bars, col, override, pie, stat, table, text, var_api,
                     var_source)

CLUSTER = ("cluster_id", "${cluster}")
PROVIDERS = ["owid", "rte", "emaps", "wt", "global", "file"]
USE = [("red", None), ("orange", 30), ("green", 70)]

# of each manager: its own words, the page about one unit, and what the API calls it
KINDS = {
    "slurm": {"one": "job", "many": "jobs", "page": "ceems-job", "list": "ceems-my-jobs",
              "id": "Job", "project": "Account", "managers": ["slurm"],
              "unknown": "Slurm's record of the job has not arrived yet"},
    "libvirt": {"one": "VM", "many": "VMs", "page": "ceems-vm", "list": "ceems-my-vms",
                "id": "VM", "project": "Project", "managers": ["openstack", "libvirt"],
                "unknown": "Nova has not told of it, or is not asked"},
    "k8s": {"one": "pod", "many": "pods", "page": "ceems-pod", "list": "ceems-my-pods",
            "id": "Pod", "project": "Project", "managers": ["k8s"],
            "unknown": "neither the API server nor the admission webhook has told of it"},
}
# what a unit has beside its name
MORE = {"slurm": [], "libvirt": [("tags.flavour", "Flavour")],
        "k8s": [("tags.namespace", "Namespace")]}


def variables(admin, cluster=True, kind=None):
    """With kind: clusters of that kind alone."""
    v = [var_source("api", "API", "yesoreyeram-infinity-datasource")]
    if cluster and admin:
        v.append(var_api("cluster", "Cluster", "/clusters/admin", "id"))
    elif cluster:
        only = [("resource_manager", m) for m in (KINDS[kind]["managers"] if kind else [])]
        v.append(var_api("cluster", "Cluster", "/users", "cluster_id", only))
    return v


def only_provider():
    """Of the columns "CO2e owid" and so on the one that was chosen."""
    return [{"id": "filterFieldsByName",
             "options": {"include": {"pattern": "^(?!CO2e ).*|^CO2e ${provider}$"}}},
            {"id": "renameByRegex", "options": {"regex": "^CO2e .*", "renamePattern": "CO2e"}}]


def grams(selector="grams"):
    return [col(f"{selector}.{p}", f"CO2e {p}", unit="massg") for p in PROVIDERS]


def kwh():
    return [col("total_cpu_energy_usage_kwh.total", "Host energy", unit="kwatth", width=130),
            col("total_gpu_energy_usage_kwh.total", "GPU energy", unit="kwatth", width=130)]


def var_provider():
    """Those of which the aggregator has factors now."""
    return var_api("provider", "Emissions by", "/emissions/factors", "provider",
                   [("from", "now-1h"), ("limit", "1000")])


# Grafana's sum of no values is 0: what nobody measured would be 0 kWh, what no factor is known
# for 0 g. No unit takes no energy at all, so 0 can only be that.
def no_zero(*names):
    return [override(name, mappings=[{"type": "value", "options": {"0": {"text": "–"}}}])
            for name in names]


def totals(page, kind, path, params, what):
    """The row of numbers on top: each adds up rows of cluster, project and user."""
    def one(title, about, columns, unit, w, transform=None, **defaults):
        page.put(stat(title, about, [api(path, columns, params)], unit, "sum", transform,
                      **defaults), w, 4)

    k = KINDS[kind]
    one(k["many"][0].upper() + k["many"][1:], f"{k['many'][0].upper() + k['many'][1:]} that existed "
        f"in this period ({what}). Each counts once, however short.",
        [col("num_units", k["many"])], "none", 3)
    one("Time", f"Sum of the running times of these {k['many']}.",
        [col("total_time_seconds.walltime", "Time")], "dtdurations", 4)
    one("CPU time used", "Sum over all CPUs.", [col("cpu_seconds", "CPU time")],
        "dtdurations", 4)
    one("CPU time allocated", "Allocated CPUs times time. The table below shows how much of it "
        "was used.", [col("total_time_seconds.alloc_cputime", "CPU time")], "dtdurations", 4)
    one("Energy", "Energy that the nodes' sensors measured, divided by usage, with the building's "
        "share (PUE). Host energy is everything but GPUs. –: not known.", kwh(), "kwatth", 5,
        overrides=no_zero("Host energy", "GPU energy"))
    one("Emissions", "By the emission factors of the provider chosen above, at the time "
        "the energy was used. –: not known.", grams(), "massg", 4, only_provider(),
        overrides=no_zero("CO2e"))


def daily(page, path, params, about):
    params = params + [("limit", "1000")]
    page.put(bars("Energy a day", about + " Days are in UTC.",
                  [api(path, [col("day", "Day", "string")] + kwh(), params)], "kwatth", "Day",
                  by_day(["Host energy", "GPU energy"]), stack=True), 12, 8)
    page.put(bars("CPU time a day", "Used and allocated.",
                  [api(path, [col("day", "Day", "string"), col("cpu_seconds", "Used"),
                              col("total_time_seconds.alloc_cputime", "Allocated")], params)],
                  "dtdurations", "Day", by_day(["Used", "Allocated"])), 12, 8)


def by_day(columns):
    """Rows of a day (of several projects and users) become one."""
    fields = {c: {"operation": "aggregate", "aggregations": ["sum"]} for c in columns}
    fields["Day"] = {"operation": "groupby", "aggregations": []}
    return [{"id": "groupBy", "options": {"fields": fields}},
            {"id": "renameByRegex", "options": {"regex": "(.*) \\(sum\\)", "renamePattern": "$1"}},
            {"id": "sortBy", "options": {"sort": [{"field": "Day"}]}}]


def unit_links(page):
    """To the page about one unit, for its whole time or until now. Only its id and its times are
    handed on: that page asks for its own numbers."""
    where = f"/d/{page}?var-uuid=${{__value.raw}}&var-cluster=${{__data.fields.Cluster}}"
    begin = "&from=${__data.fields.begin}"
    return [("Its whole time (if it has ended)", where + begin + "&to=${__data.fields.end}"),
            ("From its start until now", where + begin + "&to=now")]


def unit_columns(kind, page, person=False):
    k = KINDS[kind]
    columns = [col("uuid", k["id"], "string", links=unit_links(page),
                   width=90 if kind == "slurm" else 300),
               col("name", "Name", "string"), col("project", k["project"], "string")]
    columns += [col(selector, text, "string") for selector, text in MORE[kind]]
    if person:
        columns.append(col("username", "User", "string"))
    columns += [
        col("state", "State", "string", width=110),
        col("started_at_ts", "Started", "timestamp_epoch"),
        col("elapsed", "Elapsed", "string", width=100),
        col("allocation.cpus", "CPUs", width=80), col("allocation.gpus", "GPUs", width=80),
        col("avg_cpu_usage.global", "CPU", unit="percent", width=90,
            thresholds={"mode": "absolute", "steps": [{"color": c, "value": v} for c, v in USE]},
            custom__cellOptions={"type": "color-text"}),
        col("avg_cpu_mem_usage.global", "Memory", unit="percent", width=110),
        col("memory_peak_bytes", "Peak memory", unit="bytes", width=140),
        col("avg_gpu_usage.global", "GPU", unit="percent", width=80)] + kwh() + grams() + [
        col("coverage", "Coverage", unit="percentunit", width=120),
        col("tags.nodelist", "Nodes", "string"), col("tags.partition", "Partition", "string"),
        col("tags.qos", "QoS", "string"),
        col("cluster_id", "Cluster", "string", hidden=True),
        col("started_at_ts", "begin", hidden=True), col("ended_at_ts", "end", hidden=True)]
    if kind != "slurm":
        columns = [c for c in columns if c["text"] not in ("Nodes", "Partition", "QoS")]
    return columns


ABOUT_LIST = ("The {many} of this period, the latest first, 1000 at most. CPU and memory are "
              "averages, in percent of the allocation. Coverage is the share of the run time that "
              "was observed. The first column links to the page about one {one}.")


def my_units(kind):
    k = KINDS[kind]
    p = Page(k["list"], "user", "My " + k["many"],
             f"Your own {k['many']}: totals, days, and the usage of each.", ["user", kind],
             "now-7d")
    p.variables = variables(False, kind=kind) + [
        var_provider()]
    p.link("Projects", "ceems-project")
    mine = [CLUSTER]
    totals(p, kind, "/usage/current", mine, "your own")
    p.row("Day by day")
    daily(p, "/usage/daily", mine, "Your own " + k["many"] + ".")
    p.row("By " + k["project"].lower())
    p.put(bargauge("CPU used, of the allocation", "Average over the period.",
                   [api("/usage/current", [col("project", k["project"], "string"),
                                           col("avg_cpu_usage.global", "CPU")], mine)],
                   "percent", steps=USE, min=0, max=100), 8, 7)
    p.put(bargauge("Memory used, of the allocation", "Average over the period.",
                   [api("/usage/current", [col("project", k["project"], "string"),
                                           col("avg_cpu_mem_usage.global", "Memory")], mine)],
                   "percent", steps=USE, min=0, max=100), 8, 7)
    p.put(pie("Energy", "Without GPUs.",
              [api("/usage/current", [col("project", k["project"], "string"),
                                      kwh()[0]], mine)], "kwatth"), 8, 7)
    p.row("Each " + k["one"])
    columns = unit_columns(kind, k["page"])
    p.put(table(k["many"][0].upper() + k["many"][1:], ABOUT_LIST.format(**k),
                api("/units", columns, mine + [("limit", "1000")]), columns, only_provider()),
          24, 16)
    return p


def project(admin):
    slash = "/admin" if admin else ""
    p = Page("ceems-op-project" if admin else "ceems-project", "operator" if admin else "user",
             "Project (operators)" if admin else "Project",
             "One project: totals, days, members and units.",
             ["operator" if admin else "user"], "now-30d")
    p.variables = variables(admin) + [
        var_api("project", "Project", "/projects" + slash, "name", [CLUSTER]),
        var_provider()]
    its = [CLUSTER, ("project", "${project}")]
    totals(p, "slurm", "/usage/current" + slash, its,
           "of everybody" if admin else "your own, or those of all members where the site lets "
           "them see each other")
    p.row("Day by day")
    daily(p, "/usage/daily" + slash, its, "Units of this project.")
    p.row("Members")
    columns = [col("username", "User", "string"), col("num_units", "Units"),
               col("cpu_seconds", "CPU time used", unit="dtdurations", width=160),
               col("total_time_seconds.alloc_cputime", "CPU time allocated", unit="dtdurations",
                   width=180),
               col("avg_cpu_usage.global", "CPU", unit="percent"),
               col("avg_cpu_mem_usage.global", "Memory", unit="percent"),
               col("avg_gpu_usage.global", "GPU", unit="percent")] + kwh() + grams() + [
                   col("coverage", "Coverage", unit="percentunit")]
    p.put(table("Use by member", "One row for each member with any usage.",
                api("/usage/current" + slash, columns, its), columns, only_provider(),
                "Host energy"), 16, 9)
    p.put(pie("Energy by member", "Without GPUs.",
              [api("/usage/current" + slash, [columns[0], kwh()[0]], its)], "kwatth"), 8, 9)
    p.row("Units")
    columns = unit_columns("slurm", "ceems-op-unit" if admin else "ceems-job", person=True)
    p.put(table("Units", ABOUT_LIST.format(**KINDS["slurm"]),
                api("/units" + slash, columns, its + [("limit", "1000")]), columns,
                only_provider()), 24, 14)
    return p


def all_units():
    p = Page("ceems-op-units", "operator", "All units",
             "All units of a cluster, of one user or of everybody.", ["operator"], "now-24h")
    p.variables = variables(True) + [
        var_api("user", "User", "/users/admin", "name", [CLUSTER]),
        var_provider()]
    p.put(text("Below are the units of one user, then those of everybody. For a project see "
               "[Project (operators)](/d/ceems-op-project)."), 24, 2)
    p.row("One user")
    totals(p, "slurm", "/usage/current/admin", [CLUSTER, ("user", "${user}")], "of this user")
    columns = unit_columns("slurm", "ceems-op-unit")
    p.put(table("Units of ${user}", ABOUT_LIST.format(**KINDS["slurm"]),
                api("/units/admin", columns, [CLUSTER, ("user", "${user}"), ("limit", "1000")]),
                columns, only_provider()), 24, 12)
    p.row("Everybody", closed=True)
    columns = unit_columns("slurm", "ceems-op-unit", person=True)
    p.put(table("Units", ABOUT_LIST.format(**KINDS["slurm"]),
                api("/units/admin", columns, [CLUSTER, ("limit", "1000")]), columns,
                only_provider()), 24, 16)
    return p


def pages():
    return [my_units(k) for k in KINDS] + [project(False), project(True), all_units()]
