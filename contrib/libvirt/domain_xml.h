/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_LIBVIRT_DOMAIN_XML_H
#define CEEMS_CONTRIB_LIBVIRT_DOMAIN_XML_H

#include <stddef.h>

#include "lib/err.h"
#include "lib/records/record.h"

/*
 * What we read of a domain's XML (libvirt.org/formatdomain.html): its UUID, and the
 * devices of the host that were passed through. Names, titles and the metadata of Nova
 * are not read: whose a domain is does not come from a node.
 */
#define DOMAIN_XML_MAX (1u << 20)
#define DOMAIN_UUID_SIZE 37u

struct domain_xml {
	char uuid[DOMAIN_UUID_SIZE]; /* lower case; "": none */
	uint32_t device_count;
	struct record_device devices[RECORD_DEVICES_MAX]; /* those beyond are left out
							   */
};

/* Any bytes: a document type or entities of its own are refused, nothing is loaded.
 * -EINVAL, -EFBIG, -ENOMEM with *ret untouched. */
int domain_xml_parse(const char *text, size_t len, struct domain_xml *ret,
		     struct err *err);
/* Copies a UUID in lower case. False: it is none. */
bool domain_uuid_copy(char ret[DOMAIN_UUID_SIZE], const char *text);

#endif
