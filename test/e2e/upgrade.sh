#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet is upgraded and downgraded while real jobs begin and end: the aggregator first (its schema goes
# forward under load), then the controller's courier, plugins before daemons, then daemons; and back, plugins before
# daemons and daemons before plugins, except for the aggregator, whose schema does not go back: that is refused, and done by
# the documented steps with the dump from before the upgrade. Each job that Slurm ended is there once, with the CPU time that
# the kernel counted.
# The older one is the last release, or the tags and commits in OLD="v0.1.0 v0.2.0"; JOBS=N (200) of each direction.
# timeout 4300
. "$(dirname "$0")/../tap.sh"
git rev-parse --verify -q HEAD >/dev/null || skip_all "not a clone"
releases=${OLD:-$(git tag -l 'v*' --sort=creatordate)}
if [ -z "$releases" ]; then # of the tree without tags: what came before the first change after 0.1.0
	releases=$(git log --reverse --format=%H -S'## 0.1.0' -- CHANGELOG.md | head -n 1)^
	git rev-parse --verify -q "$releases" >/dev/null || skip_all "a clone without history and tags"
fi
jobs=${JOBS:-200} new=$BUILD node=up$$
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
. test/clock_off.sh
. test/slurm_bill.sh
mkdir "$SCRATCH/spool"
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; }

build_release() { # REVISION: into $old, or the test ends
	local dir=${OLD_BUILT:-}
	if [ -z "$dir" ]; then
		dir=$SCRATCH/release
		mkdir "$dir"
		git archive "$1" | tar -x -C "$dir" || skip_all "$1 is no revision here"
		make -s -C "$dir" -j"$(nproc)" BUILD=build all >"$SCRATCH/make.log" 2>&1 || { tail -n 5 "$SCRATCH/make.log" | sed 's/^/# /'; ok "$1 is built" false; tap_done; }
	fi
	old=$dir/build
}
# whose program starts next: start_aggregator, start_ceemsd and start_courier take it from $BUILD
end() { kill "$1" 2>/dev/null; wait_for 60 gone "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
has_units() { [ "$(db 'SELECT count(*) FROM unit')" -ge 10 ]; }
upgrade_aggregator() { # as doc/aggregator.md says: a dump before each
	wait_for 60 has_units
	end "$aggregator_pid"
	"$PGBIN/pg_dump" --format=custom --file="$SCRATCH/before.dump" "$PGURL"
	had=$(db 'SELECT count(*) FROM unit')
	BUILD=$new start_aggregator
}
next_courier() { end "$courier_pid"; BUILD=$1 start_courier; }
next_ceemsd() { end "$ceemsd_pid"; BUILD=$1 start_ceemsd; }
next_plugin() { cp "$1/slurm/$(rig_version)/spank_ceems.so" "$SLURM/plugin/spank_ceems.so.new" && mv "$SLURM/plugin/spank_ceems.so.new" "$SLURM/plugin/spank_ceems.so"; }
submit_jobs() { # NAME: five a second, as far as this machine can
	local n
	for ((n = 0; n < jobs; n += 5)); do
		sbatch -o /dev/null -e /dev/null -J "$1" --array=1-5 --wrap "$JOBS/burn \$((SLURM_ARRAY_TASK_ID * 10)); sleep 0.\$((RANDOM % 10))" >/dev/null 2>&1 || { n=$((n - 5)); sleep 0.3; }
		sleep 1
	done
}
ended_jobs() { cat "$SCRATCH"/kernel/* 2>/dev/null | wc -l; }
some_more() { [ "$(ended_jobs)" -ge "$upto" ] || ! kill -0 $submitter 2>/dev/null; }
# each step when so many more jobs have ended, so that there are some of each mix
step() { # WHAT COMMAND...
	local what=$1
	shift
	upto=$(($(ended_jobs) + jobs / 8))
	wait_for 300 some_more
	"$@" || echo "# $what failed"
	wait_for 60 agg_up && wait_for 60 ceemsd_up && echo "# $what, after $(ended_jobs) jobs" || ok "$what: they answer" false
}
begin_load() { # NAME
	rm -f "$SCRATCH"/kernel/*
	submit_jobs "$1" &
	submitter=$! began=$(date +%s%3N)
}
all_over() { ! kill -0 $submitter 2>/dev/null && no_job; }
end_load() { # NAME
	ok "$1: all jobs end" wait_for 900 all_over
	echo "# $1: $jobs jobs in $(($(date +%s%3N) - began)) ms"
	check_bill "$1" "$1" "$jobs"
	is "$1: no record was dropped or torn" "$("$new/ceems-ringdump" -s "$RING" | jq -r '"\(.dropped) \(.torn)"')" "0 0"
}

for release in $releases; do
	build_release "$release"
	echo "# $("$old/ceemsd" --version | head -n 1), from $release; plugins of Slurm $(rig_version)"
	BUILD=$old bill_rig
	begin_load up
	step "aggregator forward" upgrade_aggregator
	step "the controller's courier forward" next_courier "$new"
	step "plugin forward, before its daemon" next_plugin "$new"
	step "daemon forward" next_ceemsd "$new"
	step "plugin back, behind its daemon" next_plugin "$old"
	step "plugin forward" next_plugin "$new"
	end_load up
	begin_load down
	step "daemon back, before its plugin" next_ceemsd "$old"
	step "plugin back" next_plugin "$old"
	step "the controller's courier back" next_courier "$old"
	step "daemon forward, before its plugin" next_ceemsd "$new"
	end_load down
	end "$aggregator_pid"
	like "the older aggregator refuses the newer schema" "$(timeout 60 "$old/ceems_aggregator" --db.url="$PGURL" --no-security.drop-privileges --web.listen-address="127.0.0.1:$agg_port" 2>&1)" "newer|unknown migration|upgrade"
	# the way back that is documented
	PGADMIN=${PGADMIN/\/ceems/\/postgres} psql_admin -c 'DROP DATABASE ceems WITH (FORCE)' -c 'CREATE DATABASE ceems OWNER ceems' >/dev/null
	ok "the dump from before the upgrade is restored" "$PGBIN/pg_restore" --no-owner --no-privileges --single-transaction --dbname="$PGURL" "$SCRATCH/before.dump"
	is "all $had units that there were are there" "$(db 'SELECT count(*) >= 10 AND count(*) = '"${had:-0}"' FROM unit')" t
	BUILD=$old start_aggregator
	next_ceemsd "$old"
	ok "the older aggregator serves it" wait_for 60 agg_up
	all=$jobs jobs=$((jobs / 4))
	begin_load back
	ok "back: all jobs end" wait_for 900 all_over
	within 240 same back "$jobs"
	is "back: each of $jobs jobs is there, billed what the kernel counted" "$(bill back | wc -l) $(wrong back)" "$jobs "
	jobs=$all
	end "$aggregator_pid"
	end "$ceemsd_pid"
	end "$courier_pid"
	$rig stop "$SLURM" >/dev/null 2>&1
	pg_stop
	rm -rf "$SCRATCH/release" "$SCRATCH/spool"/* "$SCRATCH/pg" "$SLURM"
	[ -z "${OLD_BUILT:-}" ] || break
done
tap_done
