#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The documentation says what the programs do: generated parts, manual pages, links, names.
#   test/e2e/docs_fresh.sh UPDATE   writes the generated part of doc/config.md anew
. "$(dirname "$0")/../tap.sh"

ceemsd=$BUILD/ceemsd
begin='<!-- begin: written by' end='<!-- end -->'

if [ -x "$ceemsd" ]; then
	"$ceemsd" --help-markdown >"$SCRATCH/options.md" 2>"$SCRATCH/err" || sed 's/^/# /' "$SCRATCH/err"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/options.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' doc/config.md >"$SCRATCH/config.md" &&
			cp "$SCRATCH/config.md" doc/config.md
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' doc/config.md >"$SCRATCH/have.md"
	is "config.md has the options of this ceemsd (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/options.md") "$SCRATCH/have.md" | head -10)" ""

	# Each flag of the peer in compat.md, given to ceemsd, does what its row says
	bad= n=0
	while IFS='|' read -r _ flag here _; do
		flag=$(sed -E 's/^ *`(.*)` *$/\1/' <<<"$flag") here=${here# }
		case $flag in --help* | --version) continue ;; --*) ;; *) continue ;; esac
		n=$((n + 1))
		out=$("$ceemsd" --check-config "$flag" 2>&1 >/dev/null) && r=accepted || r=refused
		case $here in
		same* | alias* | better* | *"(accepted)"*) [ $r = accepted ] || bad+="$flag: $here, but: $out"$'\n' ;;
		later*) [[ $out == *"comes with a later release" ]] || bad+="$flag: $here, but: $out"$'\n' ;;
		*) [ $r = refused ] || bad+="$flag: $here, but it is accepted"$'\n' ;;
		esac
	done < <(grep '^| `--' doc/compat.md)
	is "ceemsd accepts and refuses the peer's $n flags as compat.md says" "$bad" ""
	ok "compat.md lists the peer's flags" [ "$n" -gt 80 ]
else
	skip "config.md has the options of this ceemsd" "ceemsd was not built here"
	skip "ceemsd accepts and refuses the peer's flags as compat.md says" "ceemsd was not built here"
fi

proxy=$BUILD/redfish_proxy page=doc/redfish_proxy.md
if [ -x "$proxy" ]; then
	"$proxy" --help-markdown >"$SCRATCH/proxy.md"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/proxy.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' $page >"$SCRATCH/page.md" &&
			cp "$SCRATCH/page.md" $page
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' $page >"$SCRATCH/have.md"
	is "redfish_proxy.md has the options of this redfish_proxy (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/proxy.md") "$SCRATCH/have.md" | head -10)" ""
	bad=
	for m in $(grep -ohE '"ceems_redfish_proxy_[a-z_]+"' redfish_proxy/*.c | tr -d '"' | sort -u); do
		grep -qF "\`$m\`" $page || bad+="$m "
	done
	is "redfish_proxy.md has its metrics" "$bad" ""
else
	skip "redfish_proxy.md has the options of this redfish_proxy" "redfish_proxy was not built here"
fi

hook=$BUILD/ceems_k8s_admission_controller page=doc/k8s_admission.md
if [ -x "$hook" ]; then
	"$hook" --help-markdown >"$SCRATCH/hook.md"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/hook.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' $page >"$SCRATCH/page.md" &&
			cp "$SCRATCH/page.md" $page
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' $page >"$SCRATCH/have.md"
	is "k8s_admission.md has the options of this webhook (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/hook.md") "$SCRATCH/have.md" | head -10)" ""
	bad=
	for m in $(grep -ohE '"ceems_admission_[a-z_]+"' contrib/k8s/admission/*.c | tr -d '"' | sort -u); do
		grep -qF "\`$m\`" $page || bad+="$m "
	done
	is "k8s_admission.md has its metrics" "$bad" ""
else
	skip "k8s_admission.md has the options of this webhook" "ceems_k8s_admission_controller was not built here"
fi

cacct=$BUILD/cacct page=doc/cacct.md
if [ -x "$cacct" ]; then
	"$cacct" --help-markdown >"$SCRATCH/cacct.md"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/cacct.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' $page >"$SCRATCH/page.md" &&
			cp "$SCRATCH/page.md" $page
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' $page >"$SCRATCH/have.md"
	is "cacct.md has the columns of this cacct (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/cacct.md") "$SCRATCH/have.md" | head -10)" ""
else
	skip "cacct.md has the columns of this cacct" "cacct was not built here"
fi

agg=$BUILD/ceems_aggregator page=doc/aggregator.md
if [ -x "$agg" ]; then
	"$agg" --help-markdown >"$SCRATCH/agg.md"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/agg.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' $page >"$SCRATCH/page.md" &&
			cp "$SCRATCH/page.md" $page
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' $page >"$SCRATCH/have.md"
	is "aggregator.md has the options of this ceems_aggregator (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/agg.md") "$SCRATCH/have.md" | head -10)" ""
	bad=
	for m in $(grep -ohE '"ceems_aggregator_[a-z_]+"' aggregator/*.c aggregator/*/*.c | tr -d '"' | sort -u); do
		grep -qF "\`$m\`" $page || bad+="$m "
	done
	is "aggregator.md has its metrics" "$bad" ""
	bad= n=0
	while IFS='|' read -r _ flag here _; do
		flag=$(sed -E 's/^ *`ceems_api_server (.*)` *$/\1/' <<<"$flag") here=${here# }
		n=$((n + 1))
		out=$("$agg" --check-config "$flag" 2>&1 >/dev/null) && r=accepted || r=refused
		case $here in
		same* | better* | *"(accepted)"*) [ $r = accepted ] || bad+="$flag: $here, but: $out"$'\n' ;;
		later*) [[ $out == *"comes with a later release" ]] || bad+="$flag: $here, but: $out"$'\n' ;;
		*) [ $r = refused ] || bad+="$flag: $here, but it is accepted"$'\n' ;;
		esac
	done < <(grep '^| `ceems_api_server --' doc/compat.md)
	is "ceems_aggregator accepts and refuses the peer's $n flags as compat.md says" "$bad" ""
	ok "compat.md lists the flags of the peer's API server" [ "$n" -gt 15 ]
else
	skip "aggregator.md has the options of this ceems_aggregator" "ceems_aggregator was not built here"
fi

bad= n=0
for p in ceemsd ceems_aggregator ceems_lb redfish_proxy ceems-courier; do
	[ -x "$BUILD/$p" ] || continue
	for o in $("$BUILD/$p" --help-markdown | grep -o '^| `security\.[a-z-]*' | tr -d '|` '); do
		n=$((n + 1))
		grep -qF "Fl -$o" "doc/man/$p.8" || bad+="$p: $o "
	done
done
is "manual pages name each option of security.*" "$bad" ""
ok "which there are" [ "$n" -gt 3 ]

lb=$BUILD/ceems_lb page=doc/lb.md
if [ -x "$lb" ]; then
	"$lb" --help-markdown >"$SCRATCH/lb.md"
	if [ "${1:-}" = UPDATE ]; then
		awk -v b="$begin" -v e="$end" -v f="$SCRATCH/lb.md" '
			index($0, e) == 1 { skip = 0 }
			!skip { print }
			index($0, b) == 1 { skip = 1; print ""; while ((getline l < f) > 0) print l; print "" }' $page >"$SCRATCH/page.md" &&
			cp "$SCRATCH/page.md" $page
	fi
	awk -v b="$begin" -v e="$end" 'index($0, e) == 1 { on = 0 } on && NF { print } index($0, b) == 1 { on = 1 }' $page >"$SCRATCH/have.md"
	is "lb.md has the options of this ceems_lb (else: test/e2e/docs_fresh.sh UPDATE)" \
		"$(diff <(grep . "$SCRATCH/lb.md") "$SCRATCH/have.md" | head -10)" ""
	bad=
	for m in $(grep -ohE '"ceems_lb_[a-z_]+"' lb/*.c lb/*/*.c | tr -d '"' | sort -u); do
		grep -qF "\`$m\`" $page || bad+="$m "
	done
	is "lb.md has its metrics" "$bad" ""
	# each flag of the peer's in compat.md, given to ours; a checkout of a user whose umask is
	# 002 has files that others may write, which is refused
	bad= n=0
	cp test/fixture/lb_config/documented-sample.yaml "$SCRATCH/sample.yaml"
	while IFS='|' read -r _ flag here _; do
		flag=$(sed -E 's/^ *`ceems_lb (.*)` *$/\1/' <<<"$flag") here=${here# }
		n=$((n + 1))
		out=$("$lb" --check-config --config.file="$SCRATCH/sample.yaml" "$flag" 2>&1 >/dev/null) && r=accepted || r=refused
		case $here in
		same* | alias* | better* | *"(accepted)"*) [ $r = accepted ] || bad+="$flag: $here, but: $out"$'\n' ;;
		later*) [[ $out == *"comes with a later release" ]] || bad+="$flag: $here, but: $out"$'\n' ;;
		*) [ $r = refused ] || bad+="$flag: $here, but it is accepted"$'\n' ;;
		esac
	done < <(grep '^| `ceems_lb --' doc/compat.md | grep -v 'config.file=\|web.config.file=')
	is "ceems_lb accepts and refuses the peer's $n flags as compat.md says" "$bad" ""
else
	skip "lb.md has the options of this ceems_lb" "ceems_lb was not built here"
fi

is "each row of compat.md says what became of the name" \
	"$(awk -F'|' '/^\| `/ && $3 !~ /^ (same|alias|better|later|not applicable)( \(accepted\))? *$/ { print FILENAME ":" NR ":" $3 }' doc/compat.md)" ""
is "no name has two rows in compat.md" "$(sed -n 's/^| `\([^`]*\)`.*/\1/p' doc/compat.md | sort | uniq -d)" ""
bad=
for m in $(grep -ohE '"ceems_web_[a-z_]+"' lib/http/*.c | tr -d '"' | sort -u); do
	for page in metrics lb aggregator redfish_proxy; do grep -qF "\`$m\`" doc/$page.md || bad+="$page.md: $m "; done
done
is "the web server's metrics are in the page of each program" "$bad" ""
is "no metric has two rows in metrics.md" "$(sed -n 's/^| *`\{0,1\}\(ceems_[a-zA-Z0-9_<>]*\).*/\1/p' doc/metrics.md | sort | uniq -d)" ""

# metrics of the golden scrapes are documented; so is what promtool does not like
metric_rows() { grep -ohE '(ceems|process|promhttp)_[a-zA-Z0-9_]*[*<]?' doc/metrics.md | sort -u; }
shopt -s nullglob
golden=(test/golden/*.prom test/golden/*.om)
if [ -x "$ceemsd" ]; then
	# what this machine gives, the daemon's own metrics included
	port=$(free_port)
	mkdir -p "$SCRATCH/run"
	"$ceemsd" --web.listen-address=127.0.0.1:"$port" --path.rundir="$SCRATCH/run" --collector.slurm --collector.netdev \
		--collector.infiniband --collector.meminfo.all-stats >"$SCRATCH/ceemsd.log" 2>&1 &
	started $!
	wait_for 10 curl -sf -o "$SCRATCH/live.prom" "http://127.0.0.1:$port/metrics"
	ok "a live scrape" [ -s "$SCRATCH/live.prom" ]
	golden+=("$SCRATCH/live.prom")
fi
metric_rows >"$SCRATCH/rows"
bad=
for m in $(sed -n 's/^# TYPE \([a-z]*_[^ ]*\) .*/\1/p' "${golden[@]}" | sort -u); do
	grep -qxF "$m" "$SCRATCH/rows" && continue
	# OpenMetrics drops _total from the family's name; patterns end in < or *
	grep -qxF "${m}_total" "$SCRATCH/rows" && continue
	while read -r pat; do [[ $m == "${pat%?}"* ]] && continue 2; done < <(grep '[<*]$' "$SCRATCH/rows")
	bad+="$m "
done
is "each metric of golden and live scrapes is in metrics.md" "$bad" ""
if [ -e test/golden/promtool-allow ]; then
	bad=
	for m in $(grep -oE '^ceems_[a-zA-Z0-9_]+' test/golden/promtool-allow | sort -u); do
		grep -q "^| \`$m\`" doc/compat.md && continue
		[[ $m == ceems_meminfo_* ]] && continue # one row for all fields
		bad+="$m "
	done
	is "what promtool does not like is explained in compat.md" "$bad" ""
else
	skip "what promtool does not like is explained in compat.md" "no such list yet"
fi

if command -v mandoc >/dev/null; then
	is "manual pages are clean" "$(mandoc -Tlint -Wwarning doc/man/*.[1-8] 2>&1 | grep -v 'referenced manual not found\|date in the future')" ""
else
	skip "manual pages are clean" "mandoc is not installed"
fi

# relative links and paths of the tree that pages name
bad=
for page in README.md CONTRIBUTING.md doc/*.md test/fuzz/README.md; do
	while read -r link; do
		case $link in http* | "#"* | mailto:*) continue ;; esac
		[ -e "$(dirname "$page")/${link%%#*}" ] || bad+="$page: $link"$'\n'
	done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//')
done
is "every link leads somewhere" "$bad" ""
is "every page of doc/ is on its start page" "$(for page in doc/*.md; do page=${page##*/}; [ "$page" = README.md ] || grep -qF "]($page" doc/README.md || echo "$page"; done)" ""
headings() { # page: the anchors that its headings have, as GitHub makes them
	sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
is "every link to a heading finds it" "$(for page in README.md CONTRIBUTING.md doc/*.md; do
	grep -oE '\]\([^) :]*#[^) ]+\)' "$page" | sed 's/^](//; s/)$//' | sort -u | while IFS='#' read -r to anchor; do
		headings "$([ -z "$to" ] && echo "$page" || echo "$(dirname "$page")/$to")" | grep -qxF -- "$anchor" || echo "$page: $to#$anchor"
	done
done)" ""
# what is called later is not here: each such line names one of what is still missing (compat.md
# has rows of its own for that)
missing='perf|eBPF|GPU telemetry|libvirt|Kubernetes|[Pp]rofil|is measured later|lock timeout|fields of later versions'
is "no page says later of what is here" "$(grep -nE 'later versions?|comes? later|come in later|\| later|later \|' README.md CONTRIBUTING.md doc/[a-bd-z]*.md doc/courier.md doc/config.md doc/cacct.md |
	grep -vE "$missing|doc/style.md|[0-9] and later|asked again later")" ""
# a file that is named with its folder is there; so is one that stands alone, somewhere
is "architecture.md names no file that is gone" "$(grep -ohE '`[a-z_/0-9]+\.(c|h|sql)`' doc/architecture.md | tr -d '`' | sort -u | while read -r f; do
	case $f in
	*/*) [ -e "$f" ] ;;
	*) find lib daemon lb aggregator cli courier spank jobcomp acct_gather -name "$f" | grep -q . ;;
	esac || echo "$f"
done)" ""

# the diagram of the gate's steps: what each step's functions, and those that they call, may return
edges_in_code() {
	awk '
		/^(static )?enum gate_step [a-z_]+\(/ { f = $0; sub(/\(.*/, "", f); sub(/.* /, "", f); known[f] = 1 }
		/^}/ { f = "" }
		f == "gate_take_step" && /case STEP_/ { step = $2; gsub(/STEP_|:/, "", step); next }
		f == "gate_take_step" && /return [a-z_]+\(/ { sub(/.*return /, ""); sub(/\(.*/, ""); of[step] = $0; next }
		f != "" && f != "gate_take_step" { gsub(/[!=]= STEP_[A-Z_]+/, ""); body[f] = body[f] " " $0 }
		function follow(f,   n, words, i) {
			if (seen[f]++) return
			n = split(body[f], words, /[^A-Za-z_]+/)
			for (i = 1; i <= n; i++)
				if (words[i] ~ /^STEP_/) to[substr(words[i], 6)] = 1
				else if (words[i] in known) follow(words[i])
		}
		END { for (s in of) { split("", seen); split("", to); follow(of[s]); for (t in to) if (t != s && t != "DONE") print s " " t } }' \
		lb/gate/gate_decide.c lb/gate/gate_identity.c | LC_ALL=C sort
}
edges_in_header() { awk '/^ \*    [A-Z_]+:/ { gsub(/:/, ""); for (i = 3; i <= NF; i++) print $2 " " $i }' lb/gate/gate_impl.h | LC_ALL=C sort; }
is "the gate's diagram has the edges of the code, and no others" "$(edges_in_header)" "$(edges_in_code)"
ok "there are edges to look at" [ "$(edges_in_code | wc -l)" -gt 20 ]
tap_done
