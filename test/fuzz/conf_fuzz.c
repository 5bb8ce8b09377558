/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf_load_yaml() on any bytes: no crash, no leak, and every refusal names the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/conf/conf.h"

struct options {
	bool slurm, psi;
	uint64_t slots, linger_ms, bytes;
	char *path;
	struct conf_list listen;
	int format;
};

static const char *const formats[] = {"logfmt", "json", NULL};
#define OFF(m) .off = offsetof(struct options, m)
static const struct conf_opt table[] = {
	{.name = "collector.slurm", .kind = CONF_BOOL, OFF(slurm)},
	{.name = "collector.slurm.psi-metrics", .kind = CONF_BOOL, OFF(psi)},
	{.name = "ring.slots", .kind = CONF_U64, OFF(slots), .min = 16, .max = 65536},
	{.name = "unit.linger", .kind = CONF_DURATION, OFF(linger_ms)},
	{.name = "spool.size", .kind = CONF_BYTES, OFF(bytes)},
	{.name = "path.procfs", .kind = CONF_STRING, OFF(path)},
	{.name = "web.listen-address", .kind = CONF_LIST, OFF(listen)},
	{.name = "log.format", .kind = CONF_ENUM, OFF(format), .choices = formats},
	{.name = "web.address",
	 .kind = CONF_LIST,
	 OFF(listen),
	 .alias_of = "web.listen-address",
	 .flags = CONF_DEPRECATED},
};
#define N (sizeof(table) / sizeof(table[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o = {0};
	struct err err = {""};
	int rc = conf_load_yaml(table, N, (const char *)data, size, "f.yaml", &o, &err);

	if (rc > 0 || (rc < 0 && strncmp(err.text, "f.yaml:", 7) != 0))
		abort();
	if (rc == 0 && o.slots && (o.slots < 16 || o.slots > 65536))
		abort();
	if (o.listen.count > CONF_LIST_MAX || o.format < 0 || o.format > 1)
		abort();
	conf_release(table, N, &o);
	return 0;
}
