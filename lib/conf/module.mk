# SPDX-License-Identifier: GPL-2.0-or-later

# libconf: options and their YAML file; a program that links it lists libconf libbase in
# _LIBS and yaml-0.1 in _PKGS
ARCHIVES += libconf
libconf_SRCS := lib/conf/conf.c lib/conf/conf_help.c lib/conf/conf_yaml.c lib/conf/dropins.c lib/conf/kubeconfig.c lib/conf/program.c lib/conf/yaml_clusters.c lib/conf/yaml_merge.c lib/conf/yaml_rows.c lib/conf/yaml_walk.c
libconf_PKGS := yaml-0.1
