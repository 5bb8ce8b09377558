#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cacct against recorded answers: how it proves who asks, what it requests, what it says when it gets
# no answer, and what it prints.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
[ -x "$BUILD/cacct" ] || skip_all "cacct is not built"
cd "$SCRATCH" || exit 1
export TZ=UTC HOME=$SCRATCH/home LC_ALL=C
unset XDG_CONFIG_HOME CEEMS_TOKEN_FILE API_URL NO_COLOR CEEMS_CLUSTER CEEMS_TSDB_URL CEEMS_PROFILES_URL
mkdir -p home api
cp "$TOP"/test/fixture/api/* api/
# what one may see is one's own here
ln -s units api/units_visible
ln -s units.p2 api/units_visible.p2
"$BUILD/api_host" api >port &
started $!
wait_for 5 test -s port
export CEEMS_API_URL=http://127.0.0.1:$(cat port)
(umask 077 && echo planted-hunter2 >token)
DAY=(-S 2026-03-26 -E 2026-03-26T12:00)
cacct() { "$BUILD/cacct" "$@"; }
asked() { sed -n 's/^GET \([^ ]*\) .*/\1/p' api/requests; }
answers() { printf '%s\n%s\n' "$2" "$3" >"api/$1"; }

# --- who asks: a token
export CEEMS_TOKEN_FILE=$SCRATCH/token
cacct "${DAY[@]}" >out 2>err
is "a table, the running job in it, and nothing said beside it" "$? $(cat err) $(grep -c . out) $(grep -c RUNNING out)" "0  7 1"
like "both pages were asked for, and the window in seconds" "$(asked | tail -n 2 | paste -sd' ')" \
	'from=1774483200&to=1774526401.*limit=500 .*cursor=p2'
is "the token went with each question" "$(grep -c '^Authorization: Bearer planted-hunter2' api/requests)" 2
is "the table is the golden one" "$(cat out)" "$(cat "$TOP/test/golden/cacct_fields.txt")"
chmod 644 token
cacct >out 2>err
is "a token that others can read is refused" "$? $(cat out)" "1 "
like "and it says what to change" "$(cat err)" 'mode 0644, refused .chmod'
chmod 600 token

# --- which jobs
: >api/requests
cacct -j 4711,4713 -M demo,other -A physics >/dev/null
like "jobs, clusters and accounts are asked for, without a window" "$(asked | head -n 1)" \
	'^/api/v1/units/visible\?cluster_id=demo&cluster_id=other&project=physics&uuid=4711&uuid=4713&running=true&limit=500$'
: >api/requests
cp api/units api/units_admin
cacct -u "$(id -un)" >/dev/null
like "oneself is asked for as oneself" "$(asked | head -n 1)" '^/api/v1/units\?'
cacct -u 'a&b=c d' "${DAY[@]}" >/dev/null 2>&1
target=$(asked | tail -n 1)
like "another user as an operator does, and no name becomes a parameter" "$target" '^/api/v1/units/admin\?user=a%26b%3Dc%20d&'
: >api/requests
cacct >/dev/null
like "the default is today, from midnight" "$(asked | head -n 1)" "from=$(date -d "$(date +%F)" +%s)&to=[0-9]+&running"
is "where nothing is found it says in which window" "$(cacct --name none | tail -n 1)/$(cacct -s F | tail -n 1)/$(cacct --name none -S 2026-03-26 | tail -n 1)" \
	"Summary: 0 jobs since 00:00 today (-S now-7days: of the last week)/Summary: 0 jobs in these states now (-S today: all of today)/Summary: 0 jobs"
: >api/requests
cacct -s F >/dev/null
is "with states alone it is now, as sacct has it" "$(asked | head -n 1 | sed -n 's/.*from=\([0-9]*\)&to=\([0-9]*\)&.*/\1 \2/p' | awk '{ print $2 - $1 }')" 1
is "a job that was over before the window is not shown, whatever the server says" "$(cacct -n -P -S 2026-03-26T10:00 -E 2026-03-26T12:00 -o jobid | sort | paste -sd' ')" "4700_14 4715"
is "nor one that began after it" "$(cacct -n -P -S 2026-03-26 -E 2026-03-26T09:01 -o jobid | paste -sd' ')" 4711
rm api/units_admin
answers units_admin 403 '{"status":"error","errorType":"forbidden","error":"operators only"}'
cacct -a "${DAY[@]}" >out 2>err
is "all users: refused" "$? $(cat out)" "1 "
like "in plain words" "$(cat err)" '^cacct: error: only operators and admins may see jobs of other users: refused by http://127.0.0.1:[0-9]+/api/v1/units/admin: operators only$'
cacct -n -j 999 >out 2>err
is "a job that is not there is no error, and nothing is printed" "$? $(cat out err)" "0 "
is "-s and -r choose" "$(cacct "${DAY[@]}" -n -P -o jobid -s F,R; cacct "${DAY[@]}" -n -P -o jobid -r gpu)" $'4713\n4700_14\n4700_14'

# --- steps
cp "$TOP/test/fixture/api/units_101" api/ 2>/dev/null
cp api/units units.full
is "steps on request" "$(cacct -n -P --steps -j 4711 -o jobid,jobname,elapsed,exitcode,maxrss,state)" \
	$'4711|relax.sh|01:00:00|0:0|8G|COMPLETED\n4711.batch|batch|01:00:00|0:0|1G|COMPLETED\n4711.0|relax <mpi>|00:59:00|0:0|8G|COMPLETED'
is "one step by name" "$(cacct -n -P -j 4711.0 -o jobid)" 4711.0

like "steps need no series" "$(asked)" '/api/v1/units/101\?resolution=none'

is "as sacct orders them, and with raw ids as sacct has them" "$(cacct -n -P --steps -j 4711 -o jobidraw | paste -sd' ')" "4711 4711.batch 4711.0"
is "the summary is of the step, where the step alone is shown" "$(cacct -j 4711.0 | tail -n 1 | cut -d';' -f1,2)" "Summary: 1 step; elapsed 00:59:00"
is "and of nothing where there is none of that name" "$(cacct -j 4711.77 | tail -n 1)" "Summary: 0 jobs"
is "a job that is named beside another's step is a row" "$(cacct -j 4711.0,4713 -n -P -o jobid | paste -sd' ')" "4711.0 4713"
is "one that is named twice is there once" "$(cacct -n -P -j "4711,$(seq -s, 5000 5120),4711" -o jobid)" 4711
: >api/requests
sed '1!s/"data": *\[/"data":[{"id":900,"uuid":"999","username":"eve","state":"COMPLETED","started_at_ts":1774512010000,"ended_at_ts":1774512020000},/' units.full >api/units
is "jobs of others that are named are the server's to show, in one question" "$(cacct -n -P -j 4711,999 -o jobid | paste -sd' ') $(asked | grep -c 'units/visible?uuid=4711&uuid=999&running=true&limit=500$') $(asked | grep -c admin)" \
	"4711 999 1 0"
cp units.full api/units
rm api/units_visible
: >api/requests
is "an older server, which does not know who sees what, is asked for one's own" "$(cacct -n -P -j 4711 -o jobid) $(asked | cut -d'?' -f1 | uniq | paste -sd' ')" "4711 /api/v1/units/visible /api/v1/units"
ln -s units api/units_visible

# --- over on its nodes, while slurmctld has not said so
cp api/units.p2 running.p2
sed -i 's/"ended_at_ts":0,/"ended_at_ts":0,"ended_on_nodes_ts":1774525000000,"record_awaited_until_ts":1774525600000,/' api/units.p2
like "a job that is over on its nodes is said to be, though it is RUNNING" "$(cacct "${DAY[@]}")" 'RUNNING.*\(1 running, 1 of them over on its nodes: Slurm.s record is awaited\)'
cp running.p2 api/units.p2

# --- usage: rows of the server's put together, and what they add up to
row() { # project, user, day or "", jobs, begun, CPU seconds allocated and used, joules, grams
	printf '{"cluster_id":"demo","project":"%s","username":"%s"%s,"num_units":%s,"num_units_started":%s,"total_time_seconds":{"walltime":%s,"alloc_cputime":%s},"cpu_seconds":%s,"avg_cpu_usage":{"global":%s},"energy_joules":{"total":%s},"grams":{"owid":%s},"coverage":1}' \
		"$1" "$2" "${3:+,\"day\":\"$3\"}" "$4" "$5" "$6" "$6" "$7" "$(awk "BEGIN { print 100 * $7 / $6 }")" "$8" "$9"
}
rows_of() { local IFS=,; printf '200\n{"status":"success","data":[%s],"from":"2026-03-23T00:00:00Z","to":"2026-03-26T12:00:00Z","as_of":"2026-03-26T12:00:00Z","coverage":1}' "$*"; }
rows_of "$(row bio ada '' 3 3 7200 3600 7200 2)" "$(row physics ada '' 2 2 3600 3600 3600 1)" "$(row physics eve '' 1 1 3600 0 3600 1)" >api/usage_current_visible
# a job of Sunday goes on until Tuesday: once in each week
rows_of "$(row physics ada 2026-03-22 1 1 3600 3600 3600 1)" "$(row physics ada 2026-03-23 1 0 3600 3600 3600 1)" "$(row physics ada 2026-03-24 2 1 3600 0 3600 1)" >api/usage_daily_visible
WEEK=(-S 2026-03-22T01:00 -E 2026-03-26T12:00)
: >api/requests
cacct usage "${WEEK[@]}" >out 2>err
is "usage is one question, whose the server decides" "$? $(cat err) $(asked)" "0  /api/v1/usage/current/visible?from=1774141200&to=1774526401"
is "it is a table for each account and user" "$(cat out)" "$(cat "$TOP/test/golden/cacct_usage.txt")"
is "rows are put together: shares by what they are of" "$(cacct usage -n -P --by=user -o user,jobs,cpuhours,cpueff,wastedcpuhours,wastedenergy "${WEEK[@]}")" $'ada|5|3.00|66.7%|1.00|3.60K\neve|1|1.00|0.0%|1.00|3.60K'
is "accounts are projects" "$(cacct usage -n -P --by=project -o account,user,jobs "${WEEK[@]}")" $'bio||3\nphysics||3'
is "a job is once in each week, of which it was in two" "$(cacct usage -n -P --by=week -o period,jobs,cpuhours "${WEEK[@]}")" $'2026-W12|1|1.00\n2026-W13|2|2.00'
is "days and months" "$(cacct usage -n -P --by=month,user -o period,user,jobs "${WEEK[@]}") $(cacct usage -n -P --by=day -o period,jobs "${WEEK[@]}" | paste -sd' ')" "2026-03|ada|2 2026-03-22|1 2026-03-23|1 2026-03-24|2"
is "it sorts" "$(cacct usage -n -P --sort -jobs,user -o account,user "${WEEK[@]}" | paste -sd' ')" "bio|ada physics|ada physics|eve"
is "as JSON in base units" "$(cacct usage --json "${WEEK[@]}" | jq -c '[.usage[0].project, .usage[0].wasted_cpu_seconds, .total.jobs, .total.energy_joules, .total.grams.owid, .coverage]')" '["bio",3600,6,14400,4,1]'
like "an account is asked for, and -a as an operator does" "$(cacct usage -A bio "${WEEK[@]}" >/dev/null; asked | tail -n 1)$(cacct usage -a >/dev/null 2>&1; asked | tail -n 1)" 'visible\?project=bio&.*/usage/current/admin\?from'
rm api/usage_current_visible && rows_of "$(row bio ada '' 3 3 7200 3600 7200 2)" >api/usage_current
is "an older server is asked for one's own" "$(cacct usage -n -P -o account "${WEEK[@]}")" bio
for bad in "-j 1" "-s F" "--steps" "-T" "--by=nothing" "--by=" "extra"; do
	# shellcheck disable=SC2086
	cacct usage $bad >out 2>err
	is "exit status 1 and one line: cacct usage $bad" "$? $(cat out) $(grep -c '^cacct: error: ' err)" "1  1"
done

# --- a report
cacct report 4711 >out 2>err
is "a report is one screen" "$? $(cat err) $(LC_ALL=C.UTF-8 awk 'length > 80' out | wc -l) $(($(wc -l <out) < 35))" "0  0 1"
is "the same as the golden one" "$(LANG=C cacct report 4711)" "$(cat "$TOP/test/golden/cacct_report.txt")"
cp api/units_101 running.101
tr -d '\n' <running.101 | sed 's/"ended_at_ts": *[0-9]*,/"ended_at_ts":0,"ended_on_nodes_ts":1774525000000,"record_awaited_until_ts":1774525600000,/; s/^\([0-9]*\)/\1\n/' >api/units_101
like "of a job over on its nodes it says until when Slurm's record is awaited" "$(cacct report 4711 | tr -s '\n ' ' ')" 'Over on its nodes since 2026-03-26.11:36:40; Slurm.s record is awaited until 2026-03-26.11:46:40'
cp running.101 api/units_101
cacct report 4711 --html page.html >out 2>err
is "a page goes to its file" "$? $(cat out err) $(cmp page.html "$TOP/test/golden/cacct_report.html")" "0  "
is "as JSON: all that the API says of it" "$(cacct report 4711 --json | jq -r '[.uuid, (.steps | length)] | join(" ")')" "4711 2"
is "the last form that is named counts" "$(cacct "${DAY[@]}" --json --csv | head -c 5)" JobID
cacct report 4711 --csv >out 2>err
like "a report is no table" "$? $(cat err)" '^1 cacct: error: report prints a screen, a page \(--html FILE\) or --json, no other form$'
cacct report 999 >out 2>err
like "no such job" "$? $(cat err)" '^1 cacct: error: no job 999 that you may see$'
if command -v chromium-headless-shell >/dev/null; then
	# in a browser: every plot is drawn, and nothing is asked for from elsewhere
	browser() { timeout 250 chromium-headless-shell --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$SCRATCH/chromium" "$@" 2>browser.log; }
	browser --dump-dom "file://$SCRATCH/page.html" >dom
	is "Chromium draws the plots" "$(grep -o '<svg' dom | wc -l)" 4
	browser --window-size=860,1700 --screenshot="$SCRATCH/page.png" "file://$SCRATCH/page.html" >/dev/null
	ok "and makes a picture of it" [ "$(stat -c %s page.png)" -gt 20000 ]
else
	skip "Chromium draws the plots" "chromium-headless-shell is not installed"
fi

# --- where its time went
cacct report 4711 --flame >out 2>err
like "without an address of profiles it says what is missing" "$? $(cat out err)" '^1 cacct: error: no address for profiles: --profiles.url, CEEMS_PROFILES_URL, or pyroscope: web: url: in cacct.yaml$'
export CEEMS_PROFILES_URL=$CEEMS_API_URL
: >api/requests
cacct report 4711 --flame >out 2>err
is "the functions that took the time, as the golden file has them" "$? $(cat err) $(diff out "$TOP/test/golden/cacct_flame.txt")" "0  "
is "its own unit is asked for, in its time" "$(asked | grep render)" \
	"/pyroscope/render?query=process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds%7Bservice_name%3D%224711%22%7D&from=1774512010&until=1774515610&max-nodes=4096&format=json"
is "with the same proof as its records" "$(grep -A9 '^GET /pyroscope' api/requests | grep -c '^Authorization: Bearer planted-hunter2')" 1
: >api/requests
cacct report 4711 --flame=off-cpu >out 2>err
like "or those that it was blocked in" "$? $(head -n 1 out) $(asked | grep render)" '^0 Time blocked: .* /pyroscope/render\?query=off_cpu%3Aoff_cpu%3Ananoseconds%3A%3A%7Bservice_name%3D%224711%22%7D&'
like "no other kind" "$(cacct report 4711 --flame=gpu 2>&1)" '^cacct: error: --flame: "gpu" is not cpu or off-cpu'
: >api/requests
CEEMS_CLUSTER='a"b' cacct report 4711 --flame >/dev/null
like "the cluster is named where there are several" "$(asked | grep render)" 'service_name%3D%224711%22%2Cceems_id%3D%22a%5C%22b%22%7D'
cacct report 4711 --html flame.html >out 2>err
is "a page has the flame graph" "$? $(cat out err) $(grep -c 'class="flame"' flame.html)" "0  1"
is "with whole names, and no markup of a program's" "$(grep -c '<text x="3" y="12">std::vector&lt;double, std::allocator&lt;double&gt; &gt;::operator\[\](unsigned long)</text>' flame.html) $(grep -c '<b>&' flame.html) $(grep -c '<script' flame.html)" "1 0 0"
if command -v chromium-headless-shell >/dev/null; then
	browser --dump-dom "file://$SCRATCH/flame.html" >dom
	is "Chromium draws it" "$(grep -c '<rect width="100%"' dom)" "$(grep -c '<rect width="100%"' flame.html)"
else
	skip "Chromium draws it" "chromium-headless-shell is not installed"
fi
answers pyroscope_render 403 '{"code":"permission_denied","message":"unit 4711 is not yours"}'
cacct report 4711 --flame >out 2>err
like "what is refused is said" "$? $(cat out err)" '^1 cacct: error: profiles: refused by .*/pyroscope/render: unit 4711 is not yours$'
cacct report 4711 --html flame.html >out 2>err
is "a page is made without it" "$? $(cat out) $(grep -c 'class="flame"' flame.html)" "0  0"
like "which is said" "$(cat err)" '^cacct: warning: no profile: '
answers pyroscope_render 200 '{"flamebearer":{"names":["total"],"levels":[[0,5,9,0]]}}'
cacct report 4711 --flame >out 2>err
like "what is no flame graph is refused" "$? $(cat out err)" "^1 cacct: error: the profile store's answer is none: a bar is none"
answers pyroscope_render 200 '{"flamebearer":{"names":["total"],"levels":[[0,0,0,0]]}}'
is "where nothing was sampled it says so" "$(cacct report 4711 --flame)" "No profile: none of its samples is in the store."
unset CEEMS_PROFILES_URL

# --- VMs and pods
: >api/requests
as_golden() { # FILE ARGS
	case $2 in usage) cacct "${@:2}" "${WEEK[@]}" ;; *) cacct "${DAY[@]}" "${@:2}" ;; esac >out 2>err || cat err
	[ -z "${UPDATE_GOLDEN:-}" ] || cp out "$TOP/test/golden/$1"
	is "as before: cacct ${*:2}" "$(cat out)" "$(cat "$TOP/test/golden/$1")"
}
rm api/units_visible && cp "$TOP/test/fixture/api/units_kinds" api/units_visible
as_golden cacct_vms.txt --manager=libvirt
as_golden cacct_vms.csv --manager=libvirt --csv
as_golden cacct_pods.txt --manager=k8s
as_golden cacct_pods_long.txt --manager=k8s --long
as_golden cacct_kinds.txt --manager=k8s,openstack
like "the server is asked for these alone, libvirt's with OpenStack's" "$(asked | sed 's/.*visible//; s/from=.*//' | sort -u | paste -sd' ')" \
	'^\?resource_manager=k8s& \?resource_manager=libvirt&resource_manager=openstack& \?resource_manager=openstack&resource_manager=k8s&$'
is "OpenStack's alone" "$(cacct "${DAY[@]}" --manager=openstack -n -P -o vmname,flavour,project,manager)" 'web-1|m1.large|shop|openstack'
is "by state, project and namespace" "$(cacct "${DAY[@]}" --manager=libvirt -s SHUTOFF -n -P -o vmname) $(cacct "${DAY[@]}" --manager=libvirt --projects shop -n -P -o vmname) $(cacct "${DAY[@]}" --manager=k8s --namespaces lab -n -P -o podname,namespace)" 'lone?vm web-1 train-0|science'
is "no word of Slurm's stands anywhere" "$(cat "$TOP"/test/golden/cacct_{vms,pods,pods_long}.* | grep -ciE 'job|partition|qos|account|alloc|slurm')" 0
is "JSON has units" "$(cacct "${DAY[@]}" --manager=k8s --json | jq -c '[.units[0].name, .summary.units, .summary.units_with_energy, has("jobs")]')" '["train-0",1,1,false]'
is "none are none of these" "$(cacct --manager=k8s -n -j 4711; cacct --manager=k8s | tail -n 1)" "Summary: 0 pods since 00:00 today (-S now-7days: of the last week)"
answers units_203 200 "$(sed -n '/^{"id":203/,/^ .*science/p' "$TOP/test/fixture/api/units_kinds" | tr -d '\n' | sed 's/.*/{"status":"success","data":[&]}/')"
cacct report 5b8f7fd4-0000-4000-8000-000000000001 >out 2>err
like "a report of a pod is in its words" "$? $(cat err) $(head -n 3 out | paste -sd' ')" '^0  Pod 5b8f7fd4-0000-4000-8000-000000000001  train-0.*user ada, project lab, namespace science'
is "without advice on Slurm's options" "$(grep -ciE -- 'job|queue|--mem|--time|slurm|account' out)" 0
for bad in --manager=nova --manager= --manager=k8s,x; do
	cacct $bad >out 2>err
	like "another manager is refused: cacct $bad" "$? $(cat out err)" '^1 cacct: error: --manager: '
done
(unset CEEMS_CLUSTER; : >api/requests; CEEMS_CLUSTER=mine cacct --manager=k8s >/dev/null; CEEMS_CLUSTER=mine cacct --manager=k8s -M k1 >/dev/null)
like "the site's own cluster is of another kind, one that is named is asked for" "$(asked | sed 's/from=.*//' | paste -sd' ')" '^/api/v1/units/visible\?resource_manager=k8s& /api/v1/units/visible\?cluster_id=k1&resource_manager=k8s&$'
rows_of "$(row shop ada '' 2 2 7200 3600 7200 2)" >api/usage_current_visible
as_golden cacct_usage_vms.txt usage --manager=libvirt
rm api/units_visible api/usage_current_visible && ln -s units api/units_visible

# --- time series
rm out
cacct -j 4711 --ts >out.txt 2>err
is "--ts writes CSV files and their index" "$? $(cat out.txt err) $(ls out | paste -sd' ')" \
	"0 1 file in out, listed in metadata.json demo-4711.csv metadata.json"
is "the API's series is the golden one" "$(cmp out/demo-4711.csv "$TOP/test/golden/cacct_series.csv" && echo same)" same
rm out/demo-4711.csv && ln -s "$SCRATCH/precious" out/demo-4711.csv && echo precious >precious
cacct -j 4711 --ts --ts.out-dir out >/dev/null
is "a link in the folder is not followed" "$(cat precious) $(test -L out/demo-4711.csv || echo file)" "precious file"
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	# a job of 100 hours, whose watts a real Prometheus knows: 36000 points at 10 s, of which it gives 11000
	{
		echo '# TYPE uuid:ceems_host_power_watts:pue gauge'
		for h in $(seq 0 2 1200); do echo "uuid:ceems_host_power_watts:pue{uuid=\"4711\",instance=\"n1\"} $((100 + h % 7)) $((1774166400 + h * 300))"; done
		echo '# EOF'
	} >watts.om
	promtool tsdb create-blocks-from openmetrics watts.om tsdb >/dev/null 2>promtool.log
	echo '{}' >prometheus.yml
	pport=$(free_port)
	prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --storage.tsdb.retention.time=100y --web.listen-address=127.0.0.1:"$pport" >prometheus.log 2>&1 &
	started $!
	wait_for 20 curl -sf "http://127.0.0.1:$pport/-/ready"
	sed 's/"started_at_ts":1774512010000/"started_at_ts":1774166400000/' "$TOP/test/fixture/api/units" >api/units
	cacct -j 4711 --ts --ts.out-dir long --ts.step 10 --tsdb.url "http://127.0.0.1:$pport" >out.txt 2>err
	is "a job of 100 hours is exported within the server's limit" "$? $(cat err) $(jq -r '.[].query' long/metadata.json | paste -sd' ')" "0  api host_power_watts"
	n=$(wc -l <long/demo-4711-host_power_watts-*.csv)
	ok "with nearly as many points as it gives ($n)" [ "$n" -gt 4000 ] && [ "$n" -lt 11000 ]
	is "its labels are in the index" "$(jq -r '.[1].labels.instance' long/metadata.json)" n1
	is "a wrong PromQL is told" "$(printf 'tsdb: {web: {url: "http://127.0.0.1:%s"}, queries: {bad: "up{"}}\n' "$pport" >bad.yaml
		cacct -j 4711 --ts --config.file=bad.yaml 2>&1 | grep -c 'query bad: .*does not accept')" 1
	cp "$TOP/test/fixture/api/units" api/units
else
	skip "a job of 100 hours is exported within the server's limit" "prometheus is not installed"
fi
rm -rf out

# --- forms
is "CSV lines end as RFC 4180 wants" "$(cacct "${DAY[@]}" --csv | grep -c $'\r$')" 5
is "JSON is JSON, with names as they are" "$(cacct "${DAY[@]}" --json | jq -r '.jobs[1].name, .summary.jobs' | od -c | grep -c 033)" 1
is "no control character reaches the output" "$(cacct "${DAY[@]}" -l | LC_ALL=C grep -c $'[\001-\011\013-\037\177]')" 0
if command -v script >/dev/null; then
	tty() { script -qec "$*" /dev/null </dev/null; }
	like "a terminal gets colour" "$(tty "$BUILD/cacct ${DAY[*]}")" $'\033\\[32m'
	is "not with NO_COLOR" "$(NO_COLOR=1 tty "$BUILD/cacct ${DAY[*]}" | grep -c $'\033')" 0
	echo 1100 >api/delay
	like "a long question shows on a terminal how far it is" "$(tty "$BUILD/cacct ${DAY[*]} --steps -j 4711")" $'\r[0-9]+ jobs '
	is "and nowhere else" "$(cacct "${DAY[@]}" --steps -j 4711 2>&1 | grep -c $'\r')" 0
	rm api/delay
else
	skip "a terminal gets colour" "no script(1)"
fi

# --- a command line that is wrong
for bad in "--nothing" "-o nothing" "-S yesterdey" "-s XX" "-j 12_[3-1]" "--units=Q" "extra" "-S tomorrow -E today" "--format"; do
	# shellcheck disable=SC2086
	cacct $bad >out 2>err
	is "exit status 1 and one line: cacct $bad" "$? $(cat out) $(grep -c '^cacct: error: ' err)" "1  1"
done
is "--help, --usage, --helpformat and --version need no server" \
	"$(for o in --help --usage -e -V; do CEEMS_API_URL= cacct $o >out 2>&1 && grep -c . out; done | awk '$1 > 0' | wc -l)" 4
env -u CEEMS_API_URL "$BUILD/cacct" >out 2>err
like "without a server's name it says how to give one" "$? $(cat err)" '^1 cacct: error: the address of the API is not set'

# --- a server that is wrong
while IFS='|' read -r what status body want; do
	answers units "$status" "$body"
	cacct "${DAY[@]}" >out 2>err
	is "exit status 1: $what" "$? $(cat out) $(grep -c . err)" "1  1"
	like "in plain words: $what" "$(cat err)" "^cacct: error: .*$want"
done <<'T'
401|401|{"status":"error","error":"no credential"}|does not know who you are: no credential
500|500|<html>|HTTP status 500
a web page|200|<html>|is not the API
half an answer|200|{"status":"success","data":[{"uui|is not the API
another envelope|200|{"data":[]}|is not the API
data that is no list|200|{"status":"success","data":{}}|not a list
rows that are none|200|{"status":"success","data":[1]}|not an object
429|429|{"status":"error","error":"slow down"}|busy
words with control characters|400|{"status":"error","error":"a\u001b[31mb"}|a.*b
T
is "a server's words do not act on the terminal" "$(grep -c $'\033' err)" 0
answers units 200 '{"status":"success","data":[],"warnings":["sums are late\u001b[2J",5,null]}'
cacct "${DAY[@]}" >out 2>err
is "what the server warns of is said, without acting on the terminal" "$? $(cat err | od -c | grep -c 033) $(grep -c '^cacct: note: sums are late' err)" "0 0 1"
answers units 200 '{"status":"success","data":[],"cursor":"loop"}'
answers units.loop 200 '{"status":"success","data":[],"cursor":"loop"}'
cacct >out 2>err
is "a cursor that goes in circles ends" "$?" 0
CEEMS_API_URL=http://127.0.0.1:9 cacct >out 2>err
is "nobody there: exit status 1" "$?" 1
like "and it says so" "$(cat err)" 'no answer from the server'

# --- who asks: MUNGE, by a munged of our own
cp "$TOP/test/fixture/api/units" api/units
unset CEEMS_TOKEN_FILE
if ! have_munge "$BUILD/cacct" || ! unshare -m mount -t tmpfs none /run 2>/dev/null; then
	skip "identity by MUNGE" "needs root, munged, libmunge and mount namespaces"
else
	munge_start
	: >api/requests
	# libmunge's own socket, for this command only; as an ordinary user
	unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/munge && mount --bind "$0" /run/munge && shift 0 && exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"' \
		munge "$BUILD/cacct" "${DAY[@]}" >out 2>err
	is "an ordinary user asks by MUNGE" "$? $(cat err)" "0 "
	is "each question has a credential of its own" "$(grep -o '^Authorization: MUNGE .*' api/requests | sort -u | grep -c .)" 2
	sed -n 's/^Authorization: MUNGE \(MUNGE:[^ ]*:\).*/\1/p' api/requests | tr -d '\r' | head -n 1 >cred
	unmunge --socket="$MUNGE_SOCKET" <cred >decoded 2>&1
	like "it is that user's" "$(grep ^UID: decoded)" "nobody"
	is "it is for this very question" "$(tail -n 1 decoded)" "$(munge_payload GET "$CEEMS_API_URL$(asked | head -n 1)")"
	CEEMS_API_URL=$CEEMS_API_URL/prefix/ "$BUILD/cacct" >out 2>err
	is "without munged it is refused here, not asked" "$? $(grep -c 'cannot show who you are' err)" "1 1"
fi

# --- the site's file, and the user's own over it
mkdir -p home/.config/ceems
cat >home/.config/ceems/cacct.yaml <<-E
	ceems_api_server:
	  cluster_id: mine
	  web:
	    url: $CEEMS_API_URL
	    basic_auth: {username: eve, password_file: $SCRATCH/token}
E
: >api/requests
(unset CEEMS_API_URL; "$BUILD/cacct" "${DAY[@]}" >out 2>err)
is "~/.config/ceems/cacct.yaml is read" "$? $(asked | head -n 1 | grep -c cluster_id=mine) $(grep -c '^Authorization: Basic' api/requests)" "0 1 2"
is "no secret in any output" "$(cat out err | grep -c hunter2)" 0
tap_done
