# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that install packages: a copy of this system in which root may do anything. It is
# an overlay in memory, in namespaces of its own; nothing of it is left, and nothing of the machine changes. The test's
# own folder, $SCRATCH, is the real one there, and in it "written" has all that was changed in the copy (what was removed
# is a character device there). Packages start no service.
overlay_possible() { have_root && overlay_run /dev/null 2>/dev/null; }
overlay_run() { # SCRIPT ARGUMENT...: bash runs it there, for half an hour at most; what it started ends with it
	unshare -m --uts --pid --fork --kill-child --propagation private sh -c 'scratch=$1; shift
		mkdir -p "$scratch/overlay" && mount -t tmpfs t "$scratch/overlay" && cd "$scratch/overlay" && mkdir u w m &&
		mount -t overlay o -o lowerdir=/,upperdir=u,workdir=w m && mount -t proc p m/proc && mount --rbind /dev m/dev &&
		mount --rbind /sys m/sys && mkdir -p "m$scratch" && mount --bind "$scratch" "m$scratch" &&
		mkdir -p "m$scratch/written" && mount --bind u "m$scratch/written" &&
		rm -f m/usr/sbin/policy-rc.d && printf "#!/bin/sh\nexit 101\n" >m/usr/sbin/policy-rc.d && chmod 755 m/usr/sbin/policy-rc.d &&
		exec chroot m timeout 1800 bash "$@"' sh "$SCRATCH" "$@"
}
# overlay_ask SCRIPT ARGUMENT...: the same in $SCRATCH, the first argument; what SCRIPT tells by "say NAME VALUE" said NAME
# gives afterwards
overlay_ask() {
	{ printf '%s\n' 'cd "$1" || exit 1' 'say() { printf "%s\t%s\n" "$1" "$2"; }' && cat "$1"; } >"$1.asked"
	overlay_run "$1.asked" "$SCRATCH" "${@:2}" >"$SCRATCH/said" 2>"$SCRATCH/errors"
}
said() { sed -n "s/^$1\t//p" "$SCRATCH/said"; }
