/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks messages of the process that talks to the network. */
#include "lib/records/courier_msg.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct layout {
	size_t fixed, item;
	uint32_t count_max;
	bool (*ok)(const void *data);
};

/* Text that ends within its field and is valid in logs and labels */
static bool is_field_text(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	}
	return n < size;
}

static bool hello_ok(const void *data)
{
	const struct courier_hello *m = data;
	return is_field_text(m->program, sizeof(m->program));
}

static bool health_ok(const void *data)
{
	const struct courier_health *m = data;
	return m->rc <= 0 && is_field_text(m->text, sizeof(m->text));
}

static bool snapshot_ok(const void *data)
{
	const struct courier_snapshot *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct courier_channel *c = &m->channels[i];
		if (c->kind >= COURIER_CHANNEL_KINDS || c->domain >= COURIER_DOMAINS ||
		    !is_field_text(c->name, sizeof(c->name)) ||
		    !is_field_text(c->chip, sizeof(c->chip)))
			return false;
	}
	return true;
}

static bool factors_ok(const void *data)
{
	const struct courier_factors *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct courier_factor *f = &m->factors[i];
		if (!is_field_text(f->zone, sizeof(f->zone)) ||
		    !emission_zone_valid(f->zone) ||
		    !is_field_text(f->country, sizeof(f->country)) ||
		    f->mg_per_kwh > EMISSION_MG_MAX)
			return false;
	}
	return true;
}

static bool shipping_ok(const void *data)
{
	(void)data; /* any number is valid */
	return true;
}

static const struct layout layouts[COURIER_KINDS] = {
	[COURIER_HELLO] = {sizeof(struct courier_hello), 0, 0, hello_ok},
	[COURIER_HEALTH] = {sizeof(struct courier_health), 0, 0, health_ok},
	[COURIER_SNAPSHOT] = {sizeof(struct courier_snapshot),
			      sizeof(struct courier_channel), COURIER_CHANNELS_MAX,
			      snapshot_ok},
	[COURIER_FACTORS] = {sizeof(struct courier_factors),
			     sizeof(struct courier_factor), COURIER_FACTORS_MAX,
			     factors_ok},
	[COURIER_SHIPPING] = {sizeof(struct courier_shipping), 0, 0, shipping_ok},
};

int courier_msg_check(const void *data, size_t len, struct err *err)
{
	const struct courier_head *h = data;

	if (len < sizeof(*h) || len > COURIER_MESSAGE_MAX)
		return err_set(err, -EBADMSG, "message of %zu bytes", len);
	if (h->magic != COURIER_MAGIC || h->version != COURIER_VERSION)
		return err_set(err, -EBADMSG, "message of another version");
	if (h->kind >= COURIER_KINDS || !layouts[h->kind].fixed)
		return err_set(err, -EBADMSG, "message of unknown kind %u", h->kind);
	const struct layout *l = &layouts[h->kind];
	if (h->count > l->count_max || h->bytes != len ||
	    len != l->fixed + h->count * l->item)
		return err_set(err, -EBADMSG, "message of wrong length");
	if (!is_field_text(h->name, sizeof(h->name)) || !l->ok(data))
		return err_set(err, -EBADMSG, "message with a field out of range");
	return h->kind;
}

void courier_msg_head(struct courier_head *h, enum courier_kind kind, const char *name,
		      uint32_t count, size_t bytes)
{
	h->magic = COURIER_MAGIC;
	h->version = COURIER_VERSION;
	h->kind = (uint16_t)kind;
	h->bytes = (uint32_t)bytes;
	h->count = count;
	(void)snprintf(h->name, sizeof(h->name), "%s", name);
}
