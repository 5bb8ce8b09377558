/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps Slurm's GPU index to a device: by the output of `slurmd -G`, the NVIDIA driver's
 * procfs, and the site's own map. The index that -G prints itself ("Index=") is only
 * the digits at the end of the file name; the gres index is the position among the gpu
 * devices, as a job with a typed request shows (SLURM_STEP_GPUS=2 for the device listed
 * third, whatever its file is called). */
#include "daemon/gpus/gpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/drm/drm_gpus.h"
#include "lib/exec.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define SLURMD_OUTPUT_MAX (256u << 10)
#define SLURMD_DEADLINE_MS 10000
#define FILES_MAX (GPUS_MAX * 2ul) /* device files on one line */
#define SHARED_LINES_MAX GPUS_MAX
#define DRIVER_GPUS "driver/nvidia/gpus"
#define MIG_MINORS "driver/nvidia-caps/mig-minors"
#define CAP_FILE "/dev/nvidia-caps/nvidia-cap"

struct gpu_text {
	const char *at;
	size_t len;
};

static bool text_is(struct gpu_text t, const char *s)
{
	return strlen(s) == t.len && memcmp(t.at, s, t.len) == 0;
}

static bool text_starts(struct gpu_text t, const char *s)
{
	return strlen(s) <= t.len && memcmp(t.at, s, strlen(s)) == 0;
}

static int text_copy(struct gpu_text t, char *dst, size_t size)
{
	if (t.len >= size)
		return -ENAMETOOLONG;
	memcpy(dst, t.at, t.len);
	dst[t.len] = '\0';
	return 0;
}

/* ---- the lines of slurmd -G ------------------------------------------------------ */

struct gres_line {
	struct gpu_text name, type, file;
	uint64_t count;
};

struct files {
	uint32_t count;
	char name[FILES_MAX][GPUS_FILE_MAX];
};

static int files_add(struct files *f, struct gpu_text prefix, uint64_t number,
		     size_t width, struct gpu_text suffix)
{
	int n;
	if (f->count == FILES_MAX)
		return -E2BIG;
	char *dst = f->name[f->count];
	if (width)
		n = snprintf(dst, GPUS_FILE_MAX, "%.*s%0*llu%.*s", (int)prefix.len,
			     prefix.at, (int)width, (unsigned long long)number,
			     (int)suffix.len, suffix.at);
	else
		n = snprintf(dst, GPUS_FILE_MAX, "%.*s", (int)prefix.len, prefix.at);
	if (n <= 0 || n >= GPUS_FILE_MAX)
		return -ENAMETOOLONG;
	f->count++;
	return 0;
}

/* One item of a bracket, "3" or "0-3", with the digits' width kept ("00-03") */
static int files_add_range(struct files *f, struct gpu_text prefix, const char **at,
			   const char *end, struct gpu_text suffix)
{
	uint64_t first, last;
	const char *digits = *at;
	if (scan_u64(at, end, &first) < 0)
		return -EINVAL;
	size_t width = (size_t)(*at - digits);
	last = first;
	if (*at < end && **at == '-') {
		++*at;
		if (scan_u64(at, end, &last) < 0)
			return -EINVAL;
	}
	if (last < first || last - first >= FILES_MAX || width > 9)
		return -EINVAL;
	for (uint64_t i = first; i <= last; i++) {
		int rc = files_add(f, prefix, i, digits[0] == '0' ? width : 1, suffix);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* One name of a host list: "/dev/nvidia0" or "/dev/nvidia[0,2-3]" */
static int files_add_name(struct files *f, struct gpu_text name)
{
	const char *end = name.at + name.len;
	const char *open = memchr(name.at, '[', name.len);
	if (!open)
		return files_add(f, name, 0, 0, (struct gpu_text){"", 0});
	const char *close = memchr(open, ']', (size_t)(end - open));
	if (!close)
		return -EINVAL;
	struct gpu_text prefix = {name.at, (size_t)(open - name.at)};
	struct gpu_text suffix = {close + 1, (size_t)(end - close - 1)};
	const char *at = open + 1;
	for (;;) {
		int rc = files_add_range(f, prefix, &at, close, suffix);
		if (rc < 0)
			return rc;
		if (at == close)
			return 0;
		if (*at++ != ',')
			return -EINVAL;
	}
}

static int files_expand(struct files *f, struct gpu_text list)
{
	const char *at = list.at, *end = list.at + list.len;
	f->count = 0;
	while (at < end) {
		const char *name = at;
		for (bool inside = false; at < end && (inside || *at != ','); at++)
			inside = *at == '[' || (inside && *at != ']');
		int rc =
			files_add_name(f, (struct gpu_text){name, (size_t)(at - name)});
		if (rc < 0)
			return rc;
		if (at < end)
			at++;
	}
	return 0;
}

/* "Name=gpu Type=a100 Count=1 Index=0 ID=7696487 File=... (null)" */
static int parse_line(const char *at, const char *end, struct gres_line *ret)
{
	struct gpu_text word;
	bool counted = false;
	*ret = (struct gres_line){{"", 0}, {"", 0}, {"", 0}, 0};
	while (scan_word(&at, end, &word.at, &word.len)) {
		const char *eq = memchr(word.at, '=', word.len);
		if (!eq)
			continue; /* "(null)" if there are no links */
		struct gpu_text key = {word.at, (size_t)(eq - word.at)};
		struct gpu_text value = {eq + 1, (size_t)(word.at + word.len - eq - 1)};
		const char *v = value.at, *vend = value.at + value.len;
		if (text_is(value, "(null)"))
			continue;
		if (text_is(key, "Name"))
			ret->name = value;
		else if (text_is(key, "Type"))
			ret->type = value;
		else if (text_is(key, "File"))
			ret->file = value;
		else if (text_is(key, "Count"))
			counted = scan_u64(&v, vend, &ret->count) == 0 && v == vend;
	}
	return ret->name.len && counted ? 0 : -EINVAL;
}

static struct gpu *add_gpu(struct gpus *g, uint32_t index)
{
	struct gpu *gpu = &g->gpu[g->count++];
	memset(gpu, 0, sizeof(*gpu));
	gpu->index = index;
	gpu->smi_index = gpu->minor = gpu->instance = gpu->compute = GPUS_NONE;
	return gpu;
}

/* Adds devices: one per file of a gpu line, or (MIG) one with several files, or some
 * without files. */
static int add_gpus(struct gpus *g, const struct gres_line *l, struct files *f)
{
	int rc = files_expand(f, l->file);
	if (rc < 0)
		return rc;
	bool one_each = f->count == l->count;
	if (f->count && !one_each && l->count != 1)
		return -EINVAL;
	for (uint64_t i = 0; i < l->count; i++) {
		if (g->count == GPUS_MAX) {
			g->cut = true;
			return 0;
		}
		struct gpu *gpu = add_gpu(g, g->count);
		if (text_copy(l->type, gpu->type, sizeof(gpu->type)) < 0)
			return -ENAMETOOLONG;
		if (f->count)
			memcpy(gpu->file, f->name[one_each ? i : 0], GPUS_FILE_MAX);
		if (f->count > 1 && !one_each)
			memcpy(gpu->cap, f->name[1], GPUS_FILE_MAX);
		if (f->count > 2 && !one_each)
			memcpy(gpu->compute_cap, f->name[2], GPUS_FILE_MAX);
	}
	return 0;
}

struct shared {
	uint32_t count;
	struct {
		char file[GPUS_FILE_MAX];
		uint64_t shards;
	} of[SHARED_LINES_MAX];
};

static int add_shards(struct gpus *g, struct shared *s, const struct gres_line *l)
{
	g->shards = true;
	if (__builtin_add_overflow(g->shard_count, l->count, &g->shard_count))
		return -ERANGE;
	if (!l->file.len || s->count == SHARED_LINES_MAX)
		return 0;
	if (text_copy(l->file, s->of[s->count].file, GPUS_FILE_MAX) < 0)
		return -ENAMETOOLONG;
	s->of[s->count++].shards = l->count;
	return 0;
}

static int add_line(struct gpus *g, struct shared *s, struct files *f,
		    const struct gres_line *l)
{
	if (text_is(l->name, "gpu")) {
		g->managed = true;
		return add_gpus(g, l, f);
	}
	if (text_is(l->name, "shard"))
		return add_shards(g, s, l);
	if (text_is(l->name, "mps"))
		g->mps = true;
	return 0;
}

static void place_shards(struct gpus *g, const struct shared *s)
{
	for (uint32_t i = 0; i < g->count; i++)
		for (uint32_t k = 0; k < s->count; k++)
			if (g->gpu[i].file[0] &&
			    strcmp(g->gpu[i].file, s->of[k].file) == 0 &&
			    s->of[k].shards <= UINT32_MAX)
				g->gpu[i].shards = (uint32_t)s->of[k].shards;
}

struct parse_space {
	struct gpus gpus;
	struct shared shared;
	struct files files;
};

int gpus_parse(const char *text, size_t len, struct gpus *ret, struct err *err)
{
	static const char mark[] = "Gres Name=";
	const char *at = text, *end = text + len, *line;
	size_t n;
	auto_free struct parse_space *space = calloc(1, sizeof(*space));
	if (!space)
		return err_set(err, -ENOMEM, "slurmd -G: no memory");
	while (scan_line(&at, end, &line, &n)) {
		struct gres_line l;
		const char *gres = memmem(line, n, mark, strlen(mark));
		if (!gres)
			continue;
		int rc = parse_line(gres, line + n, &l);
		if (rc == 0)
			rc = add_line(&space->gpus, &space->shared, &space->files, &l);
		if (rc < 0)
			return err_set(err, -EINVAL, "slurmd -G: not understood: %.*s",
				       n > 200 ? 200 : (int)n, line);
	}
	place_shards(&space->gpus, &space->shared);
	*ret = space->gpus;
	return 0;
}

int gpus_probe(const char *slurmd, const char *node, struct gpus *ret, struct err *err)
{
	/* 26.05 first opens its log file, which belongs to root */
	const char *argv[] = {slurmd, "-G", "-L", "/dev/null", node ? "-N" : NULL,
			      node,   NULL};
	/* the location of slurm.conf, as for every Slurm command */
	const char *conf = getenv("SLURM_CONF");
	char slurm_conf[PATH_MAX] = "";
	const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
			     conf ? slurm_conf : NULL, NULL};
	int n = snprintf(slurm_conf, sizeof(slurm_conf), "SLURM_CONF=%s",
			 conf ? conf : "");
	if (n < 0 || (size_t)n >= sizeof(slurm_conf))
		return err_set(err, -ENAMETOOLONG, "SLURM_CONF: too long");
	auto_buf struct buf out = BUF_INIT;
	auto_buf struct buf errout = BUF_INIT;
	int status = 0;
	buf_init(&out, SLURMD_OUTPUT_MAX);
	buf_init(&errout, SLURMD_OUTPUT_MAX);
	/* 26.05 first asks the slurmstepd of each running step, which hangs up on
	 * whoever is neither root nor SlurmUser */
	int rc = exec_run_sigpipe_ignored(argv, env, SLURMD_DEADLINE_MS, &out, &errout,
					  &status, err);
	if (rc < 0)
		return rc;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		const char *why = errout.data ? errout.data : "";
		bool exited = WIFEXITED(status);
		return err_set(err, -EIO, "%s -G failed (%s %d): %.*s", slurmd,
			       exited ? "exit status" : "signal",
			       exited ? WEXITSTATUS(status) : WTERMSIG(status),
			       (int)strcspn(why, "\n"), why);
	}
	buf_putc(&out, '\n');
	buf_put(&out, errout.data ? errout.data : "", errout.len);
	if (buf_error(&out))
		return err_set(err, buf_error(&out), "%s -G: too much output", slurmd);
	return gpus_parse(out.data, out.len, ret, err);
}

/* ---- what the driver knows ------------------------------------------------------- */

static uint32_t digits_after(const char *s, const char *prefix)
{
	uint32_t v;
	size_t n = strlen(prefix);
	return strncmp(s, prefix, n) == 0 && parse_u32(s + n, &v) == 0 ? v : GPUS_NONE;
}

static struct gpu_text trim_gpu_text(struct gpu_text t)
{
	while (t.len && (*t.at == ' ' || *t.at == '\t'))
		t.at++, t.len--;
	while (t.len && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* "GPU UUID: \t GPU-1234..." and "Device Minor: \t 0" */
static int read_information(int dirfd, const char *pci, struct gpu_device *ret)
{
	char path[64], text[4096];
	const char *at, *line;
	size_t n;
	struct gpu_device d = {.minor = GPUS_NONE};
	int len = snprintf(path, sizeof(path), "%s/information", pci);
	if (len < 0 || (size_t)len >= sizeof(path) || strlen(pci) >= sizeof(d.pci))
		return -ENAMETOOLONG;
	ssize_t got = fs_read_at(dirfd, path, text, sizeof(text), NULL);
	if (got < 0)
		return (int)got;
	at = text;
	while (scan_line(&at, text + got, &line, &n)) {
		const char *colon = memchr(line, ':', n);
		if (!colon)
			continue;
		struct gpu_text key = {line, (size_t)(colon - line)};
		struct gpu_text value = trim_gpu_text(
			(struct gpu_text){colon + 1, (size_t)(line + n - colon - 1)});
		char number[16];
		if (text_is(key, "GPU UUID") && text_starts(value, "GPU-") &&
		    text_copy(value, d.uuid, sizeof(d.uuid)) < 0)
			return -EINVAL;
		if (text_is(key, "Device Minor") &&
		    (text_copy(value, number, sizeof(number)) < 0 ||
		     parse_u32(number, &d.minor) < 0))
			return -EINVAL;
		if (text_is(key, "GPU Excluded") && text_is(value, "Yes"))
			return -ENODEV;
	}
	memcpy(d.pci, pci, strlen(pci) + 1);
	*ret = d;
	return 0;
}

static int by_pci(const void *a, const void *b)
{
	return strcmp(((const struct gpu_device *)a)->pci,
		      ((const struct gpu_device *)b)->pci);
}

static int read_devices(struct gpus *g, int procfd, struct err *err)
{
	int fd = fs_opendir_at(procfd, DRIVER_GPUS, NULL);
	if (fd < 0)
		return err_set(err, -ENODEV,
			       "no NVIDIA driver (/proc/" DRIVER_GPUS ")");
	auto_closedir DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory");
	}
	struct dirent *e;
	g->device_count = 0;
	while (g->device_count < GPUS_MAX && (e = readdir(dir)))
		if (e->d_name[0] != '.' &&
		    read_information(dirfd(dir), e->d_name,
				     &g->device[g->device_count]) == 0)
			g->device_count++;
	qsort(g->device, g->device_count, sizeof(g->device[0]), by_pci);
	return 0;
}

/* The number behind a word of a path in mig-minors, such as 3 of "/gi3" */
static bool scan_numbered(const char **at, const char *end, const char *word,
			  uint64_t *ret)
{
	size_t n = strlen(word);
	if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0)
		return false;
	*at += n;
	return scan_u64(at, end, ret) == 0 && *ret < GPUS_NONE;
}

/* "gpu0/gi3/access 30" and "gpu0/gi3/ci0/access 31": the GPU instance, or the compute
 * instance of one, whose capability file has the number cap */
static uint32_t instance_of_cap(const struct buf *minors, uint32_t cap, bool is_compute)
{
	const char *at = minors->data, *line;
	size_t n;
	while (cap != GPUS_NONE && at &&
	       scan_line(&at, minors->data + minors->len, &line, &n)) {
		const char *p = line, *end = line + n;
		uint64_t gpu, instance, number;
		if (!scan_numbered(&p, end, "gpu", &gpu) ||
		    !scan_numbered(&p, end, "/gi", &instance) ||
		    (is_compute && !scan_numbered(&p, end, "/ci", &instance)))
			continue;
		if (scan_numbered(&p, end, "/access ", &number) && p == end &&
		    number == cap)
			return (uint32_t)instance;
	}
	return GPUS_NONE;
}

static void take_device(struct gpus *g, struct gpu *gpu, uint32_t smi_index)
{
	gpu->smi_index = smi_index;
	gpu->uuid[0] = '\0';
	if (smi_index < g->device_count) {
		gpu->minor = g->device[smi_index].minor;
		memcpy(gpu->uuid, g->device[smi_index].uuid, sizeof(gpu->uuid));
	}
}

/* How many instances each divided device has, and compute instances each of those, as
 * far as Slurm knows them */
static void count_parts(struct gpus *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct gpu *gpu = &g->gpu[i];
		gpu->parts = gpu->siblings = 0;
		for (uint32_t k = 0; gpu->instance != GPUS_NONE && k < g->count; k++) {
			bool is_part = g->gpu[k].instance != GPUS_NONE &&
				       g->gpu[k].smi_index == gpu->smi_index;
			gpu->parts += is_part;
			gpu->siblings += is_part && g->gpu[k].instance == gpu->instance;
		}
	}
}

/* Returns how many there are. */
static uint32_t resolve_drm_devices(struct gpus *g, int procfd, int sysfd)
{
	auto_free struct drm_gpus *found = calloc(1, sizeof(*found));
	uint32_t base = drm_gpus_base(procfd, g->device_count);

	if (!found || drm_gpus_find(sysfd, found, NULL) < 0 || !found->count)
		return 0;
	while (g->device_count < GPUS_MAX && g->device_count < base + found->count) {
		uint32_t n = g->device_count++;
		struct gpu_device *d = &g->device[n];
		*d = (struct gpu_device){.minor = GPUS_NONE};
		if (n < base)
			continue;
		const struct drm_gpu *drm = &found->gpu[n - base];
		(void)snprintf(d->pci, sizeof(d->pci), "%s", drm->pci);
		(void)snprintf(d->uuid, sizeof(d->uuid), "%s", drm->pci);
	}
	for (uint32_t i = 0; i < g->count; i++) {
		struct gpu *gpu = &g->gpu[i];
		uint32_t part, n = drm_gpus_of_file(found, gpu->file, &part);
		if (n == DRM_NONE)
			continue;
		take_device(g, gpu, base + n);
		gpu->instance = part;
	}
	return found->count;
}

static int resolve_nvidia_devices(struct gpus *g, int procfd, struct err *err)
{
	auto_buf struct buf caps = BUF_INIT;
	g->device_count = 0;
	int rc = read_devices(g, procfd, err);
	if (rc < 0)
		return rc;
	if (fs_read_buf_at(procfd, MIG_MINORS, 1 << 20, &caps, NULL) < 0)
		buf_reset(&caps);
	for (uint32_t i = 0; i < g->count; i++) {
		struct gpu *gpu = &g->gpu[i];
		uint32_t minor = digits_after(gpu->file, "/dev/nvidia");
		for (uint32_t k = 0; minor != GPUS_NONE && k < g->device_count; k++)
			if (g->device[k].minor == minor)
				take_device(g, gpu, k);
		if (minor != GPUS_NONE)
			gpu->minor = minor;
		gpu->instance =
			instance_of_cap(&caps, digits_after(gpu->cap, CAP_FILE), false);
		gpu->compute = instance_of_cap(
			&caps, digits_after(gpu->compute_cap, CAP_FILE), true);
	}
	return 0;
}

int gpus_resolve(struct gpus *g, int procfd, int sysfd, struct err *err)
{
	int rc = resolve_nvidia_devices(g, procfd, err);

	if (resolve_drm_devices(g, procfd, sysfd))
		rc = 0;
	count_parts(g);
	return rc;
}

/* ---- the site's map -------------------------------------------------------------- */

struct order_entry {
	uint64_t index, smi, instance, compute;
};

static int parse_entry(struct gpu_text t, struct order_entry *ret)
{
	const char *p = t.at, *end = t.at + t.len;
	ret->instance = ret->compute = GPUS_NONE;
	if (scan_u64(&p, end, &ret->index) < 0 || p == end || *p++ != ':' ||
	    scan_u64(&p, end, &ret->smi) < 0)
		return -EINVAL;
	if (p < end && (*p++ != '.' || scan_u64(&p, end, &ret->instance) < 0))
		return -EINVAL;
	if (p < end && (*p++ != '.' || scan_u64(&p, end, &ret->compute) < 0))
		return -EINVAL;
	if (p != end || ret->compute > GPUS_NONE || ret->index >= GPUS_MAX ||
	    ret->smi >= GPUS_MAX || ret->instance > GPUS_NONE)
		return -EINVAL;
	return 0;
}

static void apply_entry(struct gpus *g, const struct order_entry *e)
{
	while (g->count <= e->index)
		add_gpu(g, g->count);
	struct gpu *gpu = &g->gpu[e->index];
	take_device(g, gpu, (uint32_t)e->smi);
	gpu->instance = (uint32_t)e->instance;
	gpu->compute = (uint32_t)e->compute;
}

int gpus_apply_order_map(struct gpus *g, const char *map, struct err *err)
{
	const char *at = map;
	auto_free struct gpus *next = NULL;
	if (!*map)
		return 0;
	next = malloc(sizeof(*next));
	if (!next)
		return err_set(err, -ENOMEM, "gpu-order-map: no memory");
	*next = *g;
	for (;;) {
		struct gpu_text t = {at, strcspn(at, ",")};
		struct order_entry e;
		if (parse_entry(t, &e) < 0)
			return err_set(err, -EINVAL,
				       "gpu-order-map: \"%.*s\" is not "
				       "<slurm index>:<nvidia-smi index>[.<MIG gpu "
				       "instance id>[.<compute instance id>]] with "
				       "indices below %d",
				       t.len > 40 ? 40 : (int)t.len, t.at, GPUS_MAX);
		apply_entry(next, &e);
		at += t.len;
		if (*at++ != ',')
			break;
	}
	*g = *next;
	count_parts(g);
	return 0;
}

/* ---- what a unit has ------------------------------------------------------------- */

struct share {
	enum { SHARE_WHOLE, SHARE_SHARDS, SHARE_PERCENT } kind;
	uint32_t n;
};

/* Only for what this node's gres.conf has: otherwise Slurm does not set the variables
 * and they are the user's. */
static int parse_share(const struct gpus *g, const char *text, struct share *ret)
{
	*ret = (struct share){SHARE_WHOLE, 0};
	if (!*text)
		return 0;
	if (strncmp(text, "shard:", 6) == 0 && parse_u32(text + 6, &ret->n) == 0 &&
	    ret->n) {
		ret->kind = g->shards ? SHARE_SHARDS : SHARE_WHOLE;
		return 0;
	}
	if (strncmp(text, "mps:", 4) == 0 && parse_u32(text + 4, &ret->n) == 0 &&
	    ret->n && ret->n <= 100) {
		ret->kind = g->mps ? SHARE_PERCENT : SHARE_WHOLE;
		return 0;
	}
	return -EINVAL;
}

/* Slurm says how many shards a job has on the node, not on which device: spread them
 * evenly over its devices' shards. */
static double share_of(const struct gpus *g, struct share s, const struct gpu_use *uses,
		       size_t n)
{
	double total = 0;
	if (s.kind == SHARE_WHOLE)
		return 1;
	if (s.kind == SHARE_PERCENT)
		return s.n / 100.0;
	for (size_t i = 0; i < n; i++) {
		double evenly = (double)g->shard_count / g->count;
		total += uses[i].gpu->shards ? uses[i].gpu->shards : evenly;
	}
	return total > s.n ? s.n / total : 1;
}

static bool is_gpu_used(const struct gpu_use *uses, size_t n, const struct gpu *gpu)
{
	for (size_t i = 0; i < n; i++)
		if (uses[i].gpu == gpu)
			return true;
	return false;
}

int gpus_of(const struct gpus *g, const char *gpus, const char *gpu_share,
	    struct gpu_use *ret, size_t max, struct err *err)
{
	const char *at = gpus, *end = gpus + strlen(gpus);
	struct share share;
	size_t n = 0;
	if (!g->managed || !*gpus)
		return 0;
	if (parse_share(g, gpu_share, &share) < 0)
		return err_set(err, -EINVAL, "gpu share \"%.40s\"", gpu_share);
	for (;;) {
		uint64_t first, last;
		if (scan_u64(&at, end, &first) < 0)
			return err_set(err, -EINVAL, "gpu list \"%.80s\"", gpus);
		last = first;
		if (at < end && *at == '-' && (at++, scan_u64(&at, end, &last) < 0))
			return err_set(err, -EINVAL, "gpu list \"%.80s\"", gpus);
		if (last < first)
			return err_set(err, -EINVAL, "gpu list \"%.80s\"", gpus);
		if (last >= g->count)
			return err_set(err, -ERANGE, "gpu %llu: this node has %u",
				       (unsigned long long)last, g->count);
		for (uint64_t i = first; i <= last && n < max; i++)
			if (!is_gpu_used(ret, n, &g->gpu[i]))
				ret[n++] = (struct gpu_use){&g->gpu[i], 1};
		if (at == end)
			break;
		if (*at++ != ',')
			return err_set(err, -EINVAL, "gpu list \"%.80s\"", gpus);
	}
	double value = share_of(g, share, ret, n);
	for (size_t i = 0; i < n; i++)
		ret[i].share = value;
	return (int)n;
}
