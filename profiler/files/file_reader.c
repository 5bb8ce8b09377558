/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a file that may have been made to do harm. What goes wrong here, a fault at a
 * file that is cut as it is read, a loop, a heap that grows, a library taken over, ends
 * this process, and the file has no names: nobody else's does. */
#include "profiler/files/file_reader.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/sandbox.h"
#include "profiler/files/elf_file.h"
#include "profiler/files/file_names.h"
#include "profiler/files/perf_map.h"
#include "profiler/files/python_layout.h"
#include "profiler/files/reader_message.h"
#include "profiler/files/unwind_table.h"

#define DATA_BYTES_MAX (64ul << 20)    /* of its own */
#define SPACE_BYTES_MAX (4096ul << 20) /* with the files that it maps */
#define CPU_S_MAX 10
#define DEBUG_ROOT "/usr/lib/debug"

struct file_reader {
	int fd;
	const struct reader_setup *setup;
	struct file_names names;
	bool named;
	struct perf_map map;
	time_t map_read_s;
};

static int limit_resources(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = {
		{RLIMIT_DATA, DATA_BYTES_MAX},
		{RLIMIT_AS, SPACE_BYTES_MAX},
		{RLIMIT_CPU, CPU_S_MAX},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_CORE, 0},
		{RLIMIT_NOFILE, 16},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct rlimit l = {limits[i].most, limits[i].most};
#ifdef __SANITIZE_ADDRESS__
		if (limits[i].what == RLIMIT_AS || limits[i].what == RLIMIT_DATA)
			continue;
#endif
		if (setrlimit((__rlimit_resource_t)limits[i].what, &l) < 0)
			return -errno;
	}
	return 0;
}

static int confine_reader(const struct privileges *p)
{
	static const int calls[] = {
		SYS_read,       SYS_pread64,    SYS_lseek,        SYS_fstat,
		SYS_newfstatat, SYS_close,      SYS_munmap,       SYS_mremap,
		SYS_brk,        SYS_madvise,    SYS_futex,        SYS_recvmsg,
		SYS_sendmsg,    SYS_exit_group, SYS_rt_sigreturn, SYS_getrandom,
		SYS_fcntl,      SYS_recvfrom,   SYS_sendto,
	};
	struct err err;

	int rc = privileges_limit(&err);
	if (rc == 0)
		rc = privileges_drop(p, &err);
	if (rc == 0)
		rc = privileges_hide(&err);
	if (rc == 0)
		rc = limit_resources();
	/* cleared when the user changes */
	if (rc == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		rc = -errno;
	if (rc == 0)
		rc = sandbox_allow_only(calls, sizeof(calls) / sizeof(calls[0]), &err);
	return rc == -ENOSYS ? 0 : rc; /* a kernel without filters */
}

static int send_rows(int socket, const struct unwind_table *t)
{
	int rc = 0;

	for (size_t at = 0; at < t->count && rc == 0; at += READER_ROWS_MAX) {
		size_t n = t->count - at < READER_ROWS_MAX ? t->count - at
							   : READER_ROWS_MAX;
		rc = fd_pass_send(socket, t->rows + at, n * sizeof(*t->rows), NULL, 0,
				  0);
	}
	return rc;
}

static int answer_table(int socket, const struct file_reader *r,
			const struct reader_request *q)
{
	struct reader_table a = {.status = 0};
	struct unwind_table t = {0};
	struct err err;

	int count = elf_file_segments(r->fd, a.segments, &err);
	a.status = count < 0 ? count : 0;
	a.segment_count = count < 0 ? 0 : (uint32_t)count;
	if (count >= 0)
		a.rows_status = unwind_table_read(r->fd, q->rows_most, &t, &err);
	a.rows = (uint32_t)t.count;
	a.python_status = python_layout_read(r->fd, &a.python);
	int rc = fd_pass_send(socket, &a, sizeof(a), NULL, 0, 0);
	if (rc == 0)
		rc = send_rows(socket, &t);
	unwind_table_free(&t);
	return rc;
}

static void open_names(struct file_reader *r, bool local)
{
	const char *fetched = r->setup->debug_folder;

	if (r->named)
		return;
	r->named = true;
	file_names_open(r->fd, DEBUG_ROOT, local || !*fetched ? NULL : fetched,
			&r->names);
}

static int answer_names(int socket, struct file_reader *r, uint64_t address, bool local)
{
	struct reader_names a = {.count = 0};

	open_names(r, local);
	file_names_find(&r->names, address, &a);
	return fd_pass_send(socket, &a, offsetof(struct reader_names, text) + a.len,
			    NULL, 0, 0);
}

static int answer_debug(int socket, struct file_reader *r)
{
	open_names(r, false);
	const struct reader_debug a = {.file = r->names.debug_file, .id = r->names.id};
	return fd_pass_send(socket, &a, sizeof(a), NULL, 0, 0);
}

static int answer_jit_name(int socket, struct file_reader *r, uint64_t address)
{
	struct reader_names a = {.count = 0};
	time_t now_s = (time_t)(clock_boottime_ns() / NSEC_PER_SEC);

	perf_map_find(&r->map, address, &a);
	/* it grows as the program runs */
	if (!a.count && r->map_read_s != now_s) {
		r->map_read_s = now_s;
		if (perf_map_read(r->fd, &r->map) < 0)
			perf_map_free(&r->map);
		perf_map_find(&r->map, address, &a);
	}
	return fd_pass_send(socket, &a, offsetof(struct reader_names, text) + a.len,
			    NULL, 0, 0);
}

void file_reader_main(int socket, const void *arg)
{
	const struct reader_setup *setup = arg;
	struct file_reader r = {.fd = -1, .setup = setup, .names.debug_fd = -1};
	struct reader_request q;
	int fds[FD_PASS_MAX];
	unsigned count = 0;
	char byte;

	(void)prctl(PR_SET_NAME, "ceems-prof-read");
	if (confine_reader(&setup->user) < 0)
		return;
	if (fd_pass_receive(socket, &byte, 1, fds, &count, 0) != 1 || !count)
		return;
	r.fd = fd_pass_take_from(fds[0]);
	if (r.fd == -ENOTSOCK)
		r.fd = fds[0];
	if (r.fd < 0)
		return;
	while (recv(socket, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		int rc = -EINVAL;
		if (q.ask == READER_TABLE)
			rc = answer_table(socket, &r, &q);
		else if (q.ask == READER_NAMES || q.ask == READER_LOCAL_NAMES)
			rc = answer_names(socket, &r, q.address,
					  q.ask == READER_LOCAL_NAMES);
		else if (q.ask == READER_DEBUG)
			rc = answer_debug(socket, &r);
		else if (q.ask == READER_JIT)
			rc = answer_jit_name(socket, &r, q.address);
		if (rc < 0)
			break;
	}
}
