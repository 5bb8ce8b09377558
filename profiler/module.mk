# SPDX-License-Identifier: GPL-2.0-or-later

# libprofiler: ceems-profiler without its main, for tests
HAVE_PROFILER := $(and $(HAVE_BPF),$(HAVE_YAML),$(HAVE_DW),$(HAVE_CURL),$(HAVE_ZLIB),$(HAVE_PROTOBUF_C))
ifneq ($(HAVE_PROFILER),)
ARCHIVES += libprofiler
libprofiler_PKGS := libbpf libdw libelf libprotobuf-c zlib $(if $(HAVE_LZMA),liblzma)
libprofiler_LIBS := libopener libhttp
libprofiler_CFLAGS := -I$(BUILD) $(if $(HAVE_LZMA),-DHAVE_LZMA) $(if $(HAVE_IBERTY),-DHAVE_IBERTY)
# of programs that link it
libprofiler_USES := libdw libelf $(if $(HAVE_LZMA),liblzma)
libprofiler_NEEDS := $(if $(HAVE_IBERTY),-liberty)
libprofiler_SRCS += profiler/blocked.c
libprofiler_SRCS += profiler/by_hand.c
libprofiler_SRCS += profiler/debug_files.c
libprofiler_SRCS += profiler/door.c
libprofiler_SRCS += profiler/files/cpu_delay.c
libprofiler_SRCS += profiler/files/dynamic_symbols.c
libprofiler_SRCS += profiler/files/elf_file.c
libprofiler_SRCS += profiler/files/file_names.c
libprofiler_SRCS += profiler/files/file_reader.c
libprofiler_SRCS += profiler/files/fork_server.c
libprofiler_SRCS += profiler/files/go_names.c
libprofiler_SRCS += profiler/files/inlined.c
libprofiler_SRCS += profiler/files/perf_map.c
libprofiler_SRCS += profiler/files/python_layout.c
libprofiler_SRCS += profiler/files/readable_name.c
libprofiler_SRCS += profiler/files/reader.c
libprofiler_SRCS += profiler/files/unwind_table.c
libprofiler_SRCS += profiler/frame_names.c
libprofiler_SRCS += profiler/hottest.c
libprofiler_SRCS += profiler/jit_maps.c
libprofiler_SRCS += profiler/kernel_names.c
libprofiler_SRCS += profiler/learn_queue.c
libprofiler_SRCS += profiler/map_line.c
libprofiler_SRCS += profiler/modules.c
libprofiler_SRCS += profiler/name_cache.c
libprofiler_SRCS += profiler/name_generations.c
libprofiler_SRCS += profiler/options.c
libprofiler_SRCS += profiler/output.c
libprofiler_SRCS += profiler/pprof.c
libprofiler_SRCS += profiler/process_image.c
libprofiler_SRCS += profiler/process_maps.c
libprofiler_SRCS += profiler/push.c
libprofiler_SRCS += profiler/python_codes.c
libprofiler_SRCS += profiler/raw_stacks.c
libprofiler_SRCS += profiler/sample_ring.c
libprofiler_SRCS += profiler/serve.c
libprofiler_SRCS += profiler/session.c
libprofiler_SRCS += profiler/stack_parts.c
libprofiler_SRCS += profiler/stacks.c
libprofiler_SRCS += profiler/step_profiles.c
libprofiler_SRCS += profiler/symbols.c
libprofiler_SRCS += profiler/tables.c
libprofiler_SRCS += profiler/unwind_copy.c
libprofiler_SRCS += $(BUILD)/profiler/pprof.pb-c.c
$(OBJ)/profiler/pprof.o $(OBJ)/pic/profiler/pprof.o: $(BUILD)/profiler/pprof.pb-c.c
$(BUILD)/profiler/pprof.pb-c.c: profiler/pprof.proto
	$(call say,PROTOC,$<)mkdir -p $(@D) && $(PROTOC_C) --c_out=$(@D) -Iprofiler $<

PROGS += ceems-profiler
ceems-profiler_SRCS := profiler/main.c
ceems-profiler_LIBS := libprofiler libopener libhttp libconf libbase
ceems-profiler_PKGS := libbpf $(libprofiler_USES) libprotobuf-c zlib libcurl $(if $(HAVE_JSON),json-c) yaml-0.1
ceems-profiler_LDLIBS := $(libprofiler_NEEDS)
endif
$(call require,PROFILER,$(HAVE_PROFILER),libdw, libprotobuf-c, protoc-c, libcurl, zlib, libbpf, clang or bpftool)
