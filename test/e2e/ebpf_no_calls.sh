#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd makes no bpf() and no perf_event_open(): here both kill it, and it does with the programs that an
# earlier ceemsd left with systemd (test/fake/fd_keeper.py) all that there is to do. What they count goes on
# over SIGTERM and kill -9 of ceemsd, until it is in the unit's final report.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3 dd; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics --collector.ebpf.network-metrics --collector.perf 2>&1) ||
	skip_all "this kernel does not let it: ${why#*msg=}"
"$BUILD/older_kernel" bpf true || skip_all "this kernel or what runs the test has no filters of system calls"
. "$(dirname "$0")/../step_group.sh"
ulimit -c 0
"$BUILD/older_kernel" bpf "$BUILD/ceems-opener" >/dev/null 2>&1
is "one of these calls kills" $? 159 # SIGSYS

port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
up() { scrape; }
of_job() { sed -n "s|^$1{[^}]*uuid=\"$job\"[^}]*} ||p" "$SCRATCH/metrics"; }
cat >"$SCRATCH/start" <<END
#!/bin/bash
under=; [ ! -e "$SCRATCH/kept" ] || under="$BUILD/older_kernel bpf"
exec \$under "$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --no-collector.rapl --collector.slurm \\
	--collector.ebpf.io-metrics --collector.ebpf.network-metrics --collector.perf.software-events --unit.linger=10m --unit.min-export=0 \\
	--reports.enabled --reports.interval=1h --reports.spool="$SCRATCH/spool" --cluster=kept
END
chmod 755 "$SCRATCH/start"
mkdir -m 755 "$SCRATCH/keeper"
python3 test/fake/fd_keeper.py "$SCRATCH/keeper" "$SCRATCH/start" </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
keeper=$!
started $keeper
ok "ceemsd starts with its programs" wait_for 60 up
: >"$SCRATCH/kept"
kill -9 "$(cat "$SCRATCH/keeper/pid")"
ok "it is killed" wait_for 20 test ! -e "$SCRATCH/keeper/pid"
: >"$SCRATCH/keeper/again"
ok "it starts again where these calls kill" wait_for 60 up
like "with the programs of before" "$(cat "$SCRATCH/ceemsd.log")" "has followed the control groups of steps since before this start"
filters=$(sed -n 's/^Seccomp:\t//p' "/proc/$(cat "$SCRATCH/keeper/pid")/status")
is "it runs under a filter" "$filters" 2
children() { for c in $(cat /proc/"$(cat "$SCRATCH/keeper/pid")"/task/*/children); do cat "/proc/$c/comm"; done; }
is "no opener is left" "$(children | grep -c ceems-opener)" 0

step_make 0
known() { scrape && [ -n "$(of_job ceems_perf_page_faults_total)" ]; }
ok "a step is followed" wait_for 60 known
run_in 0 dd if=/dev/zero of="$SCRATCH/file" bs=4096 count=100 status=none
run_in 0 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
written() { scrape && [ "$(of_job ceems_ebpf_write_bytes_total | sort -n | tail -1)" = 409600 ]; }
ok "what it writes is counted" wait_for 30 written
ok "and what it sends" [ "$(of_job ceems_ebpf_egress_bytes_total | sort -n | tail -1)" -gt 0 ]
kill -HUP "$(cat "$SCRATCH/keeper/pid")"
ok "it is reloaded" wait_for 20 grep -q 'reload: done' "$SCRATCH/ceemsd.log"

# --- counts of two steps, one of which ends, over both ways to end
first_sleeper=$sleeper first_stepd=$stepd
step_make 1
# else the unit would end with its first step, and the second would be another run's
ok "a second step is known" wait_for 60 grep -q "unit $job step 1: found by its control group" "$SCRATCH/ceemsd.log"
run_in 1 dd if=/dev/zero of="$SCRATCH/file" bs=4096 count=50 status=none
second_sleeper=$sleeper second_stepd=$stepd
sleeper=$first_sleeper stepd=$first_stepd
step_remove 0
sleeper=$second_sleeper stepd=$second_stepd
has_ended() { grep -q "unit $job step $1: ended without a stop record" "$SCRATCH/ceemsd.log"; }
ok "the first step's end is the kernel's" wait_for 60 has_ended 0
sum_of() { scrape; of_job "$1" | awk '{ n += $1 } END { printf "%.0f", n }'; }
both() { scrape && [ "$(of_job ceems_ebpf_write_bytes_total | sort -n | tail -1)" = 614400 ]; }
ok "what both wrote is their unit's" wait_for 30 both
sent=$(sum_of ceems_ebpf_egress_bytes_total) faults=$(sum_of ceems_perf_page_faults_total)
again() { # SIGNAL
	rm -f "$SCRATCH/keeper/again"
	kill "$1" "$(cat "$SCRATCH/keeper/pid")"
	wait_for 60 test ! -e "$SCRATCH/keeper/pid" || return
	: >"$SCRATCH/keeper/again"
	wait_for 60 up
}
for signal in -TERM -KILL; do
	ok "ceemsd ends by $signal and starts" again $signal
	ok "what both wrote is there again" wait_for 60 both
	is "what they sent" "$(sum_of ceems_ebpf_egress_bytes_total)" "$sent"
	ok "their page faults" [ "$(sum_of ceems_perf_page_faults_total)" -ge "$faults" ]
done

# --- the unit has ended, and its final report is not there yet: it comes ten seconds later
finals() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null | grep "\"kind\":\"final\".*\"unit\":\"$job\"" | grep -v '"provisional":true'; }
step_remove 1
ok "the second step ends, too" wait_for 60 has_ended 1
written=$(finals)
ok "ceemsd is killed before it has written the unit's final report" again -KILL
final() { [ -n "$(finals)" ]; }
ok "the next one writes it" wait_for 60 final
[ -z "$written" ] || echo "# this machine was too slow: it was there before"
like "with what both steps wrote" "$(finals)" '"write_bytes":614400[,}]'
like "and sent" "$(finals)" "\"net_tx_bytes\":$sent[,}]"
ok "and the unit has ended" wait_for 60 unit_ended
kill $keeper
wait $keeper
is "it was not killed, and ends well" $? 0
tap_done
