/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An import: sacct's output in either form; the first byte 'A' chooses associations. */
#include "aggregator/sacct.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/associations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int see(void *arg, const struct job *j, const char *step_names, struct err *err)
{
	uint64_t *n = arg;

	(void)err;
	if (!j->job_id || !j->submit_s || !*j->cluster || !j->name || !j->nodes)
		abort();
	/* whoever takes it must be able to read all of it */
	if (step_names && (step_names[0] != '{' || !strchr(step_names, '}')))
		abort();
	*n += strlen(j->name) + strlen(j->comment) + strlen(j->tres_allocated) + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf b = BUF_INIT;
	struct sacct_counts c;
	struct err err = {""};
	uint64_t n = 0;
	size_t rows = 0;

	if (size && data[0] == 'A') {
		int rc = associations_parse((const char *)data + 1, size - 1, &b, &rows,
					    &err);
		if (rc == 0 && (!b.data || b.data[0] != '['))
			abort();
		return 0;
	}
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (sacct_read(text, size, "", "c", see, &n, &c, &err) < 0 && !*err.text)
		abort();
	free(text);
	return 0;
}
