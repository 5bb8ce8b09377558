/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/libvirt/domain_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define LINES_MAX 64u
#define MACHINE_NAME_MAX 64u
#define ENTRIES_MAX 20000u /* folders of one hierarchy that are looked at */

static const uint32_t group_controllers[] = {
	CGROUP_UNIFIED, CGROUP_MEMORY, CGROUP_CPUACCT, CGROUP_CPU,
	CGROUP_BLKIO,   CGROUP_CPUSET, CGROUP_PIDS,    CGROUP_FREEZER};
#define CONTROLLERS (sizeof(group_controllers) / sizeof(group_controllers[0]))

/* virDomainMachineNameAppendValid() of libvirt's src/conf/domain_conf.c */
void domain_machine_name(const char *driver, int id, const char *name,
			 char ret[DOMAIN_MACHINE_SIZE])
{
	static const char valid[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789";
	int n = snprintf(ret, DOMAIN_MACHINE_SIZE, "%.15s-%d-", driver, id);
	size_t len = n < 0 ? 0 : (size_t)n;
	bool skip = true; /* dots and dashes that follow none */

	for (; *name && len < MACHINE_NAME_MAX; name++) {
		bool separates = *name == '.' || *name == '-';
		if (separates ? !skip : strchr(valid, *name) != NULL)
			ret[len++] = *name;
		skip = separates;
	}
	while (len && (ret[len - 1] == '-' || ret[len - 1] == '.'))
		len--;
	ret[len] = '\0';
}

/* The next character of a unit's name, in which systemd writes a '-' that separates
 * nothing as \x2d (systemd.unit(5)). */
static char take_unit_char(const char **p, const char *end)
{
	if (end - *p >= 4 && memcmp(*p, "\\x2d", 4) == 0) {
		*p += 4;
		return '-';
	}
	return *(*p)++;
}

static bool is_rest(const char *p, const char *end, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(end - p) == len && memcmp(p, text, len) == 0;
}

bool domain_group_is(const char *folder, size_t len, const char *machine)
{
	const char *p = folder, *end = folder + len, *m = machine;
	size_t driver = strcspn(machine, "-");
	bool scope = len > 8 && memcmp(folder, "machine-", 8) == 0;
	char partition[32];

	p += scope ? 8 : 0;
	while (*m && p < end) {
		if (take_unit_char(&p, end) != *m++)
			return false;
	}
	(void)snprintf(partition, sizeof(partition), ".libvirt-%.*s", (int)driver,
		       machine);
	return !*m && driver && is_rest(p, end, scope ? ".scope" : partition);
}

/* Length of the path up to and including the domain's folder, 0: it has none */
static size_t domain_path_len(const char *path, size_t len, const char *machine)
{
	const char *p = path, *end = path + len;

	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		const char *stop = slash ? slash : end;
		if (domain_group_is(p, (size_t)(stop - p), machine))
			return (size_t)(stop - path);
		p = stop + 1;
	}
	return 0;
}

static bool add_domain_path(struct record *r, uint32_t bits, const char *path,
			    size_t len)
{
	char text[RECORD_CGROUP_MAX];

	if (!bits || !len || len >= sizeof(text) || !cgroup_path_ok(path, len))
		return false;
	memcpy(text, path, len);
	text[len] = '\0';
	return record_add_cgroup(r, bits, text);
}

/* "ID:CONTROLLERS:PATH", man 7 cgroups */
static bool add_process_line(struct record *r, const char *line, size_t len,
			     const char *machine)
{
	const char *end = line + len;
	const char *names = memchr(line, ':', len);
	const char *path =
		names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;

	if (!path)
		return false;
	names++;
	uint32_t bits = names == path
				? CGROUP_UNIFIED
				: cgroup_controller_bits(names, (size_t)(path - names));
	path++;
	return add_domain_path(r, bits, path,
			       domain_path_len(path, (size_t)(end - path), machine));
}

int domain_group_of_process(const char *text, size_t len, const char *machine,
			    struct record *r)
{
	const char *p = text, *line;
	size_t line_len;
	int n = 0;

	for (unsigned i = 0;
	     i < LINES_MAX && scan_line(&p, text + len, &line, &line_len); i++)
		n += add_process_line(r, line, line_len, machine);
	return n;
}

/* The only folder of the domain in dir. False: none, or two. */
static bool find_folder(int cgroupfd, const char *dir, const char *machine, char *ret,
			size_t size)
{
	int fd = fs_opendir_at(cgroupfd, dir, NULL);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	unsigned found = 0;

	for (unsigned i = 0; d && i < ENTRIES_MAX && (e = readdir(d)); i++) {
		size_t len = strlen(e->d_name);
		if (!domain_group_is(e->d_name, len, machine) || len >= size)
			continue;
		memcpy(ret, e->d_name, len + 1);
		found++;
	}
	return found == 1;
}

int domain_group_find(int cgroupfd, const struct cgroup_layout *layout,
		      const char *machine, struct record *r)
{
	static const char *const roots[] = {"/machine.slice", "/machine"};
	int n = 0;

	for (size_t c = 0; c < CONTROLLERS; c++) {
		const char *hierarchy = cgroup_dir(layout, group_controllers[c]);
		for (size_t k = 0; *hierarchy && k < 2; k++) {
			char dir[64], name[RECORD_CGROUP_MAX],
				path[RECORD_CGROUP_MAX + 32];
			(void)snprintf(dir, sizeof(dir), "%s%s", hierarchy, roots[k]);
			if (!find_folder(cgroupfd, dir, machine, name, sizeof(name)))
				continue;
			(void)snprintf(path, sizeof(path), "%s/%s", roots[k], name);
			n += add_domain_path(r, group_controllers[c], path,
					     strlen(path));
			break;
		}
	}
	return n;
}
