/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as jobcomp.yaml and as a list of TRES: complaints, and options that hold.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jobcomp/tres.h"
#include "lib/plugin/jobcomp_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(void *arg, const char *text)
{
	if (!*text || ++*(unsigned *)arg > 300)
		abort();
}

static const char *name(void *arg, uint32_t id, char buf[64])
{
	(void)arg;
	if (id % 2)
		return NULL;
	memcpy(buf, "gres/x", 7);
	return buf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jobcomp_options o;
	struct buf out = BUF_INIT;
	unsigned complaints = 0;

	jobcomp_options_init(&o);
	jobcomp_options_parse(&o, (const char *)data, size, complain, &complaints);
	if (o.spool[0] != '/' || o.max_bytes < JOBCOMP_MAX_BYTES_MIN ||
	    strcmp(o.chain, "jobcomp/ceems") == 0 ||
	    (o.chain[0] && strncmp(o.chain, "jobcomp/", 8) != 0))
		abort();
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	tres_text(text, name, NULL, &out);
	free(text);
	buf_done(&out);
	return 0;
}
