/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAPL, through powercap if its files can be read, else by perf events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "daemon/sources/rapl_reader.h"

/* Intel SDM volume 4: whether energy filtering is supported, and on */
#define MSR_ARCH_CAPABILITIES 0x10au
#define ARCH_CAP_ENERGY_FILTERING (1u << 11)
#define MSR_MISC_PACKAGE_CTLS 0xbcu
#define ENERGY_FILTERING_ENABLE 1u

struct rapl {
	const struct source *reader;
	void *state; /* of the reader */
	int filtering;
};

static void rapl_close(void *state)
{
	struct rapl *r = state;

	if (!r)
		return;
	if (r->reader)
		r->reader->close(r->state);
	free(r);
}

/* Asked once, with root's rights: 1 on, 0 off, -1 unknown. AMD has none. */
static int find_filtering(const struct env *env)
{
	uint64_t v;

	if (!env->read_msr || env->read_msr(0, MSR_ARCH_CAPABILITIES, &v) < 0)
		return -1;
	if (!(v & ARCH_CAP_ENERGY_FILTERING))
		return 0;
	if (env->read_msr(0, MSR_MISC_PACKAGE_CTLS, &v) < 0)
		return -1;
	return (v & ENERGY_FILTERING_ENABLE) != 0;
}

/* The first reader that opens. If none does: powercap's error, or perf's if powercap is
 * missing. */
static int open_rapl_reader(struct rapl *r, const struct env *env, struct err *err)
{
	static const struct source *const readers[] = {&rapl_powercap, &rapl_perf};
	int only = env->options->rapl_reader, first_rc = -ENODEV;
	struct err why = {""};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (only != RAPL_READER_AUTO && only != (int)i + 1)
			continue;
		int rc = readers[i]->open(env, &r->state, &why);
		if (rc == 0) {
			r->reader = readers[i];
			return 0;
		}
		if (first_rc == -ENODEV && (rc != -ENODEV || !err || !err->text[0])) {
			first_rc = rc;
			(void)err_set(err, rc, "%s", why.text);
		}
	}
	return first_rc;
}

static int rapl_open(const struct env *env, void **ret_state, struct err *err)
{
	struct rapl *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = open_rapl_reader(r, env, err);
	if (rc < 0) {
		rapl_close(r);
		return rc;
	}
	r->filtering = find_filtering(env);
	*ret_state = r;
	return 0;
}

static int rapl_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct rapl *r = state;
	int rc = r->reader->sample(r->state, out, err);

	out->filtering = r->filtering;
	return rc;
}

static uint64_t rapl_gap_ms(const void *state)
{
	const struct rapl *r = state;
	return r->reader->gap_ms ? r->reader->gap_ms(r->state) : UINT64_MAX;
}

const struct source source_rapl = {
	.name = "rapl",
	.open = rapl_open,
	.sample = rapl_sample,
	.gap_ms = rapl_gap_ms,
	.close = rapl_close,
};
