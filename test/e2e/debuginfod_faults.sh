#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers that ceems-courier asks for debug files and that misbehave: what comes into the folder is whole or nothing,
# bounded, and asked for again when that makes sense. What a real debuginfod does is in debuginfod.sh.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
cd "$SCRATCH" || exit 1
folder=$SCRATCH/debug
mkdir "$folder"
serve() { # PORT [CERT KEY]
	python3 "$TOP/test/fake/debug_host.py" "$1" asked.log "${@:2}" >"host.$1" 2>&1 &
	started $!
	wait_for 30 grep -q ready "host.$1"
}
port=$(free_port)
serve "$port" || skip_all "the stand-in does not start: $(tail -n 1 "host.$port")"
URL=http://127.0.0.1:$port
id_of() { echo "${1}00112233445566${2:-00}"; } # BYTE [BYTE]: what the server does, which one
file() { local i; i=$(id_of "$@"); echo "$folder/.build-id/${i:0:2}/${i:2}.debug"; }
want() { "$BUILD/debug_put" "$folder/wanted" wanted "$@"; }
once() { timeout 100 "$BUILD/ceems-courier" --once --debuginfod.folder="$folder" --debuginfod.timeout=2s "${@---debuginfod.url=$URL}" >once.log 2>&1; }
asked() { grep -c "/buildid/$(id_of "$@")/" asked.log; }
left() { find "$folder" -name '*.new' | wc -l; }

for b in a0 a1; do want "$(id_of $b)"; done
ok "files are fetched" once
is "with a length, and in chunks" "$(stat -c %s "$(file a0)" "$(file a1)" | xargs)" "4100 4100"
is "for nobody else to read" "$(stat -c %a "$(file a0)" "$folder/.build-id" | xargs)" "600 700"
want "$(id_of a0)"
"$BUILD/debug_put" "$folder/wanted" used "$(id_of a1)" "$(id_of a0 77)"
ok "one that is there is no failure" once
is "it is not fetched again, nor one that is only said to be used" "$(asked a0) $(asked a0 77)" "1 0"
touch -d '2 days ago' "$(file a0)"
want "$(id_of a0)"
once
is "one that did not help is, a day later" "$(asked a0)" 2
touch -d '2 days ago' "$(file a0)"
"$BUILD/debug_put" "$folder/wanted" used "$(id_of a0)"
once
ok "one that is used is young again" [ -n "$(find "$(file a0)" -mmin -60)" ]

for b in b0 b1 b2; do want "$(id_of $b)"; done
ok "what a server does not have, and what is too long, is no failure" once --debuginfod.url="$URL" --debuginfod.max-file=1MiB
is "an empty file says so" "$(stat -c %s "$(file b0)" "$(file b1)" "$(file b2)" | xargs)" "0 0 0"
like "which is said of one that is too long" "$(cat once.log)" "$(id_of b1)/debuginfo: longer than --debuginfod.max-file: not fetched"
for b in b0 b1 b2; do want "$(id_of $b)"; done
once
is "for a day nobody is asked for it again" "$(asked b0) $(asked b1) $(asked b2)" "1 1 1"
touch -d '2 days ago' "$(file b0)"
want "$(id_of b0)"
once
is "but afterwards" "$(asked b0)" 2

for b in c0 c1 c2 c3 c4 c5 c6 c7 c8 d1 d2 d3; do
	want "$(id_of $b)"
	once && echo "$b: status 0"
	[ ! -e "$(file $b)" ] || echo "$b: $(file $b)"
	grep -q 'debuginfod: .*tried again in' once.log || echo "$b: $(cat once.log)"
done >badness
is "no answer, half of one, one without an end, a page, nothing, an error, endless headers, a redirect elsewhere or in a ring is a failure of the server" "$(cat badness)" ""
is "nothing of them is left" "$(left)" 0
is "nobody else was asked" "$(grep -c other asked.log)" 0
want "$(id_of d0)"
ok "a redirect on the same server is followed" once
is "to its file" "$(stat -c %s "$(file d0)")" 4100

want "$(id_of e0)"
once
once
is "a server that is busy is asked again" "$(asked e0)" 2
"$BUILD/debug_put" "$folder/wanted" used "$(id_of a0)"
rm -rf "$folder/wanted"
dead=$(free_port)
want "$(id_of a0 02)" "$(id_of a0 03)"
once --debuginfod.url="http://127.0.0.1:$dead"
is "a server that is not there has nothing forgotten" "$(ls "$folder/.build-id/a0" | wc -l)" 1
ok "another one is asked beside it, which is a failure still" eval '! once --debuginfod.url="http://127.0.0.1:$dead" --debuginfod.url="$URL"'
is "and has both" "$(stat -c %s "$(file a0 02)" "$(file a0 03)" | xargs)" "4100 4100"
want "$(id_of c0 04)" "$(id_of a0 05)"
once --debuginfod.url="$URL"
is "after one that hangs the server is left alone" "$(asked a0 05)" 0
"$BUILD/ceems-courier" --debuginfod.folder="$folder" --debuginfod.timeout=2s --debuginfod.url="$URL" >courier.log 2>&1 &
courier=$!
started $courier
ok "then the next file comes" wait_for 30 test -s "$(file a0 05)"
want "$(id_of c6 06)" "$(id_of a0 07)"
ok "one that runs on gets over a failure" wait_for 30 test -s "$(file a0 07)"
ok "and says so" wait_for 30 grep -q 'debuginfod: works again' courier.log
want "$(id_of c0 08)"
asked_for() { [ "$(asked "$@")" -gt 0 ]; }
wait_for 30 asked_for c0 08
kill $courier
ok "it ends while a server hangs" wait_for 20 is_gone $courier
is "nothing is left unfinished then" "$(left)" 0
rm -rf "$folder/wanted"
mkdir -p "$(file a0 30)"
want "$(id_of a0 30)" "$(id_of a0 31)"
ok "a file that cannot get its name is given up" once
is "and the next one comes" "$(stat -c %s "$(file a0 31)") $(left)" "4100 0"
rm -r "$(file a0 30)"

if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>openssl.log; then
	tls=$(free_port)
	serve "$tls" cert.pem key.pem
	want "$(id_of a0 09)"
	ok "a server that nobody vouches for is not asked" eval '! once --debuginfod.url="https://127.0.0.1:$tls"'
	is "for anything" "$(asked a0 09)" 0
	ok "with its certificate it is" once --debuginfod.url="https://127.0.0.1:$tls" --debuginfod.ca-file=cert.pem
	is "and has the file" "$(stat -c %s "$(file a0 09)")" 4100
else
	skip "a server that nobody vouches for is not asked" "no openssl"
fi

for i in 1 2 3 4; do touch -d "$i hours ago" "$(file a0 0$((i + 1)))" 2>/dev/null; done
rm -rf "$folder/.build-id/a1" "$folder/.build-id/b"? "$folder/.build-id/d0"
want "$(id_of a0 10)"
once --debuginfod.url="$URL" --debuginfod.max-bytes=40KiB --debuginfod.max-file=8KiB
ok "where there is no more room those not used for longest go" [ ! -e "$(file a0 05)" -a -s "$(file a0 10)" ]
ok "until the rest fits" [ "$(find "$folder/.build-id" -type f -printf '%b\n' | awk '{ n += $1 } END { print n / 2 }')" -le 40 ]
like "a file that may be longer than all is a mistake" "$("$BUILD/ceems-courier" --check-config --debuginfod.url="$URL" --debuginfod.max-file=2GiB 2>&1)" "max-file is more than --debuginfod.max-bytes"
like "so is a URL that is none" "$("$BUILD/ceems-courier" --check-config --debuginfod.url="file:///usr/lib/debug" 2>&1)" "debuginfod.url: "

if have_root && mkdir full && mount -t tmpfs -o size=1m none full; then
	test_cleanup() { umount -l "$SCRATCH/full" 2>/dev/null; }
	folder=$SCRATCH/full
	want "$(id_of a0 20)" "$(id_of a0 21)"
	dd if=/dev/zero of=full/others bs=4k 2>/dev/null
	ok "full: nothing is fetched, and that is a failure" eval '! once'
	is "full: the server is not even asked" "$(asked a0 20)" 0
	like "full: it is said" "$(cat once.log)" "full: No space left on device: no debug files are fetched"
	truncate -s 500K full/others
	ok "when there is room again they come" once
	is "both" "$(stat -c %s "$(file a0 20)" "$(file a0 21)" | xargs)" "4100 4100"
	want "$(id_of b1 22)"
	once
	is "full: a file that does not fit is not there, nor a part of it" "$(ls "$(file b1 22)" 2>/dev/null) $(left)" " 0"
else
	skip "full: nothing is fetched, and that is a failure" "no tmpfs can be mounted here"
fi
tap_done
