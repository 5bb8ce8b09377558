# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, in a virtual machine: this machine's systemd as the first process of a process namespace.
#   init_prepare; drop-ins and units below $units; init_start; inside COMMAND...
units=/run/systemd/system
init_prepare() {
	local s
	rm -f /etc/systemd/system/*.wants/* # what this machine starts is its own affair
	mkdir -p "$units" /var/log/ceems
	chmod 1777 /var/log/ceems
	printf '[Unit]\nDescription=nothing but what is asked for\n' >"$units/quiet.target"
	for s in systemd-udevd.service systemd-udev-trigger.service systemd-journal-flush.service systemd-timesyncd.service systemd-update-utmp.service; do ln -s /dev/null "$units/$s"; done
}
init() { pgrep -P "$holder" | head -1; }
inside() { nsenter -t "$(init)" -p -m -r -w env SYSTEMD_PAGER= SYSTEMD_COLORS=0 "$@"; }
booted() { inside systemctl is-active quiet.target; }
test_cleanup() { kill -9 "$holder"; }
init_start() {
	unshare --fork --pid --mount-proc --kill-child env container=ceems /lib/systemd/systemd --system --unit=quiet.target --show-status=no >/var/log/ceems/systemd 2>&1 &
	holder=$!
	disown $holder
	ok "systemd is there" wait_for 90 booted
}
