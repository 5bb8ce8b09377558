/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The XML of a domain, read by libxml2, which libvirt itself uses. */
#include "contrib/libvirt/domain_xml.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN_MAX 10000u

bool domain_uuid_copy(char ret[DOMAIN_UUID_SIZE], const char *text)
{
	char uuid[DOMAIN_UUID_SIZE] = "";

	for (size_t i = 0; i < DOMAIN_UUID_SIZE - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text[i];
		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
		if (dash ? c != '-' : !hex)
			return false;
		uuid[i] = c;
	}
	if (text[DOMAIN_UUID_SIZE - 1])
		return false;
	memcpy(ret, uuid, sizeof(uuid));
	return true;
}

static xmlNode *find_child(const xmlNode *parent, const char *name)
{
	unsigned left = CHILDREN_MAX;

	for (xmlNode *n = parent ? parent->children : NULL; n && left; n = n->next) {
		if (n->type == XML_ELEMENT_NODE &&
		    strcmp((const char *)n->name, name) == 0)
			return n;
		left--;
	}
	return NULL;
}

/* The text of an attribute as it stands; NULL: none, or it is not plain text */
static const char *attribute_of(const xmlNode *n, const char *name)
{
	for (const xmlAttr *a = n ? n->properties : NULL; a; a = a->next) {
		const xmlNode *v = a->children;
		if (strcmp((const char *)a->name, name) == 0)
			return v && v->type == XML_TEXT_NODE && !v->next
				       ? (const char *)v->content
				       : NULL;
	}
	return NULL;
}

static bool attribute_is(const xmlNode *n, const char *name, const char *value)
{
	const char *v = attribute_of(n, name);

	return v && strcmp(v, value) == 0;
}

/* "0x3b" or "59", at most `most`. False: it is not there, or no such number. */
static bool attribute_number(const xmlNode *n, const char *name, unsigned long most,
			     unsigned long *ret)
{
	const char *v = attribute_of(n, name);
	char *end;

	if (!v || !*v || strspn(v, "0123456789abcdefABCDEFx") != strlen(v))
		return false;
	errno = 0;
	unsigned long number = strtoul(v, &end, 0);
	if (errno || *end || number > most)
		return false;
	*ret = number;
	return true;
}

/* https://libvirt.org/formatdomain.html#usb-pci-scsi-devices */
static bool read_hostdev(const xmlNode *hostdev, struct record_device *ret)
{
	const xmlNode *address = find_child(find_child(hostdev, "source"), "address");
	struct record_device d = {.share_permille = 0};
	unsigned long domain = 0, bus, slot, function;

	if (!attribute_is(hostdev, "mode", "subsystem"))
		return false;
	if (attribute_is(hostdev, "type", "mdev")) {
		const char *uuid = attribute_of(address, "uuid");
		if (!uuid || !domain_uuid_copy(d.uuid, uuid))
			return false;
		*ret = d;
		return true;
	}
	if (!attribute_is(hostdev, "type", "pci") ||
	    !attribute_number(address, "bus", 0xff, &bus) ||
	    !attribute_number(address, "slot", 0x1f, &slot) ||
	    !attribute_number(address, "function", 7, &function))
		return false;
	(void)attribute_number(address, "domain", 0xffffffff, &domain);
	(void)snprintf(d.pci, sizeof(d.pci), "%04lx:%02lx:%02lx.%lx", domain, bus, slot,
		       function);
	d.share_permille = 1000;
	*ret = d;
	return true;
}

static void read_devices(const xmlNode *devices, struct domain_xml *out)
{
	unsigned left = CHILDREN_MAX;

	for (const xmlNode *n = devices ? devices->children : NULL;
	     n && left && out->device_count < RECORD_DEVICES_MAX; n = n->next, left--) {
		if (n->type == XML_ELEMENT_NODE &&
		    strcmp((const char *)n->name, "hostdev") == 0 &&
		    read_hostdev(n, &out->devices[out->device_count]))
			out->device_count++;
	}
}

static int read_domain(const xmlDoc *doc, struct domain_xml *out, struct err *err)
{
	const xmlNode *root = xmlDocGetRootElement(doc);
	const xmlNode *uuid = find_child(root, "uuid");

	if (doc->intSubset || doc->extSubset)
		return err_set(err, -EINVAL, "domain XML: it has a document type");
	if (!root || strcmp((const char *)root->name, "domain") != 0)
		return err_set(err, -EINVAL, "domain XML: the root is no <domain>");
	if (uuid && uuid->children && uuid->children->type == XML_TEXT_NODE &&
	    !domain_uuid_copy(out->uuid, (const char *)uuid->children->content))
		return err_set(err, -EINVAL, "domain XML: <uuid> is no UUID");
	read_devices(find_child(root, "devices"), out);
	return 0;
}

int domain_xml_parse(const char *text, size_t len, struct domain_xml *ret,
		     struct err *err)
{
	struct domain_xml out = {.device_count = 0};

	if (len > DOMAIN_XML_MAX)
		return err_set(err, -EFBIG, "domain XML: more than %u bytes",
			       DOMAIN_XML_MAX);
	/* libvirt writes none, and an entity may be a file or grow */
	if (memmem(text, len, "<!DOCTYPE", strlen("<!DOCTYPE")) ||
	    memmem(text, len, "<!ENTITY", strlen("<!ENTITY")))
		return err_set(err, -EINVAL, "domain XML: it has a document type");
	xmlDoc *doc = xmlReadMemory(text, (int)len, NULL, NULL,
				    XML_PARSE_NONET | XML_PARSE_NOERROR |
					    XML_PARSE_NOWARNING | XML_PARSE_NOCDATA);
	if (!doc)
		return err_set(err, -EINVAL, "domain XML: it is not well formed");
	int rc = read_domain(doc, &out, err);
	xmlFreeDoc(doc);
	if (rc == 0)
		*ret = out;
	return rc;
}
