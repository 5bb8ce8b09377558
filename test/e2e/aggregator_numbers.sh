#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs of one job number are told apart, also when slurmctld has lost its state and gives the numbers
# of jobs that it has forgotten to others of the same user: nobody is billed for an earlier job.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
agg_begin
N=$(date +%s)
old() { # unit instance ended: what nodes told of a job that slurmctld forgot
	echo "start instance=$2 unit=$1 started=$((N - 600)) cpus=1"
	echo "interval instance=$2 unit=$1 started=$((N - 600)) t0=$((N - 600)) t1=$3 user=5000000000 system=0 cpus=1"
	echo "final instance=$2 unit=$1 started=$((N - 600)) ended=$3 user=5000000000 system=0 cpus=1"
}
push_old() { local l; mapfile -t l < <(old "$@"); push "${l[@]}"; settle; }
of_record() { sql "SELECT coalesce(sum(cpu_user_ns), 0) FROM unit WHERE uuid = '$1' AND known_by = 'jobcomp'"; }
of_nodes() { sql "SELECT coalesce(sum(cpu_user_ns), 0) FROM unit WHERE uuid = '$1' AND known_by = 'node'"; }
cancelled() { push "job id=$1 submit=$((N - 120)) start=$((N - 60)) end=$((N - 60)) state=4"; settle; }

push_old 6 60 $((N - 300))
cancelled 6
is "a job that never ran has used nothing, also when an earlier one had its number" "$(of_record 6) $(of_nodes 6)" "0 5000000000"
cancelled 7
push_old 7 70 $((N - 300))
is "nor when the earlier one's reports come late" "$(of_record 7) $(of_nodes 7)" "0 5000000000"
push_old 8 80 $((N - 60))
cancelled 8
is "nor when that seems to have run at the same time" "$(of_record 8) $(of_nodes 8)" "0 5000000000"

# told at once, as nodes do: it came, and ended, before the next job of the number began
push_old 9 90 $((N - 300))
sql "UPDATE unit_node SET received = started + interval '3 s' WHERE instance = 90"
push "job id=9 submit=$((N - 120)) start=$((N - 60)) end=$((N - 10)) nodes=n2 node_count=1"
settle
is "a job on another node does not get what was told before it began" "$(of_record 9) $(of_nodes 9)" "0 5000000000"
push "start instance=91 unit=9 node=n2 started=$((N - 60))" "interval instance=91 unit=9 node=n2 started=$((N - 60)) t0=$((N - 60)) t1=$((N - 10)) user=7 system=0" \
	"final instance=91 unit=9 node=n2 started=$((N - 60)) ended=$((N - 10)) user=7 system=0"
settle
is "it gets its own" "$(of_record 9) $(of_nodes 9)" "7 5000000000"

# the node was booted between
push "start instance=100 unit=10 started=$((N - 600))" "interval instance=100 unit=10 started=$((N - 600)) t0=$((N - 600)) t1=$((N - 300)) user=5 system=0" \
	"start instance=101 unit=10 boot=22222222-2222-3333-4444-555555555555 started=$((N - 298))" \
	"interval instance=101 unit=10 boot=22222222-2222-3333-4444-555555555555 started=$((N - 298)) t0=$((N - 298)) t1=$((N - 100)) user=7 system=0"
settle
is "no job lives on while its node boots" "$(sql "SELECT string_agg(cpu_user_ns::text, ' ' ORDER BY cpu_user_ns) FROM unit WHERE uuid = '10'")" "5 7"

# whose node's clock was behind all the same
push "start instance=110 unit=11 started=$((N - 3000))" "interval instance=110 unit=11 started=$((N - 3000)) t0=$((N - 3000)) t1=$((N - 2900)) user=9 system=0"
settle
push "job id=11 submit=$((N - 700)) start=$((N - 600)) end=$((N - 500)) nodes=n1 node_count=1"
settle
is "a clock that was 40 minutes behind is no other job" "$(of_record 11) $(of_nodes 11)" "9 0"
push_old 12 120 $((N - 300))
push "job id=12 submit=$((N - 700)) start=$((N - 600)) end=$((N - 300)) nodes=n1 node_count=1 uid=1001"
settle
is "another user's job of the number is another" "$(of_record 12) $(of_nodes 12)" "0 5000000000"
tap_done
