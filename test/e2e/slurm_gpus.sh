#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job holds the GPUs that Slurm gave it, whatever its environment says, in a Slurm with
# fake GPUs whose gres.conf skips the first device, and in one without gres gpu.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm
srun=$(command -v srun) # without the rig's shell in between

# holds NAME: a job's program; goes on until the test is through with looking
holds() { echo "touch $JOBS/is-$1; while [ ! -e $JOBS/looked ]; do sleep 0.05; done"; }
is_up() { local n; for n; do [ -e "$JOBS/is-$n" ] || return 1; done; }
# "index hindex gpuuuid gpuiid value" of a job's samples
flags() { # name
	local id
	id=$(squeue -h -n "$1" -o %A | head -1)
	sed -n "s/^ceems_compute_unit_gpu_index_flag{manager=\"slurm\",hostname=\"[^\"]*\",cgrouphostname=\"$node\",uuid=\"$id\",index=\"\([0-9]*\)\",hindex=\"\([^\"]*\)\",gpuuuid=\"\([^\"]*\)\",gpuiid=\"\([^\"]*\)\"} /\1 \2 \"\3\" \"\4\" /p" "$SCRATCH/metrics"
}
gpus_of() { # name: what Slurm says that the job was given
	scontrol -d show job "$(squeue -h -n "$1" -o %A | head -1)" | sed -n 's/.*GRES=[^(]*(IDX:\([0-9,-]*\).*/\1/p' | head -1
}
own() { echo "$1 $(hostname)/gpu-$1 \"\" \"\" $2"; }
all_seen() { scrape && [ "$(jq '[.units[] | select(.state == "running")] | length' "$SCRATCH/units")" = "$1" ]; }

has_flags() { scrape && [ "$(grep -c '^ceems_compute_unit_gpu_index_flag' "$SCRATCH/metrics")" -ge "$1" ]; } # once slurmd has answered

node=gpus$$
cat >"$SCRATCH/gres.conf" <<-END
	Name=gpu File=$SLURM/dev/gpu[1-2]
	Name=shard Count=8
END
rig_start --nodes=$node --gpus=2 --shards=8 --gres="$SCRATCH/gres.conf"
# as whom slurmd is asked
printf '#!/bin/sh\n[ "$1" != -G ] || id -u >>%s\nexec %s "$@"\n' "$SCRATCH/asked-by" "$(command -v slurmd)" >"$SCRATCH/slurmd"
chmod 755 "$SCRATCH/slurmd"
: >"$SCRATCH/asked-by"
chmod 666 "$SCRATCH/asked-by"
ceemsd_start --collector.slurm.slurmd-path="$SCRATCH/slurmd"
ok "ceemsd starts" wait_for 20 ceemsd_up

b="-o /dev/null -e /dev/null"
srun -J cpu sh -c "$(holds cpu)" 2>/dev/null &
as daemon sbatch $b -J batch --gres=gpu:1 --wrap "$(holds batch)" >/dev/null
wait_for 20 is_up cpu batch
first=$(gpus_of batch)
SLURM_JOB_GPUS=$first SLURM_STEP_GPUS=$first srun -J forged-cpu sh -c "$(holds forged-cpu)" 2>/dev/null &
SLURM_JOB_GPUS=0,1 SLURM_STEP_GPUS=0,1 srun -J forged-step --gres=gpu:1 sh -c "$(holds forged-step)" 2>/dev/null &
wait_for 20 is_up forged-cpu forged-step
second=$(gpus_of forged-step)
ok "all jobs are seen" wait_for 10 all_seen 4
wait_for 60 has_flags 2
is "Slurm gave one GPU to each of two jobs" "$first $second" "0 1"
is "a job without GPUs has none" "$(flags cpu)" ""
is "a batch job has the one that Slurm gave it, by its place in gres.conf" "$(flags batch)" "$(own 0 1)"
is "a step has its own, whatever both variables claimed" "$(flags forged-step)" "$(own 1 1)"
is "a job without GPUs gains none by both variables" "$(flags forged-cpu)" ""
is "slurmd -G is asked by the daemon's unprivileged user" "$(sort -u "$SCRATCH/asked-by")" "$(stat -c %u "/proc/$ceemsd_pid")"
isnt_root() { [ "$(stat -c %u "/proc/$ceemsd_pid")" != 0 ]; }
ok "which is not root" isnt_root
is "no other series" "$(grep -c '^ceems_compute_unit_gpu_index_flag' "$SCRATCH/metrics")" 2
touch "$JOBS/looked"
ok "they end" wait_for 120 no_job
scrape
is "an ended job holds nothing" "$(grep -c '^ceems_compute_unit_gpu_index_flag' "$SCRATCH/metrics")" 0
rm -f "$JOBS"/looked "$JOBS"/is-*

# forged in the batch script, and inside it a step that asks for none
cat >"$JOBS/script" <<-END
	#!/bin/sh
	export SLURM_JOB_GPUS=1 SLURM_STEP_GPUS=1
	srun --gres=none sh -c '$(holds inner)' &
	$(holds none)
	wait
END
SLURM_JOB_GPUS=1 SLURM_STEP_GPUS=1 sbatch $b -J none --gres=gpu:1 "$JOBS/script" >/dev/null
wait_for 20 is_up none inner
"$BUILD/raw_env" NOEQUALS "$BUILD/raw_env" SLURM_STEP_GPUS "$srun" -J raw --gres=gpu:1 sh -c "$(holds raw)" 2>/dev/null &
wait_for 20 is_up raw
ok "all jobs are seen" wait_for 10 all_seen 2
is "a job that forges in its script keeps the one it has, also beside a --gres=none step" "$(flags none)" "$(own 0 1)"
is "entries without = in the environment change nothing" "$(flags raw)" "$(own 1 1)"
touch "$JOBS/looked"
ok "they end" wait_for 120 no_job
rm -f "$JOBS"/looked "$JOBS"/is-*

salloc --no-shell -J alloc --gres=gpu:1 >/dev/null 2>&1
alloc=$(squeue -h -n alloc -o %A)
SLURM_STEP_GPUS=0 SLURM_JOB_GPUS=0 srun --jobid="$alloc" -J alloc --gres=none sh -c "$(holds alloc)" 2>/dev/null &
srun -J shards --gres=shard:2 sh -c "$(holds shards)" 2>/dev/null &
wait_for 20 is_up alloc shards
ok "all jobs are seen" wait_for 10 all_seen 2
is "a lone step that asks for none gains none" "$(flags alloc)" ""
is "two of four shards are half a device" "$(flags shards | sed 's/^[01] [^ ]*-[01] //')" '"" "" 0.5'
touch "$JOBS/looked"
wait_for 20 eval "! squeue -h -n shards -o %A | grep -q ."
scancel "$alloc"
ok "the daemon met nothing that it had to warn of" test "$(grep -c 'level=\(warn\|error\)' "$SCRATCH/ceemsd.log")" = 0
sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/ceemsd.log"
kill "$ceemsd_pid"
wait "$ceemsd_pid"
$rig stop "$SLURM"

# not beside shards: Slurm 22.05 then gives a job 25 shares and tells it of 625 %
node=mps$$
cat >"$SCRATCH/gres.conf" <<-END
	Name=gpu File=$SLURM/dev/gpu[0-1]
	Name=mps Count=200
END
rig_start --nodes=$node --gpus=2 --mps=200 --gres="$SCRATCH/gres.conf"
ceemsd_start
ok "ceemsd starts on a node with MPS" wait_for 20 ceemsd_up
srun -J mps --gres=mps:25 sh -c "$(holds mps)" 2>/dev/null &
wait_for 20 is_up mps
ok "the job is seen" wait_for 10 all_seen 1
wait_for 60 has_flags 1
is "25 of a device's 100 MPS shares are a quarter of it" "$(flags mps | sed 's/^[01] [^ ]*-[01] //')" '"" "" 0.25'
touch "$JOBS/looked"
ok "it ends" wait_for 120 no_job
kill "$ceemsd_pid"
wait "$ceemsd_pid"
$rig stop "$SLURM"

# no GresTypes: Slurm unsets neither variable, so neither can be believed
node=none$$
rig_start --nodes=$node
ceemsd_start
ok "ceemsd starts again" wait_for 20 ceemsd_up
export SLURM_JOB_GPUS=0,1 SLURM_STEP_GPUS=0,1
srun -J step sh -c "$(holds step)" 2>/dev/null &
sbatch $b -J batch --wrap "$(holds batch)" >/dev/null
unset SLURM_JOB_GPUS SLURM_STEP_GPUS
wait_for 20 is_up step batch
ok "both jobs are seen" wait_for 10 all_seen 2
is "without gres gpu nothing is attributed to anybody" "$(grep -c '^ceems_compute_unit_gpu_index_flag' "$SCRATCH/metrics")" 0
touch "$JOBS/looked"
tap_done
