#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool's helpers for servers: the web configuration that it makes is used by a real ceemsd,
# and its checks tell good servers from bad ones.
. "$(dirname "$0")/../tap.sh"
tool=$BUILD/ceems_tool
[ -x "$tool" ] && [ -x "$BUILD/cacct" ] || skip_all "ceems_tool was not built with its libraries"
cd "$SCRATCH" || exit 1
export HOME=$SCRATCH TZ=UTC
unset XDG_CONFIG_HOME CEEMS_API_URL API_URL CEEMS_TOKEN_FILE CEEMS_TSDB_URL

# --- a web configuration, in a folder that was not there
"$tool" config create-web-config --output-dir web --tls --tls.host localhost --tls.host 127.0.0.1 >said 2>err
is "it is made" "$? $(cat err) $(ls web | paste -sd' ')" "0  server.crt server.key web-config.yaml"
password=$(sed -n 's/^password: //p' said)
is "the password is long, and in no file" "${#password} $(grep -rc -- "$password" web | grep -vc ':0$')" "24 0"
is "others cannot read key and hash" "$(stat -c %a web/server.key web/web-config.yaml | paste -sd' ')" "640 640"
if command -v openssl >/dev/null; then
	like "the certificate is for these names, a year long, and no CA" "$(openssl x509 -in web/server.crt -noout -text)" 'DNS:localhost, IP Address:127.0.0.1.*CA:FALSE'
	ok "and not yet near its end" openssl x509 -in web/server.crt -noout -checkend $((364 * 86400)) -out /dev/null
else
	skip "the certificate is for these names" "openssl is not installed"
fi
is "a second one gets another password" "$("$tool" config create-web-config --output-dir two | grep -c "$password")" 0
"$tool" config create-web-config --output-dir web >out 2>err
is "nothing is written over" "$? $(cat out)" "2 "
like "it says so" "$(cat err)" 'web-config.yaml exists already'
is "unless told to" "$("$tool" config create-web-config --output-dir web --tls --tls.host localhost --tls.host 127.0.0.1 --force >said; echo $?)" 0
password=$(sed -n 's/^password: //p' said)
"$tool" config create-web-config --output-dir two --file lb-web.yaml --user grafana >said.lb
is "another name, beside the first" "$? $(ls two | paste -sd' ') $(grep -c '"grafana": "' two/lb-web.yaml) $(head -n 1 said.lb)" "0 lb-web.yaml web-config.yaml 1 two/lb-web.yaml is for --web.config.file"
if have_root; then
	chgrp games two/lb-web.yaml
	"$tool" config create-web-config --output-dir two --file lb-web.yaml --user grafana --force >/dev/null
	is "what is written over keeps its owner and mode" "$(stat -c '%U:%G %a' two/lb-web.yaml)" "root:games 640"
else
	skip "what is written over keeps its owner and mode" "needs root"
fi
"$tool" check web-config web/web-config.yaml >out
is "check web-config is content" "$? $(tail -n 1 out)" "0 1 ok, 0 to look at, 0 wrong"
"$tool" check web-config two/web-config.yaml >out
is "without TLS it says what that means" "$? $(grep -c 'cross the network in clear' out)" "1 1"
cp two/web-config.yaml bad.yaml && echo 'wrong: 1' >>bad.yaml && chmod 640 bad.yaml
"$tool" check web-config bad.yaml nothing.yaml >out
is "what no server takes is wrong" "$? $(grep -c ^fail: out)" "2 2"
echo "not a key" >web/server.key.new && cp web/server.key key && cp web/server.key.new web/server.key
"$tool" check web-config web/web-config.yaml >out
is "a key that is none is found" "$?" 2
cp key web/server.key
if [ -x "$BUILD/ceemsd" ] && command -v curl >/dev/null; then
	port=$(free_port)
	mkdir run
	"$BUILD/ceemsd" --web.listen-address=127.0.0.1:"$port" --web.config.file=web/web-config.yaml --path.rundir="$SCRATCH/run" --security.run-as-user= >ceemsd.log 2>&1 &
	started $!
	get() { curl -s -o /dev/null -w '%{http_code}' --cacert web/server.crt "$@" "https://127.0.0.1:$port/metrics"; }
	wait_for 10 get
	is "a real ceemsd serves with it" "$(get -u "ceems:$password")" 200
	is "to nobody else" "$(get) $(get -u ceems:wrong)" "401 401"
	# what the printed scrape job says to type makes what it asks with
	"$tool" prometheus scrape-config localhost:1 >scrape.yaml
	read -ra typed < <(grep -o 'config create-web-config [^`]*' scrape.yaml)
	"$tool" "${typed[@]}" --output-dir by-scrape >said.scrape
	is "the printed scrape job's account is the one that its comment makes" \
		"$(sed -n 's/^ *username: //p' scrape.yaml) $(sed -n 's/^user: //p' said.scrape)" "prometheus prometheus"
	is "check config asks the program itself" "$("$tool" check config ceemsd >out; echo "$? $(tail -n 1 out)")" "0 1 ok, 0 to look at, 0 wrong"
	echo 'no.such.option: 1' >ceemsd.yaml
	"$tool" check config ceemsd ceemsd.yaml >out
	is "and gives its words" "$? $(grep -c 'ceemsd.yaml:1' out)" "2 1"
else
	skip "a real ceemsd serves with it" "ceemsd or curl is not here"
fi

# --- servers
mkdir api
"$BUILD/api_host" api >port.txt &
started $!
wait_for 5 test -s port.txt
U=http://127.0.0.1:$(cat port.txt)
(umask 077 && echo t0ken >token)
export CEEMS_TOKEN_FILE=$SCRATCH/token
answers() { printf '%s\n%s\n' "$2" "$3" >"api/$1"; }
answers health 200 ok
answers units 200 '{"status":"success","data":[],"as_of":"2020-01-01T00:00:00Z"}'
is "check health needs no credentials" "$("$tool" check health "$U" | tail -n 1; "$tool" check health http://127.0.0.1:1 >/dev/null; echo $?)" "1 ok, 0 to look at, 0 wrong
2"
"$tool" check api --url "$U" >out
is "an API that answers strangers is wrong, and its old sums are seen" "$? $(grep -c 'answers requests without credentials' out) $(grep -c '^warn: its sums are as of 2020' out)" "2 1 1"
answers units 401 '{"status":"error","error":"who?"}'
"$tool" check api --url "$U" >out
is "one that does not know us is wrong" "$? $(grep -c 'does not know who you are: who?' out) $(grep -c 'a request without credentials is refused' out)" "2 1 1"
rm api/health
"$tool" check api --url "$U" >out
is "one without health as well" "$?" 2
"$tool" check lb --url http://127.0.0.1:9 >out
is "nobody there" "$? $(grep -c 'no answer from the server' out)" "2 1"
answers health 200 ok
answers labels 200 '{"status":"success","data":[]}'
answers query 401 '{"status":"error","error":"who?"}'
"$tool" check lb --url "$U" --around "$U" --around http://127.0.0.1:9 >out
is "a server that can be read past the load balancer is told" \
	"$? $(grep -c "^fail: $U can be read from here" out) $(grep -c '^ok: http://127.0.0.1:9 cannot be read from here' out)" "2 1 1"
is "without a name it asks for one" "$("$tool" check lb >out 2>&1; echo "$? $(grep -c -- --url out)")" "3 1"
is "ring is ceems-ringdump" "$("$tool" ring -s "$SCRATCH/no-ring" 2>&1; echo $?)" "$("$BUILD/ceems-ringdump" -s "$SCRATCH/no-ring" 2>&1; echo $?)"
for bad in "check config" "check config sh" "check web-config" "config create-web-config x" "config create-web-config --no-basic-auth" "config create-web-config --user a:b" "config create-web-config --file ../x" \
	"config create-web-config --tls.validity 1s" "check api x" "check lb --nothing"; do
	# shellcheck disable=SC2086
	"$tool" $bad >out 2>err
	is "exit status 3 and one line: $bad" "$? $(cat out) $(grep -c . err)" "3  1"
done
tap_done
