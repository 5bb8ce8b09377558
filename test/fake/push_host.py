#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes profiles as Pyroscope's push.v1 and /ingest do, and prints what is in each as a line of JSON.

    push_host.py PORT STATUS
    push_host.py PORT CONTROL LOG

With STATUS it answers one request so. Else it goes on, and what it does is in the file CONTROL: a status, with a number
for Retry-After behind it; "slow SECONDS"; "cut": no answer. LOG gets the lines, only of those it answered with 200. A
stand-in for Pyroscope: it reads the wire format by itself, by the numbers of the published messages. GET
/pyroscope/render answers with what it took with the labels of the query."""
import gzip
import http.server
import json
import re
import sys
import time
import urllib.parse


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field: a number or bytes"""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        elif key & 7 != 0:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def all_of(data, number):
    return [v for n, v in fields(data) if n == number]


def numbers(data, number):
    """Those of a repeated field, packed or one by one: pprof's own library does not pack one or two"""
    for value in all_of(data, number):
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            yield one


def stacks(profile):
    texts = [t.decode() for t in all_of(profile, 6)]
    name_of = {}
    for location in all_of(profile, 4):
        by = dict(fields(location))
        name_of[by[1]] = dict(fields(by[4]))[1]
    function = {dict(fields(f))[1]: texts[dict(fields(f))[2]] for f in all_of(profile, 5)}
    for sample in all_of(profile, 2):
        yield [function[name_of[i]] for i in numbers(sample, 1)][::-1], sum(numbers(sample, 2))


def read_push(body):
    series = all_of(body, 1)[0]
    labels = {dict(fields(p))[1].decode(): dict(fields(p))[2].decode() for p in all_of(series, 1)}
    return labels, gzip.decompress(all_of(all_of(series, 2)[0], 1)[0])


def read_ingest(target, body):
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
    labels = dict(re.findall(r'(\w+)="([^"]*)"', query["name"][0]))
    return labels, gzip.decompress(body)


def render(profiles, cpu):
    """Their stacks as /pyroscope/render answers them; cpu: of CPUs, not of blocked threads"""
    root = {"name": "total", "total": 0, "self": 0, "below": {}}
    for profile in profiles:
        for stack in profile["stacks"]:
            at = root
            at["total"] += stack["value"]
            for name in stack["frames"]:
                at = at["below"].setdefault(name, {"name": name, "total": 0, "self": 0, "below": {}})
                at["total"] += stack["value"]
            at["self"] += stack["value"]
    names, levels, row = [], [], [(0, root)]
    while row:
        level, end, below = [], 0, []
        for x, bar in row:
            if bar["name"] not in names:
                names.append(bar["name"])
            level += [x - end, bar["total"], bar["self"], names.index(bar["name"])]
            end = x + bar["total"]
            for child in bar["below"].values():
                below.append((x, child))
                x += child["total"]
        levels.append(level)
        row = below
    return {"version": 1, "flamebearer": {"names": names, "levels": levels, "numTicks": root["total"]},
            "metadata": {"format": "single", "sampleRate": 1000000000 if cpu else 100,
                         "units": "samples" if cpu else "nanoseconds", "name": "cpu" if cpu else "off_cpu"}}


class Host(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        asked = query.get("query", [""])[0]
        wanted = dict(re.findall(r'(\w+)="([^"]*)"', asked), __name__=asked.split(":")[0])
        all_profiles = [json.loads(line) for line in open(sys.argv[3])]
        found = [p for p in all_profiles if wanted.items() <= p["labels"].items()]
        body = json.dumps(render(found, wanted["__name__"] == "process_cpu")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        push = not self.path.startswith("/ingest?")
        labels, profile = read_push(body) if push else read_ingest(self.path, body)
        told = {"path": self.path, "type": self.headers["Content-Type"], "labels": labels}
        tenant = self.headers["X-Scope-OrgID"]
        if tenant:
            told["tenant"] = tenant
        try:
            texts = [t.decode() for t in all_of(profile, 6)]
            by = dict(fields(profile))
            kind = dict(fields(by[1]))
            told |= {"sample_type": [texts[kind[1]], texts[kind[2]]], "period": by.get(12, 0),
                     "stacks": [{"frames": f, "value": v} for f, v in stacks(profile)]}
        except (KeyError, IndexError, ValueError):
            told["stacks"] = None  # no profile: what is sent on unread
        self.answer(json.dumps(told))

    def answer(self, line):
        do = open(sys.argv[2]).read().split() if len(sys.argv) > 3 else sys.argv[2:3]
        if do[0] == "slow":
            time.sleep(float(do[1]))
            do = ["200"]
        if do[0] == "cut":
            self.close_connection = True
            return
        if len(sys.argv) == 3:
            print(line, flush=True)
        elif do[0] == "200":
            with open(sys.argv[3], "a") as log:
                print(line, file=log, flush=True)
        self.send_response(int(do[0]))
        if len(do) > 1:
            self.send_header("Retry-After", do[1])
        # as Connect has it: what went well is an empty message of the kind that was sent, an error is JSON
        well = do[0] == "200"
        body = b"" if well else b'{"code":"none"}'
        self.send_header("Content-Type", self.headers["Content-Type"] if well else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


kind_of_server = http.server.ThreadingHTTPServer if len(sys.argv) > 3 else http.server.HTTPServer
server = kind_of_server(("127.0.0.1", int(sys.argv[1])), Host)
print("ready", file=sys.stderr, flush=True)
if len(sys.argv) > 3:
    server.serve_forever()
server.handle_request()
