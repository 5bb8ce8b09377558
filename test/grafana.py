# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes dashboards apart for the tests.

  grafana.py check FOLDER DOC...      what is wrong with them, a line each: structure, variables,
                                      links, rules of queries, names of metrics (documented in
                                      DOC..., recorded by the rules, or listed in ../later)
  grafana.py queries FOLDER NAME=VALUE...   a JSON line for each query of each panel and
                                      variable, with variables replaced by these values
  grafana.py promql FOLDER            the PromQL of users' pages, each query once and with a NUL
  grafana.py judge QUERIES ANSWERS MUST [COLUMN...]   what is wrong with the answers (files 1, 2
                                      ... in a folder) to these lines: errors, columns that no
                                      row has (COLUMNs need not be there), panels of the file
                                      MUST (page|title|refs) without data
"""
import json
import os
import re
import signal
import subprocess
import sys
from urllib.parse import quote, urlencode

PLUGINS = {"prometheus": "prometheus", "yesoreyeram-infinity-datasource": "api",
           "grafana-pyroscope-datasource": "profiles",
           "phlare": "profiles"}  # as it was called before Grafana 10.1
PANELS = {"row", "timeseries", "stat", "table", "bargauge", "barchart", "piechart", "flamegraph",
          "text"}
FROM_GRAFANA = {"__from", "__to", "__rate_interval", "__range", "__interval", "__value",
                "__data", "__url_time_range", "__all"}
VARIABLE = re.compile(r"\$(?:\{(\w+)[^}]*\}|(\w+))")


def dashboards(folder):
    for where, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith(".json"):
                with open(os.path.join(where, name), encoding="utf-8") as f:
                    yield os.path.basename(where), name, json.load(f)


def panels_of(page):
    for p in page["panels"]:
        yield p
        yield from p.get("panels", [])


def strings(x):
    if isinstance(x, str):
        yield x
    elif isinstance(x, dict):
        for k, v in x.items():
            yield from strings(v)
    elif isinstance(x, list):
        for v in x:
            yield from strings(v)


def fill(x, values):
    """Variables replaced; what has no value stays, so that it is seen."""
    if isinstance(x, str):
        return VARIABLE.sub(lambda m: values.get(m.group(1) or m.group(2), m.group(0)), x)
    if isinstance(x, dict):
        return {k: fill(v, values) for k, v in x.items()}
    if isinstance(x, list):
        return [fill(v, values) for v in x]
    return x


def questions_of(page):
    """(title, kind, target) of everything on a page that asks something."""
    for p in panels_of(page):
        for t in p.get("targets", []):
            yield p["title"], PLUGINS[t["datasource"]["type"]], t
    for v in page["templating"]["list"]:
        if v["type"] != "query":
            continue
        q = v["query"]
        if "infinityQuery" in q:
            yield "$" + v["name"], "api", q["infinityQuery"]
        else:
            yield "$" + v["name"], "labels", q


def questions(folder):
    """(folder, page, title, kind, target) of everything that asks something."""
    for where, _, page in dashboards(folder):
        for title, kind, t in questions_of(page):
            yield where, page, title, kind, t


def selector_of(q):
    """label_values(SELECTOR,LABEL) -> both"""
    m = re.fullmatch(r"label_values\((.*),(\w+)\)", q["query"])
    return m.group(1), m.group(2)


# ---- structure

def check_page(where, name, page, uids):
    def bad(what):
        print(f"{name}: {what}")

    for key, kind in (("uid", str), ("title", str), ("panels", list), ("templating", dict),
                      ("time", dict), ("schemaVersion", int), ("tags", list)):
        if not isinstance(page.get(key), kind):
            bad(f"{key} is not there or of another type")
    if len(page["uid"]) > 40 or not re.fullmatch(r"[a-zA-Z0-9_-]+", page["uid"]):
        bad("uid: at most 40 letters, digits, _ and -")
    if name != page["uid"] + ".json":
        bad("is not called as its uid")
    if page.get("id") is not None:
        bad("has an id of some database")
    check_panels(page, bad)
    check_variables(page, bad)
    for s in strings(page):
        for uid in re.findall(r"/d/([a-zA-Z0-9_-]+)", s):
            if uid not in uids:
                bad(f"leads to {uid}, which is not there")
            elif where == "user" and uids[uid] != "user":
                bad(f"leads users to {uid}")
        if "/d/" in s:
            for given in re.findall(r"[?&](?:var-)?(\w+)=", s):
                if given not in ("uuid", "cluster", "project", "from", "to"):
                    bad(f"hands {given} on by its URL")


def check_panels(page, bad):
    ids, taken = set(), {}
    for p in panels_of(page):
        if p["type"] not in PANELS:
            bad(f"panel type {p['type']}")
        if p["id"] in ids:
            bad(f"two panels with id {p['id']}")
        ids.add(p["id"])
        g = p["gridPos"]
        if not (0 <= g["x"] and g["x"] + g["w"] <= 24 and g["w"] > 0 and g["h"] > 0):
            bad(f"{p['title']}: outside of the grid")
        for x in range(g["x"], g["x"] + g["w"]):
            for y in range(g["y"], g["y"] + g["h"]):
                if (x, y) in taken:
                    bad(f"{p['title']} lies on {taken[x, y]}")
                    return
                taken[x, y] = p["title"]
        if p["type"] in ("row", "text"):
            continue
        if not p.get("description"):
            bad(f"{p['title']}: says nothing about itself")
        refs = [t["refId"] for t in p["targets"]]
        if not refs or len(refs) != len(set(refs)):
            bad(f"{p['title']}: refIds")
        if any(t["datasource"] != p["datasource"] for t in p["targets"]):
            bad(f"{p['title']}: several data sources")


def check_variables(page, bad):
    known = set()
    for v in page["templating"]["list"]:
        if v["type"] not in ("datasource", "query", "custom"):
            bad(f"${v['name']}: a variable of type {v['type']} is what somebody typed")
        used = {a or b for s in strings(v) for a, b in VARIABLE.findall(s)}
        for u in used - known - FROM_GRAFANA:
            bad(f"${v['name']} uses ${u}, which comes later or not at all")
        known.add(v["name"])
    for s in strings(page["panels"]):
        for a, b in VARIABLE.findall(s):
            if (a or b) not in known | FROM_GRAFANA and not (b or "").isdigit():
                bad(f"${a or b} is no variable")


# ---- queries

def prove(queries, *flags):
    """What promql_prove says of each."""
    prog = os.path.join(os.environ["BUILD"], "promql_prove")
    out = subprocess.run([prog, *flags], input="".join(q + "\0" for q in queries).encode(),
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    return out.split("\0")[:-1]


EXAMPLE = {"uuid": "4711", "host": ".*", "node": "n1", "instance": "n1:9010",
           "__rate_interval": "60s", "__range": "3600s", "provider": "owid", "cluster": "alpha"}


def check_queries(folder, documented, recorded, later):
    asked, selected = [], []
    for where, page, title, kind, t in questions(folder):
        at = f"{page['uid']}: {title}"
        if kind == "prometheus":
            asked.append((where, at, fill(t["expr"], EXAMPLE)))
        elif kind == "labels":
            selected.append((where, at, fill(selector_of(t)[0], EXAMPLE)))
        elif kind == "api" and where == "user":
            path = t["url"]
            if path.endswith("/admin") or path.endswith("/usage/projects"):
                print(f"{at}: {path} is not for users")
        elif kind == "profiles" and fill(t["labelSelector"], EXAMPLE) != '{service_name="4711"}':
            print(f"{at}: names no unit")
    used = set()
    for items, flags in ((asked, []), (asked, ["-3"]), (selected, ["-s"])):
        for (where, at, query), said in zip(items, prove([q for _, _, q in items], *flags)):
            if said[0] == "-":
                print(f"{at}: {query}: {said[1:]}")
                continue
            names = said[1:].rsplit("|", 1)[-1].split()
            used |= set(names)
            if where == "user" and said[0] == "!":
                print(f"{at}: {query}: refused: {said[1:].rsplit('|', 1)[0]}")
            for n in names:
                if "[" not in n and n not in documented | recorded | set(later):
                    print(f"{at}: {n} is not documented, recorded or listed as later")
            if "increase(" in query and any(n.startswith("ceems_compute_unit") for n in names):
                print(f"{at}: increase() of a unit's counter: {query}")
    for n in later:
        if n in documented | recorded:
            print(f"later: {n} is there by now")
        if n not in used:
            print(f"later: no panel asks for {n}")
    waiting(folder, later)


def waiting(folder, later):
    """Panels without data say so."""
    for _, page, title, kind, t in questions(folder):
        if kind != "prometheus":
            continue
        panel = next(p for p in panels_of(page) if t in p.get("targets", []))
        for n in later:
            if re.search(rf"\b{n}\b", t["expr"]) and n not in panel["description"]:
                print(f"{page['uid']}: {title} does not say that {n} has no data yet")


def names_in(files):
    found = set()
    for f in files:
        with open(f, encoding="utf-8") as doc:
            for line in doc:
                if line.startswith("|"):
                    found |= set(re.findall(r"`([a-zA-Z_:][a-zA-Z0-9_:]*)`", line.split("|")[1]))
    return found | {"up"}


def check(folder, docs):
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    uids = {}
    for where, name, page in dashboards(folder):
        if page["uid"] in uids:
            print(f"{name}: uid {page['uid']} is another's")
        uids[page["uid"]] = where
    for where, name, page in dashboards(folder):
        check_page(where, name, page, uids)
    with open(os.path.join(top, "contrib/prometheus/rules.in"), encoding="utf-8") as f:
        recorded = set(re.findall(r"- record: (\S+)", f.read()))
    with open(os.path.join(top, "contrib/grafana/later"), encoding="utf-8") as f:
        later = [line.split()[0] for line in f if line.strip() and line[0] != "#"]
    check_queries(folder, names_in(docs), recorded, later)


# ---- live

def queries(folder, values):
    """Each as a line of JSON; "ask" is what stands after the address of a server."""
    for n, (where, page, title, kind, t) in enumerate(questions(folder), 1):
        out = {"n": n, "folder": where, "page": page["uid"], "title": title, "kind": kind,
               "ref": "V" if title[0] == "$" else t["refId"]}
        if kind == "prometheus":
            query = quote(fill(t["expr"], values))
            at = "time={to}" if t.get("instant") else "start={from}&end={to}&step={step}"
            out["ask"] = (f"/api/v1/query{'' if t.get('instant') else '_range'}?query={query}&"
                          + at.format(**values))
        elif kind == "labels":
            selector, label = selector_of(fill(t, values))
            out["ask"] = (f"/api/v1/label/{label}/values?match[]={quote(selector)}&"
                          "start={from}&end={to}".format(**values))
        elif kind == "api":
            params = [(p["key"], fill(p["value"], values)) for p in t["url_options"]["params"]]
            out["ask"] = fill(t["url"], values) + ("?" if params else "") + urlencode(params)
            out["root"] = t["root_selector"]
            out["columns"] = [c["selector"] for c in t["columns"]]
        else:
            # as the data source asks Pyroscope, in Connect's JSON
            out["ask"] = json.dumps({
                "profileTypeID": t["profileTypeId"], "start": values["from"] + "000",
                "end": values["to"] + "000", "labelSelector": fill(t["labelSelector"], values)})
        print(json.dumps(out))


def walk(rows, path):
    """What a selector finds: members by name, of all elements of a list."""
    for step in path.split("."):
        below = []
        for r in rows:
            if isinstance(r, dict) and step in r:
                v = r[step]
                below += v if isinstance(v, list) else [v]
        rows = below
    return rows


def has_data(answer):
    d = answer.get("data", [])
    if isinstance(d, list):
        return bool(d)
    for r in d.get("result", []):
        if any(v[1] != "NaN" for v in r.get("values", [r.get("value", [0, "NaN"])])):
            return True
    return False


def judge(questions_file, answers, musts, absent):
    """answers/N is the answer to line N. musts: "page|title|refs" that must have data; absent:
    columns that need not be there."""
    seen = set()
    with open(questions_file, encoding="utf-8") as f:
        for line in f:
            q = json.loads(line)
            path = os.path.join(answers, str(q["n"]))
            if not os.path.exists(path):
                continue
            at = f"{q['page']}: {q['title']} {q['ref']}"
            try:
                with open(path, encoding="utf-8") as a:
                    answer = json.load(a)
            except ValueError:
                print(f"{at}: {q['ask']}: no JSON")
                continue
            if answer.get("status") != "success":
                print(f"{at}: {q['ask']}: {answer.get('error')}")
            if q["kind"] == "api":
                judge_rows(q, answer, at, absent)
            elif has_data(answer):
                seen |= {(q["page"], q["title"], q["ref"])}
    for m in musts:
        page, title, refs = m.split("|")
        for ref in refs:
            if (page, title, ref) not in seen:
                print(f"{page}: {title} {ref}: no data")


def judge_rows(q, answer, at, absent):
    rows = walk([answer], q["root"])
    if not rows:
        print(f"{at}: {q['ask']}: no rows")
        return
    for c in q["columns"]:
        if c not in absent and not walk(rows, c):
            print(f"{at}: {q['ask']}: no row has {c}")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    what, args = sys.argv[1], sys.argv[2:]
    if what == "check":
        check(args[0], args[1:])
    elif what == "queries":
        queries(args[0], dict(a.split("=", 1) for a in args[1:]))
    elif what == "promql":
        print("".join(sorted({fill(t["expr"], EXAMPLE) + "\0" for where, _, _, kind, t in
                              questions(args[0]) if kind == "prometheus" and where == "user"})),
              end="")
    elif what == "judge":
        with open(args[2], encoding="utf-8") as f:
            musts = [line.strip() for line in f if line.strip()]
        judge(args[0], args[1], musts, set(args[3:]))


if __name__ == "__main__":
    main()
