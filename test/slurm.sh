# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that run jobs in a real Slurm (test/rig/slurm) and check
# what ceemsd reports about them. They compare it with what the plugin put into the ring, which
# ceems-ringdump keeps beside the daemon, and with what the kernel counted for the whole node.
rig=test/rig/slurm
SLURM=$SCRATCH/slurm # the rig's folder
test_cleanup() {
	local pid
	# what still runs must not outlive the rig's clients
	for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
	$rig stop "$SLURM"
}

need_slurm() { # [version]: leaves the test when it cannot run here
	local why c
	for c in curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
	[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
	why=$($rig possible ${1:+--slurm=$1}) || skip_all "$why"
	[ -e "$BUILD/slurm/${1:-$(rig_version)}/spank_ceems.so" ] || skip_all "the plugins were not built here"
}
rig_version() { slurmd -V | sed -n 's/^slurm[a-z-]* \([0-9]*\.[0-9]*\).*/\1/p'; }

# rig_start [options of the rig]: a failure ends the test
rig_start() {
	if ! $rig start "$SLURM" "$@" >"$SCRATCH/rig.log" 2>&1; then
		sed 's/^/# /' "$SCRATCH/rig.log"
		ok "Slurm starts" false
		tap_done
	fi
	. "$SLURM/env"
	JOBS=$SLURM/jobs
	install -m 755 test/rig/burn "$JOBS/"
}

# ceemsd_start [flags]: on the rig's ring, for the rig's nodes only; LINGER: 1h; CEEMSD_UNDER: a program that starts it
ceemsd_start() {
	local n nodes=()
	for n in $SLURM_RIG_NODES; do nodes+=("--collector.slurm.nodes=$n"); done
	[ -n "${ceemsd_port:-}" ] || ceemsd_port=$(free_port) || return 1
	CEEMSD_URL=http://127.0.0.1:$ceemsd_port
	${CEEMSD_UNDER:-} "$BUILD/ceemsd" --path.rundir="$RUNDIR" --web.listen-address="127.0.0.1:$ceemsd_port" --collector.slurm \
		"${nodes[@]}" --unit.linger="${LINGER:-1h}" "$@" </dev/null >>"$SCRATCH/ceemsd.log" 2>&1 &
	ceemsd_pid=$!
	started $ceemsd_pid
}
ceemsd_up() { curl -sf -o /dev/null "$CEEMSD_URL/health"; }
# the records as they come, also over a restart of the daemon
truth_start() {
	"$BUILD/ceems-ringdump" -f "$RING" >"$SCRATCH/records" 2>"$SCRATCH/ringdump.log" </dev/null &
	truth_pid=$!
	started $truth_pid
}

scrape() { # into $SCRATCH/metrics and $SCRATCH/units, with nothing between the two that counts
	curl -sf -o "$SCRATCH/metrics" "$CEEMSD_URL/metrics" && curl -sf -o "$SCRATCH/units" "$CEEMSD_URL/units"
}
# value NAME [LABELS]: LABELS as printed, without manager and hostname
value() {
	awk -v n="$1" -v l="${2:-}" '
		/^#/ { next }
		{
			at = index($0, "{"); if (!at || substr($0, 1, at - 1) != n) next
			labels = substr($0, at + 1, index($0, "} ") - at - 1)
			sub(/^manager="slurm",/, "", labels); sub(/^hostname="[^"]*",?/, "", labels)
			if (labels == l) print substr($0, index($0, "} ") + 2)
		}' "$SCRATCH/metrics"
}
ended_states() { # "completed failed oom lost"
	local s
	for s in completed failed oom lost; do value ceems_units_ended_total "state=\"$s\""; done | paste -sd' '
}

# seconds as printed, at most nine digits behind the point -> nanoseconds
awk_ns='function ns(s,  p) { p = split(s, part, "."); return part[1] * 1000000000 + (p > 1 ? substr(part[2] "000000000", 1, 9) : 0) }'
# "node uuid nanoseconds": CPU of each unit of the last scrape
scraped_cpu() {
	awk "$awk_ns"'
		/^ceems_compute_unit_cpu_(user|system)_seconds_total\{/ {
			match($0, /cgrouphostname="[^"]*"/); node = substr($0, RSTART + 16, RLENGTH - 17)
			match($0, /uuid="[^"]*"/); id = substr($0, RSTART + 6, RLENGTH - 7)
			sum[node " " id] += ns($NF)
		}
		END { for (k in sum) printf "%s %.0f\n", k, sum[k] }' "$SCRATCH/metrics" | sort
}
scraped_node_cpu() { # nanoseconds
	awk "$awk_ns"'/^ceems_units_cpu_seconds_total\{/ { sum += ns($NF) } END { printf "%.0f\n", sum }' "$SCRATCH/metrics"
}
# "node unit run step nanoseconds start-records stop-records last-stop-records"; the last
# counters of a step stand. Slurm's slurmstepd does not know the restart count: the runs of
# a requeued job are told by the step's process, and numbered in the order of their start.
record_steps() {
	jq -rs '
		def cpu: .counters // {} | (.cpu_user_ns // 0) + (.cpu_system_ns // 0);
		[.[] | select(.type == "step_start" or .type == "step_stop")] |
		group_by([.node, .unit, .step])[] |
		group_by(.stepd_pid) | sort_by(.[0].boottime_ns) | to_entries[] | .key as $run | .value |
		[.[0].node, .[0].unit, $run, .[0].step, (map(cpu) | max),
		 (map(select(.type == "step_start")) | length),
		 (map(select(.type == "step_stop")) | length),
		 (map(select(.type == "step_stop" and ((.flags // []) | index("last")))) | length)] |
		map(tostring) | join(" ")' "$SCRATCH/records"
}
# the same as scraped_cpu, of the records: of a requeued job the newest run
record_cpu() {
	record_steps | awk '
		{ k = $1 " " $2; if (!(k in run) || $3 > run[k]) { run[k] = $3; sum[k] = 0 } if ($3 == run[k]) sum[k] += $5 }
		END { for (k in sum) printf "%s %.0f\n", k, sum[k] }' | sort
}
record_node_cpu() { record_steps | awk '{ s += $5 } END { printf "%.0f\n", s }'; }
# what the kernel counted for all that ever ran below the nodes' control groups (v1)
kernel_cpu() { # node...
	local n
	for n; do cat "/sys/fs/cgroup/cpuacct/slurm_$n/cpuacct.usage"; done | awk '{ s += $1 } END { printf "%.0f\n", s }'
}

# our options of srun without a value, in a running rig: a Slurm that was built with assertions aborts there
# (doc/slurm.md), and gets one
bare_options() {
	bare_perf=--ceems-perf bare_profile=--ceems-profile bare_report=--ceems-report
	grep -q 'spank.c.*Assertion' <<<"$(srun --ceems-report true 2>&1)" || return 0
	skip "options without a value" "this Slurm was built with assertions"
	bare_perf=--ceems-perf=hardware,software,cache bare_profile=--ceems-profile=99 bare_report=--ceems-report=text
}

# unit NAME FILTER: of the units whose job has that name, by id and node
unit() { jq -r --arg n "$1" ".units | map(select(.hints.name == \$n)) | sort_by(.id | tonumber) | $2" "$SCRATCH/units"; }
cpu_ms='((.cpu_user_seconds + .cpu_system_seconds) * 1000 | floor)'

no_job() { [ -z "$(squeue -h -t PD,R,CG,S,CF -o %A 2>/dev/null)" ]; }
nothing_running() { scrape && [ "$(value ceems_compute_units)" = 0 ] && grep -q '^ceems_ring_pending{.*} 0$' "$SCRATCH/metrics"; }
all_records() { [ "$(wc -l <"$SCRATCH/records")" = "$("$BUILD/ceems-ringdump" -s "$RING" | jq .head)" ]; }
# every job has ended, its records have been taken and are in $SCRATCH/records
settled() { # seconds
	wait_for "$1" no_job && wait_for 20 nothing_running && wait_for 20 all_records && scrape
}
