#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What processes of a step send and receive by TCP and UDP, as the kernel counts it, against what the programs
# themselves did: --collector.ebpf.network-metrics. Beside it another ceemsd counts the same by system calls, as on kernels
# without the tracepoints of sockets.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.network-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
other=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:${1:-$port}/metrics" >"$SCRATCH/metrics"; }
value() { # what proto family: of the job
	sed -n "s|^ceems_ebpf_$1_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\",proto=\"$2\",family=\"$3\"} ||p" "$SCRATCH/metrics"
}
bytes() { echo "$(value ingress_bytes "$@") $(value egress_bytes "$@")"; }

count_at() { # port option...: what it says is in ceemsd.PORT.log
	local at=$1
	shift
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run$at" --web.listen-address="127.0.0.1:$at" --collector.slurm \
		--collector.ebpf.network-metrics "$@" --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.$at.log" 2>&1 &
	daemon=$!
	started $daemon
	ok "ceemsd starts $*" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$at/health"
}
known() { scrape "$1" && [ -n "$(value ingress_bytes tcp ipv4)" ]; }
count_at "$other" --collector.ebpf.network-calls
by_calls=$daemon
like "by system calls, if asked" "$(cat "$SCRATCH/ceemsd.$other.log")" "counts what units send and receive, by system calls"
count_at "$port"
tracepoints=
if grep -q "send and receive, by the tracepoints of sockets" "$SCRATCH/ceemsd.$port.log"; then tracepoints=1; fi
step_make 0
ok "the step is found" wait_for 60 known "$port"
ok "by both" wait_for 60 known "$other"
series_of() { scrape "$1" && grep "^ceems_ebpf_[eir].*gress_\|^ceems_ebpf_retrans_" "$SCRATCH/metrics" | grep "uuid=\"$job\"" | sort; }
alike() { [ "$(series_of "$port")" = "$(series_of "$other")" ]; } # the last segments come a moment after the close

# The other side is of no unit. Each connection: 100 bytes there, 50 back, and a last write just before the close.
cat >"$SCRATCH/server.py" <<'P'
import socket, sys, threading
def tcp(s):
    while True:
        c, _ = s.accept()
        n = 0
        while True:
            d = c.recv(65536)
            if not d: break
            n += len(d)
            if n == 100: c.sendall(b"r" * 50)
        c.close()
def pairs(s): # two bytes out, two bytes back, until that is enough
    c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(20000):
        c.sendall(b"pp")
        assert len(c.recv(2, socket.MSG_WAITALL)) == 2
    c.shutdown(socket.SHUT_WR); c.recv(1); c.close()
def udp(s):
    while True:
        d, a = s.recvfrom(65536)
        s.sendto(d[:100], a)
ports = []
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    try:
        t = socket.create_server((host, 0), family=family, backlog=1024)
        u = socket.socket(family, socket.SOCK_DGRAM); u.bind((host, 0))
    except OSError:
        ports += [0, 0]
        continue
    ports += [t.getsockname()[1], u.getsockname()[1]]
    threading.Thread(target=tcp, args=(t,), daemon=True).start()
    threading.Thread(target=udp, args=(u,), daemon=True).start()
t = socket.create_server(("127.0.0.1", 0))
ports += [t.getsockname()[1]]
threading.Thread(target=pairs, args=(t,), daemon=True).start()
with open(sys.argv[1] + ".new", "w") as f: print(*ports, file=f)
import os; os.rename(sys.argv[1] + ".new", sys.argv[1])
threading.Event().wait()
P
python3 -S -B "$SCRATCH/server.py" "$SCRATCH/ports" &
server=$!
started $server
wait_for 20 test -s "$SCRATCH/ports"
read -r tcp4 udp4 tcp6 udp6 pairs <"$SCRATCH/ports"
cat >"$SCRATCH/client.py" <<'P'
import socket, sys
tcp4, udp4, tcp6, udp6 = map(int, sys.argv[1:])
def short(family, host, port, n):
    for i in range(n):
        c = socket.socket(family); c.connect((host, port))
        c.sendall(b"q" * 100)
        c.recv(1, socket.MSG_PEEK)                 # looked at, not taken
        n = 0
        while n < 50: n += len(c.recv(50 - n))
        c.sendall(b"l" * 7)                        # just before the close
        c.close()
short(socket.AF_INET, "127.0.0.1", tcp4, 1000)
c = socket.create_connection(("127.0.0.1", tcp4))  # one long one
for i in range(100): c.sendall(b"x" * 100000)
c.shutdown(socket.SHUT_WR); c.recv(1); c.close()
try: c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); c.sendto(b"e" * 70000, ("127.0.0.1", udp4))
except OSError: pass                               # too long: nothing is sent
for i in range(20):
    c.sendto(b"u" * 500, ("127.0.0.1", udp4)); assert len(c.recv(1000)) == 100
if tcp6:
    short(socket.AF_INET6, "::1", tcp6, 10)
    short(socket.AF_INET6, "::ffff:127.0.0.1", tcp4, 10) # IPv4
a, b = socket.socketpair(); a.send(b"z" * 1000); b.recv(1000) # neither TCP nor UDP
P
run_in 0 python3 -S -B "$SCRATCH/client.py" "$tcp4" "$udp4" "$tcp6" "$udp6"
is "the client has done all that" $? 0
scrape
mapped=0 six="0 0"
[ "$tcp6" = 0 ] || mapped=10 six="500 1070"
is "each byte of a thousand short connections and a long one" "$(bytes tcp ipv4)" "$(((1000 + mapped) * 50)) $(((1000 + mapped) * 107 + 10000000))"
is "IPv6 apart from IPv4 in an IPv6 socket" "$(bytes tcp ipv6)" "$six"
is "datagrams" "$(bytes udp ipv4) $(value ingress_packets udp ipv4) $(value egress_packets udp ipv4)" "2000 10000 20 20"
packets=$(value egress_packets tcp ipv4)
ok "segments: at least SYN, data and FIN of each connection" test "$packets" -ge 4000
ok "and not many more than that" test "$packets" -le 40000
like "what was sent again is there" "$(value retrans_packets tcp ipv4) $(value retrans_bytes tcp ipv4)" '^[0-9]+ [0-9]+$'
is "UDP sends nothing again" "$(value retrans_packets udp ipv4)" ""

# One socket, two processes on two CPUs that look at it at the same time. Against what the socket has counted itself.
cat >"$SCRATCH/shared.py" <<'P'
import os, socket, struct, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
child = os.fork()
while c.recv(1): c.send(b"p")                      # both are woken at once
if not child: os._exit(0)
os.wait()
segs = struct.unpack_from("II", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 136)
c.recv(1); c.close()
print(*segs)
P
packets() { echo "$(value egress_packets tcp ipv4) $(value ingress_packets tcp ipv4)"; }
read -r out_before in_before < <(packets)
read -r out in < <(run_in 0 python3 -S -B "$SCRATCH/shared.py" "$pairs")
scrape
read -r out_after in_after < <(packets)
between() { [ "$1" -ge "$2" ] && [ "$1" -le $(($2 + 20)) ]; } # the end of the connection
echo "# sent $((out_after - out_before)) of $out, received $((in_after - in_before)) of $in"
ok "a socket that two processes use: what it sent is added once" between $((out_after - out_before)) "$out"
ok "and what it received" between $((in_after - in_before)) "$in"
# --- by both
ok "system calls and tracepoints have counted the same: bytes, packets, each protocol and family" wait_for 30 alike ||
	diff <(series_of "$port") <(series_of "$other") | sed 's/^/# /'
head -c 5000 /dev/zero >"$SCRATCH/file"
more() { # port before: TCP bytes sent and received, UDP bytes and packets since then
	scrape "$1"
	paste -d' ' <(echo "$2" | xargs -n1) <(totals | xargs -n1) | awk '{ print $2 - $1 }' | xargs
}
totals() {
	echo "$(value egress_bytes tcp ipv4) $(value ingress_bytes tcp ipv4)" \
		"$(value egress_bytes udp ipv4) $(value egress_packets udp ipv4) $(value ingress_bytes udp ipv4) $(value ingress_packets udp ipv4)"
}
scrape "$other"
other_before=$(totals)
scrape
before=$(totals)
moved=$(run_in 0 "$BUILD/net_calls" "$SCRATCH/file")
is "each system call that sends or receives, and io_uring: by system calls" "$(more "$other" "$other_before")" "$moved"
if [ -z "$tracepoints" ] || [[ $(uname -r) == 6.[34].* ]]; then
	skip "and by tracepoints" "this kernel has none, or none that sendfile passes"
else
	is "and by tracepoints" "$(more "$port" "$before")" "$moved"
fi
# A socket that another process opened, used and handed over; a connection of MPTCP, whose own sockets are the kernel's
cat >"$SCRATCH/giver.py" <<'P'
import array, socket, sys
u = socket.socket(socket.AF_UNIX); u.bind(sys.argv[2]); u.listen()
c = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); c.sendall(b"h" * 50)
open(sys.argv[2] + ".ready", "w").close()
a, _ = u.accept()
a.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [c.fileno()]))])
a.recv(1)
P
cat >"$SCRATCH/taker.py" <<'P'
import array, socket, sys
u = socket.socket(socket.AF_UNIX); u.connect(sys.argv[1])
_, given, _, _ = u.recvmsg(1, socket.CMSG_SPACE(4))
c = socket.socket(fileno=array.array("i", given[0][2])[0])
c.sendall(b"t" * 1234)
mptcp = 0
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.bind(("127.0.0.1", 0)); s.listen()
    m = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); m.connect(s.getsockname()); a, _ = s.accept()
    m.sendall(b"m" * 5000); a.recv(5000, socket.MSG_WAITALL)
    mptcp = 5000
except OSError: pass                               # a kernel without it
print(1234 + mptcp, mptcp, 0, 0, 0, 0)
P
python3 -S -B "$SCRATCH/giver.py" "$tcp4" "$SCRATCH/hand" &
started $!
wait_for 20 test -e "$SCRATCH/hand.ready"
scrape "$other"
other_before=$(totals)
scrape
before=$(totals)
moved=$(run_in 0 python3 -S -B "$SCRATCH/taker.py" "$SCRATCH/hand")
echo "# handed over, and MPTCP: $moved"
is "a socket that was handed over counts for who uses it, and MPTCP counts: by system calls" "$(more "$other" "$other_before")" "$moved"
[ -z "$tracepoints" ] || is "and by tracepoints" "$(more "$port" "$before")" "$moved"

scrape "$other"
other_before=$(totals)
spliced=$(run_in 0 "$BUILD/net_calls" "$SCRATCH/file" splice)
is "what is spliced from a socket counts by system calls" "$(more "$other" "$other_before")" "$spliced"
scrape "$other"
like "which programs count is said" "$(cat "$SCRATCH/metrics")" 'ceems_network_backend_info\{.*calls="sys_exit"'
like "and that no socket was without room" "$(cat "$SCRATCH/metrics")" 'ceems_network_calls_without_segments_total\{[^}]*\} 0'
scrape
before=$(grep "^ceems_ebpf_[ei]gress_bytes" "$SCRATCH/metrics" | grep "uuid=\"$job\"" | sort)
step_remove 0
ok "the step has ended" wait_for 60 unit_ended
scrape
is "its counts stay" "$(grep "^ceems_ebpf_[ei]gress_bytes" "$SCRATCH/metrics" | grep "uuid=\"$job\"" | sort)" "$before"
kill "$by_calls" "$daemon"
wait "$by_calls" && wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
