#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends the samples of a file in OpenMetrics' format to a server by Prometheus' remote write, oldest first.

    remote_write.py FILE URL [HEADER=VALUE...]"""
import re
import struct
import sys
import urllib.request

sys.dont_write_bytecode = True
from protobuf_out import block, number, varint

SAMPLES = 5000  # of a request


def snappy(data):
    """As literals alone"""
    out = varint(len(data))
    for at in range(0, len(data), 65536):
        part = data[at:at + 65536]
        out += bytes([61 << 2]) + struct.pack("<H", len(part) - 1) + part
    return out


def series(line):
    """(time in ms, TimeSeries of prometheus/prompb)"""
    name, labels, value, at = re.fullmatch(r"(\w+)\{(.*)\} (\S+) (\S+)", line).groups()
    pairs = sorted([("__name__", name), *re.findall(r'(\w+)="([^"]*)"', labels)])
    at = round(float(at) * 1000)
    sample = struct.pack("<Bd", 9, float(value)) + number(2, at)
    return at, b"".join(block(1, block(1, n.encode()) + block(2, v.encode())) for n, v in pairs) + block(2, sample)


with open(sys.argv[1]) as lines:
    rows = sorted((series(line.rstrip("\n")) for line in lines if line[0] != "#"), key=lambda row: row[0])
for i in range(0, len(rows), SAMPLES):
    body = snappy(b"".join(block(1, row) for _, row in rows[i:i + SAMPLES]))
    request = urllib.request.Request(sys.argv[2], body, {
        "Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0"})
    for header in sys.argv[3:]:
        request.add_header(*header.split("=", 1))
    urllib.request.urlopen(request, timeout=60).close()
