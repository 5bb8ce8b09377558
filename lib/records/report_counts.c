/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of the kernel programs, in reports. */
#include "lib/records/report_counts.h"

#include <errno.h>
#include <string.h>

#define COUNT_BYTES 10u /* u16 number, u64 value */
#define MOUNT_HEAD_BYTES (8u * COUNT_FILES)

_Static_assert(REPORT_COUNTS <= 128, "one bit per count");

#define NET_NAMES(kind)                                                                \
	kind "_rx_bytes", kind "_rx_packets", kind "_tx_bytes", kind "_tx_packets",    \
		kind "_resent_bytes", kind "_resent_packets"

static const char *const report_count_names[REPORT_COUNTS] = {
	"read_bytes",
	"read_calls",
	"read_errors",
	"write_bytes",
	"write_calls",
	"write_errors",
	"opens",
	"open_errors",
	"creates",
	"create_errors",
	"unlinks",
	"unlink_errors",
	NET_NAMES("tcp_ipv4"),
	NET_NAMES("tcp_ipv6"),
	NET_NAMES("udp_ipv4"),
	NET_NAMES("udp_ipv6"),
	"minor_faults",
	"major_faults",
	"context_switches",
	"cpu_migrations",
	"cpu_cycles",
	"instructions",
	"ref_cpu_cycles",
	"cache_references",
	"cache_misses",
	"branches",
	"branch_misses",
	"l1d_reads",
	"l1d_read_misses",
	"l1d_writes",
	"l1i_read_misses",
	"llc_reads",
	"llc_read_misses",
	"llc_writes",
	"llc_write_misses",
	"itlb_reads",
	"itlb_read_misses",
	"bpu_reads",
	"bpu_read_misses",
	"events_enabled_ns",
	"events_running_ns",
	"fp_operations",
	"dram_read_bytes",
	[COUNT_GPU_IDLE_NS] = "gpu_idle_ns",
	[COUNT_GPU_MEMORY_PEAK_BYTES] = "gpu_memory_peak_bytes",
	[COUNT_GPU_MEMORY_SIZE_BYTES] = "gpu_memory_size_bytes",
	[COUNT_GPU_FIGURE] = "gpu_sm_active_ns",
	"gpu_sm_occupancy_ns",
	"gpu_tensor_active_ns",
	"gpu_fp64_active_ns",
	"gpu_fp32_active_ns",
	"gpu_fp16_active_ns",
	"gpu_dram_active_ns",
};

const char *report_count_name(unsigned count)
{
	return count < REPORT_COUNTS ? report_count_names[count] : NULL;
}

void report_count_set(struct report_counts *c, unsigned count, uint64_t value)
{
	c->known[count / 64] |= UINT64_C(1) << count % 64;
	c->values[count] = value;
}

bool report_count_known(const struct report_counts *c, unsigned count)
{
	return c->known[count / 64] >> count % 64 & 1;
}

bool report_counts_any(const struct report_counts *c)
{
	return c->known[0] || c->known[1];
}

void report_counts_put(struct tlv_out *o, uint16_t id, const struct report_counts *c)
{
	size_t n = 0;

	for (unsigned i = 0; i < REPORT_COUNTS; i++)
		n += report_count_known(c, i);
	unsigned char *p = n ? tlv_put(o, id, COUNT_BYTES * n) : NULL;
	for (unsigned i = 0; p && i < REPORT_COUNTS; i++) {
		if (!report_count_known(c, i))
			continue;
		tlv_put_le(p, i, 2);
		tlv_put_le(p + 2, c->values[i], 8);
		p += COUNT_BYTES;
	}
}

void report_mounts_put(struct tlv_out *o, uint16_t id, const struct report_mount *m,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count && i < REPORT_MOUNTS_MAX; i++, m++) {
		size_t len = strnlen(m->path, sizeof(m->path));
		unsigned char *p = tlv_put(o, id, MOUNT_HEAD_BYTES + len);
		if (!p)
			return;
		for (unsigned k = 0; k < COUNT_FILES; k++, p += 8)
			tlv_put_le(p, m->values[k], 8);
		memcpy(p, m->path, len);
	}
}

/* Sums over many reports are kept in signed 64 bits. */
static int get_count(const struct tlv_member *f, const unsigned char *p,
		     const char *what, uint64_t *ret, struct err *err)
{
	uint64_t v = tlv_get_le(p, 8);

	if (v > INT64_MAX)
		return tlv_bad(err, what, f, "number above 2^63 - 1", 8);
	*ret = v;
	return 0;
}

int report_counts_get(struct report_counts *ret, const struct tlv_member *f,
		      const struct tlv_value *v, const char *what, struct err *err)
{
	if (!v->len || v->len % COUNT_BYTES)
		return tlv_bad(err, what, f, "cut short", v->len);
	for (size_t at = 0; at < v->len; at += COUNT_BYTES) {
		unsigned count = (unsigned)tlv_get_le(v->data + at, 2);
		uint64_t value = 0;
		int rc = get_count(f, v->data + at + 2, what, &value, err);
		if (rc < 0)
			return rc;
		if (!report_count_name(count))
			continue;
		if (report_count_known(ret, count))
			return tlv_bad(err, what, f, "two values of one count", v->len);
		report_count_set(ret, count, value);
	}
	return 0;
}

/* Names of folders are whatever somebody liked; databases want UTF-8. */
static void make_printable(char *s, size_t size)
{
	size_t len = strnlen(s, size);

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(s + i, len - i);
		if (!n || (unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = '?';
		i += n ? n : 1;
	}
}

int report_mount_get(struct report_mount *ret, const struct tlv_member *f,
		     const struct tlv_value *v, const char *what, bool *ret_cut,
		     struct err *err)
{
	if (v->len < MOUNT_HEAD_BYTES)
		return tlv_bad(err, what, f, "cut short", v->len);
	const char *path = (const char *)v->data + MOUNT_HEAD_BYTES;
	size_t len = v->len - MOUNT_HEAD_BYTES;
	if (len && memchr(path, 0, len))
		return tlv_bad(err, what, f, "zero byte in a text", v->len);
	for (unsigned k = 0; k < COUNT_FILES; k++) {
		int rc = get_count(f, v->data + (size_t)8 * k, what, &ret->values[k],
				   err);
		if (rc < 0)
			return rc;
	}
	if (!tlv_copy_text(ret->path, sizeof(ret->path), path, len))
		*ret_cut = true;
	make_printable(ret->path, sizeof(ret->path));
	return 0;
}

/* One of the counts of network, over all kinds */
static void put_net_sum(struct buf *out, const struct report_counts *c, unsigned of)
{
	const size_t kind = strlen("tcp_ipv4");
	uint64_t sum = 0;
	bool known = false;

	for (unsigned i = COUNT_NET + of; i < COUNT_MINOR_FAULTS;
	     i += COUNT_NET_OF_KIND) {
		known |= report_count_known(c, i);
		sum += c->values[i]; /* wraps for amounts that ingest refuses only */
	}
	if (known)
		buf_printf(out, ",\"net%s\":%llu",
			   report_count_names[COUNT_NET + of] + kind,
			   (unsigned long long)sum);
}

void report_counts_put_json(struct buf *out, const struct report_counts *c)
{
	const char *sep = "{";

	for (unsigned i = 0; i < REPORT_COUNTS; i++) {
		if (!report_count_known(c, i))
			continue;
		buf_printf(out, "%s\"%s\":%llu", sep, report_count_names[i],
			   (unsigned long long)c->values[i]);
		sep = ",";
	}
	buf_puts(out, *sep == '{' ? sep : "");
	for (unsigned of = 0; of < COUNT_NET_OF_KIND; of++)
		put_net_sum(out, c, of);
	buf_putc(out, '}');
}

void report_mounts_put_json(struct buf *out, const struct report_mount *m,
			    uint32_t count)
{
	buf_putc(out, '[');
	for (uint32_t i = 0; i < count; i++, m++) {
		buf_puts(out, i ? ",{\"path\":" : "{\"path\":");
		buf_put_json(out, m->path, strlen(m->path));
		for (unsigned k = 0; k < COUNT_FILES; k++)
			buf_printf(out, ",\"%s\":%llu", report_count_names[k],
				   (unsigned long long)m->values[k]);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}
