#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who may read what (lb_owned.sh, as it is) with other servers than Debian's Prometheus behind ceems_lb: Prometheus 3, VictoriaMetrics below a path,
# Thanos and Cortex as a tenant, built here from their Go modules; VictoriaMetrics' cluster, which has none, if vmselect, vminsert
# and vmstorage are in PATH. MetricsQL is refused, or proved by name like PromQL.
# timeout 3600
. "$(dirname "$0")/../tap.sh"
for engine in prometheus3 victoria-metrics thanos cortex vmselect; do
	if [ $engine = vmselect ]; then
		command -v vmselect vminsert vmstorage >"$SCRATCH/said" || { skip "$engine" "VictoriaMetrics' cluster is not in PATH"; continue; }
		dir=$(dirname "$(command -v vmselect)")
	else
		dir=$(test/rig/go_program make $engine 2>"$SCRATCH/said") || { skip "$engine" "$dir"; continue; }
	fi
	PATH=$dir:$PATH ENGINE=$engine timeout 900 bash test/e2e/lb_owned.sh >"$SCRATCH/$engine" 2>&1
	grep -E '^not ok|^#' "$SCRATCH/$engine" | sed 's/^/# /'
	is "$engine: each check of lb_owned.sh that Prometheus passes" "$(grep -c '^ok' "$SCRATCH/$engine") $(grep -c '^not ok' "$SCRATCH/$engine")" "$(sed -n 's/^1\.\.//p' "$SCRATCH/$engine") 0"
	ok "$engine: they were made" [ "$(grep -c '^ok' "$SCRATCH/$engine")" -ge 30 ]
done
tap_done
