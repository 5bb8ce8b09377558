#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs of one job number are distinguished, also when slurmctld has lost its state and gives the numbers
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

# ---- SLUIDs: slurmctld's record has the job's, the node reads it off the control group's name (26.05) ----
# as numbers and as Slurm spells them
first=4503599627370497 F=s0040000000001 second=4503599627370498 S=s0040000000002
told() { # unit instance cpu [more]: of a job that lived while the record's ran
	local u=$1 i=$2 cpu=$3
	shift 3
	push "start instance=$i unit=$u started=$((N - 590)) $*" "interval instance=$i unit=$u started=$((N - 590)) t0=$((N - 590)) t1=$((N - 500)) user=$cpu system=0 $*" \
		"final instance=$i unit=$u started=$((N - 590)) ended=$((N - 500)) user=$cpu system=0 $*"
}
ran() { push "job id=$1 submit=$((N - 700)) start=$((N - 600)) end=$((N - 490)) nodes=n1 node_count=1 $2"; }
by_its_name() { of_record "$1"; sql "SELECT count(*) FROM unit WHERE uuid = '$2'"; }
# flags=4: found by its control group alone, whose name is all that the node knows
T=s0040000000003 U=s0040000000004
ran 13 sluid=$first
told 14 140 5 sluid=$S
told 15 150 5 hint=$S
told 16 160 5 sluid=$S
told 17 170 5 sluid=$F uid=1001
told 18 180 5 sluid=$F
# a clock that leapt by two days, further than any time is believed
push "job id=19 submit=$((N - 172900)) start=$((N - 172800)) end=$((N - 172790)) nodes=n1 node_count=1 sluid=$second"
told $T 200 5 sluid=$T flags=4 uid=4294967294
ran 21 sluid=4503599627370500
told 22 220 5 sluid=$F
settle
told 13 130 5 sluid=$S
ran 14 sluid=$first
ran 15 sluid=$first
ran 16
ran 17 sluid=$first
told 18 181 7 sluid=$S
told 19 190 5 sluid=$S
ran 20 sluid=4503599627370499
told $U 210 5 sluid=$U flags=4 uid=4294967294
# found in mid-life, after an earlier job of the number in another group
push "start instance=221 unit=22 started=$((N - 300)) before_user=9 before_system=0 sluid=$S" \
	"final instance=221 unit=22 started=$((N - 300)) ended=$((N - 200)) user=1 system=0 before_user=9 before_system=0 sluid=$S"
settle
is "another SLUID is another job, although user, boot and time fit" "$(of_record 13) $(of_nodes 13)" "0 5"
is "nor does a record take what another job used" "$(of_record 14) $(of_nodes 14)" "0 5"
is "what a job's environment says decides nothing, nor a SLUID without the other" "$(of_record 15) $(of_nodes 15) $(of_record 16) $(of_nodes 16)" "5 0 5 0"
is "another user's stays apart with the same SLUID" "$(of_record 17) $(of_nodes 17)" "0 5"
is "nodes alone tell two jobs apart" "$(sql "SELECT string_agg(cpu_user_ns::text, ' ' ORDER BY cpu_user_ns) FROM unit WHERE uuid = '18'")" "5 7"
is "the same SLUID joins what clocks would part" "$(of_record 19) $(of_nodes 19)" "5 0"
is "a job that a node knows by its SLUID alone comes to its record" "$(by_its_name 20 $T | paste -sd' ')" "5 0"
is "also when the record was there first" "$(by_its_name 21 $U | paste -sd' ')" "5 0"
is "what an earlier job of the number used is not taken from what a group had counted" \
	"$(sql "SELECT string_agg(cpu_user_ns::text, ' ' ORDER BY cpu_user_ns) FROM unit WHERE uuid = '22'")" "5 10"
told 13 131 7 sluid=$F
settle
is "the same SLUID is the same job" "$(of_record 13) $(of_nodes 13)" "7 5"
tap_done
