#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the dashboards: python3 contrib/grafana/generate [FOLDER]

FOLDER is contrib/grafana/dashboards unless another is given; a test compares what is kept there
with what this writes.
"""
import json
import os
import sys

import operators
import units
import users
from grafana import HERE


def write(page, root):
    folder = os.path.join(root, page.folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, page.uid + ".json"), "w", encoding="utf-8") as f:
        json.dump(page.json(), f, indent=1, ensure_ascii=False)
        f.write("\n")


def main():
    root = sys.argv[1] if sys.argv[1:] else os.path.join(HERE, "..", "dashboards")
    for page in users.pages() + units.pages() + operators.pages():
        write(page, root)


main()
