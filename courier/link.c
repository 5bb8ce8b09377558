/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to ceemsd, or to a person with --print. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "courier/courier.h"
#include "lib/log.h"
#include "lib/rfc3339.h"

static void print_snapshot(const struct child_snapshot *m)
{
	static const char *const kinds[CHILD_CHANNEL_KINDS] = {
		"energy_uj", "power_uw", "power_min_uw", "power_max_uw",
		"power_avg_uw"};

	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_channel *c = &m->channels[i];
		printf("%s %s %s %s=%" PRIu64 "%s\n", m->head.name, c->chip, c->name,
		       kinds[c->kind], c->raw,
		       c->domain == CHILD_DOMAIN_HOST ? " host" : "");
	}
}

static void print_factors(const struct child_factors *m)
{
	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_factor *f = &m->factors[i];
		char time[RFC3339_BYTES];
		rfc3339_print(f->time_s, time);
		printf("%s %s %s mg_per_kwh=%" PRIu64 " %s\n", m->head.name, time,
		       f->zone, f->mg_per_kwh, f->country);
	}
}

static void print_message(const struct child_head *h)
{
	const struct child_health *health = (const void *)h;

	if (h->kind == CHILD_SNAPSHOT)
		print_snapshot((const void *)h);
	else if (h->kind == CHILD_FACTORS)
		print_factors((const void *)h);
	else if (h->kind == CHILD_HEALTH)
		printf("%s %s\n", h->name, health->rc ? health->text : "good");
	(void)fflush(stdout);
}

void courier_send(struct courier *c, struct child_head *m, enum child_kind kind,
		  const char *name, uint32_t count, size_t bytes)
{
	struct err err;

	child_msg_head(m, kind, name, count, bytes);
	/* never send what we would not accept */
	if (child_msg_check(m, bytes, &err) < 0) {
		log_error("%s: %s, not sent", name, err.text);
		return;
	}
	if (c->options.print)
		print_message(m);
	if (c->link >= 0 && send(c->link, m, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("%s: ceemsd does not accept a message: %s", name,
			  strerror(errno));
}

void courier_send_health(struct courier *c, const char *task, int rc, const char *text,
			 uint64_t since_ns)
{
	struct child_health m = {.rc = rc, .since_ns = since_ns};
	size_t n = strnlen(text, sizeof(m.text) - 1);

	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)text[i];
		m.text[i] = (char)(b < 0x20 || b == 0x7f ? '?' : b);
	}
	courier_send(c, &m.head, CHILD_HEALTH, task, 0, sizeof(m));
}
