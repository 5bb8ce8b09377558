#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes one profile as Pyroscope's push.v1 does, and prints what is in it as JSON.

    push_host.py PORT STATUS

STATUS is what it answers. A stand-in for Pyroscope: it reads the wire format by itself, by the numbers of the
published messages."""
import gzip
import http.server
import json
import sys


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


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def all_of(data, number):
    return [v for n, v in fields(data) if n == number]


def stacks(profile):
    texts = [t.decode() for t in all_of(profile, 6)]
    name_of = {}
    for location in all_of(profile, 4):
        by = dict(fields(location))
        name_of[by[1]] = dict(fields(by[4]))[1]
    function = {dict(fields(f))[1]: texts[dict(fields(f))[2]] for f in all_of(profile, 5)}
    for sample in all_of(profile, 2):
        by = dict(fields(sample))
        yield [function[name_of[i]] for i in numbers(by[1])][::-1], sum(numbers(by[2]))


class Host(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        series = all_of(body, 1)[0]
        labels = {dict(fields(p))[1].decode(): dict(fields(p))[2].decode() for p in all_of(series, 1)}
        profile = gzip.decompress(all_of(all_of(series, 2)[0], 1)[0])
        texts = [t.decode() for t in all_of(profile, 6)]
        by = dict(fields(profile))
        kind = dict(fields(by[1]))
        found = list(stacks(profile))
        print(json.dumps({
            "path": self.path, "type": self.headers["Content-Type"], "labels": labels,
            "sample_type": [texts[kind[1]], texts[kind[2]]], "period": by[12],
            "stacks": [{"frames": f, "value": v} for f, v in found]}), flush=True)
        self.send_response(int(sys.argv[2]))
        self.send_header("Content-Length", "15")
        self.end_headers()
        self.wfile.write(b'{"code":"none"}')

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Host)
print("ready", file=sys.stderr, flush=True)
server.handle_request()
