/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_KIND_H
#define CEEMS_CLI_CACCT_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Jobs, virtual machines and pods: which of them --manager chose, what they are called,
 * and which columns they have. */

enum kind {
	KIND_JOB, /* also if nothing was chosen, as in sacct */
	KIND_VM,
	KIND_POD,
	KIND_UNIT, /* of several managers */
	KINDS
};

/* The managers that were chosen, of the API's resource_manager, as bits; 0: any. */
struct kind_set {
	unsigned managers;
	enum kind kind; /* what all of them have */
};

/* Adds "slurm,k8s"; libvirt means VMs, those of OpenStack included, openstack these
 * alone. -EINVAL names what is none of these. */
int kind_parse(const char *text, struct kind_set *ret, struct err *err);

/* Appends the API's parameters for them. */
void kind_put_params(const struct kind_set *s, struct buf *target);

/* Whether a row of this resource_manager is meant; NULL: of an older server. */
bool kind_has(const struct kind_set *s, const char *resource_manager);

/* Of a row's resource_manager; NULL, or one that is not known: KIND_JOB. */
enum kind kind_of_manager(const char *resource_manager);

/* "job", "VMs" */
const char *kind_word(enum kind k, uint64_t count);

/* At the beginning of a line: "Job", "VM" */
const char *kind_title(enum kind k);

/* In JSON: "jobs":, or "units": of all others */
const char *kind_member(enum kind k);

/* Names of columns: the default ones, or --long's. */
const char *kind_columns(enum kind k, bool long_form);
/* The same of usage. */
const char *kind_usage_columns(enum kind k, bool long_form);

#endif
