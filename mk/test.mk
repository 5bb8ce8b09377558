# SPDX-License-Identifier: GPL-2.0-or-later
## make check           installs what is missing, builds, runs the tests: what one runs between edits
## make check check-more  and those that take long: other Slurm, Debian and kernel, the model (CI)
## make check QUICK=1   leaves out what is unchanged since it passed, and says how many
## make check-unit      only unit tests and the fuzzers' corpora; installs nothing (libcmocka-dev)
## make check-root      only the tests that need root
## make check-device    on a machine with an NVIDIA GPU: what nobody can make up (doc/gpu.md); some minutes, changes nothing
## make check-long      what takes longer than a quarter of an hour; no script gets a second try
## make bench[-NAME]    numbers, as JSON lines in build/bench/results.jsonl
## make demo            real Slurm, ceemsd and Prometheus on loopback; make demo-stop
## make demo-libvirt    real libvirtd with two domains, ceemsd and Prometheus; make demo-libvirt-stop
## make demo-k8s        real kubelet and API server with two pods, ceemsd and Prometheus; make demo-k8s-stop
## make fuzz-PARSER T=  libFuzzer for T seconds; PARSER is one of test/fuzz/*_fuzz.c
## make tidy format-check headers-check dist
## make new-collector NAME=x   the files of a collector of /proc/x, with a failing test
## make SAN=address,undefined check   (or SAN=thread)

TEST_BINARIES := $(addprefix $(BUILD)/test/,$(TESTS))
FUZZ_REPLAYS := $(addsuffix _replay,$(addprefix $(BUILD)/fuzz/,$(FUZZERS)))

.PHONY: deps check check-more check-unit check-root check-device check-long bench demo demo-stop demo-libvirt demo-libvirt-stop demo-k8s demo-k8s-stop tests unit-tests
deps:
	@mk/deps check

# reported before the compiler does so less clearly
ifneq ($(filter check-unit,$(MAKECMDGOALS)),)
ifeq ($(HAVE_CMOCKA),)
$(error check-unit: cmocka is missing: apt-get install libcmocka-dev, or mk/deps check for all that tests need)
endif
endif
unit-tests: $(TEST_BINARIES)
tests: all unit-tests $(FUZZ_REPLAYS)

# deps may install what the probes at the top of this make looked for, so start afresh; the
# build uses all processors unless -j says otherwise, and makes of tests have their own. QUICK counts
# on the command line only: an environment must not make a run skip things
AFRESH = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
RUN = MAKEFLAGS='$(filter-out -j% --jobserver%,$(MAKEFLAGS))' BUILD=$(BUILD) QUICK=$(if $(filter command,$(origin QUICK)),$(QUICK)) test/run
# both goals in one make are one run with one summary
SETS := $(sort $(filter check check-more,$(MAKECMDGOALS)))
CHECK_SET = $(TEST_BINARIES) $(FUZZ_REPLAYS) $(CHECKS)
check check-more: deps
	@$(if $(filter $@,$(lastword $(SETS))),$(AFRESH) $(if $(word 2,$(SETS)),check-both-run,$@-run),:)
check-run: tests
	@$(RUN) $(CHECK_SET)
check-more-run: tests
	@$(RUN) $(CHECKS_MORE)
check-both-run: tests
	@$(RUN) $(CHECK_SET) $(CHECKS_MORE)
check-unit: tests
	@$(RUN) $(TEST_BINARIES) $(FUZZ_REPLAYS)
check-root: deps
	@$(AFRESH) check-root-run
# the shell tests that say that they need root or start a real Slurm
check-root-run: tests
	@$(RUN) $(sort $(CHECKS_ROOT) $(shell grep -lE 'have_root|test/rig/' $(CHECKS) $(CHECKS_MORE) /dev/null))
# needs a compiler and this tree; where there is no driver it says so
check-device: $(BUILD)/check_device $(BUILD)/nvml_trace.so
	@NVML_TRACE=$(BUILD)/device.trace $(BUILD)/check_device $(abspath $(BUILD)/nvml_trace.so) $(NVML) && \
		{ [ ! -s $(BUILD)/device.trace ] || echo "# the library's answers: $(BUILD)/device.trace"; }
check-long: deps
	@$(AFRESH) check-long-run
check-long-run: tests
	@CHECK_LONG=1 TEST_AGAIN=$${TEST_AGAIN:-0} $(RUN) $(CHECK_SET) $(CHECKS_MORE) $(CHECKS_LONG)

demo:
	@mk/deps demo
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) test/rig/demo start
demo-stop:
	@BUILD=$(BUILD) test/rig/demo stop
demo-libvirt:
	@mk/deps check
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) test/rig/demo_libvirt start
demo-libvirt-stop:
	@BUILD=$(BUILD) test/rig/demo_libvirt stop
demo-k8s:
	@mk/deps check
	@$(MAKE) --no-print-directory all
	@test/rig/k8s make
	@BUILD=$(BUILD) test/rig/demo_k8s start
demo-k8s-stop:
	@BUILD=$(BUILD) test/rig/demo_k8s stop

# What the module.mk files register: "kind name" for test/e2e/promises.sh, and for
# test/e2e/includes.sh "unit name archives - sources" of each archive, program and plugin
.PHONY: registered
registered:
	@$(foreach t,$(TESTS),echo "test $(t) $($(t)_SRCS)";)$(foreach c,$(CHECKS) $(CHECKS_MORE) $(CHECKS_ROOT) $(CHECKS_LONG),echo "check $(c)";)$(foreach b,$(BENCHES),echo "bench $(b)";)$(foreach f,$(FUZZERS),echo "fuzz $(f)";)$(foreach u,$(ARCHIVES) $(PROGS),echo "unit $(u) $($(u)_LIBS) - $($(u)_SRCS)";):

bench:
	@mk/deps check
	@$(MAKE) --no-print-directory tests $(BENCH_BINARIES)
	@BUILD=$(BUILD) test/bench/run $(BENCHES)
bench-%:
	@mk/deps check
	@$(MAKE) --no-print-directory tests $(BENCH_BINARIES)
	@BUILD=$(BUILD) test/bench/run $*

# Only where asked for; not those that their .c file includes first: that they compile alone is seen when it does
ifneq ($(filter headers-check,$(MAKECMDGOALS)),)
HEADERS := $(shell find lib acct_gather jobcomp daemon courier spank lb cli aggregator opener gpu redfish_proxy -name '*.h' 2>/dev/null)
HEADERS := $(filter-out $(shell awk '/^\#[ \t]*include/ { h = FILENAME; sub(/c$$/, "h", h); if ($$2 == "\"" h "\"") print h; nextfile }' \
	$(wildcard $(HEADERS:.h=.c))),$(HEADERS))
ifneq ($(HAVE_PQ),1)
HEADERS := $(filter-out lib/pg/% aggregator/%,$(HEADERS))
endif
endif
.PHONY: headers-check format-check tidy new-collector
new-collector:
	@mk/new-collector '$(NAME)'
headers-check: $(addprefix $(OBJ)/headers/,$(addsuffix .ok,$(HEADERS)))
$(OBJ)/headers/%.ok: %
	$(call say,HEADER,$<)mkdir -p $(@D) && printf '#include "%s"\n' $< | \
		$(CC) $(call ALL_CFLAGS,$(call pkg_cflags,$(if $(HAVE_PQ),libpq))) -fsyntax-only -x c - && touch $@
format-check:
	@clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h') && echo "format: clean"
# FILES=...: only these. Files that were clean are recorded in build/tidy.
tidy: $(if $(AGGREGATOR_SQL),$(OBJ)/aggregator/sql_files.h)
	@mk/tidy $(BUILD)/tidy "-std=gnu11 -D_GNU_SOURCE -I. -I$(OBJ) -DCEEMS_VERSION=\"$(VERSION)\" $(call pkg_cflags,$(if $(HAVE_PQ),libpq))" \
		$(or $(FILES),$(filter-out test/%,$(sort $(ALL_SRCS) $(PLUGIN_SRCS))))
