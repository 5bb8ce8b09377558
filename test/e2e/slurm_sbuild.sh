#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 3600
# Packages built by sbuild, as an ordinary user, in a root that has nothing but Debian's compiler: our source package says
# all that it needs, and the same bytes come out as on this host. First the plugins for a Slurm of the site's own, then
# everything. Their installation is tried by slurm_own.sh and packages.sh. The source package for mock is rebuilt here by
# rpmbuild: no root of EL was at hand.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for p in dh sbuild mmdebstrap newuidmap unshare rpmbuild; do command -v $p >/dev/null || skip_all "$p is not installed"; done
why=$(test/rig/slurm_source make 2>&1) || skip_all "${why##*$'\n'}"
source=$(grep -m1 '/24\.11\.' <<<"$why") || skip_all "no headers of Slurm 24.11 here"
mirror=$(test/rig/chroot mirror)
[ -n "$mirror" ] || skip_all "apt knows no Debian mirror (set CEEMS_DEBIAN_MIRROR)"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
clean=$SCRATCH/clean.tar
mmdebstrap --quiet --variant=buildd "$suite" "$clean" "$mirror" >"$SCRATCH/log" 2>&1 || skip_all "mmdebstrap: $(grep -m1 '^E:' "$SCRATCH/log")"

# A user with ids of its own, in a mount namespace: nothing of the machine changes. Not one that Debian has: sbuild
# makes it in the root, too
mkdir "$SCRATCH/home" "$SCRATCH/tmp" "$SCRATCH/etc"
chmod 1777 "$SCRATCH/tmp" # the owner of what is in it is root of a user namespace
printf '$unshare_tmpdir_template = "%s/tmp/tmp.sbuild.XXXXXXXXXX";\n1;\n' "$SCRATCH" >"$SCRATCH/home/.sbuildrc"
{ cat /etc/passwd; echo "builder:x:64999:64999::$SCRATCH/home:/bin/sh"; } >"$SCRATCH/etc/passwd"
{ cat /etc/group; echo "builder:x:64999:"; } >"$SCRATCH/etc/group"
tee "$SCRATCH/etc/subuid" "$SCRATCH/etc/subgid" <<<builder:2000000:65536 >/dev/null
chown 64999:64999 "$SCRATCH/home"
as_user() {
	unshare -m --propagation private sh -c 'etc=$1; shift; for f in passwd group subuid subgid; do mount --bind "$etc/$f" "/etc/$f" || exit; done
		exec setpriv --reuid 64999 --regid 64999 --clear-groups "$@"' sh "$SCRATCH/etc" \
		env -i HOME="$SCRATCH/home" TMPDIR="$SCRATCH/tmp" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' DEBEMAIL=test@test.invalid "$@" </dev/null
}
export DEBEMAIL=test@test.invalid
differ() { # FOLDER FOLDER: the packages that are not the same, or in one of them alone
	(cd "$1" && find . -name '*.deb'; cd "$2" && find . -name '*.deb') | sort -u | while read -r f; do cmp -s "$1/$f" "$2/$f" || echo "$f"; done | xargs
}
count() { find "$1" -name '*.deb' | wc -l; }
built() { is "$1" "$2" 0 || { tail -n 40 "$SCRATCH/log" | sed 's/^/# /'; tap_done; }; }

as_user packaging/slurm-plugins --sbuild="$clean" 0.1.0~test "$source" "$SCRATCH/home/own" >"$SCRATCH/log" 2>&1
built "sbuild makes the packages of plugins for a site's own Slurm in a clean root" $?
packaging/slurm-plugins 0.1.0~test "$source" "$SCRATCH/own" >"$SCRATCH/log" 2>&1
built "they are made on this host, too" $?
is "both are the same bytes: $(count "$SCRATCH/own") packages" "$(differ "$SCRATCH/own" "$SCRATCH/home/own")" ""
is "nothing of it is left" "$(ls "$SCRATCH/tmp")" ""

packaging/slurm-plugins --rpm --source 0.1.0 "$source" "$SCRATCH/srpm" >"$SCRATCH/log" 2>&1
built "a source package for mock is made" $?
is "it needs a C compiler and make" "$(rpm -qp --requires "$SCRATCH"/srpm/*.src.rpm 2>/dev/null | grep -v '^rpmlib' | sort | xargs)" "gcc make"
rpmbuild --rebuild --nodeps --define "_topdir $SCRATCH/top" --define "_build_id_links none" "$SCRATCH"/srpm/*.src.rpm >"$SCRATCH/log" 2>&1
built "rpmbuild rebuilds it" $?
packaging/slurm-plugins --rpm 0.1.0 "$source" "$SCRATCH/rpms" >"$SCRATCH/log" 2>&1
files() { for f; do rpm -qp --qf '[%{FILENAMES} %{FILEDIGESTS}\n]' "$f"; done 2>/dev/null | sort; }
is "its files are those of the packages that are made here" "$(files "$SCRATCH"/top/RPMS/*/*.rpm)" "$(files "$SCRATCH"/rpms/*.rpm)"
like "which have the plugins" "$(files "$SCRATCH"/rpms/*.rpm)" 'jobcomp_ceems.so [0-9a-f]{64}'

as_user packaging/deb/build --sbuild="$clean" 0.1.0~test "$SCRATCH/home/all" >"$SCRATCH/log" 2>&1
built "sbuild makes all packages with what their source package says that it needs" $?
packaging/deb/build 0.1.0~test "$SCRATCH/all" >"$SCRATCH/log" 2>&1
built "and this host makes them" $?
# A host that lags behind the mirror has other headers: what Debian writes into .buildinfo must be equal
installed() { sed -n 's/^ \([^ ]*\) (= \(.*\)),*$/\1 \2/p' "$1"/*.buildinfo | sort; }
other=$(join <(installed "$SCRATCH/all") <(installed "$SCRATCH/home/all") | awk '$1 ~ /-dev$/ && $2 != $3 { print $1 }' | xargs)
what="all of them are the same bytes: $(count "$SCRATCH/all") packages"
if [ -n "$other" ]; then
	skip "$what" "this host has other versions than the mirror: $other"
else
	is "$what" "$(differ "$SCRATCH/all" "$SCRATCH/home/all")" ""
fi
tap_done
