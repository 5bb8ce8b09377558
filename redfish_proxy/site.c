/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a site from a configuration. */
#include "redfish_proxy/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"

static void log_site_notes(const struct buf *notes, const char *file)
{
	for (const char *s = notes->data; s && *s;) {
		size_t n = strcspn(s, "\n");
		log_warn("%s: %.*s", file, (int)n, s);
		s += n + (s[n] == '\n');
	}
}

int site_new(const char *config_file, bool expand, struct site **ret, struct err *err)
{
	struct site *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = config_load(config_file, expand, &s->config, err);
	if (rc == 0)
		rc = access_new(&s->config, &s->access, err);
	if (rc < 0) {
		site_free(s);
		return *config_file ? err_prefix(err, rc, "config.file") : rc;
	}
	log_site_notes(&s->config.notes, config_file);
	*ret = s;
	return 0;
}

int site_open(struct site *s, struct metrics *metrics, struct err *err)
{
	const struct config_limits *l = &s->config.limits;
	int rc = 0;

	s->cache = cache_new(l->cache_entries, l->cache_bytes);
	if (!s->cache)
		return err_set(err, -ENOMEM, "out of memory");
	if (s->config.identity & IDENTITY_MUNGE)
		rc = munge_new(s->config.munge_socket, &s->munge, err);
	if (rc == 0)
		rc = targets_new(&s->config, s->cache, metrics, &s->targets, err);
	return rc;
}

void site_stop(struct site *s)
{
	if (s->munge)
		munge_stop(s->munge);
	if (s->targets)
		targets_stop(s->targets);
}

void site_free(struct site *s)
{
	if (!s)
		return;
	munge_free(s->munge);
	targets_free(s->targets);
	cache_free(s->cache);
	access_free(s->access);
	config_done(&s->config);
	free(s);
}
