/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring between the plugins in Slurm and the daemon: see ring.h for the protocol and
 * doc/ring.md for the reasons. Nothing read from the mapping is ever used as a bound:
 * it may be garbage, and a plugin must survive that. */
#include "lib/records/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/boot.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/fs.h"
#include "lib/records/ring_word.h"

/* Each failed try means that another producer succeeded; so many in a row mean that the
 * mapping is garbage. */
#define PUBLISH_TRIES 256
#define OPEN_TRIES 8

static uint64_t load_word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store_word(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static bool swap_word(uint64_t *p, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void count_one(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static struct ring_slot *slot_at(const struct ring *r, uint64_t pos)
{
	return &r->slots[pos & (r->count - 1)];
}

/* ---- checks shared by producers and the consumer --------------------------------- */

/* The pid namespace of the process with that pid: it does not change in a process'
 * life, but looking it up costs a hook more than the record itself. A child made after
 * unshare() is in another one, and has another pid. */
static uint64_t known_pid_and_ns;

static uint32_t pidns_of_own(pid_t self)
{
	struct stat st;
	uint64_t pid = (uint64_t)self;
	uint64_t have = __atomic_load_n(&known_pid_and_ns, __ATOMIC_RELAXED);

	if (have >> 32 == pid)
		return (uint32_t)have;
	if (stat("/proc/self/ns/pid", &st) < 0)
		return 0;
	__atomic_store_n(&known_pid_and_ns, pid << 32 | (uint32_t)st.st_ino,
			 __ATOMIC_RELAXED);
	return (uint32_t)st.st_ino;
}

static bool valid_slots(uint32_t slots)
{
	return slots >= RING_SLOTS_MIN && slots <= RING_SLOTS_MAX &&
	       !(slots & (slots - 1));
}

static size_t ring_file_bytes(uint32_t slots)
{
	return RING_HEADER_BYTES + (size_t)slots * RING_SLOT_BYTES;
}

static int check_ring_format(const struct ring_header *h, const char *path,
			     struct err *err)
{
	if (memcmp(h->magic, RING_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, -EBADF, "%s: not a ring (magic)", path);
	if (h->version != RING_VERSION)
		return err_set(err, -EPROTO, "%s: ring version %u, this program has %u",
			       path, h->version, RING_VERSION);
	if (h->slot_bytes != RING_SLOT_BYTES || !valid_slots(h->slots))
		return err_set(err, -EBADF, "%s: ring of %u slots of %u bytes", path,
			       h->slots, h->slot_bytes);
	return 0;
}

/* Checks that an fd is a ring that may be mapped, except for the pid namespace. The
 * header is read, not mapped, because touching a short file is SIGBUS. */
static int check_ring_file(int fd, const char *path, uid_t owner,
			   struct ring_header *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "stat %s: %s", path, strerror(errno));
	if (st.st_nlink == 2) /* its spare name */
		st.st_nlink = 1;
	int rc = fs_check_trusted_stat(&st, path, owner, 0600, err);
	if (rc < 0)
		return rc;
	if ((st.st_mode & 07777) != 0600)
		return err_set(err, -EPERM, "%s: mode %04o, refused (chmod 0600)", path,
			       st.st_mode & 07777);
	ssize_t n = pread(fd, ret, sizeof(*ret), 0);
	if (n != (ssize_t)sizeof(*ret))
		return err_set(err, -EBADF, "%s: shorter than a ring header", path);
	rc = check_ring_format(ret, path, err);
	if (rc < 0)
		return rc;
	return boot_check_file(fd, &st, path, ring_file_bytes(ret->slots), ret->inode,
			       ret->boot_id, err);
}

static int map_ring(int fd, const char *path, uint32_t slots, int prot, int flags,
		    pid_t self, struct ring *ret, struct err *err)
{
	size_t bytes = ring_file_bytes(slots);
	void *p = mmap(NULL, bytes, prot, MAP_SHARED | flags, fd, 0);

	if (p == MAP_FAILED) {
		int rc = -errno;
		return err_set(err, rc, "map %s: %s", path, strerror(-rc));
	}
	/* A child of slurmstepd or of the daemon is a job or a helper, and must not see
	 * the ring. */
	if (madvise(p, bytes, MADV_DONTFORK) < 0) {
		int rc = -errno;
		munmap(p, bytes);
		return err_set(err, rc, "map %s: %s", path, strerror(-rc));
	}
	*ret = (struct ring){
		.header = p,
		.slots = (struct ring_slot *)((char *)p + RING_HEADER_BYTES),
		.count = slots,
		.pid = (uint32_t)self,
		.bytes = bytes,
		.fd = -1,
	};
	return 0;
}

static int spare_name(const char *path, char ret[FS_NEW_BYTES], struct err *err)
{
	int n = snprintf(ret, FS_NEW_BYTES, "%s%s", path, RING_SPARE);

	if (n < 0 || n >= FS_NEW_BYTES)
		return err_set(err, -ENAMETOOLONG, "%s: path too long", path);
	return 0;
}

/* ---- producers ------------------------------------------------------------------- */

/* The few errors that a hook can use; see ring.h. */
static int attach_errno(int rc)
{
	switch (rc) {
	case -ENOENT:
		return rc;
	case -EACCES:
	case -EPERM:
	case -ELOOP: /* a symbolic link */
	case -EISDIR:
	case -ENXIO: /* a socket */
		return -EPERM;
	default:
		return -EBADF;
	}
}

static int open_and_check(const char *path, uid_t owner, int flags,
			  struct ring_header *ret, struct err *err)
{
	/* O_NONBLOCK: a FIFO in its place must not hold up a job */
	auto_close int fd =
		open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, attach_errno(rc), "open %s: %s", path,
			       strerror(-rc));
	}
	int rc = check_ring_file(fd, path, owner, ret, err);
	return rc < 0 ? rc : steal_fd(&fd);
}

int ring_attach(const char *path, uid_t owner, struct ring *ret, struct err *err)
{
	struct ring_header h;
	pid_t self = getpid();

	auto_close int fd = open_and_check(path, owner, O_RDWR, &h, err);
	if (fd < 0)
		return fd;
	if (h.pidns && h.pidns != pidns_of_own(self))
		return err_set(err, -EBADF, "%s: belongs to another pid namespace",
			       path);
	int rc = map_ring(fd, path, h.slots, PROT_READ | PROT_WRITE, 0, self, ret, err);
	return rc < 0 ? -EBADF : 0;
}

int ring_attach_readonly(const char *path, uid_t owner, struct ring *ret,
			 struct err *err)
{
	struct ring_header h;

	auto_close int fd = open_and_check(path, owner, O_RDONLY, &h, err);
	if (fd < 0)
		return fd;
	int rc = map_ring(fd, path, h.slots, PROT_READ, 0, getpid(), ret, err);
	return rc < 0 ? -EBADF : 0;
}

void ring_detach(struct ring *r)
{
	if (!r || !r->header)
		return;
	/* After a fork the child has no mapping (MADV_DONTFORK), and something else may
	 * be in its place. */
	if (r->pid == (uint32_t)getpid())
		munmap(r->header, r->bytes);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct ring){.fd = -1};
}

/* Takes the slot at head. Returns its new word, or 0 if the ring is full. */
static uint64_t reserve_slot(struct ring *r, uint64_t *ret_pos)
{
	struct timespec ts;

	/* before the reservation: a process with this pid that started after this
	 * second is another one */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	for (int i = 0; i < PUBLISH_TRIES; i++) {
		uint64_t pos = load_word(&r->header->head);
		uint64_t *slot = &slot_at(r, pos)->word;
		uint64_t word = load_word(slot);
		uint32_t lap = ring_lap_of(pos, r->count);
		int32_t ahead = ring_lap_diff(ring_word_lap(word), lap);

		if (ahead < 0)
			return 0; /* still has the record of the previous lap */
		if (ahead == 0 && ring_word_state(word) == RING_FREE) {
			uint64_t mine = ring_word(lap, RING_RESERVED, r->pid,
						  (uint32_t)ts.tv_sec);
			if (!swap_word(slot, word, mine))
				continue;
			swap_word(&r->header->head, pos, pos + 1);
			*ret_pos = pos;
			return mine;
		}
		/* Taken in this lap, or consumed already: its producer has not moved
		 * head yet and may never do so. */
		swap_word(&r->header->head, pos, pos + 1);
	}
	return 0;
}

int ring_publish(struct ring *r, const void *record, size_t len)
{
	uint64_t pos;

	if (len > RING_RECORD_MAX)
		return -EMSGSIZE;
	uint64_t word = reserve_slot(r, &pos);
	if (!word) {
		count_one(&r->header->dropped);
		return -ENOBUFS;
	}
	struct ring_slot *slot = slot_at(r, pos);
	slot->len = (uint32_t)len;
	slot->crc = crc32c(0, record, len);
	memcpy(slot->data, record, len);
	if (!swap_word(&slot->word, word, ring_word_to(word, RING_PUBLISHED))) {
		count_one(&r->header->torn);
		return -ESTALE;
	}
	return 0;
}

/* The first read of a file's page maps its sixteen neighbours too, and unmapping them
 * costs more than half of what sending one record costs. A first write maps only that
 * page. The swap never changes the value. */
static void touch_ring_page(uint64_t *p)
{
	swap_word(p, 0, 0);
}

/* Errors are about path: the spare name is only used until ceemsd notices. */
static int attach_either(const char *path, uid_t owner, struct ring *ret,
			 struct err *err)
{
	char spare[FS_NEW_BYTES];
	int rc = ring_attach(path, owner, ret, err);

	if (rc < 0 && spare_name(path, spare, NULL) == 0 &&
	    ring_attach(spare, owner, ret, NULL) == 0)
		return 0;
	return rc;
}

int ring_send(const char *path, uid_t owner, const void *record, size_t len,
	      struct err *err)
{
	struct ring r;
	int rc = attach_either(path, owner, &r, err);

	if (rc < 0)
		return rc;
	touch_ring_page(&r.header->torn);
	touch_ring_page(&slot_at(&r, load_word(&r.header->head))->word);
	rc = ring_publish(&r, record, len);
	munmap(r.header, r.bytes);
	return rc < 0 ? err_set(err, rc, "%s: %s", path,
				rc == -ENOBUFS  ? "full, record dropped"
				: rc == -ESTALE ? "slot taken away, record lost"
						: "record too long")
		      : 0;
}

/* ---- the consumer ---------------------------------------------------------------- */

bool ring_is_sound(const struct ring *r)
{
	uint64_t head = load_word(&r->header->head); /* before the slot: see below */
	uint64_t tail = load_word(&r->header->tail);
	uint64_t word = load_word(&slot_at(r, tail)->word);

	/* head may be one behind (a producer died before moving it), and the slot at
	 * tail may be free already (a consumer died before moving tail) */
	if (head + 1 - tail > (uint64_t)r->count + 2)
		return false;
	/* head passes only slots that were taken, and only the consumer frees those,
	 * for the next lap */
	return head + 1 - tail <= 1 || ring_word_state(word) != RING_FREE ||
	       ring_word_lap(word) != ring_lap_of(tail, r->count);
}

/* The same for all slots; a ring that is inconsistent would jam or lose records, so it
 * is not taken over. */
static bool is_consistent(const struct ring *r)
{
	uint64_t tail = load_word(&r->header->tail);

	if (!ring_is_sound(r))
		return false;
	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t pos = tail + i;
		uint64_t word = load_word(&slot_at(r, pos)->word);
		int32_t ahead =
			ring_lap_diff(ring_word_lap(word), ring_lap_of(pos, r->count));
		if (ring_word_state(word) > RING_PUBLISHED)
			return false;
		if (ahead != 0 && !(ahead == 1 && i == 0))
			return false;
	}
	return true;
}

static int lock_file(int fd, const char *path, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	return err_set(err, rc, "lock %s: %s", path,
		       rc == -EBUSY ? "in use by another consumer" : strerror(-rc));
}

/* Opens and locks what is at path now. The fd, -ENOENT, -EBUSY, -EAGAIN (replaced
 * meanwhile), or another errno when it cannot be a ring. */
static int open_existing(const char *path, struct err *err)
{
	struct stat by_fd, by_path;

	auto_close int fd =
		open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "open %s: %s", path, strerror(-rc));
	}
	int rc = lock_file(fd, path, err);
	if (rc < 0)
		return rc;
	if (fstat(fd, &by_fd) < 0 || lstat(path, &by_path) < 0 ||
	    by_fd.st_ino != by_path.st_ino || by_fd.st_dev != by_path.st_dev)
		return err_set(err, -EAGAIN, "%s: replaced while opening it", path);
	return steal_fd(&fd);
}

static int take_over_ring(int fd, const char *path, uint32_t slots, struct ring *ret,
			  struct err *err)
{
	struct ring_header h;
	struct ring r;

	int rc = check_ring_file(fd, path, geteuid(), &h, err);
	if (rc < 0)
		return rc;
	if (h.slots != slots)
		return err_set(err, -EBADF, "%s: has %u slots, wanted %u", path,
			       h.slots, slots);
	rc = map_ring(fd, path, slots, PROT_READ | PROT_WRITE, MAP_POPULATE, getpid(),
		      &r, err);
	if (rc < 0)
		return rc;
	if (!is_consistent(&r)) {
		ring_detach(&r);
		return err_set(err, -EBADF, "%s: inconsistent slots", path);
	}
	__atomic_store_n(&r.header->pidns, pidns_of_own(getpid()), __ATOMIC_RELEASE);
	*ret = r;
	return 0;
}

static int fill_new_ring(int fd, const char *path, uint32_t slots, struct ring *ret,
			 struct err *err)
{
	struct stat st;
	struct ring r;
	struct ring_header h = {
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.slot_bytes = RING_SLOT_BYTES,
		.slots = slots,
		.pidns = pidns_of_own(getpid()),
		.created_ns = clock_realtime_ns(),
		.heartbeat_ns = clock_boottime_ns(),
	};

	int rc = boot_id(h.boot_id, err);
	if (rc < 0)
		return rc;
	/* the umask may have removed bits */
	if (fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "create %s: %s", path, strerror(errno));
	h.inode = (uint64_t)st.st_ino;
	/* Not ftruncate: on a full tmpfs a sparse ring would be SIGBUS in slurmstepd */
	rc = -posix_fallocate(fd, 0, (off_t)ring_file_bytes(slots));
	if (rc < 0)
		return err_set(err, rc, "allocate %zu bytes for %s: %s",
			       ring_file_bytes(slots), path, strerror(-rc));
	rc = map_ring(fd, path, slots, PROT_READ | PROT_WRITE, MAP_POPULATE, getpid(),
		      &r, err);
	if (rc < 0)
		return rc;
	/* Touch every page here: whoever does it first is charged for it, which must
	 * not be a job. All zeros is lap 0, free. */
	memset(r.header, 0, r.bytes);
	memcpy(r.header, &h, sizeof(h));
	*ret = r;
	return 0;
}

static int make_new_ring(const char *path, uint32_t slots, struct ring *ret,
			 struct err *err)
{
	char tmp[FS_NEW_BYTES];

	auto_close int fd = fs_create_new_at(AT_FDCWD, path, 0600, tmp, err);
	if (fd < 0)
		return fd;
	struct ring r = {.fd = -1};
	/* locked before it is visible under its name */
	int rc = lock_file(fd, tmp, err);
	if (rc == 0)
		rc = fill_new_ring(fd, tmp, slots, &r, err);
	if (rc == 0 && rename(tmp, path) < 0) {
		rc = -errno;
		err_set(err, rc, "rename %s to %s: %s", tmp, path, strerror(-rc));
	}
	if (rc < 0) {
		ring_detach(&r);
		unlink(tmp);
		return rc;
	}
	r.fd = steal_fd(&fd);
	*ret = r;
	return 0;
}

/* Gives the file at `from` a second name, replacing whatever has it. */
static int name_also(const char *from, const char *to, struct err *err)
{
	char tmp[FS_NEW_BYTES];
	int n = snprintf(tmp, sizeof(tmp), "%s.new", to);

	if (n < 0 || n >= FS_NEW_BYTES)
		return err_set(err, -ENAMETOOLONG, "%s: path too long", to);
	unlink(tmp);
	if (link(from, tmp) == 0 && rename(tmp, to) == 0)
		return 0;
	int rc = -errno;
	unlink(tmp);
	return err_set(err, rc, "link %s to %s: %s", from, to, strerror(-rc));
}

/* Fails soft: without it, records are lost if the ring loses its name, until that is
 * noticed. */
static void keep_spare(struct ring *r, const char *path, const char *spare)
{
	struct stat st;

	if (!ring_in_place(r, spare))
		name_also(path, spare, NULL);
	if (fstat(r->fd, &st) == 0)
		r->links = (uint32_t)st.st_nlink;
}

/* Takes a ring that has lost the name path: it has the records sent meanwhile. */
static int take_spare(const char *path, const char *spare, uint32_t slots,
		      struct ring *ret)
{
	struct stat st;

	/* with a second link it is path, whose ring is invalid, or not ours */
	if (lstat(spare, &st) < 0 || st.st_nlink != 1)
		return -EBADF;
	auto_close int fd = open_existing(spare, NULL);
	if (fd < 0)
		return fd;
	int rc = take_over_ring(fd, spare, slots, ret, NULL);
	if (rc < 0)
		return rc;
	rc = name_also(spare, path, NULL);
	if (rc < 0) {
		ring_detach(ret);
		return rc;
	}
	ret->fd = steal_fd(&fd);
	return 0;
}

/* Prevents two consumers from creating a ring at the same time. */
static int lock_folder(const char *path, struct err *err)
{
	char folder[4096];
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (len >= sizeof(folder) - 1)
		return err_set(err, -ENAMETOOLONG, "%s: path too long", path);
	if (!slash)
		folder[len++] = '.';
	else if (!len)
		folder[len++] = '/';
	else
		memcpy(folder, path, len);
	folder[len] = '\0';
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int rc = -errno;
		return err_set(err, rc, "open %s: %s", folder, strerror(-rc));
	}
	int rc = lock_file(fd, folder, err);
	return rc < 0 ? rc : steal_fd(&fd);
}

/* The ring at path, else at the spare name, else a new one. */
static int take_or_make(const char *path, const char *spare, uint32_t slots,
			struct ring *ret, bool *ret_made_new, struct err *err)
{
	/* The lock on the old file is held until the new one has replaced it. */
	auto_close int old = -EAGAIN;
	for (int i = 0; i < OPEN_TRIES && old == -EAGAIN; i++)
		old = open_existing(path, err);
	if (old == -EBUSY || old == -EAGAIN)
		return -EBUSY;
	if (old == -ENOENT && err)
		err->text[0] = '\0';
	*ret_made_new = false;
	if (old >= 0 && take_over_ring(old, path, slots, ret, err) == 0) {
		ret->fd = steal_fd(&old);
		return 0;
	}
	int rc = take_spare(path, spare, slots, ret);
	if (rc == -EBUSY)
		return err_set(err, rc, "%s: in use by another consumer", spare);
	if (rc == 0)
		return 0;
	struct err failed;
	rc = make_new_ring(path, slots, ret, &failed);
	if (rc < 0)
		return err_set(err, rc, "%s", failed.text);
	*ret_made_new = true;
	return 0;
}

int ring_consumer_open(const char *path, uint32_t slots, struct ring *ret,
		       bool *ret_made_new, struct err *err)
{
	char spare[FS_NEW_BYTES];

	if (err)
		err->text[0] = '\0';
	if (!valid_slots(slots))
		return err_set(err, -EINVAL, "%u: not a power of two from %u to %u",
			       slots, RING_SLOTS_MIN, RING_SLOTS_MAX);
	int rc = spare_name(path, spare, err);
	if (rc < 0)
		return rc;
	auto_close int folder = lock_folder(path, err);
	if (folder < 0)
		return folder;
	rc = take_or_make(path, spare, slots, ret, ret_made_new, err);
	if (rc == 0)
		keep_spare(ret, path, spare);
	return rc;
}

bool ring_in_place(const struct ring *r, const char *path)
{
	struct stat by_fd, by_path;

	if (fstat(r->fd, &by_fd) < 0 || by_fd.st_nlink == 0 ||
	    by_fd.st_nlink < r->links)
		return false;
	if (lstat(path, &by_path) < 0) /* without permission nothing is known */
		return errno != ENOENT && errno != ENOTDIR;
	return by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

void ring_consumer_close(struct ring *r)
{
	ring_detach(r);
}

static void store_heartbeat(struct ring *r)
{
	__atomic_store_n(&r->header->heartbeat_ns, clock_boottime_ns(),
			 __ATOMIC_RELAXED);
}

uint64_t ring_heartbeat_ns(const struct ring *r)
{
	return __atomic_load_n(&r->header->heartbeat_ns, __ATOMIC_RELAXED);
}

uint32_t ring_armed(const struct ring *r)
{
	return __atomic_load_n(&r->header->armed, __ATOMIC_ACQUIRE);
}

void ring_set_armed(struct ring *r, uint32_t armed)
{
	armed |= RING_ARMED_SAID;
	if (ring_armed(r) != armed)
		__atomic_store_n(&r->header->armed, armed, __ATOMIC_RELEASE);
}

uint64_t ring_head(const struct ring *r)
{
	return __atomic_load_n(&r->header->head, __ATOMIC_ACQUIRE);
}

bool ring_is_profiled(const struct ring *r, uint64_t pos)
{
	return !(ring_armed(r) & RING_ARMED_PROFILES) ||
	       __atomic_load_n(&r->header->profiled_until, __ATOMIC_ACQUIRE) >= pos;
}

void ring_set_profiled(struct ring *r)
{
	uint64_t tail = __atomic_load_n(&r->header->tail, __ATOMIC_RELAXED);

	if (__atomic_load_n(&r->header->profiled_until, __ATOMIC_RELAXED) != tail)
		__atomic_store_n(&r->header->profiled_until, tail, __ATOMIC_RELEASE);
}

/* Hands the slot to the next lap, then moves tail: if a consumer dies in between, its
 * successor finds a newer lap at tail and moves on; the other way round the slot would
 * be jammed for ever. Swapped, not stored: a producer may publish just before it is
 * found gone, and the slot may be taken again as soon as it is free. */
static bool free_slot(struct ring *r, uint64_t pos, uint64_t word, uint32_t mark)
{
	uint32_t next = ring_lap_of(pos, r->count) + 1;

	if (!swap_word(&slot_at(r, pos)->word, word,
		       ring_word(next, RING_FREE, 0, mark)))
		return false;
	store_word(&r->header->tail, pos + 1);
	return true;
}

static int take_nothing(struct ring *r)
{
	store_heartbeat(r);
	return 0;
}

/* 2, or 0 to look again */
static int skip_torn_slot(struct ring *r, uint64_t pos, uint64_t word,
			  uint64_t *ret_pos)
{
	if (!free_slot(r, pos, word, RING_MARK_HOLE))
		return 0;
	count_one(&r->header->torn);
	*ret_pos = pos;
	return 2;
}

/* Copies a published record: 1, or 0 when it is damaged. */
static int copy_slot_record(const struct ring_slot *slot, void *buf, size_t *ret_len)
{
	uint32_t len = slot->len, crc = slot->crc;

	if (len > RING_RECORD_MAX)
		return 0;
	/* the copy is checked, so it cannot change afterwards */
	memcpy(buf, slot->data, len);
	if (crc32c(0, buf, len) != crc)
		return 0;
	*ret_len = len;
	return 1;
}

int ring_peek(struct ring *r, void *buf, size_t *ret_len, uint64_t *ret_pos)
{
	uint64_t pos = load_word(&r->header->tail);

	/* a sound ring needs at most three rounds, one full of garbage this many */
	for (uint32_t i = 0; i < r->count; i++) {
		struct ring_slot *slot = slot_at(r, pos);
		uint64_t word = load_word(&slot->word);
		unsigned state = ring_word_state(word);
		int32_t ahead =
			ring_lap_diff(ring_word_lap(word), ring_lap_of(pos, r->count));

		if (ahead > 0) { /* freed by a consumer that died before moving tail */
			store_word(&r->header->tail, ++pos);
			continue;
		}
		if (ahead == 0 && state == RING_FREE)
			return take_nothing(r);
		if (ahead == 0 && state == RING_RESERVED &&
		    !ring_producer_gone(ring_word_pid(word), ring_word_second(word)))
			return take_nothing(r);
		if (ahead == 0 && state == RING_PUBLISHED &&
		    copy_slot_record(slot, buf, ret_len)) {
			if (!(pos & 0xff))
				store_heartbeat(r);
			*ret_pos = pos;
			return 1;
		}
		/* its producer is gone, its bytes are damaged, or the word is
		 * garbage */
		if (skip_torn_slot(r, pos, word, ret_pos))
			return 2;
	}
	return take_nothing(r);
}

void ring_release(struct ring *r, uint64_t pos)
{
	if (pos != load_word(&r->header->tail))
		return;
	uint64_t word = load_word(&slot_at(r, pos)->word);
	bool ours = ring_word_state(word) == RING_PUBLISHED &&
		    ring_word_lap(word) == ring_lap_of(pos, r->count);
	if (!ours || !free_slot(r, pos, word, RING_MARK_RELEASED))
		store_word(&r->header->tail, pos + 1); /* overwritten: move on */
}

bool ring_recall(const struct ring *r, uint64_t pos, void *buf, size_t *ret_len)
{
	const struct ring_slot *slot = slot_at(r, pos);
	uint64_t released = ring_word(ring_lap_of(pos, r->count) + 1, RING_FREE, 0,
				      RING_MARK_RELEASED);

	if (load_word(&slot->word) != released || !copy_slot_record(slot, buf, ret_len))
		return false;
	/* what was copied is this record, and not the next one's */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->word, __ATOMIC_RELAXED) == released;
}
