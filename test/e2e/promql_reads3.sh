#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The engine of Prometheus 3.5 reads for random queries only what the proof claims for them:
# no unit at any other time. Built from its Go module where Go and the module can be had.
# QUERIES=N (2000), SEED=N.
# timeout 900
. "$(dirname "$0")/../tap.sh"
command -v go >/dev/null || skip_all "go is not installed: not compared with a real engine"
[ -x "$BUILD/promql_claims" ] || skip_all "promql_claims was not built here"
mkdir "$SCRATCH/go" && cp test/promql3/reads/main.go "$SCRATCH/go/"
printf 'module reads\ngo 1.22\nrequire github.com/prometheus/prometheus v0.305.0\n' >"$SCRATCH/go/go.mod"
(cd "$SCRATCH/go" && go mod tidy && go build -mod=mod -o reads .) >"$SCRATCH/go.log" 2>&1 ||
	skip_all "the Go module of Prometheus 3 cannot be had or built: $(tail -n1 "$SCRATCH/go.log")"
"$BUILD/promql_claims" "${SEED:-7}" "${QUERIES:-2000}" | "$SCRATCH/go/reads" >"$SCRATCH/out"
grep '^#' "$SCRATCH/out" | head -20
read -r reads beyond < <(tail -n1 "$SCRATCH/out")
ok "units are read: ${reads:-0} times" test "${reads:-0}" -gt "${QUERIES:-2000}"
is "none in a time that is not claimed" "${beyond:-none}" 0
tap_done
