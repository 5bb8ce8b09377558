#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Images of the services, made by buildah from the packages and run by podman: no shell, an ordinary user, a root that
# cannot be written to, a health check; what is said without the mounts, and as another user.
# timeout 1800
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for c in buildah podman runc mmdebstrap dh jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
build=$(cd "$BUILD" && pwd)
version=0.1.0
parent=ceems-images-$$
podman=(podman --storage-driver vfs --root "$SCRATCH/store" --runroot "$SCRATCH/run" --runtime runc --cgroup-manager cgroupfs --events-backend file)
pods() { timeout 60 "${podman[@]}" "$@"; }
test_cleanup() {
	pods rm -f -a >/dev/null 2>&1
	find /sys/fs/cgroup -depth -type d -path "*/$parent*" -exec rmdir {} + 2>/dev/null
}
ok "the packages are built" eval 'packaging/deb/build $version "$SCRATCH/debs" "$build" >"$SCRATCH/made" 2>&1' || { tail "$SCRATCH/made"; tap_done; }
ok "and images from them, without a daemon" eval 'packaging/oci/build $version "$SCRATCH/debs" "$SCRATCH/images" >"$SCRATCH/sizes" 2>"$SCRATCH/err"' || { tail "$SCRATCH/err"; tap_done; }
sed "s,$SCRATCH/images/,# ," "$SCRATCH/sizes"
is "there is one for each service" "$(cd "$SCRATCH/images" && ls ./*.tar | sed "s,^./,,; s/-$version.tar//" | paste -sd' ')" "ceems-aggregator ceems-k8s ceems-lb ceems-node ceems-redfish-proxy"
is "each takes less than 60 MB" "$(find "$SCRATCH/images" -size +60M)" ""
materials() { jq -r "$1" "$SCRATCH/images/ceems-node-$version.spdx.json"; }
is "a bill of materials has the image and our packages, with checksums" "$(materials '.packages[] | select(.packageFileName) | .name' | paste -sd' ') $(materials '.packages[0].checksums[0].checksumValue')" \
	"ceems-node ceems-common ceems-tools ceemsd ceems-gpu ceems-profiler $(sha256sum "$SCRATCH/images/ceems-node-$version.tar" | cut -d' ' -f1)"
like "and each of the distribution's, with its version" "$(materials '.packages[] | select(.name | startswith("ceems") | not) | .name + " " + .versionInfo' | grep -cE ' [0-9]') $(materials '.packages[] | select(.packageFileName | not) | select(.versionInfo == null) | .name' | wc -l) $(materials '.packages[] | select(.name == "libc6") | .versionInfo')" '^[0-9]{2,} 0 2[.0-9]+'
for f in "$SCRATCH"/images/*.tar; do pods load -q -i "$f" >/dev/null 2>"$SCRATCH/err" || { ok "podman loads ${f##*/}" false; sed 's/^/# /' "$SCRATCH/err"; }; done
config() { pods inspect "localhost/ceems-$1:$version" | jq -r "$2"; }
for s in node aggregator lb redfish-proxy k8s; do
	is "$s: an ordinary user, a health check, labels" "$(config $s '.[0] | [.Config.User, (.Healthcheck.Test[1:4] | join(" ")), .Config.Labels["org.opencontainers.image.version"], .Config.Labels["org.opencontainers.image.licenses"]] | @tsv' | tr '\t' ' ')" \
		"64800:64800 /usr/bin/ceems_tool check health $version GPL-2.0-or-later"
done
# run SERVICE OPTION... -- ARGUMENT...
limits="--ulimit=nofile=4096:4096 --ulimit=nproc=1024:1024"
run() {
	local service=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	pods run --no-healthcheck --network none --read-only --cap-drop all --security-opt no-new-privileges --cgroup-parent "/$parent" $limits "${options[@]}" "localhost/ceems-$service:$version" "$@"
}
run node --rm -- --version >"$SCRATCH/out" 2>&1 || skip_all "podman cannot run anything here: $(tail -n 1 "$SCRATCH/out")"
for s in node aggregator lb redfish-proxy; do
	like "$s: its program finds its libraries" "$(run $s --rm -- --version 2>&1)" "version $version"
done
for c in /usr/sbin/ceemsd /usr/sbin/ceems-k8s /usr/sbin/ceems_k8s_admission_controller /usr/sbin/ceems-courier; do # what contrib/k8s/deploy runs
	like "k8s: so does $c" "$(run k8s --rm --entrypoint "$c" -- --version 2>&1)" "version $version"
done
is "there is no shell in it" "$(run node --rm --entrypoint /bin/sh -- -c true >/dev/null 2>&1; echo $?)" 127

# --- a node's image at work
run node -d --name node --tmpfs /run/ceems:mode=1777 -- --web.listen-address=127.0.0.1:9010 >"$SCRATCH/out" 2>&1
well() { [ "$(pods exec node /usr/bin/ceems_tool check health http://127.0.0.1:9010 2>&1 | tail -n 1)" = "1 ok, 0 to look at, 0 wrong" ]; }
ok "as an ordinary user, with nothing but a tmpfs to write to, it serves, and its health check says so" wait_for 60 well || pods logs node 2>&1 | tail -n 10 | sed 's/^/# /'
ok "it ends when it is told to" pods stop -t 20 node
like "without its mount it says what it cannot write" "$(run node --rm -- --web.listen-address=127.0.0.1:9010 --check-config 2>&1; run node -d --name bare -- --web.listen-address=127.0.0.1:9010 >/dev/null 2>&1; sleep 3; pods logs bare 2>&1)" '/run/ceems'
like "a configuration that it may not read is named, as any user" "$(run node --rm --user 12345:12345 -- --config.file=/etc/ceems/ceemsd.yaml 2>&1)" '/etc/ceems/ceemsd.yaml: Permission denied'
tap_done
