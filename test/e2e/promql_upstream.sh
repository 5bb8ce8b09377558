#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our PromQL beside the parsers of Prometheus 2.42, 2.55, 3.0, 3.5 and 3.16 and the queries of
# their own tests, with default flags and with all: what a version takes we take for it, as the
# same tree, and nothing else. Built from the Go modules, where Go and these can be had.
# timeout 900
. "$(dirname "$0")/../tap.sh"
command -v go >/dev/null || skip_all "go is not installed: not compared with the real parsers"
[ -x "$BUILD/promql_print" ] || skip_all "promql_print was not built here"

mkdir "$SCRATCH/queries" && cp test/promql3/queries/main.go "$SCRATCH/queries/" && printf 'module queries\ngo 1.20\n' >"$SCRATCH/queries/go.mod"
(cd "$SCRATCH/queries" && go build -o queries .) >"$SCRATCH/go.log" 2>&1 || skip_all "Go builds nothing here: $(tail -n1 "$SCRATCH/go.log")"

parser_of() { # module's version, default or all: the parser with these flags, in $SCRATCH/VERSION-FLAGS
	local to=$SCRATCH/$1-$2 edit='/parser.Experimental\|parser.Enable/d'
	case $1-$2 in
	0.305.0-all) edit= ;;
	0.55.1-all | 0.300.1-all) edit='/parser.ExperimentalDurationExpr/d' ;;
	0.316.0-default) edit+='; s/parser.ParseExpr/parser.NewParser(parser.Options{}).ParseExpr/' ;;
	0.316.0-all) edit+='; s/parser.ParseExpr/parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableBinopFillModifiers: true}).ParseExpr/' ;;
	esac
	mkdir "$to" && sed "$edit" test/promql3/main.go >"$to/main.go"
	printf 'module theirs\ngo 1.22\nrequire github.com/prometheus/prometheus v%s\n' "$1" >"$to/go.mod"
	(cd "$to" && go mod tidy && go build -mod=mod -o theirs .) >"$to/log" 2>&1
}

compare() { # name, their parser, our options...
	local name=$1 theirs=$2 q a b taken=0 refused=0 beyond=0
	shift 2
	"$theirs" <"$SCRATCH/q" >"$SCRATCH/theirs"
	"$BUILD/promql_print" "$@" <"$SCRATCH/q" >"$SCRATCH/ours"
	: >"$SCRATCH/printed" >"$SCRATCH/trees"
	exec 3<"$SCRATCH/q" 4<"$SCRATCH/ours" 5<"$SCRATCH/theirs"
	while IFS= read -r -d '' q <&3 && IFS= read -r -d '' a <&4 && IFS= read -r -d '' b <&5; do
		[ "${b:0:1}" = - ] || taken=$((taken + 1))
		case ${a:0:1}${b:0:1} in
		++)
			printf '%s\0' "${a:1}" >>"$SCRATCH/printed"
			printf '%s\0' "$b" >>"$SCRATCH/trees"
			;;
		-+) refused=$((refused + 1)) && echo "# we refuse: ${q//$'\n'/ }   ${a:1}" ;;
		+-) # the server of 3.0 switches on names in UTF-8, its parser alone does not
			[[ $name = 3.0* && $b == *"in grouping opts, expected label"* ]] && continue
			beyond=$((beyond + 1)) && echo "# we take: ${q//$'\n'/ }   they: ${b//$'\n'/ }"
			;;
		esac
	done
	exec 3<&- 4<&- 5<&-
	"$theirs" <"$SCRATCH/printed" >"$SCRATCH/again"
	ok "$name: its tests have queries that it takes: $taken" test "$taken" -gt 500
	is "$name: none of them is refused, and none is taken beyond" "$refused $beyond" "0 0"
	ok "$name: each is the same tree" cmp "$SCRATCH/again" "$SCRATCH/trees"
}

for pair in 0.42.0:2.42 0.55.1:2.55 0.300.1:3.0 0.305.0:3.5 0.316.0:3.16; do
	module=${pair%:*} version=${pair#*:}
	parser_of "$module" default && parser_of "$module" all || {
		skip "the queries of $version" "its Go module cannot be had or built: $(tail -qn1 "$SCRATCH/$module-"*/log | tail -n1)"
		continue
	}
	tests=$(cd "$SCRATCH/$module-default" && go list -mod=mod -m -f '{{.Dir}}' github.com/prometheus/prometheus)/promql
	"$SCRATCH/queries/queries" "$tests" >"$SCRATCH/q"
	compare "$version" "$SCRATCH/$module-default/theirs" -d "$version" -n
	compare "$version with all flags" "$SCRATCH/$module-all/theirs" -d "$version"
done
tap_done
