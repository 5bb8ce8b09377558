/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands between a program and NVML: writes down each call, the sizes and version words
 * of its structs, and the answer (NVML_TRACE_REAL: the library; NVML_TRACE: the file),
 *or answers from such a file (NVML_REPLAY). A line is
 *
 *	NAME in=WORD,... rc=CODE out=HEX,... us=MICROSECONDS
 *
 * All entry points have at most six arguments, integers or pointers, and return an int,
 * so one function calls them all.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define ARGS 6
#define LINES_MAX 100000u
#define LINE_BYTES 65536u
#define ITEMS_MAX 256u

/*
 * What arguments are: h a handle, u a number, U a number that replay does not compare;
 * H a place for a handle; oN a place of N bytes; iN one that is also read (its first
 * word is the version, which is written down with the arguments); s a text, its size is
 * the next argument; c a number of items of aN, as is the place n; aN items of N bytes.
 */
typedef int call_f(size_t a, size_t b, size_t c, size_t d, size_t e, size_t f);

struct entry {
	const char *name, *spec;
	call_f *real;
};

struct recorded_line {
	char *text; /* of a replay */
	int used;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *trace;
static void *library;
static struct recorded_line *lines;
static size_t line_count;

static void read_recorded_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	lines = calloc(LINES_MAX, sizeof(*lines));
	while (f && lines && line_count < LINES_MAX && getline(&line, &size, f) > 0)
		lines[line_count++].text = strdup(line);
	free(line);
	if (f)
		(void)fclose(f);
}

static void open_trace_once(void)
{
	const char *replay = getenv("NVML_REPLAY"), *real = getenv("NVML_TRACE_REAL"),
		   *path = getenv("NVML_TRACE");

	if (replay) {
		read_recorded_lines(replay);
		return;
	}
	library = dlopen(real ? real : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	trace = path ? fopen(path, "we") : NULL;
}

/* One argument's kind, and its size where it has one */
struct arg_kind {
	char kind;
	size_t size;
};

static size_t parse_spec(const char *spec, struct arg_kind *ret)
{
	size_t n = 0;

	while (*spec && n < ARGS) {
		char *end = NULL;
		ret[n].kind = *spec++;
		ret[n].size = strtoul(spec, &end, 10);
		spec = end;
		if (ret[n++].kind == 's' && n < ARGS)
			ret[n++] = (struct arg_kind){'u', 0};
	}
	return n;
}

/* How many items an array has: by the count beside it */
static size_t items_of(const struct arg_kind *kinds, size_t n, const size_t *args)
{
	size_t items = 1;

	for (size_t i = 0; i < n; i++) {
		if (kinds[i].kind == 'c')
			items = args[i];
		else if (kinds[i].kind == 'n' && args[i])
			items = *(const unsigned *)args[i];
	}
	return items < ITEMS_MAX ? items : ITEMS_MAX;
}

static size_t out_bytes(const struct arg_kind *kinds, size_t n, size_t i,
			const size_t *args)
{
	switch (kinds[i].kind) {
	case 'H':
		return sizeof(void *);
	case 'n':
		return sizeof(unsigned);
	case 'o':
	case 'i':
		return kinds[i].size;
	case 's':
		return strnlen((const char *)args[i], args[i + 1]) + 1;
	case 'a':
		return kinds[i].size * items_of(kinds, n, args);
	default:
		return 0;
	}
}

static size_t put_inputs(char *text, const char *name, const struct arg_kind *kinds,
			 size_t n, const size_t *args)
{
	size_t used = (size_t)snprintf(text, LINE_BYTES, "%s in=", name);

	for (size_t i = 0; i < n; i++) {
		size_t v = args[i];
		if (!strchr("huci", kinds[i].kind))
			continue;
		if (kinds[i].kind == 'i')
			v = *(const unsigned *)v;
		if (kinds[i].kind != 'h')
			v &= UINT32_MAX;
		used += (size_t)snprintf(text + used, LINE_BYTES - used, "%zx,", v);
	}
	return used;
}

static void put_answer(char *text, size_t used, int rc, const struct arg_kind *kinds,
		       size_t n, const size_t *args, long us)
{
	used += (size_t)snprintf(text + used, LINE_BYTES - used, " rc=%d out=", rc);
	for (size_t i = 0; i < n && rc == 0; i++) {
		size_t bytes = args[i] ? out_bytes(kinds, n, i, args) : 0;
		const unsigned char *p = (const unsigned char *)args[i];
		if (!bytes || used + 2 * bytes + 64 > LINE_BYTES)
			continue;
		for (size_t k = 0; k < bytes; k++)
			used += (size_t)snprintf(text + used, 3, "%02x", p[k]);
		text[used++] = ',';
	}
	(void)snprintf(text + used, LINE_BYTES - used, " us=%ld\n", us);
}

static long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000l + t.tv_nsec / 1000;
}

static int call_real(struct entry *e, const struct arg_kind *kinds, size_t n,
		     const size_t *a)
{
	static __thread char text[LINE_BYTES];

	if (!e->real) {
		void *found = library ? dlsym(library, e->name) : NULL;
		memcpy(&e->real, &found, sizeof(found));
	}
	size_t used = put_inputs(text, e->name, kinds, n, a);
	long us = now_us();
	int rc = e->real ? e->real(a[0], a[1], a[2], a[3], a[4], a[5]) : 13;
	put_answer(text, used, rc, kinds, n, a, now_us() - us);
	pthread_mutex_lock(&mutex);
	if (trace) {
		(void)fputs(text, trace);
		(void)fflush(trace);
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

/* The next line of that call with those inputs; the last one again and again */
static const char *find_recorded_line(const char *start, size_t len)
{
	const char *last = NULL;

	for (size_t i = 0; i < line_count; i++) {
		if (strncmp(lines[i].text, start, len) != 0)
			continue;
		last = lines[i].text;
		if (!lines[i].used) {
			lines[i].used = 1;
			break;
		}
	}
	return last;
}

static void take_hex(const char **at, unsigned char *to, size_t bytes)
{
	unsigned v;

	for (size_t k = 0; **at && **at != ',' && **at != ' '; k++, *at += 2) {
		if (sscanf(*at, "%2x", &v) != 1)
			return;
		if (k < bytes)
			to[k] = (unsigned char)v;
	}
	if (**at == ',')
		++*at;
}

static int replay_call(const struct entry *e, const struct arg_kind *kinds, size_t n,
		       const size_t *a)
{
	static __thread char start[LINE_BYTES];
	size_t room = items_of(kinds, n, a);
	int rc = 13; /* it was never called */

	size_t used = put_inputs(start, e->name, kinds, n, a);
	pthread_mutex_lock(&mutex);
	const char *line = find_recorded_line(start, used);
	pthread_mutex_unlock(&mutex);
	const char *out = line ? strstr(line, " out=") : NULL;
	if (!out || sscanf(line + used, " rc=%d", &rc) != 1)
		return 13;
	out += strlen(" out=");
	for (size_t i = 0; i < n && rc == 0; i++) {
		size_t bytes = kinds[i].kind == 's'   ? a[i + 1]
			       : kinds[i].kind == 'a' ? kinds[i].size * room
						      : out_bytes(kinds, n, i, a);
		if (a[i] && bytes)
			take_hex(&out, (unsigned char *)a[i], bytes);
	}
	return rc;
}

static int pass_call(struct entry *e, const size_t *args)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct arg_kind kinds[ARGS];
	size_t n = parse_spec(e->spec, kinds);

	(void)pthread_once(&once, open_trace_once);
	return lines ? replay_call(e, kinds, n, args) : call_real(e, kinds, n, args);
}

#define ENTRY(name, spec)                                                              \
	EXPORT int name(size_t a, size_t b, size_t c, size_t d, size_t e, size_t f);   \
	EXPORT int name(size_t a, size_t b, size_t c, size_t d, size_t e, size_t f)    \
	{                                                                              \
		static struct entry entry = {#name, spec, NULL};                       \
		return pass_call(&entry, (const size_t[ARGS]){a, b, c, d, e, f});      \
	}

ENTRY(nvmlInit_v2, "")
ENTRY(nvmlShutdown, "")
ENTRY(nvmlSystemGetDriverVersion, "s")
ENTRY(nvmlDeviceGetCount_v2, "o4")
ENTRY(nvmlDeviceGetHandleByIndex_v2, "uH")
ENTRY(nvmlDeviceGetUUID, "hs")
ENTRY(nvmlDeviceGetName, "hs")
ENTRY(nvmlDeviceGetPciInfo_v3, "ho68")
ENTRY(nvmlDeviceGetMinorNumber, "ho4")
ENTRY(nvmlDeviceGetMigMode, "ho4o4")
ENTRY(nvmlDeviceGetTotalEnergyConsumption, "ho8")
ENTRY(nvmlDeviceGetPowerUsage, "ho4")
ENTRY(nvmlDeviceGetEnforcedPowerLimit, "ho4")
ENTRY(nvmlDeviceGetUtilizationRates, "ho8")
ENTRY(nvmlDeviceGetMemoryInfo, "ho24")
ENTRY(nvmlDeviceGetMemoryInfo_v2, "hi40")
ENTRY(nvmlDeviceGetTemperature, "huo4")
ENTRY(nvmlDeviceGetClockInfo, "huo4")
ENTRY(nvmlDeviceGetTemperatureThreshold, "huo4")
ENTRY(nvmlDeviceGetNumGpuCores, "ho4")
ENTRY(nvmlDeviceGetCudaComputeCapability, "ho4o4")
ENTRY(nvmlDeviceGetEncoderUtilization, "ho4o4")
ENTRY(nvmlDeviceGetDecoderUtilization, "ho4o4")
ENTRY(nvmlDeviceGetCurrentClocksThrottleReasons, "ho8")
ENTRY(nvmlDeviceGetViolationStatus, "huo16")
ENTRY(nvmlDeviceGetTotalEccErrors, "huuo8")
ENTRY(nvmlDeviceGetRemappedRows, "ho4o4o4o4")
ENTRY(nvmlDeviceGetPcieReplayCounter, "ho4")
ENTRY(nvmlDeviceGetFieldValues, "hca40")
ENTRY(nvmlDeviceGetSamples, "huUo4na16")
ENTRY(nvmlDeviceGetMaxMigDeviceCount, "ho4")
ENTRY(nvmlDeviceGetMigDeviceHandleByIndex, "huH")
ENTRY(nvmlDeviceGetGpuInstanceId, "ho4")
ENTRY(nvmlDeviceGetComputeInstanceId, "ho4")
ENTRY(nvmlDeviceGetAttributes_v2, "ho40")
ENTRY(nvmlDeviceGetGpuInstanceProfileInfo, "huo48")
ENTRY(nvmlGpmQueryDeviceSupport, "hi8")
ENTRY(nvmlGpmSampleAlloc, "H")
ENTRY(nvmlGpmSampleFree, "h")
ENTRY(nvmlGpmSampleGet, "hh")
ENTRY(nvmlGpmMigSampleGet, "huh")
ENTRY(nvmlGpmMetricsGet, "i344")
ENTRY(nvmlDeviceGetComputeRunningProcesses_v3, "hna24")
ENTRY(nvmlDeviceGetGraphicsRunningProcesses_v3, "hna24")
ENTRY(nvmlDeviceGetMPSComputeRunningProcesses_v3, "hna24")
ENTRY(nvmlDeviceGetProcessUtilization, "ha32nU")
ENTRY(nvmlDeviceGetAccountingMode, "ho4")
ENTRY(nvmlDeviceGetAccountingStats, "huo56")
ENTRY(nvmlDeviceGetActiveVgpus, "hna4")
ENTRY(nvmlVgpuInstanceGetVmID, "uso4")
ENTRY(nvmlVgpuInstanceGetFbUsage, "uo8")
ENTRY(nvmlVgpuInstanceGetGpuInstanceId, "uo4")
ENTRY(nvmlVgpuInstanceGetType, "uo4")
ENTRY(nvmlVgpuTypeGetName, "uo64i4")
ENTRY(nvmlVgpuTypeGetFramebufferSize, "uo8")
ENTRY(nvmlDeviceGetVgpuUtilization, "hUo4na48")
ENTRY(nvmlEventSetCreate, "H")
ENTRY(nvmlDeviceRegisterEvents, "hUh")
ENTRY(nvmlEventSetWait_v2, "ho32u")

EXPORT const char *nvmlErrorString(int rc);
EXPORT const char *nvmlErrorString(int rc)
{
	static const char *(*real)(int);

	if (!real && library) {
		void *found = dlsym(library, "nvmlErrorString");
		memcpy(&real, &found, sizeof(found));
	}
	return real ? real(rc) : "an error of the library";
}
