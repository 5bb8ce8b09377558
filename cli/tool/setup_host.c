/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool setup: programs of this host that it runs: the checks of configurations,
 * systemctl and others. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/setup.h"
#include "cli/tool/tool.h"
#include "lib/exec.h"
#include "lib/http/web_config.h"

#define RUN_MS 120000

/* argv[0] is a name: looked for where a system has its programs. */
int setup_run(struct setup *s, const char *const argv[])
{
	static const char *const folders[] = {"/usr/bin", "/usr/sbin", "/bin", "/sbin"};
	auto_buf struct buf out = {.max = 64 << 10}, said = {.max = 64 << 10};
	const char *full[8] = {NULL};
	char path[PATH_MAX] = "";
	struct err err = {""};
	int status = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], argv[0]);
		if (access(path, X_OK) == 0)
			break;
	}
	full[0] = path;
	for (size_t i = 1; argv[i] && i < 7; i++)
		full[i] = argv[i];
	int rc = exec_run(full, NULL, RUN_MS, &out, &said, &status, &err);
	if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	const char *text = rc < 0 ? err.text : said.len ? said.data : out.data;
	finding(&s->f, LEVEL_FAIL, "run it by hand", "%s %s%s%s failed: %.*s", argv[0],
		argv[1], argv[2] ? " " : "", argv[2] ? argv[2] : "",
		text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	return rc < 0 ? rc : -EIO;
}

void setup_start_unit(struct setup *s, const char *unit)
{
	const char *const enable[] = {"systemctl", "enable", unit, NULL};
	const char *const restart[] = {"systemctl", "restart", unit, NULL};

	if (access("/run/systemd/system", F_OK) < 0) {
		finding(&s->f, LEVEL_WARN, "start it as this host starts services",
			"%s: not started, systemd does not run here", unit);
		return;
	}
	if (setup_run(s, enable) == 0 && setup_run(s, restart) == 0)
		finding(&s->f, LEVEL_OK, NULL, "%s: enabled and started", unit);
}

void setup_check_program(struct setup *s, const char *program, const char *file,
			 const char *web)
{
	char path[PATH_MAX];
	struct web_config c = {.tls = false};
	struct err err = {""};

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, file);
	tool_check_program_config(program, path, &s->f);
	if (!web)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, web);
	if (web_config_load(path, &c, &err) < 0)
		finding(&s->f, LEVEL_FAIL, "correct it", "%s", err.text);
	else
		finding(&s->f, LEVEL_OK, NULL, "%s: TLS %s, %zu user%s", path,
			c.tls ? "on" : "off", c.user_count,
			c.user_count == 1 ? "" : "s");
	web_config_done(&c);
}
