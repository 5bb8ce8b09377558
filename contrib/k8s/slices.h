/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_SLICES_H
#define CEEMS_CONTRIB_K8S_SLICES_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/records/record.h"

/*
 * The devices of dynamic resource allocation on this node. kubelet tells of them by
 * driver, pool and name; ResourceSlices of the API server (resource.k8s.io/v1) tell
 * what these are, by the attributes "uuid" of the driver's own domain and
 * "resource.kubernetes.io/pciBusID" (kubernetes.io/docs/reference/node/
 * dra-standard-device-attributes). One thread at a time.
 */
struct slices;

struct slices *slices_new(void);    /* NULL: no memory */
void slices_free(struct slices *s); /* accepts NULL */

/* A ResourceSlice is there, or has changed. Any object: -EBADMSG; -ENOSPC: too many;
 * -ENOMEM. */
struct json_object;
int slices_see(struct slices *s, struct json_object *slice, struct err *err);
/* It is gone. */
int slices_drop(struct slices *s, struct json_object *slice, struct err *err);
/* A list of all: those not seen between the two are gone. */
void slices_list_begin(struct slices *s);
void slices_list_end(struct slices *s);

/* What the device is called in a record, as a whole: by what the slices say, else by
 * "DRIVER/POOL/DEVICE" as device_name_put() has it; nothing where these are longer than
 * names of Kubernetes. */
void slices_device(struct slices *s, const char *driver, const char *pool,
		   const char *device, struct record_device *ret);
/* Whether slices_device() was called: they are worth reading. */
bool slices_are_asked(const struct slices *s);

#endif
