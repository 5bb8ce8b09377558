# SPDX-License-Identifier: GPL-2.0-or-later
# How the names that module.mk files set become files.
#
#   ARCHIVES += libx   libx_SRCS, libx_PKGS, _CFLAGS           -> $(BUILD)/libx.a and libx_pic.a
#                      libx_LIBS: archives outside lib/ whose headers it includes (test/e2e/includes.sh)
#   PROGS    += prog   prog_SRCS, _LIBS, _PKGS, _LDLIBS -> $(BUILD)/prog
#   TESTS    += name   name_SRCS (default test/unit/name.c), _LIBS, _PKGS, _LDFLAGS
#                      _RUNS: what else of $(BUILD) it runs or opens
#                                                      -> $(BUILD)/test/name, run by make check
#   FUZZERS  += name   test/fuzz/name_fuzz.c, corpus in test/fuzz/corpus/name
#                                                      -> $(BUILD)/fuzz/name (clang)
#   BENCH_PROGS += name  name_SRCS (default test/bench/name.c), _LIBS, _PKGS
#                                                      -> $(BUILD)/bench/name
#   BENCHES  += name   a measurement: the script test/bench/name, else $(BUILD)/bench/name
#   CHECKS   += test/e2e/x.sh; CHECKS_MORE, CHECKS_ROOT, CHECKS_LONG: shell tests that print TAP

# pkg-config is asked once per package: asking for each of 600 sources took every make 2 s
pkg_key = pkg-$(2).$(subst $(space),+,$(strip $(1)))
pkg_ask = $(if $(filter undefined,$(origin $(pkg_key))),$(eval $(pkg_key) := $(shell $(PKG_CONFIG) --$(2) $(1) 2>/dev/null)))$($(pkg_key))
pkg_cflags = $(if $(strip $(1)),$(call pkg_ask,$(1),cflags))
pkg_libs = $(if $(strip $(1)),$(call pkg_ask,$(1),libs))

# $(1) source, $(2) object, $(3) flags
define compile_rule
$(2): $(1)
	$$(call say,CC,$(1))mkdir -p $$(@D) && $(CC) $$(call ALL_CFLAGS,$(3)) -MMD -MP -c -o $$@ $$<
-include $(2:.o=.d)
endef

define archive_rules
$(1)_SRCS := $$(sort $$($(1)_SRCS))
$(1)_OBJS := $$(addprefix $(OBJ)/,$$($(1)_SRCS:.c=.o))
$(1)_PIC := $$(addprefix $(OBJ)/pic/,$$($(1)_SRCS:.c=.o))
$$(foreach s,$$($(1)_SRCS),$$(eval $$(call compile_rule,$$(s),$(OBJ)/$$(s:.c=.o),$$(call pkg_cflags,$$($(1)_PKGS)) $$($(1)_CFLAGS))))
$$(foreach s,$$($(1)_SRCS),$$(eval $$(call compile_rule,$$(s),$(OBJ)/pic/$$(s:.c=.o),-fPIC -fvisibility=hidden $$(call pkg_cflags,$$($(1)_PKGS)) $$($(1)_CFLAGS))))
$(BUILD)/$(1).a: $$($(1)_OBJS)
	$$(call say,AR,$$@)rm -f $$@ && $(AR) rcs $$@ $$(filter %.o,$$^)
$(BUILD)/$(1)_pic.a: $$($(1)_PIC)
	$$(call say,AR,$$@)rm -f $$@ && $(AR) rcs $$@ $$(filter %.o,$$^)
# a source that leaves an archive must not stay in it
$(BUILD)/$(1).a $(BUILD)/$(1)_pic.a: $$(wildcard $$(addsuffix module.mk,$$(sort $$(dir $$($(1)_SRCS)))))
ALL_SRCS += $$($(1)_SRCS)
endef

# $(1) name, $(2) output file
define link_rules
$$(foreach s,$$(filter-out $$(COMPILED),$$($(1)_SRCS)),$$(eval $$(call compile_rule,$$(s),$(OBJ)/$$(s:.c=.o),$$(if $$(filter test/unit/%,$$(s)),$(TEST_OPT)) $$(call pkg_cflags,$$($(1)_PKGS)))))
COMPILED += $$($(1)_SRCS)
$(2): $$(addprefix $(OBJ)/,$$($(1)_SRCS:.c=.o)) $$(addprefix $(BUILD)/,$$(addsuffix .a,$$($(1)_LIBS)))
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) $(PIE_LDFLAGS) $$(ALL_LDFLAGS) $$($(1)_LDFLAGS) -o $$@ \
		$$(filter %.o,$$^) $$(filter %.a,$$^) $$(filter %.a,$$^) $$(call pkg_libs,$$($(1)_PKGS)) $$($(1)_LDLIBS) -lm
ALL_SRCS += $$($(1)_SRCS)
endef

# replays share what they are made of: each source is compiled once for all of them
REPLAY_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
replay_objs = $(patsubst %.c,$(OBJ)/replay/%.o,$(1))
REPLAY_SRCS := test/fuzz/replay.c
define replay_rule
$(OBJ)/replay/$(1:.c=.o): $(1)
	$$(call say,CC,$(1))mkdir -p $$(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -g -O0 -I. -I$(BUILD) -DCEEMS_VERSION='"$(VERSION)"' $(REPLAY_SAN) $(REPLAY_CFLAGS) -MMD -MP -c -o $$@ $$<
-include $(OBJ)/replay/$(1:.c=.d)
endef
# $(1) fuzzer: libFuzzer with address and undefined-behaviour sanitizers; the same source
# links with test/fuzz/replay.c for make check, which replays the corpus only.
define fuzz_rules
$(BUILD)/fuzz/$(1): test/fuzz/$(1)_fuzz.c $$($(1)_fuzz_SRCS)
	$$(call say,FUZZ,$$@)mkdir -p $$(@D) && $(CLANG) -std=gnu11 -D_GNU_SOURCE -g -O1 -I. -I$(BUILD) \
		-DCEEMS_VERSION='"$(VERSION)"' -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		$$(call pkg_cflags,$$($(1)_fuzz_PKGS)) -o $$@ $$^ $$(call pkg_libs,$$($(1)_fuzz_PKGS)) -lm
$(BUILD)/fuzz/$(1)_replay: $$(call replay_objs,test/fuzz/$(1)_fuzz.c test/fuzz/replay.c $$($(1)_fuzz_SRCS))
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) $(REPLAY_SAN) -o $$@ $$^ $$(call pkg_libs,$$($(1)_fuzz_PKGS)) -lm
REPLAY_SRCS += test/fuzz/$(1)_fuzz.c $$($(1)_fuzz_SRCS)
REPLAY_PKGS += $$($(1)_fuzz_PKGS)
.PHONY: fuzz-$(1)
fuzz-$(1): $(BUILD)/fuzz/$(1)
	mkdir -p $(BUILD)/fuzz/corpus/$(1)
	$(BUILD)/fuzz/$(1) -max_total_time=$$(or $$(T),60) -artifact_prefix=$(BUILD)/fuzz/ \
		$(BUILD)/fuzz/corpus/$(1) test/fuzz/corpus/$(1)
endef

$(foreach a,$(ARCHIVES),$(eval $(call archive_rules,$(a))))
$(foreach p,$(PROGS),$(eval $(call link_rules,$(p),$(BUILD)/$(p))))
$(foreach t,$(TESTS),$(eval $(t)_SRCS ?= test/unit/$(t).c)$(eval $(t)_PKGS += cmocka)$(eval $(call link_rules,$(t),$(BUILD)/test/$(t)))$(if $($(t)_RUNS),$(eval $(BUILD)/test/$(t): | $(addprefix $(BUILD)/,$($(t)_RUNS)))))
$(foreach b,$(BENCH_PROGS),$(eval $(b)_SRCS ?= test/bench/$(b).c)$(eval $(call link_rules,$(b),$(BUILD)/bench/$(b))))
BENCH_BINARIES := $(addprefix $(BUILD)/bench/,$(BENCH_PROGS))
$(foreach f,$(FUZZERS),$(eval $(call fuzz_rules,$(f))))
REPLAY_CFLAGS := $(sort $(foreach p,$(sort $(REPLAY_PKGS)),$(call pkg_cflags,$(p))))
$(foreach s,$(sort $(REPLAY_SRCS)),$(eval $(call replay_rule,$(s))))

.PHONY: all clean help
all: $(addprefix $(BUILD)/,$(PROGS)) plugins
	$(if $(LEFT_OUT),@echo "  left out: $(LEFT_OUT) ($(if $(MISSING_LIBS),apt-get install $(MISSING_LIBS); )doc/install.md)")

# What is not built, and the packages whose libraries pkg-config does not know
PROGRAMS_ALL := ceemsd ceems-courier ceems-opener ceems-profiler ceems-gpu redfish_proxy ceems_aggregator ceems_lb cacct ceems_tool ceems-k8s ceems-libvirt ceems_k8s_admission_controller
MISSING_LIBS := $(strip $(if $(HAVE_MHD),,libmicrohttpd-dev) $(if $(HAVE_GNUTLS),,libgnutls28-dev) \
	$(if $(HAVE_ZLIB),,zlib1g-dev) $(if $(HAVE_YAML),,libyaml-dev) $(if $(HAVE_JSON),,libjson-c-dev) $(if $(HAVE_SQLITE),,libsqlite3-dev) \
	$(if $(HAVE_CURL),,libcurl4-gnutls-dev) $(if $(HAVE_PQ),,libpq-dev) $(if $(HAVE_MUNGE),,libmunge-dev) $(if $(BPF_ARCH_KNOWN),$(if $(HAVE_BPF),,libbpf-dev bpftool clang) $(if $(HAVE_DW),,libdw-dev)) \
	$(if $(HAVE_PROTOBUF_C),,libprotobuf-c-dev protobuf-c-compiler) $(if $(HAVE_NGHTTP2),,libnghttp2-dev) $(if $(HAVE_LIBVIRT),,libvirt-dev) $(if $(HAVE_XML),,libxml2-dev))
LEFT_OUT := $(strip $(filter-out $(PROGS),$(PROGRAMS_ALL)) $(if $(HAVE_MUNGE),,proof by MUNGE) $(if $(HAVE_SQLITE),,ceems_tool migrate database) \
	$(if $(GATHER_BUILDS)$(SAN),,acct_gather_energy_ceems.so) $(if $(JOBCOMP_BUILDS)$(SAN),,jobcomp_ceems.so))
clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^## //p' mk/test.mk mk/install.mk mk/rules.mk
## make                 programs and plugins into build/
## make clean           removes build/ (with SAN=, only that variant)
