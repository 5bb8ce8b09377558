/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/take_opened.h"

#include <errno.h>

#include "daemon/daemon.h"
#include "daemon/groups/opener_link.h"
#include "daemon/perf_kinds.h"
#include "lib/exec.h"
#include "lib/log.h"
#include "lib/records/net_slots.h"
#include "lib/records/perf_cells.h"

static int take_group_slots(struct daemon *d, struct opened_part *part, struct err *err)
{
	int fds[GROUP_FDS];
	int rc = opened_part_take(part, fds, GROUP_FDS, err);

	if (!rc)
		rc = group_slots_open(&d->group_slots, fds, part->count, err);
	if (!rc && part->kept)
		log_info("ebpf: the kernel has followed the control groups of steps "
			 "since before this start");
	else if (!rc)
		log_info("ebpf: the kernel follows the control groups of steps, %u of "
			 "them were there before",
			 part->detail[GROUP_DETAIL_ADOPTED]);
	return rc;
}

/* Of a part that counts by slots. Before its descriptors are taken:
 * opened_parts_close() closes them. */
static int check_part_slots(const struct daemon *d, const struct opened_part *part,
			    uint32_t slots, struct err *err)
{
	if (part->rc < 0 || slots == d->group_slots.count)
		return 0;
	return err_set(err, -EPROTO, "it is for %u slots, not %u", slots,
		       d->group_slots.count);
}

static int take_io_cells(struct daemon *d, struct opened_part *part, struct err *err)
{
	int fds[IO_FDS];
	int rc = check_part_slots(d, part, part->detail[IO_DETAIL_SLOTS], err);

	if (!rc)
		rc = opened_part_take(part, fds, IO_FDS, err);
	if (!rc)
		rc = io_cells_open(&d->io_cells, fds, part->count,
				   part->detail[IO_DETAIL_SLOTS],
				   part->detail[IO_DETAIL_STRIPES],
				   part->detail[IO_DETAIL_COUNTED], err);
	if (rc < 0)
		return rc;
	log_info("ebpf: the kernel counts what units read and write, %s",
		 d->io_cells.counted & IO_COUNTED_URING
			 ? "by system calls and by io_uring"
			 : "by system calls; it cannot count io_uring");
	if (d->options.ebpf_io_latency && !(d->io_cells.counted & IO_COUNTED_TIMES))
		log_warn(
			"ebpf: the kernel refuses the program that says how long reads "
			"and writes take: no ceems_ebpf_io_latency_seconds");
	return 0;
}

/* kinds and spare of *ret are set. */
static int take_slot_counts(struct daemon *d, struct opened_part *part,
			    uint32_t fd_count, uint32_t stripes,
			    struct slot_counts *ret, struct err *err)
{
	int rc = check_part_slots(d, part, part->count, err);

	if (!rc)
		rc = opened_part_take(part, ret->fds, fd_count, err);
	if (rc < 0)
		return rc;
	ret->fd_count = fd_count;
	ret->slots = part->count;
	ret->stripes = stripes;
	return slot_counts_open(ret, err);
}

static int take_net_slots(struct daemon *d, struct opened_part *part, struct err *err)
{
	d->net_slots = (struct slot_counts){.kinds = NET_KINDS, .spare = 1};
	int rc = take_slot_counts(d, part, NET_FDS, part->detail[NET_DETAIL_STRIPES],
				  &d->net_slots, err);
	if (rc < 0)
		return rc;
	d->env.net_counted = part->detail[NET_DETAIL_COUNTED];
	log_info("ebpf: the kernel counts what units send and receive, %s",
		 !(d->env.net_counted & NET_COUNTED_CALLS)
			 ? "by the tracepoints of sockets"
		 : d->env.net_counted & NET_COUNTED_URING
			 ? "by system calls and by io_uring"
			 : "by system calls; it cannot count io_uring");
	return 0;
}

static int take_perf_slots(struct daemon *d, struct opened_part *part, struct err *err)
{
	d->perf_slots = (struct slot_counts){.kinds = 1};
	int rc = take_slot_counts(d, part, PERF_FDS, part->detail[PERF_DETAIL_STRIPES],
				  &d->perf_slots, err);
	if (!rc)
		log_info("perf: the kernel counts software events of units");
	return rc;
}

static void take_hardware(struct daemon *d, struct opened_part *part)
{
	auto_buf struct buf text = BUF_INIT;
	struct err err;
	int rc = check_part_slots(d, part, part->count, &err);

	if (!rc)
		rc = hardware_slots_open(&d->hardware_slots, part, &err);
	if (!rc) {
		hardware_slots_text(&d->hardware_slots, &text);
		log_info("perf: the kernel counts hardware events of units: %s",
			 text.len ? text.data : "");
	} else if (d->options.perf_hardware || d->options.perf_cache) {
		log_warn("perf: %s: only software events are counted", err.text);
	} else {
		log_info("perf: %s: only software events are counted", err.text);
	}
}

void take_opened(struct daemon *d)
{
	const struct options *o = &d->options;
	struct opened_part parts[OPENER_PARTS];
	char path[4096];
	struct err err;

	if (!o->collector_ebpf) {
		opener_forget();
		return;
	}
	exec_beside(o->opener_path, "ceems-opener", path, sizeof(path));
	const struct opener_request request = {.path = path,
					       .cgroupfs = o->path_cgroupfs,
					       .procfs = o->path_procfs,
					       .slots = (uint32_t)o->ebpf_slots,
					       .io = o->ebpf_io,
					       .io_latency = o->ebpf_io_latency,
					       .network = o->ebpf_network,
					       .network_calls = o->ebpf_network_calls,
					       .no_loopback = !o->ebpf_network_loopback,
					       .perf = o->collector_perf,
					       .hardware = hardware_kinds_opened(o),
					       .raw_events = d->perf_figures.text};
	int rc = opener_take(&request, parts, &d->env.opener_restarts, &err);
	if (d->env.opener_restarts)
		log_warn("ebpf: %s was killed %u times while it began, and was started "
			 "again",
			 path, d->env.opener_restarts);
	if (!rc)
		rc = take_group_slots(d, &parts[OPENER_GROUPS], &err);
	if (rc < 0)
		log_warn(
			"ebpf: %s: a step without a stop record ends with the counters "
			"that were read last",
			err.text);
	if (!rc && o->ebpf_io && take_io_cells(d, &parts[OPENER_IO], &err) < 0)
		log_warn("ebpf: %s: what units read and write is not counted",
			 err.text);
	if (!rc && o->ebpf_network &&
	    take_net_slots(d, &parts[OPENER_NETWORK], &err) < 0)
		log_warn("ebpf: %s: what units send and receive is not counted",
			 err.text);
	if (rc == 0 && o->collector_perf &&
	    take_perf_slots(d, &parts[OPENER_PERF], &err) < 0)
		log_warn("perf: %s: no events are counted", err.text);
	if (rc == 0 && d->perf_slots.slots && (request.hardware || *request.raw_events))
		take_hardware(d, &parts[OPENER_HARDWARE]);
	opened_parts_close(parts);
}
