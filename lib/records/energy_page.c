/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the energy page: see energy_page.h. The file is never trusted: values are
 * compared, bounded or copied, so any bytes give a row or an error. */
#include "lib/records/energy_page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/boot.h"
#include "lib/clamp.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/records/energy_page_file.h"

/* Each failed try means that the writer made two ticks within a few microseconds. */
#define READ_TRIES 8
/* Rows read at once at the end of a search */
#define RUN 16u

/* ---- opening --------------------------------------------------------------------- */

static int check_page_format(const struct energy_page_header *h, const char *path,
			     struct err *err)
{
	if (memcmp(h->magic, ENERGY_PAGE_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, -EBADF, "%s: not an energy page (magic)", path);
	if (h->version != ENERGY_PAGE_VERSION)
		return err_set(err, -EPROTO,
			       "%s: energy page version %u, this program has %u", path,
			       h->version, ENERGY_PAGE_VERSION);
	if (h->half_bytes != sizeof(struct energy_page_half) ||
	    h->row_bytes != sizeof(struct energy_page_row) ||
	    h->capacity < ENERGY_PAGE_ROWS_MIN || h->capacity > ENERGY_PAGE_ROWS_MAX)
		return err_set(err, -EBADF, "%s: energy page of %u rows of %u bytes",
			       path, h->capacity, h->row_bytes);
	return 0;
}

int energy_page_check(int fd, const char *path, struct energy_page_header *ret,
		      struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -EBADF, "stat %s: %s", path, strerror(errno));
	int rc = fs_check_trusted_stat(&st, path, st.st_uid, 0600, err);
	if (rc < 0)
		return rc;
	if ((st.st_mode & 07777) != 0600)
		return err_set(err, -EPERM, "%s: mode %04o, refused (chmod 0600)", path,
			       st.st_mode & 07777);
	if (pread(fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
		return err_set(err, -EBADF, "%s: shorter than an energy page's header",
			       path);
	rc = check_page_format(ret, path, err);
	if (rc < 0)
		return rc;
	return boot_check_file(fd, &st, path,
			       (uint64_t)energy_page_bytes(ret->capacity), ret->inode,
			       ret->boot_id, err);
}

static int open_errno(int rc)
{
	switch (rc) {
	case -ENOENT:
		return rc;
	case -EACCES:
	case -EPERM:
	case -ELOOP: /* a symbolic link */
	case -ENXIO: /* a socket */
		return -EPERM;
	default:
		return -EBADF;
	}
}

int energy_page_open(const char *path, struct energy_page *ret, struct err *err)
{
	struct energy_page_header h;

	/* O_NONBLOCK: a FIFO in its place must not hold up a job */
	auto_close int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, open_errno(rc), "open %s: %s", path, strerror(-rc));
	}
	int rc = energy_page_check(fd, path, &h, err);
	if (rc == 0)
		rc = fs_check_trusted_folder(path, fd, err);
	if (rc < 0)
		return rc;
	*ret = (struct energy_page){.fd = steal_fd(&fd), .capacity = h.capacity};
	return 0;
}

void energy_page_close(struct energy_page *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ---- one tick -------------------------------------------------------------------- */

static int read_at(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = pread(fd, buf, len, at);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -EBADF;
	/* What was read before is not read again after this. */
	__sync_synchronize();
	return n == (ssize_t)len ? 0 : -EBADF;
}

static int read_generation(int fd, off_t at, uint64_t *ret)
{
	return read_at(fd, ret, sizeof(*ret), at);
}

int energy_page_compare(const struct energy_page_row *a,
			const struct energy_page_row *b)
{
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->stepd_pid != b->stepd_pid)
		return a->stepd_pid < b->stepd_pid ? -1 : 1;
	return 0;
}

/* Binary search by pread, reading the last rows at once. While rows are being
 * overwritten their order is undefined, but the number of rounds is bounded. */
static int search_page_row(int fd, off_t rows_at, uint32_t n,
			   const struct energy_page_row *key,
			   struct energy_page_row *ret)
{
	struct energy_page_row run[RUN];
	uint32_t first = 0, end = n;

	while (end - first > RUN) {
		uint32_t mid = first + (end - first) / 2;
		int rc = read_at(fd, run, sizeof(run[0]),
				 rows_at + (off_t)(mid * sizeof(run[0])));
		if (rc < 0)
			return rc;
		if (energy_page_compare(key, &run[0]) < 0)
			end = mid;
		else
			first = mid;
	}
	if (first == end)
		return -ENOENT;
	int rc = read_at(fd, run, (end - first) * sizeof(run[0]),
			 rows_at + (off_t)(first * sizeof(run[0])));
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < end - first; i++) {
		if (energy_page_compare(key, &run[i]) == 0) {
			*ret = run[i];
			return 0;
		}
	}
	return -ENOENT;
}

/* -EAGAIN: the half was rewritten meanwhile. */
static int read_half(const struct energy_page *p, uint64_t generation,
		     const struct energy_page_row *key, struct energy_page_half *ret,
		     struct energy_page_row *ret_row)
{
	off_t at = energy_page_half_at(p->capacity, generation);
	uint64_t again;

	int rc = read_at(p->fd, ret, sizeof(*ret), at);
	if (rc < 0)
		return rc;
	if (ret->generation != generation)
		return -EAGAIN;
	int found = -ENOENT;
	if (ret_row && ret->rows <= p->capacity)
		found = search_page_row(p->fd, at + (off_t)sizeof(*ret), ret->rows, key,
					ret_row);
	rc = read_generation(p->fd, at, &again);
	if (rc < 0)
		return rc;
	if (again != generation)
		return -EAGAIN;
	return ret->rows > p->capacity ? -EBADF : found;
}

int energy_page_find(const struct energy_page *p, uint32_t job, uint32_t step,
		     uint32_t stepd_pid, struct energy_page_node *ret_node,
		     struct energy_page_row *ret_row)
{
	struct energy_page_row row;
	struct energy_page_row key = {.job = job, .step = step, .stepd_pid = stepd_pid};
	struct energy_page_half half;
	struct stat st;
	uint64_t generation;
	int rc = -EAGAIN;

	if (fstat(p->fd, &st) < 0)
		return -EBADF;
	if (st.st_nlink == 0)
		return -ESTALE;
	for (int i = 0; i < READ_TRIES && rc == -EAGAIN; i++) {
		rc = read_generation(p->fd,
				     offsetof(struct energy_page_header, generation),
				     &generation);
		if (rc < 0)
			continue;
		if (generation == 0)
			return -ENODATA;
		rc = read_half(p, generation, &key, &half, ret_row ? &row : NULL);
	}
	if (rc < 0 && rc != -ENOENT)
		return rc;
	*ret_node = half.node;
	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++)
		ret_node->source[d][ENERGY_PAGE_SOURCE_MAX - 1] = '\0';
	ret_node->emission_provider[ENERGY_PAGE_SOURCE_MAX - 1] = '\0';
	if (rc == 0)
		*ret_row = row;
	return ret_row ? rc : 0;
}

/* ---- from the tick to now -------------------------------------------------------- */

static uint64_t saturate_u64(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return saturate_u64((unsigned __int128)a + b);
}

/* microwatts (or microjoules per CPU-second) x ns */
static uint64_t energy_uj(uint64_t uw, uint64_t ns)
{
	return saturate_u64((unsigned __int128)uw * ns / NSEC_PER_SEC);
}

uint64_t energy_page_total(const struct energy_page_node *node,
			   const uint64_t values[ENERGY_PAGE_DOMAINS])
{
	uint64_t sum = 0;

	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++)
		if (node->total_mask >> d & 1)
			sum = add_saturated(sum, values[d]);
	return sum;
}

static bool is_node_dead(const struct energy_page_node *node, uint64_t now_ns)
{
	uint64_t age = clamp_minus(now_ns, node->tick_ns);

	return age > ENERGY_PAGE_DEAD_NS &&
	       age / ENERGY_PAGE_DEAD_INTERVALS > node->interval_ns;
}

int energy_page_estimate(const struct energy_page_node *node,
			 const struct energy_page_row *row,
			 const struct energy_page_now *now, uint64_t *ret_uj)
{
	uint64_t uj = row ? row->total_uj : 0;
	uint64_t since_ns = row ? node->tick_ns : now->started_ns;
	uint64_t cpu_ns = clamp_minus(now->cpu_ns, row ? row->cpu_ns : 0);
	uint64_t alloc = row && row->alloc_mcpu ? row->alloc_mcpu : now->alloc_mcpu;
	uint64_t time_ns = clamp_minus(now->boottime_ns, since_ns);

	*ret_uj = uj;
	if (row && (row->flags & ENERGY_PAGE_ENDED))
		return 0;
	if (is_node_dead(node, now->boottime_ns))
		return -ESTALE;
	if (now->has_cpu)
		uj = add_saturated(uj, energy_uj(node->dynamic_uj_per_cpu_s, cpu_ns));
	uint64_t idle_uw =
		saturate_u64((unsigned __int128)node->idle_uw_per_cpu * alloc / 1000);
	uj = add_saturated(uj, energy_uj(idle_uw, time_ns));
	if (row)
		uj = add_saturated(uj, energy_uj(row->extra_uw, time_ns));
	*ret_uj = uj;
	return 0;
}
