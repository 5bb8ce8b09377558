/* SPDX-License-Identifier: GPL-2.0-or-later */
/* InfiniBand and Omni-Path ports from sysfs. Names and units are those of
 * node_exporter's infiniband collector, as in the peer; missing counters are left out.
 * Source: kernel Documentation/ABI/stable/sysfs-class-infiniband. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define ROOT "class/infiniband"
#define DEVICES_MAX 256
#define PORTS_MAX 256
#define NAME_BYTES 64
#define INFO_BYTES 256 /* board_id of mlx5 alone has up to 63 and a line feed */

/* port_{rcv,xmit}_data count 32-bit words ("data octets divided by 4") */
#define WORD 4

struct port_counter {
	const char *file;
	uint64_t scale;
	struct prom_family family;
};

#define COUNTER(file, scale, name, help)                                               \
	{                                                                              \
		file, scale,                                                           \
		{                                                                      \
			"ceems_infiniband_" name "_total", PROM_COUNTER,               \
				help ", from sysfs " file                              \
		}                                                                      \
	}

static const struct port_counter counters[] = {
	COUNTER("counters_ext/port_multicast_rcv_packets", 1,
		"legacy_multicast_packets_received", "Multicast packets received"),
	COUNTER("counters_ext/port_multicast_xmit_packets", 1,
		"legacy_multicast_packets_transmitted", "Multicast packets sent"),
	COUNTER("counters_ext/port_rcv_data_64", WORD, "legacy_data_received_bytes",
		"Bytes received"),
	COUNTER("counters_ext/port_rcv_packets_64", 1, "legacy_packets_received",
		"Packets received"),
	COUNTER("counters_ext/port_unicast_rcv_packets", 1,
		"legacy_unicast_packets_received", "Unicast packets received"),
	COUNTER("counters_ext/port_unicast_xmit_packets", 1,
		"legacy_unicast_packets_transmitted", "Unicast packets sent"),
	COUNTER("counters_ext/port_xmit_data_64", WORD, "legacy_data_transmitted_bytes",
		"Bytes sent"),
	COUNTER("counters_ext/port_xmit_packets_64", 1, "legacy_packets_transmitted",
		"Packets sent"),
	COUNTER("counters/excessive_buffer_overrun_errors", 1,
		"excessive_buffer_overrun_errors", "Buffer overruns in a row"),
	COUNTER("counters/link_downed", 1, "link_downed",
		"Failed link error recoveries that took the link down"),
	COUNTER("counters/link_error_recovery", 1, "link_error_recovery",
		"Successful link error recoveries"),
	COUNTER("counters/local_link_integrity_errors", 1,
		"local_link_integrity_errors", "Local physical errors over threshold"),
	COUNTER("counters/multicast_rcv_packets", 1, "multicast_packets_received",
		"Multicast packets received, errors included"),
	COUNTER("counters/multicast_xmit_packets", 1, "multicast_packets_transmitted",
		"Multicast packets sent, errors included"),
	COUNTER("counters/port_rcv_constraint_errors", 1,
		"port_constraint_errors_received",
		"Packets received and discarded for constraints"),
	COUNTER("counters/port_xmit_constraint_errors", 1,
		"port_constraint_errors_transmitted",
		"Packets not sent for constraints"),
	COUNTER("counters/port_rcv_data", WORD, "port_data_received_bytes",
		"Bytes received on all virtual lanes"),
	COUNTER("counters/port_xmit_data", WORD, "port_data_transmitted_bytes",
		"Bytes sent on all virtual lanes"),
	COUNTER("counters/port_rcv_discards", 1, "port_discards_received",
		"Inbound packets discarded because the port is down or congested"),
	COUNTER("counters/port_xmit_discards", 1, "port_discards_transmitted",
		"Outbound packets discarded because the port is down or congested"),
	COUNTER("counters/port_rcv_errors", 1, "port_errors_received",
		"Packets with an error received"),
	COUNTER("counters/port_rcv_packets", 1, "port_packets_received",
		"Packets received on all virtual lanes, errors included"),
	COUNTER("counters/port_xmit_packets", 1, "port_packets_transmitted",
		"Packets sent on all virtual lanes, errors included"),
	COUNTER("counters/port_xmit_wait", 1, "port_transmit_wait",
		"Ticks in which there was data but no credit to send it"),
	COUNTER("counters/unicast_rcv_packets", 1, "unicast_packets_received",
		"Unicast packets received, errors included"),
	COUNTER("counters/unicast_xmit_packets", 1, "unicast_packets_transmitted",
		"Unicast packets sent, errors included"),
	COUNTER("counters/port_rcv_remote_physical_errors", 1,
		"port_receive_remote_physical_errors",
		"Packets received with a bad-packet end delimiter"),
	COUNTER("counters/port_rcv_switch_relay_errors", 1,
		"port_receive_switch_relay_errors",
		"Packets that the switch could not forward"),
	COUNTER("counters/symbol_error", 1, "symbol_error",
		"Minor link errors on physical lanes"),
	COUNTER("counters/VL15_dropped", 1, "vl15_dropped",
		"Subnet management packets dropped"),
};

struct infiniband {
	int sysfd;
	struct buf labels;
};

static void infiniband_close(void *state)
{
	struct infiniband *ib = state;

	if (!ib)
		return;
	buf_done(&ib->labels);
	free(ib);
}

static int infiniband_open(const struct env *env, void **ret_state, struct err *err)
{
	auto_close int fd = fs_opendir_at(env->sysfd, ROOT, err);

	if (fd < 0)
		return fd == -ENOENT ? -ENODEV : fd;
	struct infiniband *ib = calloc(1, sizeof(*ib));
	if (!ib)
		return err_set(err, -ENOMEM, "out of memory");
	ib->sysfd = env->sysfd;
	*ret_state = ib;
	return 0;
}

static int compare_device_names(const void *a, const void *b)
{
	const char *x = a, *y = b;
	size_t lx = strlen(x), ly = strlen(y);

	/* mlx5_2 before mlx5_10, port 2 before port 10 */
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp(x, y);
}

/* Sorted names in a folder; how many, or negative errno. */
static int list_devices(int dirfd, const char *path, char (*ret)[NAME_BYTES],
			size_t max, struct err *err)
{
	int fd = fs_opendir_at(dirfd, path, err);
	if (fd < 0)
		return fd;
	auto_closedir DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	size_t n = 0;
	for (struct dirent *e; n < max && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (e->d_name[0] == '.' || len >= NAME_BYTES)
			continue;
		memcpy(ret[n++], e->d_name, len + 1);
	}
	qsort(ret, n, sizeof(*ret), compare_device_names);
	return (int)n;
}

/* A file's text without its end of line; "" when it cannot be read. */
static void read_word(int fd, const char *path, char *ret, size_t size)
{
	ssize_t n = fs_read_at(fd, path, ret, size, NULL);

	if (n < 0)
		n = 0;
	ret[strcspn(ret, "\n")] = '\0';
	ret[n] = '\0';
}

static void put_info(struct prom *out, int devfd, const char *device)
{
	static const struct prom_family family = {
		"ceems_infiniband_info", PROM_GAUGE,
		"Constant 1, labelled by board and firmware, from sysfs "
		"class/infiniband"};
	char board[INFO_BYTES] = "", firmware[INFO_BYTES] = "", hca[INFO_BYTES] = "";

	read_word(devfd, "board_id", board, sizeof(board));
	read_word(devfd, "fw_ver", firmware, sizeof(firmware));
	read_word(devfd, "hca_type", hca, sizeof(hca));
	struct prom_label labels[] = {{"device", device},
				      {"board_id", board},
				      {"firmware_version", firmware},
				      {"hca_type", hca}};
	prom_family(out, &family);
	prom_put_u64(out, labels, 4, 1);
}

/* "4: ACTIVE" -> 4 */
static void put_state(struct infiniband *ib, struct prom *out, int portfd,
		      const char *file, const struct prom_family *family)
{
	char text[NAME_BYTES] = "";
	const char *p = text;
	uint64_t id;

	read_word(portfd, file, text, sizeof(text));
	if (scan_u64(&p, text + strlen(text), &id) < 0 || *p != ':')
		return;
	prom_family(out, family);
	prom_put_block_u64(out, &ib->labels, id);
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)" -> bytes per second */
static void put_rate(struct infiniband *ib, struct prom *out, int portfd)
{
	static const struct prom_family family = {
		"ceems_infiniband_rate_bytes_per_second", PROM_GAUGE,
		"Signalling rate of the port in bytes per second, from sysfs rate"};
	char text[NAME_BYTES] = "";
	const char *p = text;
	uint64_t whole, tenths = 0;

	read_word(portfd, "rate", text, sizeof(text));
	const char *end = text + strlen(text);
	if (scan_u64(&p, end, &whole) < 0 || whole > 1000000)
		return;
	if (*p == '.' && p[1] >= '0' && p[1] <= '9') {
		tenths = (uint64_t)(p[1] - '0');
		p += 2;
	}
	if (strncmp(p, " Gb/sec", 7) != 0)
		return;
	prom_family(out, &family);
	prom_put_block_u64(out, &ib->labels, (whole * 10 + tenths) * 12500000);
}

static void put_port(struct infiniband *ib, struct prom *out, int portfd)
{
	static const struct prom_family state = {
		"ceems_infiniband_state_id", PROM_GAUGE,
		"State of the port (0: no change, 1: down, 2: init, 3: armed, 4: "
		"active, 5: act defer), from sysfs state"};
	static const struct prom_family physical = {
		"ceems_infiniband_physical_state_id", PROM_GAUGE,
		"Physical state of the port (0: no change, 1: sleep, 2: polling, 3: "
		"disable, 4: shift, 5: link up, 6: link error recover, 7: phytest), "
		"from sysfs phys_state"};

	put_state(ib, out, portfd, "state", &state);
	put_state(ib, out, portfd, "phys_state", &physical);
	put_rate(ib, out, portfd);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		const struct port_counter *c = &counters[i];
		uint64_t v;
		/* "N/A (no PMA)" and missing files are no samples */
		if (fs_read_u64_at(portfd, c->file, &v, NULL) < 0 ||
		    __builtin_mul_overflow(v, c->scale, &v))
			continue;
		prom_family(out, &c->family);
		prom_put_block_u64(out, &ib->labels, v);
	}
}

static int put_device(struct infiniband *ib, struct prom *out, const char *device,
		      struct err *err)
{
	char path[sizeof(ROOT) + NAME_BYTES + 1], ports[PORTS_MAX][NAME_BYTES];

	snprintf(path, sizeof(path), ROOT "/%.63s", device);
	auto_close int devfd = fs_opendir_at(ib->sysfd, path, err);
	/* unplugged since it was listed, which is not an error */
	if (devfd < 0)
		return devfd == -ENOENT ? 0 : devfd;
	put_info(out, devfd, device);
	int n = list_devices(devfd, "ports", ports, PORTS_MAX, err);
	if (n < 0)
		return n == -ENOENT ? 0 : n;
	for (int i = 0; i < n; i++) {
		char port[sizeof("ports/") + NAME_BYTES];
		snprintf(port, sizeof(port), "ports/%.63s", ports[i]);
		auto_close int portfd = fs_opendir_at(devfd, port, NULL);
		if (portfd < 0)
			continue;
		struct prom_label labels[] = {{"device", device}, {"port", ports[i]}};
		buf_reset(&ib->labels);
		prom_render_labels(&ib->labels, labels, 2);
		put_port(ib, out, portfd);
	}
	return 0;
}

static int infiniband_collect(void *state, struct prom *out, struct err *err)
{
	struct infiniband *ib = state;
	char devices[DEVICES_MAX][NAME_BYTES];
	int n = list_devices(ib->sysfd, ROOT, devices, DEVICES_MAX, err);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		int rc = put_device(ib, out, devices[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

const struct collector collector_infiniband = {
	.name = "infiniband",
	.open = infiniband_open,
	.collect = infiniband_collect,
	.close = infiniband_close,
};
