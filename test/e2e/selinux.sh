#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The policy module is built and linked into Debian's policy, in a copy of this system where apt installs that: each of our
# programs, folders and ports then has our label, every installed file has one, and services may enter their domain. This
# kernel has no SELinux: nothing is seen of how they fare.
# timeout 900
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in checkmodule semodule_package apt-get; do command -v $c >/dev/null || skip_all "$c is not installed"; done
. test/overlay.sh
overlay_possible || skip_all "the kernel mounts no overlay here"
ok "the module is built" packaging/selinux/build "$SCRATCH/module"
make -s install DESTDIR="$SCRATCH/root" PREFIX=/usr >"$SCRATCH/install.log" 2>&1 || { ok "it installs" false; tap_done; }
cp packaging/selinux/ports "$SCRATCH"
cat >"$SCRATCH/inside" <<'END'
cd "$1" || exit 1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root
apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install selinux-policy-default policycoreutils-python-utils selinux-utils >apt 2>&1 || exit 77
semodule -n -s default -i module/ceems.pp >linked 2>&1; echo "$?" >linked.rc
./ports -N -S default >ports.log 2>&1; echo "$?" >ports.rc
./ports -N -S default >ports.again 2>&1; echo "$?" >>ports.rc
semanage port -S default -l -n | awk '$1 == "ceems_port_t" { $1 = $2 = ""; print }' | tr -d ' ' | tr , '\n' | sort | xargs >ports.are
for f in root/usr/sbin/*; do matchpathcon -N "/usr/sbin/${f##*/}"; done | grep -v -e ceems-ringdump -e ceems-slurm-plugins >programs
(cd root && find . -type f -printf '/%P\n') | xargs matchpathcon -N >installed
{
	sed -nE 's,^RuntimeDirectory=,/run/,p; s,^StateDirectory=,/var/lib/,p; s,^CacheDirectory=,/var/cache/,p' root/usr/lib/systemd/system/*
	awk '$1 ~ /^[dz]$/ { print $2 }' root/usr/lib/tmpfiles.d/*
} | sort -u | xargs matchpathcon -N >made
cat >rules.py <<'PY'
import glob, setools
p = setools.SELinuxPolicy(sorted(glob.glob('/etc/selinux/default/policy/policy.*'))[-1])
rules = setools.TERuleQuery(p, ruletype=['allow'], source='init_t', target='ceems_t', tclass=['process2']).results()
print('permissive' if p.lookup_type('ceems_t').ispermissive else 'enforcing', *sorted({x for r in rules for x in r.perms}))
for t in 'conf', 'runtime', 'spool', 'db', 'exec':
    print(t, *sorted(str(a) for a in p.lookup_type('ceems_%s_t' % t).attributes() if str(a) in ('configfile', 'pidfile', 'spoolfile', 'non_security_file_type')))
PY
python3 rules.py >rules 2>&1 || /usr/bin/python3 rules.py >rules 2>&1
matchpathcon -N /etc/ceems/ceemsd.d/50-setup.yaml /run/ceems/ring /var/spool/ceems/jobcomp/x /var/cache/ceems/debug/x /var/lib/ceems/aggregator /etc/passwd >files
END
overlay_run "$SCRATCH/inside" "$SCRATCH" >"$SCRATCH/log" 2>&1
[ $? != 77 ] || { skip "it fits Debian's policy" "apt: $(grep -m1 '^E:' "$SCRATCH/apt")"; tap_done; }
is "it fits Debian's policy" "$(cat "$SCRATCH/linked.rc")" 0 || sed 's/^/# /' "$SCRATCH/linked"
is "every service's program is entered by it" "$(grep -vc ceems_exec_t "$SCRATCH/programs") $(grep -v ceems_exec_t "$SCRATCH/programs")" "0 "
ok "and there are some" [ "$(wc -l <"$SCRATCH/programs")" -gt 5 ]
is "folders have labels by what they hold" "$(awk '{ print $1 ":" $2 }' "$SCRATCH/files" | cut -d: -f1,4 | xargs)" \
	"/etc/ceems/ceemsd.d/50-setup.yaml:ceems_conf_t /run/ceems/ring:ceems_runtime_t /var/spool/ceems/jobcomp/x:ceems_spool_t /var/cache/ceems/debug/x:ceems_spool_t /var/lib/ceems/aggregator:ceems_db_t /etc/passwd:etc_t"
is "so has each that a unit or tmpfiles makes or looks after" "$(grep -v :ceems_ "$SCRATCH/made") $([ "$(wc -l <"$SCRATCH/made")" -gt 10 ]; echo $?)" " 0"
is "each installed file has a label, and plugins that of libraries" "$(awk '$2 !~ /_t:/ || $2 ~ /default_t|unlabeled_t/ { print $1 }' "$SCRATCH/installed") $(grep '[.]so' "$SCRATCH/installed" | grep -vc :lib_t:)" " 0"
ok "and there are some" [ "$(wc -l <"$SCRATCH/installed")" -gt 100 ]
is "a unit without new privileges enters its domain, which refuses nothing" "$(head -n 1 "$SCRATCH/rules")" "permissive nnp_transition nosuid_transition"
is "other domains may manage our files as they do any" "$(tail -n +2 "$SCRATCH/rules" | paste -sd,)" \
	"conf configfile non_security_file_type,runtime non_security_file_type pidfile,spool non_security_file_type spoolfile,db non_security_file_type,exec non_security_file_type" || sed 's/^/# /' "$SCRATCH/rules"
is "ports are ours, whoever had them, also the second time" "$(cat "$SCRATCH/ports.rc" "$SCRATCH/ports.are" | xargs)" "0 0 9010 9020 9030 9040" || sed 's/^/# /' "$SCRATCH/ports.log" "$SCRATCH/ports.again"
tap_done
