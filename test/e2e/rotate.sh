#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Certificates, passwords and tokens are replaced while requests run, again and again, at each program that serves and at
# the courier: no request fails, no record is lost or sent in vain, and what was replaced opens nothing any more.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/pki.sh"
for t in curl openssl; do command -v $t >/dev/null || skip_all "$t is not installed"; done
for p in ceemsd ceems_aggregator ceems_lb redfish_proxy ceems_k8s_admission_controller ceems-courier unit_source; do
	[ -x "$BUILD/$p" ] || skip_all "$p was not built here"
done
need_pg
cd "$SCRATCH" || exit 1
times=5
declare -A pid port as_user=([aggregator]="X-Grafana-User: ada")
mine() { chmod 640 "$@"; ! have_root || chgrp "$(id -gn nobody)" "$@"; }
if have_root; then as=(--security.run-as-user=nobody); else as=(); fi
# bcrypt of "correct horse"; whom it is asked of alternates: a and b
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
users() { # NAME USER...
	local u
	printf 'tls_server_config: {cert_file: %s.pem, key_file: %s.key}\nbasic_auth_users:\n' "$1" "$1" >"$1.new"
	for u in "${@:2}"; do printf "  %s: '%s'\n" "$u" "$hash" >>"$1.new"; done
	mine "$1.new"
	mv "$1.new" "$1.yaml"
}
certificate() { # NAME: a new one under the old name, as certbot and cert-manager do
	pki_cert new site serverAuth DNS:localhost,IP:127.0.0.1 "/CN=$1" || return 1
	mine new.pem new.key
	mv new.key "$1.key"
	mv new.pem "$1.pem"
}
serve() { # NAME PROGRAM ARGUMENT...
	local name=$1 program=$2
	shift 2
	certificate "$name" && users "$name" a || return 1
	port[$name]=$(free_port) # ceemsd does not say which one it got
	"$BUILD/$program" --web.listen-address="127.0.0.1:${port[$name]}" --web.config.file="$SCRATCH/$name.yaml" "$@" >"$name.log" 2>&1 </dev/null &
	pid[$name]=$!
	started $!
	wait_for 30 grep -q 'msg="*ready' "$name.log" || { sed 's/^/# /' "$name.log"; return 1; }
	echo a >"$name.user"
}
code() { curl -s -m 60 -o /dev/null -w '%{http_code}' --cacert site.pem -u "$2:correct horse" ${as_user[$1]:+-H "${as_user[$1]}"} "https://localhost:${port[$1]}$3"; }
serial() { openssl s_client -connect "127.0.0.1:${port[$1]}" </dev/null 2>/dev/null | openssl x509 -noout -serial 2>/dev/null; }
reloads() { grep -c 'reload: \|reloaded' "$1.log"; }
more() { [ "$(reloads "$1")" -gt "$2" ]; }
hup() { local n; n=$(reloads "$1"); kill -HUP "${pid[$1]}"; wait_for 30 more "$1" "$n"; }
path_of() { case $1 in aggregator) echo /api/v1/units ;; *) echo /metrics ;; esac; }
asking() { # NAME: as the user of the moment, until there is a file "stop"
	while [ ! -e stop ]; do
		code "$1" "$(cat "$1.user")" "$(path_of "$1")"
		echo
	done >"$1.codes"
	: >"$1.end"
}

asked_again() { [ "$(wc -l <"$1.codes")" -ge $(($2 + 2)) ]; }
answers_end() { [ -e "$1.end" ]; }

pki_ca site
pg_start || { ok "Postgres starts" false; tap_done; }
"$BUILD/ceems_aggregator" --migrate --db.url="$PGURL" >/dev/null
printf 'redfish_proxy:\n  targets: [{url: "http://127.0.0.1:1", host_ip_addrs: [127.0.0.2]}]\n' >proxy.conf
token() { (umask 077; printf '%s\n' "$2" >"$1.new"; mv "$1.new" "$1"); }
token tokens "token-of-nodes-0" && token node-token "token-of-nodes-0"
ok "the aggregator serves" serve aggregator ceems_aggregator --db.url="$PGURL" --security.drop-privileges=false --ingest.token-file="$SCRATCH/tokens" \
	--identity.front-end=password:a --identity.front-end=password:b
ok "ceemsd serves" serve ceemsd ceemsd --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" --security.drop-privileges=false \
	--collector.slurm.nodes=none-here --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=1h --cluster=test --aggregator.url="https://localhost:${port[aggregator]}" \
	--aggregator.ca-file="$SCRATCH/site.pem" --aggregator.token-file="$SCRATCH/node-token"
lb_conf() { # USER: of the aggregator
	printf 'ceems_lb:\n  backends:\n    - {id: one, tsdb: [{web: {url: "http://127.0.0.1:1"}}]}\nceems_api_server:\n  web: {url: "https://localhost:%s", tls_config: {ca_file: %s/site.pem}, basic_auth: {username: %s, password: correct horse}}\n' \
		"${port[aggregator]}" "$SCRATCH" "$1" >lb.conf
	mine lb.conf
}
lb_conf a
mine proxy.conf site.pem
ok "the load balancer serves" serve lb ceems_lb --config.file="$SCRATCH/lb.conf" "${as[@]}"
ok "the proxy serves" serve proxy redfish_proxy --config.file="$SCRATCH/proxy.conf" "${as[@]}"
ok "the webhook serves" serve webhook ceems_k8s_admission_controller "${as[@]}" || tap_done
serves=(aggregator ceemsd lb proxy webhook)
for s in "${serves[@]}"; do is "$s knows a, and no b" "$(code "$s" a "$(path_of "$s")") $(code "$s" b "$(path_of "$s")")" "200 401"; done

# --- all of it, again and again, beside requests and jobs
for s in "${serves[@]}"; do asking "$s" & started $!; done
"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=300 --first-id=1000 --rate=10 >/dev/null &
jobs=$!
started $jobs
old=a new=b
for ((n = 1; n <= times; n++)); do
	first=$(for s in "${serves[@]}"; do serial "$s"; done)
	# the new one is known before anybody shows it, the old one as long as anybody may
	for s in "${serves[@]}"; do certificate "$s"; users "$s" $old $new; hup "$s" || echo "# $s: no reload"; done
	token tokens "token-of-nodes-$((n - 1))
token-of-nodes-$n" && hup aggregator
	token node-token "token-of-nodes-$n" && hup ceemsd
	lb_conf $new && hup lb
	for s in "${serves[@]}"; do echo $new >"$s.user"; done
	for s in "${serves[@]}"; do wait_for 60 asked_again "$s" "$(wc -l <"$s.codes")"; done # who had read the old name has asked
	for s in "${serves[@]}"; do users "$s" $new; hup "$s"; done
	token tokens "token-of-nodes-$n" && hup aggregator
	[ "$(for s in "${serves[@]}"; do serial "$s"; done | sort - <(echo "$first") | uniq -d | wc -l)" = 0 ] || echo "# $n: an old certificate is still served"
	t=$old old=$new new=$t
done >said
is "each certificate is a new one each time" "$(cat said)" ""
wait $jobs
: >stop
for s in "${serves[@]}"; do
	wait_for 60 answers_end "$s"
	is "of $(wc -l <"$s.codes") requests at $s none failed" "$(sort "$s.codes" | uniq -c | awk '{ print $2 }' | xargs)" 200
	is "the user of before is not known to $s any more" "$(code "$s" $new "$(path_of "$s")") $(code "$s" $old "$(path_of "$s")")" "401 200"
done
rows() { psql_do -c "SELECT count(*) FROM unit_node WHERE $1" 2>/dev/null; }
all_final() { [ "$(rows final)" = 300 ]; }
ok "the records of all 300 jobs of that time arrive" wait_for 60 all_final || echo "# $(rows final)"
is "each once" "$(rows true)" 300
is "and none was sent with a token that the aggregator does not know" "$(grep -c 'HTTP status 40[13]' ceemsd.log)" 0
is "no secret is in a log" "$(grep -l 'correct horse\|token-of-nodes' ./*.log)" ""
tap_done
