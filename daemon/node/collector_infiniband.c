/* SPDX-License-Identifier: GPL-2.0-or-later */
/* InfiniBand and Omni-Path ports from sysfs. Names and units are those of
 * node_exporter's infiniband collector, as in the peer; missing counters are left out.
 * Source: kernel Documentation/ABI/stable/sysfs-class-infiniband. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/node/ib_ports.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

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
	struct prom *out; /* of the scrape that runs */
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
	auto_close int fd = fs_opendir_at(env->sysfd, IB_CLASS, err);

	if (fd < 0)
		return fd == -ENOENT ? -ENODEV : fd;
	struct infiniband *ib = calloc(1, sizeof(*ib));
	if (!ib)
		return err_set(err, -ENOMEM, "out of memory");
	ib->sysfd = env->sysfd;
	*ret_state = ib;
	return 0;
}

static void put_info(struct prom *out, int devfd, const char *device)
{
	static const struct prom_family family = {
		"ceems_infiniband_info", PROM_GAUGE,
		"Constant 1, labelled by board and firmware, from sysfs "
		"class/infiniband"};
	char board[INFO_BYTES] = "", firmware[INFO_BYTES] = "", hca[INFO_BYTES] = "";

	ib_read_word(devfd, "board_id", board, sizeof(board));
	ib_read_word(devfd, "fw_ver", firmware, sizeof(firmware));
	ib_read_word(devfd, "hca_type", hca, sizeof(hca));
	struct prom_label labels[] = {{"device", device},
				      {"board_id", board},
				      {"firmware_version", firmware},
				      {"hca_type", hca}};
	prom_family(out, &family);
	prom_put_u64(out, labels, 4, 1);
}

static void put_state(struct infiniband *ib, struct prom *out, int portfd,
		      const char *file, const struct prom_family *family)
{
	uint64_t id;

	if (ib_read_state(portfd, file, &id) < 0)
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
	char text[IB_NAME_BYTES] = "";
	const char *p = text;
	uint64_t whole, tenths = 0;

	ib_read_word(portfd, "rate", text, sizeof(text));
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

static void put_device(void *arg, int devfd, const char *device)
{
	const struct infiniband *ib = arg;

	put_info(ib->out, devfd, device);
}

static void put_device_port(void *arg, int portfd, const char *device, const char *port)
{
	struct infiniband *ib = arg;
	const struct prom_label labels[] = {{"device", device}, {"port", port}};

	buf_reset(&ib->labels);
	prom_render_labels(&ib->labels, labels, 2);
	put_port(ib, ib->out, portfd);
}

static int infiniband_collect(void *state, struct prom *out, struct err *err)
{
	struct infiniband *ib = state;
	const struct ib_visitor visitor = {put_device, put_device_port, ib};

	ib->out = out;
	return ib_walk(ib->sysfd, &visitor, err);
}

const struct collector collector_infiniband = {
	.name = "infiniband",
	.open = infiniband_open,
	.collect = infiniband_collect,
	.close = infiniband_close,
};
