#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The symbols that the SPANK plugins export, and the libraries that they need:
# one symbol too many is a hook for which Slurm forks, one library too many is loaded in every step.
. "$(dirname "$0")/../tap.sh"
command -v nm >/dev/null || skip_all "nm is not installed"
shopt -s nullglob
plugins=("$BUILD"/slurm/*/spank_ceems.so)
[ ${#plugins[@]} != 0 ] || skip_all "no SPANK plugin was built (no slurm/spank.h, or SAN=)"

common="plugin_name plugin_type plugin_version spank_plugin_version"
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort | paste -sd' '; }
sorted() { tr ' ' '\n' <<<"$*" | sort | paste -sd' '; }
# neither the C library's (they carry its version) nor Slurm's
foreign() { nm -D -u "$1" | awk '$1 == "U" { print $2 }' | grep -vE '@GLIBC_|^(slurm|spank)_' | paste -sd' '; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*)$' | paste -sd' '; }
# newest C library version asked for, as a number that sorts
newest_glibc() { nm -D -u "$1" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -V | tail -1; }
# the number that the loader compares, from the plugin and from the headers it was built with
built_for() {
	local at size
	read -r at size < <(readelf -sW "$1" | awk '$8 == "plugin_version" { print $2, $3; exit }')
	[ "$size" = 4 ] || return
	at=$((16#$at))
	# .rodata of a shared object is mapped where it lies in the file
	od -An -tu4 -j "$at" -N 4 "$1" | tr -d ' '
}

for p in "${plugins[@]}"; do
	v=$(basename "$(dirname "$p")")
	job=${p%.so}_job.so
	is "spank_ceems.so ($v) exports its hooks and no prolog or epilog" "$(exports "$p")" \
		"$(sorted $common slurm_spank_exit slurm_spank_init slurm_spank_task_exit slurm_spank_task_post_fork)"
	is "spank_ceems_job.so ($v) exports the prolog and the epilog only" "$(exports "$job")" \
		"$(sorted $common slurm_spank_job_epilog slurm_spank_job_prolog)"
	for f in "$p" "$job"; do
		n="$(basename "$f") ($v)"
		is "$n wants only the C library and Slurm" "$(foreign "$f")" ""
		is "$n loads no other library" "$(needed "$f")" ""
		is "$n has no writable and executable or executable stack segment" \
			"$(readelf -lW "$f" | awk '/GNU_STACK|LOAD/ && /RWE/' | wc -l)" 0
		for s in fork vfork clone pthread_create sigaction signal setenv putenv unsetenv dlopen system popen execve; do
			nm -D -u "$f" | grep -qE " $s(@|$)" && echo "$s"
		done >"$SCRATCH/forbidden"
		is "$n cannot start threads or processes, install handlers or change the environment" \
			"$(paste -sd' ' "$SCRATCH/forbidden")" ""
		number=$(built_for "$f")
		is "$n says Slurm $v to the loader" "$(printf '%02d.%02d' $((number >> 16)) $((number >> 8 & 255)))" "$v"
		is "$n runs with the C library of the oldest supported system (2.36)" \
			"$(printf '%s\n2.36\n' "$(newest_glibc "$f")" | sort -V | tail -1)" 2.36
	done
done
tap_done
