#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The packaged services under a real systemd, in a virtual machine (test/vm/systemd_guest.sh):
# started, ready, fenced in, reloaded, killed and started again, ended.
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
why=$(test/vm/run possible --host) || skip_all "$why"
[ -x /lib/systemd/systemd ] || skip_all "systemd is not installed"
for p in ceemsd ceems_aggregator ceems-courier redfish_proxy; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
root=$BUILD/vm-root
test_cleanup() { rm -rf "$root"; }
rm -rf "$root"
make -s install DESTDIR="$root" PREFIX=/usr >"$SCRATCH/install.log" 2>&1 || { sed 's/^/# /' "$SCRATCH/install.log"; ok "make install" false; tap_done; }
test/vm/run --host --timeout=600 --mem=1536 test/vm/systemd_guest.sh "$root" >"$SCRATCH/out"
rc=$?
while IFS= read -r line; do
	case $line in
	"ok "*) tap_result ok "${line#ok * - }" ;;
	"not ok "*) tap_result not-ok "${line#not ok * - }" ;;
	1..*) ;;
	*) echo "$line" ;;
	esac
done <"$SCRATCH/out"
is "the guest ends well" "$rc $(grep -c '^1\.\.' "$SCRATCH/out")" "0 1"
tap_done
