#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 1800
# The Debian packages: built, looked at by lintian, and installed, upgraded, removed and purged by apt in a copy of
# this system (an overlay in a mount namespace of its own; nothing of it is left, and nothing of the machine changes).
# The newer Slurm of the upgrade is made up: a package with that name and version and nothing in it.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for p in dh lintian apt-get dpkg-deb unshare systemd-sysusers; do
	command -v $p >/dev/null || skip_all "$p is not installed"
done
grep -q '^VERSION_ID="12"' /etc/os-release || skip_all "this is not Debian 12, whose Slurm the test knows"
dpkg -s slurm-wlm-basic-plugins >/dev/null 2>&1 || skip_all "Debian's Slurm is not installed"
. test/overlay.sh
overlay_possible || skip_all "the kernel mounts no overlay here"

first=$SCRATCH/first second=$SCRATCH/second
build=$(cd "$BUILD" && pwd)
ok "the packages are built" eval 'packaging/deb/build 0.1.0~test "$first" "$build" >"$SCRATCH/made"' || tap_done
is "each program of ours is in one of them, once" \
	"$(for d in $(cat "$SCRATCH/made"); do dpkg-deb -c "$d"; done | sed -nE 's,.* \./((usr/s?bin|usr/lib/ceems)/.*[^/])$,\1,p' | sort | uniq -d)" ""
is "lintian has nothing to say" "$(lintian --allow-root "$first"/*.deb 2>&1)" ""
size() { local n=0 d; for d; do n=$((n + $(dpkg-deb -f "$d" Installed-Size))); done; echo $n; }
node=$(size "$first"/ceems-common_* "$first"/ceemsd_* "$first"/ceems-gpu_* "$first"/ceems-slurm-spank-22.05_* "$first"/ceems-slurm-daemon-22.05.8_*)
tap_say "a node's packages take $node KiB" || true
ok "a node's packages take less than 6 MB" test "$node" -lt 6000
ok "and a second release" eval 'packaging/deb/build 0.1.1~test "$second" "$build" >/dev/null'

mkdir "$SCRATCH/fake" && (
	cd "$SCRATCH/fake" || exit 1
	mkdir -p p/DEBIAN
	printf 'Package: slurm-wlm-basic-plugins\nVersion: 24.11.5-4\nArchitecture: all\nMaintainer: test <root@localhost>\nDescription: stands for a newer one\n' >p/DEBIAN/control
	dpkg-deb --root-owner-group --build p newer.deb >/dev/null
)
cat >"$SCRATCH/inside" <<'END'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root
unset SLURM_CONF
rm -f /etc/slurm/slurm.conf
install() { apt-get -q -y --no-install-recommends --allow-downgrades -o Dpkg::Use-Pty=0 install "$@" >log 2>&1; }
install ./first/ceems*.deb; say all "$? $(grep -c 'held broken packages' log)"
wanted="first/ceems-common_* first/ceems-tools_* first/ceems-doc_* first/ceems-gpu_* first/ceemsd_* first/ceems-aggregator_* first/ceems-lb_* first/ceems-redfish-proxy_* first/ceems-libvirt_* first/ceems-k8s_* first/ceems-slurm-spank-22.05_* first/ceems-slurm-daemon-22.05.8_*"
install $(printf './%s ' $wanted); say installed "$?"; cp log log.installed
say accounts "$(getent passwd ceems ceems-aggregator ceems-lb ceems-redfish | cut -d: -f1,7 | paste -sd' ')"
say modes "$(stat -c '%n %a %U:%G' /etc/ceems /etc/ceems/ceemsd.yaml /etc/ceems/lb.yaml /etc/ceems/aggregator.yaml /etc/ceems/cacct.yaml /run/ceems /var/spool/ceems/ceemsd | paste -sd' ')"
say enabled "$(find /etc/systemd/system -name '*ceems*' -o -name 'redfish_proxy*' | xargs -rn1 basename | paste -sd' ')"
say running "$(ps -e -o comm= | grep -cE '^(ceems_lb|ceems_aggregator|redfish_proxy)$')"
for p in ceemsd ceems_lb redfish_proxy; do
	u=ceems f=/etc/ceems/$p.yaml
	case $p in ceems_lb) u=ceems-lb f=/etc/ceems/lb.yaml ;; redfish_proxy) u=ceems-redfish ;; esac
	setpriv --reuid $u --regid $u --clear-groups $p --check-config --config.file=$f >checked 2>&1; say "config.$p" "$? $(head -1 checked)"
done
say link "$(ceems-slurm-plugins link | grep -c ': linked')"
say man "$(for m in ceemsd ceems-gpu ceems-opener cacct ceems-ringdump ceems-slurm-plugins; do man -w $m >/dev/null 2>&1 || echo $m; done)"
# what setup writes goes with the packages
setup() { ceems_tool setup "$@" </dev/null >log.setup 2>&1; }
setup node --aggregator http://127.0.0.1:9020 --controller yes; say setup.node "$? $(grep ^fail: log.setup | head -n 1)"
setup aggregator; say setup.aggregator "$? $(grep ^fail: log.setup | head -n 1)"
setup lb; say setup.lb "$? $(grep ^fail: log.setup | head -n 1)"
say setup.modes "$(stat -c '%n %a %U:%G' /etc/ceems/ceemsd.d/50-setup.yaml /etc/ceems/lb-web.d/50-setup.yaml /etc/ceems/secrets/lb-grafana.password | paste -sd' ')"
cat /etc/ceems/*.d/*.yaml /etc/ceems/secrets/* | sha256sum >setup.before
# an upgrade keeps what the site wrote
echo '# ours' >>/etc/ceems/ceemsd.yaml
echo record >/var/spool/ceems/ceemsd/x
# half an upgrade: the machine went down when one package was unpacked
dpkg --unpack second/ceemsd_*.deb >log 2>&1
say half "$(dpkg --configure -a >log 2>&1; echo $?) $(grep -c 'ceemsd depends on ceems-common (= 0.1.1' log)"
install -f $(printf './%s ' ${wanted//first\//second/}); say upgrade "$?"
say upgraded "$(dpkg-query -W -f '${Version} ' ceemsd ceems-tools ceems-slurm-daemon-22.05.8)$(tail -1 /etc/ceems/ceemsd.yaml)$(stat -c ' %a %U:%G' /etc/ceems/ceemsd.yaml) $(cat /var/spool/ceems/ceemsd/x)"
say upgrade.setup "$(cat /etc/ceems/*.d/*.yaml /etc/ceems/secrets/* | sha256sum | diff - setup.before && echo kept)"
# no room for what a postinst makes
mount -t tmpfs -o size=4k,nr_inodes=1 full /run && rm -rf /var/spool/ceems
apt-get -q -y --reinstall -o Dpkg::Use-Pty=0 install ./second/ceemsd_*.deb >log 2>&1; say full "$? $(dpkg-query -W -f '${db:Status-Status}' ceemsd)"
umount /run; systemd-tmpfiles --create ceems.conf; say full.mended "$? $(stat -c %a /run/ceems /var/spool/ceems/ceemsd | paste -sd' ')"
# a newer Slurm while slurm.conf names a plugin that will not fit
mkdir -p /etc/slurm && printf 'JobCompType=jobcomp/ceems\nSlurmctldHost=%s\n' "$(hostname)" >/etc/slurm/slurm.conf
install ./fake/newer.deb; say newer.named "$? $(grep -c 'it is for Slurm 22.05.8 only' log) $(grep -c 'would not start again' log) $(dpkg-query -W -f '${Version}' slurm-wlm-basic-plugins | cut -c1-5)"
ls /usr/lib/*/slurm-wlm/jobcomp_ceems.so >/dev/null 2>&1; say newer.kept "$?"
# the same by a repository that has the newer Slurm and no plugins for it
mkdir repository && cp fake/newer.deb repository && (cd repository && dpkg-scanpackages . >Packages 2>/dev/null)
echo "deb [trusted=yes] file:$PWD/repository ./" >repository.list
full_upgrade() { apt-get -q -y --allow-downgrades -o Dpkg::Use-Pty=0 -o Dir::Etc::sourcelist="$PWD/repository.list" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 "$@" >log 2>&1; }
full_upgrade -f install; full_upgrade update; full_upgrade full-upgrade; say full_upgrade "$? $(grep -c 'would not start again' log) $(dpkg-query -W -f '${Version}' slurm-wlm-basic-plugins | cut -c1-5) $(ceems-slurm-plugins status | grep -c ': linked')"
rm /etc/slurm/slurm.conf
apt-get -qq -y -f install >/dev/null 2>&1
install ./fake/newer.deb; say newer "$?"
say newer.gone "$(dpkg-query -W -f '${db:Status-Status} ' ceems-slurm-spank-22.05 ceems-slurm-daemon-22.05.8 ceemsd 2>/dev/null) $(find /usr/lib -name '*ceems*.so' -path '*slurm-wlm*' | wc -l)"
say wrong "$(install ./first/ceems-common_*.deb ./first/ceems-slurm-spank-22.05_*.deb; echo $? $(grep -c 'slurm-wlm-basic-plugins (< 22.06~)' log))"; cp log log.wrong
rm -f /etc/ceems/ceemsd.d/50-setup.yaml.new
echo 'unit.min-export: 5s' >/etc/ceems/ceemsd.d/60-site.yaml
mkdir -p /var/lib/ceems/aggregator && echo 15 >/var/lib/ceems/aggregator/PG_VERSION
mkdir -p /var/cache/ceems/debug # as a service makes it
apt-get -qq -y purge 'ceems*' >log 2>&1; say purge "$? $(getent passwd ceems ceems-aggregator ceems-lb ceems-redfish | wc -l)"
say database "$(cat /var/lib/ceems/aggregator/PG_VERSION)"
say left "$(find written -regextype posix-extended -regex 'written/(tmp|var/(cache|log|lib/(dpkg|apt|systemd)))' -prune -o -name '*ceems*' ! -type c -printf '/%P\n' | sort | paste -sd' ')"
END
overlay_ask "$SCRATCH/inside"
like "all packages at once are refused: those of two Slurms cannot be on one host" "$(said all)" '^100 1$'
is "those of a node and of servers install" "$(said installed)" 0
is "with an account for each service" "$(said accounts)" "ceems:/usr/sbin/nologin ceems-aggregator:/usr/sbin/nologin ceems-lb:/usr/sbin/nologin ceems-redfish:/usr/sbin/nologin"
is "and each file is for its service alone" "$(said modes)" "/etc/ceems 751 root:ceems /etc/ceems/ceemsd.yaml 640 root:ceems /etc/ceems/lb.yaml 640 root:ceems-lb /etc/ceems/aggregator.yaml 640 root:ceems-aggregator /etc/ceems/cacct.yaml 644 root:root /run/ceems 750 root:ceems /var/spool/ceems/ceemsd 700 ceems:ceems"
is "ceemsd is enabled, servers are not" "$(said enabled)" ceemsd.service
for p in ceemsd redfish_proxy; do
	like "$p accepts its packaged configuration as its own user" "$(said config.$p)" '^0'
done
is "the plugins link into Slurm's folder" "$(said link)" "$(ls "$build"/slurm/22.05/*.so "$build"/slurm/22.05.8/*.so | wc -l)"
is "each program has its manual page" "$(said man)" ""
for r in node aggregator lb; do like "setup $r, as root, is accepted by its programs" "$(said setup.$r)" '^[01] $'; done
is "and each service alone reads its part" "$(said setup.modes)" "/etc/ceems/ceemsd.d/50-setup.yaml 640 root:ceems /etc/ceems/lb-web.d/50-setup.yaml 640 root:ceems-lb /etc/ceems/secrets/lb-grafana.password 600 root:root"
is "half an upgrade is refused, naming what is missing" "$(said half)" "1 1"
is "a second release installs over it, and over half of it" "$(said upgrade)" 0
is "and keeps what the site wrote, its mode, and records" "$(said upgraded)" "0.1.1~test 0.1.1~test 0.1.1~test # ours 640 root:ceems record"
is "and what setup wrote" "$(said upgrade.setup)" kept
is "no room for the folders of a service does not break dpkg" "$(said full)" "0 installed"
is "and they are made when there is room again" "$(said full.mended)" "0 750 700"
is "a newer Slurm is not let in while slurm.conf names a plugin that would not fit, and it is said" "$(said newer.named)" "100 1 1 22.05"
is "and the plugin stays" "$(said newer.kept)" 0
is "nor by a full-upgrade from a repository that has no plugins for it: apt stops, the links stay" "$(said full_upgrade)" "100 1 22.05 5"
is "else it takes the plugins of the old one away" "$(said newer)" 0
is "and their links, but nothing else" "$(said newer.gone)" "installed  0"
is "a plugin of the wrong Slurm is refused by apt, which names the release" "$(said wrong)" "100 1"
is "a purge succeeds, and no account goes with it" "$(said purge)" "0 4"
is "and leaves nothing but the aggregator's database" "$(said left) $(said database)" "/var/lib/ceems 15"
[ ! -s "$SCRATCH/errors" ] || sed 's/^/# /' "$SCRATCH/errors"
tap_done
