#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo, as make demo runs it: each of its jobs is in a real Prometheus with its final
# counters, they add up to the node's, and demo-stop ends exactly what was started. It also
# starts over one that was killed. The project lies in a home of mode 0700 here, as Debian makes
# them: what other users run must come to where they can reach it.
. "$(dirname "$0")/../tap.sh"
why=$(test/rig/slurm possible) || skip_all "$why"
for c in prometheus curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
ls "$BUILD"/slurm/*/spank_ceems.so >/dev/null 2>&1 || skip_all "the plugins were not built here"

# the demo of its own build folder, so that one which a person has running is left alone
mkdir -m 700 "$SCRATCH/home"
mkdir "$SCRATCH/home/build"
ln -s "$BUILD"/{ceemsd,ceems-courier,ceems_aggregator,cacct,ceems_lb,ceems_tool,slurm} "$SCRATCH/home/build/"
export BUILD=$SCRATCH/home/build
test_cleanup() { test/rig/demo stop; }

processes() { # what runs with the demo's mark, or its rig's, zombies apart
	local p
	for p in $(cd /proc && grep -lszE "^(CEEMS_DEMO_PROG=$demo|SLURM_RIG_DIR=$demo/slurm)\$" [0-9]*/environ); do
		p=${p%/environ}
		[ "$p" = $$ ] || grep -qs '^State:.Z' "/proc/$p/status" || readlink "/proc/$p/exe"
	done
}

# on a busy machine the demo takes longer than ended jobs stay in /units, which we look at last
start() { CEEMS_DEMO_FLAGS=--unit.linger=1h test/rig/demo start >"$SCRATCH/page" 2>&1; }
ok "it starts, and its own check of the sums holds" start
demo=$(. "$BUILD/demo/demo.env" && echo "$CEEMS_DEMO_DIR")
as_games() { setpriv --reuid games --regid games --clear-groups sh -c '"$0" --version >/dev/null 2>&1; echo $?' "$1"; }
is "its programs are where ordinary users can run them" "$(as_games "$demo/programs/ceemsd")" 0
is "where they were built that is not so" "$(as_games "$BUILD/ceemsd")" 126
sed 's/^/# /' "$SCRATCH/page"
rows() { grep -E '^ +[0-9]+  [a-z]+[0-9]* +[a-z]+ +COMPLETED ' "$SCRATCH/page"; }
is "one row per job" "$(rows | wc -l)" 26
is "twenty of them are the array's" "$(rows | grep -c ' short ')" 20
is "they belong to two users" "$(rows | awk '{ print $3 }' | sort -u | paste -sd' ')" "daemon games"
is "every job used CPU time" "$(rows | awk '!($5 + $6 > 0.001)')" ""
is "the short ones far less than the burners" "$(rows | awk '$2 == "short" && $5 + $6 > 0.5')" ""
like "the node's energy is there, with its source and the provider of the factor" "$(grep '^the node: ' "$SCRATCH/page")" \
	'^the node: [0-9.]+ J by [a-z]+.* = jobs [0-9.]+ \+ idle [0-9.]+ \+ system [0-9.]+; 475.0 g/kWh by global$'
is "every job took joules and emitted" "$(rows | awk '!($7 > 0 && $8 > 0)')" ""
is "the short ones far less than the burners here, too" "$(rows | awk '$2 == "short" && $7 > short { short = $7 } $2 == "burner1" { burner = $7 } END { print short < burner / 4 }')" 1

if ls "$BUILD"/slurm/*/jobcomp_ceems.so "$BUILD/ceems_aggregator" "$BUILD/cacct" >/dev/null 2>&1; then
	mine() { sed -n '/the day of daemon/,/^Summary/p' "$SCRATCH/page" | grep ' COMPLETED '; }
	is "a user sees the records of her own jobs, by cacct" "$(mine | awk '{ print $2 }' | sort | paste -sd' ')" "alloc burner1 burner3 gpu"
	is "each with the energy it took" "$(mine | awk '!($(NF - 2) > 0)')" ""
	is "and the grams of it, 475 a kWh" "$(mine | awk '{ g = $(NF - 1); e = $(NF - 2) * 0.475 } !(g > 0 && g > 0.99 * e - 2e-6 && g < 1.01 * e + 2e-6)')" ""
	cacct_as() { (. "$BUILD/demo/demo.env"; as "$@") 2>&1; }
	is "cacct needs no option in that shell" "$(cacct_as games cacct -nP -o JobName | sort | uniq -c | awk '{ print $1 $2 }' | paste -sd' ')" "1burner2 1perf 20short"
	like "nor a page about one job" "$(cacct_as daemon cacct report 3)" 'burner3  COMPLETED'
	like "which is not shown to another" "$(cacct_as games cacct report 3)" 'no job 3 that you may see'
	like "the API's address is in demo.env" "$(. "$BUILD/demo/demo.env"; curl -s "$API_URL/health")" '.'
	is "and asks who one is" "$(. "$BUILD/demo/demo.env"; curl -s -o /dev/null -w '%{http_code}' "$API_URL/api/v1/units")" 401
	# each command of the users' page, by one of them; its jobs have other numbers here
	. "$TOP/test/type_page.sh"
	number_of() { mine | awk -v n="$1" '$2 == n { print $1 }'; }
	burner3=$(number_of burner3) alloc=$(number_of alloc)
	cacct() {
		local args=() a
		for a in "$@"; do
			case $a in 3) a=$burner3 ;; 25) a=$alloc ;; esac
			args+=("$a")
		done
		(. "$BUILD/demo/demo.env"; as daemon cacct "${args[@]}")
	}
	export TYPED_BAD=$SCRATCH/typed.bad
	: >"$TYPED_BAD"
	type_page doc/users.md >"$SCRATCH/users.md"
	unset -f cacct
	is "each command of users.md is answered" "$(cat "$TYPED_BAD")" ""
	ok "there are many" [ "$(grep -c '^    \$ cacct' doc/users.md)" -ge 15 ]
	heads() { grep -A1 '^    \$ cacct.* -o ' "$1"; }
	is "with the columns that the page shows" "$(diff <(heads doc/users.md) <(heads "$SCRATCH/users.md"))" ""
	is "its report is of the job, its steps and its energy" "$(grep -A30 '^    \$ cacct report' "$SCRATCH/users.md" | grep -oE "Job $burner3|host \((model|[a-z_]+)\)|0 burn" | sed 's/(.*)/()/' | paste -sd' ')" "Job $burner3 host () 0 burn"
else
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do skip "records, part $i" "the aggregator, cacct or jobcomp_ceems.so is not built here"; done
fi

if grep -q 'through the load balancer' "$SCRATCH/page"; then
	lb() { (. "$BUILD/demo/demo.env"; lb_as "$@") 2>&1; }
	lb_code() { lb "$@" -o /dev/null -w '%{http_code}'; }
	job() { (. "$BUILD/demo/demo.env"; eval "echo \$DEMO_JOB_$1"); }
	seconds() { rows | awk -v j="$1" '$1 == j { print $5 }'; }
	cpu=ceems_compute_unit_cpu_user_seconds_total
	value() { lb "$1" /api/v1/query -G --data-urlencode "query=max_over_time($cpu{uuid=\"$2\"}[1h])" | jq -r '.data.result[0].value[1] // .error'; }
	A=$(job A) B=$(job B)
	like "it ends with what both users see through the load balancer" "$(grep ' asks for job ' "$SCRATCH/page")" \
		"^daemon +asks for job $A, hers: [0-9.]+ s of CPU .*"$'\n'"daemon +asks for job $B, of games: refused: .+"$'\n'"games +asks for job $B, his: [0-9.]+ s of CPU .*"$'\n'"games +asks for job $A, of daemon: refused: .+$"
	is "numbers are those of the table" "$(value daemon "$A") $(value games "$B")" "$(seconds "$A") $(seconds "$B")"
	is "a job of another is refused, in each call" "$(for p in "query?query=$cpu{uuid=\"$B\"}" "query_range?query=$cpu{uuid=\"$B\"}&start=$(date -d -5min +%s)&end=$(date +%s)&step=15" \
		"series?match[]=$cpu{uuid=\"$B\"}" "labels?match[]=$cpu{uuid=\"$B\"}" "label/uuid/values?match[]=$cpu{uuid=\"$B\"}"; do lb_code daemon "/api/v1/$p"; echo; done | sort | uniq -c | xargs)" "5 403"
	is "one's own is not" "$(for p in "query?query=$cpu{uuid=\"$A\"}" "query_range?query=$cpu{uuid=\"$A\"}&start=$(date -d -5min +%s)&end=$(date +%s)&step=15" \
		"series?match[]=$cpu{uuid=\"$A\"}" "labels?match[]=$cpu{uuid=\"$A\"}" "label/uuid/values?match[]=$cpu{uuid=\"$A\"}"; do lb_code daemon "/api/v1/$p"; echo; done | sort | uniq -c | xargs)" "5 200"
	is "what names no job is narrowed to one's own" "$(lb daemon /api/v1/label/uuid/values | jq -r '.data[]' | sort -n | xargs)" "$(rows | awk '$3 == "daemon" { print $1 }' | sort -n | xargs)"
	is "who is nobody is nobody, whatever the header says" "$(. "$BUILD/demo/demo.env"; curl -s -o /dev/null -w '%{http_code}' -H "X-Grafana-User: daemon" "$LB_URL/api/v1/labels")" 401
	is "nor is a wrong password one" "$(. "$BUILD/demo/demo.env"; curl -s -o /dev/null -w '%{http_code}' -u daemon:daemon "$CEEMS_FRONT_URL/api/v1/labels")" 401
	is "a profile of another is refused before anybody looks for a Pyroscope" "$(lb_code daemon "/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"$B\"}&from=now-1h&until=now")" 403
	like "the passwords are root's alone" "$(stat -c '%a %U' "$demo"/front/*.curl | sort -u)" "^600 [a-z]+$"
else
	for i in 1 2 3 4 5 6 7 8 9; do skip "two users before the load balancer, part $i" "ceems_lb or nginx is not here"; done
fi

(
	. "$BUILD/demo/demo.env"
	env | grep -E '^(SLURM_CONF|CEEMSD_URL|PROMETHEUS_URL|SLURM_RIG_NODES)='
	srun -Q --ceems-report bash -c '"$1/jobs/burn" 1500; echo "srun works"' - "$CEEMS_DEMO_DIR" && as games srun -Q id -un
) >"$SCRATCH/env" 2>&1
like "a person goes on with demo.env and srun" "$(grep -vE '^ |^ceems: ' "$SCRATCH/env")" $'srun works\ngames'
like "srun --ceems-report says what the step took, by which source" "$(cat "$SCRATCH/env")" 'energy  +0\.[0-9]*[1-9][0-9]* Wh, .*\([a-z_]+\)'
like "and what that emitted, by which provider" "$(cat "$SCRATCH/env")" 'emissions  +0\.[0-9]*[1-9][0-9]* g CO2e at 475 g/kWh \(global\)'
. <(grep -E '^[A-Z_]+=' "$SCRATCH/env")

# what Prometheus says of each job is what the daemon had as final counters, to the digit
finals() {
	local m
	curl -sf "$CEEMSD_URL/units" | jq -r --arg n "$SLURM_RIG_NODES" '.units[] | select(.node == $n) |
		[.id, .state, (.cpu_user_seconds | tostring), (.cpu_system_seconds | tostring)] | join(" ")' | sort -n >"$SCRATCH/final"
	for m in user system; do
		curl -sfG --data-urlencode "query=max_over_time(ceems_compute_unit_cpu_${m}_seconds_total{cgrouphostname=\"$SLURM_RIG_NODES\"}[1h])" \
			"$PROMETHEUS_URL/api/v1/query" | jq -r '.data.result[] | "\(.metric.uuid) \(.value[1] | tonumber)"' | sort >"$SCRATCH/$m"
	done
	theirs=$(join "$SCRATCH/user" "$SCRATCH/system" | sort -n)
	[ "$(grep -c ' ended ' "$SCRATCH/final")" -ge 28 ] && [ "$theirs" = "$(awk '{ print $1, $3, $4 }' "$SCRATCH/final")" ]
}
wait_for 20 finals
is "max_over_time of every job equals its final counters" "$theirs" "$(awk '{ print $1, $3, $4 }' "$SCRATCH/final")"
is "that is 28 jobs by now" "$(grep -c ' ended ' "$SCRATCH/final")" 28

# a crash of everything, then again
for pid in "$demo"/slurm/pid/*; do kill -9 "$(cat "$pid")"; done
for pid in $(cd /proc && grep -lszxF "CEEMS_DEMO_PROG=$demo" [0-9]*/environ); do kill -9 "${pid%/environ}"; done
ok "it starts over one that was killed" start
is "with all its rows" "$(rows | wc -l)" 26
nodes=$(. "$BUILD/demo/demo.env"; echo "$SLURM_RIG_NODES")
ok "it stops" test/rig/demo stop
is "no process is left" "$(processes; pgrep -f "$demo/")" ""
is "no control group is left" "$(find /sys/fs/cgroup -maxdepth 3 -name "*$nodes*" 2>/dev/null)" ""
is "no file is left" "$(ls -A "$demo" "$BUILD/demo" 2>/dev/null)" ""
ok "stopping what is not there is no error" test/rig/demo stop
tap_done
