/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What NVML tells of a device beyond the basics: limits, errors, why clocks are low,
 * counters of links. Any of it may be absent. */
#include <errno.h>

#include "gpu/nvml_impl.h"

#define PERCENT_PPM 10000u
#define DEGREE_MILLI 1000u
#define KIB 1024u

/* CUDA C++ Programming Guide, "Compute Capabilities": cores of a multiprocessor */
static unsigned find_sm_cores(int major, int minor)
{
	switch (major) {
	case 6:
		return minor == 0 ? 64 : 128;
	case 7:
		return 64;
	case 8:
		return minor == 0 ? 64 : 128;
	default:
		return major < 6 ? 0 : 128;
	}
}

static void identify_sm_count(struct nvml *n, nvml_device d, struct child_gpu *m)
{
	unsigned cores = 0;
	int major = 0, minor = 0;

	if (!n->cores || !n->capability || n->cores(d, &cores) != NVML_SUCCESS ||
	    n->capability(d, &major, &minor) != NVML_SUCCESS)
		return;
	unsigned each = find_sm_cores(major, minor);
	if (each && cores >= each)
		(void)nvml_keep(n, m, CHILD_GPU_SM_COUNT, NVML_SUCCESS, cores / each,
				NULL);
}

static void identify_threshold(struct nvml *n, nvml_device d, unsigned type,
			       enum child_gpu_value which, struct child_gpu *m)
{
	unsigned degrees = 0;

	if (n->threshold && n->threshold(d, type, &degrees) == NVML_SUCCESS)
		(void)nvml_keep(n, m, which, NVML_SUCCESS,
				(uint64_t)degrees * DEGREE_MILLI, NULL);
}

void nvml_identify_more(struct nvml *n, nvml_device d, struct child_gpu *m)
{
	identify_sm_count(n, d, m);
	identify_threshold(n, d, NVML_THRESHOLD_SLOWDOWN,
			   CHILD_GPU_SLOWDOWN_TEMPERATURE, m);
	identify_threshold(n, d, NVML_THRESHOLD_SHUTDOWN,
			   CHILD_GPU_SHUTDOWN_TEMPERATURE, m);
}

static int read_coder(struct nvml *n, nvml_device d,
		      int (*call)(nvml_device, unsigned *, unsigned *),
		      enum child_gpu_value which, struct child_gpu *m, struct err *err)
{
	unsigned percent = 0, period_us = 0;

	if (!call)
		return 0;
	int rc = call(d, &percent, &period_us);
	return nvml_keep(n, m, which, rc,
			 (uint64_t)(percent < 100 ? percent : 100) * PERCENT_PPM, err);
}

static int read_throttling(struct nvml *n, nvml_device d, struct child_gpu *m,
			   struct err *err)
{
	static const struct {
		unsigned policy;
		enum child_gpu_value which;
	} policies[] = {{NVML_POLICY_POWER, CHILD_GPU_POWER_THROTTLED},
			{NVML_POLICY_THERMAL, CHILD_GPU_THERMAL_THROTTLED}};
	unsigned long long reasons = 0;
	int gone = 0;

	if (n->reasons) {
		int rc = n->reasons(d, &reasons);
		gone = nvml_keep(n, m, CHILD_GPU_CLOCK_REASONS, rc,
				 reasons & NVML_REASONS, err);
	}
	for (size_t i = 0; i < 2 && n->violation && !gone; i++) {
		struct nvml_violation v = {0};
		int rc = n->violation(d, policies[i].policy, &v);
		gone = nvml_keep(n, m, policies[i].which, rc, v.violation, err);
	}
	return gone;
}

static int read_ecc(struct nvml *n, nvml_device d, struct child_gpu *m, struct err *err)
{
	static const struct {
		unsigned type, counter;
		enum child_gpu_value which;
	} counters[] = {
		{NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, CHILD_GPU_ECC_CORRECTED},
		{NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, CHILD_GPU_ECC_UNCORRECTED},
		{NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE, CHILD_GPU_ECC_CORRECTED_EVER},
		{NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE,
		 CHILD_GPU_ECC_UNCORRECTED_EVER},
	};
	int gone = 0;

	for (size_t i = 0; i < 4 && n->ecc && !gone; i++) {
		unsigned long long errors = 0;
		int rc = n->ecc(d, counters[i].type, counters[i].counter, &errors);
		gone = nvml_keep(n, m, counters[i].which, rc, errors, err);
	}
	return gone;
}

static int read_rows(struct nvml *n, nvml_device d, struct child_gpu *m,
		     struct err *err)
{
	unsigned v[4] = {0};

	if (!n->rows)
		return 0;
	int rc = n->rows(d, &v[0], &v[1], &v[2], &v[3]);
	int gone = nvml_keep(n, m, CHILD_GPU_ROWS_CORRECTED, rc, v[0], err);
	if (!gone && rc == NVML_SUCCESS) {
		(void)nvml_keep(n, m, CHILD_GPU_ROWS_UNCORRECTED, rc, v[1], err);
		(void)nvml_keep(n, m, CHILD_GPU_ROWS_PENDING, rc, v[2] != 0, err);
		(void)nvml_keep(n, m, CHILD_GPU_ROWS_FAILED, rc, v[3] != 0, err);
	}
	return gone;
}

/* false: not a whole number from 0 up */
static bool take_number(const struct nvml_field *f, uint64_t *ret)
{
	switch (f->type) {
	case NVML_DOUBLE:
		if (!(f->value.d >= 0 && f->value.d < 1e18))
			return false;
		*ret = (uint64_t)f->value.d;
		return true;
	case NVML_UINT:
		*ret = f->value.ui;
		return true;
	case NVML_ULONG:
		*ret = f->value.ul;
		return true;
	case NVML_ULONGLONG:
		*ret = f->value.ull;
		return true;
	case NVML_LONGLONG:
		*ret = (uint64_t)f->value.sll;
		return f->value.sll >= 0;
	case NVML_INT:
		*ret = (uint64_t)(unsigned)f->value.si;
		return f->value.si >= 0;
	case NVML_USHORT:
		*ret = f->value.us;
		return true;
	default:
		return false;
	}
}

int nvml_module_power(struct nvml *n, nvml_device d, uint64_t *ret_gpu_uw,
		      uint64_t *ret_module_uw, struct err *err)
{
	struct nvml_field f[2] = {
		{.id = NVML_FIELD_POWER_NOW, .scope = NVML_SCOPE_GPU},
		{.id = NVML_FIELD_POWER_NOW, .scope = NVML_SCOPE_MODULE},
	};
	uint64_t mw[2];

	if (!n->fields)
		return err_set(err, -EOPNOTSUPP, "this release tells no fields");
	f[0].rc = f[1].rc = NVML_ERROR_UNKNOWN;
	int rc = n->fields(d, 2, f);
	for (size_t i = 0; i < 2; i++) {
		if (rc == NVML_SUCCESS)
			rc = f[i].rc;
		if (rc != NVML_SUCCESS)
			return nvml_fail(n, rc, "power of the module", err);
		if (!take_number(&f[i], &mw[i]) || mw[i] > UINT32_MAX)
			return err_set(err, -EBADMSG, "power of the module: no number");
	}
	*ret_gpu_uw = mw[0] * 1000;
	*ret_module_uw = mw[1] * 1000;
	return mw[1] ? 0 : err_set(err, -EOPNOTSUPP, "there is no module");
}

/* Fields of their own numbers, all in one call. An older driver answers to those that
 * it does not know with an error of theirs. */
static int read_fields(struct nvml *n, nvml_device d, struct child_gpu *m,
		       struct err *err)
{
	static const struct {
		unsigned id, scope;
		enum child_gpu_value which;
		uint64_t scale;
	} fields[] = {
		{NVML_FIELD_MEMORY_TEMPERATURE, 0, CHILD_GPU_MEMORY_TEMPERATURE,
		 DEGREE_MILLI},
		{NVML_FIELD_POWER_NOW, 0, CHILD_GPU_POWER_NOW, 1000},
		{NVML_FIELD_PCIE_TX, 0, CHILD_GPU_PCIE_TX, 1},
		{NVML_FIELD_PCIE_RX, 0, CHILD_GPU_PCIE_RX, 1},
		{NVML_FIELD_LINK_TX, NVML_SCOPE_ALL, CHILD_GPU_LINK_TX, KIB},
		{NVML_FIELD_LINK_RX, NVML_SCOPE_ALL, CHILD_GPU_LINK_RX, KIB},
	};
	enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };
	struct nvml_field f[FIELDS] = {{0}};

	if (!n->fields)
		return 0;
	for (size_t i = 0; i < FIELDS; i++)
		f[i] = (struct nvml_field){.id = fields[i].id,
					   .scope = fields[i].scope,
					   .rc = NVML_ERROR_UNKNOWN};
	int rc = n->fields(d, FIELDS, f);
	if (rc != NVML_SUCCESS)
		return nvml_errno(rc) == -ENODEV ? nvml_fail(n, rc, "device", err) : 0;
	for (size_t i = 0; i < FIELDS; i++) {
		uint64_t v;
		if (f[i].rc == NVML_SUCCESS && take_number(&f[i], &v) &&
		    v <= UINT64_MAX / fields[i].scale)
			(void)nvml_keep(n, m, fields[i].which, NVML_SUCCESS,
					v * fields[i].scale, err);
	}
	return 0;
}

static int read_replays(struct nvml *n, nvml_device d, struct child_gpu *m,
			struct err *err)
{
	unsigned replays = 0;

	if (!n->replays)
		return 0;
	int rc = n->replays(d, &replays);
	return nvml_keep(n, m, CHILD_GPU_PCIE_REPLAYS, rc, replays, err);
}

int nvml_read_more(struct nvml *n, nvml_device d, struct child_gpu *m, struct err *err)
{
	int rc = read_coder(n, d, n->encoder, CHILD_GPU_ENCODER_BUSY, m, err);

	if (rc == 0)
		rc = read_coder(n, d, n->decoder, CHILD_GPU_DECODER_BUSY, m, err);
	if (rc == 0)
		rc = read_throttling(n, d, m, err);
	if (rc == 0)
		rc = read_ecc(n, d, m, err);
	if (rc == 0)
		rc = read_rows(n, d, m, err);
	if (rc == 0)
		rc = read_replays(n, d, m, err);
	return rc == 0 ? read_fields(n, d, m, err) : rc;
}

#define SAMPLES_MAX 256u
#define SAMPLE_GAP_US                                                                  \
	1000000u /* samples further apart tell nothing of the time between             \
		  */

int nvml_busy(struct nvml *n, nvml_device d, struct nvml_busy *b, struct err *err)
{
	struct nvml_sample samples[SAMPLES_MAX];
	unsigned count = SAMPLES_MAX, type = NVML_UINT;

	if (!n->samples)
		return -EOPNOTSUPP;
	int rc = n->samples(d, NVML_SAMPLES_BUSY, b->last_us, &type, &count, samples);
	if (rc == NVML_ERROR_NOT_FOUND) /* nothing new */
		return b->last_us ? 0 : -ENODATA;
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetSamples", err);
	for (unsigned i = 0; i < count && i < SAMPLES_MAX; i++) {
		const struct nvml_sample *s = &samples[i];
		unsigned percent = s->value.ui < 100 ? s->value.ui : 100;
		if (s->at_us <= b->last_us)
			continue;
		uint64_t us = s->at_us - b->last_us;
		if (b->last_us && us <= SAMPLE_GAP_US)
			b->total_ns += us * 10 * percent;
		b->last_us = s->at_us;
	}
	return b->last_us ? 0 : -ENODATA;
}
