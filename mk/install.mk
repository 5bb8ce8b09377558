# SPDX-License-Identifier: GPL-2.0-or-later
## make install DESTDIR= PREFIX=   programs, plugins, man pages, systemd units, samples
## make uninstall DESTDIR= PREFIX= the same files again; never what is in /etc
## make deb             Debian packages of what make install installs: build/deb
## make rpm             RPM packages of the same: build/rpm
## make dist            a source archive of HEAD
## make release OUT=    what is published of HEAD: source archive, packages, SPDX, checksums: build/release
## make images          images of the services from the Debian packages: build/images (buildah, root)
## make data OWID=      refreshes the shipped tables from their sources (or from a file)

# $(PREFIX)/sbin/ceemsd, ceems-ringdump        $(PREFIX)/bin/ceems_tool
# $(PREFIX)/lib/ceems/slurm-<version>/*.so     plugins, one folder per Slurm they fit
# $(PREFIX)/lib/{systemd/system,tmpfiles.d,sysusers.d}
# $(PREFIX)/share/man/man{1,8}   $(PREFIX)/share/doc/ceems   $(PREFIX)/share/ceems (samples)
# $(PREFIX)/share/bash-completion/completions
# $(sysconfdir)/ceems/*.yaml                   written only where there is none yet
sysconfdir ?= /etc
sbindir = $(PREFIX)/sbin
bindir = $(PREFIX)/bin
plugindir = $(PREFIX)/lib/ceems
unitdir = $(PREFIX)/lib/systemd/system
tmpfilesdir = $(PREFIX)/lib/tmpfiles.d
sysusersdir = $(PREFIX)/lib/sysusers.d
mandir = $(PREFIX)/share/man
docdir = $(PREFIX)/share/doc/ceems
datadir = $(PREFIX)/share/ceems
completiondir = $(PREFIX)/share/bash-completion/completions

SBIN_PROGS := $(filter ceemsd ceems-ringdump ceems-courier ceems-opener ceems-profiler ceems-gpu ceems-k8s ceems-libvirt ceems_k8s_admission_controller redfish_proxy ceems_aggregator ceems_lb,$(PROGS))
BIN_PROGS := $(filter-out $(SBIN_PROGS) $(NOINST_PROGS),$(PROGS))
MAN1 := $(wildcard doc/man/*.1)
MAN8 := $(wildcard doc/man/*.8)
# doc/README.md is the installed README.md: its links hold in the one folder
INSTALL_DOCS := LICENSE COPYING CONTRIBUTING.md CHANGELOG.md SECURITY.md $(wildcard doc/*.md) $(wildcard doc/*.png)
# CEEMS' names of programs that have another one here
COMPAT := ceems_exporter ceems_api_server
COMPLETIONS := contrib/completion/cacct contrib/completion/ceems_tool
INSTALL_SAMPLES := $(wildcard contrib/packaging/slurm/*) contrib/prometheus/scrape.yaml contrib/prometheus/alerts.yaml \
	contrib/perf/raw_events.yaml
SUBST = sed -e 's|@docdir@|$(docdir)|g' -e 's|@sbindir@|$(sbindir)|g' -e 's|@sysconfdir@|$(sysconfdir)|g' -e 's|@plugindir@|$(plugindir)|g'

# $(1) mode, $(2) files, $(3) folder: nothing for no files
install_files = $(if $(strip $(2)),install -d -m 0755 "$(DESTDIR)$(3)" && install -m $(1) $(2) "$(DESTDIR)$(3)/")
# $(1) template x.in, $(2) folder
install_template = install -d -m 0755 "$(DESTDIR)$(2)" && $(SUBST) $(1) > "$(DESTDIR)$(2)/$(notdir $(1:.in=))" && \
	chmod 0644 "$(DESTDIR)$(2)/$(notdir $(1:.in=))"
# $(1) file or template: a site's own configuration is never overwritten
install_config = test -e "$(DESTDIR)$(sysconfdir)/ceems/$(notdir $(1:.in=))" || \
	(umask 027 && $(SUBST) $(1) > "$(DESTDIR)$(sysconfdir)/ceems/$(notdir $(1:.in=))")

.PHONY: data
data:
	contrib/emissions/refresh $(OWID) $(EDITION)

.PHONY: install install-plugins packaged uninstall dist deb rpm images release
install: all install-plugins
	$(call install_files,0755,$(addprefix $(BUILD)/,$(SBIN_PROGS)),$(sbindir))
	$(call install_files,0755,$(addprefix $(BUILD)/,$(BIN_PROGS)),$(bindir))
	$(call install_template,contrib/packaging/bin/ceems-slurm-plugins.in,$(sbindir))
	chmod 0755 "$(DESTDIR)$(sbindir)/ceems-slurm-plugins"
	$(foreach p,$(COMPAT),$(call install_template,contrib/packaging/bin/$(p).in,$(bindir)) && chmod 0755 "$(DESTDIR)$(bindir)/$(p)" &&) :
	$(call install_files,0644,$(MAN1),$(mandir)/man1)
	$(call install_files,0644,$(MAN8),$(mandir)/man8)
	$(call install_files,0644,$(INSTALL_DOCS),$(docdir))
	$(call install_files,0644,$(INSTALL_SAMPLES),$(datadir))
	$(call install_files,0644,$(COMPLETIONS),$(completiondir))
	$(call install_files,0644,$(wildcard contrib/grafana/dashboards/user/*.json),$(datadir)/grafana/dashboards/user)
	$(call install_files,0644,$(wildcard contrib/grafana/dashboards/operator/*.json),$(datadir)/grafana/dashboards/operator)
	$(call install_files,0644,$(wildcard contrib/grafana/provisioning/datasources/*),$(datadir)/grafana/provisioning/datasources)
	$(call install_files,0644,contrib/grafana/provisioning/dashboards/ceems.yaml,$(datadir)/grafana/provisioning/dashboards)
	$(call install_files,0644,contrib/packaging/plugstack.conf.d/ceems.conf,$(datadir)/plugstack.conf.d)
	$(call install_files,0644,contrib/packaging/systemd/ceemsd-perf.conf,$(datadir)/systemd)
	$(call install_template,contrib/packaging/systemd/ceemsd.service.in,$(unitdir))
	$(if $(filter redfish_proxy,$(PROGS)),$(call install_template,contrib/packaging/systemd/redfish_proxy.service.in,$(unitdir)))
	$(if $(filter ceems-courier,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems-courier.service.in,$(unitdir)))
	$(if $(filter ceems-courier,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems-flush.service.in,$(unitdir)))
	$(if $(filter ceems_aggregator,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems_aggregator.service.in,$(unitdir)))
	$(if $(filter ceems_lb,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems_lb.service.in,$(unitdir)))
	$(if $(filter ceems-k8s,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems-k8s.service.in,$(unitdir)))
	$(if $(filter ceems-libvirt,$(PROGS)),$(call install_template,contrib/packaging/systemd/ceems-libvirt.service.in,$(unitdir)))
	$(if $(filter ceems-libvirt,$(PROGS)),$(call install_template,contrib/libvirt/hook.in,$(datadir)/libvirt))
	$(call install_template,contrib/packaging/tmpfiles.d/ceems.conf.in,$(tmpfilesdir))
	$(call install_files,0644,contrib/packaging/sysusers.d/ceems.conf,$(sysusersdir))
	install -d -m 0751 "$(DESTDIR)$(sysconfdir)/ceems"
	$(call install_config,contrib/packaging/etc/ceemsd.yaml.in)
	$(call install_config,contrib/packaging/etc/aggregator.yaml.in)
	$(call install_config,contrib/packaging/etc/aggregator-web.yaml)
	$(call install_config,contrib/packaging/etc/lb-web.yaml)
	$(call install_config,contrib/packaging/etc/redfish_proxy-web.yaml)
	$(call install_config,contrib/packaging/etc/lb.yaml)
	$(call install_config,contrib/packaging/etc/redfish.yaml)
	$(call install_config,contrib/packaging/etc/redfish_proxy.yaml)
	$(call install_config,contrib/packaging/etc/web-config.yaml)
	for f in cacct jobcomp ceems-courier; do \
		test -e "$(DESTDIR)$(sysconfdir)/ceems/$$f.yaml" || install -m 0644 contrib/packaging/etc/$$f.yaml "$(DESTDIR)$(sysconfdir)/ceems/" || exit 1; \
	done
	$(call install_config,contrib/packaging/etc/acct_gather.conf)

install-plugins: plugins
	for d in $(BUILD)/slurm/*/; do \
		ls "$$d"*.so >/dev/null 2>&1 || continue; \
		install -d -m 0755 "$(DESTDIR)$(plugindir)/slurm-$$(basename $$d)" && \
		install -m 0755 "$$d"*.so "$(DESTDIR)$(plugindir)/slurm-$$(basename $$d)/" || exit 1; \
	done
	$(call install_files,0644,contrib/packaging/tmpfiles.d/ceems-jobcomp.conf,$(tmpfilesdir))

# For packaging/stage: what is built here, and where the headers of each Slurm are
packaged:
	@$(foreach p,$(SBIN_PROGS) $(BIN_PROGS),echo program $(p);)$(foreach b,$(SLURM_BUILDS) $(GATHER_BUILDS),echo slurm $(subst :, ,$(b));):

uninstall:
	! test -x "$(DESTDIR)$(sbindir)/ceems-slurm-plugins" || test -n "$(DESTDIR)" || "$(sbindir)/ceems-slurm-plugins" unlink || \
		test "$$("$(sbindir)/ceems-slurm-plugins" status 2>/dev/null | grep -c ': linked, ')" = 0
	rm -f "$(DESTDIR)$(sbindir)/ceems-slurm-plugins" $(foreach p,$(COMPAT),"$(DESTDIR)$(bindir)/$(p)")
	rm -f $(foreach p,$(SBIN_PROGS),"$(DESTDIR)$(sbindir)/$(p)") $(foreach p,$(BIN_PROGS),"$(DESTDIR)$(bindir)/$(p)")
	rm -f $(foreach m,$(MAN1),"$(DESTDIR)$(mandir)/man1/$(notdir $(m))") $(foreach m,$(MAN8),"$(DESTDIR)$(mandir)/man8/$(notdir $(m))")
	rm -f "$(DESTDIR)$(unitdir)/ceemsd.service" "$(DESTDIR)$(unitdir)/redfish_proxy.service" "$(DESTDIR)$(unitdir)/ceems-courier.service" "$(DESTDIR)$(unitdir)/ceems-flush.service" "$(DESTDIR)$(unitdir)/ceems_aggregator.service" "$(DESTDIR)$(unitdir)/ceems_lb.service" "$(DESTDIR)$(unitdir)/ceems-k8s.service" "$(DESTDIR)$(unitdir)/ceems-libvirt.service" "$(DESTDIR)$(tmpfilesdir)/ceems.conf" "$(DESTDIR)$(tmpfilesdir)/ceems-jobcomp.conf" "$(DESTDIR)$(sysusersdir)/ceems.conf"
	rm -f $(foreach c,$(COMPLETIONS),"$(DESTDIR)$(completiondir)/$(notdir $(c))")
	rm -rf "$(DESTDIR)$(plugindir)" "$(DESTDIR)$(docdir)" "$(DESTDIR)$(datadir)"

dist:
	mkdir -p $(BUILD)
	git archive --prefix=ceems-slurm-$(VERSION)/ -o $(BUILD)/ceems-slurm-$(VERSION).tar.gz HEAD
	@echo $(BUILD)/ceems-slurm-$(VERSION).tar.gz
deb:
	@rm -rf $(BUILD)/deb
	@packaging/deb/build $(VERSION) $(BUILD)/deb
images: deb
	@rm -rf $(BUILD)/images
	@packaging/oci/build $(VERSION) $(BUILD)/deb $(BUILD)/images
release:
	@packaging/release $(or $(OUT),$(BUILD)/release)
rpm:
	@rm -rf $(BUILD)/rpm
	@packaging/rpm/build $(VERSION) $(BUILD)/rpm
