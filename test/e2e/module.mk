# SPDX-License-Identifier: GPL-2.0-or-later
CHECKS += test/e2e/promises.sh
CHECKS += test/e2e/style.sh
