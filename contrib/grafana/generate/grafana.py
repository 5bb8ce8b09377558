# SPDX-License-Identifier: GPL-2.0-or-later
"""Grafana's dashboard JSON (10.4 and later) out of a few words for each panel.

A page is a list of rows and panels that are placed from left to right on Grafana's grid of 24
columns. Queries are made by prom() and api(); everything that Grafana fills in by itself is
left out, so that the result can be read.
"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = 39  # Grafana 10.4
PROMETHEUS = {"type": "prometheus", "uid": "${prometheus}"}
API = {"type": "yesoreyeram-infinity-datasource", "uid": "${api}"}
PROFILES = {"type": "grafana-pyroscope-datasource", "uid": "${profiles}"}
RATE = "[$__rate_interval]"


def later():
    """Metrics that nothing exports yet, with what they wait for (../later)."""
    waits = {}
    with open(os.path.join(HERE, "..", "later"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, why = line.strip().split(None, 1)
                waits[name] = why
    return waits


LATER = later()


def names_of(query):
    """Names of metrics in a query: what stands before a brace, a bracket or alone."""
    text = re.sub(r'"(\\.|[^"\\])*"', '""', query)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    text = re.sub(r"\{[^}]*\}", " ", text)
    return {n for n in re.findall(r"[a-zA-Z_][a-zA-Z0-9_:]*(?!\s*\(|[a-zA-Z0-9_:])", text)
            if re.match(r"(ceems_|uuid:|job:|instance:|dev:|DCGM_|process_|up$)", n)}


# ---- queries

def beside_gpus(metric, match=""):
    """Watts out of joules, each once: parts and the rest of the host, or, where the host has no
    parts (a BMC alone, the model), the host. As in the recording rules."""
    m = match + "," if match else ""
    return (f'(sum without (domain, source) (rate({metric}{{{m}domain=~"package|dram|other"}}'
            f'{RATE})) or sum without (domain, source) (rate({metric}{{{m}domain="host"}}{RATE})))')


def of_gpus(metric, match=""):
    m = match + "," if match else ""
    return f'sum without (domain, source) (rate({metric}{{{m}domain="gpu"}}{RATE}))'


def all_watts(metric):
    """One number for everything."""
    return f"(sum({beside_gpus(metric)}) + (sum({of_gpus(metric)}) or vector(0)))"


def prom(query, legend="", instant=False, table=False):
    target = {"datasource": PROMETHEUS, "editorMode": "code", "expr": query,
              "legendFormat": legend or "__auto"}
    target.update({"instant": True} if instant or table else {"range": True})
    if table:
        target["format"] = "table"
    return target


def col(selector, text, kind="number", unit=None, hidden=False, links=None, width=None, **custom):
    """A column of an API table. links: [(title, url)]."""
    return {"selector": selector, "text": text, "type": kind, "unit": unit, "hidden": hidden,
            "links": links, "width": width, "custom": custom}


def api(path, columns, params=(), root="data", window=True):
    """A request to the API; its columns are looked up in each row of root."""
    pairs = ([("from", "${__from}"), ("to", "${__to}")] if window else []) + list(params)
    return {"datasource": API, "type": "json", "source": "url", "format": "table",
            "parser": "backend", "url": "/api/v1" + path, "root_selector": root,
            "columns": [{k: c[k] for k in ("selector", "text", "type")} for c in columns],
            "filters": [], "url_options": {
                "method": "GET", "data": "",
                "params": [{"key": k, "value": v} for k, v in pairs]}}


def profile(selector, kind, query="profile"):
    return {"datasource": PROFILES, "groupBy": [], "labelSelector": selector,
            "profileTypeId": kind, "queryType": query}


# ---- panels

def panel(kind, title, about, targets, unit=None, options=None, transform=None, **defaults):
    for i, t in enumerate(targets):
        t["refId"] = chr(ord("A") + i)
    waiting = sorted({n for t in targets for n in names_of(t.get("expr", "")) if n in LATER})
    if waiting:
        about += " Some or all of this has no data yet: " + "; ".join(f"{n}: {LATER[n]}" for n in waiting) + "."
    p = {"type": kind, "title": title, "description": about}
    if targets:
        p["datasource"] = targets[0]["datasource"]
        p["targets"] = targets
    d = {k: v for k, v in defaults.items() if k != "overrides"}
    if unit:
        d["unit"] = unit
    p["fieldConfig"] = {"defaults": d, "overrides": defaults.get("overrides", [])}
    p["options"] = options or {}
    if transform:
        p["transformations"] = transform
    return p


def series(title, about, targets, unit, stack=False, legend="list", **defaults):
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 30 if stack else 10,
              "showPoints": "auto", "spanNulls": False}
    if stack:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    options = {"legend": {"displayMode": legend, "placement": "bottom", "showLegend": True,
                          "calcs": ["min", "mean", "max"] if legend == "table" else []},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    defaults.setdefault("min", 0)
    return panel("timeseries", title, about, targets, unit, options, custom=custom, **defaults)


def stat(title, about, targets, unit, calc="lastNotNull", transform=None, steps=None, **defaults):
    if steps:
        defaults["thresholds"] = thresholds(steps)
    options = {"reduceOptions": {"calcs": [calc], "fields": "", "values": False},
               "colorMode": "value" if steps else "none", "graphMode": "none",
               "textMode": "auto"}
    return panel("stat", title, about, targets, unit, options, transform, **defaults)


def thresholds(steps):
    return {"mode": "absolute", "steps": [{"color": c, "value": v} for c, v in steps]}


# without this, a row with an empty name is labelled with the name of its number
NAMED = [{"matcher": {"id": "byType", "options": "string"},
          "properties": [{"id": "mappings", "value": [
              {"type": "value", "options": {"": {"text": "(none)"}}}]}]}]


def bargauge(title, about, targets, unit, transform=None, steps=None, **defaults):
    if steps:
        defaults["thresholds"] = thresholds(steps)
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": True},
               "orientation": "horizontal", "displayMode": "basic", "showUnfilled": True}
    return panel("bargauge", title, about, targets, unit, options, transform, overrides=NAMED,
                 **defaults)


def bars(title, about, targets, unit, x, transform=None, stack=False):
    options = {"xField": x, "orientation": "vertical", "showValue": "never",
               "xTickLabelSpacing": 100,  # only as many labels as there is room for
               "stacking": "normal" if stack else "none",
               "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}}
    return panel("barchart", title, about, targets, unit, options, transform)


def pie(title, about, targets, unit, transform=None, rows=True):
    """rows: a slice for each row of a table; else for each series."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": rows},
               "pieType": "donut", "displayLabels": ["percent"],
               "legend": {"displayMode": "table", "placement": "right", "showLegend": True,
                          "values": ["value", "percent"]}}
    return panel("piechart", title, about, targets, unit, options, transform, overrides=NAMED)


def in_order(columns):
    """Infinity sorts columns by name; this puts them in the order given. Others (calculated
    columns) come last."""
    names = [("CO2e" if c["text"].startswith("CO2e ") else c["text"]) for c in columns]
    return {"id": "organize", "options": {
        "excludeByName": {}, "renameByName": {},
        "indexByName": {name: i for i, name in enumerate(dict.fromkeys(names))}}}


def override(name, **properties):
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": k.replace("__", "."), "value": v}
                           for k, v in properties.items()]}


def table(title, about, target, columns=(), transform=None, sort=None, overrides=(), **defaults):
    over = list(overrides)
    for c in columns:
        p = {k: v for k, v in (("unit", c["unit"]), ("custom__width", c["width"])) if v}
        if c["hidden"]:
            p["custom__hidden"] = True
        if c["type"] == "timestamp_epoch" and not c["hidden"]:
            p.update({"unit": "time:YYYY-MM-DD HH:mm", "custom__width": 170})
        if c["links"]:
            p["links"] = [{"title": t, "url": u} for t, u in c["links"]]
        p.update(c["custom"])
        if p:
            over.append(override(c["text"], **p))
    if columns and not any(t["id"] == "organize" for t in transform or []):
        transform = (transform or []) + [in_order(columns)]
    options = {"showHeader": True, "cellHeight": "sm"}
    if sort:
        options["sortBy"] = [{"displayName": sort, "desc": True}]
    return panel("table", title, about, [target], None, options, transform,
                 custom={"filterable": True, "minWidth": 100}, overrides=over, **defaults)


def flame(title, about, target):
    return panel("flamegraph", title, about, [target])


def text(content):
    return {"type": "text", "title": "", "transparent": True,
            "options": {"mode": "markdown", "content": content}}


# ---- variables

def var_source(name, label, plugin):
    return {"type": "datasource", "name": name, "label": label, "query": plugin,
            "regex": "/^CEEMS/", "refresh": 1, "hide": 0 if name == "prometheus" else 2}


def var_api(name, label, path, selector, params=(), text_of=None, window=False, hide=0,
            root="data", everything=False):
    question = api(path, [col(text_of or selector, "__text", "string"),
                          col(selector, "__value", "string")], params, root, window)
    question.pop("datasource")
    question["refId"] = "variable"
    v = {"type": "query", "name": name, "label": label, "datasource": API, "hide": hide,
         "refresh": 2 if window else 1, "sort": 0,
         "query": {"queryType": "infinity", "query": "", "infinityQuery": question}}
    if everything:
        v.update({"includeAll": True, "multi": True})
    return v


def var_label(name, label, metric, of, multi=True, hide=0):
    v = {"type": "query", "name": name, "label": label, "datasource": PROMETHEUS, "hide": hide,
         "refresh": 2, "sort": 1,
         "query": {"qryType": 1, "query": f"label_values({metric},{of})", "refId": "variable"}}
    if multi:
        v.update({"multi": True, "includeAll": True, "allValue": ".*",
                  "current": {"text": ["All"], "value": ["$__all"]}})
    return v


# ---- pages

class Page:
    def __init__(self, uid, folder, title, about, tags, start="now-6h", refresh=""):
        self.uid, self.folder, self.title, self.about = uid, folder, title, about
        self.tags, self.start, self.refresh = ["ceems"] + tags, start, refresh
        self.variables, self.panels, self.links = [], [], []
        self.inside = self.panels
        self.x = self.y = self.high = self.ids = 0

    def put(self, p, w, h):
        if self.x + w > 24:
            self.x, self.y, self.high = 0, self.y + self.high, 0
        self.ids += 1
        self.inside.append({"id": self.ids, **p,
                            "gridPos": {"x": self.x, "y": self.y, "w": w, "h": h}})
        self.x += w
        self.high = max(self.high, h)

    def row(self, title, closed=False):
        """closed: its panels send no query until somebody opens it."""
        self.inside = self.panels
        self.x, self.y, self.high = 0, self.y + self.high, 0
        p = {"type": "row", "title": title, "collapsed": closed, "panels": []}
        self.put(p, 24, 1)
        if closed:
            self.inside = self.panels[-1]["panels"]

    def link(self, title, uid):
        self.links.append({"type": "link", "title": title, "url": f"/d/{uid}",
                           "keepTime": False, "includeVars": False, "targetBlank": False,
                           "icon": "dashboard", "asDropdown": False, "tags": [],
                           "tooltip": ""})

    def json(self):
        return {"uid": self.uid, "title": self.title, "description": self.about,
                "tags": self.tags, "schemaVersion": SCHEMA, "version": 1, "editable": False,
                "graphTooltip": 1, "timezone": "browser", "refresh": self.refresh,
                "time": {"from": self.start, "to": "now"}, "links": self.links,
                "annotations": {"list": []}, "templating": {"list": self.variables},
                "panels": self.panels}
