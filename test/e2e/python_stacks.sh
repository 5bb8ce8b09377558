#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of Python stand in native stacks where the interpreter runs them: each CPython that is here, from 3.9 on.
# CEEMS_PYTHONS: more of them, beside those of PATH and of pyenv.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev)"
have_root || skip_all "not root"
if [ -d /sys/fs/cgroup/cpuacct ]; then parent=/sys/fs/cgroup/cpuacct; else parent=/sys/fs/cgroup; fi
group=$parent/ceems_test_$$
mkdir "$group" 2>/dev/null || skip_all "no control group can be made here"
test_cleanup() { wait_for 20 rmdir "$group"; }
why=$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1ms --log.level=error 2>&1 >"$SCRATCH/none")
[ -z "$why" ] || skip_all "this kernel does not let it: ${why#*msg=}"

cat >"$SCRATCH/mix.py" <<'P'
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
P
cat >"$SCRATCH/judge.py" <<'P'
import re, sys
right = wrong = 0
frame = re.compile(r"^(.*) \([^()]*\.py\)$")
chain = re.compile(r"^((_bootstrap;_bootstrap_inner;run)|<module>)(;main(;run(;step)?|;encode(;dumps(;encode(;iterencode)?)?)?|;pack|;sorting(;by_key)?|(;deep)+(;step)?)?)?$")
for line in open(sys.argv[1]):
    stack, n = line.rsplit(" ", 1)
    frames = stack.split(";")
    if not re.match("_start|_?_?clone|start_thread", frames[0]): # from before the process was known
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
P
seen=""
look_at() { # interpreter
	local real version program right wrong all first
	real=$(readlink -f "$1")
	case " $seen " in *" $real "*) return ;; esac
	seen="$seen $real"
	version=$("$1" -c 'import sys, sysconfig; v = sys.version_info; print("%d.%d%s" % (v[0], v[1], "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""), v[0] == 3 and v[1] >= 9)' 2>/dev/null) || return
	case $version in *True) version=${version% True} ;; *) return ;; esac
	"$1" -c 'import json, threading, zlib' 2>/dev/null || { skip "Python $version" "$1 has no zlib"; return; }
	(echo $BASHPID >"$group/cgroup.procs" && exec "$1" "$SCRATCH/mix.py") </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
	"$BUILD/ceems-profiler" --cgroup="$group" --duration=3s --profile.hz=97 >"$SCRATCH/stacks" 2>"$SCRATCH/summary"
	kill $program
	wait $program 2>/dev/null
	wait_for 20 test -z "$(cat "$group/cgroup.procs")"
	read -r right wrong < <("$python" "$SCRATCH/judge.py" "$SCRATCH/stacks" 2>"$SCRATCH/wrong")
	all=$(sed -n 's/.*msg="\([0-9]*\) samples.*/\1/p' "$SCRATCH/summary") first=$(sed -n 's/.*first of a process \([0-9]*\).*/\1/p' "$SCRATCH/summary")
	ok "Python $version: there are stacks ($right)" test "${right:-0}" -ge 20
	ok "Python $version: all but the first of a process were looked at" test $(((right + wrong) * 100)) -ge $(((${all:-1} - ${first:-0}) * 95))
	ok "Python $version: its functions are where they were called ($wrong are not)" test $((${right:-0} * 100)) -ge $(((${right:-0} + ${wrong:-1}) * 95)) || head -n 3 "$SCRATCH/wrong" >&2
}
python=$(command -v python3) || skip_all "python3 is not installed"
for p in $CEEMS_PYTHONS "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 $(for v in 9 10 11 12 13 14; do type -aP python3.$v; done) /usr/bin/python3; do
	[ -x "$p" ] && look_at "$p"
done
tap_done
