# SPDX-License-Identifier: GPL-2.0-or-later

# libprofiler: ceems-profiler without its main, for tests
HAVE_PROFILER := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),$(and $(HAVE_BPF),$(HAVE_YAML),$(call have,libdw),$(call have,libelf)))
ifneq ($(HAVE_PROFILER),)
ARCHIVES += libprofiler
libprofiler_PKGS := libdw libelf
libprofiler_SRCS += profiler/unwind_table.c
endif
$(call require,PROFILER,$(HAVE_PROFILER),libdw or libbpf or clang or bpftool)
