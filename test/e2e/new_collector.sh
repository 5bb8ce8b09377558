#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A newcomer's collector, in a copy of the tree, by the steps that `make new-collector` prints: four
# files are written by hand (doc/style.md), and the whole is complete and is in the scrape.
. "$(dirname "$0")/../tap.sh"

copy=$SCRATCH/tree
mkdir -p "$copy/build/obj"
tar -cf - --exclude=./build --exclude=./.git . | tar -C "$copy" -xf -
cp -a build/obj/lib build/obj/daemon "$copy/build/obj/" 2>/dev/null # what did not change is not built anew
cd "$copy" || exit 1
unset MAKEFLAGS MAKELEVEL
export CMOCKA_MESSAGE_OUTPUT=STDOUT # what it says itself is not a result of this script
its_test() { build/test/collector_loadavg_test >"$SCRATCH/test.log" 2>&1; }

is "a name that cannot be one is refused" "$(make -s new-collector NAME='No such' 2>&1 | head -1)" \
	"new-collector: NAME=No such is not a lower-case name: make new-collector NAME=loadavg"
ok "the files are made" eval 'make -s new-collector NAME=loadavg >"$SCRATCH/made"'
is "files that are there are not made again" "$(make -s new-collector NAME=loadavg 2>&1 | head -1)" \
	"new-collector: daemon/node/collector_loadavg.c is there already"
echo '0.52 1.58 12.59 3/435 20061' >test/fixture/node_x86/proc/loadavg
make -s build/test/collector_loadavg_test >"$SCRATCH/make.log" 2>&1 || sed 's/^/# /' "$SCRATCH/make.log"
ok "the test that came with it fails" eval '! its_test'
like "the failing test says which case fails" "$(cat "$SCRATCH/test.log")" 'FAILED.* whole_output'

# by hand: the collector, the help, the documentation (and the fixture above)
cat >daemon/node/collector_loadavg.c <<'EOF'
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Load averages of the node. Source: kernel Documentation/filesystems/proc.rst, 1.8. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/node/procfile_collector.h"
#include "lib/parse.h"

static int put_loadavg(const char *text, size_t len, const struct buf *host,
		       struct prom *out, struct err *err)
{
	static const struct prom_family families[] = {
		{"ceems_load1", PROM_GAUGE, "Load average of 1 minute"},
		{"ceems_load5", PROM_GAUGE, "Load average of 5 minutes"},
		{"ceems_load15", PROM_GAUGE, "Load average of 15 minutes"},
	};
	char line[64], *p = line, *word;
	double load;

	snprintf(line, sizeof(line), "%.*s", (int)len, text);
	for (int i = 0; i < 3; i++) {
		if (!(word = strsep(&p, " ")) || parse_f64(word, &load) < 0)
			return err_set(err, -EINVAL, "loadavg: not three numbers");
		prom_family(out, &families[i]);
		prom_put_block_f64(out, host, load);
	}
	return 0;
}

PROCFILE_COLLECTOR(loadavg, "loadavg", put_loadavg);
EOF
sed -i 's/What --help says of it/Load averages of the node/' daemon/collectors.h
for n in 1 5 15; do echo "| \`ceems_load$n\` | G | hostname | load | \`/proc/loadavg\` |"; done >"$SCRATCH/rows"
sed -i "/^| \`ceems_meminfo_<Field>/r $SCRATCH/rows" doc/metrics.md

make -s WERROR=1 build/test/collector_loadavg_test >"$SCRATCH/make.log" 2>&1 || sed 's/^/# /' "$SCRATCH/make.log"
ok "its golden scrape is written" eval 'UPDATE_GOLDEN=1 its_test'
is "with what was read" "$(grep -v '^#' test/golden/collector_loadavg.prom | paste -sd' ')" \
	'ceems_load1{hostname="host"} 0.52 ceems_load15{hostname="host"} 12.59 ceems_load5{hostname="host"} 1.58'
ok "the test passes" its_test
make -s -j2 WERROR=1 build/ceemsd >"$SCRATCH/make.log" 2>&1 || sed 's/^/# /' "$SCRATCH/make.log"
like "ceemsd has the option" "$(build/ceemsd --help)" 'collector.loadavg'
BUILD=build test/e2e/docs_fresh.sh UPDATE >"$SCRATCH/docs.log" 2>&1
like "the documentation has it" "$(grep loadavg doc/config.md)" 'collector.loadavg.*Load averages of the node'
test/e2e/collectors_complete.sh >"$SCRATCH/complete"
is "nothing of it is missing" "$(grep -A4 '^not ok' "$SCRATCH/complete")" ""
like "the check of collectors looks at it" "$(cat "$SCRATCH/complete")" 'collector loadavg is complete'
is "at most 35 lines are the collector" "$(($(wc -l <daemon/node/collector_loadavg.c) <= 35))" 1
tap_done
