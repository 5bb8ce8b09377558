#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mk/deps on this machine's own system, seen through an overlay so that nothing here changes:
# it installs what is missing, says so first, and starts and enables no service.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
command -v apt-get >/dev/null || skip_all "no apt-get here"

# runs itself once more inside the overlay
if [ -z "${IN_OVERLAY:-}" ]; then
	export IN_OVERLAY=1 OVERLAY=$SCRATCH/overlay
	mkdir "$OVERLAY"
	unshare --mount --pid --fork --kill-child --propagation private bash -c '
		mount -t tmpfs none "$OVERLAY" && cd "$OVERLAY" && mkdir up work root &&
		mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root &&
		mount -t proc proc root/proc && mount --rbind /dev root/dev &&
		mount -t tmpfs -o mode=1777 none root/tmp &&
		mkdir -p "root$1" && mount --rbind "$1" "root$1" &&
		exec chroot root "$1/test/e2e/deps.sh"' x "$TOP" >"$SCRATCH/out" 2>&1
	rc=$?
	grep -q '^1\.\.' "$SCRATCH/out" || { sed 's/^/# /' "$SCRATCH/out"; skip_all "no overlay of / possible here"; }
	cat "$SCRATCH/out"
	exit $rc
fi

rm -f /var/lib/man-db/auto-update # its trigger takes most of the time
policy=/usr/sbin/policy-rc.d
links() { find /etc/systemd/system /etc/rc?.d -type l 2>/dev/null | grep prometheus-node-exporter; }
daemon_runs() { local p; for p in /proc/[0-9]*; do [ "$(cat "$p/comm" 2>/dev/null)" = prometheus-node ] && return 0; done; return 1; }
# the exporter starts and enables a daemon when it is installed, mandoc does not
remove() { apt-get -y purge prometheus-node-exporter mandoc >/dev/null 2>&1; rm -f $policy; links | xargs -r rm -f; }

remove
apt-get -y --no-install-recommends -d install prometheus-node-exporter mandoc >"$SCRATCH/apt" 2>&1 ||
	{ apt-get update >/dev/null 2>&1 && apt-get -y --no-install-recommends -d install prometheus-node-exporter mandoc >"$SCRATCH/apt" 2>&1; } ||
	skip_all "apt cannot fetch packages here: $(tail -n 1 "$SCRATCH/apt")"

# without a policy, Debian's package enables its service: else this test shows nothing
apt-get -y --no-install-recommends install prometheus-node-exporter >/dev/null 2>&1
ok "a plain installation would have enabled the service" [ -n "$(links)" ]
remove

out=$(mk/deps check 2>&1)
like "the list of packages comes first" "$(head -2 <<<"$out")" 'will be installed .*no service'
like "the list names what is missing" "$out" '  prometheus-node-exporter '
is "the packages are installed" "$(dpkg-query -W -f '${db:Status-Status} ' prometheus-node-exporter mandoc)" "installed installed "
is "no service was enabled" "$(links | grep -v '/K01')" ""
ok "no daemon runs" bash -c "! $(declare -f daemon_runs); ! daemon_runs"
ok "the policy is gone" [ ! -e $policy ]
is "a second call says nothing" "$(mk/deps check 2>&1)" ""
is "the demo's packages are among those of the checks" "$(comm -23 <(mk/deps list d | sort) <(mk/deps list c | sort))" ""

remove
mk/deps check >/dev/null 2>&1 &
pid=$!
wait_for 20 [ -e $policy ]
kill -9 $pid
no_cluster=/etc/postgresql-common/createcluster.d
ours() { ls -d $policy* $no_cluster/*ceems* 2>/dev/null; }
gone() { [ -z "$(ours)" ]; }
ok "killed, it takes its files away again" wait_for 180 gone
is "and leaves no service enabled" "$(links | grep -v '/K01')" ""

# killed at each step of making them: chmod comes after a file is written and before it has its name
mkdir "$SCRATCH/bin"
cat >"$SCRATCH/bin/chmod" <<-END
	#!/bin/sh
	echo >>$SCRATCH/calls
	[ "\$(wc -l <$SCRATCH/calls)" != "\$KILL_AT" ] || { ls $policy* $no_cluster/*ceems* >$SCRATCH/seen 2>/dev/null; kill -9 \$PPID; }
	exec /bin/chmod "\$@"
END
chmod 755 "$SCRATCH/bin/chmod"
for n in 1 2; do
	remove
	: >"$SCRATCH/calls"
	PATH=$SCRATCH/bin:$PATH KILL_AT=$n mk/deps check >/dev/null 2>&1
	is "killed at file $n of two, it had begun that one" "$? $(wc -l <"$SCRATCH/calls") $(wc -l <"$SCRATCH/seen")" "137 $n $n"
	ok "and takes away what it made" wait_for 180 gone
	is "nor does what waited for its end stay" "$(find /tmp -name 'ceems-deps.*' -type p)" ""
done

remove
printf '#!/bin/sh\n# of the machine\nexit 101\n' >$policy && chmod 755 $policy
mk/deps check >/dev/null 2>&1
like "a refusing policy of the machine stays" "$(cat $policy)" "of the machine"
remove
printf '#!/bin/sh\nexit 0\n' >$policy && chmod 755 $policy
like "with a policy that permits, nothing is installed" "$(mk/deps check 2>&1)" \
	"lets packages start services; not installed: .*prometheus-node-exporter"
is "and that policy stays" "$(tail -n 1 $policy)" "exit 0"
rm -f $policy
# Debian's server package makes a database and starts it: only its programs are wanted
if dpkg-query -W -f '${db:Status-Status}' postgresql-15 2>/dev/null | grep -qx installed; then
	apt-get -y purge postgresql-15 postgresql-common >/dev/null 2>&1
	rm -rf /etc/postgresql /var/lib/postgresql
	mk/deps check >/dev/null 2>&1
	is "Postgres comes without a database of the machine's" "$(dpkg-query -W -f '${db:Status-Status}' postgresql-15):$(ls /etc/postgresql 2>/dev/null)" "installed:"
	is "and nothing of it is left in /etc" "$(ls /etc/postgresql-common/createcluster.d 2>/dev/null)" ""
	remove
else
	skip "Postgres comes without a database of the machine's" "postgresql-15 is not installed"
fi
like "without root it says what is missing in one line" \
	"$(setpriv --reuid nobody --regid nogroup --clear-groups mk/deps check 2>&1)" "^deps: neither root nor sudo.*not installed: .*prometheus-node-exporter"
tap_done
