#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From the spool to an aggregator with the real ceems-courier: what is sent when, what each
# answer leads to, and that no record is lost or blocks others, whatever dies.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
[ -x "$BUILD/ingest_host" ] || skip_all "ingest_host is not built: no libmicrohttpd"
cd "$SCRATCH" || exit 1
PROOF=(--aggregator.token-file="$SCRATCH/token")
(umask 077; echo s3cret-token >token)
mkdir -p hosts

# host NAME [ingest_host's options]: sets PORT; its control file and log have its name
host() {
	local name=$1; shift
	mkfifo "hosts/$name.in"
	"$BUILD/ingest_host" --control "$SCRATCH/$name.control" --log "$SCRATCH/$name.log" "$@" <"hosts/$name.in" >"hosts/$name.out" 2>&1 &
	eval "HOST_$name=$!"
	started $!
	eval "exec {IN_$name}>hosts/$name.in"
	wait_for 10 grep -q ^ready "hosts/$name.out" || { sed 's/^/# /' "hosts/$name.out"; return 1; }
	PORT=$(sed -n 's/^ready //p' "hosts/$name.out")
}
tell() { echo "$2" >"$1.control.new"; mv "$1.control.new" "$1.control"; }
put() { "$BUILD/spool_put" "$@"; }
courier() { timeout 200 "$BUILD/ceems-courier" --log.level=debug "${PROOF[@]}" "$@"; }
once() { courier --once "$@" >>once.log 2>&1; }
# run NAME OPTION...: in the background, PID
run() {
	local name=$1; shift
	"$BUILD/ceems-courier" --log.level=debug "${PROOF[@]}" "$@" >>"$name.courier" 2>&1 </dev/null &
	PID=$!
	started "$PID"
}
end() { kill "$PID" 2>/dev/null; wait "$PID" 2>/dev/null; }
taken() { grep -v '^#' "$1.log" 2>/dev/null; }
names() { seq -f "$1%06.0f" "${2:-1}" "$3"; }
has() { [ "$(taken "$1" | sort -u | wc -l)" -ge "$2" ]; }

# --- what is good
host a --token s3cret-token; A=http://127.0.0.1:$PORT
put s1 final one- 5
ok "records are sent" once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
is "each once, in order" "$(taken a)" "$(names one- 1 5)"
ok "again there is nothing to send" once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
is "none was sent twice" "$(taken a | wc -l)" 5
like "the connection is closed after a batch" "$(grep '^#' a.log)" 'records=5 .* connection=close'
put s2 job two- 3; put s3 interval three- 3
ok "two spools, a base path with a slash" once --aggregator.url="$A/" --ship.spool="$SCRATCH/s2" --ship.spool="$SCRATCH/s3"
is "both are sent" "$(taken a | tail -6 | sort)" "$(names three- 1 3; names two- 1 3)"
mkdir "$SCRATCH/none"
ok "a spool without a record yet is no failure" once --aggregator.url="$A" --ship.spool="$SCRATCH/none"
ok "a folder that is not there is one" bash -c "! '$BUILD/ceems-courier' --once --aggregator.url='$A' --ship.spool='$SCRATCH/nobe' >'$SCRATCH/typo' 2>&1"
like "which is said" "$(cat "$SCRATCH/typo")" '--ship.spool=.*/nobe: No such file or directory \(is it spelt right\?\)'
like "and by --check-config, as a warning" "$("$BUILD/ceems-courier" --check-config --aggregator.url="$A" --ship.spool="$SCRATCH/nobe" 2>&1)" 'warning: --ship.spool=.*/nobe: No such file'
put big interval big- 30000 20
ok "more than a batch holds" once --aggregator.url="$A" --ship.spool="$SCRATCH/big"
is "all are sent, each once" "$(taken a | grep -c '^big-') $(taken a | grep '^big-' | sort -u | wc -l)" "30000 30000"
put noise final noise- 5 900000
ok "what does not compress goes in smaller batches" once --aggregator.url="$A" --ship.spool="$SCRATCH/noise"
is "all five" "$(taken a | grep -c '^noise-')" 5
put torn final torn- 3; truncate -s -20 torn/*.seg; put torn final after- 2
ok "a spool whose last record was torn, and one that goes on behind it" once --aggregator.url="$A" --ship.spool="$SCRATCH/torn"
is "all but the torn one" "$(taken a | tail -4)" "$(names torn- 1 2; names after- 1 2)"

# --- refusals that are about records
tell a "refuse 000003"
put s1 final refused- 5
ok "refused records are done with" once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
like "they are logged with the reason" "$(cat once.log)" 'record 8 \(type 19\) is refused: too old'
tell a ok
once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
is "and not sent again" "$(taken a | grep -c '^refused-')" 4
tell a "poison 000007"
put s1 final poison- 20
ok "one record that makes no sense does not stop the rest" once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
is "all others arrive, each once" "$(taken a | grep '^poison-')" "$(names poison- 1 20 | grep -v 000007)"
is "it is set aside" "$(tr -c 'a-z0-9-' '\n' <s1/set-aside | grep poison)" poison-000007
is "readable by us alone" "$(stat -c %a s1/set-aside)" 600
like "which is said" "$(cat once.log)" 'record 17 of .*/s1 is taken by no aggregator: .*HTTP status 400: a record makes no sense: set aside'
tell a "longer 20000"
put s4 final longer- 200 500
ok "413 halves the batch" once --aggregator.url="$A" --ship.spool="$SCRATCH/s4"
is "all arrive, each once" "$(taken a | grep '^longer-')" "$(names longer- 1 200)"
tell a "poison row"
put row interval row- 40
once --aggregator.url="$A" --ship.spool="$SCRATCH/row"
aside=$(tr -c 'a-z0-9-' '\n' <row/set-aside | grep -c row-)
is "when it takes nothing at all, only some are set aside before it is left alone" "$aside" 17
truncate -s 4M row/set-aside
once --aggregator.url="$A" --ship.spool="$SCRATCH/row"
is "what is set aside is bounded" "$(stat -c %s row/set-aside)" 4194304
like "what finds no room is given up, and said" "$(cat once.log)" 'is taken by no aggregator: .*: given up'
tell a ok
once --aggregator.url="$A" --ship.spool="$SCRATCH/row"
is "the rest is sent when it takes records again" "$(taken a | grep -c '^row-')" $((40 - 34))

tell a old
put s1 final clock- 5
: >once.log
ok "an aggregator that does not know the clocks of the sender takes the rest" once --aggregator.url="$A" --ship.spool="$SCRATCH/s1"
is "all of it, each once" "$(taken a | grep '^clock-')" "$(names clock- 1 5)"
is "and nothing is said" "$(grep -c 'refused:' once.log)" 0
tell a ok

# --- answers that are about the server: nothing leaves the spool
put s5 final kept- 3
for bad in "status 500" "status 503" "status 429" "status 401" "status 403" "status 404" "status 405" "status 418" "status 204" cut half html "redirect $A/" "slow 9000"; do
	tell a "$bad"
	: >bad.log
	courier --once --aggregator.timeout=4s --aggregator.url="$A" --ship.spool="$SCRATCH/s5" >bad.log 2>&1 && echo "# $bad: status 0"
	grep -q 'tried again in' bad.log || echo "# $bad: $(cat bad.log)"
	[ -e s5/cursor ] && echo "# $bad: acknowledged"
	case $bad in
	*401 | *403) grep -q 'does not accept our records' bad.log || echo "# $bad: not said" ;;
	*404 | *405 | html | redirect* | half) grep -qE 'not the answer of an aggregator' bad.log || [ "${bad#status }" != "$bad" ] || echo "# $bad: not said" ;;
	esac
done >badness
is "no other answer makes a record leave the spool" "$(cat badness)" ""
# the one that answered half has taken them, and the slow one does in the end
is "twice they were taken all the same" "$(wait_for 10 eval '[ "$(taken a | grep -c ^kept-)" = 6 ]'; taken a | grep -c '^kept-')" 6
cp a.log before.log; tell a ok
once --aggregator.url="$A" --ship.spool="$SCRATCH/s5"
is "and sent once more, since nobody had said so" "$(tail -n +$(($(wc -l <before.log) + 1)) a.log | grep -v '^#')" "$(names kept- 1 3)"
put s5 final port- 1
ok "nobody listens: kept" eval '! once --aggregator.url=http://127.0.0.1:1 --ship.spool="$SCRATCH/s5"'
ok "a name that does not exist: kept" eval '! once --aggregator.url=http://aggregator.invalid:9020 --ship.spool="$SCRATCH/s5"'
once --aggregator.url="$A" --ship.spool="$SCRATCH/s5"
is "it arrives in the end" "$(taken a | grep -c '^port-')" 1

# --- two aggregators
host b --token s3cret-token; B=http://127.0.0.1:$PORT
tell a cut
put s6 final fail- 4
ok "the second is asked when the first is gone" once --aggregator.url="$A" --aggregator.url="$B" --ship.spool="$SCRATCH/s6"
is "and takes them" "$(taken b)" "$(names fail- 1 4)"
tell a "status 503 30"
run two --aggregator.url="$A" --aggregator.url="$B" --ship.spool="$SCRATCH/s6"
for i in 1 2 3; do put s6 final "stick$i-" 1; wait_for 10 grep -q "^stick$i-" b.log; done
is "it stays with who answers" "$(grep -c '^stick' b.log) $(grep -c 'number 2 answers' two.courier)" "3 1"
tell a ok; tell b cut
put s6 final back- 1
ok "and comes back when that one goes" wait_for 20 grep -q '^back-' a.log
end

# --- time
tell a ok
now=$(date +%s%3N)
run time --aggregator.url="$A" --ship.spool="$SCRATCH/s7" --ship.interval=1h
put s7 interval slot- 2
sleep 2.5
is "interval records wait for their moment" "$(taken a | grep -c '^slot-')" 0
now=$(date +%s%3N)
put s7 final atonce- 1
wait_for 10 grep -q '^atonce-' a.log
took=$(($(date +%s%3N) - now))
ok "a final one goes at once, not in an hour ($took ms)" test "$took" -lt 30000
is "and takes with it what waits before it" "$(taken a | grep -c '^slot-')" 2
end
tell a "status 500"
run retry --aggregator.url="$A" --ship.spool="$SCRATCH/s8"
put s8 final retry- 2
wait_for 10 grep -q 'tried again' retry.courier
tell a ok
ok "what failed is tried again" wait_for 20 grep -q '^retry-000002' a.log
end
is "once is enough" "$(taken a | grep -c '^retry-')" 2

# --- a folder that goes and comes again
tell a ok
put s13 final before- 1
run anew --aggregator.url="$A" --ship.spool="$SCRATCH/s13"
ok "a spool is read" wait_for 10 grep -q '^before-' a.log
rm -rf "$SCRATCH/s13"
put s13 final after- 2
ok "one that was removed and made anew is, too" wait_for 20 grep -q '^after-000002' a.log
end
is "each of its records once" "$(taken a | grep -c '^after-')" 2

# --- who dies
# killed between the answer that never came and the acknowledgement
tell a "slow 5000"
put s9 final killed- 3
waits() { [ "$(grep -c '^# waits' a.log)" -gt "$1" ]; }
were=$(grep -c '^# waits' a.log)
run killed --aggregator.url="$A" --ship.spool="$SCRATCH/s9"
wait_for 10 waits "$were"; kill -9 "$PID"; wait "$PID" 2>/dev/null
wait_for 10 grep -q '^killed-000003' a.log
tell a ok
once --aggregator.url="$A" --ship.spool="$SCRATCH/s9"
is "a courier killed before it heard sends again: twice told, never lost" "$(taken a | grep '^killed-' | sort | uniq -c | awk '{ print $1, $2 }')" \
	"$(names killed- 1 3 | sed 's/^/2 /')"
tell a lose
put s9 final lost- 2
once --aggregator.url="$A" --ship.spool="$SCRATCH/s9"
tell a ok
once --aggregator.url="$A" --ship.spool="$SCRATCH/s9"
is "an answer that is lost: the same" "$(taken a | grep -c '^lost-')" 4
# kill -9 again and again while records come
tell a "slow 30"
(for i in $(seq 30); do put s10 final "storm$i-" 10; sleep 0.05; done) & feeder=$!
for _ in $(seq 8); do
	run storm --aggregator.url="$A" --ship.spool="$SCRATCH/s10"
	sleep 0.3; kill -9 "$PID"; wait "$PID" 2>/dev/null
done
wait $feeder
tell a ok
ok "after many deaths the rest is sent" once --aggregator.url="$A" --ship.spool="$SCRATCH/s10"
is "of 300 records none is missing" "$(taken a | grep '^storm' | sort -u | wc -l)" 300
is "a second courier keeps its hands off" "$(put s10 final has- 1; run one --aggregator.url="$A" --ship.spool="$SCRATCH/s10"; wait_for 10 grep -q '^has-' a.log; courier --once --aggregator.url="$A" --ship.spool="$SCRATCH/s10" 2>&1 | grep -c 'nothing is sent from it'; end)" 1

# --- a full disk under the cursor
if have_root && mkdir full && mount -t tmpfs -o size=256k,mode=700 tmpfs full 2>/dev/null; then
	test_cleanup() { umount "$SCRATCH/full" 2>/dev/null; }
	put full/s final full- 3
	cat /dev/zero >full/fill 2>/dev/null
	once --aggregator.url="$A" --ship.spool="$SCRATCH/full/s"
	is "a full disk does not stop the sending" "$(taken a | grep '^full-' | sort -u | wc -l)" 3
	rm full/fill
	once --aggregator.url="$A" --ship.spool="$SCRATCH/full/s"
	n=$(taken a | grep -c '^full-')
	once --aggregator.url="$A" --ship.spool="$SCRATCH/full/s"
	is "with room again it is marked, and not sent again" "$(taken a | grep -c '^full-')" "$n"
	umount full
else
	skip "a full disk does not stop the sending" "needs root and a tmpfs"
fi

# --- who we are
put s11 final who- 1
(umask 077; echo wrong >bad-token)
PROOF=(--aggregator.token-file="$SCRATCH/bad-token")
ok "a wrong token: kept" eval '! once --aggregator.url="$A" --ship.spool="$SCRATCH/s11"'
chmod 644 bad-token
like "a token that all can read is refused" "$(courier --once --aggregator.url="$A" --ship.spool="$SCRATCH/s11" 2>&1)" 'bad-token: holds secrets and has mode 0644'
PROOF=(--aggregator.token-file="$SCRATCH/token")
like "a token does not travel in the clear" "$(courier --check-config --aggregator.url=http://10.0.0.1:9020 2>&1)" 'not over http to another host'
like "nonsense for a URL is refused" "$(courier --check-config --aggregator.url=ftp://x 2>&1)" '"ftp://x" must begin with http:// or https://'
like "half a certificate is refused" "$(courier --check-config --aggregator.url="$A" --aggregator.cert-file=x 2>&1)" 'both or none'
if command -v openssl >/dev/null; then
	ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null; }
	cert() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
		openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.pem" -extfile <(printf 'subjectAltName=DNS:localhost\nextendedKeyUsage=%s\n' "$3") 2>/dev/null; }
	ca root; ca other; cert server root serverAuth; cert node root clientAuth; cert stranger other clientAuth
	chmod 600 ./*.key
	host tls --cert server.pem --key server.key --ca root.pem; T=https://localhost:$PORT
	PROOF=(--aggregator.cert-file="$SCRATCH/node.pem" --aggregator.key-file="$SCRATCH/node.key")
	ok "a server of another CA: kept" eval '! once --aggregator.ca-file="$SCRATCH/other.pem" --aggregator.url="$T" --ship.spool="$SCRATCH/s11"'
	ok "a server of the system's unknown: kept" eval '! once --aggregator.url="$T" --ship.spool="$SCRATCH/s11"'
	ok "a server of another name: kept" eval '! once --aggregator.ca-file="$SCRATCH/root.pem" --aggregator.url="https://127.0.0.1:$PORT" --ship.spool="$SCRATCH/s11"'
	PROOF=(--aggregator.cert-file="$SCRATCH/stranger.pem" --aggregator.key-file="$SCRATCH/stranger.key")
	ok "a certificate of nobody's: kept" eval '! once --aggregator.ca-file="$SCRATCH/root.pem" --aggregator.url="$T" --ship.spool="$SCRATCH/s11"'
	PROOF=(--aggregator.token-file="$SCRATCH/token")
	ok "what is no HTTP: kept" eval '! once --aggregator.url="http://localhost:$PORT" --ship.spool="$SCRATCH/s11"'
	is "nothing of it arrived" "$(taken tls)" ""
	PROOF=(--aggregator.cert-file="$SCRATCH/node.pem" --aggregator.key-file="$SCRATCH/node.key")
	ok "our certificate is shown and taken" once --aggregator.ca-file="$SCRATCH/root.pem" --aggregator.url="$T" --ship.spool="$SCRATCH/s11"
	is "it arrived" "$(taken tls)" who-000001
else
	skip "TLS" "openssl is not installed"
fi
if have_munge "$BUILD/ceems-courier"; then
	munge_start
	host m --munge "$MUNGE_SOCKET"; M=http://127.0.0.1:$PORT
	PROOF=(--aggregator.munge-socket="$MUNGE_SOCKET")
	put s12 final munge- 2
	ok "MUNGE says who sends" once --aggregator.url="$M" --ship.spool="$SCRATCH/s12"
	like "which uid, of which body" "$(cat m.log)" 'uid=0 '
	put s12 final munge2- 2
	tell m "slow 1"
	ok "each body has a credential of its own" once --aggregator.url="$M" --ship.spool="$SCRATCH/s12"
	PROOF=(--aggregator.munge-socket="$SCRATCH/munge/gone")
	put s12 final munge3- 1
	ok "no munged: kept" eval '! once --aggregator.url="$M" --ship.spool="$SCRATCH/s12"'
	PROOF=(--aggregator.munge-socket="$MUNGE_SOCKET")
	ok "then it is sent" once --aggregator.url="$M" --ship.spool="$SCRATCH/s12"
	is "all of them" "$(taken m | wc -l)" 5
else
	skip "MUNGE says who sends" "needs root, munged and libmunge"
fi

# --- a file's size has a limit: the cursor cannot be written, nothing dies of it, nothing is lost
PROOF=(--aggregator.token-file="$SCRATCH/token")
put limit final limit- 3
(ulimit -f 0; courier --once --aggregator.url="$A" --ship.spool="$SCRATCH/limit" 2>&1; echo "status $?") | cat >limit.out
like "a courier at the limit of a file's size ends by itself" "$(tail -1 limit.out)" '^status [01]$'
is "it has sent what there is" "$(taken a | grep '^limit-')" "$(names limit- 1 3)"
ok "and says what it could not write" grep -q 'No space left on device' limit.out
ok "without the limit it goes on" once --aggregator.url="$A" --ship.spool="$SCRATCH/limit"
is "nothing is lost" "$(taken a | grep '^limit-' | sort -u)" "$(names limit- 1 3)"

# --- before a node goes down
flush() { courier --flush "$@" 2>>once.log; }
put flush interval flush- 2000; put flush final last- 2
cat >ceemsd.yaml <<-END
	collector:
	  cpu: true
	  netdev: {device-include: [eth0, "ib.*"], other: {deeper: [1, {x: y}]}}
	cluster: alpha
	aggregator:
	  url: [$A]
	  token-file: $SCRATCH/token
	reports:
	  enabled: true
	  spool: $SCRATCH/flush
END
is "what ceemsd left is sent, by its configuration" "$(timeout 200 "$BUILD/ceems-courier" --flush --config.file=ceemsd.yaml 2>>once.log; echo "$?")" "ceems-courier: 2002 records sent, none left
0"
is "all of it" "$(taken a | grep -cE '^(flush|last)-')" 2002
is "nothing there is nothing left" "$(flush --aggregator.url="$A" --ship.spool="$SCRATCH/no-such-spool"; echo "$?")" "ceems-courier: 0 records sent, none left
0"
like "another's keys are passed over for that alone" "$(timeout 200 "$BUILD/ceems-courier" --once --config.file=ceemsd.yaml 2>&1)" 'unknown key "collector.cpu"'
put flush final dead- 3
dead=$(free_port)
began=$SECONDS
like "what nobody takes is counted, in a bounded time" \
	"$(flush --flush.timeout=2s --aggregator.url="http://127.0.0.1:$dead" --ship.spool="$SCRATCH/flush"; echo "$?")" '^ceems-courier: 3 records could not be sent: .*1$'
ok "which is over" test $((SECONDS - began)) -lt 60
ok "and stays for the next time" once --aggregator.url="$A" --ship.spool="$SCRATCH/flush"
is "when it comes" "$(taken a | grep '^dead-')" "$(names dead- 1 3)"
is "no log line holds a token or a credential" "$(cat ./*.courier once.log bad.log | grep -cE 's3cret|MUNGE:')" 0
tap_done
