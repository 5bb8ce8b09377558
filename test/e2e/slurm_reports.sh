#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The reports of jobs of a real Slurm while ceemsd is killed again and again,
# and for a while has no spool: each job has one instance, its windows are contiguous, repeated
# ones are the same, and their sums are the last final report and what /metrics says.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm

node=rep$$ spool=$SCRATCH/spool/%n
rig_start --nodes=$node
reports_start() { ceemsd_start --reports.enabled --reports.interval=2s --reports.spool="$spool" --cluster=rig "$@"; }
folder=$SCRATCH/spool/$(hostname)
reports() { "$BUILD/ceems_tool" spool "$folder" >"$SCRATCH/reports" && test -s "$SCRATCH/reports"; }
reports_start
ok "ceemsd starts" wait_for 20 ceemsd_up
is "with a spool of its own" "$(stat -c %a "$folder")" 700

# ---- one job, looked at while it runs
sbatch -J long --array=5 -o /dev/null --wrap "srun $JOBS/burn 300; srun $JOBS/burn 6000; srun false" >/dev/null
of_long() { reports && jq -es "map(select(.hints.name == \"long\" and .kind == \"$1\")) | length >= $2" "$SCRATCH/reports" >/dev/null; }
begun() { [ -n "$(squeue -h -t R -n "$1" -o %A)" ]; }
ok "the job runs" wait_for 30 begun long
at=$SECONDS
ok "its start is told" wait_for 10 of_long start 1
took=$((SECONDS - at))
# the best of three: that is what the daemon needs, the rest is what else runs here
of_next() { reports && jq -es "map(select(.hints.name == \"$1\" and .kind == \"start\")) | length >= 1" "$SCRATCH/reports" >/dev/null; }
for name in next1 next2; do
	[ $took -gt 5 ] || break
	sbatch -J $name -o /dev/null --wrap "sleep 5" >/dev/null
	wait_for 30 begun $name
	at=$SECONDS
	wait_for 10 of_next $name
	took=$((SECONDS - at))
done
ok "within 5 s ($took)" test $took -le 5
ok "its windows are told while it runs" wait_for 20 of_long interval 2
is "they end at multiples of the interval" "$(jq -s 'map(select(.kind == "interval")) | map(.t1_ns % 2000000000) | unique' -c "$SCRATCH/reports")" "[0]"

# ---- many short ones, the daemon killed in between
submit() { local n; for n in $(seq "$1"); do srun "$JOBS/burn" 20 >/dev/null 2>&1; done; }
submitters=()
for i in 1 2; do
	submit 12 &
	submitters+=($!)
done
busy() { local p; for p in "${submitters[@]}"; do kill -0 "$p" 2>/dev/null && return; done; return 1; }
kills=0
while busy || [ $kills -lt 4 ]; do
	sleep "0.$((RANDOM % 800 + 100))"
	kill -9 "$ceemsd_pid"
	{ wait "$ceemsd_pid"; } 2>/dev/null
	kills=$((kills + 1))
	if [ $kills = 2 ]; then # the folder cannot be used for some time
		mv "$folder" "$folder.away" && ln -s nowhere "$folder"
		reports_start
		wait_for 20 grep -q "reports: .*--reports.spool" "$SCRATCH/ceemsd.log"
		sleep 2.5
		rm "$folder" && mv "$folder.away" "$folder"
		sleep 2
	else
		reports_start
		sleep 1.2
	fi
done
wait "${submitters[@]}"
ended() { no_job && nothing_running; }
ok "everything ends" wait_for 60 ended
srun -J brief "$JOBS/burn" 2500 >/dev/null
wait_for 30 ended
all_told() {
	reports && [ "$(jq -s 'map(select(.kind == "final" and (.provisional | not)).instance) | unique | length' "$SCRATCH/reports")" -ge \
		"$(jq '.units | length' "$SCRATCH/units")" ]
}
ok "every job gets its final report" wait_for 70 all_told
of_brief() { reports && jq -es 'map(select(.hints.name == "brief" and .kind == "final" and .memory_average_bytes > 0)) | length >= 1' "$SCRATCH/reports" >/dev/null; }
ok "a job of two seconds has an average of its memory, too" wait_for 15 of_brief
scrape
sleep 1.5
reports
echo "# $kills kills, $(wc -l <"$SCRATCH/reports") reports of $(jq '.units | length' "$SCRATCH/units") units"

# ---- what was told
# "node unit run": one line for each
told() { jq -rs "map(select(.kind == \"$1\"))"' | map("\(.node) \(.unit) \(.restarts) \(.instance)") | unique[]' "$SCRATCH/reports"; }
is "each job on the node has one instance" "$(told final | cut -d' ' -f1-3)" \
	"$(jq -r '.units | map("\(.node) \(.id) \(.restarts)") | unique[]' "$SCRATCH/units")"
is "intervals and finals are of the same instances" "$(told interval)" "$(told final)"
# (jq's numbers: times are right to 256 ns)
sums='
	def n: . // 0;
	group_by(.instance)[] |
	(map(select(.kind == "final")) | last) as $f |
	(map(select(.kind == "interval")) | unique_by(.t0_ns) | sort_by(.t0_ns)) as $w |'
bad() { jq -rs "$sums $1" "$SCRATCH/reports" | head -5; }
is "an interval that came twice is the same" "$(jq -rs 'map(select(.kind == "interval") | del(.seq, .bytes, .hints, .steps, .steps_started, .cpus, .memory_bytes)) |
	group_by([.instance, .t0_ns])[] | unique | select(length > 1) | .[0].unit' "$SCRATCH/reports")" ""
is "windows lie side by side" "$(bad 'select([range(1; $w | length) | $w[.].t0_ns != $w[. - 1].t1_ns] | any) | $f.unit')" ""
is "and begin with the job" "$(bad 'select($w[0].t0_ns != $f.started_ns) | $f.unit')" ""
is "their CPU time is the final's" "$(bad 'select(($w | map(.cpu_user_ns + .cpu_system_ns) | add) != $f.cpu_user_ns + $f.cpu_system_ns) | $f.unit')" ""
is "their energy is, too, by domain and source" "$(bad '
	([$w[].energy | n | if . == 0 then [] else . end] | add | group_by([.domain, .source]) | map([.[0].domain, .[0].source, (map(.uj) | add)])) as $sum |
	select($sum != ($f.energy | if . == null then [] else . end | sort_by([.domain, .source]) | map([.domain, .source, .uj]))) | "\($f.unit) \($sum) \($f.energy)"')" ""
is "no more was observed than there was" "$(bad 'select($w | map(.observed_ns > .t1_ns - .t0_ns + 1000) | any) | $f.unit')" ""
is "the finals say what /metrics says" "$(jq -rs 'group_by(.instance)[] | map(select(.kind == "final")) | last | "\(.node) \(.unit) \(.cpu_user_ns + .cpu_system_ns)"' \
	"$SCRATCH/reports" | sort)" "$(scraped_cpu)"
joules='if . == null then 0 else . * 1000000 | round end'
is "and the same energy" "$(jq -rs "group_by(.instance)[] | map(select(.kind == \"final\")) | last | \"\(.unit) \(.energy // [] | map(select(.domain == \"host\").uj) | add // 0)\"" "$SCRATCH/reports" | sort)" \
	"$(jq -r ".units[] | \"\(.id) \(.energy_joules.host | $joules)\"" "$SCRATCH/units" | sort)"
final_long() { jq -rs "map(select(.kind == \"final\" and .hints.name == \"long\")) | last | $1" "$SCRATCH/reports"; }
is "the long job ended as it did, with its array task" "$(final_long '"\(.end) \(.array_task) \(.cluster)"')" "failed 5 rig"
is "its steps have their exit statuses" "$(final_long '[.steps[] | select(.step | test("^[0-9]+$"))] | sort_by(.step | tonumber) | map("\(.step):\(.exit_status)") | join(" ")')" "0:0 1:0 2:256"
ok "some of it was not observed: nobody was there" test "$(final_long '.observed_ns < .t1_ns - .t0_ns')" = true
is "no unit was given up" "$(value ceems_reports_untold_units_total)" 0
ok "that the spool could not be used was said" grep -q "reports: .*--reports.spool" "$SCRATCH/ceemsd.log"
tap_done
