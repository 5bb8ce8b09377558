#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of doc/quickstart.md, read out of the page and typed one by one as root in a fresh
# Debian 12 with a real systemd (test/rig/box): each must succeed, and then all of it works.
# timeout 2400
# alone
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in mmdebstrap git unshare nsenter jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
git rev-parse --verify -q HEAD >/dev/null || skip_all "not a clone"
root=${TMPDIR:-/tmp}/ceems-quickstart.$$
box() { local what=$1; shift; test/rig/box "$what" "$root" "$@"; }
test_cleanup() { box end; rm -rf --one-file-system "$root" "$root".*; }
begin=$SECONDS
box make bookworm systemd,systemd-sysv,dbus >"$SCRATCH/make" 2>&1 || skip_all "$(tail -n 1 "$SCRATCH/make")"
git clone -q --no-hardlinks "file://$TOP" "$root/root/ceems-slurm" || skip_all "the tree cannot be cloned"
ok "a fresh Debian 12 is up" box boot

# --- typed
mkdir "$SCRATCH/steps"
awk -v dir="$SCRATCH/steps" '/^#/ { n = 0 } /^[0-9]+\. / { n = $1 + 0; steps = steps " " n } n && /^        / { print substr($0, 9) >(dir "/" n) }
	END { print steps }' doc/quickstart.md >"$SCRATCH/order"
read -ra steps <"$SCRATCH/order"
is "steps are numbered, and each has its command" "${steps[*]} $(ls "$SCRATCH/steps" | wc -l)" "$(seq -s' ' ${#steps[@]}) ${#steps[@]}"
ok "there are fewer than 16: ${#steps[@]}" [ ${#steps[@]} -lt 16 ]
for n in "${steps[@]}"; do
	net=
	grep -qE 'apt-get|slurm_source' "$SCRATCH/steps/$n" && net=--net # it fetches: the only ones that need more than this box
	box type $net bash -c "cd /root/ceems-slurm && set -o pipefail && $(cat "$SCRATCH/steps/$n")" >"$SCRATCH/said.$n" 2>&1 </dev/null
	status=$? # before the next substitution changes it
	is "step $n: $(head -n 1 "$SCRATCH/steps/$n" | cut -c1-60)" "$status" 0
	[ "$tap_failed" = 0 ] || { tail -n 20 "$SCRATCH/said.$n" | sed 's/^/# /'; break; }
done
if [ "$tap_failed" != 0 ]; then
	box type journalctl --no-pager -q -p warning -n 30 2>&1 | sed 's/^/# /'
	tap_done
fi
echo "# typed within $((SECONDS - begin)) s, Debian itself and the build included"

# --- and it works
here() { box type bash -c "$1"; }
services="munge slurmctld slurmd ceems_aggregator ceems-courier ceemsd ceems_lb prometheus"
is "all services run" "$(here "systemctl is-active $services" | sort -u)" active
like "make left nothing out" "$(grep -c 'left out' "$SCRATCH/said.4")" '^0$'
like "check slurm has found nothing wrong" "$(tail -n 1 "$SCRATCH/said.10")" ', 0 wrong$'
like "the job's bill was printed" "$(cat "$SCRATCH/said.14")" 'ceems: job 1, step 0'
recorded() { here 'runuser -u ada -- env CEEMS_API_URL=http://127.0.0.1:9020 cacct -nP -o JobID,State' | grep -q '^1|COMPLETED'; }
ok "and it has its record" wait_for 60 recorded
answer() { here "$(cat "$SCRATCH/steps/15")"; }
shown() { answer | jq -e '.data.result[0].value[1]'; }
ok "Grafana is shown its series" wait_for 120 shown || answer | sed 's/^/# /'
lb="curl -s -g -o /dev/null -w '%{http_code}' -u grafana:\$(cat /etc/ceems/secrets/lb-grafana.password) 'http://127.0.0.1:9030/api/v1/query?query=ceems_compute_unit_cpus{uuid=\"1\"}'"
is "another user is not" "$(here "$lb -H 'X-Grafana-User: games'")" 403
is "nor who has another service's password" "$(here "${lb/lb-grafana/aggregator-grafana} -H 'X-Grafana-User: ada'")" 401
is "the API knows Grafana, too" "$(here "curl -s -o /dev/null -w '%{http_code}' -u grafana:\$(cat /etc/ceems/secrets/aggregator-grafana.password) -H 'X-Grafana-User: ada' http://127.0.0.1:9020/api/v1/units")" 200
prometheus() { here "curl -s -g '127.0.0.1:9090/api/v1/$1'"; }
is "Prometheus scrapes the node" "$(prometheus 'query?query=up{job="ceems"}' | jq -r '.data.result[0].value[1]')" 1
ok "and has rules and alerts" [ "$(prometheus rules | jq '.data.groups | length')" -ge 2 ]
tap_done
