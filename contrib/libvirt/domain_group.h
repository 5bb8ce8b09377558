/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_DOMAIN_GROUP_H
#define CEEMS_CONTRIB_LIBVIRT_DOMAIN_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cgroup.h"
#include "lib/records/record.h"

/*
 * The control groups of a running domain. libvirt names them by driver, number and
 * name (src/util/vircgroup.c, src/conf/domain_conf.c virDomainGenerateMachineName):
 *
 *	machine.slice/machine-qemu\x2d5\x2dNAME.scope   made by systemd-machined
 *	machine/qemu-5-NAME.libvirt-qemu                else
 *
 * with emulator, vcpuN and the like below.
 */

#define DOMAIN_MACHINE_SIZE 72u

/* The name of a domain in those of its groups, "qemu-5-NAME": of the characters of NAME
 * only those of host names, 64 in all, without dots and dashes at the end. */
void domain_machine_name(const char *driver, int id, const char *name,
			 char ret[DOMAIN_MACHINE_SIZE]);

/* Whether a folder's name is the group of the domain of that name. The number alone
 * would not do: another libvirtd, in a container, counts from 1 as well. */
bool domain_group_is(const char *folder, size_t len, const char *machine);

/* Adds the groups in a text of /proc/PID/cgroup to r. Returns how many lines are of the
 * domain; 0: the process is another one's. Any bytes. */
int domain_group_of_process(const char *text, size_t len, const char *machine,
			    struct record *r);

/* Adds the groups found below machine.slice and machine in all hierarchies. Returns how
 * many hierarchies have it. */
int domain_group_find(int cgroupfd, const struct cgroup_layout *layout,
		      const char *machine, struct record *r);

#endif
