# SPDX-License-Identifier: GPL-2.0-or-later
include test/unit/module.mk
include test/fuzz/module.mk
include test/e2e/module.mk
include test/bench/module.mk
include test/model/module.mk
