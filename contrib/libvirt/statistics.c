/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/statistics.h"

#include <errno.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#include "contrib/libvirt/domain_figures.h"
#include "contrib/libvirt/domain_xml.h"
#include "lib/clock.h"

static void take_field(struct domain_figures *f, const virTypedParameter *p)
{
	switch (p->type) {
	case VIR_TYPED_PARAM_UINT:
		domain_figures_number(f, p->field, p->value.ui);
		break;
	case VIR_TYPED_PARAM_ULLONG:
		domain_figures_number(f, p->field, p->value.ul);
		break;
	case VIR_TYPED_PARAM_LLONG:
		if (p->value.l >= 0)
			domain_figures_number(f, p->field, (uint64_t)p->value.l);
		break;
	case VIR_TYPED_PARAM_STRING:
		domain_figures_text(f, p->field, p->value.s);
		break;
	default:
		break;
	}
}

static void send_domain(struct statistics *s, const virDomainStatsRecord *stats)
{
	struct domain_figures figures = {.heard_s = 0};
	char uuid[VIR_UUID_STRING_BUFLEN];

	if (virDomainGetUUIDString(stats->dom, uuid) < 0 ||
	    !domain_uuid_copy(figures.uuid, uuid))
		return;
	for (int i = 0; i < stats->nparams; i++)
		take_field(&figures, &stats->params[i]);
	/* a ring that takes none is what the other thread complains of */
	(void)domain_figures_send(&figures, s->ring, clock_realtime_ns(), NULL);
}

/* A connection for each round: one that is kept would need events to notice its end. */
static int ask_driver(struct statistics *s, const char *uri, struct err *err)
{
	virDomainStatsRecordPtr *list = NULL;
	virConnectPtr conn = virConnectOpenReadOnly(uri);

	if (!conn)
		return err_set(err, -ENOTCONN, "%s: %s", uri, virGetLastErrorMessage());
	int n = virConnectGetAllDomainStats(
		conn,
		VIR_DOMAIN_STATS_BALLOON | VIR_DOMAIN_STATS_BLOCK |
			VIR_DOMAIN_STATS_INTERFACE,
		&list,
		VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE |
			VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
	bool none = n < 0 && virGetLastErrorCode() == VIR_ERR_NO_SUPPORT;
	if (n < 0 && !none)
		(void)err_set(err, -EIO, "%s: statistics: %s", uri,
			      virGetLastErrorMessage());
	for (int i = 0; i < n; i++)
		send_domain(s, list[i]);
	if (n >= 0)
		virDomainStatsRecordListFree(list);
	(void)virConnectClose(conn);
	return n < 0 && !none ? -EIO : 0;
}

static uint64_t tell_figures(void *arg)
{
	struct statistics *s = arg;
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < s->options->uris.count; i++) {
		struct err err = {""};
		atomic_store(&s->asked_ns, clock_boottime_ns());
		int rc = ask_driver(s, s->options->uris.items[i], &err);
		atomic_store(&s->asked_ns, 0);
		if (rc == 0)
			(void)log_repeat_over(&s->log);
		else if (log_repeat_due(&s->log, clock_boottime_ns()))
			log_warn("%s: what guests say of themselves is not known",
				 err.text);
	}
	return periodic_rest_ms(start_ns, s->options->statistics_ms);
}

int statistics_start(struct statistics *s, const struct options *o, const char *ring,
		     struct err *err)
{
	*s = (struct statistics){.options = o, .ring = ring};
	periodic_init(&s->thread);
	int rc = periodic_start(&s->thread, 0, tell_figures, NULL, s);
	return rc < 0 ? err_set(err, rc, "a thread: %s", strerror(-rc)) : 0;
}
