#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The other Debian, as a newcomer meets it: a minimal 13 (on 13: 12), a clone in a home of mode
# 0700 of an ordinary user with sudo, the packages that README names and no others, then README's
# commands: make demo, and make check-unit.
# Without a mirror, or when it gives out meanwhile, it is skipped.
# timeout 4500
# share 80
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in mmdebstrap git unshare; do command -v $c >/dev/null || skip_all "$c is not installed"; done
why=$(test/rig/slurm possible) || skip_all "$why"
git rev-parse --verify -q HEAD >/dev/null || skip_all "not a clone"
suite=trixie
grep -q '^VERSION_CODENAME=trixie' /etc/os-release && suite=bookworm
root=$SCRATCH/other
test_cleanup() { test/rig/box end "$root"; rm -rf --one-file-system "$root" "$root".*; }
# apt's own words for a mirror that cannot be reached; a package that is not there is none of them
no_mirror='Temporary failure resolving|Could not resolve|Could not connect|Connection (failed|timed out|refused)|Unable to connect|Failed to fetch|Undetermined Error|Some index files failed to download'
test/rig/box make "$root" $suite sudo,git,make >"$SCRATCH/make" 2>&1 || skip_all "$(tail -n 1 "$SCRATCH/make")"
chroot "$root" useradd -m -s /bin/bash newcomer
chmod 700 "$root/home/newcomer"
echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
git clone -q --no-hardlinks "file://$TOP" "$root/home/newcomer/ceems-slurm" || skip_all "the tree cannot be cloned"
chroot "$root" chown -R newcomer: /home/newcomer
as_newcomer() { test/rig/box in "$root" --net setpriv --reuid newcomer --regid newcomer --init-groups env -C /home/newcomer/ceems-slurm HOME=/home/newcomer USER=newcomer bash -c "$1" 2>&1 </dev/null; }
# its ports are this machine's: half of the range away from those of the tests beside it
port=$(free_port) && echo $(((port - 20000 + 6000) % 12000)) >"$root/tmp/ceems-test-port.$(chroot "$root" id -u newcomer)" &&
	chroot "$root" chown newcomer: /tmp/ceems-test-port.$(chroot "$root" id -u newcomer)
mirror_is_there() { # or the test ends
	grep -q 'deps: apt failed' "$1" || return 0
	why=$(grep -hm1 -oE "($no_mirror).*" "$1" "$root"/tmp/ceems-deps-log.* 2>/dev/null) || return 0
	echo "# $why"
	skip "the packages of $suite" "the mirror gave out: $why"
	tap_done
}
show() { tail -n 25 "$1" | sed 's/^/# /'; }
like "README names the packages that a minimal system needs" "$(cat README.md)" 'apt-get install git make.*sudo'

begin=$SECONDS
as_newcomer 'make demo; echo "demo ends with $?"; . build/demo/demo.env && squeue -h | wc -l; make demo-stop; echo "stop ends with $?"' >"$SCRATCH/demo"
mirror_is_there "$SCRATCH/demo"
like "make demo on $suite" "$(cat "$SCRATCH/demo")" "demo ends with 0"
grep -q 'demo ends with 0' "$SCRATCH/demo" || show "$SCRATCH/demo"
is "it shows its 26 jobs, with their joules" "$(grep -cE '^ +[0-9]+  [a-z]+[0-9]* +[a-z]+ +COMPLETED .* [0-9.]+ +[0-9.]+$' "$SCRATCH/demo")" 26
like "what a user sees by cacct, and through the load balancer" "$(cat "$SCRATCH/demo")" 'by cacct.*asks for job .*, hers: .* refused: '
like "make demo-stop" "$(tail -n 1 "$SCRATCH/demo")" 'stop ends with 0'
echo "# make demo: $((SECONDS - begin)) s, packages and build included"
ok "what it built belongs to whom it should" [ -z "$(find "$root/home/newcomer/ceems-slurm" -user root ! -path '*/build/*' 2>/dev/null | head -n 3)" ]

begin=$SECONDS
like "make check-unit without cmocka says what is missing" "$(as_newcomer 'make check-unit' | tail -n 3)" 'apt-get install libcmocka-dev'
as_newcomer 'sudo apt-get install -y libcmocka-dev || echo "deps: apt failed"' >"$SCRATCH/cmocka"
mirror_is_there "$SCRATCH/cmocka"
as_newcomer 'make check-unit; echo "ends with $?"' >"$SCRATCH/unit"
like "make check-unit on $suite" "$(tail -n 1 "$SCRATCH/unit")" '^ends with 0$'
grep -q '^ends with 0$' "$SCRATCH/unit" || { grep -E '^(not ok|FAIL|fail)|error:|Error' "$SCRATCH/unit" | head -20 | sed 's/^/# /'; show "$SCRATCH/unit"; }
echo "# make check-unit: $((SECONDS - begin)) s; $(grep -E '^[0-9]+ passed' "$SCRATCH/unit")"
is "nothing warns when it is compiled" "$(cat "$SCRATCH/demo" "$SCRATCH/unit" | grep -c 'warning:')" 0
tap_done
