# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that fetch something once and keep it in the folder $cache.
cache=${CEEMS_RIG_CACHE:-/var/cache/ceems-rig}
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$SCRATCH
remove_unfinished() { # PATH: what killed runs have left as PATH.PID; not what PATH is a link to
	local old
	for old in "$1".*; do
		[[ ${old#"$1".} =~ ^[0-9]+$ ]] && [ ! -e "/proc/${old##*.}" ] && ! [ "$old" -ef "$1" ] && rm -rf "$old"
	done
}
