# SPDX-License-Identifier: GPL-2.0-or-later

# libprofiler: ceems-profiler without its main, for tests
HAVE_PROFILER := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),$(and $(HAVE_BPF),$(HAVE_YAML),$(call have,libdw),$(call have,libelf)))
ifneq ($(HAVE_PROFILER),)
ARCHIVES += libprofiler
libprofiler_PKGS := libbpf libdw libelf
libprofiler_LIBS := libopener
libprofiler_CFLAGS := -I$(BUILD)
libprofiler_SRCS += profiler/elf_file.c
libprofiler_SRCS += profiler/frame_names.c
libprofiler_SRCS += profiler/modules.c
libprofiler_SRCS += profiler/options.c
libprofiler_SRCS += profiler/process_maps.c
libprofiler_SRCS += profiler/session.c
libprofiler_SRCS += profiler/stacks.c
libprofiler_SRCS += profiler/unwind_table.c
$(OBJ)/profiler/session.o $(OBJ)/pic/profiler/session.o: $(BUILD)/bpf/profile.skel.h

PROGS += ceems-profiler
NOINST_PROGS += ceems-profiler
ceems-profiler_SRCS := profiler/main.c
ceems-profiler_LIBS := libprofiler libopener libconf libbase
ceems-profiler_PKGS := libbpf libdw libelf yaml-0.1
endif
$(call require,PROFILER,$(HAVE_PROFILER),libdw or libbpf or clang or bpftool)
