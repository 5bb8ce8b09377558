#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the dashboards: python3 contrib/grafana/generate [FOLDER]
or pictures of their layout: python3 contrib/grafana/generate --pictures doc

FOLDER is contrib/grafana/dashboards unless another is given; a test compares what is kept there
with what this writes. Pictures are drawn by rsvg-convert (librsvg2-bin, fonts-dejavu-core) and
made small by pngquant; each has in it what it is a picture of (a PNG text "layout"), so that a test
can say which is out of date.
--layouts prints that of each page.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib

import operators
import picture
import units
import users
from grafana import HERE


def layout_of(page):
    return picture.svg(json.loads(json.dumps(page.json())))


def name_of(svg):
    return hashlib.sha256(svg.encode()).hexdigest()[:16]


def draw(page, folder):
    svg = layout_of(page)
    png = svg.encode()
    for tool in ["rsvg-convert", "--format=png"], ["pngquant", "--nofs", "48", "-"]:
        png = subprocess.run(tool, input=png, check=True, stdout=subprocess.PIPE).stdout
    body = b"tEXt" + b"layout\0" + name_of(svg).encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    with open(os.path.join(folder, f"grafana-{page.uid}.png"), "wb") as f:
        f.write(png[:33] + chunk + png[33:])  # after the signature and IHDR


def write(page, root):
    folder = os.path.join(root, page.folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, page.uid + ".json"), "w", encoding="utf-8") as f:
        json.dump(page.json(), f, indent=1, ensure_ascii=False)
        f.write("\n")


def main():
    pages = users.pages() + units.pages() + operators.pages()
    args = sys.argv[1:]
    for page in pages:
        if args[:1] == ["--layouts"]:
            print(page.uid, name_of(layout_of(page)))
        elif args[:1] == ["--pictures"]:
            draw(page, args[1])
        else:
            write(page, args[0] if args else os.path.join(HERE, "..", "dashboards"))


main()
