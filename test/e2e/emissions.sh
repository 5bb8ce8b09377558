#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Emission factors with real ceemsd and ceems-courier, and a local server that plays every
# provider, good and bad: what is exported, what a failure costs, and where secrets go.
. "$(dirname "$0")/../tap.sh"

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built: no libcurl or no json-c"
chmod 0755 "$SCRATCH"
mkdir -p "$SCRATCH/host"
"$BUILD/emission_host" "$SCRATCH/host" >"$SCRATCH/host.port" &
started $!
wait_for 10 test -s "$SCRATCH/host.port" || exit 1
host=http://127.0.0.1:$(cat "$SCRATCH/host.port")
mode() { echo "$1" >"$SCRATCH/host/mode"; }
urls=(--emissions.rte-url="$host/rte" --emissions.emaps-url="$host/emaps" --emissions.wt-url="$host/wt" --emissions.file="$host/file")

# start FLAG...: ceemsd alone with its emissions; once more where somebody else took the port
start() {
	local i
	for i in 1 2 3; do
		port=$(free_port) || exit 1
		rm -rf "$SCRATCH/run"
		env -u http_proxy -u https_proxy -u all_proxy TZ=Asia/Tokyo "${secrets[@]}" \
			"$BUILD/ceemsd" --collector.disable-defaults --collector.emissions --path.rundir="$SCRATCH/run" \
			--web.listen-address="127.0.0.1:$port" --log.level=debug "$@" >"$SCRATCH/last" 2>&1 </dev/null &
		pid=$!
		started $pid
		wait_for 20 eval 'scrape || ! kill -0 $pid'
		scrape && return
		stop
		grep -q 'in use' "$SCRATCH/last" || break
	done
	sed 's/^/# /' "$SCRATCH/last"
	return 1
}
stop() { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; cat "$SCRATCH/last" >>"$SCRATCH/log"; }
scrape() { curl -sf -m 20 -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics"; }
shows() { scrape && grep -qF -- "$1" "$SCRATCH/body"; }
courier() { pgrep -P "$pid" -f ceems-courier; }
factor() { echo "ceems_emissions_gCo2_kWh{provider=\"$1\",provider_name=\"$2\",country_code=\"$3\",country=\"$4\"} $5"; }
all_up() { scrape && [ "$(grep -c '^ceems_emissions_provider_up{.*} 1$' "$SCRATCH/body")" = 4 ]; }
all_down() { scrape && [ "$(grep -c '^ceems_emissions_provider_up{.*} 0$' "$SCRATCH/body")" = 4 ]; }

# --- what needs nobody ---
secrets=()
ok "the tables alone: starts" start --collector.emissions.provider=owid --collector.emissions.provider=global
like "Our World in Data, by country" "$(grep 'country_code="FR"' "$SCRATCH/body")" '^ceems_emissions_gCo2_kWh\{provider="owid",provider_name="OWID",country_code="FR",country="France"\} [1-9][0-9.]*$'
ok "the world's mean" shows "$(factor global 'World Average' ZZ World 475)"
ok "more than two hundred countries" test "$(grep -c '^ceems_emissions_gCo2_kWh' "$SCRATCH/body")" -gt 200
is "nobody is asked: no courier runs" "$(courier)" ""
ok "source, licence and year are in the metrics" shows 'ceems_emissions_table_info{provider="owid",source="Our World in Data",licence="CC BY 4.0",year="20'
stop

# --- all providers, good ---
secrets=(EMAPS_API_TOKEN=pl4nted-emaps WT_USERNAME=joe WT_PASSWORD=pl4nted-wt WT_REGION=CAISO_NORTH)
mode good
before=$(date -u -d '-61 minutes' +%Y-%m-%dT%H:%M)
ok "all providers: starts" start "${urls[@]}"
ok "all answer" wait_for 20 all_up
ok "RTE eCO2mix" shows "$(factor rte 'RTE eCO2 Mix' FR France 302)"
ok "Electricity Maps" shows "$(factor emaps 'Electricity Maps' DE Germany 302)"
ok "WattTime, pounds per MWh as grams per kWh" shows "$(factor wt 'Watt Time' CAISO_NORTH CAISO_NORTH 136.985)"
ok "the site's own" shows "$(factor file File FR France 302)"
ok "their ages" test "$(grep -cE '^ceems_emissions_age_seconds\{.*\} 3[0-9][0-9]$' "$SCRATCH/body")" = 4
asked=$(grep -o 'start=[^& ]*' "$SCRATCH/host/requests" | head -1)
like "on a host in Tokyo WattTime is asked for an hour of UTC" "$asked" '^start=.*Z$'
ok "that is the last hour" test "${asked#start=}" '>' "$before"
ok "Electricity Maps got its token" grep -q '^auth-token: pl4nted-emaps' "$SCRATCH/host/requests"
ok "WattTime got password, then token" eval "grep -q '^Authorization: Basic am9lOnBsNG50ZWQtd3Q=' '$SCRATCH/host/requests' && grep -q '^Authorization: Bearer pl4nted-token' '$SCRATCH/host/requests'"
is "no secret on a command line" "$(tr '\0' ' ' <"/proc/$(courier)/cmdline" | grep -c pl4nted)" 0

# --- the courier dies: what was learnt stays, and it is back ---
old=$(courier)
mode 500
kill -9 "$old"
back() { local new; new=$(courier) && [ "$new" != "$old" ]; }
ok "a courier that was killed is started again" wait_for 30 back
ok "providers that fail are down" wait_for 30 all_down
ok "their last values stay" shows "$(factor rte 'RTE eCO2 Mix' FR France 302)"
ok "the daemon serves all the while" shows "$(factor global 'World Average' ZZ World 475)"
last=$(courier)
ok "one courier runs" test -d "/proc/$last"
stop
ok "it ends with the daemon" wait_for 10 eval '! kill -0 "$last" 2>/dev/null'

# --- bad answers: no value, no death, not even a slow scrape ---
for m in 404 401 429 redirect html half unit zero empty; do
	mode $m
	ok "$m: starts" start "${urls[@]}"
	ok "$m: all are down" wait_for 20 all_down
	is "$m: no value of theirs" "$(grep -cE '^ceems_emissions_(gCo2_kWh|age_seconds)\{provider="(rte|emaps|wt|file)"' "$SCRATCH/body")" 0
	ok "$m: the tables are there" shows 'provider="owid"'
	ok "$m: the collector has not failed" shows 'ceems_scrape_collector_success{collector="emissions"} 1'
	stop
done
mode hang
ok "hang: starts" start "${urls[@]}"
ok "hang: is scraped while they are waited for" shows 'provider="owid"'
ok "hang: nothing is said of them yet" eval '! grep -q "^ceems_emissions_provider_up" "$SCRATCH/body"'
stop
ok "hang: is not waited for at the end" wait_for 10 eval '! kill -0 $pid 2>/dev/null'

# --- a zone, and a preference ---
mode good
ok "one zone: starts" start "${urls[@]}" --emissions.zone=DE
ok "one zone: counts with what is of now and here" wait_for 20 shows 'provider="emaps",country_code="DE"} 8.38888'
ok "one zone: nothing of others" eval '! grep -qE "^ceems_emissions_gCo2_kWh.*country_code=\"FR\"" "$SCRATCH/body"'
stop
ok "preferred: starts" start "${urls[@]}" --emissions.zone=DE --emissions.prefer=owid
like "preferred: the table counts" "$(scrape && grep '^ceems_emissions_factor_grams_per_joule' "$SCRATCH/body")" 'provider="owid",country_code="DE"'
stop

# --- older than it may be ---
mode good
max_age() { printf 'emissions:\n  max-age: %s\n' "$1" >"$SCRATCH/config.yaml"; }
max_age 1h
ok "of an age: starts" start "${urls[@]}" --config.file="$SCRATCH/config.yaml"
ok "of an age: a value of five minutes ago is shown" wait_for 20 shows "$(factor rte 'RTE eCO2 Mix' FR France 302)"
max_age 2m
kill -HUP "$pid"
gone() { scrape && ! grep -q '^ceems_emissions_gCo2_kWh{provider="rte"' "$SCRATCH/body"; }
ok "of an age: reloaded, it is too old" wait_for 20 gone
ok "of an age: its age is told" grep -q '^ceems_emissions_age_seconds{provider="rte",country_code="FR"} 3' "$SCRATCH/body"
stop

# --- without accounts, and alone ---
secrets=(EMAPS_API_TOKEN= WT_USERNAME= WT_PASSWORD= WT_REGION=)
ok "without accounts: starts" start "${urls[@]}"
ok "without accounts: the rest answers" wait_for 20 shows 'ceems_emissions_provider_up{provider="rte"} 1'
ok "without accounts: says what is missing" grep -q 'emissions_emaps: EMAPS_API_TOKEN is not set: off' "$SCRATCH/last"
stop
printf '2025-08-07T09:00:00Z,FR,21.5,France\n' >"$SCRATCH/factors"
like "ceems-courier alone prints what it learns" \
	"$("$BUILD/ceems-courier" --once --print --collector.emissions --collector.emissions.provider=file --emissions.file="$SCRATCH/factors" 2>/dev/null)" \
	'emissions_file 2025-08-07T09:00:00Z FR mg_per_kwh=21500 France'

ok "no sanitizer complains" eval '! grep -qE "(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error" "$SCRATCH/log"'
ok "no secret in any log" eval '! grep -q pl4nted "$SCRATCH/log"'
ok "no secret in the metrics" eval '! grep -q pl4nted "$SCRATCH/body"'
ok "the logs do name the servers" grep -q "emissions_rte: .*$host/rte" "$SCRATCH/log"
tap_done
