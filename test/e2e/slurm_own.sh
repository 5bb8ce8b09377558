#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 1200
# Packages of plugins for a site's own Slurm in a folder of its own (24.11.5; its plugin folder is that of Debian 13's): made from
# its headers, signed with a key of this test, taken by apt and rpm from the site's repository, and linked into that Slurm.
# What somebody has changed in the repository is refused. In a copy of this system.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for p in dh rpmbuild rpmsign gpg dpkg-scanpackages apt-get; do command -v $p >/dev/null || skip_all "$p is not installed"; done
root=$(test/rig/chroot path) || skip_all "$root"
why=$(test/rig/slurm_source make 2>&1) || skip_all "${why##*$'\n'}"
source=$(grep -m1 '/24\.11\.' <<<"$why") || skip_all "no headers of Slurm 24.11 here"
release=${source##*/}
. test/overlay.sh
overlay_possible || skip_all "the kernel mounts no overlay here"
export GNUPGHOME=$SCRATCH/g
mkdir -m 700 "$GNUPGHOME"
test_cleanup() { gpgconf --kill all; }
for who in site stranger; do
	gpg --batch --quiet --passphrase '' --quick-gen-key "$who <$who@test.invalid>" rsa2048 sign 1d 2>/dev/null
done
build=$(cd "$BUILD" && pwd)
own() { packaging/slurm-plugins "$@" >"$SCRATCH/made" 2>&1; }
ok "packages of plugins are made from a source tree, for apt" own --sign=site@test.invalid 0.1.0~test "$source" "$SCRATCH/repo" || { cat "$SCRATCH/made"; tap_done; }
is "the two of that Slurm, and no others" "$(cd "$SCRATCH/repo" && echo *.deb)" "ceems-slurm-daemon-${release}_0.1.0~test_amd64.deb ceems-slurm-spank-24.11_0.1.0~test_amd64.deb"
ok "and by rpm" own --rpm --sign=site@test.invalid 0.1.0 "$source" "$SCRATCH/rpms" || cat "$SCRATCH/made"
own 0.1.0~test "$SCRATCH" "$SCRATCH/none"
like "what is no source tree is refused" "$(cat "$SCRATCH/made")" 'is no source tree of Slurm after ./configure'
own --sign=nobody@test.invalid 0.1.0~test "$source" "$SCRATCH/unsigned"
like "a key that is not there is said" "$? $(cat "$SCRATCH/made")" '^1 .*gpg does not sign with nobody@test.invalid'
ok "the site's other packages" eval 'packaging/deb/build 0.1.0~test "$SCRATCH/debs" "$build" >/dev/null 2>&1'
gpg --batch --armor --export stranger@test.invalid >"$SCRATCH/stranger.asc" 2>/dev/null
for r in changed forged; do cp -r "$SCRATCH/repo" "$SCRATCH/$r"; done
echo >>"$SCRATCH/changed/Packages"
echo >>"$(echo "$SCRATCH"/forged/ceems-slurm-spank*.deb)"

cat >"$SCRATCH/inside" <<'END'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root
root=$2
mkdir -p /opt/site/sbin /opt/site/lib && cp -r "$root"/usr/lib/x86_64-linux-gnu/slurm-wlm /opt/site/lib/slurm
# Debian 13's slurmd with the libraries that it needs
libs=$root/usr/lib/x86_64-linux-gnu
printf '#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s:%s/slurm-wlm %s/usr/sbin/slurmd-wlm "$@"\n' "$libs" "$libs" "$libs" "$root" >/opt/site/sbin/slurmd
chmod 755 /opt/site/sbin/slurmd
apt() { apt-get -q -y -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root -o Dir::Etc::SourceList=/etc/site.list -o Dir::Etc::SourceParts=- "$@"; }
from() { echo "deb [signed-by=$1] copy:$PWD/$2 ./" >/etc/site.list; rm -rf /var/lib/apt/lists/*; apt update >log 2>&1; echo "$? $(grep -cE "$3" log)"; }
apt install ./debs/ceems-common_*.deb >log 2>&1; say common $?
say stranger "$(from "$PWD/stranger.asc" repo 'NO_PUBKEY|not signed')"
say changed "$(from "$PWD/repo/ceems-slurm.asc" changed 'Hash Sum mismatch|unexpected size')"
say forged "$(from "$PWD/repo/ceems-slurm.asc" forged .) $(apt install ceems-slurm-spank-24.11 >log 2>&1; echo $?) $(grep -cE 'Hash Sum mismatch|unexpected size' log)"
say update "$(from "$PWD/repo/ceems-slurm.asc" repo '^[EW]:')"
apt install ceems-slurm-spank-24.11 "ceems-slurm-daemon-$3" >log 2>&1; say installed "$?"
export PATH=/opt/site/sbin:$PATH
say slurmd "$(slurmd -V)"
say linked "$(ceems-slurm-plugins link | grep -c ": linked, /usr/lib/ceems/slurm-24.11") $(find /opt/site/lib/slurm -lname '*/ceems/*' | wc -l) $(find -L /opt/site/lib/slurm -type l | wc -l)"
apt remove ceems-slurm-spank-24.11 "ceems-slurm-daemon-$3" >log 2>&1; say removed "$? $(find /opt/site/lib/slurm -lname '*/ceems/*' | wc -l)"
db=$PWD/rpmdb; mkdir "$db"
check() { rpmkeys --dbpath "$db" -K "$@" 2>&1 | sed 's/.*: //' | sort -u | paste -sd,; }
say rpm.nokey "$(check rpms/*.rpm)"
rpmkeys --dbpath "$db" --import rpms/ceems-slurm.asc
say rpm.key "$(check rpms/*.rpm)"
for f in rpms/*spank*.rpm; do cp "$f" other.rpm; done
printf x | dd of=other.rpm bs=1 seek=$(($(stat -c %s other.rpm) - 100)) conv=notrunc 2>/dev/null
say rpm.changed "$(check other.rpm)"
END
overlay_ask "$SCRATCH/inside" "$root" "$release"
is "apt refuses the repository without the site's key" "$(said stranger | grep -c '^[1-9][0-9]* [1-9]')" 1
is "and one whose list was changed" "$(said changed | grep -c '^[1-9][0-9]* [1-9]')" 1
like "and a package that was changed" "$(said forged)" '^0 [0-9]+ 100 [1-9]'
is "apt takes what the site has signed" "$(said update) $(said installed)" "0 0 0"
is "it is for a Slurm in a folder of its own" "$(said slurmd)" "slurm-wlm $release"
like "into whose plugin folder all are linked" "$(said linked)" '^([4-9]) \1 0$'
is "and from which they go with the packages" "$(said removed)" "0 0"
is "rpm knows their key once it is imported" "$(said rpm.nokey) $(said rpm.key)" "digests SIGNATURES NOT OK digests signatures OK"
is "and sees what was changed" "$(said rpm.changed)" "DIGESTS SIGNATURES NOT OK"
[ "$tap_failed" = 0 ] || sed 's/^/# /' "$SCRATCH/said" "$SCRATCH/errors"
tap_done
