# SPDX-License-Identifier: GPL-2.0-or-later
# Of the folded stacks in a file, of test/stacks.py: how many samples have its functions where it calls them, and how
# many have not.
import re, sys
right = wrong = 0
frame = re.compile(r"^(.*) \([^()]*\.py\)$")
chain = re.compile(r"^((_bootstrap;_bootstrap_inner;run)|<module>)(;main(;run(;step)?|;encode(;dumps(;encode(;iterencode)?)?)?|;pack|;sorting(;by_key)?|(;deep)+(;step)?)?)?$")
for line in open(sys.argv[1]):
    stack, n = line.rsplit(" ", 1)
    frames = stack.split(";")
    if not re.match(r"_start|_?_?clone|start_thread|\[libc\.so\.6\];", stack): # from before the process was known
        continue
    names = [m.group(1).split(".")[-1] for m in map(frame.match, frames) if m]
    good = bool(chain.match(";".join(names)))
    if "zlib_compress" in stack or "[libz" in stack:
        good = good and names[-1] == "pack"
    if "list_sort" in stack:
        good = good and "sorting" in names
    if good:
        right += int(n)
    else:
        wrong += int(n)
        print(";".join(names), "|", stack[-200:], file=sys.stderr)
print(right, wrong)
