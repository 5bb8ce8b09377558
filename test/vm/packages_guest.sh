#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/cross.sh: Debian packages of another processor, installed by its own dpkg, and jobs of
# its Slurm with what they brought.
#   packages_guest.sh FOLDER VERSION RELEASE       of Slurm: 22.05 22.05.8
mkdir -p /var/lib/dpkg/{info,updates} /packaged/slurm && : >/var/lib/dpkg/status
export DEBIAN_FRONTEND=noninteractive
# --force-depends: it knows of no other package, although these were unpacked
if ! dpkg --force-depends -i "$1"/{ceems-common,ceemsd,ceems-tools,"ceems-slurm-spank-$2","ceems-slurm-daemon-$3"}_*.deb >/tmp/dpkg 2>&1; then
	sed 's/^/# /' /tmp/dpkg
	echo "not ok 1 - the packages are installed"
	exit 1
fi
ln -s /usr/sbin/ceem* /usr/bin/ceem* /packaged/
for v in "$2" "$3"; do ln -s "/usr/lib/ceems/slurm-$v" "/packaged/slurm/$v"; done
BUILD=/packaged exec test/vm/cgroup2_guest.sh "$2"
