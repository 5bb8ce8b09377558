#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions, also of those that were inlined, are what addr2line says of the same files.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/file_names" ] || skip_all "the profiler was not built here (libdw-dev)"
for c in addr2line nm objcopy python3 gcc; do command -v $c >/dev/null || skip_all "$c is not installed"; done
cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define OWN __attribute__((noinline))
volatile double sink;
static inline double square(double x) { return x * x; }
static inline double norm(const double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += square(v[i]); return sqrt(s); }
OWN double walk(int n) { double v[64]; for (int i = 0; i < 64; i++) v[i] = rand() * n; return norm(v, 64) + norm(v, n & 63); }
OWN static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) { int v[9]; for (int i = 0; i < 9; i++) v[i] = rand(); qsort(v, 9, sizeof(int), compare); printf("%s %g\n", argv[0], walk(argc)); }
C
cat >"$SCRATCH/b.cc" <<'C'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace solver {
template <class T> struct Grid { std::vector<T> v; T at(size_t i) const { return v[i % v.size()]; } T sum() const { T s{}; for (size_t i = 0; i < v.size(); i++) s += at(i); return s; } };
struct Down { bool operator()(double a, double b) const { return a > b; } };
struct Step { virtual ~Step() = default; virtual double run(const Grid<double> &g) = 0; };
struct Euler : Step { __attribute__((noinline)) double run(const Grid<double> &g) override { return g.sum() * 0.5; } };
}
std::map<std::string, double> results;
int main(int argc, char **) {
  solver::Grid<double> g; for (int i = 0; i < 100 * argc; i++) g.v.push_back(i);
  std::sort(g.v.begin(), g.v.end(), solver::Down());
  solver::Step *s = new solver::Euler; results["x"] = s->run(g); delete s; return results.size() > 1;
}
C
cat >"$SCRATCH/c.f90" <<'F'
module heat
contains
subroutine relax(u, n)
 integer, intent(in) :: n
 real(8), intent(inout) :: u(n, n)
 u(2:n-1, 2:n-1) = 0.25d0 * (u(1:n-2, 2:n-1) + u(3:n, 2:n-1) + u(2:n-1, 1:n-2) + u(2:n-1, 3:n))
end subroutine
end module
program p
 use heat
 real(8) :: u(100, 100)
 call random_number(u)
 call relax(u, 100)
 print *, sum(u)
end program
F
cat >"$SCRATCH/d.rs" <<'R'
use std::collections::HashMap;
mod heat { pub trait Step { fn run(&self, v: &[f64]) -> f64; } pub struct Euler; impl Step for Euler { #[inline(never)] fn run(&self, v: &[f64]) -> f64 { v.iter().map(|x| x * x).sum() } } }
use heat::Step;
fn main() { let mut m: HashMap<String, f64> = HashMap::new(); let mut v: Vec<f64> = (0..100).map(|i| i as f64).collect(); v.sort_by(|a, b| b.partial_cmp(a).unwrap()); m.insert("x".into(), heat::Euler.run(&v)); println!("{:?}", m); }
R
cat >"$SCRATCH/compare.py" <<'P'
import re, sys
# addr2line names clones of a function by that function's DWARF name, we by the linker's
strip = lambda s: re.sub(r"( \[clone [^\]]*\])+$|(\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)?)+$|\(.*", "", s)[:300]
ours, theirs = open(sys.argv[1]).read().split("\n"), open(sys.argv[2]).read().split("\n")
same = all_ = inlined = 0
for a, b in zip(ours, theirs):
    if not b or b == "??":
        continue
    all_ += 1
    x, y = [strip(n) for n in a.split(" < ")], [strip(n) for n in b.split(" < ")]
    if len(y) > 1 and y[-1] == y[-2]: # binutils, where a unit has functions of its own
        x, y = x[-1:], y[-1:]
    y = [re.sub(r"^__(\w+)_MOD_", r"\1::", n) for n in y] # Fortran's modules have our own form
    inlined += len(y) > 1
    tail = lambda names: [n.split("::")[-1] for n in names]
    ok = tail(x) == tail(y)
    same += ok
    if not ok and all_ - same < 6:
        print("ours", [n[-60:] for n in x], "theirs", [n[-60:] for n in y], file=sys.stderr)
print(all_, same, inlined)
P
addresses() { # file: one of each 16 bytes of functions that were compiled here
	nm --defined-only -S "$1" | python3 -c '
import sys
for l in sys.stdin:
    p = l.split()
    if len(p) == 4 and p[2] in "tTwW" and int(p[1], 16) < 100000:
        for a in range(int(p[0], 16), int(p[0], 16) + int(p[1], 16), 16): print("%x" % a)' | awk 'NR % 8 == 1 || NR < 3000' | sed -n 1,6000p
}
chains() { # program file: a line for each address of stdin
	"$1" -a -i -f -C -e "$2" | python3 -c '
import sys
chain, n = None, 0
for l in sys.stdin:
    l = l.rstrip("\n")
    if l.startswith("0x") and all(c in "0123456789abcdef" for c in l[2:]):
        if chain is not None: print(" < ".join(chain))
        chain, n = [], 0
    else:
        if n % 2 == 0: chain.append(l)
        n += 1
if chain is not None: print(" < ".join(chain))'
}
check() { # what file [debug root]
	local all same inlined
	"$BUILD/file_names" "$2" ${3:+"$3"} <"$SCRATCH/addresses" >"$SCRATCH/ours"
	read -r all same inlined < <(python3 "$SCRATCH/compare.py" "$SCRATCH/ours" "$SCRATCH/theirs" 2>"$SCRATCH/differ")
	ok "$1: addresses with a name ($all)" test "${all:-0}" -ge 20
	ok "$1: as addr2line says it, inlined functions too ($same, $inlined with)" test $((same * 100)) -ge $((all * 99)) || cat "$SCRATCH/differ" >&2
}
name_all() { # name compiler arguments...
	local name=$1
	shift
	command -v "$1" >/dev/null || { skip "$name" "$1 is not installed"; return; }
	"$@" -o "$SCRATCH/$name" 2>"$SCRATCH/cc" || { skip "$name" "$1 cannot do it here"; return; }
	addresses "$SCRATCH/$name" >"$SCRATCH/addresses"
	chains "$reference" "$SCRATCH/$name" <"$SCRATCH/addresses" >"$SCRATCH/theirs"
	check "$name" "$SCRATCH/$name"
}
reference=addr2line
name_all gcc gcc -g -O2 "$SCRATCH/a.c" -lm
name_all g++ g++ -g -O2 "$SCRATCH/b.cc"
name_all gfortran gfortran -g -O2 -J "$SCRATCH" "$SCRATCH/c.f90"
name_all rustc rustc -g -O "$SCRATCH/d.rs"
# binutils leaves out the innermost function of what clang writes (DWARF 5)
if command -v llvm-symbolizer >/dev/null; then
	ln -s "$(command -v llvm-symbolizer)" "$SCRATCH/llvm-addr2line"
	reference=$SCRATCH/llvm-addr2line
	name_all clang clang -g -O2 "$SCRATCH/a.c" -lm
	reference=addr2line
fi
# names that were taken out of the program
name_all "to be stripped" gcc -g -O2 "$SCRATCH/a.c" -lm -Wl,--build-id
f="$SCRATCH/to be stripped"
id=$(readelf -n "$f" | sed -n 's/.*Build ID: //p')
mkdir -p "$SCRATCH/debug/.build-id/${id:0:2}"
objcopy --only-keep-debug "$f" "$SCRATCH/debug/.build-id/${id:0:2}/${id:2}.debug"
strip "$f"
is "a stripped program has no name of its own functions" "$("$BUILD/file_names" "$f" /none <"$SCRATCH/addresses" | sed '/^$/d' | grep -vc '^_')" 0
check "names of a separate file by build id" "$f" "$SCRATCH/debug"
if command -v xz >/dev/null && "$BUILD/file_names" /dev/null </dev/null; then
	gcc -g -O2 -o "$SCRATCH/mini" "$SCRATCH/a.c" -lm
	addresses "$SCRATCH/mini" >"$SCRATCH/addresses"
	"$BUILD/file_names" "$SCRATCH/mini" /none <"$SCRATCH/addresses" | sed 's/.* < //' >"$SCRATCH/theirs"
	objcopy -S --keep-symbol=walk --keep-symbol=compare --keep-symbol=main "$SCRATCH/mini" "$SCRATCH/mini.debug"
	xz -f "$SCRATCH/mini.debug"
	strip "$SCRATCH/mini"
	objcopy --add-section .gnu_debugdata="$SCRATCH/mini.debug.xz" "$SCRATCH/mini"
	like "names of .gnu_debugdata" "$("$BUILD/file_names" "$SCRATCH/mini" /none <"$SCRATCH/addresses" | sort -u | tr '\n' ' ')" "compare .*walk"
fi
tap_done
