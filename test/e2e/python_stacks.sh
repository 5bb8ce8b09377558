#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of Python stand in native stacks where the interpreter runs them: each CPython that is here, from 3.9 on.
# CEEMS_PYTHONS: more of them, beside those of PATH and of pyenv.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
profiler_group || skip_all "$why"

seen=""
look_at() { # interpreter
	local real version right wrong all first
	real=$(readlink -f "$1")
	case " $seen " in *" $real "*) return ;; esac
	seen="$seen $real"
	version=$("$1" -c 'import sys, sysconfig; v = sys.version_info; print("%d.%d%s" % (v[0], v[1], "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""), v[0] == 3 and v[1] >= 9)' 2>/dev/null) || return
	case $version in *True) version=${version% True} ;; *) return ;; esac
	"$1" -c 'import json, threading, zlib' 2>/dev/null || { skip "Python $version" "$1 has no zlib"; return; }
	run_in_group "$1" test/stacks.py
	profile_program 250
	end_program
	read -r right wrong < <("$python" test/stacks_judge.py "$SCRATCH/stacks" 2>"$SCRATCH/wrong")
	all=$(samples) first=$(number "first of a process")
	ok "Python $version: there are stacks ($right)" test "${right:-0}" -ge 20
	ok "Python $version: all but the first of a process were looked at" test $(((right + wrong) * 100)) -ge $(((${all:-1} - ${first:-0}) * 95))
	ok "Python $version: its functions are where they were called ($wrong are not)" test $((${right:-0} * 100)) -ge $(((${right:-0} + ${wrong:-1}) * 95)) || head -n 3 "$SCRATCH/wrong" >&2
}
python=$(command -v python3) || skip_all "python3 is not installed"
for p in $CEEMS_PYTHONS "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 $(for v in 9 10 11 12 13 14; do type -aP python3.$v; done) /usr/bin/python3; do
	[ -x "$p" ] && look_at "$p"
done
tap_done
