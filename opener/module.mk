# SPDX-License-Identifier: GPL-2.0-or-later

# libopener: ceems-opener without its main, for tests
ifeq ($(HAVE_BPF)$(HAVE_YAML),11)
ARCHIVES += libopener
libopener_PKGS := libbpf
libopener_CFLAGS := -I$(BUILD)
libopener_SRCS += opener/adopt.c
libopener_SRCS += opener/drm_files.c
libopener_SRCS += opener/groups.c
libopener_SRCS += opener/hardware.c
libopener_SRCS += opener/hardware_events.c
libopener_SRCS += opener/io.c
libopener_SRCS += opener/kernel_name.c
libopener_SRCS += opener/limits.c
libopener_SRCS += opener/load.c
libopener_SRCS += opener/net.c
libopener_SRCS += opener/perf.c
libopener_SRCS += opener/profile.c
libopener_SRCS += opener/profile_files.c
libopener_SRCS += opener/profile_keeper.c
libopener_SRCS += opener/profile_memory.c
libopener_SRCS += opener/profile_serve.c
libopener_SRCS += opener/profile_worker.c
$(OBJ)/opener/groups.o $(OBJ)/pic/opener/groups.o: $(BUILD)/bpf/groups.skel.h
$(OBJ)/opener/io.o $(OBJ)/pic/opener/io.o: $(BUILD)/bpf/io.skel.h
$(OBJ)/opener/kernel_name.o $(OBJ)/pic/opener/kernel_name.o: $(BUILD)/bpf/kernel_name.skel.h
$(OBJ)/opener/net.o $(OBJ)/pic/opener/net.o: $(BUILD)/bpf/net.skel.h
$(OBJ)/opener/perf.o $(OBJ)/pic/opener/perf.o: $(BUILD)/bpf/perf.skel.h
$(OBJ)/opener/profile.o $(OBJ)/pic/opener/profile.o: $(BUILD)/bpf/profile.skel.h

PROGS += ceems-opener
ceems-opener_SRCS := opener/main.c
ceems-opener_LIBS := libopener libconf libbase
ceems-opener_PKGS := libbpf yaml-0.1
endif
$(call require,OPENER,$(filter 11,$(HAVE_BPF)$(HAVE_YAML)),libbpf or clang or bpftool)
