# SPDX-License-Identifier: GPL-2.0-or-later
"""Dashboards as TypeScript, so that a compiler holds them against Grafana's own types:
  grafana_types.py DASHBOARDS FOLDER     writes FOLDER/*.ts and FOLDER/tsconfig.json, beside
                                         FOLDER/../node_modules with @grafana/schema
"""
import json
import os
import sys

SCHEMA = "@grafana/schema/dist/esm/raw/composable"
OPTIONS = {"timeseries": "TimeSeries", "stat": "Stat", "table": "Table", "bargauge": "BarGauge",
           "barchart": "BarChart", "piechart": "PieChart", "text": "Text"}
HEAD = """import { Dashboard, GraphFieldConfig, TableFieldOptions } from '@grafana/schema';
%s
// enums by their values, and what Grafana fills in by itself may be missing
type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[]
	: T extends object ? { [K in keyof T]?: Plain<T[K]> } : T;
""" % "\n".join(
    f"import {{ Options as {name}Options }} from\n"
    f"\t'{SCHEMA}/{kind}/panelcfg/x/{name}PanelCfg_types.gen';"
    for kind, name in OPTIONS.items())
PYROSCOPE = f"{SCHEMA}/grafanapyroscope/dataquery/x/GrafanaPyroscopeDataQuery_types.gen"


def panels_of(page):
    for p in page["panels"]:
        yield p
        yield from p.get("panels", [])


def typed(name, kind, value):
    return f"export const {name}: Plain<{kind}> = {json.dumps(value)};\n"


def write(page, out, profiles):
    out.write(HEAD)
    if profiles:  # a plugin of its own since 13
        out.write(f"import {{ GrafanaPyroscopeDataQuery }} from '{PYROSCOPE}';\n")
    out.write(typed("page", "Dashboard", page))
    for p in panels_of(page):
        n = p["id"]
        if p["type"] in OPTIONS:
            out.write(typed(f"options{n}", OPTIONS[p["type"]] + "Options", p["options"]))
        custom = p.get("fieldConfig", {}).get("defaults", {}).get("custom")
        if p["type"] == "timeseries":
            out.write(typed(f"custom{n}", "GraphFieldConfig", custom))
        if p["type"] == "table":
            # filterable is of all fields that can be shown in a table
            custom = {k: v for k, v in custom.items() if k != "filterable"}
            out.write(typed(f"custom{n}", "TableFieldOptions", custom))
        for t in p.get("targets", []):
            if profiles and "profileTypeId" in t:
                out.write(typed(f"query{n}", "GrafanaPyroscopeDataQuery", t))


def main():
    kept, folder = sys.argv[1:]
    profiles = os.path.exists(os.path.join(folder, "../node_modules", PYROSCOPE + ".d.ts"))
    for where, _, files in os.walk(kept):
        for name in files:
            with open(os.path.join(where, name), encoding="utf-8") as f:
                page = json.load(f)
            with open(os.path.join(folder, page["uid"] + ".ts"), "w", encoding="utf-8") as out:
                write(page, out, profiles)
    with open(os.path.join(folder, "tsconfig.json"), "w", encoding="utf-8") as f:
        json.dump({"compilerOptions": {
            "noEmit": True, "strict": True, "skipLibCheck": True, "moduleResolution": "node",
            "module": "es2020", "target": "es2020"}, "include": ["*.ts"]}, f)


main()
