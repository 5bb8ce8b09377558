# SPDX-License-Identifier: GPL-2.0-or-later
CHECKS += test/model/ring.sh
