#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Ansible role on a fresh Debian with a real systemd: what it would do, what it does, that a second run changes nothing,
# that a site's setting reaches the service and no log, that the controller's courier runs, and that a fault fails the play
# in doctor's words, as does a doctor that says nothing.
# timeout 2400
# alone
. "$(dirname "$0")/../tap.sh"
export LC_ALL=C.UTF-8 # Ansible takes no other encoding
have_root || skip_all "needs root"
for c in mmdebstrap dh unshare nsenter dpkg-scanpackages; do command -v $c >/dev/null || skip_all "$c is not installed"; done
if command -v ansible-lint >/dev/null; then
	is "ansible-lint has nothing to say" "$(cd packaging/ansible && HOME=$SCRATCH ansible-lint --offline --nocolor -p roles/ceems 2>/dev/null; echo $?)" 0
else
	skip "ansible-lint has nothing to say" "ansible-lint is not installed"
fi
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
root=${TMPDIR:-/tmp}/ceems-ansible.$$
box() { local what=$1; shift; test/rig/box "$what" "$root" "$@"; }
test_cleanup() { box end; rm -rf --one-file-system "$root" "$root".*; }
here() { box type bash -c "$1"; }
box make "$suite" systemd,systemd-sysv,dbus,slurmd,slurm-client,ansible-core,python3-apt >"$SCRATCH/make" 2>&1 || skip_all "$(tail -n 1 "$SCRATCH/make")"
ok "a fresh Debian ($suite) is up" box boot
build=$(cd "$BUILD" && pwd)
ok "packages are built" eval 'packaging/deb/build 0.1.0 "$root/srv/debs" "$build" >"$SCRATCH/made" 2>&1' || { tail "$SCRATCH/made"; tap_done; }
(cd "$root/srv/debs" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
echo 'deb [trusted=yes] file:/srv/debs ./' >"$root/etc/apt/sources.list.d/site.list"
# the rest is without a network, as the loopback address is the box's own
box type --net bash -c 'apt-get -qq update && apt-get -qq -y -d install ceemsd ceems-gpu ceems-profiler ceems-tools' >"$SCRATCH/update" 2>&1
release=$(here 'slurmd -V' | sed -n 's/^slurm[a-z-]* \([0-9.]*\).*/\1/p')
mkdir -p "$root/etc/slurm" "$root/root/play"
printf 'ClusterName=blue\nSlurmctldHost=elsewhere\nNodeName=box\nProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\nJobAcctGatherType=jobacct_gather/cgroup\nPrologFlags=Contain\n' >"$root/etc/slurm/slurm.conf"
cp -r packaging/ansible/roles "$root/root/play"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=management -keyout "$SCRATCH/key" -out "$root/root/play/aggregator.crt" 2>/dev/null
site() { # the settings of the play
	cat >"$root/root/play/site.yml" <<-END
		- hosts: localhost
		  connection: local
		  roles:
		    - role: ceems
		      ceems_slurm_release: "$release"
		      $1
	END
}
play() { # its recap: what was changed and what failed
	box type bash -c "cd /root/play && ANSIBLE_NOCOLOR=1 ansible-playbook -i localhost, site.yml $*" >"$SCRATCH/play" 2>&1 </dev/null
	sed -n 's/^localhost .*changed=\([0-9]*\) .*failed=\([0-9]*\) .*/\1 \2/p' "$SCRATCH/play"
}
installed() { here "dpkg-query -W -f '\${db:Status-Status}\n' 'ceems*' 2>/dev/null | grep -cx installed"; }

site 'ceems_setup: {node: ["--controller=no", "--slurm=yes"]}
      ceems_settings: {ceemsd: "unit.min-export: 5s\n"}
      ceems_aggregator_certificate: aggregator.crt'
like "it says what it would do" "$(play --check)" '^[1-9][0-9]* 0$' || sed 's/^/# /' "$SCRATCH/play"
is "and does nothing of it" "$(installed)" 0
site 'ceems_setup: {node: ["--controller=no", "--slurm=yes"]}'
like "it installs, configures and starts a node" "$(play)" '^[1-9][0-9]* 0$' || { tail -n 40 "$SCRATCH/play" | sed 's/^/# /'; tap_done; }
is "with the packages of a node and of its Slurm" "$(here "dpkg-query -W -f '\${db:Status-Status} \${Package}\n' 'ceems*' | sed -n 's/^installed //p' | xargs")" \
	"ceems-common ceems-gpu ceems-profiler ceems-slurm-daemon-$release ceems-slurm-spank-${release%.*} ceems-tools ceemsd"
is "ceemsd runs, and will after a boot" "$(here 'systemctl is-active ceemsd; systemctl is-enabled ceemsd' | xargs)" "active enabled"
like "the plugins are linked" "$(here 'ceems-slurm-plugins status | grep -c ": linked"')" '^[1-9]'
is "lines that Slurm reads when it starts again are shown" "$(grep -c 'spank_ceems.so added"' "$SCRATCH/play")" 1
is "a second run changes nothing" "$(play)" "0 0" || grep '^changed' -B2 "$SCRATCH/play" | sed 's/^/# /'
pid() { here 'systemctl show -p MainPID --value ceemsd'; }
was=$(pid)
site 'ceems_setup: {node: ["--controller=no", "--slurm=yes", "--listen=127.0.0.1:9011"]}
      ceems_settings: {ceemsd: "unit.min-export: 5s\n"}
      ceems_aggregator_certificate: aggregator.crt'
like "another answer and a setting of the site are changes" "$(play -v --diff)" '^[1-9][0-9]* 0$' || tail -n 40 "$SCRATCH/play" | sed 's/^/# /'
is "the text of settings is in no log" "$(grep -c min-export "$SCRATCH/play")" 0
is "which the service has taken" "$(here 'grep -h min-export /etc/ceems/ceemsd.d/60-site.yaml; ceems_tool check health http://127.0.0.1:9011 >/dev/null; echo $?' | xargs)" "unit.min-export: 5s 0"
ok "by being started again" [ "$(pid)" != "$was" ]
is "and that once" "$(play)" "0 0"
site 'ceems_setup: {node: ["--controller=no", "--slurm=yes"]}
      ceems_settings: {ceemsd: "no-such-option: 1\n"}'
like "a setting that ceemsd refuses fails the play" "$(play) $(grep -o '60-site.yaml:1:' "$SCRATCH/play" | head -n 1)" '^[0-9]+ 1 60-site.yaml:1:$'
site 'ceems_setup: {node: ["--controller=no", "--slurm=yes", "--aggregator=http://127.0.0.1:1"]}
      ceems_settings: {ceemsd: ""}'
like "so does a fault that doctor finds, in its words" "$(play) $(grep -o 'http://127.0.0.1:1' "$SCRATCH/play" | head -n 1)" '^[0-9]+ 1 http://127.0.0.1:1$' || tail -n 30 "$SCRATCH/play" | sed 's/^/# /'
site 'ceems_setup: {node: ["--controller=yes", "--slurm=yes", "--aggregator=http://127.0.0.1:1"]}
      ceems_flush: true
      ceems_doctor: false'
like "a host of slurmctld gets the courier as well" "$(play) $(here 'systemctl is-enabled ceems-courier ceems-flush' | xargs) $(here 'systemctl is-active ceems-courier ceems-flush' | xargs)" '^[1-9][0-9]* 0 enabled enabled active active$' || tail -n 30 "$SCRATCH/play" | sed 's/^/# /'
is "and that once" "$(play)" "0 0"
here 'mv /usr/bin/ceems_tool /usr/bin/ceems_tool.real; printf "#!/bin/sh\n[ \$1 != doctor ] || exit 127\nexec ceems_tool.real \"\$@\"\n" >/usr/bin/ceems_tool; chmod 755 /usr/bin/ceems_tool'
site 'ceems_setup: {node: ["--controller=yes", "--slurm=yes", "--aggregator=http://127.0.0.1:1"]}'
like "a doctor that does not answer is a fault" "$(play) $(grep -c 'Nothing is wrong with this node' "$SCRATCH/play")" '^[0-9]+ 1 1$' || tail -n 20 "$SCRATCH/play" | sed 's/^/# /'
tap_done
