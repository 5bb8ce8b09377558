#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd, ceems-courier and a BMC that speaks Redfish over TLS, of our own making for the
# faults: sessions, a BMC that dies, comes back, is slow, forgets and refuses, a courier that is
# killed. Secrets are looked for in every log.
. "$(dirname "$0")/../tap.sh"

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built here (libcurl, json-c)"
[ -x "$BUILD/redfish_bmc" ] || skip_all "the made-up BMC is not built here (libmicrohttpd)"
command -v openssl >/dev/null || skip_all "openssl is not installed: no certificates"
command -v curl >/dev/null || skip_all "curl is not installed"

secret=planted-PaSSword-7
chmod 755 "$SCRATCH"
cat >"$SCRATCH/openssl.cnf" <<END
[req]
distinguished_name = dn
x509_extensions = ext
prompt = no
[dn]
CN = bmc
[ext]
subjectAltName = IP:127.0.0.1
END
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config "$SCRATCH/openssl.cnf" \
	-keyout "$SCRATCH/key" -out "$SCRATCH/cert" >/dev/null 2>&1 || skip_all "openssl makes no certificate"

mkfifo "$SCRATCH/never" && exec 7<>"$SCRATCH/never" # the BMC ends with its standard input

# bmc [ARG...]: starts one with its certificate, bmc_port is its port
bmc() {
	rm -f "$SCRATCH/bmc.out"
	"$BUILD/redfish_bmc" --user reader --password "$secret" \
		--cert "$SCRATCH/cert" --key "$SCRATCH/key" --control "$SCRATCH/control" --log "$SCRATCH/bmc.log" "$@" \
		>"$SCRATCH/bmc.out" 2>&1 <"$SCRATCH/never" &
	bmc_pid=$!
	started $bmc_pid
	wait_for 10 grep -q '^ready' "$SCRATCH/bmc.out" || return 1
	bmc_port=$(sed -n 's/^ready //p' "$SCRATCH/bmc.out")
}
fault() { echo "$*" >"$SCRATCH/control.new" && mv "$SCRATCH/control.new" "$SCRATCH/control"; }
fault watts 321
# asked: until the BMC has been asked again
asked() { local n; n=$(wc -l <"$SCRATCH/bmc.log"); wait_for 20 eval '[ "$(wc -l <"$SCRATCH/bmc.log")" -gt '"$n"' ]'; }
bmc || skip_all "the made-up BMC does not start: $(cat "$SCRATCH/bmc.out")"

config() { # [LINE...]
	{
		printf 'redfish_collector:\n  hostname: 127.0.0.1\n  port: %s\n  timeout: 15000\n  username: reader\n' "$bmc_port"
		printf '  %s\n' "$@"
	} >"$SCRATCH/redfish.yaml"
	chmod "${mode:-640}" "$SCRATCH/redfish.yaml"
	have_root && id ceems >/dev/null 2>&1 && chgrp ceems "$SCRATCH/redfish.yaml"
	return 0
}
once() { "$BUILD/ceems-courier" --collector.redfish --collector.redfish.config.file="$SCRATCH/redfish.yaml" --once --print >"$SCRATCH/once" 2>&1; }
refused() { ! once && grep -q -- "$1" "$SCRATCH/once"; }

config "tls_config: {ca_file: cert}" "password: $secret"
ok "the courier alone shows what the BMC says" once
like "watts of the chassis" "$(cat "$SCRATCH/once")" "power_uw=321000000 host"
ok "it has ended its session" grep -q '^DELETE .*Sessions' "$SCRATCH/bmc.log"
REDFISH_WEB_PASSWORD=wrong once
like "the environment's password wins" "$(cat "$SCRATCH/once")" "refused"
config "tls_config: {ca_file: cert}" 'password: ${BMC_PASSWORD}'
BMC_PASSWORD=$secret "$BUILD/ceems-courier" --collector.redfish --collector.redfish.config.file="$SCRATCH/redfish.yaml" \
	--collector.redfish.config.file.expand-env-vars --once --print >"$SCRATCH/once" 2>&1
like "the environment in the file" "$(cat "$SCRATCH/once")" "power_uw=321000000"
config "password: $secret"
ok "a certificate that nobody vouches for is refused" refused "certificate"
config "password: $secret" "insecure_skip_verify: true"
ok "unless told otherwise" once
like "which is said" "$(cat "$SCRATCH/once")" "anyone can pose as the BMC"
mode=644 config "password: $secret" "insecure_skip_verify: true"
ok "a file that shows its password to others is refused" refused "refused (chmod"
config "password: $secret" "pasword: x"
ok "--check-config says so without asking" eval '! "$BUILD/ceems-courier" --collector.redfish --check-config \
	--collector.redfish.config.file="$SCRATCH/redfish.yaml" >"$SCRATCH/once" 2>&1 && grep -q "redfish.yaml:7: unknown key" "$SCRATCH/once"'
ok "an unknown key is refused by name and line" refused "redfish.yaml:7: unknown key: pasword"

# through redfish_proxy, which has the password and knows whose BMC it is
if [ -x "$BUILD/redfish_proxy" ]; then
	pport=$(free_port) || exit 1
	cat >"$SCRATCH/proxy.yaml" <<-END
		redfish_proxy:
		  targets:
		    - host_ip_addrs: [127.0.0.1]
		      url: https://127.0.0.1:$bmc_port
		  tls_config: {ca_file: $SCRATCH/cert}
		  basic_auth: {username: reader, password: $secret}
	END
	chmod 640 "$SCRATCH/proxy.yaml"
	"$BUILD/redfish_proxy" --config.file="$SCRATCH/proxy.yaml" --web.listen-address="127.0.0.1:$pport" \
		--no-security.drop-privileges >"$SCRATCH/proxy.log" 2>&1 </dev/null &
	started $!
	wait_for 10 grep -q ready "$SCRATCH/proxy.log"
	printf 'redfish_collector: {external_url: "http://127.0.0.1:%s"}\n' "$pport" >"$SCRATCH/redfish.yaml"
	once
	like "through redfish_proxy, without a password or the BMC's name" "$(cat "$SCRATCH/once")" "power_uw=321000000 host"
	printf 'redfish_collector: {external_url: "http://127.0.0.1:%s", hostname: 127.0.0.1, port: %s}\n' "$pport" "$bmc_port" >"$SCRATCH/redfish.yaml"
	once
	like "and naming its own" "$(cat "$SCRATCH/once")" "power_uw=321000000 host"
	printf 'redfish_collector: {external_url: "http://127.0.0.1:%s", hostname: 127.0.0.9}\n' "$pport" >"$SCRATCH/redfish.yaml"
	ok "another one is refused" refused "status 403"
else
	skip "through redfish_proxy" "redfish_proxy is not built here"
fi

# with ceemsd
config "tls_config: {ca_file: cert}" "password_file: password"
printf '%s\n' "$secret" >"$SCRATCH/password"
chmod 600 "$SCRATCH/password"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
scrape() { curl -sf -m 20 -o "$SCRATCH/body" "$url/metrics"; }
value() { scrape && sed -n "s|^$1{.*$2.*} ||p" "$SCRATCH/body"; }
watts() { value ceems_redfish_current_watts chassis; }
is_watts() { [ "$(watts)" = "$1" ]; }
age() { value ceems_energy_source_age_seconds 'source="redfish"'; }
older() { awk -v a="$(age)" -v b="$1" 'BEGIN { exit !(a > b) }'; }
fresh() { awk -v a="$(age)" 'BEGIN { exit !(a < 1.5) }'; }
joules() { value ceems_node_energy_joules_total 'domain="host"'; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
courier() { pgrep -P "$pid" -x ceems-courier; }
other_courier() { local now; now=$(courier) && [ -n "$now" ] && [ "$now" != "$1" ]; }

: >"$SCRATCH/bmc.log"
# as in a real life: root, who becomes nobody in particular, who starts the courier
as=(--no-security.drop-privileges)
if have_root && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$BUILD/ceems-courier" 2>/dev/null; then
	as=(--security.run-as-user=65534)
	chown 65534 "$SCRATCH/redfish.yaml" "$SCRATCH/password"
fi
"$BUILD/ceemsd" "${as[@]}" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" \
	--collector.redfish --collector.redfish.config.file="$SCRATCH/redfish.yaml" --collector.redfish.interval=200ms \
	>"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
ok "ceemsd starts" wait_for 20 scrape
if ! wait_for 20 is_watts 321; then
	ok "and shows the BMC's watts" false
	sed 's/^/# /' "$SCRATCH/log"
	tap_done
fi
ok "by the peer's name and labels" grep -qE '^ceems_redfish_current_watts\{hostname="[^"]+",chassis="[^"]+"\} 321$' "$SCRATCH/body"
ok "the sensor's age is there" wait_for 20 fresh
is "ceemsd links neither an HTTP client nor its JSON" "$(ldd "$BUILD/ceemsd" | grep -cE 'libcurl|json-c')" 0
if have_root && [ "${as[0]}" != --no-security.drop-privileges ]; then
	is "the courier is nobody, with no capability" \
		"$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p; s/^Cap\(Prm\|Bnd\):\t//p; s/^NoNewPrivs:\t//p' "/proc/$(courier)/status" | paste -sd' ')" \
		"65534 0000000000000000 0000000000000000 1"
else
	skip "the courier is nobody, with no capability" "not root, or the build folder is closed to others"
fi
is "it has no file of ceemsd's but the socket" "$(find "/proc/$(courier)/fd" -lname '*/run/*' -o -lname '*sys*' 2>/dev/null)" ""
fault watts 322
ok "a new reading is shown" wait_for 20 is_watts 322
is "there was one login" "$(grep -c '^POST' "$SCRATCH/bmc.log")" 1

fault forget
asked
fault watts 323
ok "sessions that the BMC forgot are made anew" wait_for 20 is_watts 323

first=$(courier)
kill -9 "$first"
ok "a courier that is killed is started again" wait_for 20 other_courier "$first"
fault watts 324
ok "and tells readings" wait_for 20 is_watts 324

fault cut
ok "answers that are cut age the reading" wait_for 20 older 2
fault deep 10000
asked
fault html
asked
fault big 3000000
asked
fault redirect https://127.0.0.1:1/redfish/v1/
asked
fault status 503
ok "as do other answers that are none" wait_for 20 older 5
is "the collector goes on" "$(value ceems_scrape_collector_success 'collector="redfish"')" 1
fault watts 325
ok "and it works again by itself" wait_for 70 is_watts 325
ok "which is said" said "works again"

kill -9 $bmc_pid
ok "a dead BMC ages" wait_for 20 older 3
sleep 1
before=$(joules)
sleep 2
is "and its joules stop" "$(joules)" "$before"
ok "one line says so" test "$(grep -c 'redfish: GET' "$SCRATCH/log")" -ge 1
ok "scrapes go on" scrape
bmc --port "$bmc_port" >/dev/null
ok "it is found again when it is back" wait_for 70 fresh

last=$(courier)
kill -TERM $pid
ok "ceemsd ends" wait_for 20 is_gone $pid
wait $pid
is "with status 0" $? 0
ok "and the courier with it" wait_for 10 is_gone "$last"
ok "which has ended its session" wait_for 10 grep -q '^DELETE' "$SCRATCH/bmc.log"
is "no log holds the password" "$(grep -l -- "$secret" "$SCRATCH/log" "$SCRATCH/once")" ""
tap_done
