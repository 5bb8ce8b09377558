/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks messages of the processes that talk to the network or run vendors' libraries.
 */
#include "lib/records/child_msg.h"

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
	const struct child_hello *m = data;
	return is_field_text(m->program, sizeof(m->program));
}

static bool health_ok(const void *data)
{
	const struct child_health *m = data;
	return m->rc <= 0 && is_field_text(m->text, sizeof(m->text));
}

static bool snapshot_ok(const void *data)
{
	const struct child_snapshot *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_channel *c = &m->channels[i];
		if (c->kind >= CHILD_CHANNEL_KINDS || c->domain >= CHILD_DOMAINS ||
		    !is_field_text(c->name, sizeof(c->name)) ||
		    !is_field_text(c->chip, sizeof(c->chip)))
			return false;
	}
	return true;
}

static bool factors_ok(const void *data)
{
	const struct child_factors *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_factor *f = &m->factors[i];
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

static bool profile_ok(const void *data)
{
	(void)data; /* the same */
	return true;
}

static bool is_profile_ok(const struct child_gpu_profile *p)
{
	if (p->have >> CHILD_GPU_FIGURES)
		return false;
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (p->ppm[i] > 1000000 || p->total_ns[i] > p->covered_ns[i])
			return false;
	}
	return true;
}

static bool gpu_ok(const void *data)
{
	const struct child_gpu *m = data;
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < m->head.count; i++) {
		if (m->points[i].at_ns < last_ns)
			return false;
		last_ns = m->points[i].at_ns;
	}
	return m->index < CHILD_GPUS_MAX && m->have >> CHILD_GPU_VALUES == 0 &&
	       m->vendor < CHILD_GPU_VENDORS && m->mig <= 1 &&
	       m->value[CHILD_GPU_CLOCK_REASONS] >> CHILD_GPU_REASONS == 0 &&
	       m->serial >= m->head.count && *m->uuid &&
	       is_field_text(m->uuid, sizeof(m->uuid)) &&
	       is_field_text(m->pci, sizeof(m->pci)) &&
	       is_field_text(m->model, sizeof(m->model)) && is_profile_ok(&m->profile);
}

static uint64_t instance_key(uint32_t gi, uint32_t ci)
{
	return (uint64_t)gi << 32 | ci;
}

static bool gpu_instances_ok(const void *data)
{
	const struct child_gpu_instances *m = data;
	uint64_t last = 0;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_instance *g = &m->items[i];
		uint64_t key = instance_key(g->gi, g->ci);
		if ((i && key <= last) || g->have >> CHILD_GPU_INSTANCE_VALUES ||
		    g->slices > CHILD_GPU_SLICES_MAX ||
		    g->ci_slices > CHILD_GPU_SLICES_MAX ||
		    !is_field_text(g->uuid, sizeof(g->uuid)) ||
		    !is_profile_ok(&g->profile))
			return false;
		last = key;
	}
	return m->index < CHILD_GPUS_MAX && m->slices <= CHILD_GPU_SLICES_MAX &&
	       *m->uuid && is_field_text(m->uuid, sizeof(m->uuid));
}

static bool gpu_processes_ok(const void *data)
{
	const struct child_gpu_processes *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_process *p = &m->items[i], *last = p - 1;
		if (p->have >> CHILD_GPU_PROCESS_VALUES || p->ended > 1)
			return false;
		if (i &&
		    (p->pid < last->pid ||
		     (p->pid == last->pid &&
		      instance_key(p->gi, p->ci) <= instance_key(last->gi, last->ci))))
			return false;
	}
	return m->index < CHILD_GPUS_MAX && *m->uuid &&
	       is_field_text(m->uuid, sizeof(m->uuid));
}

static bool gpu_vgpus_ok(const void *data)
{
	const struct child_gpu_vgpus *m = data;

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_vgpu *v = &m->items[i];
		if ((i && v->id <= v[-1].id) || v->have >> CHILD_GPU_VGPU_VALUES ||
		    v->busy_ppm > 1000000 || !is_field_text(v->vm, sizeof(v->vm)) ||
		    !is_field_text(v->type, sizeof(v->type)))
			return false;
	}
	return m->index < CHILD_GPUS_MAX && *m->uuid &&
	       is_field_text(m->uuid, sizeof(m->uuid));
}

static const struct layout layouts[CHILD_KINDS] = {
	[CHILD_HELLO] = {sizeof(struct child_hello), 0, 0, hello_ok},
	[CHILD_HEALTH] = {sizeof(struct child_health), 0, 0, health_ok},
	[CHILD_SNAPSHOT] = {sizeof(struct child_snapshot), sizeof(struct child_channel),
			    CHILD_CHANNELS_MAX, snapshot_ok},
	[CHILD_FACTORS] = {sizeof(struct child_factors), sizeof(struct child_factor),
			   CHILD_FACTORS_MAX, factors_ok},
	[CHILD_SHIPPING] = {sizeof(struct child_shipping), 0, 0, shipping_ok},
	[CHILD_PROFILE] = {sizeof(struct child_profile), 0, 0, profile_ok},
	[CHILD_GPU] = {sizeof(struct child_gpu), sizeof(struct child_gpu_point),
		       CHILD_GPU_POINTS_MAX, gpu_ok},
	[CHILD_GPU_INSTANCES] = {sizeof(struct child_gpu_instances),
				 sizeof(struct child_gpu_instance),
				 CHILD_GPU_INSTANCES_MAX, gpu_instances_ok},
	[CHILD_GPU_PROCESSES] = {sizeof(struct child_gpu_processes),
				 sizeof(struct child_gpu_process),
				 CHILD_GPU_PROCESSES_MAX, gpu_processes_ok},
	[CHILD_GPU_VGPUS] = {sizeof(struct child_gpu_vgpus),
			     sizeof(struct child_gpu_vgpu), CHILD_GPU_VGPUS_MAX,
			     gpu_vgpus_ok},
};

int child_msg_check(const void *data, size_t len, struct err *err)
{
	const struct child_head *h = data;

	if (len < sizeof(*h) || len > CHILD_MESSAGE_MAX)
		return err_set(err, -EBADMSG, "message of %zu bytes", len);
	if (h->magic != CHILD_MAGIC || h->version != CHILD_VERSION)
		return err_set(err, -EBADMSG, "message of another version");
	if (h->kind >= CHILD_KINDS || !layouts[h->kind].fixed)
		return err_set(err, -EBADMSG, "message of unknown kind %u", h->kind);
	const struct layout *l = &layouts[h->kind];
	if (h->count > l->count_max || h->bytes != len ||
	    len != l->fixed + h->count * l->item)
		return err_set(err, -EBADMSG, "message of wrong length");
	if (!is_field_text(h->name, sizeof(h->name)) || !l->ok(data))
		return err_set(err, -EBADMSG, "message with a field out of range");
	return h->kind;
}

void child_msg_head(struct child_head *h, enum child_kind kind, const char *name,
		    uint32_t count, size_t bytes)
{
	h->magic = CHILD_MAGIC;
	h->version = CHILD_VERSION;
	h->kind = (uint16_t)kind;
	h->bytes = (uint32_t)bytes;
	h->count = count;
	(void)snprintf(h->name, sizeof(h->name), "%s", name);
}
