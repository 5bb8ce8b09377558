#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 1200
# The RPM packages, with Debian's rpm: built from the list that the Debian packages have, looked at by rpmlint, and installed,
# upgraded and erased in a copy of this system (an overlay in a mount namespace of its own; nothing of it is left).
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for p in rpmbuild rpmlint unshare systemd-sysusers; do
	command -v $p >/dev/null || skip_all "$p is not installed"
done
. test/overlay.sh
overlay_possible || skip_all "the kernel mounts no overlay here"
build=$(cd "$BUILD" && pwd)
ok "the packages are built" eval 'packaging/rpm/build 0.1.0 "$SCRATCH/first" "$build" >"$SCRATCH/made"' || tap_done
ok "and a second release" eval 'packaging/rpm/build 0.1.1 "$SCRATCH/second" "$build" >/dev/null'
is "rpmlint has nothing to say" "$(timeout 300 rpmlint -c packaging/rpm/rpmlint.toml "$SCRATCH"/first/*.rpm 2>&1 | grep -E ' [EW]: ' | head -n 20)" ""
is "they are the packages that Debian's are" "$(rpm -qp --qf '%{NAME}\n' "$SCRATCH"/first/*.rpm | sort -u | paste -sd' ')" \
	"$({ sed -n 's/^Package: //p' packaging/deb/debian/control.in; for d in "$BUILD"/slurm/*/; do [ -e "$d/spank_ceems.so" ] && echo "ceems-slurm-spank-$(basename "$d")" || echo "ceems-slurm-daemon-$(basename "$d")"; done; } | sort -u | paste -sd' ')"
like "those of plugins need exactly their Slurm" "$(rpm -qp --requires "$SCRATCH"/first/ceems-slurm-*.rpm 2>/dev/null | grep '^slurm ' | sort -u | paste -sd' ')" '^slurm < [0-9.]+ .*slurm >= [0-9.]+$'

cat >"$SCRATCH/inside" <<'END'
some=$(ls first/*.rpm | grep -v 'slurm-.*-24')
say installed "$(rpm -i --nodeps $some >log 2>&1; echo $?) $(grep -v 'use Alien instead\|However assuming' log | head -n 2)"
say accounts "$(getent passwd ceems ceems-aggregator ceems-lb ceems-redfish | cut -d: -f1 | paste -sd' ')"
say modes "$(stat -c '%n %a %U:%G' /etc/ceems /etc/ceems/ceemsd.yaml /etc/ceems/lb.yaml /run/ceems | paste -sd' ')"
say verify "$(rpm -Va 'ceems*' --nodeps --nouser --nogroup --nomode 2>&1 | grep -v '^[.M]* *c* /etc' | head -n 3)"
echo '# ours' >>/etc/ceems/ceemsd.yaml
say upgraded "$(rpm -U --nodeps $(ls second/*.rpm | grep -v 'slurm-.*-24') >log 2>&1; echo $?) $(rpm -q --qf '%{VERSION}' ceemsd) $(tail -n 1 /etc/ceems/ceemsd.yaml)"
mkdir -p /var/cache/ceems/debug # as a service makes it
say erased "$(rpm -e --nodeps $(rpm -qa 'ceems*') >log 2>&1; echo $?)"
say left "$(find written -path written/var/lib/rpm -prune -o -name '*ceems*' ! -type c -printf '/%P\n' | sort | paste -sd' ')"
END
overlay_ask "$SCRATCH/inside"
is "they install" "$(said installed)" "0 "
is "with an account for each service" "$(said accounts)" "ceems ceems-aggregator ceems-lb ceems-redfish"
is "and each file is for its service alone" "$(said modes)" "/etc/ceems 751 root:ceems /etc/ceems/ceemsd.yaml 640 root:ceems /etc/ceems/lb.yaml 640 root:ceems-lb /run/ceems 750 root:ceems"
is "every file is as it was packaged" "$(said verify)" ""
is "a second release installs over it and keeps what the site wrote" "$(said upgraded)" "0 0.1.1 # ours"
is "they can be erased" "$(said erased)" 0
like "and leave only the configuration that was changed, and the spool" "$(said left)" '^(/etc/ceems/?[^ ]* ?)+(/var/spool/ceems[^ ]* ?)*$'
[ ! -s "$SCRATCH/errors" ] || sed 's/^/# /' "$SCRATCH/errors"
tap_done
