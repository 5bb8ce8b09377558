/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of control group files. A truncated number looks like a smaller one, so a
 * value counts only if its line is complete; unknown keys belong to later kernels and
 * are skipped. */
#include <errno.h>
#include <string.h>

#include "lib/cgroup.h"
#include "lib/parse.h"

struct cgroup_key {
	const char *name;
	uint64_t *value;
	uint64_t scale;
	bool found;
};

static bool key_word_is(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

/* The number at [s, end), which must be all of it, times scale. */
static int whole_number(const char *s, const char *end, uint64_t scale, uint64_t *ret)
{
	uint64_t v;
	int rc = parse_u64_len(s, (size_t)(end - s), &v);

	if (rc < 0)
		return rc;
	if (__builtin_mul_overflow(v, scale, &v))
		return -ERANGE;
	*ret = v;
	return 0;
}

static int bad_key_value(struct err *err, int rc, const char *key, size_t len)
{
	return err_set(err, rc, "%.*s: %s", (int)(len > 64 ? 64 : len), key,
		       rc == -ERANGE ? "number too large" : "not an unsigned number");
}

/* "KEY VALUE" lines. Ends early when all keys were found. */
static int scan_flat(const char *text, size_t len, struct cgroup_key *keys, size_t n,
		     struct err *err)
{
	const char *p = text, *end = text + len;
	size_t left = n;

	while (left && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		const char *blank = memchr(p, ' ', (size_t)(stop - p));
		size_t word = (size_t)((blank ? blank : stop) - p);
		for (size_t i = 0; i < n; i++) {
			struct cgroup_key *k = &keys[i];
			if (k->found || !key_word_is(p, word, k->name))
				continue;
			if (!blank || !nl)
				return err_set(err, -EINVAL, "%s: cut off", k->name);
			int rc = whole_number(blank + 1, stop, k->scale, k->value);
			if (rc < 0)
				return bad_key_value(err, rc, k->name, word);
			k->found = true;
			left--;
			break;
		}
		p = stop + (nl != NULL);
	}
	return 0;
}

static int require_keys(const struct cgroup_key *keys, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!keys[i].found)
			return err_set(err, -EINVAL, "%s: missing", keys[i].name);
	}
	return 0;
}

int cgroup_parse_cpu_stat(const char *text, size_t len, struct cgroup_cpu *ret,
			  struct err *err)
{
	struct cgroup_cpu cpu = {0};
	uint64_t usage = 0, user = 0, system = 0;
	struct cgroup_key keys[] = {
		{"usage_usec", &usage, 1000, false},
		{"user_usec", &user, 1000, false},
		{"system_usec", &system, 1000, false},
		{"nr_periods", &cpu.periods, 1, false},
		{"nr_throttled", &cpu.throttled_periods, 1, false},
		{"throttled_usec", &cpu.throttled_ns, 1000, false},
	};
	int rc = scan_flat(text, len, keys, 6, err);

	if (rc == 0)
		rc = require_keys(keys, 3, err);
	if (rc < 0)
		return rc;
	/* The kernel rounds each of the three to microseconds; usage must stay
	 * exact. */
	cpu.user_ns = user < usage ? user : usage;
	cpu.system_ns = usage - cpu.user_ns;
	cpu.has_throttling = keys[3].found && keys[4].found && keys[5].found;
	*ret = cpu;
	return 0;
}

int cgroup_parse_throttling(const char *text, size_t len, struct cgroup_cpu *ret,
			    struct err *err)
{
	uint64_t periods = 0, throttled = 0, ns = 0;
	struct cgroup_key keys[] = {
		{"nr_periods", &periods, 1, false},
		{"nr_throttled", &throttled, 1, false},
		{"throttled_time", &ns, 1, false},
	};
	int rc = scan_flat(text, len, keys, 3, err);

	if (rc == 0)
		rc = require_keys(keys, 3, err);
	if (rc < 0)
		return rc;
	ret->has_throttling = true;
	ret->periods = periods;
	ret->throttled_periods = throttled;
	ret->throttled_ns = ns;
	return 0;
}

int cgroup_parse_cpuacct_stat(const char *text, size_t len, uint64_t *ret_user,
			      uint64_t *ret_system, struct err *err)
{
	uint64_t user = 0, system = 0;
	struct cgroup_key keys[] = {{"user", &user, 1, false},
				    {"system", &system, 1, false}};
	int rc = scan_flat(text, len, keys, 2, err);

	if (rc == 0)
		rc = require_keys(keys, 2, err);
	if (rc < 0)
		return rc;
	*ret_user = user;
	*ret_system = system;
	return 0;
}

uint64_t cgroup_limit(uint64_t bytes)
{
	return bytes >= 0x7fffffffffff0000 ? CGROUP_UNLIMITED : bytes;
}

int cgroup_parse_memory_stat(const char *text, size_t len, bool v2,
			     struct cgroup_memory *ret, struct err *err)
{
	uint64_t rss = 0, cache = 0, limit = 0;
	struct cgroup_key keys[] = {
		{v2 ? "anon" : "total_rss", &rss, 1, false},
		{v2 ? "file" : "total_cache", &cache, 1, false},
		{"hierarchical_memory_limit", &limit, 1, false},
	};
	int rc = scan_flat(text, len, keys, v2 ? 2 : 3, err);

	if (rc == 0)
		rc = require_keys(keys, 2, err);
	if (rc < 0)
		return rc;
	ret->rss_bytes = rss;
	ret->cache_bytes = cache;
	if (!v2 && keys[2].found)
		ret->limit_bytes = cgroup_limit(limit);
	return 0;
}

int cgroup_parse_memory_events(const char *text, size_t len, bool v2,
			       struct cgroup_memory *ret, struct err *err)
{
	uint64_t oom = ret->fail_count, kills = 0;
	struct cgroup_key keys[] = {
		{"oom_kill", &kills, 1, false},
		{"oom", &oom, 1, false},
	};
	int rc = scan_flat(text, len, keys, v2 ? 2 : 1, err);

	/* v1 has oom_kill only since Linux 4.13; before that kills are unknown */
	if (rc == 0 && v2)
		rc = require_keys(keys, 2, err);
	if (rc < 0)
		return rc;
	ret->fail_count = oom;
	ret->oom_kills = kills;
	return 0;
}

int cgroup_parse_swap_events(const char *text, size_t len, uint64_t *ret,
			     struct err *err)
{
	uint64_t max = 0;
	struct cgroup_key keys[] = {{"max", &max, 1, false}};
	int rc = scan_flat(text, len, keys, 1, err);

	if (rc == 0)
		rc = require_keys(keys, 1, err);
	if (rc < 0)
		return rc;
	*ret = max;
	return 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
static int psi_total(const char *line, size_t len, uint64_t *ret)
{
	const char *p = line, *end = line + len, *word;
	size_t n;

	while (scan_word(&p, end, &word, &n)) {
		if (n > 6 && memcmp(word, "total=", 6) == 0)
			return whole_number(word + 6, word + n, 1000, ret);
	}
	return -EINVAL;
}

int cgroup_parse_psi(const char *text, size_t len, struct cgroup_psi *ret,
		     struct err *err)
{
	struct cgroup_psi psi = {0};
	const char *p = text, *end = text + len, *line;
	bool some = false;
	size_t n;

	while (scan_line(&p, end, &line, &n)) {
		bool is_some = n > 5 && memcmp(line, "some ", 5) == 0;
		bool is_full = n > 5 && memcmp(line, "full ", 5) == 0;
		if (!is_some && !is_full)
			continue;
		if (end[-1] != '\n' && p == end)
			return err_set(err, -EINVAL, "%.4s total: cut off", line);
		uint64_t *value = is_some ? &psi.some_ns : &psi.full_ns;
		int rc = psi_total(line, n, value);
		if (rc < 0)
			return bad_key_value(err, rc,
					     is_some ? "some total" : "full total", 10);
		some = some || is_some;
		psi.has_full = psi.has_full || is_full;
	}
	if (!some)
		return err_set(err, -EINVAL, "some total: missing");
	*ret = psi;
	return 0;
}

/* v2 io.stat: "8:0 rbytes=1 wbytes=2 rios=3 ..." */
static int io_line_v2(const char *p, const char *end, uint64_t *read, uint64_t *written)
{
	const char *word;
	size_t n;

	while (scan_word(&p, end, &word, &n)) {
		uint64_t *sum = NULL, v;
		if (n > 7 && memcmp(word, "rbytes=", 7) == 0)
			sum = read;
		else if (n > 7 && memcmp(word, "wbytes=", 7) == 0)
			sum = written;
		if (!sum)
			continue;
		int rc = whole_number(word + 7, word + n, 1, &v);
		if (rc < 0)
			return rc;
		if (__builtin_add_overflow(*sum, v, sum))
			return -ERANGE;
	}
	return 0;
}

/* v1 blkio.throttle.io_service_bytes_recursive: "8:0 Read 4096", "8:0 Total 4096" */
static int io_line_v1(const char *p, const char *end, uint64_t *read, uint64_t *written)
{
	const char *dev, *op, *value;
	size_t dev_len, op_len, n;
	uint64_t v, *sum;

	if (!scan_word(&p, end, &dev, &dev_len) || !scan_word(&p, end, &op, &op_len))
		return 0;
	if (key_word_is(op, op_len, "Read"))
		sum = read;
	else if (key_word_is(op, op_len, "Write"))
		sum = written;
	else
		return 0;
	if (!scan_word(&p, end, &value, &n))
		return -EINVAL;
	int rc = whole_number(value, value + n, 1, &v);
	if (rc < 0)
		return rc;
	return __builtin_add_overflow(*sum, v, sum) ? -ERANGE : 0;
}

int cgroup_parse_io(const char *text, size_t len, bool v2, uint64_t *ret_read,
		    uint64_t *ret_written, struct err *err)
{
	const char *p = text, *end = text + len, *line;
	uint64_t read = 0, written = 0;
	size_t n;

	while (scan_line(&p, end, &line, &n)) {
		if (p == end && end[-1] != '\n')
			return err_set(err, -EINVAL, "bytes of a device: cut off");
		int rc = v2 ? io_line_v2(line, line + n, &read, &written)
			    : io_line_v1(line, line + n, &read, &written);
		if (rc < 0)
			return bad_key_value(err, rc, "bytes of a device", 17);
	}
	*ret_read = read;
	*ret_written = written;
	return 0;
}

void cgroup_split_usage(uint64_t usage_ns, uint64_t user, uint64_t system,
			struct cgroup_cpu *ret)
{
	unsigned __int128 sum = (unsigned __int128)user + system;
	uint64_t system_ns = 0;

	/* as cputime_adjust(): without ticks there is no ratio, and time too short to
	 * be sampled counts as user time */
	if (sum)
		system_ns = (uint64_t)((unsigned __int128)usage_ns * system / sum);
	ret->system_ns = system_ns;
	ret->user_ns = usage_ns - system_ns;
}

void cgroup_keep_split(uint64_t user_ns, uint64_t system_ns, struct cgroup_cpu *now)
{
	uint64_t sum = now->user_ns + now->system_ns;

	if (sum < user_ns + system_ns)
		return;
	if (now->system_ns < system_ns)
		now->system_ns = system_ns;
	else if (now->user_ns < user_ns)
		now->system_ns = sum - user_ns;
	now->user_ns = sum - now->system_ns;
}

/* ---- block devices one by one ---------------------------------------------------- */

/* "8:0" */
static bool read_device(const char *s, size_t n, uint32_t *ret_major,
			uint32_t *ret_minor)
{
	const char *colon = memchr(s, ':', n);
	uint64_t major, minor;

	if (!colon || parse_u64_len(s, (size_t)(colon - s), &major) < 0 ||
	    parse_u64_len(colon + 1, n - (size_t)(colon - s) - 1, &minor) < 0 ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	*ret_major = (uint32_t)major;
	*ret_minor = (uint32_t)minor;
	return true;
}

/* NULL: no room for one more. */
static struct cgroup_io_device *find_device(struct cgroup_io *io, uint32_t major,
					    uint32_t minor)
{
	for (uint32_t i = 0; i < io->count; i++) {
		if (io->devices[i].major == major && io->devices[i].minor == minor)
			return &io->devices[i];
	}
	if (io->count == CGROUP_IO_DEVICES_MAX)
		return NULL;
	io->devices[io->count] =
		(struct cgroup_io_device){.major = major, .minor = minor};
	return &io->devices[io->count++];
}

/* "rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" */
static int take_v2_words(const char *p, const char *end, struct cgroup_io_device *d)
{
	const struct {
		const char *key;
		size_t len;
		uint64_t *to;
	} keys[] = {
		{"rbytes=", 7, &d->read_bytes},
		{"wbytes=", 7, &d->written_bytes},
		{"rios=", 5, &d->reads},
		{"wios=", 5, &d->writes},
	};
	const char *word;
	size_t n;

	while (scan_word(&p, end, &word, &n)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (n < keys[i].len ||
			    memcmp(word, keys[i].key, keys[i].len) != 0)
				continue;
			int rc = parse_u64_len(word + keys[i].len, n - keys[i].len,
					       keys[i].to);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* "Read 4096"; Sync, Async, Discard and Total are of these, or of neither */
static int take_v1_words(const char *p, const char *end, bool requests,
			 struct cgroup_io_device *d)
{
	const char *op, *value;
	size_t op_len, n;
	uint64_t v;

	if (!scan_word(&p, end, &op, &op_len) || !scan_word(&p, end, &value, &n))
		return -EINVAL;
	bool is_read = op_len == 4 && memcmp(op, "Read", 4) == 0;
	if (!is_read && (op_len != 5 || memcmp(op, "Write", 5) != 0))
		return 0;
	int rc = parse_u64_len(value, n, &v);
	if (rc < 0)
		return rc;
	if (requests)
		*(is_read ? &d->reads : &d->writes) = v;
	else
		*(is_read ? &d->read_bytes : &d->written_bytes) = v;
	return 0;
}

int cgroup_parse_io_devices(const char *text, size_t len, bool v2, bool requests,
			    struct cgroup_io *io, struct err *err)
{
	const char *p = text, *end = text + len, *line, *word;
	struct cgroup_io made = *io;
	size_t n, word_len;

	while (scan_line(&p, end, &line, &n)) {
		const char *at = line;
		uint32_t major, minor;
		if (p == end && end[-1] != '\n')
			return err_set(err, -EINVAL, "a device's line is cut off");
		/* v1 ends with "Total 4096", of all devices */
		if (!scan_word(&at, line + n, &word, &word_len) ||
		    !read_device(word, word_len, &major, &minor))
			continue;
		struct cgroup_io_device *d = find_device(&made, major, minor);
		int rc = !d   ? 0
			 : v2 ? take_v2_words(at, line + n, d)
			      : take_v1_words(at, line + n, requests, d);
		if (rc < 0)
			return err_set(err, rc, "a device's number");
	}
	*io = made;
	return 0;
}
