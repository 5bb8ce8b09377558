# SPDX-License-Identifier: GPL-2.0-or-later
# jobcomp_ceems.so and prep_ceems.so, one build per exact Slurm release, as acct_gather/module.mk has them:
# $(BUILD)/slurm/<major.minor.micro>/. What knows no Slurm is a library.
ARCHIVES += libjobcomp
libjobcomp_SRCS := jobcomp/names.c jobcomp/queue.c jobcomp/tres.c jobcomp/writer.c
JOBCOMP_GLUE := jobcomp/jobcomp_ceems.c jobcomp/chain.c
# configured source trees as folder:release, as of acct_gather
JOBCOMP_BUILDS := $(if $(SAN),,$(foreach t,$(SLURM_SOURCES),$(if $(and $(wildcard $(t)/config.h),$(wildcard \
	$(t)/src/slurmctld/slurmctld.h)),$(t):$(call slurm_release,$(call slurm_number,$(t))))))
JOBCOMP_RELEASES := $(sort $(foreach b,$(JOBCOMP_BUILDS),$(lastword $(subst :, ,$(b)))))

# A thread that hangs must not lose its code under it: never unmapped (nodelete).
# prep_ceems.so finds jobcomp_ceems.so in its process by soname.
# $(1) release $(2) tree
define jobcomp_rules
$(OBJ)/slurm/$(1)/jobcomp/%.o: jobcomp/%.c $(2)/config.h
	$$(call say,CC,"$$< ($(1))")mkdir -p $$(@D) && $(CC) $$(call ALL_CFLAGS,-fPIC -fvisibility=hidden \
		-isystem $(2) -MMD -MP) -c -o $$@ $$<
-include $(wildcard $(OBJ)/slurm/$(1)/jobcomp/*.d)
$(BUILD)/slurm/$(1)/jobcomp_ceems.so: $(JOBCOMP_GLUE:%.c=$(OBJ)/slurm/$(1)/%.o) \
		$(BUILD)/libjobcomp_pic.a $(BUILD)/libbase_pic.a jobcomp/exports.map
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) -shared $$(ALL_LDFLAGS) -Wl,-z,nodelete \
		-Wl$(comma)-soname=$$(@F) -Wl$(comma)--version-script=jobcomp/exports.map -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
$(BUILD)/slurm/$(1)/prep_ceems.so: $(OBJ)/slurm/$(1)/jobcomp/prep_ceems.o jobcomp/prep_exports.map
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) -shared $$(ALL_LDFLAGS) \
		-Wl$(comma)--version-script=jobcomp/prep_exports.map -o $$@ $$<
plugins: $(BUILD)/slurm/$(1)/jobcomp_ceems.so $(BUILD)/slurm/$(1)/prep_ceems.so
endef

$(foreach r,$(JOBCOMP_RELEASES),$(eval $(call jobcomp_rules,$(r),$(patsubst \
	%:$(r),%,$(firstword $(filter %:$(r),$(JOBCOMP_BUILDS)))))))
$(if $(SLURM_SRC),$(if $(filter $(SLURM_SRC):%,$(JOBCOMP_BUILDS)),,$(info \
	  $(SLURM_SRC) is no configured source tree: jobcomp_ceems.so is left out for it)))
