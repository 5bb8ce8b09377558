#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mistakes that users and administrators make, with the real programs: each message names the
# thing (file and line, option, value) and what to do. One row a mistake: what it is, what the
# message must name, what it must advise, the command. Each ends with a status other than 0, or
# (what begins with "~") works and warns.
. "$(dirname "$0")/../tap.sh"
for p in ceemsd ceems-courier ceems_aggregator ceems_lb redfish_proxy ceems_tool cacct; do
	[ -x "$BUILD/$p" ] || skip_all "$p was not built here"
done
command -v curl >/dev/null || skip_all "curl is not installed"
cd "$SCRATCH" || exit 1
export HOME=$SCRATCH LC_ALL=C
unset XDG_CONFIG_HOME CEEMS_API_URL API_URL CEEMS_TOKEN_FILE SLURM_CONF
rows=0
mistake() { # what names advises command...
	local what=$1 names=$2 advises=$3 out rc
	shift 3
	rows=$((rows + 1))
	out=$(timeout 60 "$@" 2>&1 </dev/null)
	rc=$?
	if [ "${SHOW:-0}" = 1 ]; then echo "== $what ($rc)"; sed 's/^/   /' <<<"$out" | cut -c1-300 | head -4; return; fi
	if [[ $what == ~* ]] && [ $rc = 0 ] || [[ $what != ~* ]] && [ $rc != 0 ] && [ $rc -lt 124 ]; then
		if [[ $out =~ $names ]] && [[ $out =~ $advises ]]; then tap_result ok "${what#\~}"; return; fi
	fi
	tap_result not-ok "${what#\~}"
	printf '# status %s, said: %s\n# must name: %s\n# must advise: %s\n' "$rc" "$out" "$names" "$advises"
}
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'

# --- a node
ceemsd=$BUILD/ceemsd
printf 'ring:\n\tslots: 4096\n' >tab.yaml
mistake "tabs in a YAML file" 'tab.yaml:2' 'spaces, not with tabs' "$ceemsd" --check-config --config.file=tab.yaml
printf 'unit:\n  linger: 1m\nreprots:\n  interval: 5m\n' >typo.yaml
mistake "a misspelt key" 'typo.yaml:3.*"reprots' 'did you mean "reports' "$ceemsd" --check-config --config.file=typo.yaml
mistake "a misspelt flag" 'unknown flag "--colector.rapl"' 'did you mean "--collector.rapl"' "$ceemsd" --check-config --colector.rapl
mistake "a number without its unit" '--unit.linger.*"90"' 'such as 15s' "$ceemsd" --check-config --unit.linger=90
mistake "a ring of a size that cannot be" '--ring.slots=1000' 'power of two' "$ceemsd" --check-config --ring.slots=1000
mistake "a regular expression of Perl's" 'device-include=eth.d' 'POSIX.*\[0-9\]' "$ceemsd" --check-config --collector.netdev '--collector.netdev.device-include=eth\d+'
mistake "a provider that is none" 'provider=electricitymaps' 'there are owid' "$ceemsd" --check-config --collector.emissions --collector.emissions.provider=electricitymaps
mistake "a file that is not there" 'config.file: .*/nowhere/ceemsd.yaml' 'No such file' "$ceemsd" --check-config --config.file=/nowhere/ceemsd.yaml

# --- passwords and certificates
printf 'ada:%s\n' "$hash" >pasted.yaml; chmod 600 pasted.yaml
mistake "a line of htpasswd, pasted" 'pasted.yaml:1' 'below basic_auth_users:, indented, with a space' "$ceemsd" --check-config --web.config.file=pasted.yaml
printf 'basic_auth_users:\n  ada: secret\n' >plain.yaml; chmod 600 plain.yaml
mistake "a password instead of its hash" 'plain.yaml:2.*ada' 'htpasswd -nBC 10' "$ceemsd" --check-config --web.config.file=plain.yaml
printf "basic_auth_users:\n  grafana: '%s'\n  ada: '%s'\n" "$hash" "$hash" >web.yaml; chmod 644 web.yaml
mistake "a file of secrets that others can read" 'web.yaml.*mode 0644' 'chmod 0640' "$ceemsd" --check-config --web.config.file=web.yaml
chmod 600 web.yaml
printf 'tls_server_config:\n  cert_file: node.pem\n  key_file: node.key\n' >tls.yaml; chmod 600 tls.yaml
mistake "a certificate that is not there" 'tls.yaml.*node.pem' 'No such file' "$ceemsd" --check-config --web.config.file=tls.yaml

# --- from nodes to the aggregator
courier=$BUILD/ceems-courier
mistake "aggregator.url without a scheme" '--aggregator.url: "aggregator:9020"' 'must begin with http:// or https://' "$courier" --check-config --aggregator.url=aggregator:9020
mistake "two in one aggregator.url" "--aggregator.url: \"http://one:9020,http://two:9020\"" 'is one URL; give the option once for each' "$courier" --check-config --aggregator.url=http://one:9020,http://two:9020
mistake "aggregator.url without a right port" '--aggregator.url: "http://one:0"' 'a port must be 1 to 65535' "$courier" --check-config --aggregator.url=http://one:0
mistake "a token by plain HTTP" '--aggregator.token-file' 'use https' "$courier" --check-config --aggregator.url=http://aggregator:9020 --aggregator.token-file=web.yaml
mistake "a spool that is misspelt" '--ship.spool=/var/spool/cems' 'spelt right' "$courier" --once --aggregator.url=http://127.0.0.1:9 --ship.spool=/var/spool/cems
agg=$BUILD/ceems_aggregator
mistake "a zone without its provider" '--emissions.zone=FR' 'PROVIDER=ZONE' "$agg" --check-config --emissions.zone=FR
mistake "a regular expression that is none" '--web.cors.origin' 'POSIX, extended' "$agg" --check-config --db.url=postgresql://127.0.0.1/x '--web.cors.origin=('
mistake "a database that is not there" "127.0.0.1" 'set --db.url' "$agg" --check --db.url="postgresql://ceems@127.0.0.1:$(free_port)/ceems"
mistake "a held unit without its cluster" '--settle=4711' 'CLUSTER/ID' "$agg" --settle=4711 --data.path="$SCRATCH/none"
ok "for which no database was made" [ ! -e "$SCRATCH/none" ]
mistake "an operator of something else" '--operator.users: olga/' 'login' "$agg" --check-config --operator.users=olga/

# --- BMCs
printf 'redfish_collector:\n  hostname: bmc1\n  username: root\n  password: calvin\n' >redfish.yaml; chmod 644 redfish.yaml
mistake "a BMC's password that others can read" 'redfish.yaml.*mode 0644' 'chmod 0' "$courier" --check-config --collector.redfish --collector.redfish.config.file=redfish.yaml
printf 'redfish_proxy:\n  targets:\n    - host_ip_addrs: [node1]\n      url: https://bmc1\n' >proxy.yaml; chmod 600 proxy.yaml
mistake "a name where an address belongs" 'proxy.yaml:3.*node1' 'address' "$BUILD/redfish_proxy" --check-config --config.file=proxy.yaml

# --- Slurm
tool=$BUILD/ceems_tool fix=$TOP/test/fixture/slurm-conf/good
mkdir slurm; cp -r "$fix"/. slurm/
check=("$tool" check slurm --slurm-conf slurm/slurm.conf --slurm-version 22.05.8 --ring "$SCRATCH/ring")
printf 'optional spank_ceems.so report=maybe\n' >slurm/plugstack.conf
mistake "an argument of plugstack.conf" 'plugstack.conf:1.*"maybe"' 'allow, deny, batch or always' "${check[@]}"
printf 'optional /usr/lib/nowhere/spank_ceems.so\n' >slurm/plugstack.conf
mistake "a plugin that is not there" '/usr/lib/nowhere/spank_ceems.so' 'install it there, or correct the path' "${check[@]}"
printf '\nAcctGatherEnergyType=acct_gather_energy/rapl,acct_gather_energy/ceems\n' >>slurm/slurm.conf
mistake "two energy plugins" 'AcctGatherEnergyType' 'second plugin' "${check[@]}"

# --- the load balancer
lb=$BUILD/ceems_lb
cat >lb.yaml <<-END
	ceems_lb:
	  identity: {munge: false, front_ends: ["password:grafana"]}
	  backends:
	    - id: alpha
	      tsdb: [{web: {url: "http://127.0.0.1:9"}}]
	    - id: beta
	      tsdb: [{web: {url: "http://127.0.0.1:8"}}]
	ceems_api_server: {web: {url: "http://127.0.0.1:9", basic_auth: {username: lb, password: correct horse}}}
END
chmod 600 lb.yaml
sed 's/front_ends/frontends/' lb.yaml >lb1.yaml; chmod 600 lb1.yaml
mistake "a misspelt key of the load balancer" 'lb1.yaml:2.*frontends' 'known here: .*front_ends' "$lb" --check-config --config.file=lb1.yaml
sed 's/id: beta/id: alpha/' lb.yaml >lb2.yaml; chmod 600 lb2.yaml
mistake "one cluster twice" 'lb2.yaml:6.*alpha' 'twice' "$lb" --check-config --config.file=lb2.yaml
sed 's/url: "http:..127.0.0.1:8"}}/url: "127.0.0.1:8"}}/' lb.yaml >lb3.yaml; chmod 600 lb3.yaml
mistake "a server without a scheme" 'lb3.yaml:7.*url' 'begin with http:// or https://' "$lb" --check-config --config.file=lb3.yaml
sed 's/8"}}/8"}, retention: 30}/' lb.yaml >lb4.yaml; chmod 600 lb4.yaml
mistake "a time without its unit" 'lb4.yaml:7: retention' 'such as 10s or 30d' "$lb" --check-config --config.file=lb4.yaml
"$lb" --config.file=lb.yaml --web.config.file=web.yaml --security.drop-privileges=false --web.listen-address=127.0.0.1:0 --web.listen-address=127.0.0.1:0 2>lb.log &
started $!
wait_for 30 grep -q 'msg="*ready' lb.log
port=$(sed -n "s/.*serves Prometheus' API on port \([0-9]*\).*/\1/p" lb.log)
U=http://127.0.0.1:$port/api/v1/query?query=up
ask=(curl -s --fail-with-body -H 'X-Grafana-User: bob')
mistake "a good password that is no front end" 'password of ada' 'add password:ada to identity.front-end' "${ask[@]}" -u 'ada:correct horse' -H 'X-Ceems-Cluster-Id: alpha' "$U"
mistake "a wrong password" 'user or password' 'basic_auth_users' "${ask[@]}" -u 'grafana:wrong' "$U"
mistake "a cluster that is not there" 'X-Ceems-Cluster-Id.*gamma' 'no such cluster' "${ask[@]}" -u 'grafana:correct horse' -H 'X-Ceems-Cluster-Id: gamma' "$U"
mistake "no cluster where there are two" 'names no cluster' 'X-Ceems-Cluster-Id' "${ask[@]}" -u 'grafana:correct horse' "$U"
mistake "a query that names no unit" 'ceems_compute_unit_cpus' 'add uuid=' "${ask[@]}" -u 'grafana:correct horse' -H 'X-Ceems-Cluster-Id: alpha' "${U%up}ceems_compute_unit_cpus"

mkdir run
mistake "a port that is in use" "127.0.0.1:$port.*in use" 'stop the program .* --web.listen-address' "$ceemsd" --web.listen-address=127.0.0.1:"$port" \
	--path.rundir="$SCRATCH/run" --security.drop-privileges=false

# --- users
export CEEMS_TOKEN_FILE=$SCRATCH/token
(umask 077 && echo some-token-or-other >token)
cacct=$BUILD/cacct
mistake "cacct does not know where to ask" 'API' 'give --api.url' "$cacct" --config.file=/dev/null
mistake "nobody answers cacct" '127.0.0.1:9' 'is it running' "$cacct" --api.url=http://127.0.0.1:9
mistake "a field that is none" '"JobIDd"' 'helpformat' "$cacct" --api.url=http://127.0.0.1:9 -o JobIDd
mistake "a time that is none" '25:00' 'like 20' "$cacct" --api.url=http://127.0.0.1:9 -S 25:00
mistake "a state that is none" 'BLUE' 'such as CD' "$cacct" --api.url=http://127.0.0.1:9 -s BLUE
mistake "a job number without its option" 'argument: 4711' 'cacct -j JOBID' "$cacct" --api.url=http://127.0.0.1:9 4711
mistake "a word in place of a job" 'specified: abc' 'such as 12' "$cacct" --api.url=http://127.0.0.1:9 -j abc
mistake "a misspelt state" 'FAILD' 'did you mean FAILED' "$cacct" --api.url=http://127.0.0.1:9 -s FAILD
mistake "half of a column's name" '"Mem"' 'did you mean "MemAvg".*"Memory"' "$cacct" --api.url=http://127.0.0.1:9 -o Mem
mistake "a key for sums that is none" '--by: "jobs"' 'cluster, account, user, day' "$cacct" --api.url=http://127.0.0.1:9 usage --by=jobs
mistake "a job that is none" 'specified: .4' 'such as 12' "$cacct" --api.url=http://127.0.0.1:9 -j '12_[4'
mistake "a flame graph of a table" '--flame' 'cacct report JOBID --flame' "$cacct" --api.url=http://127.0.0.1:9 -j 12 --flame
full() { "$@" 2>&1 >/dev/full; }
export -f full
for p in ceemsd ceems_tool cacct; do mistake "$p's help for a full disk" "$p: .*cannot write" 'output' bash -c 'full "$@"' full "$BUILD/$p" --help; done
mistake "a command that is none" 'check' 'check slurm .*check ring' "$tool" check slrum
ok "thirty mistakes and more ($rows)" [ "$rows" -ge 30 ]
tap_done
