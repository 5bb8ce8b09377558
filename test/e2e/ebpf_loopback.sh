#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Network counters without what does not leave the host (--no-collector.ebpf.network-loopback), by the tracepoints of
# sockets and by system calls: two network namespaces with a cable between them.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3 ip unshare nsenter; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.network-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"

unshare -n sleep 1000 & here=$!
unshare -n sleep 1000 & there=$!
started $here
started $there
others_own() { [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
wait_for 20 others_own $here && wait_for 20 others_own $there || skip_all "no network namespaces here"
in_net() { nsenter -t "$@"; }
in_net $here -n ip link add name cable type veth peer name end netns $there 2>"$SCRATCH/why" || skip_all "no veth here: $(cat "$SCRATCH/why")"
in_net $here -n sh -c 'ip addr add 192.0.2.1/24 dev cable && ip link set cable up && ip link set lo up'
in_net $there -n sh -c 'ip addr add 192.0.2.2/24 dev end && ip link set end up'

ports=
for way in --no-collector.ebpf.network-calls --collector.ebpf.network-calls; do
	at=$(free_port) || exit 1
	ports+=" $at"
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run$at" --web.listen-address="127.0.0.1:$at" --collector.slurm --unit.linger=10m --unit.min-export=0 \
		--collector.ebpf.network-metrics --no-collector.ebpf.network-loopback $way </dev/null >"$SCRATCH/ceemsd.$at.log" 2>&1 &
	started $!
	ok "ceemsd starts $way" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$at/health"
done
scrape() { curl -sf "http://127.0.0.1:$1/metrics" >"$SCRATCH/metrics"; }
value() { # what proto family
	sed -n "s|^ceems_ebpf_$1_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\",proto=\"$2\",family=\"$3\"} ||p" "$SCRATCH/metrics"
}
known() { scrape "$1" && [ -n "$(value ingress_bytes tcp ipv4)" ]; }
step_make 0
for at in $ports; do ok "the step is found" wait_for 60 known "$at"; done

cat >"$SCRATCH/away.py" <<'P'
import socket, sys, threading
t = socket.create_server(("192.0.2.2", 0))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("192.0.2.2", 0))
def udp():
    while True: u.recv(1000)
threading.Thread(target=udp, daemon=True).start()
print(t.getsockname()[1], u.getsockname()[1], flush=True)
c, _ = t.accept()
n = 0
while n < 1000: n += len(c.recv(1000))
c.sendall(b"r" * 10)
c.recv(1)
P
cat >"$SCRATCH/here.py" <<'P'
import socket, sys, threading
def to_itself(family, host, n, mapped=False): # both ends are this process
    s = socket.create_server((host, 0), family=family)
    c = socket.socket(socket.AF_INET6 if mapped else family)
    c.connect(("::ffff:" + host if mapped else host, s.getsockname()[1])); a, _ = s.accept()
    c.sendall(b"x" * n); a.recv(n, socket.MSG_WAITALL)
    a.sendall(b"y" * n); c.recv(n, socket.MSG_WAITALL)
    c.close(); a.close()
    u = socket.socket(family, socket.SOCK_DGRAM); u.bind((host, 0))
    d = socket.socket(family, socket.SOCK_DGRAM); d.connect(u.getsockname())
    d.send(b"z" * 90)
to_itself(socket.AF_INET, "127.0.0.1", 5000)
to_itself(socket.AF_INET, "192.0.2.1", 7000)      # by the loopback device, too
to_itself(socket.AF_INET6, "::1", 3000)
to_itself(socket.AF_INET, "127.0.0.1", 400, True)
c = socket.create_connection(("192.0.2.2", int(sys.argv[1])))
c.sendall(b"q" * 1000); c.recv(10, socket.MSG_WAITALL); c.close()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"u" * 100, ("192.0.2.2", int(sys.argv[2])))
u.connect(("192.0.2.2", int(sys.argv[2]))); u.send(b"u" * 50)
P
in_net $there -n python3 -S -B "$SCRATCH/away.py" >"$SCRATCH/away" &
started $!
wait_for 20 test -s "$SCRATCH/away"
read -r tcp udp <"$SCRATCH/away"
run_in 0 nsenter -t $here -n python3 -S -B "$SCRATCH/here.py" "$tcp" "$udp"
is "the client has done all that" $? 0
for at in $ports; do
	scrape "$at"
	by=$(sed -n 's/^ceems_network_backend_info{.*calls="\([a-z_]*\)".*/\1/p' "$SCRATCH/metrics")
	is "TCP: what left the host, by $by" "$(value egress_bytes tcp ipv4) $(value ingress_bytes tcp ipv4)" "1000 10"
	is "UDP: what left the host, by $by" "$(value egress_bytes udp ipv4) $(value egress_packets udp ipv4)" "150 2"
	is "nothing of ::1, by $by" "$(value egress_bytes tcp ipv6) $(value ingress_bytes tcp ipv6) $(value egress_bytes udp ipv6)" "0 0 0"
	ok "segments of one connection alone, by $by" test "$(value egress_packets tcp ipv4)" -lt 12
done
tap_done
