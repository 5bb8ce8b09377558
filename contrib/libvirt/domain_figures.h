/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_DOMAIN_FIGURES_H
#define CEEMS_CONTRIB_LIBVIRT_DOMAIN_FIGURES_H

#include <stdint.h>

#include "contrib/libvirt/domain_xml.h"
#include "lib/err.h"
#include "lib/records/record.h"

/*
 * libvirt's statistics of a domain, whose fields are named "balloon.current",
 * "block.0.rd.bytes", "net.1.name" (virConnectGetAllDomainStats() in
 * libvirt-domain.h), as records for ceemsd. Knows nothing of libvirt's library, so that
 * tests drive it.
 */
#define DOMAIN_DISKS_MAX 40u
#define DOMAIN_INTERFACES_MAX 16u
/* A guest whose driver was last heard of so long ago says nothing of now. */
#define DOMAIN_FIGURES_OLD_S 300u

struct domain_figures {
	char uuid[DOMAIN_UUID_SIZE];
	uint64_t heard_s; /* CLOCK_REALTIME of the balloon driver's last word; 0: never
			   */
	struct record_figures memory;
	struct record_figures disks[DOMAIN_DISKS_MAX];
	struct record_figures interfaces[DOMAIN_INTERFACES_MAX];
};

/* Any names and values: what is not known is nothing. */
void domain_figures_number(struct domain_figures *f, const char *field, uint64_t value);
void domain_figures_text(struct domain_figures *f, const char *field,
			 const char *value);

/* Sends all that is known, by as many records as it takes. realtime_ns: now. */
int domain_figures_send(struct domain_figures *f, const char *ring,
			uint64_t realtime_ns, struct err *err);

#endif
