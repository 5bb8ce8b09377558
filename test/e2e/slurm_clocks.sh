#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node whose clock is wrong, and jumps, for everything that runs there: slurmd, slurmstepd with our plugins, a
# munged, ceemsd and its courier; real jobs before, during and after, and some that end while the clock is
# behind their start. Each is there once, with what the kernel counted, and lived when it lived. A wrong clock
# at a job's start goes as far as a real Slurm does: 300 s behind (MUNGE), 120 s ahead (the job's credential).
# STARTS=, LEAPS=: other seconds (mixes_long.sh has more, by chance).
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
. test/clock_off.sh
. test/slurm_bill.sh
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; }
node=clk$$
bill_rig
cat >"$JOBS/both" <<'END'
#!/bin/bash
# both NAME: burns, waits for NAME-go, burns again
"$(dirname "$0")/burn" 30
touch "$1-began"
until [ -e "$1-go" ]; do sleep 0.05; done
"$(dirname "$0")/burn" 30
END
chmod 755 "$JOBS/both"
jobs=0
run_jobs() { # COMMAND...: two jobs, one of them with a step inside
	local n
	for n in "" "srun "; do sbatch -o /dev/null -e /dev/null -J clocks --wrap "$n$*" >/dev/null; done
	jobs=$((jobs + 2))
}
began() { [ -e "$JOBS/$1-began" ]; }
for off in ${STARTS:-60 -200}; do
	clocks_set "$off"
	run_jobs "$JOBS/burn" 30
	ok "jobs of a node whose clock is $off s wrong" wait_for 180 no_job
done
clocks_set 0
run_jobs "$JOBS/both" "$JOBS/while"
ok "two more run" wait_for 60 began while
for off in ${LEAPS:-5 -5 3600 -3600 2592000 -2592000}; do
	clocks_set "$off"
	sleep 0.2
	clocks_set 0
	sleep 0.1
done
touch "$JOBS/while-go"
ok "and end after leaps of up to 30 days" wait_for 180 no_job
for leap in "60 0" "50 -200"; do
	clocks_set "${leap% *}"
	run_jobs "$JOBS/both" "$JOBS/behind${leap% *}"
	wait_for 60 began "behind${leap% *}" || ok "a job runs" false
	clocks_set "${leap#* }"
	touch "$JOBS/behind${leap% *}-go"
	ok "jobs that end ${leap#* } s from the right time and began ${leap% *} s from it" wait_for 180 no_job
	rm -f "$JOBS/behind${leap% *}"-*
done
clocks_set 0
check_bill "all" clocks $jobs
is "each with its node's last word" "$(db "SELECT count(*), count(DISTINCT unit), count(ended) FROM unit_node WHERE final")" "$jobs|$jobs|$jobs"
is "those that began far behind were moved where they belong" "$(db "SELECT count(*) >= 2 FROM unit_node WHERE shift_ms > 150000")" t
is "none was refused" "$(curl -s "http://127.0.0.1:$agg_port/metrics" | sed -n 's/^ceems_aggregator_ingest_refused_records_total //p') $(curl -s "$CEEMSD_URL/metrics" | sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' | paste -sd' ')" "0 0 0"
tap_done
