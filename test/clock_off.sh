# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh: need_clock_off sets clock_off, arguments for env(1). A program that is
# started with them and CLOCK_OFF_S=SECONDS has a clock that is ahead by so much; with
# CLOCK_OFF_FILE=FILE it follows what clock_file FILE SECONDS last wrote.
clock_file() {
	[ -e "$1" ] || head -c 8 /dev/zero >"$1"
	python3 -c 'import os, struct, sys
f = os.open(sys.argv[1], os.O_WRONLY)
os.write(f, struct.pack("<q", int(sys.argv[2])))' "$1" "$2"
}
need_clock_off() {
	case $BUILD in */san-*) skip_all "a sanitizer must be the first library" ;; esac
	"${CC:-cc}" -std=gnu11 -O1 -shared -fPIC -o "$SCRATCH/clock_off.so" "$TOP/test/fake/clock_off.c" 2>/dev/null || skip_all "no compiler for the wrong clock"
	chmod 755 "$SCRATCH/clock_off.so"
	clock_off=(LD_PRELOAD="$SCRATCH/clock_off.so")
}
