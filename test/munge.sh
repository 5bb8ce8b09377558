# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests with MUNGE credentials: starts a munged of their own.
#   have_munge PROGRAM && munge_start     MUNGE_SOCKET, in $SCRATCH/munge
MUNGE_SOCKET=$SCRATCH/munge/munge.socket.2

have_munge() { # program of ours that was built with libmunge
	have_root && command -v munged >/dev/null && command -v munge >/dev/null && grep -q -e munge_encode -e munge_decode "$1"
}
# munged outlives a run that is killed, and must not keep inherited descriptors open: a pipe's reader would wait for it.
munge_start() { # [flags]
	mkdir -m 755 "$SCRATCH/munge"
	(umask 077 && head -c 1024 /dev/urandom >"$SCRATCH/munge.key")
	(
		for fd in /proc/"$BASHPID"/fd/*; do
			fd=${fd##*/}
			[ "$fd" -le 2 ] || eval "exec $fd>&-"
		done
		exec munged --foreground --force --key-file="$SCRATCH/munge.key" --socket="$MUNGE_SOCKET" \
			--pid-file="$SCRATCH/munge/pid" --log-file="$SCRATCH/munged.log" --seed-file="$SCRATCH/munge.seed" "$@"
	) </dev/null >"$SCRATCH/munged.out" 2>&1 &
	started $!
	wait_for 30 test -S "$MUNGE_SOCKET"
}
munge_payload() { # METHOD, http URL, the body's file: what a credential for this request says
	local place=${2#http://}
	printf 'ceems-http/2 %s %s /%s %s' "$1" "${place%%/*}" "${place#*/}" "$(sha256sum <"${3:-/dev/null}" | cut -d' ' -f1)"
}
