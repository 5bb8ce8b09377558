# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks a running Grafana, as one of its users, what its pages ask.

  grafana_live.py URL USER:PASSWORD FOLDER FROM TO NAME=VALUE...

A line of JSON for each query of each panel and variable of each page in that folder (its uid), with
variables that have these values and a time from FROM to TO (seconds): page, title, ref, kind,
error ("" when there is none), values (how many), text (the whole answer).
Pages are those that Grafana shows to that user. Prometheus' intervals are left to Grafana.
"""
import base64
import json
import sys
import urllib.error
import urllib.request
from urllib.parse import quote

from grafana import fill, questions_of, selector_of

UIDS = {"prometheus": "ceems-prometheus", "labels": "ceems-prometheus", "api": "ceems-api",
        "profiles": "ceems-profiles"}


class Grafana:
    def __init__(self, url, who):
        self.url = url
        self.head = {"Authorization": "Basic " + base64.b64encode(who.encode()).decode(),
                     "Content-Type": "application/json"}

    def ask(self, path, body=None):
        """(status, JSON or text)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self.head)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as e:
            status, text = e.code, e.read()
        text = text.decode(errors="replace")
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text


def count(frames):
    """Values of frames, beside times and what is null."""
    n = 0
    for f in frames:
        fields = f["schema"].get("fields", [])
        for field, values in zip(fields, f["data"].get("values", [])):
            if field.get("type") != "time":
                n += sum(v is not None for v in values)
    return n


def ask_query(grafana, kind, target, begin, end):
    query = dict(target, refId=target.get("refId", "A"), intervalMs=1000, maxDataPoints=600,
                 datasource={"uid": UIDS[kind]})
    status, answer = grafana.ask("/api/ds/query", {
        "queries": [query], "from": f"{begin}000", "to": f"{end}000"})
    if not isinstance(answer, dict) or "results" not in answer:
        return f"{status}: {answer}", 0, answer
    result = answer["results"].get(query["refId"], {})
    return result.get("error", ""), count(result.get("frames", [])), answer


def ask_labels(grafana, target, begin, end):
    selector, label = selector_of(target)
    status, answer = grafana.ask(
        f"/api/datasources/uid/{UIDS['labels']}/resources/api/v1/label/{label}/values"
        f"?match[]={quote(selector)}&start={begin}&end={end}")
    if not isinstance(answer, dict) or answer.get("status") != "success":
        return f"{status}: {json.dumps(answer)}", 0, answer
    return "", len(answer["data"]), answer


def main():
    url, who, folder, begin, end, *values = sys.argv[1:]
    grafana = Grafana(url, who)
    values = dict(v.split("=", 1) for v in values)
    status, found = grafana.ask("/api/search?type=dash-db&limit=1000")
    if status != 200:
        sys.exit(f"{url}: {status} {found}")
    for uid in sorted(f["uid"] for f in found if f.get("folderUid") == folder):
        page = grafana.ask("/api/dashboards/uid/" + uid)[1]["dashboard"]
        for title, kind, target in questions_of(page):
            target = fill(target, values)
            if kind == "labels":
                error, n, text = ask_labels(grafana, target, begin, end)
            else:
                error, n, text = ask_query(grafana, kind, target, begin, end)
            print(json.dumps({"page": uid, "title": title, "kind": kind, "error": error,
                              "ref": "V" if title[:1] == "$" else target["refId"], "values": n,
                              "text": json.dumps(text)}))


main()
