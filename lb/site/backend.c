/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One server behind the load balancer: its configuration, and what its answers mean for
 * its health. */
#include "lb/site/backend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/backend_impl.h"
#include "lib/clock.h"

#define EJECT_SHIFT_MAX 10u

int64_t backend_boot_ms(void)
{
	return (int64_t)(clock_boottime_ns() / NSEC_PER_MSEC);
}

static void put_backend_key(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "%s=", name);
	buf_put_json(b, value ? value : "", value ? strlen(value) : 0);
	buf_putc(b, value ? '\n' : '-');
}

static void render_key(const struct backend_params *p, struct buf *b)
{
	const struct backend_care *c = &p->care;

	put_backend_key(b, "cluster", p->cluster);
	put_backend_key(b, "name", p->name);
	put_backend_key(b, "host", p->host);
	put_backend_key(b, "base", p->base_path);
	put_backend_key(b, "auth", p->authorization);
	for (size_t i = 0; i < p->header_count; i++) {
		put_backend_key(b, "header", p->headers[i].name);
		put_backend_key(b, "value", p->headers[i].value);
	}
	put_backend_key(b, "ca", p->ca_file);
	put_backend_key(b, "cert", p->cert_file);
	put_backend_key(b, "key", p->key_file);
	put_backend_key(b, "sni", p->server_name);
	for (size_t i = 0; i < p->filter_label_count; i++)
		put_backend_key(b, "filter", p->filter_labels[i]);
	buf_printf(b,
		   "%d %u %d %d %u %u %u %u %" PRIu64 " %" PRId64 " %" PRId64
		   " %d %u\n",
		   p->pyroscope, p->port, p->tls, p->insecure, p->connect_timeout_ms,
		   p->timeout_ms, p->first_byte_timeout_ms, p->max_requests,
		   p->retention_ms, p->from_ms, p->to_ms, p->dialect, p->promql_flags);
	buf_printf(b, "%u %u %u %u %u %u %u\n", c->interval_ms, c->timeout_ms, c->fall,
		   c->fail_after, c->eject_ms, c->eject_max_ms, c->slow_start_ms);
}

bool backend_same(const struct backend *b, const struct backend_params *p)
{
	const struct backend_server *s = (const void *)b;
	auto_buf struct buf key = BUF_INIT;

	render_key(p, &key);
	bool same = buf_error(&key) == 0 && strcmp(key.data, s->key) == 0;
	explicit_bzero(key.data, key.cap);
	return same;
}

static int copy_server_lists(struct backend_server *s, const struct backend_params *p)
{
	struct http_header *h = arena_alloc(&s->arena, p->header_count, sizeof(*h));
	const char **labels =
		arena_alloc(&s->arena, p->filter_label_count, sizeof(*labels));

	if (!h || !labels)
		return -ENOMEM;
	for (size_t i = 0; i < p->header_count; i++) {
		h[i].name = arena_text(&s->arena, p->headers[i].name);
		h[i].value = arena_text(&s->arena, p->headers[i].value);
		if (!h[i].name || !h[i].value)
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->filter_label_count; i++) {
		labels[i] = arena_text(&s->arena, p->filter_labels[i]);
		if (!labels[i])
			return -ENOMEM;
	}
	s->p.headers = h;
	s->p.filter_labels = labels;
	return 0;
}

static int copy_server_texts(struct backend_server *s)
{
	const char **texts[] = {
		&s->p.cluster,   &s->p.name,          &s->p.host,
		&s->p.base_path, &s->p.authorization, &s->p.ca_file,
		&s->p.cert_file, &s->p.key_file,      &s->p.server_name};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = arena_text(&s->arena, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	return 0;
}

/* The headers of each request, in their wire format. */
static int render_headers(struct backend_server *s)
{
	const struct backend_params *p = &s->p;
	auto_buf struct buf b = BUF_INIT;
	bool v6 = strchr(p->host, ':') != NULL;

	buf_printf(&b, "Host: %s%s%s", v6 ? "[" : "", p->host, v6 ? "]" : "");
	if (p->port != (p->tls ? 443 : 80))
		buf_printf(&b, ":%u", p->port);
	buf_puts(&b, "\r\n");
	if (p->authorization)
		buf_printf(&b, "Authorization: %s\r\n", p->authorization);
	for (size_t i = 0; i < p->header_count; i++)
		buf_printf(&b, "%s: %s\r\n", p->headers[i].name, p->headers[i].value);
	if (buf_error(&b))
		return -ENOMEM;
	s->pub.fixed_headers = arena_text(&s->arena, b.data);
	explicit_bzero(b.data, b.cap);
	return s->pub.fixed_headers ? 0 : -ENOMEM;
}

static void fill_defaults(struct backend_care *c)
{
	static const struct backend_care def = {5000, 2000, 2, 3, 1000, 60000, 10000};

	c->interval_ms = c->interval_ms ?: def.interval_ms;
	c->timeout_ms = c->timeout_ms ?: def.timeout_ms;
	c->fall = c->fall ?: def.fall;
	c->fail_after = c->fail_after ?: def.fail_after;
	c->eject_ms = c->eject_ms ?: def.eject_ms;
	c->eject_max_ms = c->eject_max_ms ?: def.eject_max_ms;
}

static int fill_server(struct backend_server *s, const struct backend_params *p)
{
	auto_buf struct buf key = BUF_INIT;

	render_key(p, &key);
	if (buf_error(&key))
		return -ENOMEM;
	s->key = arena_text(&s->arena, key.data);
	explicit_bzero(key.data, key.cap);
	s->p = *p;
	fill_defaults(&s->p.care);
	if (!s->key || copy_server_texts(s) < 0 || copy_server_lists(s, p) < 0)
		return -ENOMEM;
	p = &s->p;
	s->pub = (struct backend){
		.name = p->name,
		.host = p->host,
		.port = p->port,
		.tls = p->tls,
		.base_path = p->base_path,
		.ca_file = p->ca_file,
		.cert_file = p->cert_file,
		.key_file = p->key_file,
		.server_name = p->server_name,
		.insecure = p->insecure,
		.connect_timeout_ms = p->connect_timeout_ms,
		.timeout_ms = p->timeout_ms,
		.first_byte_timeout_ms = p->first_byte_timeout_ms,
		.filter_labels = p->filter_labels,
		.filter_label_count = p->filter_label_count,
	};
	return render_headers(s);
}

int backend_new(const struct backend_params *p, struct backend **ret, struct err *err)
{
	struct backend_server *s = aligned_alloc(_Alignof(struct backend_server),
						 sizeof(struct backend_server));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	memset(s, 0, sizeof(*s));
	atomic_init(&s->refs, 1);
	atomic_init(&s->seen_dialect,
		    p->dialect < 0 ? -1 : (int)((unsigned)p->dialect | PROMQL_OTHER));
	if (fill_server(s, p) < 0) {
		backend_unref(&s->pub);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = &s->pub;
	return 0;
}

struct backend *backend_ref(struct backend *b)
{
	atomic_fetch_add(&backend_server(b)->refs, 1);
	return b;
}

void backend_unref(struct backend *b)
{
	struct backend_server *s = backend_server(b);

	if (!b || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	arena_done(&s->arena);
	free(s);
}

/* A server that comes back gets its share gradually. */
static void came_back(struct backend_server *s, int64_t boot_ms)
{
	atomic_store(&s->until_ms, 0);
	atomic_store(&s->failures, 0);
	atomic_store(&s->since_ms, boot_ms);
}

bool backend_set_down(struct backend_server *s, bool down, int64_t boot_ms)
{
	if (atomic_exchange(&s->down, down) == down)
		return false;
	if (!down) {
		atomic_store(&s->ejections, 0);
		came_back(s, boot_ms);
	}
	return true;
}

static void eject_server(struct backend_server *s, int64_t boot_ms)
{
	unsigned n = atomic_fetch_add(&s->ejections, 1);
	uint64_t ms = s->p.care.eject_ms;

	ms <<= n < EJECT_SHIFT_MAX ? n : EJECT_SHIFT_MAX;
	if (ms > s->p.care.eject_max_ms)
		ms = s->p.care.eject_max_ms;
	atomic_store(&s->failures, 0);
	atomic_store(&s->until_ms, boot_ms + (int64_t)ms);
	atomic_fetch_add(&s->ejected, 1);
}

void backend_ended_at(struct backend *b, enum backend_outcome how,
		      uint32_t first_byte_ms, int64_t boot_ms)
{
	struct backend_server *s = backend_server(b);

	atomic_fetch_add_explicit(&s->ended[how], 1, memory_order_relaxed);
	switch (how) {
	case BACKEND_ANSWERED:
		atomic_fetch_add_explicit(&s->first_byte_ms, first_byte_ms,
					  memory_order_relaxed);
		if (atomic_load_explicit(&s->failures, memory_order_relaxed))
			atomic_store(&s->failures, 0);
		if (atomic_load_explicit(&s->ejections, memory_order_relaxed)) {
			atomic_store(&s->ejections, 0);
			came_back(s, boot_ms);
		}
		break;
	case BACKEND_FAILED:
		if (atomic_fetch_add(&s->failures, 1) + 1 == s->p.care.fail_after)
			eject_server(s, boot_ms);
		atomic_store(&s->look, true);
		break;
	case BACKEND_TIMED_OUT:
		/* perhaps just a heavy query: one user must not take a server away from
		 * all others. A check tells whether the server still answers. */
		atomic_store(&s->look, true);
		break;
	case BACKEND_CANCELLED:
		break;
	}
	/* last: a set that drops its servers does not wait */
	atomic_fetch_sub_explicit(&s->in_flight, 1, memory_order_release);
	backend_unref(b);
}

void backend_ended(struct backend *b, enum backend_outcome how, uint32_t first_byte_ms)
{
	backend_ended_at(b, how, first_byte_ms, backend_boot_ms());
}

static void put_backend_value(struct prom *out, const struct prom_family *f,
			      const struct prom_label *labels, size_t n, uint64_t v)
{
	prom_family(out, f);
	prom_put_u64(out, labels, n, v);
}

void backend_metrics(struct backend_server *s, struct prom *out)
{
	static const struct prom_family up = {
		"ceems_lb_backend_up", PROM_GAUGE,
		"Whether the backend answers its health checks"};
	static const struct prom_family ejected = {
		"ceems_lb_backend_ejected", PROM_GAUGE,
		"Whether the backend is taken out for a while after failures"};
	static const struct prom_family ejections = {
		"ceems_lb_backend_ejections_total", PROM_COUNTER,
		"Times that the backend was taken out after failures"};
	static const struct prom_family busy = {
		"ceems_lb_backend_requests_in_flight", PROM_GAUGE,
		"Requests that the backend is answering"};
	static const struct prom_family requests = {
		"ceems_lb_backend_requests_total", PROM_COUNTER,
		"Requests to the backend by how they ended"};
	static const struct prom_family seconds = {
		"ceems_lb_backend_first_byte_seconds_total", PROM_COUNTER,
		"Time until answers began, of requests that were answered"};
	static const struct prom_family checks = {
		"ceems_lb_backend_checks_total", PROM_COUNTER,
		"Health checks of the backend by result"};
	static const char *const outcomes[] = {"answered", "failed", "timed_out",
					       "cancelled"};
	struct prom_label l[4] = {
		{"cluster", s->p.cluster},
		{"protocol", s->p.pyroscope ? "pyroscope" : "prometheus"},
		{"backend", s->p.name}};
	uint64_t bad = atomic_load(&s->checks_failed);

	put_backend_value(out, &up, l, 3, !atomic_load(&s->down));
	put_backend_value(out, &ejected, l, 3,
			  atomic_load(&s->until_ms) > backend_boot_ms());
	put_backend_value(out, &ejections, l, 3, atomic_load(&s->ejected));
	put_backend_value(out, &busy, l, 3, atomic_load(&s->in_flight));
	prom_family(out, &seconds);
	prom_put_scaled(out, l, 3, atomic_load(&s->first_byte_ms), 3);
	l[3].name = "outcome";
	for (unsigned i = 0; i < 4; i++) {
		l[3].value = outcomes[i];
		put_backend_value(out, &requests, l, 4, atomic_load(&s->ended[i]));
	}
	l[3] = (struct prom_label){"result", "ok"};
	put_backend_value(out, &checks, l, 4, atomic_load(&s->checks) - bad);
	l[3].value = "failed";
	put_backend_value(out, &checks, l, 4, bad);
}
