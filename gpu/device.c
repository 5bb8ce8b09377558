/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"

#define VALUES_NS NSEC_PER_SEC /* time between two readings of the slower values */
#define STACK_BYTES ((size_t)512 << 10)

static int read_nvml_energy(struct device *d, uint64_t *ret_uj, struct err *err)
{
	return nvml_energy(d->nvml, d->handle, ret_uj, err);
}

static int read_nvml_values(struct device *d, struct err *err)
{
	int rc = nvml_read(d->nvml, d->handle, &d->out.m, err);

	return rc == 0 ? device_nvml_read(d, err) : rc;
}

static const struct device_ops nvml_ops = {read_nvml_energy, read_nvml_values,
					   device_nvml_send};

int device_open(struct device *d, uint32_t index, struct err *err)
{
	d->ops = &nvml_ops;
	d->has_counter = true;
	int rc = nvml_identify(d->nvml, index, &d->handle, &d->out.m, err);

	/* one that is lost already is left out, for the sake of the others */
	if (rc == 0 && nvml_read(d->nvml, d->handle, &d->out.m, err) == -ENODEV)
		rc = -ENODEV;
	if (rc < 0)
		return rc;
	d->more = device_nvml_new(d->out.m.mig);
	return d->more ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* A reading that repeats the one before says nothing new. */
static void add_point(struct device *d, uint64_t began_ns, uint64_t ended_ns,
		      uint64_t uj)
{
	struct child_gpu *m = &d->out.m;
	uint32_t n = m->head.count;
	bool has_changed = !n || m->points[n - 1].uj != uj;
	uint64_t at_ns = refresh_take(&d->refresh, began_ns, ended_ns, has_changed);

	if (!has_changed || !at_ns)
		return;
	if (n == CHILD_GPU_POINTS_MAX) {
		memmove(m->points, m->points + 1, (n - 1) * sizeof(m->points[0]));
		n--;
	}
	m->points[n] = (struct child_gpu_point){at_ns, uj};
	m->head.count = n + 1;
	m->serial++;
	d->has_point = true;
}

static int read_counter(struct device *d, struct err *err)
{
	uint64_t uj = 0, began_ns = clock_boottime_ns();

	if (!d->has_counter)
		return 0;
	int rc = d->ops->energy(d, &uj, err);
	if (rc == 0) {
		add_point(d, began_ns, clock_boottime_ns(), uj);
	} else if (rc == -EOPNOTSUPP) {
		d->has_counter = false;
		d->out.m.head.count = 0; /* its power is integrated from now on */
	}
	return rc == -EOPNOTSUPP ? 0 : rc;
}

int device_read(struct device *d, struct err *err)
{
	int rc = read_counter(d, err);

	if (rc == 0 && clock_boottime_ns() - d->out.m.read_ns >= VALUES_NS) {
		rc = d->ops->read(d, err);
		d->out.m.read_ns = clock_boottime_ns();
		d->has_news = rc == 0;
	}
	return rc;
}

void device_send(const struct device *d, struct child_head *h, enum child_kind kind,
		 uint32_t count, size_t bytes)
{
	char name[CHILD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "gpu%u", d->out.m.index);
	child_msg_head(h, kind, name, count, bytes);
	if (send(d->link, h, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("%s: ceemsd does not accept a message: %s", name,
			  strerror(errno));
}

static void send_readings(struct device *d)
{
	struct child_gpu *m = &d->out.m;

	if (d->has_news || d->has_point)
		device_send(d, &m->head, CHILD_GPU, m->head.count,
			    sizeof(*m) + m->head.count * sizeof(m->points[0]));
	if (d->has_news && d->ops->send)
		d->ops->send(d);
	d->has_news = d->has_point = false;
}

static uint64_t take_turn(void *arg)
{
	struct device *d = arg;
	struct err err = {""};
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);
	int rc = device_read(d, &err);

	if (rc == -ENODEV) {
		d->lost(&err);
		return PERIODIC_END;
	}
	if (rc == 0)
		send_readings(d);
	if (rc < 0 && log_repeat_due(&d->log, start_ns))
		log_warn("%s: %s: its values get old", d->out.m.uuid, err.text);
	else if (rc == 0 && log_repeat_over(&d->log))
		log_info("%s: answers again", d->out.m.uuid);
	uint64_t rest_ns = refresh_rest_ns(&d->refresh, d->period_ms * NSEC_PER_MSEC);
	if (!d->has_counter)
		rest_ns = d->period_ms * NSEC_PER_MSEC;
	return periodic_rest_ms(start_ns, rest_ns / NSEC_PER_MSEC);
}

int device_start(struct device *d, struct err *err)
{
	periodic_init(&d->thread);
	int rc = periodic_start(&d->thread, STACK_BYTES, take_turn, NULL, d);

	return rc < 0 ? err_set(err, rc, "thread: %s", strerror(-rc)) : 0;
}
