/* SPDX-License-Identifier: GPL-2.0-or-later */
/* External commands that ask the BMC: which exist, how to call them, and their results.
 * No shell; their output is parsed by daemon/sources/ipmi_cmd.h and
 * daemon/sources/capmc.h. */
#include "daemon/sources/ipmi_tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/sources/ipmi_cmd.h"
#include "lib/exec.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define OUTPUT_MAX ((size_t)64 << 10)
#define ERROR_MAX ((size_t)4 << 10)

static const struct {
	const char *name, *args;
} known[IPMI_TOOLS] = {
	{"ipmi-dcmi", "--get-system-power-statistics"},
	{"ipmitool", "dcmi power reading"},
	{"ipmiutil", "dcmi power"},
	{"capmc", "get_node_energy_counter --nids"},
};

/* The id of a Cray node: from its kernel, else from a name like nid00040. */
static int find_nid(const struct env *env, uint64_t *ret)
{
	if (env->procfd >= 0 &&
	    fs_read_u64_at(env->procfd, "cray_xt/nid", ret, NULL) == 0)
		return 0;
	const char *name = env->hostname ? env->hostname : "";
	if (strncmp(name, "nid", 3) != 0)
		return -ENODATA;
	return parse_u64_len(name + 3, strcspn(name + 3, ".-"), ret);
}

static int cut_words(struct ipmi_tool *t)
{
	char *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(t->text, " \t", &save); w;
	     w = strtok_r(NULL, " \t", &save)) {
		if (n == IPMI_TOOL_WORDS)
			return -E2BIG;
		t->argv[n++] = w;
	}
	t->argv[n] = NULL;
	return (int)n;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Adds the arguments that the tool needs */
static int add_arguments(struct ipmi_tool *t, const char *line, struct err *err)
{
	int n = -1;

	for (size_t i = 0; i < IPMI_TOOLS; i++) {
		if (strcmp(base_name(t->argv[0]), known[i].name) != 0)
			continue;
		if (t->is_capmc)
			n = snprintf(t->text, sizeof(t->text), "%s %s %llu", line,
				     known[i].args, (unsigned long long)t->nid);
		else
			n = snprintf(t->text, sizeof(t->text), "%s %s", line,
				     known[i].args);
	}
	if (n < 0)
		return 0; /* another tool, or a script of the site */
	if ((size_t)n >= sizeof(t->text) || cut_words(t) < 0)
		return err_set(err, -EINVAL, "%s: command too long", line);
	return 0;
}

int ipmi_tool_set(const char *line, const struct env *env, struct ipmi_tool *ret,
		  struct err *err)
{
	struct ipmi_tool *t = ret;
	int n = snprintf(t->text, sizeof(t->text), "%s", line);

	t->nid = CAPMC_ANY_NID;
	if (n < 0 || (size_t)n >= sizeof(t->text))
		return err_set(err, -EINVAL, "command too long");
	n = cut_words(t);
	if (n < 0)
		return err_set(err, -EINVAL, "%s: too many words", line);
	if (n == 0 || t->argv[0][0] != '/')
		return err_set(err, -EINVAL, "%s: must begin with an absolute path",
			       line);
	t->is_capmc = strcmp(base_name(t->argv[0]), "capmc") == 0;
	if (!t->is_capmc)
		return n > 1 ? 0 : add_arguments(t, line, err);
	int rc = find_nid(env, &t->nid);
	if (n == 1)
		return rc < 0 ? err_set(err, -EINVAL,
					"%s: the number (nid) of this node is not "
					"known: give it with get_node_energy_counter "
					"--nids",
					line)
			      : add_arguments(t, line, err);
	for (int i = 1; i < n; i++) {
		if (strcmp(t->argv[i], "get_node_energy_counter") == 0)
			return 0;
	}
	return err_set(err, -EINVAL,
		       "%s: only get_node_energy_counter reads one node, the others "
		       "read the whole system",
		       line);
}

size_t ipmi_tool_find(const char *const folders[], const struct env *env,
		      struct ipmi_tool ret[IPMI_TOOLS])
{
	static const char *const usual[] = {"/usr/sbin",
					    "/usr/bin",
					    "/usr/local/sbin",
					    "/usr/local/bin",
					    "/sbin",
					    "/bin",
					    "/opt/cray/capmc/default/bin",
					    NULL};
	size_t n = 0;

	if (!folders)
		folders = usual;
	for (size_t i = 0; i < IPMI_TOOLS; i++) {
		for (size_t f = 0; folders[f]; f++) {
			char path[256];
			int len = snprintf(path, sizeof(path), "%s/%s", folders[f],
					   known[i].name);
			if (len < 0 || (size_t)len >= sizeof(path) ||
			    access(path, X_OK) < 0 ||
			    ipmi_tool_set(path, env, &ret[n], NULL) < 0)
				continue;
			n++;
			break;
		}
	}
	return n;
}

/* The first line of its error output */
static int say_tool_failure(const struct ipmi_tool *t, int status,
			    const struct buf *errout, struct err *err)
{
	char line[160] = "";
	size_t n = 0;

	for (size_t i = 0; i < errout->len && n < sizeof(line) - 1; i++) {
		char c = errout->data[i];
		if (c == '\n' && n)
			break;
		if (c >= ' ' && c < 127)
			line[n++] = c;
	}
	line[n] = '\0';
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "%s: killed by signal %d%s%s", t->argv[0],
			       WTERMSIG(status), n ? ": " : "", line);
	return err_set(err, -EIO, "%s: exit status %d%s%s", t->argv[0],
		       WEXITSTATUS(status), n ? ": " : "", line);
}

int ipmi_tool_run(const struct ipmi_tool *t, uint32_t deadline_ms,
		  struct ipmi_power *ret_power, struct capmc_energy *ret_energy,
		  struct err *err)
{
	auto_buf struct buf out, errout;
	int status = 0;

	buf_init(&out, OUTPUT_MAX);
	buf_init(&errout, ERROR_MAX);
	int rc = exec_run(t->argv, NULL, deadline_ms, &out, &errout, &status, err);
	if (rc < 0)
		return rc;
	if (status != 0)
		return say_tool_failure(t, status, &errout, err);
	const char *text = out.len ? out.data : "";
	rc = t->is_capmc ? capmc_energy(text, out.len, t->nid, ret_energy, err)
			 : ipmi_cmd_power(text, out.len, ret_power, err);
	return rc < 0 ? err_prefix(err, rc, "%s", t->argv[0]) : 0;
}
