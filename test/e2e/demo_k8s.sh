#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# The demo of pods, as make demo-k8s runs it: pods of a real kubelet are in a real Prometheus, and each owner, whom a real
# API server told the admission webhook of, sees their own with cacct and no other. demo-k8s-stop ends what was started.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/demo_units.sh"
why=$("$TOP/test/rig/k8s" make) || skip_all "$why"
demo_units_begin k8s ceems-k8s ceems_k8s_admission_controller
pod() { demo_rows | sed -n "$1s/ .*//p"; }
is "Prometheus has both pods, with the CPUs that they request" "$(demo_rows | awk '{ print $2 }' | tr '\n' ' ')" "0.1 0.2 "
is "with CPU time and memory" "$(demo_rows | awk '!($3 > 0 && $4 > 0)')" ""
is "the first owner sees one row, not the annotation's" "$(demo_of daemon --manager=k8s -o PodUID,PodName,User,Namespace,State)" "$(pod 1)|pod-of-daemon|daemon|physics|RUNNING"
is "the second sees the other" "$(demo_of games --manager=k8s -o PodUID,PodName,User,Namespace,State)" "$(pod 2)|pod-of-games|games|chemistry|RUNNING"
demo_units_end "*/${demo_dir##*/}*"
tap_done
