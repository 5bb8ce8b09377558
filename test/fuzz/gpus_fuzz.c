/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of slurmd -G, then (after a line "--") an order map, a list and a share. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gpus/gpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check(const struct gpus *g)
{
	must(g->count <= GPUS_MAX && g->device_count <= GPUS_MAX);
	for (uint32_t i = 0; i < g->count; i++) {
		must(g->gpu[i].index == i);
		must(memchr(g->gpu[i].file, '\0', GPUS_FILE_MAX));
		must(memchr(g->gpu[i].cap, '\0', GPUS_FILE_MAX));
		must(memchr(g->gpu[i].type, '\0', GPUS_NAME_MAX));
		must(memchr(g->gpu[i].uuid, '\0', GPUS_UUID_MAX));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpus g;
	static const char mark[] = "\n--\n";
	struct gpu_use use[GPUS_MAX];
	struct err err;
	if (size > 1 << 16)
		return 0;
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	char *rest = memmem(text, size, mark, strlen(mark));
	size_t len = rest ? (size_t)(rest - text) : size;
	char *save = NULL;
	char *map = rest ? strtok_r(rest + strlen(mark), "\n", &save) : NULL;
	char *list = map ? strtok_r(NULL, "\n", &save) : NULL;
	char *share = list ? strtok_r(NULL, "\n", &save) : NULL;
	memset(&g, 0, sizeof(g));
	if (gpus_parse(text, len, &g, &err) < 0)
		must(!g.managed && err.text[0]);
	check(&g);
	if (map && gpus_apply_order_map(&g, map, &err) < 0)
		must(err.text[0]);
	check(&g);
	int n = list ? gpus_of(&g, list, share ? share : "", use, GPUS_MAX, &err) : 0;
	must(n <= (int)g.count);
	for (int i = 0; i < n; i++) {
		must(use[i].gpu >= g.gpu && use[i].gpu < g.gpu + g.count);
		must(use[i].share > 0 && use[i].share <= 1);
	}
	free(text);
	return 0;
}
