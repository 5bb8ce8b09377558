#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The six commands of doc/quickstart.md that bring packages to a host that runs Slurm, typed in a fresh Debian (12, or the
# one named) with a real systemd: the first job's joules are in cacct. Then a purge while a job runs, which the job survives.
# timeout 2400
# alone
suite=${1:-bookworm}
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in mmdebstrap dh unshare nsenter; do command -v $c >/dev/null || skip_all "$c is not installed"; done
root=${TMPDIR:-/tmp}/ceems-first-job.$$
box() { local what=$1; shift; test/rig/box "$what" "$root" "$@"; }
test_cleanup() { box end; rm -rf --one-file-system "$root" "$root".*; }
here() { box type bash -c "$1"; }

# --- a site with Slurm
box make "$suite" systemd,systemd-sysv,dbus,slurmctld,slurmd,slurm-client,munge >"$SCRATCH/make" 2>&1 || skip_all "$(tail -n 1 "$SCRATCH/make")"
ok "a fresh Debian ($suite) with Slurm is up" box boot
here 'mkdir -p /etc/slurm && useradd -m ada && cat >/etc/slurm/slurm.conf <<END
ClusterName=mycluster
SlurmctldHost=$(hostname -s)
SlurmUser=slurm
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
PrologFlags=Contain
SelectType=select/cons_tres
$(slurmd -C | head -n 1)
PartitionName=main Nodes=ALL Default=YES
END
printf "ConstrainCores=yes\nConstrainRAMSpace=yes\n" >/etc/slurm/cgroup.conf
systemctl restart munge slurmctld slurmd' >"$SCRATCH/site" 2>&1 || sed 's/^/# /' "$SCRATCH/site"
box type --net apt-get -qq update >>"$SCRATCH/site" 2>&1 # as on every host that is kept up to date
idle() { here 'sinfo -h -o %t' | grep -qx idle; }
idle_or_mixed() { here 'sinfo -h -o %t' | grep -qxE 'idle|mix|alloc'; }
ok "the site's Slurm takes jobs" wait_for 60 idle || here 'journalctl --no-pager -q -n 30' | sed 's/^/# /'

# --- the packages, built here where it is the same Debian
build=$(cd "$BUILD" && pwd)
mkdir -p "$root/root/debs"
ok "packages are built" eval 'packaging/deb/build 0.1.0 "$SCRATCH/debs" "$build" >"$SCRATCH/made" 2>&1' || { tail "$SCRATCH/made"; tap_done; }
release=$(here 'slurmd -V' | sed -n 's/^slurm[a-z-]* \([0-9]*\.[0-9]*\).*/\1/p')
for d in "$SCRATCH"/debs/*.deb; do
	case ${d##*/} in ceems-slurm-*-"$release"[._]* | ceems-slurm-*-"$release"_*) ;; ceems-slurm-*) continue ;; esac
	cp "$d" "$root/root/debs/"
done

# --- typed
mkdir "$SCRATCH/steps"
awk -v dir="$SCRATCH/steps" '/^#/ { n = "" } /^[a-z]\. / { n = substr($0, 1, 1); steps = steps " " n } n && /^        / { print substr($0, 9) >(dir "/" n) }
	END { print steps }' doc/quickstart.md >"$SCRATCH/order"
read -ra steps <"$SCRATCH/order"
ok "there are fewer than 8 commands: ${#steps[@]}" [ ${#steps[@]} -lt 8 -a ${#steps[@]} -gt 3 ]
is "each is one line" "$(cat "$SCRATCH"/steps/* | wc -l)" "${#steps[@]}"
begin=$SECONDS
for n in "${steps[@]}"; do
	net=
	grep -q apt-get "$SCRATCH/steps/$n" && net=--net
	[ "$n" = "${steps[-1]}" ] && break
	box type $net bash -c "cd /root/debs && $(cat "$SCRATCH/steps/$n")" >"$SCRATCH/said.$n" 2>&1 </dev/null
	status=$? # before the next substitution changes it
	case $(cat "$SCRATCH/steps/$n") in *setup*) [ $status = 1 ] && status=0 ;; esac # something to look at, such as what is to be restarted next
	is "$n: $(cut -c1-70 "$SCRATCH/steps/$n")" "$status" 0 || { tail -n 20 "$SCRATCH/said.$n" | sed 's/^/# /'; break; }
done
if [ "$tap_failed" != 0 ]; then
	box type journalctl --no-pager -q -p warning -n 30 2>&1 | sed 's/^/# /'
	tap_done
fi
joules() { here "$(cat "$SCRATCH/steps/${steps[-1]}")" | awk '/^ *1 / { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+$/ && $i > 0) n++ } END { exit !n }'; }
answer() { here "runuser -u ada -- cacct -nP -o JobID,State,ConsumedEnergyRaw,Source"; }
has_joules() { answer | grep -qE '^1\|COMPLETED\|[1-9][0-9]*\|'; }
ok "the first job's joules are in cacct" wait_for 60 has_joules || { answer; here 'ceems_tool doctor; journalctl --no-pager -q -n 40'; } | sed 's/^/# /'
ok "the last command shows it" joules
echo "# $(answer | head -n 1), $((SECONDS - begin)) s after the first command"

# --- a purge while a job runs
job=$(here 'cd ~ada && runuser -u ada -- sbatch --parsable -o job.out --wrap "while [ ! -e end ]; do sleep 0.2; done; srun true; echo rc=\$?"')
job_state() { here "scontrol -o show job $job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
is_state() { [ "$(job_state)" = "$1" ]; }
ok "a job runs" wait_for 60 is_state RUNNING
purge() { box type bash -c 'apt-get -qq -y purge "ceems*"' >"$SCRATCH/purge" 2>&1 </dev/null; }
purge
like "a purge is refused while slurm.conf names our plugin, and it is said" "$? $(cat "$SCRATCH/purge")" '^100 .*loads jobcomp_ceems.so by name'
is "the job goes on" "$(job_state)" RUNNING
here 'sed -i /ceems/d /etc/slurm/slurm.conf && systemctl restart slurmctld'
ok "slurmctld starts without its line" wait_for 60 idle_or_mixed
purge
is "then it succeeds, and says which line is left" "$? $(grep -c 'plugstack.conf still names spank_ceems.so' "$SCRATCH/purge") $(here "dpkg-query -W -f '\${db:Status-Status}\n' 'ceems*' 2>/dev/null | grep -cx installed")" "0 1 0"
is "nothing of it runs on, nor of its users" "$(here 'cd /proc && for p in [0-9]*; do echo "$(stat -c %U $p) $(cat $p/comm)"; done 2>/dev/null | grep -iE "ceems|systemd-journal"')" "root systemd-journal"
here 'sed -i /ceems/d /etc/slurm/plugstack.conf'
here 'touch ~ada/end'
# srun asks again after two minutes where a slurmctld that has just begun has not heard from the node yet
ok "the job and its next step end as ever" wait_for 300 is_state COMPLETED
is "with their results" "$(here 'grep -v ^srun: ~ada/job.out')" "rc=0"
tap_done
