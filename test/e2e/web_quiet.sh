#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A page of 30 panels with one password, at a fresh start and after ten minutes in which nobody
# asked: none is refused, by a server with pages of its own and by the load balancer.
#   QUIET_S=N (600)
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
for p in web_host lb_host backend_rude; do [ -x "$BUILD/$p" ] || skip_all "$p is not built"; done
cd "$SCRATCH" || exit 1
quiet=${QUIET_S:-600}
# bcrypt of "correct horse", cost 10
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf 'basic_auth_users:\n  ada: %s\n' "$hash" >web.yaml
chmod 640 web.yaml

# begin NAME PROGRAM args...: its first port in PORT_NAME; it ends with its standard input
begin() {
	local name=$1 program=$2
	shift 2
	mkfifo "$name.in"
	"$BUILD/$program" "$@" <"$name.in" >"$name.out" 2>"$name.log" &
	started $!
	exec {IN}>"$name.in"
	ok "$name starts" wait_for 60 grep -q ^ready "$name.out"
	declare -g "PORT_$name=$(awk '/^ready/ { print $2 }' "$name.out")"
}
# panels PORT PATH: the answers to 30 at once, each status and how many
panels() {
	for _ in $(seq 30); do printf 'url=http://127.0.0.1:%s%s\noutput=/dev/null\n' "$1" "$2"; done >urls
	curl -s -m 100 -Z --parallel-immediate --parallel-max 100 -u 'ada:correct horse' -w '%{http_code}\n' -K urls 2>/dev/null |
		sort | uniq -c | awk '{ printf "%s%s x %s", s, $2, $1; s = ", " }'
}
echo ok >rude.ctl
begin backend backend_rude rude.ctl rude.rec
begin lb lb_host --workers 1 --config "$SCRATCH/web.yaml" "127.0.0.1:$PORT_backend"
begin pages web_host --config "$SCRATCH/web.yaml" / 127.0.0.1:0
both() { echo "$(panels "$PORT_pages" /health), $(panels "$PORT_lb" '/api/v1/query?query=up')"; }
is "30 panels of each at a fresh start are all let in" "$(both)" "200 x 30, 200 x 30"
sleep "$quiet"
is "30 panels of each after $quiet quiet seconds are all let in" "$(both)" "200 x 30, 200 x 30"
tap_done
