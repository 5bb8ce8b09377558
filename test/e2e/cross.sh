#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 3600
# All of it built for another processor (arm64, or the one named), without a warning, and its unit tests run under QEMU's
# user-mode emulation; for arm64 its Debian packages too, in a copy of this system into
# which apt installs that processor's libraries (an overlay; nothing of the machine changes), and
# jobs of Slurm with what they install, in a virtual machine.
arch=${1:-arm64}
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
have_root || skip_all "needs root"
why=$(test/vm/sysroot make "$arch" 2>&1) || skip_all "${why##*$'\n'}"
why=$(test/vm/sysroot run "$arch" "${why##*$'\n'}/usr/bin/true" 2>&1) || skip_all "qemu-user-static does not run programs of $arch: $why"
here=$BUILD/$arch
WERROR=1 test/vm/sysroot build "$arch" "$here" all unit-tests >"$SCRATCH/build" 2>&1
is "all programs, plugins and tests are built for $arch, warnings being errors" "$?" 0 || { tail -n 20 "$SCRATCH/build" | sed 's/^/# /'; tap_done; }
# kernel programs know registers of x86-64 and arm64
without=$([ "$arch" = arm64 ] || echo ceems-opener ceems-profiler)
is "none is left out${without:+, but $without}" "$(for p in $(make -s registered | sed -n 's/^unit \([a-z][a-z0-9_-]*\) .*/\1/p'); do case $p in ceems* | cacct | redfish_proxy) ;; *) continue ;; esac; [ ! -e "$BUILD/$p" ] || [ -e "$here/$p" ] || echo "$p"; done | sort | xargs)" "$without"

# --- unit tests. What is not to be expected of the emulation:
cat >"$SCRATCH/emulated" <<'LIST'
forked_child_does_not_inherit_the_mapping             MADV_DONTFORK is not handed on
contained_hooks_share_the_step_and_name_slurmstepd    clone(CLONE_VM) without a thread is refused
contained_hook_without_cgroup_does_not_report_its_own_zero    the same
child_link_test                                       it starts programs of ours, which the kernel does not run
ringdump_test                                         the same
profile_worker_test                                   the same
of_many_groups_a_perf_map_is_found                    there is no openat2()
a_perf_map_that_is_no_file_is_not_opened              the same
a_user_who_has_to_wait_makes_no_other_wait_for_rows    links to libraries lead out of its tree
who_has_most_rows_makes_room_for_another_user         the same
a_child_has_no_privileges                             there are no filters of system calls
another_bus_error_is_not_taken_for_it                 the emulator writes a line of its own
LIST
run_test() { # PROGRAM: its results, and its name where it did not get to an end
	local name=${1##*/}
	CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$here TMPDIR=$SCRATCH timeout -k 5 600 test/vm/sysroot run "$arch" "$1" </dev/null >"$SCRATCH/log.$name" 2>&1
	local rc=$?
	case $rc$(grep -c '^not ok' "$SCRATCH/log.$name") in 00) ;; ?*0) echo "$name did not end well" ;; esac
	sed -n "s/^not ok [0-9]* - /$name: /p" "$SCRATCH/log.$name"
}
export -f run_test
export arch here SCRATCH
printf '%s\n' "$here"/test/*_test "$here"/test/ring_torture | xargs -P "$(nproc)" -I{} bash -c 'run_test {}' >"$SCRATCH/failed"
passed=$(cat "$SCRATCH"/log.* | grep -c '^ok')
echo "# $passed passed under $arch, $(cat "$SCRATCH"/log.* | grep -ci '^\(not \)\{0,1\}ok .*# SKIP') skipped themselves, $(wc -l <"$SCRATCH/emulated") not expected"
is "all unit tests pass on $arch" "$(grep -vwFf <(sed 's/ .*//' "$SCRATCH/emulated") "$SCRATCH/failed")" ""
ok "and there were some: $passed" [ "$passed" -gt 1000 ]
[ "$arch" = arm64 ] || tap_done
QEMU_LOG=in_asm QEMU_LOG_FILENAME=$SCRATCH/asm test/vm/sysroot run "$arch" "$here/test/crc32c_test" >"$SCRATCH/log" 2>&1
is "the checksums that agree with the table's were computed by ARMv8's instruction" \
	"$(grep -c '^not ok\|FAILED' "$SCRATCH/log") $(grep -o 'crc32c[xb]' "$SCRATCH/asm" | sort -u | xargs)" "0 crc32cb crc32cx"

# --- packages
for p in dh lintian apt-get unshare; do command -v $p >/dev/null || { skip "packages for $arch" "$p is not installed"; tap_done; }; done
. test/overlay.sh
overlay_possible || { skip "packages for $arch" "the kernel mounts no overlay here"; tap_done; }
packaging/stage 0.1.0~test "$SCRATCH/tree" "$BUILD" >"$SCRATCH/staged" 2>&1 # for what our sources say that they need
cat >"$SCRATCH/inside" <<'END'
exec 2>&1
cd "$2" || exit 1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root TMPDIR=$1
set -x
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
dpkg --add-architecture arm64 && apt-get -qq update &&
	apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 build-dep -a arm64 -P cross,nocheck "$1/tree" &&
	packaging/deb/build --arch=arm64 0.1.0~test "$1/debs" "$3"
END
overlay_run "$SCRATCH/inside" "$SCRATCH" "$TOP" "$here" >"$SCRATCH/packaged"
is "packages for $arch are built with what their sources say that they need" "$?" 0 || { tail -n 30 "$SCRATCH/packaged" | sed 's/^/# /'; tap_done; }
names() { for d in "$@"; do dpkg-deb -f "$d" Package; done | sort | xargs; }
is "they are those of this processor" "$(names "$SCRATCH"/debs/*.deb)" "$(sed -n 's/^Package: //p' "$SCRATCH/tree/debian/control" | sort | xargs)"
is "they are for $arch, or for all" "$(for d in "$SCRATCH"/debs/*.deb; do dpkg-deb -f "$d" Architecture; done | sort -u | xargs)" "all arm64"
like "ceemsd needs libraries by their versions" "$(dpkg-deb -f "$SCRATCH"/debs/ceemsd_*.deb Depends)" 'libmicrohttpd12 \(>= 0.9'
is "lintian has nothing to say" "$(lintian --allow-root "$SCRATCH"/debs/*.deb 2>&1)" ""
test_cleanup() { rm -rf "$here/debs"; }
mkdir -p "$here/debs" && cp "$SCRATCH"/debs/*.deb "$here/debs/"
release=$(arm64_release)
BUILD=$here vm_guest "packages for arm64" --arm64 -- test/vm/packages_guest.sh "$here/debs" "${release%.*}" "$release"
tap_done
