/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool check config PROGRAM [FILE]: runs that program's own check of its file;
 * and ceems_tool ring, which runs ceems-ringdump. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/tool.h"
#include "lib/buf.h"
#include "lib/exec.h"
#include "lib/finding.h"

static const char *const programs[] = {"ceemsd", "ceems-courier", "ceems_aggregator",
				       "ceems_lb", "redfish_proxy"};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

int tool_find_program(const char *name, char *ret, size_t size)
{
	static const char *const beside[] = {"", "../sbin/", "../bin/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return -ENOENT;
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		int len = snprintf(ret, size, "%s%s%s", self, beside[i], name);
		if (len > 0 && (size_t)len < size && access(ret, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* One finding per line of its output. */
static void put_lines(struct findings *f, enum level level, const struct buf *text)
{
	const char *s = text->data;

	while (s && *s) {
		size_t n = strcspn(s, "\n");
		if (n)
			finding(f, level,
				level == LEVEL_OK ? NULL : "see doc/config.md", "%.*s",
				(int)n, s);
		s += n + (s[n] == '\n');
	}
}

void tool_check_program_config(const char *name, const char *file, struct findings *f)
{
	char path[PATH_MAX], option[PATH_MAX + 16];
	auto_buf struct buf out = {.max = 64 << 10}, said = {.max = 64 << 10};
	struct err err;
	int status = 0;

	if (tool_find_program(name, path, sizeof(path)) < 0) {
		finding(f, LEVEL_WARN, "install it, or check on its host",
			"%s is not here", name);
		return;
	}
	(void)snprintf(option, sizeof(option), "--config.file=%s", file ? file : "");
	const char *const argv[] = {path, "--check-config", file ? option : NULL, NULL};
	if (exec_run(argv, NULL, 20000, &out, &said, &status, &err) < 0)
		finding(f, LEVEL_FAIL, "run it by hand", "%s: %s", name, err.text);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		put_lines(f, LEVEL_WARN, &said);
		finding(f, LEVEL_OK, NULL, "%s accepts %s", name,
			file ? file : "its configuration");
	} else if (said.len)
		put_lines(f, LEVEL_FAIL, &said);
	else
		finding(f, LEVEL_FAIL, "run it by hand", "%s refuses %s", name,
			file ? file : "its configuration");
}

int tool_check_config(int argc, char **argv)
{
	struct findings f = {.out = stdout};
	size_t i = 0;

	while (argc >= 2 && i < PROGRAMS && strcmp(programs[i], argv[1]) != 0)
		i++;
	if (argc < 2 || argc > 3 || i == PROGRAMS)
		return tool_usage_error(
			"check config: ceemsd, ceems-courier, ceems_aggregator, "
			"ceems_lb or redfish_proxy, and its file",
			"");
	tool_check_program_config(argv[1], argc == 3 ? argv[2] : NULL, &f);
	return findings_end(&f);
}

int tool_ring(int argc, char **argv)
{
	char path[PATH_MAX];

	(void)argc;
	if (tool_find_program("ceems-ringdump", path, sizeof(path)) < 0)
		return tool_usage_error("ceems-ringdump is not here", "");
	argv[0] = path;
	execv(path, argv);
	(void)fprintf(stderr, "ceems_tool: %s: %s\n", path, strerror(errno));
	return TOOL_FAILED;
}
