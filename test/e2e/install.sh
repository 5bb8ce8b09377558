#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make install puts everything where the documentation says, twice in a row, and the
# packaged samples are accepted by the programs that read them.
. "$(dirname "$0")/../tap.sh"

dest=$SCRATCH/root
install_to() { make -s install DESTDIR="$1" PREFIX=/usr >"$SCRATCH/install.log" 2>&1; }
list() { (cd "$1" && find . \( -type f -o -type d \) -printf '%M %P\n' | LC_ALL=C sort -k2); }
mode() { stat -c %a "$dest/$1" 2>/dev/null || echo missing; }
with() { [ -e "$BUILD/$1" ]; } # was this program built here?

ok "make install into a DESTDIR" install_to "$dest"
list "$dest" >"$SCRATCH/first"

for f in usr/lib/systemd/system/ceemsd.service usr/lib/systemd/system/redfish_proxy.service usr/lib/systemd/system/ceems-courier.service usr/lib/systemd/system/ceems-flush.service usr/lib/systemd/system/ceems_aggregator.service usr/lib/systemd/system/ceems_lb.service usr/lib/tmpfiles.d/ceems.conf \
	usr/lib/sysusers.d/ceems.conf usr/share/doc/ceems/README.md usr/share/doc/ceems/install.md \
	usr/share/doc/ceems/LICENSE usr/share/ceems/scrape.yaml usr/share/man/man8/ceemsd.8; do
	is "$f" "$(mode "$f")" 644
done
is "configuration folder is closed, but for files that are open themselves" "$(mode etc/ceems)" 751
is "cacct's configuration is for every user" "$(mode etc/ceems/cacct.yaml)" 644
if with cacct; then ok "and cacct takes it" env -u CEEMS_API_URL CEEMS_API_URL=http://127.0.0.1:9 bash -c "$BUILD/cacct --config.file=$dest/etc/ceems/cacct.yaml -e >/dev/null"; else skip "and cacct takes it" "not built here"; fi
for f in ceemsd aggregator lb redfish redfish_proxy web-config aggregator-web lb-web redfish_proxy-web; do is "$f.yaml is not for everybody" "$(mode "etc/ceems/$f.yaml")" 640; done
is "acct_gather.conf is not for everybody" "$(mode etc/ceems/acct_gather.conf)" 640
is "what SlurmUser reads, who is no member of ours, is" "$(mode etc/ceems/jobcomp.yaml) $(mode etc/ceems/ceems-courier.yaml)" "644 644"
is "no password opens two services" "$(grep -hoE '\$2y\$.*' "$dest"/etc/ceems/*.yaml | sort | uniq -d)" ""
units=$dest/usr/lib/systemd/system
account() { sed -n 's/^User=//p' "$units/$1.service"; }
is "each service has an account of its own" "$(for s in ceems_aggregator ceems_lb redfish_proxy ceems-courier; do account $s; done | xargs)" \
	"ceems-aggregator ceems-lb ceems-redfish slurm"
is "which sysusers make, but SlurmUser" "$(awk '$1 == "u" { print $2 }' "$dest/usr/lib/sysusers.d/ceems.conf" | xargs)" "ceems ceems-aggregator ceems-lb ceems-redfish"
is "none has a core file, memory or tasks without a bound" "$(grep -LE '^LimitCORE=0$' "$units"/*.service; grep -LE '^MemoryMax=' "$units"/*.service; grep -LE '^TasksMax=' "$units"/*.service)" ""
in_table() { sed -n "s/^| \`$1\` | [^|]* | \([^|]*\) |.*/\1/p" doc/security.md; }
web_of() { grep -ohE 'ceems/[a-z_]*-?web[a-z-]*[.]yaml' "$units/$1.service" "$dest/etc/ceems/$2.yaml" | sort -u; }
is "each service has a web configuration of its own" \
	"$(for s in ceemsd ceems_aggregator:aggregator ceems_lb:lb redfish_proxy; do web_of "${s%:*}" "${s#*:}"; done | xargs)" \
	"ceems/web-config.yaml ceems/aggregator-web.yaml ceems/lb-web.yaml ceems/redfish_proxy-web.yaml"
is "security.md has a row for each unit, with its account" "$(for f in "$units"/*.service; do u=${f##*/}; echo "$u $(in_table "$u")"; done)" \
	"$(for f in "$units"/*.service; do u=${f##*/}; a=$(account "${u%.service}"); echo "$u ${a:-root, then ceems}"; done)"
like "the controller's courier finds nothing else of SlurmUser's" "$(grep ^InaccessiblePaths "$units/ceems-courier.service" | xargs)" '-/var/lib/slurm .*-/etc/slurm/slurmdbd.conf'
if with ceemsd; then is "ceemsd" "$(mode usr/sbin/ceemsd)" 755; else skip "ceemsd" "not built here"; fi
if with ceems_tool; then is "ceems_tool" "$(mode usr/bin/ceems_tool)" 755; else skip "ceems_tool" "not built here"; fi
if with ceemsd; then
	make -s install DESTDIR= PREFIX="$SCRATCH/peer" sysconfdir="$SCRATCH/peer/etc" >"$SCRATCH/install.log" 2>&1
	"$SCRATCH/peer/bin/ceems_exporter" --check-config --collector.slurm --log.level=debug >"$SCRATCH/peer.out" 2>"$SCRATCH/peer.err"
	is "ceems_exporter is ceemsd with the same flags" "$? $(tail -1 "$SCRATCH/peer.out")" "0 $("$BUILD/ceemsd" --check-config --collector.slurm --log.level=debug 2>/dev/null | tail -1)"
	like "and says so" "$(head -1 "$SCRATCH/peer.err")" '^ceems_exporter: here it is ceemsd, .*/share/doc/ceems/migrate.md'
	"$SCRATCH/peer/bin/ceems_api_server" --web.listen-address=:9020 2>"$SCRATCH/peer.err"
	is "ceems_api_server starts nothing" "$?" 2
	like "but says how to move" "$(cat "$SCRATCH/peer.err")" 'here it is ceems_aggregator.*migrate config -- ceems_api_server --web.listen-address=:9020'
else
	skip "ceems_exporter is ceemsd with the same flags" "not built here"
fi
is "nothing is writable for others or setuid" "$(find "$dest" \( -perm /o+w -o -perm /6000 \) ! -type l)" ""
is "no placeholder is left" "$(grep -rlE '@[a-z]+dir@' "$dest" --include='*.service' --include='*.conf*' --include='*.yaml')" ""
is "nothing names the place where it was built" "$(grep -rlF -- "$dest" "$dest/usr/lib/systemd" "$dest/etc")" ""

# a site's own configuration survives an upgrade; all else is as after the first time
echo "# the site's own" >>"$dest/etc/ceems/ceemsd.yaml"
ok "make install again" install_to "$dest"
list "$dest" >"$SCRATCH/second"
is "the second installation gives the same files" "$(diff "$SCRATCH/first" "$SCRATCH/second")" ""
like "configuration is never overwritten" "$(tail -1 "$dest/etc/ceems/ceemsd.yaml")" "the site's own"

for page in install quickstart; do
	for p in $(mk/deps list d | tr '|' '\n' | grep -- -dev); do
		[ "$p" = libcurl-dev ] || grep -qE "(^|[ ])$p( |\\\\|\$)" "doc/$page.md" || echo "$p"
	done >"$SCRATCH/unnamed"
	is "$page.md names every package that programs are built with" "$(cat "$SCRATCH/unnamed")" ""
done
n=$(grep -cE '^[0-9]+\. ' doc/quickstart.md)
is "quickstart.md numbers its commands, fewer than 16" "$(sed -n 's/^\([0-9]*\)\. .*/\1/p' doc/quickstart.md | xargs) $([ "$n" -lt 16 ] && echo few)" "$(seq -s' ' "$n") few"
if with ceems_aggregator; then
	like "make says what it leaves out, and which package that wants" "$(make -s HAVE_PQ= all 2>&1)" 'left out: ceems_aggregator .*apt-get install libpq-dev'
	make -s install HAVE_PQ= DESTDIR="$SCRATCH/less" PREFIX=/usr >"$SCRATCH/less.log" 2>&1
	is "a unit whose program is not built is not installed" "$(cd "$SCRATCH/less/usr/lib/systemd/system" && echo *)" "ceems-courier.service ceems-flush.service $(! with ceems-k8s || echo "ceems-k8s.service ")$(! with ceems-libvirt || echo "ceems-libvirt.service ")ceems_lb.service ceemsd.service redfish_proxy.service"
else
	skip "make says what it leaves out, and which package that wants" "not built here"
fi
like "it advises no package that would not help: kernel programs know two processors" "$(make -s BPF_ARCH=riscv all 2>&1)" 'left out: ceems-opener ceems-profiler \(doc/install.md\)'
case $BUILD in
*/san-*) skip "a copy for packages is compiled of what there is" "a sanitizer build is not packaged" ;;
*)
	packaging/stage 0.1.0 "$SCRATCH/staged" "$BUILD" >"$SCRATCH/stage.log" 2>&1
	is "a copy for packages is made" "$? $(cat "$SCRATCH/stage.log")" "0 "
	is "it is compiled of what there is" "$(env -u MAKEFLAGS -u MAKELEVEL make -s -C "$SCRATCH/staged" BUILD=build all 2>&1)" ""
	;;
esac

mapfile -t plugins < <(find "$dest/usr/lib/ceems" -name '*.so' 2>/dev/null)
if [ "${#plugins[@]}" -gt 0 ]; then
	needed=$(for p in "${plugins[@]}"; do readelf -d "$p"; done | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | sort -u | grep -vE '^(libc|ld-linux.*|libpthread|libdl)\.so')
	case $BUILD in
	*/san-*) skip "plugins need nothing but libc" "a sanitizer build needs its runtime" ;;
	*) is "plugins need nothing but libc" "$needed" "" ;;
	esac
	exported=$(for p in "${plugins[@]}"; do nm -D --defined-only "$p"; done | awk '{print $3}' | grep -vE '^(slurm_spank_|spank_|plugin_|jobcomp_p_|prep_p_|acct_gather_|init$|fini$|ceems_job_started$)' | sort -u)
	is "plugins export only what Slurm looks up, and what prep_ceems calls in jobcomp_ceems" "$exported" ""
	is "plugins have their mode" "$(stat -c %a "${plugins[@]}" | sort -u)" 755
else
	skip "plugins need nothing but libc" "no plugin was built here"
fi

if command -v systemd-analyze >/dev/null; then
	# against the files just installed: a service's program must exist
	for f in "$dest"/usr/lib/systemd/system/*.service; do
		u=$SCRATCH/${f##*/}
		sed "s,^Exec\(Start\|Stop\)=[^ ]*,Exec\1=/bin/true," "$f" >"$u"
		is "systemd-analyze verify finds nothing in ${f##*/}" "$(systemd-analyze verify --man=no "$u" 2>&1 | grep -F "${u##*/}")" ""
		# what a service may still do, 0 to 10, by systemd's own measure: root at start costs ceemsd most
		most=25
		[ "${f##*/}" != ceemsd.service ] || most=55
		exposure=$(systemd-analyze security --no-pager --offline=true "$u" 2>/dev/null | sed -n 's/.*exposure level.*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
		if [ -n "$exposure" ]; then
			ok "systemd-analyze security of ${f##*/}: $exposure of 100, at most $most" [ "$exposure" -le $most ]
		else
			skip "systemd-analyze security of ${f##*/}" "this systemd has no offline mode"
		fi
	done
else
	skip "systemd-analyze verify finds nothing" "systemd-analyze is not installed"
fi
like "the ring survives a stop of the daemon" "$(cat "$dest/usr/lib/systemd/system/ceemsd.service")" "RuntimeDirectoryPreserve=yes"
like "the flush stops after ceemsd and slurmd, before MUNGE and the network" "$(tr '\n' ' ' <"$dest/usr/lib/systemd/system/ceems-flush.service")" "Before=ceemsd.service slurmd.service After=network.target .*munge.service"
like "root without CAP_KILL could not reload it" "$(cat "$dest/usr/lib/systemd/system/ceemsd.service")" "ExecReload=\+/bin/kill"
like "the daemon starts before slurmd" "$(cat "$dest/usr/lib/systemd/system/ceemsd.service")" "Before=slurmd.service"
if command -v systemd-tmpfiles >/dev/null && have_root; then
	# user and group ceems need not exist on this machine: look at the syntax only
	r=$SCRATCH/tmproot
	mkdir -p "$r/etc" && printf 'root:x:0:0::/:/bin/sh\nceems:x:64999:64999::/:/bin/false\n' >"$r/etc/passwd" && printf 'root:x:0:\nceems:x:64999:\n' >"$r/etc/group"
	n=64990
	for u in ceems-aggregator ceems-lb ceems-redfish; do
		echo "$u:x:$n:$n::/:/bin/false" >>"$r/etc/passwd"
		echo "$u:x:$n:" >>"$r/etc/group"
		n=$((n + 1))
	done
	cp -r "$dest/etc/ceems" "$r/etc/" # at each boot: what make install chose must stay
	before=$(cd "$r/etc/ceems" && stat -c '%n %a' . *)
	systemd-tmpfiles --root="$r" --create "$dest/usr/lib/tmpfiles.d/ceems.conf" >"$SCRATCH/tmpfiles.log" 2>&1
	is "tmpfiles make /run/ceems for root and group ceems" "$(stat -c '%a %u %g' "$r/run/ceems" 2>/dev/null)" "750 0 64999"
	is "tmpfiles leave the modes of the configuration as make install gave them" "$(cd "$r/etc/ceems" && stat -c '%n %a' . *)" "$before"
	is "and each file is for its service" "$(cd "$r/etc/ceems" && stat -c '%n %a %g' *.yaml | sed 's/[.]yaml//' | LC_ALL=C sort | paste -sd,)" \
		"aggregator 640 64990,aggregator-web 640 64990,cacct 644 0,ceems-courier 644 0,ceemsd 640 64999,jobcomp 644 0,lb 640 64991,lb-web 640 64991,redfish 640 64999,redfish_proxy 640 64992,redfish_proxy-web 640 64992,web-config 640 64999"
	is "tmpfiles make the daemon's spool private" "$(stat -c '%a %u' "$r/var/spool/ceems/ceemsd" 2>/dev/null)" "700 64999"
else
	skip "tmpfiles make /run/ceems for root and group ceems" "needs root and systemd-tmpfiles"
fi

if command -v promtool >/dev/null; then
	(umask 077 && mkdir -p "$SCRATCH/prom" && echo x >"$SCRATCH/prom/pw" &&
		sed "s|/etc/prometheus/ceems[a-z-]*[.]password|$SCRATCH/prom/pw|" contrib/prometheus/scrape.yaml >"$SCRATCH/prom/p.yml")
	promtool check config "$SCRATCH/prom/p.yml" >"$SCRATCH/scrape.log" 2>&1 && r=ok || r=$(cat "$SCRATCH/scrape.log")
	is "promtool accepts the sample scrape configuration" "$r" ok
	promtool check web-config "$dest/etc/ceems/web-config.yaml" >"$SCRATCH/web.log" 2>&1 && r=ok || r=$(cat "$SCRATCH/web.log")
	is "promtool accepts the packaged web configuration" "$r" ok
else
	skip "promtool accepts the sample scrape configuration" "promtool is not installed"
fi
if with ceemsd; then
	# the packaged configuration with its web configuration at this place
	mkdir -p "$SCRATCH/etc" && cp contrib/packaging/etc/web-config.yaml "$SCRATCH/etc/" && chmod 600 "$SCRATCH/etc/web-config.yaml"
	sed "s|@sysconfdir@/ceems|$SCRATCH/etc|" contrib/packaging/etc/ceemsd.yaml.in >"$SCRATCH/etc/ceemsd.yaml"
	out=$("$BUILD/ceemsd" --check-config --config.file="$SCRATCH/etc/ceemsd.yaml" 2>&1) && r=ok || r=$out
	is "ceemsd accepts the packaged configuration" "$r" ok
else
	skip "ceemsd accepts the packaged configuration" "not built here"
fi
if with ceems-courier; then
	is "ceems-courier" "$(mode usr/sbin/ceems-courier)" 755
	for s in 's,#none,,' 's,^( *)#([a-z_]+:|  ),\1\2,'; do # as packaged, and with what is commented out
		sed -E "$s" contrib/packaging/etc/redfish.yaml >"$SCRATCH/rf.yaml"
		out=$("$BUILD/ceems-courier" --check-config --collector.redfish --collector.redfish.config.file="$SCRATCH/rf.yaml" 2>&1)
		like "ceems-courier accepts the packaged file for Redfish" "$out" "the configuration is valid"
	done
else
	skip "ceems-courier" "not built here"
fi
if with redfish_proxy; then
	is "redfish_proxy" "$(mode usr/sbin/redfish_proxy)" 755
	out=$("$BUILD/redfish_proxy" --check-config --config.file="$dest/etc/ceems/redfish_proxy.yaml" 2>&1) && r=ok || r=$out
	is "redfish_proxy accepts the packaged configuration" "$r" ok
	# the same with what is commented out
	(cd "$SCRATCH" && . "$TOP/test/pki.sh" && pki_ca ca)
	sed -E "s,^( *)#([a-z]|  ),\1\2,; s,/etc/ceems/ca.pem,$SCRATCH/ca.pem," contrib/packaging/etc/lb.yaml >"$SCRATCH/lb.yaml"
	chmod 640 "$SCRATCH/lb.yaml"
	out=$("$BUILD/ceems_lb" --check-config --config.file="$SCRATCH/lb.yaml" 2>&1)
	like "also with what is commented out in it" "$out" "the configuration is valid"
else
	skip "ceems_lb" "not built here"
fi
if with ceems_aggregator; then
	is "ceems_aggregator" "$(mode usr/sbin/ceems_aggregator)" 755
	chmod 600 "$dest/etc/ceems/aggregator-web.yaml"
	sed "s,/etc/ceems/,$dest/etc/ceems/," "$dest/etc/ceems/aggregator.yaml" >"$SCRATCH/agg.yaml"
	out=$("$BUILD/ceems_aggregator" --check-config --config.file="$SCRATCH/agg.yaml" 2>&1)
	like "ceems_aggregator accepts the packaged configuration" "$out" "the configuration is valid"
	sed -E 's,^( *)#([a-z]+:|  ),\1\2,; /config.file:/d' contrib/packaging/etc/aggregator.yaml.in >"$SCRATCH/agg.yaml"
	out=$("$BUILD/ceems_aggregator" --check-config --config.file="$SCRATCH/agg.yaml" 2>&1)
	like "and all of its examples" "$out" "the configuration is valid"
else
	skip "ceems_aggregator" "not built here"
fi

ok "make uninstall" make -s uninstall DESTDIR="$dest" PREFIX=/usr
is "only the site's configuration is left" "$(cd "$dest" && find . -type f | sort | paste -sd' ')" "./etc/ceems/acct_gather.conf ./etc/ceems/aggregator-web.yaml ./etc/ceems/aggregator.yaml ./etc/ceems/cacct.yaml ./etc/ceems/ceems-courier.yaml ./etc/ceems/ceemsd.yaml ./etc/ceems/jobcomp.yaml ./etc/ceems/lb-web.yaml ./etc/ceems/lb.yaml ./etc/ceems/redfish.yaml ./etc/ceems/redfish_proxy-web.yaml ./etc/ceems/redfish_proxy.yaml ./etc/ceems/web-config.yaml"
tap_done
