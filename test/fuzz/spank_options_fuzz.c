/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option values, plugstack.conf arguments and GPU lists; the first byte says which.
 * Beyond "no crash": what is refused changes nothing, what is accepted is within its
 * bounds, and a message never carries bytes that could forge a log line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/spank_options.h"
#include "spank/gpulist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void must_be_one_line(const struct err *err)
{
	must(err->text[0]);
	for (const char *p = err->text; *p; p++)
		must(*p >= ' ' && *p < 0x7f);
}

static void option(enum option o, const char *value)
{
	struct request r = {.perf = RECORD_PERF_SW, .profile_hz = 7}, before = r;
	struct policy policy;
	struct err err;
	if (request_parse(&r, o, value, &err) < 0) {
		must(memcmp(&r, &before, sizeof(r)) == 0);
		must_be_one_line(&err);
	}
	must(r.perf && (r.perf & ~(uint32_t)PERF_ALL) == 0);
	must(r.profile_hz >= 1 && r.profile_hz <= PROFILE_HZ_MAX);
	must(r.report == 0 || r.report == RECORD_REPORT_TEXT ||
	     r.report == RECORD_REPORT_JSON);
	policy_init(&policy);
	policy.perf = policy.profile = policy.report = false;
	(void)request_limit(&r, OPTION_PERF, &policy, &err);
	(void)request_limit(&r, OPTION_PROFILE, &policy, &err);
	(void)request_limit(&r, OPTION_REPORT, &policy, &err);
	must(!r.perf && !r.profile_hz && !r.profile && !r.report);
}

/* Arguments one a line, as a plugstack.conf line has them. */
static void policy(char *text)
{
	struct policy p;
	struct err err;
	char *save = NULL;
	policy_init(&p);
	for (char *arg = strtok_r(text, "\n", &save); arg;
	     arg = strtok_r(NULL, "\n", &save))
		if (policy_apply(&p, arg, &err) < 0)
			must_be_one_line(&err);
	must(p.ring[0] == '/' && memchr(p.ring, '\0', sizeof(p.ring)));
	must(p.profile_max_hz >= 1 && p.profile_max_hz <= PROFILE_HZ_MAX);
	must(p.env_count <= RECORD_ENV_MAX);
	must(p.perf || !p.perf_always);
	for (uint32_t i = 0; i < p.env_count; i++)
		must(p.env[i][0] && memchr(p.env[i], '\0', RECORD_ENV_NAME_MAX));
}

static void gpus(const char *list)
{
	char once[RECORD_GPUS_MAX] = "?", twice[RECORD_GPUS_MAX];
	int rc = gpulist_canonical(list, once, sizeof(once));
	if (rc < 0) {
		must(strcmp(once, "?") == 0);
		return;
	}
	must(once[0]);
	must(gpulist_canonical(once, twice, sizeof(twice)) == 0);
	must(strcmp(once, twice) == 0);
}

static void share(const char *text)
{
	char a[RECORD_GPUS_MAX];
	bool ok = gpulist_share(text, NULL, a, sizeof(a));
	must(ok == (a[0] != '\0'));
	ok = gpulist_share(NULL, text, a, sizeof(a));
	must(ok == (a[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 16)
		return 0;
	char *text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 6) {
	case 0:
	case 1:
	case 2:
		option((enum option)(OPTION_PERF + data[0] % 3), text);
		break;
	case 3:
		policy(text);
		break;
	case 4:
		gpus(text);
		break;
	default:
		share(text);
	}
	free(text);
	return 0;
}
