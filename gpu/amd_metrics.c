/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets instead of the kernel's structures: one table of fields for each layout, and
 * a layout is told by version and length together, since 1.6 had another one before it
 * was released, and 1.8 has grown. */
#include "gpu/amd_metrics.h"

#include <errno.h>
#include <string.h>

#define WATTS 1000000u
#define MILLIWATTS 1000u
#define PERCENT 10000u
#define DEGREES 1000u
#define CENTIDEGREES 10u
#define MHZ 1000000u

#define XCC_MAX 8u
#define WIDE_VERSION 9u /* 1.9: a list of fields, each with its id and type */

struct metrics_field {
	uint8_t value; /* enum amd_value */
	uint8_t bytes;
	uint16_t at;
	uint32_t scale;
};

static const struct metrics_field fields_1_0[] = {
	{AMD_POWER, 2, 34, WATTS},         {AMD_ENERGY, 4, 36, 1},
	{AMD_BUSY, 2, 28, PERCENT},        {AMD_MEMORY_BUSY, 2, 30, PERCENT},
	{AMD_TEMPERATURE, 2, 18, DEGREES}, {AMD_CLOCK, 2, 54, MHZ},
	{AMD_MEMORY_CLOCK, 2, 58, MHZ},
};
static const struct metrics_field fields_1_1[] = {
	{AMD_POWER, 2, 22, WATTS},        {AMD_ENERGY, 8, 24, 1},
	{AMD_BUSY, 2, 16, PERCENT},       {AMD_MEMORY_BUSY, 2, 18, PERCENT},
	{AMD_TEMPERATURE, 2, 6, DEGREES}, {AMD_CLOCK, 2, 54, MHZ},
	{AMD_MEMORY_CLOCK, 2, 58, MHZ},
};
static const struct metrics_field fields_1_3[] = {
	{AMD_POWER, 2, 22, WATTS},        {AMD_ENERGY, 8, 24, 1},
	{AMD_BUSY, 2, 16, PERCENT},       {AMD_MEMORY_BUSY, 2, 18, PERCENT},
	{AMD_TEMPERATURE, 2, 6, DEGREES}, {AMD_CLOCK, 2, 54, MHZ},
	{AMD_MEMORY_CLOCK, 2, 58, MHZ},   {AMD_THROTTLE, 8, 112, 1},
};

static const struct metrics_field fields_1_4[] = {
	{AMD_POWER, 2, 10, WATTS},
	{AMD_BUSY, 2, 12, PERCENT},
	{AMD_MEMORY_BUSY, 2, 14, PERCENT},
	{AMD_TEMPERATURE, 2, 4, DEGREES},
	{AMD_ENERGY, 8, 24, 1},
	{AMD_CLOCK, 2, 240, MHZ},
	{AMD_MEMORY_CLOCK, 2, 280, MHZ},
};
static const struct metrics_field fields_1_5[] = {
	{AMD_POWER, 2, 10, WATTS},
	{AMD_BUSY, 2, 12, PERCENT},
	{AMD_MEMORY_BUSY, 2, 14, PERCENT},
	{AMD_TEMPERATURE, 2, 4, DEGREES},
	{AMD_ENERGY, 8, 88, 1},
	{AMD_CLOCK, 2, 312, MHZ},
	{AMD_MEMORY_CLOCK, 2, 352, MHZ},
};
static const struct metrics_field fields_1_6[] = {
	{AMD_POWER, 2, 10, WATTS},
	{AMD_BUSY, 2, 12, PERCENT},
	{AMD_MEMORY_BUSY, 2, 14, PERCENT},
	{AMD_TEMPERATURE, 2, 4, DEGREES},
	{AMD_ENERGY, 8, 16, 1},
	{AMD_CLOCK, 2, 264, MHZ},
	{AMD_MEMORY_CLOCK, 2, 304, MHZ},
	{AMD_PARTITIONS, 2, 306, 1},
};
static const struct metrics_field fields_1_7[] = {
	{AMD_POWER, 2, 10, WATTS},
	{AMD_BUSY, 2, 12, PERCENT},
	{AMD_MEMORY_BUSY, 2, 14, PERCENT},
	{AMD_TEMPERATURE, 2, 4, DEGREES},
	{AMD_ENERGY, 8, 24, 1},
	{AMD_CLOCK, 2, 296, MHZ},
	{AMD_MEMORY_CLOCK, 2, 336, MHZ},
	{AMD_PARTITIONS, 2, 338, 1},
};

/* APUs: before 2.4 neither power, temperature nor activity have stated units. */
static const struct metrics_field fields_2_0[] = {
	{AMD_CLOCK, 2, 80, MHZ},
	{AMD_MEMORY_CLOCK, 2, 84, MHZ},
};
static const struct metrics_field fields_2_1[] = {
	{AMD_CLOCK, 2, 76, MHZ},
	{AMD_MEMORY_CLOCK, 2, 80, MHZ},
};
static const struct metrics_field fields_2_2[] = {
	{AMD_CLOCK, 2, 76, MHZ},
	{AMD_MEMORY_CLOCK, 2, 80, MHZ},
	{AMD_THROTTLE, 8, 120, 1},
};
static const struct metrics_field fields_2_4[] = {
	{AMD_POWER, 2, 40, MILLIWATTS}, {AMD_TEMPERATURE, 2, 4, CENTIDEGREES},
	{AMD_CLOCK, 2, 76, MHZ},        {AMD_MEMORY_CLOCK, 2, 80, MHZ},
	{AMD_THROTTLE, 8, 120, 1},
};
static const struct metrics_field fields_3_0[] = {
	{AMD_POWER, 4, 112, MILLIWATTS},
	{AMD_BUSY, 2, 42, PERCENT},
	{AMD_CLOCK, 2, 174, MHZ},
	{AMD_MEMORY_CLOCK, 2, 186, MHZ},
};

struct metrics_layout {
	uint8_t format, content;
	bool energy_in_joules;
	uint8_t count;
	uint16_t bytes;
	/* of the partitions' parts, whose first numbers are their compute dies' busy
	 * percents; 0: there are none */
	uint16_t partitions_at, partition_bytes;
	const struct metrics_field *fields;
};

#define FIELDS(f) .count = sizeof(f) / sizeof((f)[0]), .fields = (f)

static const struct metrics_layout metrics_layouts[] = {
	{1, 0, .bytes = 80, FIELDS(fields_1_0)},
	{1, 1, .bytes = 96, FIELDS(fields_1_1)},
	{1, 2, .bytes = 104, FIELDS(fields_1_1)},
	{1, 3, .bytes = 120, FIELDS(fields_1_3)},
	{1, 4, true, .bytes = 288, FIELDS(fields_1_4)},
	{1, 5, true, .bytes = 360, FIELDS(fields_1_5)},
	{1, 6, true, .bytes = 1664, .partitions_at = 312, .partition_bytes = 168,
	 FIELDS(fields_1_6)},
	{1, 7, true, .bytes = 2208, .partitions_at = 344, .partition_bytes = 232,
	 FIELDS(fields_1_7)},
	{1, 8, true, .bytes = 3360, .partitions_at = 344, .partition_bytes = 376,
	 FIELDS(fields_1_7)},
	{1, 8, true, .bytes = 3872, .partitions_at = 344, .partition_bytes = 440,
	 FIELDS(fields_1_7)},
	{2, 0, .bytes = 120, FIELDS(fields_2_0)},
	{2, 1, .bytes = 120, FIELDS(fields_2_1)},
	{2, 2, .bytes = 128, FIELDS(fields_2_2)},
	{2, 3, .bytes = 152, FIELDS(fields_2_2)},
	{2, 4, .bytes = 168, FIELDS(fields_2_4)},
	{3, 0, .bytes = 264, FIELDS(fields_3_0)},
};

/* Little endian: no other machine has such a device. */
static uint64_t read_number_at(const uint8_t *data, size_t at, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | data[at + i];
	return v;
}

static uint64_t all_ones(size_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
}

static void keep_amd_value(struct amd_metrics *m, enum amd_value which, uint64_t v,
			   size_t bytes, uint32_t scale)
{
	if (v == all_ones(bytes))
		return;
	if ((which == AMD_BUSY || which == AMD_MEMORY_BUSY) && v > 100)
		v = 100;
	m->value[which] = v * scale;
	m->have |= 1u << which;
}

/* The mean of its compute dies */
static uint32_t partition_busy(const uint8_t *dies)
{
	uint64_t sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < XCC_MAX; i++) {
		uint64_t v = read_number_at(dies, 4ul * i, 4);
		if (v == UINT32_MAX)
			continue;
		sum += v < 100 ? v : 100;
		n++;
	}
	return n ? (uint32_t)(sum * PERCENT / n) : UINT32_MAX;
}

static void read_layout(const struct metrics_layout *l, const uint8_t *data,
			struct amd_metrics *m)
{
	m->energy_in_joules = l->energy_in_joules;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct metrics_field *f = &l->fields[i];
		keep_amd_value(m, (enum amd_value)f->value,
			       read_number_at(data, f->at, f->bytes), f->bytes,
			       f->scale);
	}
	uint64_t parts = m->have >> AMD_PARTITIONS & 1 ? m->value[AMD_PARTITIONS] : 0;
	for (uint32_t i = 0; i < AMD_PARTITIONS_MAX && i < parts; i++)
		m->partition_busy[i] = partition_busy(data + l->partitions_at +
						      i * l->partition_bytes);
}

/* Ids of the attributes of 1.9 that are read: enum amdgpu_metrics_attr_id */
static const struct wide_field {
	uint16_t id;
	uint8_t value;
	uint32_t scale;
} wide_fields[] = {
	{0, AMD_TEMPERATURE, DEGREES}, {3, AMD_POWER, WATTS},   {4, AMD_BUSY, PERCENT},
	{5, AMD_MEMORY_BUSY, PERCENT}, {7, AMD_ENERGY, 1},      {33, AMD_CLOCK, MHZ},
	{37, AMD_MEMORY_CLOCK, MHZ},   {38, AMD_PARTITIONS, 1},
};

static void keep_wide_value(struct amd_metrics *m, uint32_t id, uint64_t v,
			    size_t bytes)
{
	for (size_t i = 0; i < sizeof(wide_fields) / sizeof(wide_fields[0]); i++) {
		const struct wide_field *f = &wide_fields[i];
		if (f->id == id)
			keep_amd_value(m, (enum amd_value)f->value, v, bytes, f->scale);
	}
}

/* Each attribute is 8 bytes that say what follows (unit, type, id, how many), then its
 * numbers: DECLARE_SMU_METRICS_CLASS in the kernel's smu_cmn.h. */
static int read_wide(const uint8_t *data, size_t len, struct amd_metrics *m)
{
	static const uint8_t type_bytes[] = {1, 1, 2, 2, 4, 4, 8, 8};
	size_t at = 8;
	uint64_t count = len < at ? 0 : read_number_at(data, 4, 4);

	if (len < at)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		if (len - at < 8)
			return -EBADMSG;
		uint64_t code = read_number_at(data, at, 8);
		uint32_t type = code >> 20 & 0xf, id = code >> 10 & 0x3ff,
			 numbers = code & 0x3ff;
		at += 8;
		if (type >= sizeof(type_bytes) ||
		    len - at < (size_t)type_bytes[type] * numbers)
			return -EBADMSG;
		if (numbers)
			keep_wide_value(m, id,
					read_number_at(data, at, type_bytes[type]),
					type_bytes[type]);
		at += (size_t)type_bytes[type] * numbers;
	}
	return 0;
}

static const struct metrics_layout *find_layout(uint8_t format, uint8_t content,
						size_t bytes)
{
	for (size_t i = 0; i < sizeof(metrics_layouts) / sizeof(metrics_layouts[0]);
	     i++)
		if (metrics_layouts[i].format == format &&
		    metrics_layouts[i].content == content &&
		    metrics_layouts[i].bytes == bytes)
			return &metrics_layouts[i];
	return NULL;
}

int amd_metrics_parse(const void *data, size_t len, struct amd_metrics *ret,
		      struct err *err)
{
	const uint8_t *bytes = data;
	struct amd_metrics m = {0};

	if (len < 4)
		return err_set(err, -EBADMSG, "gpu_metrics: %zu bytes", len);
	size_t size = read_number_at(bytes, 0, 2);
	m.format = bytes[2];
	m.content = bytes[3];
	memset(m.partition_busy, 0xff, sizeof(m.partition_busy));
	if (len < size)
		return err_set(err, -EBADMSG, "gpu_metrics: %zu bytes of %zu", len,
			       size);
	if (m.format == 1 && m.content == WIDE_VERSION) {
		if (read_wide(bytes, size, &m) < 0)
			return err_set(err, -EBADMSG,
				       "gpu_metrics 1.9: an attribute is cut off");
		*ret = m;
		return 0;
	}
	const struct metrics_layout *l = find_layout(m.format, m.content, size);
	if (!l)
		return err_set(err, -EPROTO,
			       "gpu_metrics: version %u.%u of %zu bytes is not known",
			       m.format, m.content, size);
	read_layout(l, bytes, &m);
	*ret = m;
	return 0;
}

uint64_t amd_metrics_uj(uint64_t counts)
{
	/* 10^6 / 2^16 = 15625 / 1024 */
	uint64_t whole = counts / 1024, rest = counts % 1024 * 15625 / 1024, uj;

	if (__builtin_mul_overflow(whole, 15625ull, &uj) ||
	    __builtin_add_overflow(uj, rest, &uj))
		return UINT64_MAX;
	return uj;
}
