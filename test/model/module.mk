# SPDX-License-Identifier: GPL-2.0-or-later
CHECKS_MORE += test/model/ring.sh
