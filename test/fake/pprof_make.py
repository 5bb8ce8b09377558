#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a profile of pprof's kind, packed by gzip, from lines "outermost;...;innermost SAMPLES".

    pprof_make.py TIME_NS DURATION_NS PERIOD_NS [LABEL=VALUE] <LINES >FILE

PERIOD_NS 0: of blocked threads, for so many nanoseconds. LABEL: one that each sample has, which none of ours does."""
import gzip
import sys

sys.dont_write_bytecode = True
from protobuf_out import block, number, varint

time_ns, duration_ns, period_ns = map(int, sys.argv[1:4])
texts, index = [""], {"": 0}


def text(s):
    if s not in index:
        index[s] = len(texts)
        texts.append(s)
    return index[s]


label = b""
if len(sys.argv) > 4:
    name, value = sys.argv[4].split("=", 1)
    label = block(3, number(1, text(name)) + number(2, text(value)))
kind = number(1, text("cpu" if period_ns else "off_cpu")) + number(2, text("nanoseconds"))
samples, functions = b"", {}
for line in sys.stdin:
    frames, count = line.rsplit(" ", 1)
    ids = [functions.setdefault(f, len(functions) + 1) for f in reversed(frames.split(";"))]
    samples += block(2, block(1, b"".join(map(varint, ids))) + block(2, varint(int(count) * (period_ns or 1))) + label)
rest = b""
for f, i in functions.items():
    rest += block(4, number(1, i) + block(4, number(1, i)))
    rest += block(5, number(1, i) + number(2, text(f)) + number(3, text(f)))
profile = block(1, kind) + samples + rest
for t in texts:
    profile += block(6, t.encode())
profile += number(9, time_ns) + number(10, duration_ns)
if period_ns:
    profile += block(11, kind) + number(12, period_ns)
sys.stdout.buffer.write(gzip.compress(profile, mtime=0))
