# SPDX-License-Identifier: GPL-2.0-or-later
# Known functions of Python, in two threads, with C in between: what is sampled of it test/stacks_judge.py judges.
import json, threading, zlib
DATA = {"k%d" % i: list(range(20)) for i in range(200)}
BYTES = bytes(range(256)) * 2000
class Solver:
    def step(self, n):
        s = 0
        for i in range(n):
            s += i * i % 7
        return s
    def run(self, n):
        return self.step(n) + self.step(n)
def encode():
    return len(json.dumps(DATA))
def pack():
    return len(zlib.compress(BYTES, 6))
def by_key(v):
    s = 0
    for i in range(400):
        s += v ^ i
    return s
def sorting(): # Python calls C, which calls Python
    return sorted(range(60), key=by_key)
def deep(n):
    return deep(n - 1) if n else Solver().step(2000)
def main():
    while True:
        Solver().run(20000); encode(); pack(); sorting(); deep(30)
threading.Thread(target=main, daemon=True).start()
main()
