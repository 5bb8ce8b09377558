#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pods that are so large that a page of the API server's list is longer than the aggregator takes, which whoever may
# create pods can see to: all pods are read all the same, in shorter pages.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
api=$(free_port)
python3 "$TOP/test/fake/k8s_node.py" large "$api" 150 1000000 >host.log 2>&1 &
started $!
(umask 077; echo token >apitoken; cat >clusters.yaml) <<END
clusters:
- {id: k1, manager: k8s, extra_config: {server: "http://127.0.0.1:$api", token_file: apitoken, username_prefix: "", timeout: 10m}}
END
agg_begin --clusters.file="$SCRATCH/clusters.yaml"
has_all() { [ "$(sql "SELECT count(*) FROM unit WHERE known_by = 'k8s' AND state = 'RUNNING'")" = 150 ]; }
ok "150 pods of 1 MB are all read" wait_for 300 has_all || tail -n 5 agg.log | sed 's/^/# /'
is "in pages that are not too long" "$(grep -o 'pages of [0-9]*' agg.log | xargs)" "pages of 250 pages of 125 pages of 62"
is "the list was not failed" "$(grep -c 'pods are as they were' agg.log)" 0
mib=$(awk '$1 == "VmHWM:" { print int($2 / 1024) }' "/proc/$agg_pid/status")
ok "memory stays below 256 MiB, however many things pods are made of" [ "$mib" -lt 256 ]
echo "# $mib MiB at most"
tap_done
