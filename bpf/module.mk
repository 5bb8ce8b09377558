# SPDX-License-Identifier: GPL-2.0-or-later

# Kernel programs: bpf/x.bpf.c -> $(BUILD)/bpf/x.skel.h, the object as an array with access by
# name, which a program includes as "bpf/x.skel.h". One object for all kernels (CO-RE): no kernel's headers
# and no BTF are needed here.
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool /sbin/bpftool))
# which of its registers a system call uses, and the numbers of calls, are known of two processors (bpf/calls.h)
BPF_ARCH := $(patsubst x86_64%,x86,$(patsubst aarch64%,arm64,$(patsubst powerpc64le%,powerpc,$(patsubst riscv64%,riscv,$(shell $(CC) -dumpmachine)))))
BPF_ARCH_KNOWN := $(filter x86 arm64,$(BPF_ARCH))
HAVE_BPF := $(if $(and $(call have,libbpf),$(BPFTOOL),$(shell command -v $(CLANG) 2>/dev/null),$(BPF_ARCH_KNOWN)),1)
BPF_ENDIAN := $(if $(filter s390x% ppc64-% powerpc64-%,$(shell $(CC) -dumpmachine)),bpfeb,bpfel)
# BPF_PROG's own parameter is unused in every program
BPF_CFLAGS := -g -O2 -mcpu=v3 -target $(BPF_ENDIAN) -D__TARGET_ARCH_$(BPF_ARCH) -I. -fdebug-prefix-map=$(CURDIR)=. \
	-Wall -Wextra -Wno-unused-parameter $(if $(filter 1,$(WERROR)),-Werror)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen object $(BUILD)/bpf/$*.o $< && \
		$(BPFTOOL) gen skeleton $(BUILD)/bpf/$*.o name $*_bpf >$@
.PRECIOUS: $(BUILD)/bpf/%.bpf.o
-include $(wildcard $(BUILD)/bpf/*.d)
