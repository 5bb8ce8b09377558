# SPDX-License-Identifier: GPL-2.0-or-later
# acct_gather_energy_ceems.so, one build per exact Slurm release (the loader refuses
# others): $(BUILD)/slurm/<major.minor.micro>/. It needs Slurm's private headers, so a
# configured source tree: make SLURM_SRC=DIR; the tests' own are in the rig's cache
# (test/rig/slurm_source).
SLURM_SOURCES ?= $(wildcard $(CEEMS_RIG_CACHE)/slurm-source/*) $(SLURM_SRC)

# what knows no Slurm
ARCHIVES += libgather
libgather_SRCS := acct_gather/gather.c acct_gather/keep.c
GATHER_GLUE := acct_gather/acct_gather_energy_ceems.c
# configured source trees as folder:release
slurm_release = $(if $(1),$(shell printf '%02d.%02d.%d' $$(($(1) >> 16 & 255)) $$(($(1) >> 8 & 255)) $$(($(1) & 255))))
GATHER_BUILDS := $(if $(SAN),,$(foreach t,$(SLURM_SOURCES),$(if $(and $(wildcard $(t)/config.h),$(wildcard \
	$(t)/src/slurmd/slurmstepd/slurmstepd_job.h)),$(t):$(call slurm_release,$(call slurm_number,$(t))))))
GATHER_RELEASES := $(sort $(foreach b,$(GATHER_BUILDS),$(lastword $(subst :, ,$(b)))))

# $(1) release $(2) tree
define gather_rules
$(OBJ)/slurm/$(1)/acct_gather/%.o: acct_gather/%.c $(2)/config.h
	$$(call say,CC,"$$< ($(1))")mkdir -p $$(@D) && $(CC) $$(call ALL_CFLAGS,-fPIC -fvisibility=hidden \
		-isystem $(2) -MMD -MP) -c -o $$@ $$<
-include $(wildcard $(OBJ)/slurm/$(1)/acct_gather/*.d)
$(BUILD)/slurm/$(1)/acct_gather_energy_ceems.so: $(OBJ)/slurm/$(1)/$(GATHER_GLUE:.c=.o) \
		$(BUILD)/libgather_pic.a $(BUILD)/libbase_pic.a acct_gather/exports.map
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) -shared $$(ALL_LDFLAGS) -Wl$(comma)--version-script=acct_gather/exports.map \
		-o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
plugins: $(BUILD)/slurm/$(1)/acct_gather_energy_ceems.so
endef

$(foreach r,$(GATHER_RELEASES),$(eval $(call gather_rules,$(r),$(patsubst \
	%:$(r),%,$(firstword $(filter %:$(r),$(GATHER_BUILDS)))))))
$(if $(SLURM_SRC),$(if $(filter $(SLURM_SRC):%,$(GATHER_BUILDS)),,$(info \
	  $(SLURM_SRC) is no configured source tree: acct_gather_energy_ceems.so is left out for it)))
