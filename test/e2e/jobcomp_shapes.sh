#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# jobcomp_ceems in the shape of each release from 22.05 to 26.11: compiled against stand-ins of
# Slurm's private headers (test/fixture/slurm_shape), loaded, called as that release calls. The
# real trees are built by SLURM_SRC=, the installed releases are run by slurm_jobcomp*.sh.
. "$(dirname "$0")/../tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
libs=("$BUILD/libjobcomp_pic.a" "$BUILD/libbase_pic.a")
[ -e "${libs[0]}" ] && [ -e "${libs[1]}" ] && [ -x "$BUILD/ceems_tool" ] || skip_all "the plugin's libraries were not built here"
case $BUILD in */san-*) skip_all "a plugin with sanitizers cannot be loaded" ;; esac
cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -I. -isystem test/fixture/slurm_shape -pthread)

build() { # NUMBER: plugin and host
	"$cc" "${flags[@]}" -DSLURM_VERSION_NUMBER="$1" -fPIC -fvisibility=hidden -shared -Wl,-z,defs,-z,nodelete -Wl,--unresolved-symbols=ignore-all \
		-Wl,--version-script=jobcomp/exports.map -o "$SCRATCH/plugin.so" jobcomp/jobcomp_ceems.c jobcomp/chain.c "${libs[@]}" &&
		"$cc" "${flags[@]}" -DSLURM_VERSION_NUMBER="$1" -rdynamic -o "$SCRATCH/host" test/fake/jobcomp_shape_host.c -ldl
}
run() { # LINE of the options: the host's output; records in $SCRATCH/records
	rm -rf "$SCRATCH/spool"
	printf 'spool: %s\nchain: jobcomp/other\n%s\n' "$SCRATCH/spool" "$1" >"$SCRATCH/jobcomp.yaml"
	CEEMS_JOBCOMP_CONF=$SCRATCH/jobcomp.yaml "$SCRATCH/host" "$SCRATCH/plugin.so" | sed 's/\(info: ceems: completion records go to\).*/\1/'
	"$BUILD/ceems_tool" spool "$SCRATCH/spool" >"$SCRATCH/records"
}
of() { jq -r "select(.event == \"$1\") | $2" "$SCRATCH/records"; }

for release in 22.05 23.02 23.11 24.05 24.11 25.05 25.11 26.05 26.11; do
	number=$((10#${release%.*} << 16 | 10#${release#*.} << 8))
	ok "$release: it compiles" build $number || continue
	run >"$SCRATCH/out"
	events="ended resized" calls=("chained: end of 77" "chained: end of 77")
	if [ $number -ge $((25 << 16 | 5 << 8)) ]; then
		events="ended resized started"
		calls=("chained: start of 77, event 2" "chained: end of 77, event 1" "chained: end of 77, event 1")
	fi
	# a start may wait until ends are written
	is "$release: each call is a record" "$(jq -r .event "$SCRATCH/records" | sort | paste -sd' ')" "$events"
	is "$release: and a call of the chained plugin" "$(cat "$SCRATCH/out")" \
		"$(printf '%s\n' "chained: jobcomp jobcomp/other, all calls" "info: ceems: completion records go to" "${calls[@]}")"
	is "$release: the end has its times" "$(of ended '"\(.start_s) \(.end_s) \(.state)"')" "1700000010 1700000900 COMPLETED"
	sluid=s028T5CY4TQKFF first=$sluid last=$sluid rows="81985529216486895 81985529216486896"
	case $release in
	22.05 | 23.02 | 23.11 | 24.05) first="" last="" ;; # no SLUID yet
	24.11 | 25.05) last=s028T5CY4TQKFG ;;
	esac
	is "$release: SLUID and database row of both parts" \
		"$(of resized '"\(.sluid // "") \(.db_index)"') $(of ended '"\(.sluid // "") \(.db_index)"')" \
		"$first ${rows% *} $last ${rows#* }"
	newer="" qos=""
	[ $number -lt $((23 << 16 | 2 << 8)) ] || newer=' {"a": 1} n2'
	[ $number -lt $((24 << 16 | 11 << 8)) ] || qos=" long,normal"
	is "$release: what sacct has from it beside that, as far as this release has it" \
		"$(of ended '[.slurm_flags, .admin_comment, .system_comment, .container, .licenses, .constraints, .priority, .extra, .failed_node, .qos_requested] | map(select(.) | tostring) | join(" ")')" \
		"SchedBackfill,StartReceived looked at by slurmctld /oci/bundle matlab:2 avx 4711$newer$qos"
	is "$release: no command line without submit_line" "$(grep -c 's3cret\|submit_line' "$SCRATCH/records")" 0
	[[ $events == *started ]] || continue
	is "$release: the start says who, what and where, and no end" \
		"$(of started '[.job_id, .user, .uid, .account, .name, .partition, .qos, .nodes, .cpus, .start_s, .end_s, .exit_code, .state, .part_s] | map(tostring) | join(" ")')" \
		"77 ann 1000 physics sim main normal n[1-2] 8 1700000010 null null RUNNING 1700000010"
done
run "submit_line: yes" >"$SCRATCH/out"
is "a command line where the site wants it, with every record of the job" "$(jq -r .submit_line "$SCRATCH/records" | sort | uniq -c | tr -s ' ')" \
	" 3 sbatch --token=s3cret x.sh"
tap_done
