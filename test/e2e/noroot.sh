#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2400
# alone
# make check as an ordinary user in a clone of his own: runs all that needs no root, skips the
# rest with reasons, fails nothing, and changes nothing of the machine.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root to become another user"
git rev-parse --git-dir >/dev/null 2>&1 || skip_all "not a git checkout"
command -v setpriv >/dev/null || skip_all "setpriv is not installed"
[ -z "${CEEMS_NOROOT:-}" ] || skip_all "already inside"
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
user=games
chmod 755 "$SCRATCH"
mkdir "$SCRATCH/tree" "$SCRATCH/tmp"
git archive HEAD | tar -x -C "$SCRATCH/tree"
chown -R $user: "$SCRATCH/tree" "$SCRATCH/tmp"
packages() { dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' | sort; }
before=$(packages)

cd "$SCRATCH/tree" || exit 1
CEEMS_NOROOT=1 TMPDIR=$SCRATCH/tmp HOME=$SCRATCH/tmp setpriv --reuid $user --regid "$(id -g $user)" --clear-groups \
	make -j2 check >"$SCRATCH/log" 2>&1 </dev/null
rc=$?
last=$(tail -1 "$SCRATCH/log")
is "make check of an ordinary user succeeds" $rc 0
like "it ends with the summary and fails nothing" "$last" '^[0-9]+ passed, 0 failed, [0-9]+ skipped$'
like "what needs root is counted as skipped" "$last" ', [1-9][0-9]* skipped$'
like "and says why" "$(grep skipped "$SCRATCH/log")" 'needs? root'
is "no package was touched" "$(diff <(echo "$before") <(packages))" ""
if [ $rc != 0 ]; then grep -A12 -E '^FAIL|rror' "$SCRATCH/log" | head -80 | sed 's/^/# /'; fi
sed -n '/^FLAKY/,$s/^/# /p' "$SCRATCH/log"
tap_done
