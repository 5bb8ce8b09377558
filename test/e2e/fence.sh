#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_lb and redfish_proxy kept to their files by Landlock: renewed certificates and name
# services (nss-systemd; sssd's where it is installed) go on, a reload that names a file
# elsewhere says why it may not be read, and each is switched off by an option.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/pki.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
for p in redfish_proxy ceems_lb; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
cd "$SCRATCH" || exit 1
chmod 755 .
if have_root; then as=(--security.run-as-user=nobody); else as=(); fi
mine() { chmod 640 "$@"; if have_root; then chgrp "$(id -gn nobody)" "$@"; fi; }

# serve PROGRAM NAME ARGUMENT...: NAME.log; $pid, $url. ${inside[@]} runs before it.
inside=()
serve() {
	local name=$2 program=$BUILD/$1
	shift 2
	log=$SCRATCH/$name.log
	"${inside[@]}" "$program" --web.listen-address=127.0.0.1:0 "${as[@]}" "$@" 2>"$log" </dev/null &
	pid=$!
	started $pid
	wait_for 20 grep -q 'msg="*ready' "$log" || sed 's/^/# /' "$log"
	url=127.0.0.1:$(sed -n 's/.*serves .*on port \([0-9]*\).*/\1/p' "$log" | head -1)
}
stop() { kill $pid; wait $pid; }
more_said() { [ "$(grep -c 'reload: ' "$log")" -gt "$said" ]; }
reload() { # until something is said of it
	said=$(grep -c 'reload: ' "$log")
	kill -HUP $pid
	wait_for 20 more_said
}
landlock() { curl -sk "$1/metrics" | sed -n "s/^$2_sandbox_active{kind=\"landlock\"} //p"; }
serial() { openssl s_client -connect "$url" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
what_to_do='Landlock): restart, or name more with --security.landlock-read'

mkdir etc other
pki_ca site
printf 'redfish_proxy:\n  targets: [{url: "http://127.0.0.1:1", host_ip_addrs: [127.0.0.2]}]\n' >etc/proxy.yaml
elsewhere() { sed -i "s|\[127.0.0.2\]|[127.0.0.2], tls_config: {ca_file: $SCRATCH/other/ca.pem}|" etc/proxy.yaml; }
back() { sed -i "s|, tls_config: {ca_file: [^}]*}||" etc/proxy.yaml; }
pki_cert one site serverAuth DNS:localhost && pki_cert two site serverAuth DNS:localhost
cp one.pem etc/server.pem && cp one.key etc/server.key
printf 'tls_server_config: {cert_file: server.pem, key_file: server.key}\n' >etc/web.yaml
mine etc/*
cp site.pem other/ca.pem && chmod 644 other/ca.pem
serve redfish_proxy proxy --config.file=etc/proxy.yaml --web.config.file="$SCRATCH/etc/web.yaml"
grep -q 'not fenced: this kernel' "$log" && skip_all "this kernel has no Landlock, or what runs the test keeps it away"
ok "redfish_proxy says that it is kept to its files" grep -q 'files are fenced' "$log"
is "and so do its metrics" "$(landlock "https://$url" ceems_redfish_proxy)" 1
is "it serves with its certificate" "$(serial)" "$(openssl x509 -noout -serial -in one.pem)"
# as certbot and cert-manager do: new files under the old names
cp two.pem etc/new.pem && cp two.key etc/new.key && mine etc/new.pem etc/new.key
mv etc/new.pem etc/server.pem && mv etc/new.key etc/server.key
reload
ok "a reload with a renewed certificate goes well" grep -q 'reload: done' "$log"
is "and it is taken" "$(serial)" "$(openssl x509 -noout -serial -in two.pem)"
elsewhere
reload
ok "a file in a folder that it did not begin with is refused by name" grep -q "reload: .*$SCRATCH/other/ca.pem: Permission denied.*stays in force" "$log"
ok "and it is said what to do" wait_for 20 grep -q "$what_to_do" "$log"
stop
serve redfish_proxy proxy2 --config.file=etc/proxy.yaml
reload
ok "after a restart it is taken" grep -q 'reload: done' "$log"
stop
back
serve redfish_proxy more --config.file=etc/proxy.yaml --security.landlock-read="$SCRATCH/other"
elsewhere
reload
ok "so it is where the folder was named on the command line" grep -q 'reload: done' "$log"
stop
back
serve redfish_proxy off --config.file=etc/proxy.yaml --no-security.landlock
is "it can be switched off" "$(landlock "http://$url" ceems_redfish_proxy) $(grep -c 'files are not fenced (--security.landlock' "$log")" "0 1"
elsewhere
reload
ok "and then reads what its account may" grep -q 'reload: done' "$log"
stop

printf 'ceems_lb:\n  backends:\n    - id: one\n      tsdb: [{web: {url: "http://127.0.0.1:1"}}]\n' >etc/lb.yaml
mine etc/lb.yaml
serve ceems_lb lb --config.file=etc/lb.yaml
is "ceems_lb is kept to its files" "$(landlock "http://$url" ceems_lb) $(grep -c 'files are fenced' "$log")" "1 1"
sed -i "s|http://127.0.0.1:1\"|https://127.0.0.1:1\", tls_config: {ca_file: $SCRATCH/other/ca.pem}|" etc/lb.yaml
reload
ok "a file elsewhere is refused by name" grep -q "reload: .*$SCRATCH/other/ca.pem: Permission denied.*stays in force" "$log"
ok "and it is said what to do there, too" wait_for 20 grep -q "$what_to_do" "$log"
stop

# the mount namespace of a program whose users one service alone knows; it ends with the program
cat >inside.sh <<'E'
dir=$1 service=$2 socket=$3 lib=$4
shift 4
mount --make-rprivate / && mount --bind "$dir/nsswitch" /etc/nsswitch.conf &&
	mount -t tmpfs none /run && mount -t tmpfs none /opt && cp "$lib" /opt/ || exit 1
if [ "$service" = sss ]; then
	if [ -d /var/lib/sss ]; then mount -t tmpfs none /var/lib/sss; else mount -t tmpfs none /var/lib; fi || exit 1
fi
mkdir -p "${socket%/*}" && mkfifo "$dir/$service.in" && chmod -R go+rX /run /var/lib /opt
python3 "$TOP/test/fake/users.py" "$service" "$socket" ceemstest 61234 <"$dir/$service.in" >"$dir/$service.out" 2>&1 &
exec 8>"$dir/$service.in"
for i in $(seq 600); do grep -q ready "$dir/$service.out" && break; sleep 0.1; done
LD_LIBRARY_PATH=/opt exec "$@"
E
# names SERVICE SOCKET LIBRARY
names() {
	local what="users of $1 are found" service=$1 socket=$2 lib=$3
	[ -n "$lib" ] || { skip "$what" "libnss_$1.so.2 is not installed"; return; }
	have_root && have_munge "$BUILD/redfish_proxy" || { skip "$what" "needs root and libmunge"; return; }
	command -v python3 >/dev/null || { skip "$what" "python3 is not installed"; return; }
	printf 'passwd: files %s\ngroup: files\nhosts: files\n' "$service" >nsswitch
	chmod 644 nsswitch
	printf 'redfish_proxy:\n  identity: [munge]\n  munge_users: [0]\n  targets: [{url: "http://127.0.0.1:1", nodes: [a], host_ip_addrs: [127.0.0.2]}]\n' >etc/names.yaml
	mine etc/names.yaml
	inside=(env TOP="$TOP" unshare -m bash "$SCRATCH/inside.sh" "$SCRATCH" "$service" "$socket" "$lib")
	serve redfish_proxy "names-$service" --config.file=etc/names.yaml
	inside=()
	ok "a program that asks $service is kept to its files" grep -q 'files are fenced' "$log"
	sed -i 's/\[0\]/[ceemstest]/' etc/names.yaml
	reload
	if ! ok "$what" grep -q 'reload: done' "$log"; then sed 's/^/# /' "$log"; fi
	sed -i 's/\[ceemstest\]/[ceemsnobody]/' etc/names.yaml
	reload
	ok "and others are not" wait_for 20 grep -q 'no such user.*ceemsnobody' "$log"
	stop
}
library() { ldconfig -p | sed -n "s/.*libnss_$1\.so\.2 .*=> //p" | head -1; }
names systemd /run/systemd/userdb/io.ceems.Test "$(library systemd)"
names sss /var/lib/sss/pipes/nss "${CEEMS_NSS_SSS:-$(library sss)}"
tap_done
