# SPDX-License-Identifier: GPL-2.0-or-later

# liblibvirtwatch: ceems-libvirt without its main and without libvirt, for tests
ifeq ($(HAVE_XML),1)
ARCHIVES += liblibvirtwatch
liblibvirtwatch_LIBS := libadapter
liblibvirtwatch_PKGS := libxml-2.0
liblibvirtwatch_SRCS += contrib/libvirt/domain_figures.c
liblibvirtwatch_SRCS += contrib/libvirt/domain_group.c
liblibvirtwatch_SRCS += contrib/libvirt/domain_xml.c
liblibvirtwatch_SRCS += contrib/libvirt/domains.c

ifeq ($(HAVE_LIBVIRT),1)
PROGS += ceems-libvirt
ceems-libvirt_SRCS := contrib/libvirt/main.c contrib/libvirt/options.c contrib/libvirt/statistics.c contrib/libvirt/watch.c
ceems-libvirt_LIBS := liblibvirtwatch libadapter libconf libbase
ceems-libvirt_PKGS := libvirt libxml-2.0 yaml-0.1
endif
endif
