# SPDX-License-Identifier: GPL-2.0-or-later
CHECKS += test/e2e/promises.sh
CHECKS += test/e2e/style.sh
CHECKS += test/e2e/install.sh
CHECKS_LONG += test/e2e/dist.sh
CHECKS += test/e2e/docs_fresh.sh
CHECKS += test/e2e/runner.sh
CHECKS += test/e2e/rig_selftest.sh
