#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool setup, on a copy of the packaged configuration: the programs accept what it writes, it can be run again,
# keeps what somebody has edited, and asks four questions at most.
. "$(dirname "$0")/../tap.sh"
tool=$BUILD/ceems_tool
for p in ceems_tool ceemsd ceems-courier ceems_aggregator ceems_lb; do [ -x "$BUILD/$p" ] || skip_all "$p was not built"; done
etc=$SCRATCH/etc
mkdir "$etc" && chmod 751 "$etc"
for f in contrib/packaging/etc/*; do
	to=$etc/$(basename "${f%.in}")
	sed "s|@sysconfdir@/ceems|$etc|g" "$f" >"$to" && chmod 640 "$to"
done
here=()
if have_root; then # with the accounts that the packages make
	n=64001
	for a in ceems ceems-aggregator ceems-lb ceems-redfish prometheus grafana; do
		printf '%s:x:%d:%d::/:/usr/sbin/nologin\n' $a $n $n >>"$SCRATCH/passwd"
		printf '%s:x:%d:\n' $a $((n++)) >>"$SCRATCH/group"
	done
	for f in passwd group; do grep -vE '^(ceems|prometheus:|grafana:)' /etc/$f >>"$SCRATCH/$f"; done
	here=(unshare -m --propagation private sh -c 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"' "$SCRATCH")
	"${here[@]}" true 2>/dev/null || skip_all "no mount namespace can be made here"
fi
run() { "${here[@]}" "$tool" setup "$@" --config-dir "$etc" </dev/null >"$SCRATCH/out" 2>"$SCRATCH/err"; }
state() { (cd "$etc" && find . -type f -exec sha256sum {} + | sort -k2; find . -printf '%p %m %U:%G\n' | sort) | sha256sum; }
export SLURM_CONF=$SCRATCH/slurm.conf
printf 'ClusterName=blue\nSlurmctldHost=%s(127.0.0.1)\nSlurmUser=slurm' "$(hostname)" >"$SLURM_CONF"
before=$(cd "$etc" && sha256sum ./*.yaml ./*.conf)

# --- a node
run node --aggregator http://127.0.0.1:9020
is "a node is set up" "$? $(cat "$SCRATCH/err")" "1 "
is "what is left to do is that Slurm names our plugins" "$(grep -c ^fail: "$SCRATCH/out") $(grep -c 'plugstack.conf lacks: optional spank_ceems.so' "$SCRATCH/out") $(grep -c 'lacks: JobCompType=jobcomp/ceems' "$SCRATCH/out")" "0 1 1"
is "the packaged files are as they were" "$(cd "$etc" && sha256sum ./*.yaml ./*.conf)" "$before"
ok "ceemsd accepts the result" "$BUILD/ceemsd" --check-config --config.file="$etc/ceemsd.yaml"
is "the controller's courier was found out and set up, too" "$(grep -c jobcomp "$etc/ceems-courier.d/50-setup.yaml")" 1
ok "which accepts it" "$BUILD/ceems-courier" --check-config --config.file="$etc/ceems-courier.yaml"
is "users need no option for cacct" "$(grep -c 'url: "http://127.0.0.1:9020"' "$etc/cacct.d/50-setup.yaml")" 1
is "files with hashes are for the service, the password for one reader, the rest for all" \
	"$(cd "$etc" && stat -c %a web-config.d/50-setup.yaml secrets/ceemsd-prometheus.password ceemsd.d/50-setup.yaml cacct.d/50-setup.yaml ceems-courier.d/50-setup.yaml | paste -sd' ')" "640 600 640 644 644"
if have_root; then
	is "the service's group, and the account of Prometheus, own them" "$(cd "$etc" && stat -c %u:%g web-config.d/50-setup.yaml ceemsd.d secrets/ceemsd-prometheus.password | paste -sd' ')" "0:64001 0:64001 64005:64005"
else
	skip "the service's group, and the account of Prometheus, own them" "needs root"
fi
password=$(cat "$etc/secrets/ceemsd-prometheus.password")
is "the password is long, and in nothing that was printed or written beside" "${#password} $(cat "$SCRATCH/out" | grep -c "$password") $(grep -rl "$password" "$etc" | wc -l)" "24 0 1"

# --- again
was=$(state)
run node
is "run again, it remembers the answers and changes nothing" "$(state)" "$was"
is "which it says" "$(grep -c 'as it should be' "$SCRATCH/out")" 4
run node --listen 127.0.0.1:9011
is "one answer changed, the others stay" "$(grep -c -e 9011 -e 'aggregator.url: \["http://127.0.0.1:9020"\]' "$etc/ceemsd.d/50-setup.yaml") $(cat "$etc/secrets/ceemsd-prometheus.password")" "3 $password"

# --- a site's own changes
echo 'unit.min-export: 5s' >"$etc/ceemsd.d/60-site.yaml"
echo '# ours' >>"$etc/ceemsd.d/50-setup.yaml"
run node --listen 127.0.0.1:9012
is "a file that was edited is kept, and it is said" "$? $(grep -c 'was edited since setup wrote it' "$SCRATCH/out") $(tail -n 1 "$etc/ceemsd.d/50-setup.yaml") $(grep -c '"127.0.0.1:9012"' "$etc/ceemsd.d/50-setup.yaml.new")" "1 1 # ours 1"
run node --listen 127.0.0.1:9012 --force
is "with --force it is replaced and kept under another name" "$(tail -n 1 "$etc/ceemsd.d/50-setup.yaml.old") $(grep -c '"127.0.0.1:9012"' "$etc/ceemsd.d/50-setup.yaml")" "# ours 1"
is "other files of the folder are the site's" "$(cat "$etc/ceemsd.d/60-site.yaml")" 'unit.min-export: 5s'
echo 'no-such-option: 1' >"$etc/ceemsd.d/60-site.yaml"
run node
is "a mistake there is found before anything is started, with its place" "$? $(grep -c '^fail:.*ceemsd.d/60-site.yaml:1:' "$SCRATCH/out")" "2 1"
rm "$etc/ceemsd.d/60-site.yaml"

# --- beyond this host
run node --listen :9010
is "who listens for other hosts gets a certificate" "$(grep -c '^ok:.*TLS on, 1 user' "$SCRATCH/out") $(stat -c %a "$etc/secrets/ceemsd.key") $(cat "$etc/secrets/ceemsd-prometheus.password")" "1 640 $password"
like "its place is said as one types it" "$(cat "$SCRATCH/out")" "^ok: $etc/secrets/ceemsd.crt: written|"$'\n'"ok: $etc/secrets/ceemsd.crt: written"

# --- Slurm's files
run node --listen 127.0.0.1:9010 --slurm yes
is "told to, it adds the lines to Slurm's files" "$(grep -c ' added$' "$SCRATCH/out") $(tail -n 2 "$SLURM_CONF" | paste -sd' ') $(cat "$SCRATCH/plugstack.conf")" "2 SlurmUser=slurm JobCompType=jobcomp/ceems optional spank_ceems.so"
run node
is "once" "$(grep -c lacks "$SCRATCH/out") $(grep -c jobcomp/ceems "$SLURM_CONF") $(grep -c spank "$SCRATCH/plugstack.conf")" "0 1 1"
printf 'include %s/plugstack.d/*\n' "$SCRATCH" >"$SCRATCH/plugstack.conf"; mkdir "$SCRATCH/plugstack.d"; echo 'optional spank_ceems.so' >"$SCRATCH/plugstack.d/ceems.conf"
run node --slurm yes
is "a line in an included file counts" "$(grep -c spank "$SCRATCH/plugstack.conf")" 0
rm "$SCRATCH/plugstack.d/ceems.conf"
run node --slurm yes
is "without it the line goes below the include" "$(tail -n 1 "$SCRATCH/plugstack.conf")" 'optional spank_ceems.so'
sed -i 's,jobcomp/ceems,jobcomp/elasticsearch,' "$SLURM_CONF"
run node
is "another jobcomp plugin is not taken out, and chaining it is explained" "$? $(grep -c 'elasticsearch' "$SLURM_CONF") $(grep -c 'chain: in jobcomp.yaml' "$SCRATCH/out")" "1 1 1"

# --- servers
run aggregator
is "an aggregator is set up by its defaults" "$? $(cat "$SCRATCH/err")" "0 "
ok "and accepts them" "$BUILD/ceems_aggregator" --check-config --config.file="$etc/aggregator.yaml"
run lb
is "a load balancer, for the cluster that slurm.conf names" "$? $(grep -c 'id: "blue"' "$etc/lb.d/50-setup.yaml")" "0 1"
ok "and accepts them, too" "$BUILD/ceems_lb" --check-config --config.file="$etc/lb.yaml" --web.config.file="$etc/lb-web.yaml"
run lb --aggregator https://management:9020 --ca-file "$etc/secrets/none.crt"
is "a certificate of the aggregator that is not there is refused" "$? $(grep -c "^fail:.*$etc/secrets/none.crt" "$SCRATCH/out")" "2 1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=management -keyout "$SCRATCH/key" -out "$SCRATCH/aggregator.crt" 2>/dev/null
run lb --ca-file "$SCRATCH/aggregator.crt"
is "the load balancer verifies an aggregator on another host with its certificate" "$? $(tail -n 4 "$etc/lb.d/50-setup.yaml" | tr -d ' \n')" "0 web:url:\"https://management:9020\"tls_config:ca_file:\"$SCRATCH/aggregator.crt\""
run lb --aggregator http://127.0.0.1:9020 --ca-file -
run node --aggregator - --force
is "a node whose records go nowhere" "$? $(grep -c aggregator.url "$etc/ceemsd.d/50-setup.yaml")" "1 0"
run node --aggregator http://127.0.0.1:9020 --force
was=$(state)
run aggregator && run lb
is "both can be run again" "$? $(state)" "0 $was"

# --- wrong answers
for bad in "node --aggregator nonsense" "node --listen 1.2.3.4" "node --listen host:1" "node --slurm perhaps" "aggregator --database mysql://x" \
	"aggregator --database postgresql://a:secret@db/x" "aggregator --front-end somewhere" "lb --cluster a/b" "lb --nothing x" "node --listen"; do
	run $bad
	is "refused, with nothing written: $bad" "$? $(grep -c . "$SCRATCH/err") $(state)" "3 1 $was"
done
is "a password in a URL is not repeated" "$(run aggregator --database postgresql://a:secret@db/x; cat "$SCRATCH/err" | grep -c secret)" 0

# --- questions
if command -v script >/dev/null; then
	for role in node aggregator lb; do
		yes '' | timeout 60 "${here[@]}" script -qec "$tool setup $role --config-dir $etc" /dev/null >"$SCRATCH/asked" 2>&1
		n=$(grep -o ']: ' "$SCRATCH/asked" | wc -l)
		ok "setup $role asks 1 to 4 questions: $n" test "$n" -ge 1 -a "$n" -le 4
	done
else
	skip "questions" "script is not installed"
fi
tap_done
