#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our PromQL beside the parser of Prometheus 3.5, built from its Go module where Go and the
# module can be had: what we accept it accepts, and what we print is the same tree for it. What
# it accepts and we refuse is of five kinds, which are named. QUERIES=N (20000), SEED=N.
# timeout 900
. "$(dirname "$0")/../tap.sh"
command -v go >/dev/null || skip_all "go is not installed: not compared with a real Prometheus 3"
mkdir "$SCRATCH/go" && cp test/promql3/main.go "$SCRATCH/go/"
printf 'module promql3\ngo 1.22\nrequire github.com/prometheus/prometheus v0.305.0\n' >"$SCRATCH/go/go.mod"
(cd "$SCRATCH/go" && go mod tidy && go build -mod=mod -o promql3 .) >"$SCRATCH/go.log" 2>&1 ||
	skip_all "the Go module of Prometheus 3 cannot be had or built: $(tail -n1 "$SCRATCH/go.log")"
theirs=$SCRATCH/go/promql3

# only UTF-8: what travels in JSON is
{ tr '\n' '\0' <test/fixture/promql/queries.txt; "$BUILD/promql_random" "${SEED:-7}" "${QUERIES:-20000}" 3; } >"$SCRATCH/q"
"$BUILD/promql_print" -3 <"$SCRATCH/q" >"$SCRATCH/ours"
"$theirs" <"$SCRATCH/q" >"$SCRATCH/theirs"
n=$(tr -dc '\0' <"$SCRATCH/q" | wc -c)
is "each got an answer" "$(tr -dc '\0' <"$SCRATCH/ours" | wc -c) $(tr -dc '\0' <"$SCRATCH/theirs" | wc -c)" "$n $n"

accepted=0 wrong=0 missed=0
exec 3<"$SCRATCH/q" 4<"$SCRATCH/ours" 5<"$SCRATCH/theirs"
: >"$SCRATCH/printed" >"$SCRATCH/trees"
while IFS= read -r -d '' q <&3 && IFS= read -r -d '' a <&4 && IFS= read -r -d '' b <&5; do
	case ${a:0:1}${b:0:1} in
	++)
		accepted=$((accepted + 1))
		printf '%s\0' "${a:1}" >>"$SCRATCH/printed"
		printf '%s\0' "$b" >>"$SCRATCH/trees"
		;;
	+-) # the one check that we do not make
		[[ $b == *'invalid character class range: `\p'* ]] && continue
		wrong=$((wrong + 1)) && echo "# we accept: ${q//$'\n'/ }   they: ${b//$'\n'/ }" ;;
	-+)
		# a range that rounds to 0, a sign behind a sign, a letter where a colon belongs, a
		# regular expression that is no UTF-8 or whose \Q has no end
		[[ $a == *"duration must be greater than 0"* || $a == *"unexpected character in duration"* ||
			$a == *'\Q without \E'* || $a == *'unexpected "'[-+]'" in offset'* || $a == *"invalid UTF-8"* ]] && continue
		missed=$((missed + 1)) && echo "# we refuse: ${q//$'\n'/ }   ${a:1}" ;;
	esac
done
ok "many are accepted: $accepted of $n" test $accepted -gt $((n / 4))
is "what we accept they accept" $wrong 0
is "what they accept we accept, but for the named kinds" $missed 0
"$theirs" <"$SCRATCH/printed" >"$SCRATCH/again"
ok "what we print is the same tree for them" cmp "$SCRATCH/again" "$SCRATCH/trees"
tap_done
