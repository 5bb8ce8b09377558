#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The overlay for nodes without a disk, its templates filled in as Warewulf does it: over the packaged configuration, in a
# copy of this system, ceemsd and cacct accept the result, with all tags and with none; what its links name is installed.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in go systemd-tmpfiles systemd-sysusers; do command -v $c >/dev/null || skip_all "$c is not installed"; done
for p in ceemsd cacct; do [ -x "$BUILD/$p" ] || skip_all "$p was not built"; done
. test/overlay.sh
overlay_possible || skip_all "the kernel mounts no overlay here"
GOCACHE=$SCRATCH/go GOFLAGS=-mod=mod GO111MODULE=off go build -o "$SCRATCH/render" test/rig/warewulf_render.go 2>"$SCRATCH/err" || skip_all "go does not build here: $(tail -n 1 "$SCRATCH/err")"
make -s install DESTDIR="$SCRATCH/root" PREFIX=/usr >"$SCRATCH/install.log" 2>&1 || { ok "it installs" false; tap_done; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=management -keyout "$SCRATCH/key" -out "$SCRATCH/aggregator.crt" 2>/dev/null
echo 'prometheus: $2y$10$qC7Mgn3APD0atPgfPuGgt.NBZiseqmWnhThv1cd01KRrMnX.Hpfwm' >"$SCRATCH/prometheus"
fill() { # NODE TAG...
	mkdir "$SCRATCH/$1" && "$SCRATCH/render" packaging/warewulf/ceems/rootfs "$SCRATCH/$1" "$@"
}
ok "the templates are filled in" fill n1 ceems_aggregator=https://management:9020 ceems_certificate="$SCRATCH/aggregator.crt" ceems_prometheus="$SCRATCH/prometheus"
ok "and where a node has no tags" fill n2
is "which then has no part of what they say" "$(cd "$SCRATCH/n2/etc/ceems" && find . -type f)" "./ceemsd.d/50-warewulf.yaml"
for tag in ceems_prometheus ceems_certificate; do # for Warewulf a file that is not there is an empty one
	fill "n3.$tag" $tag=/nonexistent 2>"$SCRATCH/err"
	is "a file that cannot be read is refused, by the tag that names it: $tag" "$? $(grep -c "$tag: cannot read /nonexistent" "$SCRATCH/err")" "1 1"
done
echo 'prometheus: no hash' >"$SCRATCH/wrong"
fill n4 ceems_aggregator='no"where' && fill n5 ceems_prometheus="$SCRATCH/wrong"
cat >"$SCRATCH/inside" <<'END'
cp -a root/. /
systemd-sysusers ceems.conf
for n in n1 n2 n4 n5; do
	rm -rf /etc/ceems && cp -a root/etc/ceems /etc/ && cp -a $n/. /
	systemd-tmpfiles --create ceems.conf ceems-warewulf.conf 2>tmpfiles
	say $n.tmpfiles "$? $(cat tmpfiles)"
	setpriv --reuid ceems --regid ceems --clear-groups ceemsd --check-config --config.file=/etc/ceems/ceemsd.yaml >checked 2>&1
	say $n.ceemsd "$? $(grep -oe 'configuration is valid\|[a-z.-]*d/50-warewulf.yaml\|--aggregator.url' checked | head -n 1)"; cp checked checked.$n
	say $n.modes "$(cd /etc/ceems && stat -c '%n %a %G' . */50-warewulf.yaml | paste -sd' ')"
	say $n.cacct "$(timeout 20 cacct 2>&1 | head -n 1)"
done
for l in /etc/systemd/system/multi-user.target.wants/ceems-*; do [ -e "$(readlink -f "$l")" ] || echo "$l"; done >dangling
say links "$(cat dangling)"
say units "$(systemd-analyze verify --man=no /etc/systemd/system/ceems-doctor.service 2>&1 | grep ceems)"
END
overlay_ask "$SCRATCH/inside"
is "ceemsd accepts what there is with all tags" "$(said n1.ceemsd)" "0 configuration is valid"
is "and with none" "$(said n2.ceemsd)" "0 configuration is valid"
is "it reads all of it: a wrong tag is refused" "$(said n4.ceemsd)" "2 --aggregator.url"
is "and a wrong hash, which it names" "$(said n5.ceemsd)" "2 web-config.d/50-warewulf.yaml"
like "so does cacct" "$(said n4.cacct)" '^cacct: error: .*no"where'
is "each file is for its reader" "$(said n1.tmpfiles) $(said n1.modes)" "0  . 751 ceems cacct.d/50-warewulf.yaml 644 root ceemsd.d/50-warewulf.yaml 640 ceems web-config.d/50-warewulf.yaml 640 ceems"
is "services that it switches on are installed, and systemd takes its own" "$(said links)$(said units)" ""
[ "$tap_failed" = 0 ] || sed 's/^/# /' "$SCRATCH/said" "$SCRATCH/errors" "$SCRATCH"/checked.*
tap_done
