# SPDX-License-Identifier: GPL-2.0-or-later
include cli/cacct/module.mk
include cli/tool/module.mk
