#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-perf=nogpu in a real Slurm: DCGM is paused while these jobs run, and resumed
# whatever becomes of them and of ceemsd. dcgmi is a stand-in that writes down how it was called; no DCGM is here.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
need_slurm

calls=$SCRATCH/calls
cat >"$SCRATCH/dcgmi" <<-END
	#!/bin/sh
	echo "\$(id -u) \$* \${SLURM_JOB_ID:-}\${LD_PRELOAD:-}" >>$calls
	[ ! -e $SCRATCH/broken ] || { echo "Error: unable to establish a connection" >&2; exit 1; }
END
chmod 755 "$SCRATCH/dcgmi" "$SCRATCH"
: >"$calls"
chmod 666 "$calls"
rig_start --nodes=gpup$$ --gpus=2
as=(--no-security.drop-privileges) uid=$(id -u)
! have_root || as=(--security.run-as-user=65534) uid=65534
ceemsd_start "${as[@]}" --gpu.dcgmi="$SCRATCH/dcgmi"
ok "ceemsd starts" wait_for 60 ceemsd_up
called() { [ "$(cut -d' ' -f2- "$calls" | sed 's/ *$//; s/profile --//' | paste -sd' ')" = "$1" ]; }
is_there() { scrape && [ "$(value ceems_gpu_profiling_pause_steps "") $(value ceems_gpu_profiling_paused "")" = "$1" ]; }
hold() { LD_PRELOAD='' srun -J "$1" "${@:2}" sh -c "echo \$PPID >$JOBS/is-$1; while [ ! -e $JOBS/end-$1 ]; do sleep 0.05; done" 2>/dev/null & }

hold none --ceems-perf=nogpu
ok "a job without a GPU runs" wait_for 60 test -s "$JOBS/is-none"
hold plain --gpus-per-node=1
ok "one with a GPU that did not ask runs, too" wait_for 60 test -e "$JOBS/is-plain"
sleep 1
is "nothing is paused for them" "$(cat "$calls")" ""
touch "$JOBS/end-none" "$JOBS/end-plain"
hold first --gres=gpu:1 --ceems-perf=nogpu
ok "one with a GPU that asked has DCGM paused" wait_for 60 called pause
ok "the metrics say so" wait_for 60 is_there "1 1"
hold second --gres=gpu:1 --ceems-perf=hardware,nogpu
ok "a second one changes nothing" wait_for 60 is_there "2 1"
touch "$JOBS/end-first"
ok "nor does the end of the first" wait_for 60 is_there "1 1"
is "it was paused once" "$(wc -l <"$calls")" 1
is "by ceemsd's own user, with nothing of a job" "$(cat "$calls")" "$uid profile --pause "

kill -9 "$ceemsd_pid"
wait "$ceemsd_pid" 2>/dev/null
ceemsd_start "${as[@]}" --gpu.dcgmi="$SCRATCH/dcgmi"
ok "after kill -9 the next ceemsd knows of it" wait_for 60 is_there "1 1"
sleep 1
is "and leaves it paused" "$(wc -l <"$calls")" 1
kill -9 "$ceemsd_pid"
wait "$ceemsd_pid" 2>/dev/null
touch "$JOBS/end-second"
ok "the job ends while there is no ceemsd" wait_for 60 no_job
ceemsd_start "${as[@]}" --gpu.dcgmi="$SCRATCH/dcgmi"
ok "the next one resumes" wait_for 60 called "pause resume"
ok "and says so" wait_for 60 is_there "0 0"

# a step that is killed with its slurmstepd leaves no record of its end
hold killed --gres=gpu:1 --ceems-perf=nogpu
ok "another job has it paused" wait_for 60 called "pause resume pause"
touch "$SCRATCH/broken"
kill -9 "$(cat "$JOBS/is-killed")" # its slurmstepd
scancel -n killed 2>/dev/null
touch "$JOBS/end-killed"
failed() { scrape && [ "$(value ceems_gpu_profiling_pauses_total 'what="failure"')" -ge 1 ]; }
ok "a dcgmi that fails is counted" wait_for 60 failed
like "and named" "$(grep dcgmi "$SCRATCH/ceemsd.log" | tail -n1)" 'dcgmi profile --resume: exit status 1: Error: unable to establish a connection: profiling by DCGM is not resumed; tried again'
rm "$SCRATCH/broken"
ok "it is tried again until it works" wait_for 60 is_there "0 0"

hold last --gres=gpu:1 --ceems-perf=nogpu
ok "paused once more" wait_for 60 is_there "1 1"
kill -TERM "$ceemsd_pid"
wait "$ceemsd_pid"
like "a ceemsd that ends resumes" "$(tail -n1 "$calls")" 'profile --resume'
touch "$JOBS/end-last"
ok "the job ends" wait_for 60 no_job
ceemsd_start "${as[@]}" --gpu.dcgmi=dcgmi
ok "a path that is not absolute is refused" wait_for 60 grep -q -- '--gpu.dcgmi: dcgmi: not an absolute path: DCGM is paused for nobody' "$SCRATCH/ceemsd.log"
tap_done
