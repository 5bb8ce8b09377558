#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what unwind_rows printed with what readelf --debug-dump=frames-interp says of the same file.

    compare_rows.py ROWS READELF [arm64]

Prints the number of rows of readelf that were compared, then each that differs."""
import bisect
import re
import sys


def ours(path):
    rows = [line.split() for line in open(path)]
    return [int(r[0], 16) for r in rows], [(r[1], r[2]) for r in rows]


def theirs(path):
    """(address, CFA, frame pointer, return address) of each row"""
    cies, cie, start, columns, seen = {}, None, None, None, True
    for line in open(path):
        words = line.split()
        head = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.)?", line)
        if head:
            if not seen and start is not None:
                yield (start, *cies.get(cie, ("?",) * 3))
            start = int(head[4], 16) if head[2] == "FDE" else None
            cie, seen, columns = head[3] or head[1], False, None
        elif words[:1] == ["LOC"]:
            columns = words
        elif columns and len(words) == len(columns):
            named = dict(zip(columns, words))
            row = tuple(re.sub("^(rsp|rbp|x29)", lambda m: NAMES[m[1]], v) for v in (
                named["CFA"], named.get("rbp", named.get("x29", "u")), named.get("ra", "u")))
            if start is None:
                cies[cie] = row
            else:
                yield (int(words[0], 16), *row)
                seen = True
        elif not words:
            columns = None
    if not seen and start is not None:
        yield (start, *cies.get(cie, ("?",) * 3))


NAMES = {"rsp": "sp", "rbp": "fp", "x29": "fp"}


def expected_arm64(cfa, fp, ra):
    """The return address is behind the frame pointer, where both are saved, or saved alone. readelf prints the
    same where it is in its register and where there is none."""
    if not re.match(r"(sp|fp)[+-]\d+$", cfa) or (fp != "u" and (ra == "u" or int(ra[1:]) != int(fp[1:]) + 8)):
        return lambda o: o[0] == "?"
    if ra == "u":
        return lambda o: o[0] == "end" or o == (cfa, "same")
    return lambda o: o == (cfa, fp if fp != "u" else "ra" + ra[1:])


def expected(cfa, fp, ra):
    """What ours may be: expressions are not printed by readelf."""
    if ra == "u":
        return lambda o: o[0] == "end"
    if ra != "c-8" or not re.match(r"(sp|fp)[+-]\d+$|exp$", cfa) or re.match(r"r\d|r[a-d]x|v", fp):
        return lambda o: o[0] == "?"
    return lambda o: (o[0] == cfa if cfa != "exp" else not re.match(r"sp|end", o[0])) and (
        o[0] == "?" or fp == "exp" or o[1] == ("same" if fp in "us" else fp))


def main():
    addresses, rules = ours(sys.argv[1])
    count, wrong = 0, []
    may_be = expected_arm64 if sys.argv[3:] == ["arm64"] else expected
    for address, *rule in theirs(sys.argv[2]):
        at = bisect.bisect_right(addresses, address) - 1
        count += 1
        if at < 0 or not may_be(*rule)(rules[at]):
            wrong.append((address, rule, rules[at] if at >= 0 else None))
    print(count)
    for address, rule, got in wrong[:20]:
        print(f"{address:x}: {rule}, ours {got}")


main()
