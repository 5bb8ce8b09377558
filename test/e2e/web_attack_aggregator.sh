#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unauthenticated clients send the aggregator as many bodies as it allows, slowly; senders of
# reports are served meanwhile, each time.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
umask 077; echo a-token-of-this-test >token; umask 022
pg_start || { ok "Postgres starts" false; tap_done; }
PORT=$(free_port)
"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$PORT" --ingest.token-file="$SCRATCH/token" \
	--security.drop-privileges=false >agg.log 2>&1 &
PID=$!
started "$PID"
ok "the aggregator starts" wait_for 100 curl -sf -o /dev/null "http://127.0.0.1:$PORT/health"
T=$(($(date +%s) / 3600 * 3600 - 7200))
for i in $(seq 2000); do echo "start instance=$i unit=$i started=$T"; done | "$make" >body

# crowd OPTIONS: as test/fake/http_crowd.c has it, what each sends first is in the file head; CROWD is it
crowd() {
	"$BUILD/http_crowd" "$@" "$PORT" <head >crowd.out &
	CROWD=$!
	started "$CROWD"
	wait_for 100 grep -q ready crowd.out
}
disperse() { kill "$CROWD"; wait "$CROWD" 2>/dev/null; }
pushes() { # how many of N are taken
	for _ in $(seq "$1"); do
		curl -s -m 100 -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/x-ceems-batch' \
			-H 'Authorization: Bearer a-token-of-this-test' --data-binary @body "http://127.0.0.1:$PORT/api/v1/ingest"
	done | sort | uniq -c | awk '{ printf "%s x %s;", $2, $1 }'
}
head_of() { # path, type, length, proof
	printf 'POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %s\r\n%s\r\n\r\n' "$1" "$2" "$3" "$4"
}

is "reports are taken" "$(pushes 8)" "200 x 8;"
big=$((8 << 20)) many=1290000
for proof in 'Authorization: MUNGE x' 'Authorization: MUNGE MUNGE:AwQDAAB:' 'X-Nothing: x'; do
	head_of /api/v1/ingest application/x-ceems-batch $big "$proof" >head
	crowd --count 9 --zeros $((big - 1))
	is "reports are taken beside 9 bodies of 8 MiB with ${proof%:*}" "$(pushes 8)" "200 x 8;"
	disperse
	head_of /api/v1/units/verify text/plain $many "$proof" >head
	crowd --count 60 --zeros $((many - 1))
	is "and beside 60 lists of units to be verified" "$(pushes 8)" "200 x 8;"
	disperse
done
ok "the aggregator runs on" kill -0 "$PID"
tap_done
