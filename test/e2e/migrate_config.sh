#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool migrate config: service files and configuration of CEEMS's programs (made here after its samples)
# become configuration that our programs accept; what has no counterpart is named; twice changes nothing.
. "$(dirname "$0")/../tap.sh"
tool=$BUILD/ceems_tool
for p in ceemsd ceems_aggregator ceems_lb ceems_tool; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
"$tool" migrate config -- x 2>&1 | grep -q 'built without' && skip_all "ceems_tool was built without its libraries"
units=$SCRATCH/systemd out=$SCRATCH/out
mkdir -p "$units/ceems_exporter.service.d" "$out"
printf 'tls_server_config: {}\n' >"$SCRATCH/web.yml"
cat >"$units/ceems_exporter.service" <<-END
	[Unit]
	Description=Prometheus CEEMS Exporter
	[Service]
	User=ceems
	ExecStart=/usr/local/bin/ceems_exporter \\
	    --web.listen-address=127.0.0.1:9010 --web.listen-address=127.0.0.1:9011 \\
	    --collector.slurm --collector.slurm.psi.metrics \$CEEMS_EXPORTER_OPTIONS
	EnvironmentFile=-$SCRATCH/exporter.env
END
echo 'CEEMS_EXPORTER_OPTIONS="--no-collector.meminfo --collector.ipmi_dcmi.test-mode --log.level debug"' >"$SCRATCH/exporter.env"
printf '[Service]\nRestart=always\n' >"$units/ceems_exporter.service.d/x.conf"
cat >"$units/ceems_api_server.service" <<-END
	[Service]
	ExecStart=/usr/local/bin/ceems_api_server --config.file=$SCRATCH/api.yml --web.cors.origin='https://grafana\\.site\\.example' --web.max-requests 30 --test.disable.checks
END
cat >"$SCRATCH/api.yml" <<-'END'
	ceems_api_server:
	  data: {path: /var/lib/ceems, retention_period: 30d, time_zone: Local, backup_path: ''}
	  admin:
	    users: [boss, "o.neil"]
	    grafana: {url: "http://grafana:3000", teams_ids: ["7"], authorization: {credentials_file: /etc/ceems/grafana.token}, follow_redirects: true, basic_auth: {}}
	clusters:
	  - {id: alpha, manager: slurm, updaters: [prom], cli: {path: /opt/slurm/bin}}
	  - {id: cloud, manager: openstack, web: {url: "http://nova"}, extra_config: {api_service_endpoints: {compute: "http://127.0.0.1:8774/v2.1", identity: "http://127.0.0.1:5000"}, auth: {identity: {methods: [application_credential], application_credential: {id: x, secret: y}}}}}
	updaters:
	  - {id: prom, updater: tsdb, web: {url: "http://prom:9090"}, extra_config: {cutoff_duration: 5m}}
END
chmod 600 "$SCRATCH/api.yml"
cat >"$SCRATCH/lb.yml" <<-'END'
	ceems_lb:
	  strategy: round-robin
	  backends:
	    - id: alpha
	      tsdb: [{web: {url: "http://127.0.0.1:9090"}, filter_labels: [instance]}]
	ceems_api_server:
	  web: {url: "http://127.0.0.1:9020"}
END
printf '[Service]\nEnvironment="CEEMS_LB_OPTIONS=--web.listen-address=127.0.0.1:9030 --log.level=info"\nExecStart=/usr/local/bin/ceems_lb --config.file=%s --web.config.file=%s $CEEMS_LB_OPTIONS\n' "$SCRATCH/lb.yml" "$SCRATCH/web.yml" >"$units/ceems_lb.service"
migrate() { "$tool" migrate config --output-dir "$out" "$@" 2>&1; }

migrate --dry-run "$units/ceems_exporter.service" >/dev/null
is "a dry run writes nothing" "$(ls "$out")" ""
text=$(migrate "$units"/*.service)
is "what has no counterpart is a warning" "$?" 1
like "a test helper of the exporter is named" "$text" "no counterpart: collector.ipmi_dcmi.test-mode: true: unknown key"
like "one of the API server too" "$text" "no counterpart: test.disable.checks: true"
like "its polling, with file and line" "$text" "api.yml:2: no counterpart: retention_period"
like "and its updaters" "$text" "no counterpart: updaters"
is "each line of the exporter's is there" "$(grep -v '^#' "$out/ceemsd.yaml" | LC_ALL=C sort)" "$(printf '%s\n' 'collector.meminfo: false' 'collector.slurm.psi.metrics: true' 'collector.slurm: true' 'log.level: "debug"' 'web.listen-address: ["127.0.0.1:9010", "127.0.0.1:9011"]')"
like "what was left out is a comment" "$(cat "$out/ceemsd.yaml")" "# no counterpart: collector.ipmi_dcmi.test-mode: true"
ok "ceemsd accepts it" "$BUILD/ceemsd" --check-config --config.file="$out/ceemsd.yaml"
is "admins, Grafana, Slurm and clouds of the API server are there" "$(grep -v '^#' "$out/aggregator.yaml" | LC_ALL=C sort)" "$(printf '%s\n' 'admin.grafana.teams-ids: "7"' 'admin.grafana.token-file: "/etc/ceems/grafana.token"' \
	'admin.grafana.url: "http://grafana:3000"' "admin.users: [\"boss\", \"o.neil\"]" "clusters.file: \"$SCRATCH/api.yml\"" 'people.associations: "sacctmgr"' 'slurm.bindir: "/opt/slurm/bin"' 'web.cors.origin: "https://grafana\\.site\\.example"' 'web.max-requests: "30"')"
ok "the load balancer's file is read as it is" cmp "$SCRATCH/lb.yml" "$out/lb.yaml"
like "ceems_lb accepts it" "$text" "ok: ceems_lb accepts $out/lb.yaml"
ok "as is its web configuration" cmp "$SCRATCH/web.yml" "$out/lb-web.yaml"
like "its flags become a drop-in" "$(tail -1 "$out/ceems_lb.service.ceems.conf")" '^Environment="CEEMS_LB_OPTIONS= --web.listen-address=127.0.0.1:9030 --log.level=info"$'
is "files are not for everybody" "$(stat -c %a "$out"/* | sort -u)" 640

cksum "$out"/* >"$SCRATCH/before"
like "again all is as it is to be" "$(migrate "$units"/*.service)" "aggregator.yaml is as it is to be"
is "and nothing is written" "$(cksum "$out"/*)" "$(cat "$SCRATCH/before")"
echo 'log.level: "info"' >>"$out/ceemsd.yaml"
text=$(migrate "$units/ceems_exporter.service")
is "a file that somebody has changed is a failure" "$?" 2
like "and left alone" "$text" "ceemsd.yaml exists and is another: left alone"
migrate --force "$units/ceems_exporter.service" >/dev/null
is "unless --force says otherwise" "$(grep -c 'log.level: "info"' "$out/ceemsd.yaml")" 0
like "a command line is taken too" "$(migrate --dry-run -- ceems_exporter stray --collector.slurm)" "not a flag: stray"

# what is none
mkdir "$SCRATCH/bad"
sed 's/retention_period/retention_perod/' "$SCRATCH/api.yml" >"$SCRATCH/bad/api.yml"
like "an unknown key is refused with file and line" "$(migrate -- ceems_api_server --config.file="$SCRATCH/bad/api.yml")" "bad/api.yml:2: .*retention_perod"
printf 'ceems_api_server:\n\tdata: {}\n' >"$SCRATCH/bad/tab.yml"
like "so are tabs" "$(migrate -- ceems_api_server --config.file="$SCRATCH/bad/tab.yml")" "tab.yml:2.*tabs"
like "a missing file is named" "$(migrate -- ceems_api_server --config.file=/nowhere.yml)" "nowhere.yml"
like "another program is none" "$(migrate -- /usr/bin/node_exporter)" "node_exporter, which is none of"
printf '[Service]\nType=simple\n' >"$SCRATCH/bad/x.service"
like "a service without a command is none" "$(migrate "$SCRATCH/bad/x.service")" "x.service: no ExecStart="
head -c 200000 /dev/urandom >"$SCRATCH/bad/r.service"
migrate "$SCRATCH/bad/r.service" >/dev/null
is "noise is refused" "$?" 2
is "nothing is left behind" "$(find /tmp -maxdepth 1 -name 'ceems-migrate.*' -newer "$SCRATCH/web.yml" | wc -l)" 0
tap_done
