# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: free_port prints a TCP port of 127.0.0.1 for a test's own server. One counter for all
# tests of a user, so that two that run at once never get the same; below the kernel's own choice
# for outgoing connections (net.ipv4.ip_local_port_range, 32768 and up), where a port that is free
# now may be some client's, or in TIME_WAIT, when the server asks for it.
free_port() {
	local p n counter=${TMPDIR:-/tmp}/ceems-test-port.$EUID
	exec {port_lock}>>"$counter" || return 1
	flock "$port_lock"
	p=$(tail -n1 "$counter")
	case $p in '' | *[!0-9]*) p=$((RANDOM % 12000)) ;; esac
	for n in $(seq 200); do
		p=$(((p + 1) % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$((20000 + p))") 2>/dev/null || break
	done
	echo "$p" >"$counter"
	exec {port_lock}>&-
	[ "$n" -lt 200 ] && echo $((20000 + p))
}
