/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unit table's file is made, checked, recovered and mapped here, so that units.c
 * only needs whole transactions. */
#include "daemon/units_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/boot.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

#define MAGIC "CEEMSUNI"
#define VERSION 9u
/* Older versions are extended at open, see extend_file(). */
#define VERSION_NO_PROFILES 8u /* without struct unit_gpu_profile */
#define VERSION_NO_GPUS 7u     /* and without struct unit_gpu_use */
#define VERSION_NO_BEFORE 6u   /* and without struct unit_before */
#define VERSION_UNNAMED 5u     /* and without names of steps */
#define PAGE 4096u
#define CHUNK 64u /* slots allocated on disk at a time */
#define STEPS_PER_UNIT 4u

_Static_assert(sizeof(struct store_header) <= PAGE, "header fits its page");
_Static_assert(sizeof(struct store_log) == STORE_LOG_BYTES, "log");

/* ---- layout ---------------------------------------------------------------------- */

static size_t round_up_to_pages(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}
static size_t log_off(void)
{
	return PAGE;
}
static size_t tombstones_off(void)
{
	return log_off() + STORE_LOG_BYTES;
}
static size_t energy_off(void)
{
	return tombstones_off() +
	       round_up_to_pages(STORE_TOMBSTONES * sizeof(struct tombstone));
}
static size_t units_off(void)
{
	return energy_off() + round_up_to_pages(2 * sizeof(struct energy_state));
}
static size_t steps_off(uint32_t capacity)
{
	return units_off() + round_up_to_pages(capacity * sizeof(struct unit));
}
static size_t unit_energy_off(uint32_t capacity)
{
	return steps_off(capacity) +
	       round_up_to_pages((size_t)capacity * STEPS_PER_UNIT *
				 sizeof(struct step));
}
static size_t step_energy_off(uint32_t capacity)
{
	return unit_energy_off(capacity) +
	       round_up_to_pages(capacity * sizeof(struct unit_accounts));
}
static size_t reports_off(uint32_t capacity)
{
	return step_energy_off(capacity) +
	       round_up_to_pages((size_t)capacity * STEPS_PER_UNIT *
				 sizeof(struct step_accounts));
}
static size_t names_off(uint32_t capacity)
{
	return reports_off(capacity) +
	       round_up_to_pages(capacity * sizeof(struct unit_report));
}
static size_t befores_off(uint32_t capacity)
{
	return names_off(capacity) +
	       round_up_to_pages((size_t)capacity * STEPS_PER_UNIT *
				 sizeof(struct step_name));
}
static size_t gpu_uses_off(uint32_t capacity)
{
	return befores_off(capacity) +
	       round_up_to_pages(capacity * sizeof(struct unit_before));
}
static size_t gpu_profiles_off(uint32_t capacity)
{
	return gpu_uses_off(capacity) +
	       round_up_to_pages(capacity * sizeof(struct unit_gpu_use));
}
static size_t table_file_bytes(uint32_t capacity)
{
	return gpu_profiles_off(capacity) +
	       round_up_to_pages(capacity * sizeof(struct unit_gpu_profile));
}
/* For a version, 0: one that is not taken over */
static size_t bytes_of(uint32_t version, uint32_t capacity)
{
	switch (version) {
	case VERSION:
		return table_file_bytes(capacity);
	case VERSION_NO_PROFILES:
		return gpu_profiles_off(capacity);
	case VERSION_NO_GPUS:
		return gpu_uses_off(capacity);
	case VERSION_NO_BEFORE:
		return befores_off(capacity);
	case VERSION_UNNAMED:
		return names_off(capacity);
	default:
		return 0;
	}
}

/* ---- transactions ---------------------------------------------------------------- */

struct log_entry {
	uint64_t off;
	uint64_t len;
};

void txn_begin(struct units *u)
{
	assert(!u->txn.valid);
	u->txn.valid = 1;
	u->txn.bytes = 0;
}

void txn_put(struct units *u, void *dst, const void *src, size_t len)
{
	struct log_entry e = {(uint64_t)((unsigned char *)dst - u->map), len};
	assert(u->txn.bytes + sizeof(e) + len <= sizeof(u->txn.data));
	memcpy(u->txn.data + u->txn.bytes, &e, sizeof(e));
	memcpy(u->txn.data + u->txn.bytes + sizeof(e), src, len);
	u->txn.bytes += (uint32_t)(sizeof(e) + len);
}

/* From our private copy of the log, which others cannot change. */
static void replay_log(struct units *u)
{
	for (uint32_t at = 0; at < u->txn.bytes;) {
		struct log_entry e;
		memcpy(&e, u->txn.data + at, sizeof(e));
		memcpy(u->map + e.off, u->txn.data + at + sizeof(e), e.len);
		at += (uint32_t)(sizeof(e) + e.len);
	}
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&u->log->valid, 0, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
	u->txn.valid = 0;
}

void txn_commit(struct units *u)
{
	memcpy(u->log->data, u->txn.data, u->txn.bytes);
	u->log->bytes = u->txn.bytes;
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&u->log->valid, 1, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
	replay_log(u);
}

/* Checks a log that we did not just write: no entry may lead out of the file. */
static bool log_is_sound(const struct units *u)
{
	const struct store_log *log = &u->txn;
	if (log->bytes > sizeof(log->data))
		return false;
	for (size_t at = 0; at < log->bytes;) {
		struct log_entry e;
		if (log->bytes - at < sizeof(e))
			return false;
		memcpy(&e, log->data + at, sizeof(e));
		at += sizeof(e);
		if (e.len > log->bytes - at || e.off > u->bytes ||
		    e.len > u->bytes - e.off)
			return false;
		at += e.len;
	}
	return true;
}

/* ---- slots ----------------------------------------------------------------------- */

/* Slots of one kind; each has data in several places. */
struct area {
	uint32_t capacity;
	struct {
		size_t off, slot; /* slot 0: there are no more */
	} place[6];
};

static bool allocate_slots(struct units *u, const struct area *a, uint32_t at,
			   uint32_t n)
{
	for (size_t i = 0; a->place[i].slot && !u->back_errno; i++)
		u->back_errno = posix_fallocate(
			u->fd, (off_t)(a->place[i].off + at * a->place[i].slot),
			(off_t)(n * a->place[i].slot));
	return u->back_errno == 0;
}

/* Allocates disk space for the next chunk of slots. False: there is none. */
static bool back_slots(struct units *u, const struct area *a, uint32_t *backed,
		       uint32_t need)
{
	while (*backed <= need) {
		uint32_t left = a->capacity - *backed, n = left < CHUNK ? left : CHUNK;
		if (!allocate_slots(u, a, *backed, n))
			return false;
		*backed += n;
	}
	return true;
}

uint32_t store_unit_free(struct units *u)
{
	uint32_t i = index_unit_free(u), capacity = u->capacity;
	const struct area area = {
		.capacity = capacity,
		.place = {
			{units_off(), sizeof(struct unit)},
			{unit_energy_off(capacity), sizeof(struct unit_accounts)},
			{reports_off(capacity), sizeof(struct unit_report)},
			{gpu_uses_off(capacity), sizeof(struct unit_gpu_use)},
			{gpu_profiles_off(capacity), sizeof(struct unit_gpu_profile)}}};

	u->back_errno = 0;
	if (i == UNITS_NONE || !back_slots(u, &area, &u->units_backed, i))
		return UNITS_NONE;
	u->h->units_backed = u->units_backed;
	return i;
}

uint32_t store_step_free(struct units *u)
{
	uint32_t i = index_step_free(u), capacity = u->capacity;
	const struct area area = {
		.capacity = u->steps_capacity,
		.place = {{steps_off(capacity), sizeof(struct step)},
			  {step_energy_off(capacity), sizeof(struct step_accounts)},
			  {names_off(capacity), sizeof(struct step_name)}}};

	u->back_errno = 0;
	if (i == UNITS_NONE || !back_slots(u, &area, &u->steps_backed, i))
		return UNITS_NONE;
	u->h->steps_backed = u->steps_backed;
	return i;
}

/* ---- open ------------------------------------------------------------------------ */

/* A page of zeros follows the file: a text that has lost its NUL ends there. */
static size_t mapped_bytes(size_t bytes)
{
	return round_up_to_pages(bytes) + PAGE;
}

static void unmap_file(struct units *u)
{
	if (u->map)
		munmap(u->map, mapped_bytes(u->bytes));
	u->map = NULL;
}

bool units_removed(const struct units *u)
{
	struct stat st;

	return fstat(u->fd, &st) == 0 && st.st_nlink == 0;
}

const void *units_mapping(const struct units *u, size_t *ret_bytes)
{
	*ret_bytes = u->bytes;
	return u->map;
}

static void close_table_file(struct units *u)
{
	unmap_file(u);
	if (u->fd >= 0)
		close(u->fd); /* releases the lock */
	u->fd = -1;
}

void units_close(struct units *u)
{
	if (!u)
		return;
	int saved = errno;
	close_table_file(u);
	index_done(u);
	free(u);
	errno = saved;
}

static int map_file(struct units *u, size_t bytes, struct err *err)
{
	void *map = mmap(NULL, mapped_bytes(bytes), PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mmap(map, bytes, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, u->fd, 0) == MAP_FAILED) {
		int rc = -errno;
		if (map != MAP_FAILED)
			munmap(map, mapped_bytes(bytes));
		return err_set(err, rc, "map unit table: %s", strerror(-rc));
	}
	madvise(map, bytes, MADV_DONTFORK);
	u->map = map;
	u->bytes = bytes;
	u->h = map;
	u->log = (struct store_log *)(u->map + log_off());
	u->tombstones = (struct tombstone *)(u->map + tombstones_off());
	u->energy = (struct energy_state *)(u->map + energy_off());
	u->units = (struct unit *)(u->map + units_off());
	return 0;
}

/* Takes the bounds from the header, once. */
static void take_bounds(struct units *u, const struct store_header *h)
{
	u->capacity = h->capacity;
	u->steps_capacity = h->steps_capacity;
	u->units_backed = h->units_backed;
	u->steps_backed = h->steps_backed;
}

/* Places that follow what depends on the capacity */
static void set_places(struct units *u)
{
	uint32_t capacity = u->capacity;
	u->steps = (struct step *)(u->map + steps_off(capacity));
	u->unit_energy = (struct unit_accounts *)(u->map + unit_energy_off(capacity));
	u->step_energy = (struct step_accounts *)(u->map + step_energy_off(capacity));
	u->unit_reports = (struct unit_report *)(u->map + reports_off(capacity));
	u->step_names = (struct step_name *)(u->map + names_off(capacity));
	u->befores = (struct unit_before *)(u->map + befores_off(capacity));
	u->gpu_uses = (struct unit_gpu_use *)(u->map + gpu_uses_off(capacity));
	u->gpu_profiles =
		(struct unit_gpu_profile *)(u->map + gpu_profiles_off(capacity));
}

static bool header_is_ours(const struct store_header *h, size_t bytes, const char *boot)
{
	return memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 &&
	       h->unit_bytes == sizeof(struct unit) &&
	       h->step_bytes == sizeof(struct step) && h->capacity >= 1 &&
	       h->capacity <= 1u << 20 &&
	       h->steps_capacity == h->capacity * STEPS_PER_UNIT &&
	       bytes_of(h->version, h->capacity) &&
	       (bytes == bytes_of(h->version, h->capacity) ||
		bytes == table_file_bytes(h->capacity)) &&
	       h->units_backed <= h->capacity && h->steps_backed <= h->steps_capacity &&
	       memcmp(h->boot_id, boot, sizeof(h->boot_id)) == 0;
}

/* All slots at once: they are small. */
static int back_befores(struct units *u, uint32_t capacity)
{
	return -posix_fallocate(u->fd, (off_t)befores_off(capacity),
				(off_t)(capacity * sizeof(struct unit_before)));
}

/* Extends a table of an earlier version, so that an upgrade of the daemon loses nothing
 * about what is running. If it is killed meanwhile, it is done again. Without room the
 * file stays one that the earlier version can go on with. */
static int extend_file(struct units *u, struct err *err)
{
	uint32_t capacity = u->capacity, backed = u->steps_backed;
	off_t used = (off_t)(backed * sizeof(struct step_name));
	off_t gpus = (off_t)(u->units_backed * sizeof(struct unit_gpu_use));
	off_t profiles = (off_t)(u->units_backed * sizeof(struct unit_gpu_profile));

	if (u->h->version == VERSION)
		return 0;
	int rc = ftruncate(u->fd, (off_t)table_file_bytes(capacity)) < 0 ? -errno : 0;
	if (rc == 0 && used)
		rc = -posix_fallocate(u->fd, (off_t)names_off(capacity), used);
	if (rc == 0)
		rc = back_befores(u, capacity);
	if (rc == 0 && gpus)
		rc = -posix_fallocate(u->fd, (off_t)gpu_uses_off(capacity), gpus);
	if (rc == 0 && gpus)
		rc = -posix_fallocate(u->fd, (off_t)gpu_profiles_off(capacity),
				      profiles);
	if (rc < 0) {
		if (ftruncate(u->fd, (off_t)bytes_of(u->h->version, capacity)) < 0)
			rc = -errno;
		return err_set(err, rc,
			       "extend the table of an earlier version: %s (it stays "
			       "as it was: free some space and restart)",
			       strerror(-rc));
	}
	unmap_file(u);
	return map_file(u, table_file_bytes(capacity), err);
}

/* What an extended table said of GPUs' performance counters goes on. It was reported
 * up to now. */
static void convert_table(struct units *u)
{
	for (uint32_t i = 0; i < u->units_backed; i++) {
		const struct unit_gpu_use *g = &u->gpu_uses[i];
		struct unit_gpu_figures was = {{0}, {0}};
		for (unsigned k = 0; k < UNIT_GPU_FIGURES; k++) {
			if (!g->figure_ppm_ms[k])
				continue;
			was.ppm_ms[k] = g->figure_ppm_ms[k] - 1;
			was.of_ms[k] = g->live.memory_of_ms;
		}
		u->gpu_profiles[i] = (struct unit_gpu_profile){was, was, was};
	}
	u->h->version = VERSION;
}

/* 0: taken over; -ENOENT: there is none that can be, and err says why if there is one;
 * else failure. */
static int take_over_table(struct units *u, int dirfd, const char *boot,
			   struct err *err)
{
	u->fd = openat(dirfd, UNITS_PATH_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (u->fd < 0) {
		int rc = -errno;
		if (rc == -ENOENT)
			return rc;
		if (rc == -ELOOP)
			return err_set(err, -ENOENT, "a symbolic link");
		return err_set(err, rc, "open %s: %s", UNITS_PATH_NAME, strerror(-rc));
	}
	if (flock(u->fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "%s: in use by another ceemsd",
			       UNITS_PATH_NAME);
	struct stat st; /* not our file, or sparse, which ours never is */
	if (fstat(u->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (size_t)st.st_size < units_off() ||
	    (size_t)st.st_blocks * 512 < units_off())
		return err_set(err, -ENOENT, "not a complete regular file of our own");
	int rc = map_file(u, (size_t)st.st_size, err);
	if (rc)
		return rc;
	const struct store_header h = *u->h;
	if (!header_is_ours(&h, u->bytes, boot))
		return err_set(err, -ENOENT,
			       memcmp(h.boot_id, boot, sizeof(h.boot_id)) != 0
				       ? "from another boot"
				       : "of another version, or damaged");
	take_bounds(u, &h);
	rc = extend_file(u, err);
	if (rc)
		return rc;
	set_places(u);
	if (u->log->valid) {
		u->txn = *u->log;
		u->txn.valid = 0;
		if (!log_is_sound(u))
			return err_set(err, -ENOENT, "its log is damaged");
		replay_log(u);
	}
	if (u->h->version != VERSION)
		convert_table(u);
	rc = index_init(u, err);
	if (rc)
		return rc;
	rc = index_rebuild(u, err);
	if (rc == 0 && !energy_is_sound(u))
		rc = err_set(err, -EBADMSG, "unit table: damaged energy accounts");
	if (rc == 0 && !report_is_sound(u))
		rc = err_set(err, -EBADMSG, "unit table: damaged reports");
	return rc == -EBADMSG ? -ENOENT : rc;
}

/* Complete under another name, then renamed: nobody ever sees half a table. */
static int make_new_table(struct units *u, int dirfd, uint32_t capacity,
			  const char *boot, struct err *err)
{
	char tmp[FS_NEW_BYTES];
	size_t bytes = table_file_bytes(capacity);
	int rc = 0;

	u->fd = fs_create_new_at(dirfd, UNITS_PATH_NAME, 0600, tmp, err);
	if (u->fd < 0)
		return u->fd;
	if (flock(u->fd, LOCK_EX | LOCK_NB) < 0)
		rc = -errno;
	if (!rc && ftruncate(u->fd, (off_t)bytes) < 0)
		rc = -errno;
	if (!rc)
		rc = -posix_fallocate(u->fd, 0, (off_t)units_off());
	if (!rc)
		rc = back_befores(u, capacity);
	if (rc)
		return err_set(err, rc, "make %s: %s", tmp, strerror(-rc));
	rc = map_file(u, bytes, err);
	if (rc)
		return rc;
	struct store_header h = {.version = VERSION,
				 .capacity = capacity,
				 .steps_capacity = capacity * STEPS_PER_UNIT,
				 .unit_bytes = sizeof(struct unit),
				 .step_bytes = sizeof(struct step),
				 .ring_pos = UINT64_MAX};
	memcpy(h.magic, MAGIC, sizeof(h.magic));
	memcpy(h.boot_id, boot, sizeof(h.boot_id));
	*u->h = h;
	take_bounds(u, &h);
	energy_node_init(&u->energy[0].node);
	set_places(u);
	rc = index_init(u, err);
	if (rc)
		return rc;
	if (renameat(dirfd, tmp, dirfd, UNITS_PATH_NAME) < 0) {
		rc = -errno;
		return err_set(err, rc, "rename %s: %s", tmp, strerror(-rc));
	}
	return 0;
}

int units_open(int dirfd, uint32_t capacity, struct units **ret, bool *ret_made_new,
	       struct err *err)
{
	char boot[BOOT_ID_BYTES];
	int rc = boot_id(boot, err);
	if (rc)
		return rc;
	struct units *u = calloc(1, sizeof(*u));
	if (!u)
		return err_set(err, -ENOMEM, "unit table: out of memory");
	u->fd = -1;
	bool made_new = false;
	struct err why = {""};
	rc = take_over_table(u, dirfd, boot, &why);
	if (rc == -ENOENT) {
		index_done(u);
		close_table_file(u);
		made_new = true;
		rc = make_new_table(u, dirfd, capacity, boot, err);
		if (!rc && err)
			*err = why;
	} else if (rc && err) {
		*err = why;
	}
	if (rc) {
		units_close(u);
		return rc;
	}
	u->ring_pos = u->h->ring_pos; /* which the log may have changed */
	*ret = u;
	*ret_made_new = made_new;
	return 0;
}

int units_chown(struct units *u, uid_t uid, gid_t gid, struct err *err)
{
	if (fchown(u->fd, uid, gid) < 0) {
		int rc = -errno;
		return err_set(err, rc, "%s: change owner: %s", UNITS_PATH_NAME,
			       strerror(-rc));
	}
	return 0;
}
