#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks of a Go program, which has no call frame information, by its frame pointers; a stripped one has its names.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev)"
command -v go >/dev/null || skip_all "go is not installed"
mkdir -p "$SCRATCH/go"
cat >"$SCRATCH/go/main.go" <<'G'
package main

import "sort"

type solver struct{ v []float64 }

var sink float64

//go:noinline
func (s *solver) step(n int) float64 {
	t := 0.0
	for i := 0; i < n; i++ {
		t += float64(i) * s.v[i%len(s.v)]
	}
	return t
}

//go:noinline
func (s *solver) run(n int) float64 { return s.step(n) + s.step(n) }

//go:noinline
func order(n int) {
	v := make([]int, n)
	for i := range v {
		v[i] = (i * 7919) % n
	}
	sort.Slice(v, func(a, b int) bool { return v[a] < v[b] })
}

func work() {
	s := &solver{v: make([]float64, 100)}
	for {
		sink = s.run(300000)
		order(20000)
	}
}

func main() {
	go work()
	work()
}
G
printf 'module example\n\ngo 1.18\n' >"$SCRATCH/go/go.mod"
build_go() { # name flags
	(cd "$SCRATCH/go" && GOCACHE="$BUILD/gocache" GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -ldflags="$2" -o "$SCRATCH/$1" .) >"$SCRATCH/log" 2>&1
}
build_go whole "" && build_go stripped "-s -w" || skip_all "go cannot build here: $(tail -n 1 "$SCRATCH/log")"
nm "$SCRATCH/whole" | awk '$2 ~ /[tT]/ { print $1 }' | sort -u >"$SCRATCH/addresses"
names() { "$BUILD/file_names" "$SCRATCH/$1" /none <"$SCRATCH/addresses" | sed 's/.* < //; s/\.abi0$//'; }
all=$(wc -l <"$SCRATCH/addresses") same=$(paste -d'\n' <(names whole) <(names stripped) | awk 'NR % 2 { a = $0; next } a == $0 && a != "" { n++ } END { print n + 0 }')
ok "a stripped program's functions have their names ($same of $all)" test $((same * 100)) -ge $((all * 98))

profiler_group || { skip "stacks" "$why"; tap_done; }
for p in whole stripped; do
	run_in_group "$SCRATCH/$p"
	profile_program 200
	end_program
	samples=$(samples) first=$(number "first of a process")
	right=$(awk '/^runtime\.(goexit|mstart|mcall|morestack|rt0_go|asmcgocall)|^_rt0_amd64/ { n += $NF } END { print n + 0 }' "$SCRATCH/stacks")
	ok "$p: there are samples (${samples:-none})" test "${samples:-0}" -ge 20
	ok "$p: stacks reach their beginning ($right, and ${first:-0} from before it was known)" test $((right * 100)) -ge $(((${samples:-1} - ${first:-0}) * 95)) || sort -t' ' -k2 -rn "$SCRATCH/stacks" | grep -v ^runtime.goexit | head -n 5 >&2
	like "$p: they are its calls" "$(cat "$SCRATCH/stacks")" 'main\.work;main\.\(\*solver\)\.run;main\.\(\*solver\)\.step [0-9]'
done
tap_done
