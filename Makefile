# SPDX-License-Identifier: GPL-2.0-or-later
# One non-recursive make. `make help` lists the targets; each folder's module.mk lists its
# files; mk/ holds the rules. Everything is written below build/ (build/<variant>/ with SAN=).

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

VERSION := 0.1.0

# Make takes a space for the end of a name, and a colon for that of a target
ifneq ($(words $(CURDIR))$(findstring :,$(CURDIR)),1)
$(error the path of this folder has a space or a colon, which make cannot handle; move the clone: $(CURDIR))
endif

include mk/config.mk

PROGS :=
ARCHIVES :=
TESTS :=
CHECKS :=
CHECKS_MORE :=
CHECKS_LONG :=
CHECKS_ROOT :=
BENCHES :=
BENCH_PROGS :=
FUZZERS :=
DOCS_MAN :=

include lib/module.mk
include lib/records/module.mk
include lib/drm/module.mk
include lib/conf/module.mk
include lib/http/module.mk
include lib/identity/module.mk
include lib/pg/module.mk
include lib/plugin/module.mk
include lib/emissions/module.mk
include courier/module.mk
include daemon/node/module.mk
include daemon/drm/module.mk
include daemon/rdma/module.mk
include daemon/profiles/module.mk
include daemon/sources/module.mk
include daemon/ticker/module.mk
include daemon/reports/module.mk
include daemon/web/module.mk
include daemon/groups/module.mk
include daemon/module.mk
include daemon/guests/module.mk
include spank/module.mk
include acct_gather/module.mk
include jobcomp/module.mk
include lb/promql/module.mk
include lb/pyroscope/module.mk
include lb/site/module.mk
include lb/gate/module.mk
include lb/proxy/module.mk
include lb/module.mk
include redfish_proxy/module.mk
include bpf/module.mk
include opener/module.mk
include gpu/module.mk
include profiler/module.mk
include aggregator/ingest/module.mk
include aggregator/openstack/module.mk
include aggregator/kubernetes/module.mk
include aggregator/module.mk
include cli/module.mk
include contrib/adapter/module.mk
include contrib/k8s/module.mk
include contrib/libvirt/module.mk
include contrib/k8s/admission/module.mk
include contrib/module.mk
include doc/module.mk
include test/module.mk

include mk/rules.mk
include mk/test.mk
include mk/install.mk
