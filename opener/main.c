/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-opener: see opener/README.md. Started by ceemsd while that is root, with a
 * socket; opens what takes privilege, hands it over and ends, or serves what is asked
 * of units' processes. It reads nothing that a user can write but names of directories
 * that root has made. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/records/group_slots.h"
#include "lib/records/opener_message.h"
#include "lib/service_options.h"
#include "opener/groups.h"
#include "opener/io.h"
#include "opener/limits.h"
#include "opener/net.h"
#include "opener/perf.h"
#include "opener/profile.h"

struct options {
	LOG_OPTION_MEMBERS;
	uint64_t link_fd;
	uint64_t profile_fd, drm_fd;
	uint64_t slots, perf_hardware;
	bool io_metrics, io_latency, network_metrics, network_calls, network_loopback,
		perf;
	char *perf_raw;
	struct hardware_raws raws; /* of perf_raw */
	char *path_cgroupfs, *path_procfs;
};

#define ROW CONF_ROW
static const struct conf_opt opener_options[] = {
	LOG_OPTION_ROWS(0),
	ROW("link.fd", CONF_U64, link_fd, "0",
	    "The socket to ceemsd, which starts ceems-opener with it; 0: none, it only "
	    "tries what it would open, says the result and exits.",
	    .max = 1023),
	ROW("collector.ebpf.slots", CONF_U64, slots, "4096",
	    "Control groups of units that are followed at the same time, a power of "
	    "two.",
	    .min = 64, .max = GROUP_SLOTS_MAX),
	ROW("collector.ebpf.io-metrics", CONF_BOOL, io_metrics, "false",
	    "Also what units read and write."),
	ROW("collector.ebpf.io-latency", CONF_BOOL, io_latency, "false",
	    "Also how long reads and writes take, and why they fail."),
	ROW("collector.ebpf.network-metrics", CONF_BOOL, network_metrics, "false",
	    "Also what units send and receive."),
	ROW("collector.ebpf.network-calls", CONF_BOOL, network_calls, "false",
	    "Count that by system calls, as on kernels before 6.3."),
	ROW("collector.ebpf.network-loopback", CONF_BOOL, network_loopback, "true",
	    "Count also what goes by the loopback device."),
	ROW("collector.perf", CONF_BOOL, perf, "false",
	    "Also software events of units."),
	ROW("collector.perf.events", CONF_U64, perf_hardware, "0",
	    "With --collector.perf: also these hardware and cache events, a bit each "
	    "in the order of doc/ebpf.md; 524287 are all.",
	    .max = HARDWARE_GENERAL_MASK | HARDWARE_CACHE_MASK),
	ROW("collector.perf.raw-events", CONF_STRING, perf_raw, "",
	    "With --collector.perf: also these, as "
	    "TYPE:CONFIG:CONFIG1:CONFIG2:LEADS,... in decimal "
	    "(perf_event_open(2)); LEADS is 1 for the first of a group."),
	ROW("profile.fd", CONF_U64, profile_fd, "0",
	    "Instead of all that: a socket to ceems-profiler, for which it opens what "
	    "profiles take until that end is closed.",
	    .max = 1023),
	ROW("drm.fd", CONF_U64, drm_fd, "0",
	    "Instead of all that: a socket to ceemsd, which it tells what DRM drivers "
	    "say of processes of units, until that end is closed.",
	    .max = 1023),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc",
	    "Where procfs is mounted.", .flags = CONF_HIDDEN),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted.", .flags = CONF_HIDDEN),
};
static const size_t opener_options_count =
	sizeof(opener_options) / sizeof(opener_options[0]);

static int send_part(int link, const struct opener_message *m, const int *fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(OPENER_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)m, .iov_len = sizeof(*m)};
	struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};

	if (m->fds) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(m->fds * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(m->fds * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, m->fds * sizeof(int));
	}
	return sendmsg(link, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Without a socket: says it instead. */
static void hand_over(const struct options *o, struct opener_message *m, const int *fds,
		      int rc, const struct err *err, const char *good)
{
	m->magic = OPENER_MAGIC;
	m->version = OPENER_VERSION;
	m->rc = rc;
	if (rc < 0) {
		m->fds = 0;
		(void)snprintf(m->text, sizeof(m->text), "%s", err->text);
	}
	if (!o->link_fd && rc < 0)
		log_error("%s", err->text);
	else if (!o->link_fd)
		log_info("%s", good);
	else if (send_part((int)o->link_fd, m, fds) < 0)
		log_error("hand over to ceemsd: %s", strerror(errno));
}

static int open_groups(const struct options *o, int cgroupfd, struct groups *g)
{
	struct opener_message m = {
		.part = OPENER_GROUPS, .fds = GROUP_FDS, .count = (unsigned)o->slots};
	struct err err = {""};
	auto_close int procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, NULL);
	int rc = groups_open(g, cgroupfd, procfd, (uint32_t)o->slots, &err);

	m.detail[GROUP_DETAIL_ADOPTED] = g->adopted - g->gone;
	hand_over(o, &m, g->fds, rc, &err,
		  "control groups can be followed in this kernel");
	return rc;
}

static int open_io(const struct options *o, bool by_cpuacct, const struct groups *g)
{
	struct opener_message m = {.part = OPENER_IO, .fds = IO_FDS};
	struct io io = {0};
	struct err err = {""};
	int rc = io_open(&io, g->groups_map, (uint32_t)o->slots, by_cpuacct,
			 o->io_latency, &err);

	m.count = io.cells;
	m.detail[IO_DETAIL_SLOTS] = (unsigned)o->slots;
	m.detail[IO_DETAIL_STRIPES] = io.stripes;
	m.detail[IO_DETAIL_COUNTED] = io.counted;
	hand_over(o, &m, io.fds, rc, &err,
		  io.counted & IO_COUNTED_URING
			  ? "reads and writes can be counted, also those of io_uring"
			  : "reads and writes can be counted, without those of "
			    "io_uring");
	io_close(&io);
	return rc;
}

static int open_network(const struct options *o, bool by_cpuacct,
			const struct groups *g)
{
	struct opener_message m = {
		.part = OPENER_NETWORK, .fds = NET_FDS, .count = (unsigned)o->slots};
	const struct net_request request = {.slots = (uint32_t)o->slots,
					    .by_cpuacct = by_cpuacct,
					    .by_calls = o->network_calls,
					    .no_loopback = !o->network_loopback};
	struct net net = {0};
	struct err err = {""};
	int rc = net_open(&net, g, &request, &err);

	m.detail[NET_DETAIL_STRIPES] = net.stripes;
	m.detail[NET_DETAIL_COUNTED] = net.counted;
	hand_over(o, &m, net.fds, rc, &err,
		  net.counted & NET_COUNTED_CALLS
			  ? "what is sent and received can be counted, by system calls"
			  : "what is sent and received can be counted");
	net_close(&net);
	return rc;
}

static void hand_over_hardware(const struct options *o, const struct perf *perf)
{
	struct opener_message m = {.part = OPENER_HARDWARE,
				   .fds = HARDWARE_FDS,
				   .count = (unsigned)o->slots};

	m.detail[HARDWARE_DETAIL_STRIPES] = perf->hardware_stripes;
	m.detail[HARDWARE_DETAIL_GROUPS] = perf->hardware.layout.groups;
	hand_over(o, &m, perf->hardware_fds, perf->hardware_rc, &perf->hardware_err,
		  "hardware events can be counted");
}

static int open_perf(const struct options *o, bool by_cpuacct, const struct groups *g)
{
	struct opener_message m = {
		.part = OPENER_PERF, .fds = PERF_FDS, .count = (unsigned)o->slots};
	const struct perf_request request = {.groups_map = g->groups_map,
					     .slots = (uint32_t)o->slots,
					     .by_cpuacct = by_cpuacct,
					     .hardware = (uint32_t)o->perf_hardware,
					     .raws = o->raws};
	struct perf perf = {0};
	struct err err = {""};
	int rc = perf_open(&perf, &request, &err);

	m.detail[PERF_DETAIL_STRIPES] = perf.stripes;
	hand_over(o, &m, perf.fds, rc, &err, "software events can be counted");
	if (rc == 0 && (request.hardware || request.raws.count))
		hand_over_hardware(o, &perf);
	perf_close(&perf);
	return rc;
}

static bool counts_by_cpuacct(int cgroupfd)
{
	struct cgroup_layout layout = {0};
	struct err err;

	return cgroup_probe(cgroupfd, &layout, &err) == 0 && !layout.unified_only &&
	       *layout.cpuacct;
}

static int open_and_hand_over(const struct options *o)
{
	struct groups g = {0};
	struct err err = {""};
	auto_close int cgroupfd = fs_opendir_at(AT_FDCWD, o->path_cgroupfs, &err);

	if (cgroupfd < 0) {
		hand_over(o, &(struct opener_message){.part = OPENER_GROUPS}, NULL,
			  cgroupfd, &err, "");
		return cgroupfd;
	}
	bool by_cpuacct = counts_by_cpuacct(cgroupfd);
	int rc = open_groups(o, cgroupfd, &g), parts[] = {0, 0, 0};
	if (rc == 0 && o->io_metrics)
		parts[0] = open_io(o, by_cpuacct, &g);
	if (rc == 0 && o->network_metrics)
		parts[1] = open_network(o, by_cpuacct, &g);
	if (rc == 0 && o->perf)
		parts[2] = open_perf(o, by_cpuacct, &g);
	for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = parts[i];
	groups_close(&g);
	return rc;
}

static int serve_on_socket(const struct options *o)
{
	struct profile_service service = {
		.link = (int)o->drm_fd,
		.requests = PROFILE_REQUESTS_OF_DRM,
	};
	struct err err = {""};
	auto_close int procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, &err);
	auto_close int cgroupfd = -1;

	service.procfd = procfd;
	if (procfd >= 0 && o->profile_fd) {
		cgroupfd = fs_opendir_at(AT_FDCWD, o->path_cgroupfs, &err);
		service.link = (int)o->profile_fd;
		service.requests = PROFILE_REQUESTS_OF_PROFILER;
		service.by_cpuacct = cgroupfd >= 0 && counts_by_cpuacct(cgroupfd);
	}
	if (procfd < 0 || (o->profile_fd && cgroupfd < 0)) {
		log_error("%s: nothing of units' processes is opened", err.text);
		return -ENOENT;
	}
	return profile_keep(&service);
}

/* A kernel without filters is told of by ceemsd. */
static void limit_opener(const struct options *o)
{
	struct err err = {""};
	auto_close int procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, NULL);
	int rc = o->profile_fd ? limits_apply_serving(procfd, &err)
		 : o->drm_fd   ? limits_apply_reading(&err)
			       : limits_apply(o->perf, procfd, &err);

	if (rc == -ENOSYS)
		log_debug("%s", err.text);
	else if (rc < 0)
		log_warn("ceems-opener has more rights than it needs: %s", err.text);
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems-opener",
		.options = opener_options,
		.option_count = opener_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct options o = {0};
	enum program_status status;

	if (!program_options(&program, argc, argv, &o, &warnings, &status))
		return status;
	program_log("ceems-opener", o.log_format, o.log_level, &warnings);
	(void)prctl(PR_SET_DUMPABLE, 0);
	limit_opener(&o);
	if (o.slots & (o.slots - 1)) {
		log_error("--collector.ebpf.slots=%llu: not a power of two",
			  (unsigned long long)o.slots);
		status = PROGRAM_USAGE;
	} else if (hardware_raws_parse(o.perf_raw, &o.raws) < 0) {
		log_error("--collector.perf.raw-events=%s: must be at most %u times "
			  "TYPE:CONFIG:CONFIG1:CONFIG2:LEADS",
			  o.perf_raw, HARDWARE_RAW_MAX);
		status = PROGRAM_USAGE;
	} else if (o.profile_fd || o.drm_fd) {
		status = serve_on_socket(&o) < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
	} else {
		status = open_and_hand_over(&o) < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
	}
	conf_release(opener_options, opener_options_count, &o);
	return status;
}
