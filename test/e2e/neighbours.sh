#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo beside a Slurm, a ceemsd and a Prometheus that run already: their processes, their
# running job and the machine's own configuration are the same before and after.
. "$(dirname "$0")/../tap.sh"
why=$(test/rig/slurm possible) || skip_all "$why"
for c in prometheus curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
ls "$BUILD"/slurm/*/spank_ceems.so >/dev/null 2>&1 || skip_all "the plugins were not built here"

neighbour=$SCRATCH/neighbour
mkdir "$SCRATCH/build" "$SCRATCH/tsdb"
test_cleanup() {
	BUILD=$SCRATCH/build test/rig/demo stop
	test/rig/slurm stop "$neighbour"
}
test/rig/slurm start "$neighbour" --contain >/dev/null || exit 1
ln -s "$BUILD/ceemsd" "$BUILD/slurm" "$SCRATCH/build/"
port=$(free_port)
"$BUILD/ceemsd" --path.rundir="$neighbour/run" --web.listen-address="127.0.0.1:$port" --collector.slurm \
	2>"$SCRATCH/log" </dev/null &
started $!
daemon=$!
echo 'scrape_configs: []' >"$SCRATCH/prometheus.yaml"
prometheus --config.file="$SCRATCH/prometheus.yaml" --storage.tsdb.path="$SCRATCH/tsdb" \
	--web.listen-address="127.0.0.1:$(free_port)" >"$SCRATCH/prometheus.log" 2>&1 </dev/null &
started $!
prometheus=$!
job=$(. "$neighbour/env"; sbatch --parsable -o /dev/null --wrap 'sleep 300')
job_state() { (. "$neighbour/env"; squeue -h -j "$job" -o %T); }
runs() { [ "$(job_state)" = RUNNING ]; }
ok "the neighbour's job runs" wait_for 30 runs

# pid and start time of what the neighbour runs; the machine's own files
processes() {
	local p
	for p in $daemon $prometheus $(cd /proc && grep -lszxF "SLURM_RIG_DIR=$neighbour" [0-9]*/environ); do
		p=${p%/environ}
		case $(cat "/proc/$p/comm" 2>/dev/null) in
		slurmctld | slurmd | munged | ceemsd | prometheus) echo "$p $(sed 's/.*) //' "/proc/$p/stat" | cut -d' ' -f20)" ;;
		esac
	done | sort
}
files() { find /etc/slurm /etc/slurm-llnl /etc/munge /etc/prometheus /etc/systemd/system /run/ceems /var/lib/prometheus \
	-printf '%p %m %U %s %T@ %l\n' 2>/dev/null | sort; }
before=$(processes)
files_before=$(files)
is "five neighbours and more are watched" "$(($(wc -l <<<"$before") >= 5))" 1
BUILD=$SCRATCH/build test/rig/demo start >"$SCRATCH/page" 2>&1
is "the demo works beside them" $? 0
is "their processes are the same while it runs" "$(processes)" "$before"
BUILD=$SCRATCH/build test/rig/demo stop >>"$SCRATCH/page" 2>&1
is "and after it has stopped" "$(processes)" "$before"
is "the neighbour's job still runs" "$(job_state)" RUNNING
ok "its control groups are there" test -n "$(find /sys/fs/cgroup -maxdepth 5 -path "*$(. "$neighbour/env"; echo "$SLURM_RIG_NODES")*/job_$job" 2>/dev/null | head -1)"
ok "its daemon answers" curl -sf -o /dev/null "127.0.0.1:$port/health"
is "the machine's own configuration is untouched" "$(files)" "$files_before"
tap_done
