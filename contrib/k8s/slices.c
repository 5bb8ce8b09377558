/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/api_json.h"
#include "contrib/k8s/device_name.h"
#include "contrib/k8s/pods.h"
#include "lib/http/json.h"

#define SLICES_MAX 256u        /* of one node */
#define SLICE_DEVICES_MAX 128u /* as the API has it */

struct slice_device {
	char name[POD_NAMESPACE_SIZE];                        /* DNS-1123 label */
	char uuid[RECORD_DEVICE_ID_MAX], pci[RECORD_PCI_MAX]; /* "": none */
};

struct slice {
	struct slice *next;
	bool listed;
	char name[POD_NAME_SIZE]; /* of the object */
	char driver[POD_NAMESPACE_SIZE],
		pool[POD_NAME_SIZE + 1]; /* as the API has them */
	uint64_t generation;             /* of the pool: the highest counts */
	uint32_t count;
	struct slice_device devices[SLICE_DEVICES_MAX];
};

struct slices {
	struct slice *first;
	uint32_t count;
	bool asked;
};

struct slices *slices_new(void)
{
	return calloc(1, sizeof(struct slices));
}

void slices_free(struct slices *s)
{
	while (s && s->first) {
		struct slice *next = s->first->next;
		free(s->first);
		s->first = next;
	}
	free(s);
}

/* ---- one slice ------------------------------------------------------------------- */

/* Whole, or not at all: cut it would be another. */
static bool copy_json_text(struct json_object *o, const char *member, char *to,
			   size_t size)
{
	const char *s = http_json_text(o, member);

	if (!s || strlen(s) >= size)
		return false;
	memcpy(to, s, strlen(s) + 1);
	return true;
}

/* {"NAME":{"string":"..."}} */
static bool copy_attribute(struct json_object *attributes, const char *name, char *to,
			   size_t size)
{
	return copy_json_text(http_json_get(attributes, name, json_type_object),
			      "string", to, size);
}

/* False: there is nothing that would help. */
static bool read_slice_device(struct json_object *device, const char *driver,
			      struct slice_device *ret)
{
	struct json_object *attributes =
		http_json_get(device, "attributes", json_type_object);
	char own[POD_NAMESPACE_SIZE +
		 8]; /* an attribute without a domain is this, too */

	*ret = (struct slice_device){.name = ""};
	(void)snprintf(own, sizeof(own), "%s/uuid", driver);
	bool known = copy_attribute(attributes, "uuid", ret->uuid, sizeof(ret->uuid)) ||
		     copy_attribute(attributes, own, ret->uuid, sizeof(ret->uuid));
	known |= copy_attribute(attributes, "resource.kubernetes.io/pciBusID", ret->pci,
				sizeof(ret->pci));
	return known && copy_json_text(device, "name", ret->name, sizeof(ret->name));
}

static int read_slice(struct json_object *slice, struct slice *c, struct err *err)
{
	struct json_object *spec = http_json_get(slice, "spec", json_type_object);
	struct json_object *pool = http_json_get(spec, "pool", json_type_object);
	struct json_object *list = http_json_get(spec, "devices", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	int rc = api_json_name(slice, "name", c->name, sizeof(c->name), err);

	if (rc < 0)
		return rc;
	if (!copy_json_text(spec, "driver", c->driver, sizeof(c->driver)) ||
	    !copy_json_text(pool, "name", c->pool, sizeof(c->pool)))
		return err_set(err, -EBADMSG, "no driver or no pool");
	(void)http_json_u64(pool, "generation", INT64_MAX, &c->generation);
	for (size_t i = 0; i < n && i < SLICE_DEVICES_MAX; i++)
		c->count += read_slice_device(json_object_array_get_idx(list, i),
					      c->driver, &c->devices[c->count]);
	return 0;
}

/* ---- all of them ----------------------------------------------------------------- */

static void drop_slice(struct slices *s, struct slice **at)
{
	struct slice *c = *at;

	*at = c->next;
	s->count--;
	free(c);
}

static void drop_named(struct slices *s, const char *name)
{
	struct slice **at = &s->first;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	if (*at)
		drop_slice(s, at);
}

int slices_see(struct slices *s, struct json_object *slice, struct err *err)
{
	struct slice *c = calloc(1, sizeof(*c));
	int rc = c ? read_slice(slice, c, err) : err_set(err, -ENOMEM, "out of memory");

	if (rc == 0) {
		drop_named(s, c->name);
		if (s->count >= SLICES_MAX)
			rc = err_set(err, -ENOSPC, "more than %u of a node",
				     SLICES_MAX);
	}
	if (rc < 0) {
		free(c);
		return rc;
	}
	c->listed = true;
	c->next = s->first;
	s->first = c;
	s->count++;
	return 0;
}

int slices_drop(struct slices *s, struct json_object *slice, struct err *err)
{
	char name[POD_NAME_SIZE];
	int rc = api_json_name(slice, "name", name, sizeof(name), err);

	if (rc == 0)
		drop_named(s, name);
	return rc;
}

void slices_list_begin(struct slices *s)
{
	for (struct slice *c = s->first; c; c = c->next)
		c->listed = false;
}

void slices_list_end(struct slices *s)
{
	for (struct slice **at = &s->first; *at;) {
		if ((*at)->listed)
			at = &(*at)->next;
		else
			drop_slice(s, at);
	}
}

static const struct slice_device *find_slice_device(const struct slice *c,
						    const char *name)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (strcmp(c->devices[i].name, name) == 0)
			return &c->devices[i];
	}
	return NULL;
}

/* A pool may have several slices; those of a lower generation are left over. */
static const struct slice_device *find_in_pool(const struct slices *s,
					       const char *driver, const char *pool,
					       const char *name)
{
	const struct slice_device *found = NULL;
	uint64_t generation = 0;

	for (const struct slice *c = s->first; c; c = c->next) {
		if (c->generation < generation || strcmp(c->driver, driver) != 0 ||
		    strcmp(c->pool, pool) != 0)
			continue;
		const struct slice_device *d = find_slice_device(c, name);
		if (d || c->generation > generation)
			found = d;
		generation = c->generation;
	}
	return found;
}

void slices_device(struct slices *s, const char *driver, const char *pool,
		   const char *device, struct record_device *ret)
{
	const struct slice_device *d = find_in_pool(s, driver, pool, device);
	char name[POD_NAMESPACE_SIZE + POD_NAME_SIZE + POD_NAMESPACE_SIZE];

	s->asked = true;
	*ret = (struct record_device){.share_permille = 1000};
	if (d) {
		memcpy(ret->uuid, d->uuid, sizeof(ret->uuid));
		memcpy(ret->pci, d->pci, sizeof(ret->pci));
		return;
	}
	int n = snprintf(name, sizeof(name), "%s/%s/%s", driver, pool, device);
	if (n > 0 && (size_t)n < sizeof(name))
		device_name_put(ret->uuid, name, (size_t)n);
}

bool slices_are_asked(const struct slices *s)
{
	return s->asked;
}
