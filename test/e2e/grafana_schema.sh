#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboards against Grafana's own types (@grafana/schema of npm, the oldest and a new release
# that they are for): pages, panels, options of each panel type, queries of Pyroscope.
. "$(dirname "$0")/../tap.sh"
. test/cache.sh
for t in python3 node npm; do command -v $t >/dev/null || skip_all "$t is not installed"; done
export PYTHONDONTWRITEBYTECODE=1

have() { # release: its types are in the cache, whole or absent
	local to=$cache/grafana-schema-$1 new=$cache/grafana-schema-$1.$$
	remove_unfinished "$to"
	[ -d "$to" ] && return
	mkdir -p "$new" && echo '{"private": true}' >"$new/package.json" &&
		(cd "$new" && timeout 90 npm install --no-audit --no-fund --ignore-scripts "@grafana/schema@$1" typescript@5.4 >"$SCRATCH/npm" 2>&1) &&
		[ -x "$new/node_modules/.bin/tsc" ] && mv "$new" "$to" || { rm -rf "$new"; return 1; }
}
complaints() { # release, folder of dashboards
	local work=$SCRATCH/$1
	rm -rf "$work"
	mkdir -p "$work/src" && ln -s "$cache/grafana-schema-$1/node_modules" "$work/node_modules" &&
		python3 test/grafana_types.py "$2" "$work/src" && (cd "$work" && node_modules/.bin/tsc -p src 2>&1 | cut -c1-300 | head -5)
}
for v in 10.4.19 13.2.3; do
	have $v || { skip "Grafana $v's types" "npm does not give them: $(tail -n 1 "$SCRATCH/npm")"; continue; }
	is "Grafana $v's types know everything that is in the pages" "$(complaints $v contrib/grafana/dashboards)" ""
	last=$v
done
[ -n "${last:-}" ] || tap_done
cp -r contrib/grafana/dashboards "$SCRATCH/bad"
sed -i '0,/"lineWidth": 1/s//"lineWide": 1/' "$SCRATCH/bad/user/ceems-job.json"
sed -i '0,/"placement": "bottom"/s//"placement": "below"/' "$SCRATCH/bad/operator/ceems-op-node.json"
bad=$(complaints "$last" "$SCRATCH/bad")
like "an option that there is not is seen" "$bad" "ceems-job.*lineWide"
like "and a value that it cannot have" "$bad" 'ceems-op-node.*below'
tap_done
