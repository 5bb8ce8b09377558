# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by shell tests, after tap.sh: a store of profiles on a port of its own.
#   profile_store    leaves its URL in STORE_URL; false, with a reason as a comment: it does not start
# The Pyroscope that CEEMS_PYROSCOPE names, else a stand-in that answers /pyroscope/render alone, with what it took.
. "$TOP/test/pyroscope.sh"
profile_store() {
	local port
	if [ -n "${CEEMS_PYROSCOPE:-}" ]; then
		pyroscope_start || { tail -n 20 "$SCRATCH/pyroscope.log" | sed 's/^/# /'; return 1; }
		echo "# Pyroscope $("$CEEMS_PYROSCOPE" -version 2>&1 | sed -n 's/.*version \([^ ,]*\).*/\1/p' | head -n 1)"
		STORE_URL=$PYROSCOPE_URL
		return
	fi
	port=$(free_port)
	echo 200 >"$SCRATCH/store.control"
	: >"$SCRATCH/store.log"
	python3 "$TOP/test/fake/push_host.py" "$port" "$SCRATCH/store.control" "$SCRATCH/store.log" 2>"$SCRATCH/store.err" &
	started $!
	STORE_URL=http://127.0.0.1:$port
	wait_for 30 grep -q ready "$SCRATCH/store.err" || { tail -n 1 "$SCRATCH/store.err" | sed 's/^/# /'; return 1; }
}
