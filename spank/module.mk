# SPDX-License-Identifier: GPL-2.0-or-later
# SPANK plugins, one build per Slurm major.minor (the loader refuses others):
# $(BUILD)/slurm/<major.minor>/spank_ceems.so and spank_ceems_job.so. Other trees:
# make SLURM_SRC=DIR, a configured source tree or an installation prefix. A source package
# has the headers of the Slurms that it is for (packaging/stage), and no others count there.
.PHONY: plugins

CEEMS_RIG_CACHE ?= /var/cache/ceems-rig
SLURM_PACKAGED := $(wildcard $(CURDIR)/debian/slurm-headers/*)
ifneq ($(SLURM_PACKAGED),)
override SLURM_TREES := $(SLURM_PACKAGED)
override SLURM_SOURCES := $(SLURM_PACKAGED)
endif
SLURM_TREES ?= /usr $(wildcard $(CEEMS_RIG_CACHE)/trixie/usr) $(SLURM_SRC)

# DIR -> the folder that has slurm/spank.h; -> 22.05 and the like; -> folder:version
slurm_headers = $(patsubst %/slurm/spank.h,%,$(firstword $(wildcard \
	$(1)/include/slurm/spank.h $(1)/slurm/spank.h)))
slurm_number = $(shell sed -n 's/^\#define SLURM_VERSION_NUMBER *\(0x[0-9a-f]*\).*/\1/p' \
	$(1)/slurm/slurm_version.h $(1)/slurm/slurm.h 2>/dev/null | head -1)
slurm_version = $(if $(1),$(shell printf '%02d.%02d' $$(($(1) >> 16 & 255)) $$(($(1) >> 8 & 255))))

SPANK_SHARED := spank/step.c spank/arm_wait.c spank/report.c spank/report_step.c spank/gpulist.c
SPANK_PLUGINS := spank_ceems spank_ceems_job
# sanitizers cannot be loaded into a Slurm that was built without them
SLURM_BUILDS := $(if $(SAN),,$(foreach t,$(SLURM_TREES),$(foreach h,$(call slurm_headers,$(t)),$(h):$(call \
	slurm_version,$(call slurm_number,$(h))))))
SLURM_VERSIONS := $(sort $(foreach b,$(SLURM_BUILDS),$(lastword $(subst :, ,$(b)))))

# Only the folder slurm/ of another tree is shown to the compiler, by a link: its libc
# headers are not ours.
# $(1) version $(2) headers
define spank_tree_rules
$(OBJ)/slurm/$(1)/include/slurm: $(2)/slurm/spank.h
	@mkdir -p $$(@D) && ln -sfn $(2)/slurm $$@
$(OBJ)/slurm/$(1)/spank/%.o: spank/%.c | $(OBJ)/slurm/$(1)/include/slurm
	$$(call say,CC,"$$< ($(1))")mkdir -p $$(@D) && $(CC) $$(call ALL_CFLAGS,-fPIC -fvisibility=hidden \
		-I$(OBJ)/slurm/$(1)/include -MMD -MP) -c -o $$@ $$<
-include $(wildcard $(OBJ)/slurm/$(1)/spank/*.d)
$(foreach p,$(SPANK_PLUGINS),$(call spank_plugin_rules,$(1),$(p)))
endef
# $(1) version $(2) plugin
define spank_plugin_rules

$(BUILD)/slurm/$(1)/$(2).so: $(patsubst %.c,$(OBJ)/slurm/$(1)/%.o,spank/$(2).c $(SPANK_SHARED)) \
		$(BUILD)/libbase_pic.a spank/exports.map
	$$(call say,LD,$$@)mkdir -p $$(@D) && $(CC) -shared $$(ALL_LDFLAGS) -Wl$(comma)--version-script=spank/exports.map \
		-o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
plugins: $(BUILD)/slurm/$(1)/$(2).so
endef

$(foreach v,$(SLURM_VERSIONS),$(eval $(call spank_tree_rules,$(v),$(patsubst \
	%:$(v),%,$(firstword $(filter %:$(v),$(SLURM_BUILDS)))))))

plugins:
	$(if $(SLURM_BUILDS)$(SAN),,@echo "  no slurm/spank.h in $(SLURM_TREES): SPANK plugins left out (SLURM_SRC=DIR names a tree)")
