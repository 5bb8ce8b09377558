#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# User A asks for user B: each endpoint of the API with each combination of two of its parameters
# that say of whom ("api_matrix.sh all": of any two, and of three that say it), whose values name B, B's project, units, cluster or all there is. Whoever asks is
# alice, dave (who was a member of phys), carol (whose number is alice's on another cluster) or
# nobody's; in an answer there is nothing of anybody else.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/api.sh"
need_api python3
api_database "as it is"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >"$SCRATCH/web.yaml"
chmod 600 "$SCRATCH/web.yaml"
ok "the aggregator serves" agg_start --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss --db.threads=2
cat >"$SCRATCH/ask.py" <<'END'
import base64, http.client, itertools, json, re, sys
port, depth, wide = int(sys.argv[1]), *((3, 3) if sys.argv[2] == 'all' else (2, 2))
basic = 'Basic ' + base64.b64encode(b'lb:correct horse').decode()
link = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
def ask(user, target):
    link.request('GET', '/api/v1' + target, headers={'Authorization': basic, 'X-Grafana-User': user})
    a = link.getresponse()
    return a.status, a.read().decode('utf-8', 'replace')
# what is another's: of whom an answer may not hold a trace. Rows have a unit's number (id), uuid,
# user, project and cluster; sums have only what they sum.
others = {
    'alice': (r'bob|carol|dave|chem|beta', {2, 3, 4, 6, 7, 13}),
    'dave': (r'bob|carol|alice|chem|phys|beta', set(range(1, 14))),
    'carol': (r'bob|alice|dave', {1, 2, 5, 7, 8, 9, 10, 11, 12, 13}),
    'stranger': (r'bob|carol|dave|alice|chem|phys|alpha|beta', set(range(1, 14))),
}
values = {
    'user': ['bob', 'carol', 'alice&user=bob', '%25', ''], 'project': ['chem', 'phys', 'phys&project=chem'],
    'cluster_id': ['beta', 'alpha', 'alpha&cluster_id=beta'], 'resource_manager': ['slurm', 'k8s'], 'uuid': ['102', '103', '101&uuid=102', '50', '300'],
    'from': ['0', '2024-01-01T00:00:00Z'], 'to': ['now', '2024-02-01T00:00:00Z'], 'running': ['true', 'false'],
    'state': ['RUNNING', 'COMPLETED'], 'role': ['admin'], 'field': ['username', 'project', 'uuid&field=username'],
    'limit': ['1000'], 'most': ['1', '1000'], 'latest': ['9'], 'cursor': ['MTAw'], 'timezone': ['UTC'], 'resolution': ['hour'], 'groupby': ['username', 'project&groupby=cluster_id'], 'zone': ['FR'], 'provider': ['rte'],
}
telling = ('user', 'project', 'cluster_id', 'uuid', 'from', 'to', 'running', 'state', 'role') # of whom
doc = json.loads(ask('alice', '/openapi.json')[1])
asked = bad = 0
codes = {}
for path, what in sorted(doc['paths'].items()):
    if path.startswith('/demo') or path == '/openapi.json':
        continue
    names = [p['name'] for p in what['get'].get('parameters', []) if p.get('in') == 'query']
    paths = [path]
    if '{id}' in path:
        paths = [path.replace('{id}', str(i)) for i in (2, 3, 4, 13)]
    elif '{uuid}' in path:
        paths = [path.replace('{cluster}', c).replace('{uuid}', u).replace('{run}', '0')
                 for c, u in (('alpha', '102'), ('alpha', '103'), ('beta', '101'), ('alpha', '50'), ('alpha', '300'))]
    most = 1 if '{' in path or path.endswith('/admin') else depth
    for n in range(most + 1):
        for some in itertools.combinations([k for k in names if n < wide or k in telling], n):
            for chosen in itertools.product(*[values[k] for k in some]):
                query = '&'.join(k + '=' + v for k, v in zip(some, chosen))
                for p in paths:
                    for user in ('alice',) if n == 3 else others:
                        status, body = ask(user, p + '?' + query)
                        asked += 1
                        codes[status] = codes.get(status, 0) + 1
                        words, units = others[user]
                        why = ''
                        if status not in (200, 400, 403, 404):
                            why = 'status %d' % status
                        elif path.endswith('/admin') or path == '/usage/projects':
                            why = '' if status in (403, 400) else 'status %d' % status
                        elif path == '/units/verify':
                            # carol's are 103 (alpha), 101 and 106 (beta); 101 is alice's
                            mine = user == 'carol' and re.fullmatch(r'uuid=103(&.*)?', query) and 'to=2024' not in query and ('cluster_id=beta' not in query or 'cluster_id=alpha' in query)
                            why = 'is verified' if status == 200 and not mine else ''
                        elif status == 200:
                            answer = json.loads(body)
                            answer.pop('error', None)
                            for row in answer.get('data') or []:
                                if isinstance(row, dict) and path.startswith('/units') and row.get('id') in units:
                                    why = 'unit %s' % row['id']
                            found = re.search(words, json.dumps(answer))
                            why = why or (found and found.group(0)) or ''
                        if why:
                            bad += 1
                            if bad <= 8:
                                print('# %s %s?%s: %s' % (user, p, query, why))
print('%d asked, %d bad, %s' % (asked, bad, codes))
sys.exit(bad > 0)
END
out=$(python3 "$SCRATCH/ask.py" "$port" "${1:-}")
rc=$?
echo "$out" | grep '^#'
echo "# ${out##*$'\n'}"
is "nobody gets anything of another" "$rc" 0
ok "many were asked" [ "$(sed -n 's/^\([0-9]*\) asked.*/\1/p' <<<"$out")" -gt "$([ "${1:-}" = all ] && echo 10000 || echo 1000)" ]
is "nothing was an error of the program or of SQL" "$(grep -cE 'level=(error|warn).*api: ' "$SCRATCH/log")" 0
agg_stop
tap_done
