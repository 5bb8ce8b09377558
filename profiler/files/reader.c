/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/reader.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clamp.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/time_share.h"
#include "profiler/files/cpu_delay.h"
#include "profiler/files/file_reader.h"
#include "profiler/files/fork_server.h"

#define DEADLINE_NS (2 * NSEC_PER_SEC)
/* With what a child has waited for a CPU: all of a node's are busy with users' jobs. */
#define LATEST_NS (10 * NSEC_PER_SEC)
#define MEANWHILE_MS 20
#define PENALTY_S_MAX 3600u
#define BURST_NS (30 * NSEC_PER_SEC) /* of one user's files: lib/time_share.h */
/* A child is replaced before its limit of CPU time ends it (file_reader.c). */
#define RETIRE_NS (3 * NSEC_PER_SEC)

enum child_kind { CHILD_FILE_READER };
enum { FILE_READERS = 4, OWNERS_MAX = 32 };

struct reader_child {
	pid_t pid; /* 0: none */
	int socket;
	int fd;        /* its file, of ours */
	uint64_t last; /* the number of its request */
	uint64_t busy_ns;
	uint64_t asked_ns;   /* boottime */
	uint64_t delayed_ns; /* how long it had waited for a CPU by then */
};

struct file_owner {
	uint32_t uid, penalty_s;
	uint64_t until_ns; /* boottime; 0: free */
};

struct reader {
	struct fork_server forks;
	struct reader_setup setup;
	struct reader_child files[FILE_READERS];
	struct file_owner owners[OWNERS_MAX];
	struct time_share time; /* each is read while all others wait */
	struct reader_counts counts;
	uint64_t asked;
	void (*meanwhile)(void *arg); /* NULL: nothing */
	void *meanwhile_arg;
};

/* ---- owners ---------------------------------------------------------------------- */

static bool has_had_time(struct reader *r, uint32_t uid)
{
	bool is = time_share_is_over(&r->time, uid, clock_boottime_ns());

	r->counts.refused += is;
	return is;
}

static bool must_wait(struct reader *r, uint32_t uid)
{
	if (has_had_time(r, uid))
		return true;
	for (int i = 0; i < OWNERS_MAX; i++) {
		const struct file_owner *o = &r->owners[i];
		if (o->uid == uid && o->until_ns > clock_boottime_ns()) {
			r->counts.refused++;
			return true;
		}
	}
	return false;
}

/* A minute at first, then twice as long each time */
static void punish_owner(struct reader *r, uint32_t uid)
{
	struct file_owner *o = &r->owners[0];

	for (int i = 0; i < OWNERS_MAX; i++) {
		struct file_owner *p = &r->owners[i];
		if (p->until_ns && p->uid == uid) {
			o = p;
			break;
		}
		if (p->until_ns < o->until_ns)
			o = p;
	}
	if (o->uid != uid)
		*o = (struct file_owner){.uid = uid};
	o->penalty_s = o->penalty_s ? o->penalty_s * 2 : 60;
	if (o->penalty_s > PENALTY_S_MAX)
		o->penalty_s = PENALTY_S_MAX;
	o->until_ns = clock_boottime_ns() + o->penalty_s * NSEC_PER_SEC;
}

/* ---- children -------------------------------------------------------------------- */

static void drop_child(struct reader *r, struct reader_child *c)
{
	if (!c->pid)
		return;
	close(c->socket);
	fork_server_kill(&r->forks, c->pid);
	*c = (struct reader_child){0};
}

static int start_child(struct reader *r, struct reader_child *c, enum child_kind kind)
{
	pid_t pid = 0;
	int socket = fork_server_spawn(&r->forks, kind, &pid);

	if (socket < 0)
		return socket;
	*c = (struct reader_child){.pid = pid, .socket = socket, .fd = -1};
	return 0;
}

/* -EMSGSIZE: longer than any answer */
static ssize_t receive_answer(const struct reader_child *c, void *data, size_t size)
{
	ssize_t n = recv(c->socket, data, size, MSG_DONTWAIT | MSG_TRUNC);

	return n < 0 ? -errno : (size_t)n > size ? -EMSGSIZE : n;
}

static bool is_late(const struct reader_child *c)
{
	uint64_t took = clamp_minus(clock_boottime_ns(), c->asked_ns);

	if (took < DEADLINE_NS || took >= LATEST_NS)
		return took >= LATEST_NS;
	uint64_t delay = clamp_minus(cpu_delay_ns(c->pid), c->delayed_ns);
	return clamp_minus(took, delay) >= DEADLINE_NS;
}

static ssize_t await_answer(const struct reader *r, const struct reader_child *c,
			    void *data, size_t size)
{
	struct pollfd p = {.fd = c->socket, .events = POLLIN};

	for (;;) {
		int n = poll(&p, 1, MEANWHILE_MS);
		if (n == 0 && is_late(c))
			return -ETIMEDOUT;
		if (n == 0 && r->meanwhile)
			r->meanwhile(r->meanwhile_arg);
		if (n == 0 || (n < 0 && errno == EINTR))
			continue;
		ssize_t got = n < 0 ? -errno : receive_answer(c, data, size);
		return got == 0 ? -EPIPE : got;
	}
}

/* The child is replaced, and whose file it was waits. */
static int lose_child(struct reader *r, struct reader_child *c, uint32_t uid, int rc)
{
	if (rc == -ETIMEDOUT)
		r->counts.late++;
	else
		r->counts.died++;
	drop_child(r, c);
	punish_owner(r, uid);
	return rc;
}

/* ---- file readers ---------------------------------------------------------------- */

/* The one that has the file, else a new one in place of the one asked longest ago */
static int find_reader(struct reader *r, int fd, struct reader_child **ret)
{
	struct reader_child *c = &r->files[0];

	for (int i = 0; i < FILE_READERS; i++) {
		struct reader_child *o = &r->files[i];
		if (o->pid && o->fd == fd) {
			*ret = o;
			return 0;
		}
		if (o->last < c->last)
			c = o;
	}
	drop_child(r, c);
	int rc = start_child(r, c, CHILD_FILE_READER);
	if (rc == 0)
		rc = fd_pass_send(c->socket, "", 1, &fd, 1, 0);
	if (rc < 0) {
		drop_child(r, c);
		return rc;
	}
	c->fd = fd;
	*ret = c;
	return 0;
}

void reader_forget_file(struct reader *r, int fd)
{
	for (int i = 0; r && i < FILE_READERS; i++) {
		if (r->files[i].pid && r->files[i].fd == fd)
			drop_child(r, &r->files[i]);
	}
}

static int ask_reader(struct reader *r, int fd, uint32_t uid,
		      const struct reader_request *q, struct reader_child **ret)
{
	int rc = find_reader(r, fd, ret);

	if (rc < 0)
		return rc;
	(*ret)->last = ++r->asked;
	(*ret)->asked_ns = clock_boottime_ns();
	(*ret)->delayed_ns = cpu_delay_ns((*ret)->pid);
	rc = fd_pass_send((*ret)->socket, q, sizeof(*q), NULL, 0, 0);
	return rc < 0 ? lose_child(r, *ret, uid, rc) : 0;
}

static int receive_rows(const struct reader *r, const struct reader_child *c,
			uint32_t count, struct unwind_row *rows)
{
	uint32_t got = 0;

	while (got < count) {
		uint32_t most =
			count - got < READER_ROWS_MAX ? count - got : READER_ROWS_MAX;
		ssize_t n = await_answer(r, c, rows + got, most * sizeof(*rows));
		if (n < 0)
			return (int)n;
		if (n == 0 || (size_t)n % sizeof(*rows))
			return -EPROTO;
		got += (uint32_t)((size_t)n / sizeof(*rows));
	}
	return 0;
}

static int read_table(struct reader *r, int fd, uint32_t uid, size_t most,
		      struct unwind_row *rows, struct reader_table *ret)
{
	const struct reader_request q = {.ask = READER_TABLE,
					 .rows_most = (uint32_t)most};
	struct reader_child *c = NULL;

	int rc = ask_reader(r, fd, uid, &q, &c);
	if (rc < 0)
		return rc;
	ssize_t n = await_answer(r, c, ret, sizeof(*ret));
	if (n >= 0 && (n != sizeof(*ret) || ret->rows > most ||
		       ret->segment_count > ELF_SEGMENTS_MAX))
		n = -EPROTO;
	if (n >= 0)
		n = receive_rows(r, c, ret->rows, rows);
	if (n < 0)
		return lose_child(r, c, uid, (int)n);
	return ret->status < 0 ? ret->status : 0;
}

int reader_read_table(struct reader *r, int fd, uint32_t uid, size_t most,
		      struct unwind_row *rows, struct reader_table *ret)
{
	uint64_t begin_ns = clock_boottime_ns();

	if (must_wait(r, uid))
		return -EBUSY;
	int rc = read_table(r, fd, uid, most, rows, ret);
	time_share_charge(&r->time, uid, begin_ns, clock_boottime_ns());
	return rc;
}

static bool names_good(const struct reader_names *a, size_t len)
{
	uint32_t ends = 0;

	if (len < offsetof(struct reader_names, text) ||
	    len != offsetof(struct reader_names, text) + a->len ||
	    a->count > READER_NAMES_MAX)
		return false;
	for (uint32_t i = 0; i < a->len; i++)
		ends += a->text[i] == '\0';
	return ends == a->count && (!a->len || a->text[a->len - 1] == '\0');
}

static int await_names(struct reader *r, int fd, uint32_t uid, enum reader_ask ask,
		       uint64_t address, struct reader_names *ret)
{
	const struct reader_request q = {.ask = ask, .address = address};
	struct reader_child *c = NULL;

	int rc = ask_reader(r, fd, uid, &q, &c);
	if (rc < 0)
		return rc;
	ssize_t n = await_answer(r, c, ret, sizeof(*ret));
	if (n >= 0 && !names_good(ret, (size_t)n))
		n = -EPROTO;
	if (n < 0) {
		ret->count = 0;
		return lose_child(r, c, uid, (int)n);
	}
	c->busy_ns += clock_boottime_ns() - c->asked_ns;
	if (c->busy_ns > RETIRE_NS)
		drop_child(r, c);
	return 0;
}

static int ask_names(struct reader *r, int fd, uint32_t uid, enum reader_ask ask,
		     uint64_t address, struct reader_names *ret)
{
	uint64_t begin_ns = clock_boottime_ns();

	ret->count = 0;
	if (has_had_time(r, uid))
		return -EAGAIN;
	int rc = await_names(r, fd, uid, ask, address, ret);
	time_share_charge(&r->time, uid, begin_ns, clock_boottime_ns());
	return rc;
}

int reader_read_names(struct reader *r, int fd, uint32_t uid, uint64_t address,
		      struct reader_names *ret)
{
	return ask_names(r, fd, uid, READER_NAMES, address, ret);
}

int reader_read_local_names(struct reader *r, int fd, uint32_t uid, uint64_t address,
			    struct reader_names *ret)
{
	return ask_names(r, fd, uid, READER_LOCAL_NAMES, address, ret);
}

static bool is_debug_good(const struct reader_debug *a)
{
	return a->file == READER_DEBUG_NEEDLESS ||
	       (a->file < READER_DEBUG_FILES && a->id.len >= BUILD_ID_MIN &&
		a->id.len <= BUILD_ID_MAX);
}

static int read_debug(struct reader *r, int fd, uint32_t uid, struct reader_debug *ret)
{
	const struct reader_request q = {.ask = READER_DEBUG};
	struct reader_debug a;
	struct reader_child *c = NULL;

	int rc = ask_reader(r, fd, uid, &q, &c);
	if (rc < 0)
		return rc;
	ssize_t n = await_answer(r, c, &a, sizeof(a));
	if (n >= 0 && (n != sizeof(a) || !is_debug_good(&a)))
		n = -EPROTO;
	if (n < 0)
		return lose_child(r, c, uid, (int)n);
	*ret = a;
	return 0;
}

int reader_read_debug(struct reader *r, int fd, uint32_t uid, struct reader_debug *ret)
{
	uint64_t begin_ns = clock_boottime_ns();

	if (must_wait(r, uid))
		return -EBUSY;
	int rc = read_debug(r, fd, uid, ret);
	time_share_charge(&r->time, uid, begin_ns, clock_boottime_ns());
	return rc;
}

int reader_read_jit_name(struct reader *r, int fd, uint32_t uid, uint64_t address,
			 struct reader_names *ret)
{
	ret->count = 0;
	return must_wait(r, uid) ? -EBUSY
				 : ask_names(r, fd, uid, READER_JIT, address, ret);
}

/* ---- all ------------------------------------------------------------------------- */

int reader_start(const char *debug_folder, struct reader **ret, struct err *err)
{
	static fork_child *const mains[] = {
		[CHILD_FILE_READER] = file_reader_main,
	};
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->time.burst_ns = BURST_NS;
	int rc = privileges_choose("", true, &r->setup.user, err);
	int n = snprintf(r->setup.debug_folder, sizeof(r->setup.debug_folder), "%s",
			 debug_folder);
	if (rc == 0 && n >= (int)sizeof(r->setup.debug_folder))
		rc = err_set(err, -ENAMETOOLONG, "%s: path too long", debug_folder);
	if (rc == 0)
		rc = fork_server_start(mains, sizeof(mains) / sizeof(mains[0]),
				       &r->setup, &r->forks, err);
	if (rc < 0) {
		reader_end(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void reader_set_meanwhile(struct reader *r, void (*meanwhile)(void *arg), void *arg)
{
	r->meanwhile = meanwhile;
	r->meanwhile_arg = arg;
}

void reader_end(struct reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < FILE_READERS; i++)
		drop_child(r, &r->files[i]);
	fork_server_end(&r->forks);
	free(r);
}

struct reader_counts reader_get_counts(const struct reader *r)
{
	return r->counts;
}
