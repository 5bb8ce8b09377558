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

seen=""
look_at() { # interpreter
	local real version program profiler begun right wrong all first
	real=$(readlink -f "$1")
	case " $seen " in *" $real "*) return ;; esac
	seen="$seen $real"
	version=$("$1" -c 'import sys, sysconfig; v = sys.version_info; print("%d.%d%s" % (v[0], v[1], "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""), v[0] == 3 and v[1] >= 9)' 2>/dev/null) || return
	case $version in *True) version=${version% True} ;; *) return ;; esac
	"$1" -c 'import json, threading, zlib' 2>/dev/null || { skip "Python $version" "$1 has no zlib"; return; }
	(echo $BASHPID >"$group/cgroup.procs" && exec "$1" test/stacks.py) </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
	: >"$SCRATCH/summary"
	"$BUILD/ceems-profiler" --cgroup="$group" --duration=1h --profile.hz=97 >"$SCRATCH/stacks" 2>"$SCRATCH/summary" &
	profiler=$!
	started $profiler
	wait_for 60 grep -q 'msg="sampling' "$SCRATCH/summary"
	begun=$(cpu_ticks $program)
	wait_for 120 has_run $program $((begun + 250))
	kill $profiler
	wait $profiler
	kill $program
	wait $program 2>/dev/null
	wait_for 20 test -z "$(cat "$group/cgroup.procs")"
	read -r right wrong < <("$python" test/stacks_judge.py "$SCRATCH/stacks" 2>"$SCRATCH/wrong")
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
