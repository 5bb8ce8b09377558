#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Owners of pods in a real Postgres: claims of the admission webhook, the objects that pods are a part of, namespaces
# that are made again, and what neither a node, a controller nor a claim for another cluster may do.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >web.yaml
chmod 600 web.yaml
(umask 077; printf 'test=* a-token-of-this-test\nhook a-token-of-the-webhook\n' >tokens)
flags=(--web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --ingest.claims-from=token:hook --ingest.token-file="$SCRATCH/tokens")
agg_begin "${flags[@]}"
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" "${@:3}" "http://127.0.0.1:$agg_port/api/v1$2"; }
push_as() { # token lines
	printf '%s\n' "${@:2}" | "$make" | curl -s -m 60 -o answer -w '%{http_code}' -H "Authorization: Bearer $1" \
		-H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"
}
push() { [ "$(push_as a-token-of-this-test "$@")" = 200 ]; }
claim() { push_as a-token-of-the-webhook "$@"; }
T=$(($(date +%s) - 3600))
pod() { printf '5b8f7fd4-0000-4000-8000-%012d' "$1"; }
owner() { sql "SELECT p.name, coalesce(j.name, '-'), u.known_by FROM unit u LEFT JOIN person p ON p.id = u.person LEFT JOIN project j ON j.id = u.project WHERE u.uuid = '$1'"; }
# settle() of aggregator.sh waits for the linker; claims come in its turns
owned() { [ "$(owner "$1")" = "$2" ]; }
start() { push "start cluster=k1 node=w1 unit=$1 instance=$2 manager=3 uid=0 started=$T"; }

ok "a pod is told of by its node" start "$(pod 1)" 1
ok "and linked" settle
is "it is nobody's" "$(owner "$(pod 1)")" "|-|node"
is "the cluster is Kubernetes'" "$(sql "SELECT manager FROM cluster WHERE name = 'k1'")" k8s
is "the webhook's claim is taken" "$(claim "claim uid=$(pod 1) owner=alice namespace=web name=p1 at=$T")" 200
ok "now it is alice's, in its namespace" wait_for 30 owned "$(pod 1)" "alice|web|k8s"
is "a second claim of its uid changes nothing" "$(claim "claim uid=$(pod 1) owner=mallory at=$T")" 200
claim "claim uid=$(pod 2) owner=bob at=$T" >answer2
ok "a claim waits for its pod" start "$(pod 2)" 2
ok "which then has its owner" wait_for 30 owned "$(pod 2)" "bob|web|k8s"
is "the first claim stays" "$(owner "$(pod 1)")" "alice|web|k8s"

is "a node may not claim" "$(push_as a-token-of-this-test "claim uid=$(pod 3) owner=mallory at=$T")" 403
like "which is said" "$(cat answer)" 'may not send claims of an admission webhook'
push "job id=7 cluster=c1 submit=$T start=$T user=carol uid=1003 account=web" "start cluster=c1 node=n1 unit=7 instance=70 manager=1 uid=1003 started=$T"
claim "claim cluster=c1 uid=7 owner=mallory at=$T" >/dev/null
ok "nobody claims a job of Slurm's" settle
is "it stays who submitted it" "$(owner 7)" "carol|web|jobcomp"
is "the claim waits for a pod of that name's Kubernetes" "$(sql "SELECT c.name, c.manager, k.settled IS NULL FROM k8s_claim k JOIN cluster c ON c.id = k.cluster WHERE k.uid = '7'")" "c1|k8s|t"

# A node of Slurm and Kubernetes reports both under one name: each is of its own manager's, whichever came first.
push "start cluster=c1 node=n1 unit=$(pod 30) instance=71 manager=3 uid=0 started=$T"
claim "claim cluster=c1 uid=$(pod 30) owner=alice at=$T" >/dev/null
ok "a pod on a node of Slurm's has the owner whom its claim names" wait_for 30 owned "$(pod 30)" "alice|web|k8s"
push "start cluster=k1 node=w1 unit=8 instance=72 manager=1 uid=1003 started=$T"
push "job id=8 cluster=k1 submit=$T start=$T user=carol uid=1003 account=web"
ok "a job on a node of Kubernetes' has its record's" wait_for 30 owned 8 "carol|web|jobcomp"
push "start cluster=both node=b1 unit=$(pod 31) instance=73 manager=3 uid=0 started=$T" "start cluster=both node=b1 unit=9 instance=74 manager=1 uid=1003 started=$T" \
	"job id=9 cluster=both submit=$T start=$T user=carol uid=1003 account=web" "start cluster=both node=b1 unit=$(pod 32) instance=75 manager=2 uid=0 started=$T"
claim "claim cluster=both uid=$(pod 31) owner=alice at=$T" >/dev/null
ok "a batch of a job, a pod and a VM has three of one name: the pod is its owner's" wait_for 30 owned "$(pod 31)" "alice|web|k8s"
ok "the job of its record's" wait_for 30 owned 9 "carol|web|jobcomp"
ok "and all are linked" settle
is "each is of its own manager's, on that node" "$(sql "SELECT c.name, c.manager, string_agg(n.uuid, ',' ORDER BY n.uuid) FROM unit_node n JOIN node o ON o.id = n.node JOIN cluster c ON c.id = o.cluster JOIN unit u ON u.id = n.unit AND u.cluster = c.id
	WHERE n.instance BETWEEN 70 AND 75 GROUP BY 1, 2 ORDER BY 1, 2")" "both|k8s|$(pod 31)
both|libvirt|$(pod 32)
both|slurm|9
c1|k8s|$(pod 30)
c1|slurm|7
k1|slurm|8"

# Deployment -> ReplicaSet -> pod, by controllers
claim "claim kind=Deployment uid=d1 owner=alice at=$T" "claim kind=ReplicaSet uid=r1 owner=bob by=3 controller=d1 at=$T" \
	"claim uid=$(pod 4) owner=bob by=3 controller=r1 at=$T" "claim uid=$(pod 5) owner=bob by=3 controller=unknown at=$T" >/dev/null
ok "pods of controllers come" eval 'start "$(pod 4)" 4 && start "$(pod 5)" 5'
ok "one is the owner's of the Deployment, not of whom its template names" wait_for 30 owned "$(pod 4)" "alice|web|k8s"
ok "one whose origin nobody saw is its namespace's" wait_for 30 owned "$(pod 5)" "web:svc|web|k8s"
claim "claim kind=ReplicaSet uid=x1 by=3 controller=x2 at=$T" "claim kind=ReplicaSet uid=x2 by=3 controller=x1 at=$T" "claim uid=$(pod 6) by=3 controller=x1 at=$T" >/dev/null
start "$(pod 6)" 6
ok "objects in a circle end somewhere" wait_for 30 owned "$(pod 6)" "web:svc|web|k8s"
claim "claim uid=$(pod 7) owner=system:serviceaccount:web:default at=$T" >/dev/null
start "$(pod 7)" 7
ok "a service account is a label" wait_for 30 owned "$(pod 7)" "web:svc|web|k8s"
long=$(printf 'n%.0s' {1..600})
claim "claim uid=$(pod 8) owner=${long}a at=$T" "claim uid=$(pod 9) owner=${long}b at=$T" >/dev/null
start "$(pod 8)" 8 && start "$(pod 9)" 9
ok "long names stay two persons" wait_for 30 eval '[ "$(sql "SELECT count(DISTINCT person) FROM unit WHERE uuid IN ('"'$(pod 8)', '$(pod 9)'"')")" = 2 ]'

verify() { as "$1" "/units/verify?cluster_id=k1&uuid=$2" -o /dev/null -w '%{http_code}' "${@:3}"; }
is "a login means nobody of Kubernetes, without the site's word" "$(verify alice "$(pod 1)")" 403
C="(SELECT id FROM cluster WHERE name = 'k1' AND manager = 'k8s')::smallint"
sql "SELECT k8s_logins('k1', '', '')" >/dev/null
is "with it alice sees her pod" "$(verify alice "$(pod 1)")" 200
is "and that of her Deployment" "$(verify alice "$(pod 4)")" 200
is "but not bob's in the same namespace" "$(verify alice "$(pod 2)")" 403
is "nobody is web:svc" "$(verify web:svc "$(pod 5)")" 400
is "nor root" "$(verify root "$(pod 5)" -H 'X-Ceems-Uid: 0')" 403
sql "SELECT k8s_logins('k1', 'oidc:', '@site')" >/dev/null
is "another prefix, and alice is somebody else" "$(verify alice "$(pod 1)")" 403
claim "claim uid=$(pod 10) owner=oidc:alice@site at=$T" >/dev/null
start "$(pod 10)" 10
ok "a pod of oidc:alice@site" wait_for 30 owned "$(pod 10)" "oidc:alice@site|web|k8s"
is "is alice's" "$(verify alice "$(pod 10)")" 200
claim "claim uid=$(pod 11) owner=system:alice at=$T" >/dev/null
sql "SELECT k8s_logins('k1', 'system:', '')" >/dev/null
start "$(pod 11)" 11
ok "an account of Kubernetes itself" wait_for 30 owned "$(pod 11)" "system:alice|web|k8s"
is "is no login" "$(verify alice "$(pod 11)")" 403
sql "SELECT k8s_logins('k1', '', '')" >/dev/null

# namespaces by the API server's word
sql "SELECT k8s_namespaces($C, '[{\"uid\":\"ns1\",\"name\":\"web\",\"created_s\":$((T - 9000))}]')" >/dev/null
claim "claim uid=$(pod 12) owner=alice at=$T" >/dev/null
start "$(pod 12)" 12
ok "a pod in a namespace that is known by its uid" wait_for 30 owned "$(pod 12)" "alice|web|k8s"
is "is in that one" "$(sql "SELECT external_id FROM project p JOIN unit u ON u.project = p.id WHERE u.uuid = '$(pod 12)'")" ns:ns1
now=$(date +%s)
sql "SELECT k8s_namespaces($C, '[{\"uid\":\"ns2\",\"name\":\"web\",\"created_s\":$now}]')" >/dev/null
claim "claim uid=$(pod 13) owner=eve at=$((now + 1))" >/dev/null
start "$(pod 13)" 13
ok "a namespace of the same name is made again" wait_for 30 owned "$(pod 13)" "eve|web|k8s"
is "which is another project" "$(sql "SELECT external_id FROM project p JOIN unit u ON u.project = p.id WHERE u.uuid IN ('$(pod 12)', '$(pod 13)') ORDER BY 1")" $'ns:ns1\nns:ns2'
claim "claim uid=$(pod 14) owner=eve namespace=new at=$now" >/dev/null
start "$(pod 14)" 14
ok "in a namespace that is not listed yet" wait_for 30 owned "$(pod 14)" "eve|-|k8s"
sql "SELECT k8s_namespaces($C, '[{\"uid\":\"ns2\",\"name\":\"web\",\"created_s\":$now},{\"uid\":\"ns3\",\"name\":\"new\",\"created_s\":$now}]')" >/dev/null
ok "it gets its project when that is" wait_for 30 owned "$(pod 14)" "eve|new|k8s"

# pods as the API server shows them
pods() { sql "SELECT changed, made FROM k8s_pods($C, '[$1]', ${2:-false})"; }
api_pod() { printf '{"uid":"%s","namespace":"web","name":"%s","created_s":%s,"started_s":%s,"phase":"%s","cpus":2,"memory_bytes":1024,"gpus":1%s}' "$(pod "$1")" "p$1" "$now" "$now" "$2" "${3:-}"; }
is "a pod that only the API server shows" "$(pods "$(api_pod 20 Running),$(api_pod 21 Pending)" true)" "0|2"
is "is its namespace's" "$(owner "$(pod 20)")" "web:svc|web|k8s"
is "the same again changes nothing" "$(pods "$(api_pod 20 Running)" true)" "0|0"
is "an annotation that the site trusts" "$(pods "$(api_pod 21 Running ',"owner":"frank"')" true)" "1|0"
is "names the owner" "$(owner "$(pod 21)")" "frank|web|k8s"
is "but not of what was claimed" "$(pods "$(api_pod 13 Running ',"owner":"mallory"')" true; owner "$(pod 13)")" $'1|0\neve|web|k8s'
is "a project by a trusted annotation is a label" "$(pods "$(api_pod 22 Running ',"owner":"eve","project":"web"')" true; sql "SELECT external_id FROM project p JOIN unit u ON u.project = p.id WHERE u.uuid = '$(pod 22)'; SELECT count(*) FROM membership m JOIN project p ON p.id = m.project WHERE p.external_id LIKE 'annotation:%'")" $'0|1\nannotation:web\n0'
# what mirrors a static pod: anybody's pod may have its annotations
static_pod() { printf '{"uid":"0123456789abcdef0123456789abcdef","static":true,"namespace":"%s","name":"%s","created_s":%s,"started_s":%s,"phase":"Running"%s}' "$1" "$2" "$now" "$now" "${3:-}"; }
is "a static pod is its namespace's" "$(pods "$(static_pod web etcd-n1)"; owner 0123456789abcdef0123456789abcdef)" $'0|1\nweb:svc|web|k8s'
is "another pod that says that it is this one's mirror takes and ends nothing" "$(pods "$(static_pod new etcd-n1 ',"owner":"mallory"'),$(static_pod web mine ',"gone":true')"; pods "$(static_pod new mine ',"gone":true')"
	sql "SELECT p.name, u.name, u.ended IS NULL FROM unit u JOIN project p ON p.id = u.project WHERE u.uuid = '0123456789abcdef0123456789abcdef'")" $'0|0\n0|0\nweb|etcd-n1|t'
is "its own ends it" "$(pods "$(static_pod web etcd-n1 ',"gone":true')")" "1|0"
is "one that succeeded has ended" "$(pods "$(api_pod 20 Succeeded ",\"ended_s\":$((now + 5))")"; sql "SELECT state, ended = to_timestamp($((now + 5))) FROM unit WHERE uuid = '$(pod 20)'")" $'1|0\nCOMPLETED|t'
sql "UPDATE unit SET submitted = submitted - interval '1 hour' WHERE known_by = 'k8s'; INSERT INTO k8s_seen SELECT DISTINCT cluster, uuid FROM unit WHERE known_by = 'k8s' AND uuid <> '$(pod 21)' ON CONFLICT DO NOTHING; DELETE FROM k8s_seen WHERE uid = '$(pod 21)'" >/dev/null
is "one that is not in the whole list is gone" "$(sql "SELECT k8s_listed($C, $(date +%s)000); SELECT state, ended IS NOT NULL FROM unit WHERE uuid = '$(pod 21)'")" $'1\nDELETED|t'
is "others run" "$(sql "SELECT ended IS NULL FROM unit WHERE uuid = '$(pod 22)'")" t
ok "all is added up" settle

# days later: claims of creations that were refused are dropped, and no pod loses its owner, which the API server still shows
ended() { api_pod "$1" Succeeded ",\"ended_s\":$2${3:-}"; }
pods "$(ended 12 $((now + 5)))" >/dev/null
is "a pod has ended as its owner's" "$(owner "$(pod 12)")" "alice|web|k8s"
claim "claim uid=$(pod 40) owner=mallory at=$now" "claim kind=Deployment uid=d40 owner=mallory at=$now" >/dev/null
sql "UPDATE unit SET ended = ended - interval '3 days', started = started - interval '4 days' WHERE uuid = '$(pod 12)'; UPDATE k8s_claim SET received = received - interval '3 days'" >/dev/null
claims_of() { sql "SELECT count(*) FROM k8s_claim WHERE uid = '$1'"; }
ok "the claim of a pod that nobody has shown for two days is dropped" wait_for 30 eval '[ "$(claims_of "$(pod 40)")" = 0 ]'
is "that of a Deployment stays, as its pods may come later" "$(claims_of d40)" 1
is "so does that of a pod that runs" "$(claims_of "$(pod 13)")" 1
is "not that of one that ended days ago" "$(claims_of "$(pod 12)")" 0
pods "$(api_pod 13 Running ',"owner":"mallory"'),$(ended 12 $((now - 200000)) ',"owner":"mallory"'),$(api_pod 4 Running)" true >/dev/null
is "a pod that has run for three days is its owner's still" "$(owner "$(pod 13)")" "eve|web|k8s"
is "one of a controller, too" "$(owner "$(pod 4)")" "alice|web|k8s"
is "and one that ended as long ago" "$(owner "$(pod 12)")" "alice|web|k8s"

# a cluster whose API server cannot be asked: the peer's file says who sees a namespace
users() { printf 'users: {lab: [%s], web: [eve]}\n' "$1" >users.new && mv users.new users.yaml; }
users dora
cat >clusters.yaml <<END
clusters:
- {id: k3, manager: k8s, extra_config: {ns_users_list_file: users.yaml, username_prefix: "", people_interval: 1s}}
END
chmod 600 clusters.yaml users.yaml
kill $agg_pid
wait_for 30 is_gone $agg_pid
ok "an aggregator has a file of users" agg_run "$agg_port" "${flags[@]}" --clusters.file="$SCRATCH/clusters.yaml" || tail -n 3 agg.log | sed 's/^/# /'
claim "claim cluster=k3 uid=$(pod 50) owner=alice namespace=lab at=$T" >/dev/null
push "start cluster=k3 node=w3 unit=$(pod 50) instance=80 manager=3 uid=0 started=$T"
ok "a pod there is who created it" wait_for 30 owned "$(pod 50)" "alice|lab|k8s"
sees() { [ "$(as "$1" "/units/verify?cluster_id=k3&uuid=$(pod 50)" -o /dev/null -w '%{http_code}')" = "$2" ]; }
ok "whom the file has for its namespace sees it" wait_for 30 sees dora 200
ok "who created it does" sees alice 200
ok "whom it has for another does not" sees eve 403
users "{"
ok "a file that cannot be read is said" wait_for 30 grep -q 'users.yaml' agg.log
ok "and changes nothing" sees dora 200
users frank
ok "who is put in sees it" wait_for 30 sees frank 200
ok "who is taken out does not any more" sees dora 403
tap_done
