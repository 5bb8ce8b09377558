#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections to the aggregator that are cut, half open or never read from, beside one that is
# good: it is served, nothing is written by halves or twice. Then a real ceemsd and its courier
# whose line to the aggregator is cut at every kind of moment.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator make=$BUILD/batch_make
[ -x "$agg" ] && [ -x "$make" ] || skip_all "ceems_aggregator was not built here"
for t in curl python3; do command -v $t >/dev/null || skip_all "$t is not installed"; done
need_pg
cd "$SCRATCH" || exit 1
chmod 755 .
(umask 077; echo a-token-of-this-test >token; cp token node-token)
have_root && { chgrp ceems node-token 2>/dev/null || chgrp "$(id -gn nobody)" node-token; chmod 640 node-token; } # who ceemsd becomes
pg_start || { ok "Postgres starts" false; tap_done; }
port=$(free_port)
"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --ingest.token-file="$SCRATCH/token" --security.drop-privileges=false \
	--web.max-connections=200 >agg.log 2>&1 &
agg_pid=$!
started $agg_pid
up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$port/health"; }
ok "the aggregator starts" wait_for 20 up
sql() { psql_do -c "$1"; }
fds() { find "/proc/$agg_pid/fd" -mindepth 1 2>/dev/null | wc -l; }
now=$(date +%s)
batch() { printf 'many 20 start instance=%s unit=%s started=%s\n' "$1" "$1" $((now - 600)) | "$make"; }
post() { curl -s -m 100 -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-this-test' -H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$port/api/v1/ingest"; }

# ---- clients of every bad kind, in the background until told to end
for kind in 1 2 3 4 5; do for i in $(seq 0 19); do batch $((kind * 100000 + i * 100)) >"b$kind.$i"; done; done
cat >bad.py <<'END'
import os, socket, struct, sys, time
port = int(sys.argv[1])
def link(small=False):
    s = socket.socket()
    if small: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(('127.0.0.1', port))
    return s
def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()
held = []
for i in range(20):
    whole = {}
    for kind in range(1, 6):
        body = open('b%d.%d' % (kind, i), 'rb').read()
        head = ('POST /api/v1/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-token-of-this-test\r\n'
                'Content-Type: application/x-ceems-batch\r\nContent-Length: %d\r\n\r\n' % len(body)).encode()
        whole[kind] = head, body
    s = link(); s.sendall(whole[1][0][:60]); held.append(s)                               # half a head, and silence
    s = link(); s.sendall(whole[2][0] + whole[2][1][:len(whole[2][1]) // 2]); held.append(s)  # half a body, and silence
    s = link(); s.sendall(whole[3][0] + whole[3][1][:-1 - i]); s.close()                   # cut
    s = link(); s.sendall(whole[4][0] + whole[4][1][:-1 - i]); reset(s)                    # cut with a reset
    s = link(); s.sendall(whole[5][0] + whole[5][1]); time.sleep(0.001 * i); reset(s)      # gone before the answer
    if i < 10:                                                                             # asks much and reads nothing
        s = link(True); s.setblocking(False)
        try: s.send(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' * 200)
        except BlockingIOError: pass
        held.append(s)
    open('made', 'w').write(str(i))
while not os.path.exists('over'): time.sleep(0.05)
END
before=$(fds)
python3 bad.py "$port" 2>bad.log &
bad=$!
started $bad
slow=0
for i in $(seq 60); do
	t0=${EPOCHREALTIME/./}
	[ "$(batch $((900000 + i * 100)) | post)" = 200 ] || echo "# push $i: $(cat answer)"
	t1=${EPOCHREALTIME/./}
	[ $((t1 - t0)) -lt 15000000 ] || slow=$((slow + 1)) # the silent ones are there for 30 s
done
all_made() { [ "$(cat made)" = 19 ]; }
wait_for 20 all_made
is "a client beside them is served, each time" "$(sql 'SELECT count(*) FROM unit_node WHERE instance >= 900000') $slow" "1200 0"
ok "and so is who asks" up
is "of what was cut nothing is written" "$(sql 'SELECT count(*) FROM unit_node WHERE instance < 500000')" 0
whole=$(sql "SELECT count(*) FROM (SELECT instance / 100 FROM unit_node WHERE instance BETWEEN 500000 AND 599999 GROUP BY 1 HAVING count(*) <> 20) x")
is "who left before the answer is there whole or not at all" "$whole" 0
for kind in 1 2 3 4 5; do for i in $(seq 0 19); do post <"b$kind.$i" >/dev/null; done; done
is "sent again, each is there once" "$(sql 'SELECT count(*), count(DISTINCT instance) FROM unit_node')" "3200|3200"
touch over
wait $bad 2>/dev/null

# ---- a line that is cut: python forwards, or does not
if [ -x "$BUILD/ceemsd" ] && [ -x "$BUILD/ceems-courier" ] && [ -x "$BUILD/unit_source" ]; then
	cat >line.py <<'END'
import itertools, os, socket, sys, threading, time
port, to = int(sys.argv[1]), int(sys.argv[2])
kinds = itertools.cycle(['well', 'no answer', 'half a request', 'well', 'at once', 'half an answer', 'well', 'frozen', 'most of a request'])
def whole(s):
    data = b''
    while b'\r\n\r\n' not in data:
        more = s.recv(65536)
        if not more: return data
        data += more
    head = data.split(b'\r\n\r\n')[0].lower()
    at = head.find(b'content-length:')
    want = len(head) + 4 + (int(head[at + 15:].split(b'\r\n')[0]) if at >= 0 else 0)
    while len(data) < want:
        more = s.recv(65536)
        if not more: break
        data += more
    return data
def serve(s, kind):
    open('kinds', 'a').write(kind + '\n')
    if kind == 'at once': s.close(); return
    u = socket.create_connection(('127.0.0.1', to))
    data = whole(s)
    if kind == 'half a request': data = data[:len(data) // 2]
    if kind == 'most of a request': data = data[:-3]
    u.sendall(data)
    if kind.endswith('request') or kind == 'no answer':
        if kind == 'no answer': time.sleep(0.3)
        u.close(); s.close(); return
    answer = whole(u)
    if kind == 'half an answer': s.sendall(answer[:-10])
    elif kind == 'frozen': time.sleep(4)
    else: s.sendall(answer)
    s.close(); u.close()
l = socket.create_server(('127.0.0.1', port), backlog=50)
while True:
    s, _ = l.accept()
    threading.Thread(target=serve, args=(s, next(kinds) if not os.path.exists('good') else 'well'), daemon=True).start()
END
	line=$(free_port) node=$(free_port)
	mkdir cgroup # this machine's own has the jobs of rigs beside
	python3 line.py "$line" "$port" 2>line.log &
	started $!
	"$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" --web.listen-address="127.0.0.1:$node" \
		--reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=1h --cluster=cut --aggregator.url="http://127.0.0.1:$line" \
		--aggregator.token-file="$SCRATCH/node-token" --aggregator.timeout=2s >node.log 2>&1 </dev/null &
	node_pid=$!
	started $node_pid
	node_up() { curl -sf -o metrics "http://127.0.0.1:$node/metrics"; }
	ok "ceemsd starts" wait_for 20 node_up
	for k in $(seq 9); do
		"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=10 --first-id=$((7000 + k * 10)) --rate=200 >/dev/null
		sleep 1
	done
	several() { [ "$(sort -u kinds | wc -l)" -ge 6 ]; }
	wait_for 100 several
	touch good
	there() { [ "$(sql "SELECT count(*) FROM unit_node n JOIN node o ON o.id = n.node JOIN cluster c ON c.id = o.cluster WHERE c.name = 'cut' AND final")" = 90 ]; }
	ok "all of 90 jobs arrive with their end" wait_for 70 there
	is "each once" "$(sql "SELECT count(*), count(DISTINCT uuid) FROM unit_node n JOIN node o ON o.id = n.node JOIN cluster c ON c.id = o.cluster WHERE c.name = 'cut'")" "90|90"
	echo "# $(sort kinds | uniq -c | tr -s ' ' | paste -sd,)"
	ok "the line was cut in several ways" [ "$(sort -u kinds | wc -l)" -ge 5 ]
	node_up
	is "nothing was refused or set aside" "$(sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' metrics | paste -sd' ')" "0 0"
	kill "$node_pid"; wait "$node_pid" 2>/dev/null
else
	skip "a line that is cut" "ceemsd or ceems-courier was not built here"
fi
# a body that is cut has 30 s to come
gone() { [ "$(fds)" -le $((before + 10)) ]; }
ok "the connections of all are given back" wait_for 40 gone
is "nothing of it was an error of the aggregator's" "$(grep -c 'level=error' agg.log)" 0
kill "$agg_pid"; wait "$agg_pid"
is "it ends well" $? 0
tap_done
