#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A clone in a home of mode 0700, as Debian makes homes, itself closed too: make check runs its
# tests where programs of other users reach it (test/reach). demo.sh runs the demo itself from such a
# place; here its messages are checked when something goes wrong.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root to become another user"
unshare --mount --propagation private true 2>/dev/null || skip_all "no mount namespace here"

clone=$SCRATCH/home/x
mkdir -m 700 "$SCRATCH/home" "$clone"
mkdir -p "$clone/test/rig" "$clone/build"
cp test/{run,reach,tap.sh,port.sh} "$clone/test/"
cat >"$clone/build/program" <<-'END'
	#!/bin/sh
	id -un
END
cat >"$clone/test/user.sh" <<-'END'
	#!/bin/bash
	. "$(dirname "$0")/tap.sh"
	as() { setpriv --reuid games --regid games --clear-groups sh -c "$@"; }
	is "a program that was built runs as another user" "$(as '"$0"' "$BUILD/program" 2>&1)" games
	is "who may read the tree from where tests are" "$(as 'head -c 2 test/user.sh' 2>&1)" '#!'
	echo "$TOP" >build/top
	is "written files are the clone's" "$(echo x >build/written && cat "$HOME_CLONE/build/written")" x
	tap_done
END
chmod 755 "$clone/build/program" "$clone/test/user.sh"
run_there() { (cd "$clone" && env -u CEEMS_REACHED HOME_CLONE="$clone" BUILD=build "$@") 2>&1; }
like "the three things hold in a clone nobody else can reach" "$(run_there test/run test/user.sh)" '3 passed, 0 failed'
top=$(cat "$clone/build/top")
is "as they do not without test/reach" "$(run_there env CEEMS_REACHED="$clone" test/run test/user.sh | grep -c '^    not ok')" 2
is "its exit status is the command's" "$(run_there test/reach sh -c 'exit 7' >/dev/null; echo $?)" 7
ok "its logs are in the clone" [ -s "$clone/build/log/user.sh.log" ]
like "they were seen from a place below /var/tmp" "$top" '^/var/tmp/ceems-view\.'
ok "which is gone" [ ! -e "$top" ]

mkdir "$clone/.git" && echo secret >"$clone/.git/config"
chmod -R go-rwx "$clone"
like "the three things hold where umask 077 closed each file" "$(run_there test/run test/user.sh)" '3 passed, 0 failed'
is "the clone and its .git stay closed" "$(stat -c %a "$clone" "$clone/.git" "$clone/.git/config" | tr '\n' ' ')" "700 700 600 "
is "opened files are not opened twice" "$(run_there test/reach true)" ""
chmod -R go-rwx "$clone"
chmod 711 "$SCRATCH/home" "$clone"
like "in a clone that others reach closed files are left alone and said to be" "$(run_there test/reach true)" 'closed to other users .*chmod -R go\+rX'

# the demo before anything is started: each cause by its name
why=$(test/rig/slurm possible) || { skip "the demo names its causes" "$why"; tap_done; }
mkdir "$SCRATCH/home/empty"
demo() { BUILD=$1 test/rig/demo start 2>&1; }
like "a demo without programs says what is missing" "$(demo "$SCRATCH/home/empty")" "empty/ceemsd is not built \\(make\\)"
printf '#!/bin/sh\necho "no such library" >&2\nexit 127\n' >"$SCRATCH/home/empty/ceemsd"
chmod 700 "$SCRATCH/home/empty/ceemsd"
like "and what an ordinary user is told" "$(demo "$SCRATCH/home/empty")" 'ordinary users cannot run .*/programs/ceemsd: no such library'
is "and leaves nothing" "$(find "$SCRATCH/home/empty" -name demo)" ""
tap_done
