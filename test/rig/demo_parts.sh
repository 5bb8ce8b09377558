# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by test/rig/demo_libvirt and demo_k8s: what a demo of other units than Slurm's jobs has besides these units. It
# starts ceemsd, the aggregator with a Postgres, MUNGE and Prometheus, prints what Prometheus has of each unit and
# what each owner sees with cacct, and ends all of it. A demo says what `possible`, `inside`, `names` (the uuid of each
# unit in a line, that of its owner in the order of $users) and `stop` are.
TOP=$(cd "$(dirname "$self")/../.." && pwd)
. "$TOP/test/port.sh"
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
users=(daemon games) # whose the units are
demo_in=()           # what runs a command where the demo's network is
die() { echo "demo-$demo: $*" >&2; exit 1; }

demo_begin() { # KIND
	demo=$1
	out=$BUILD/demo-$demo
	# ordinary users must come to its programs and sockets, and paths of sockets are short
	dir=/tmp/ceems-demo-$demo-$(cksum <<<"$out" | cut -d' ' -f1)
}
demo_possible() { # PROGRAM... -- PROGRAM-OF-OURS...
	local p from=
	"$TOP/test/rig/pg" possible || return
	for p in prometheus munged jq curl "$@" ceemsd ceems-courier ceems_aggregator cacct; do
		if [ "$p" = -- ]; then
			from=$BUILD/
		elif [ -n "$from" ] || [[ $p = ceems* ]] || [ "$p" = cacct ]; then
			[ -x "$BUILD/$p" ] || { echo "$p was not built here"; return 1; }
		else
			command -v "$p" >/dev/null || { echo "$p is not installed"; return 1; }
		fi
	done
}
# its first process, recognised by its command line; the others end with it
demo_kill() {
	local pid
	pid=$(cat "$dir/pid" 2>/dev/null)
	[ -n "$pid" ] && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "inside $dir" || return 0
	kill -9 "$pid"
	for _ in {1..500}; do [ -e "/proc/$pid" ] || break; sleep 0.02; done
}

# ---- inside the namespace
begin() { # NAME command...
	local name=$1
	shift
	"$@" </dev/null >"$dir/log/$name.log" 2>&1 &
}
up() { # WHAT SECONDS command...
	local what=$1 end=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { tail -n 3 "$dir/log/"*.log >&2; die "$what does not come up"; }
		sleep 0.2
	done
}
answers() { curl -sf -m 5 -o /dev/null "$1"; }
new_secret() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
# folders, ports, secrets, MUNGE and Postgres; a token of the aggregator for each NAME, in $dir/NAME.token
demo_prepare() { # NAME[=CLUSTER]...
	local p
	for p in ceemsd prometheus api; do declare -g "${p}_port=$(free_port)"; done
	mkdir -p "$dir"/{log,run,munge,data,programs} && cp "$BUILD/cacct" "$dir/programs/" || exit 1
	(
		umask 077
		head -c 1024 /dev/urandom >"$dir/munge.key"
		for p; do
			new_secret >"$dir/${p%%=*}.token"
			echo "$p $(cat "$dir/${p%%=*}.token")"
		done >"$dir/tokens"
	)
	begin munge munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
		--log-file="$dir/log/munged" --seed-file="$dir/munge.seed"
	"$TOP/test/rig/pg" start "$dir/pg" >"$dir/log/pg.log" 2>&1 || die "Postgres does not start"
	. "$dir/pg/env"
}
demo_aggregator() { # flags...
	begin aggregator "$BUILD/ceems_aggregator" --db.url="$PGURL" --web.listen-address="127.0.0.1:$api_port" --ingest.token-file="$dir/tokens" \
		--identity.munge-socket="$dir/munge/socket" --security.drop-privileges=false --rollup.delay=0s --clusters.file="$dir/clusters.yaml" "$@"
	up "the aggregator" 60 answers "http://127.0.0.1:$api_port/health"
}
demo_ceemsd() { # CLUSTER flags...
	CEEMS_PATH_RUNDIR=$dir/run begin ceemsd "$BUILD/ceemsd" --web.listen-address="127.0.0.1:$ceemsd_port" --security.drop-privileges=false \
		--reports.enabled --reports.interval=5s --reports.spool="$dir/spool" --cluster="$1" --aggregator.url="http://127.0.0.1:$api_port" \
		--aggregator.token-file="$dir/node.token" "${@:2}"
	up ceemsd 60 answers "http://127.0.0.1:$ceemsd_port/health"
}
demo_prometheus() {
	printf '%s\n' 'global: {scrape_interval: 1s, scrape_timeout: 1s}' 'scrape_configs:' \
		"  - {job_name: ceems, static_configs: [{targets: ['127.0.0.1:$ceemsd_port']}]}" >"$dir/prometheus.yaml"
	begin prometheus prometheus --config.file="$dir/prometheus.yaml" --storage.tsdb.path="$dir/data" \
		--web.listen-address="127.0.0.1:$prometheus_port" --log.level=warn
	up Prometheus 60 answers "http://127.0.0.1:$prometheus_port/-/ready"
}
demo_stay() { # further lines of demo.env...
	{
		echo "CEEMS_DEMO_DIR=$dir"
		echo "CEEMSD_URL=http://127.0.0.1:$ceemsd_port"
		echo "PROMETHEUS_URL=http://127.0.0.1:$prometheus_port"
		echo "export CEEMS_API_URL=http://127.0.0.1:$api_port CEEMS_MUNGE_SOCKET=$dir/munge/socket"
		printf '%s\n' "$@"
		echo 'as() { (cd / && ${DEMO_IN:-} setpriv --reuid "$1" --regid "$1" --clear-groups env HOME=/ PATH="$CEEMS_DEMO_DIR/programs:$PATH" "${@:2}"); }'
	} >"$dir/env.new"
	mv "$dir/env.new" "$dir/env"
	while :; do sleep 3600; done
}

# ---- what is seen
ask() { # PromQL: its one value
	"${demo_in[@]}" curl -sfG -m 20 --data-urlencode "query=$1" "$PROMETHEUS_URL/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}
is_complete() {
	local i=0 u
	for u in $(names); do
		[ -n "$(ask "ceems_compute_unit_cpu_user_seconds_total{uuid=\"$u\"} > 0")" ] || return 1
		[[ $(as "${users[i]}" cacct --manager=$manager -n -P -o JobIDRaw,User,State 2>/dev/null) =~ "$u|${users[i]}|"(RUNNING|ACTIVE) ]] || return 1
		i=$((i + 1))
	done
	[ $i = ${#users[@]} ]
}
has_energy() { # which comes with the next report
	local u
	for u in "${users[@]}"; do as "$u" cacct --manager=$manager -n -P -o EnergyWh 2>/dev/null | grep -q '[0-9]' || return 1; done
}
page() { # HEADING
	local u
	echo "$1, as Prometheus has them:"
	printf '%-38s %6s %12s %12s %14s\n' uuid CPUs "CPU s" "MiB used" joules
	for u in $(names); do
		set -- "{uuid=\"$u\"}"
		printf '%-38s %6s %12.3f %12.1f %14s\n' "$u" "$(ask "ceems_compute_unit_cpus$1")" \
			"$(ask "sum(ceems_compute_unit_cpu_user_seconds_total$1) + sum(ceems_compute_unit_cpu_system_seconds_total$1)")" \
			"$(ask "sum(ceems_compute_unit_memory_used_bytes$1) / 1048576")" "$(ask "sum(ceems_compute_unit_energy_joules_total$1)" | grep . || echo -)"
	done
	for u in "${users[@]}"; do
		echo
		echo "What $u sees: as $u cacct --manager=$manager"
		as "$u" cacct --manager=$manager
	done
}
demo_start() { # HEADING [option of unshare]
	local why i
	why=$(possible) || die "$why"
	stop
	mkdir -m 755 "$dir" || die "cannot make $dir"
	setsid unshare -pf ${2:-} --kill-child=KILL --mount-proc "$self" inside "$dir" </dev/null >"$dir/out" 2>&1 &
	echo $! >"$dir/pid"
	for ((i = 0; i < 3000; i++)); do
		[ ! -s "$dir/env" ] || break
		[ -e "/proc/$(cat "$dir/pid")" ] || { cat "$dir/out" >&2; die "it did not start"; }
		sleep 0.2
	done
	. "$dir/env" || die "it did not start in 10 minutes"
	mkdir -p "$out" && ln -sf "$dir/env" "$out/demo.env"
	[ -z "${2:-}" ] || demo_in=(nsenter -t "$(cat "$dir/pid")" -n)
	for ((i = 0; i < 1500; i++)); do is_complete && break; sleep 0.2; done
	for ((i = 0; i < 600; i++)); do has_energy && break; sleep 0.2; done
	page "$1"
	is_complete || die "the rows are not complete (logs: $dir/log)"
	cat <<-END

		It stays up, and has more to see after:  . $out/demo.env
		Prometheus  $([ -z "${2:-}" ] || echo '$DEMO_IN ')curl -sG \$PROMETHEUS_URL/api/v1/query --data-urlencode query=ceems_compute_unit_cpus
		ceemsd      $([ -z "${2:-}" ] || echo '$DEMO_IN ')curl -s \$CEEMSD_URL/metrics
		cacct       as ${users[0]} cacct report UUID; as ${users[1]} cacct usage --manager=$manager
		end it      make demo-$demo-stop
	END
}
demo_main() { # COMMAND WHY-ROOT
	case $1 in
	start | stop) [ "$(id -u)" = 0 ] || die "needs root ($2)"; "$1" ;;
	possible) possible ;;
	inside) inside ;;
	*) sed -n '3,/^set /{/^set/d;s/^# \{0,1\}//p}' "$self"; exit 2 ;;
	esac
}
