/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool migrate config: from service files (or a command line) of the peer's
 * programs to configuration files of ours. Flags have kept their names, and a program
 * of ours says itself which it does not know; files of the load balancer, the Redfish
 * proxy and web servers are read by ours as they are, so that they are copied. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/migrate.h"
#include "cli/tool/migrate_unit.h"
#include "cli/tool/tool.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

static const struct counterpart {
	const char *theirs, *ours, *file;
	const char *service, *options, *web_file; /* files are copied; NULL: lines */
} counterparts[] = {
	{"ceems_exporter", "ceemsd", "ceemsd.yaml", NULL, NULL, NULL},
	{"ceems_api_server", "ceems_aggregator", "aggregator.yaml", NULL, NULL, NULL},
	{"ceems_lb", "ceems_lb", "lb.yaml", "ceems_lb.service", "CEEMS_LB_OPTIONS",
	 "lb-web.yaml"},
	{"redfish_proxy", "redfish_proxy", "redfish_proxy.yaml",
	 "redfish_proxy.service", "REDFISH_PROXY_OPTIONS", "redfish_proxy-web.yaml"},
};

struct config_migration {
	const char *root, *dir; /* what paths are below; where files go */
	bool dry_run, force;
	struct findings f;
	const struct counterpart *as;
	const char *source;                 /* of the command line in hand */
	const char *config_file, *web_file; /* of it */
};

/* A file of the peer's, below the root. */
static int read_peer_file(const struct config_migration *c, const char *path,
			  struct buf *ret, struct err *err)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s", c->root, path);

	if (n < 0 || (size_t)n >= sizeof(full))
		return err_set(err, -ENAMETOOLONG, "%.100s: too long", path);
	return fs_read_buf_at(AT_FDCWD, full, MIGRATE_BYTES_MAX, ret, err);
}

static int write_our_file(struct config_migration *c, const char *name,
			  const struct buf *text, struct err *err)
{
	char path[PATH_MAX];
	auto_buf struct buf there = {.max = MIGRATE_BYTES_MAX};
	int n = snprintf(path, sizeof(path), "%s/%s", c->dir, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%.100s: too long", c->dir);
	if (c->dry_run) {
		finding(&c->f, LEVEL_OK, NULL, "would write %s, %zu bytes", path,
			text->len);
		return 0;
	}
	int rc = fs_read_buf_at(AT_FDCWD, path, MIGRATE_BYTES_MAX, &there, NULL);
	if (rc >= 0 && there.len == text->len &&
	    (!text->len || memcmp(there.data, text->data, text->len) == 0)) {
		finding(&c->f, LEVEL_OK, NULL, "%s is as it is to be", path);
		return 0;
	}
	if (rc != -ENOENT && !c->force) {
		finding(&c->f, LEVEL_FAIL, "look at it; --force replaces it",
			"%s exists and is another: left alone", path);
		return 0;
	}
	rc = fs_write_atomic_at(AT_FDCWD, path, text->data ? text->data : "", text->len,
				0640, err);
	if (rc == 0)
		finding(&c->f, LEVEL_OK, NULL,
			"%s written, mode 0640: its service's group must be able to "
			"read it",
			path);
	return rc;
}

/* ---- flags ----------------------------------------------------------------------- */

/* --name=value, --name value, --name or --no-name at argv[*i]. False: no flag. */
static bool split_flag(const struct conf_list *argv, size_t *i, char *name, size_t size,
		       const char **ret_value)
{
	const char *s = argv->items[*i];
	size_t n = strcspn(s, "=");

	if (strncmp(s, "--", 2) != 0 || n < 3 || n - 2 >= size)
		return false;
	bool has_value = s[n] == '=';
	bool follows =
		!has_value && *i + 1 < argv->count && argv->items[*i + 1][0] != '-';
	*ret_value = has_value ? s + n + 1 : follows ? argv->items[++*i] : "true";
	s += 2;
	n -= 2;
	if (!has_value && !follows && strncmp(s, "no-", 3) == 0) {
		*ret_value = "false";
		s += 3;
		n -= 3;
	}
	(void)snprintf(name, size, "%.*s", (int)n, s);
	return true;
}

/* Adds each flag with all its values, in the order of the flags' first values. */
static int add_flag_lines(struct config_migration *c, const struct conf_list *argv,
			  struct migrated *m, struct err *err)
{
	char name[128], other[128];
	const char *value;
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < argv->count; i++) {
		struct conf_list values = {NULL, 0};
		bool again = false;
		size_t at = i;
		if (!split_flag(argv, &i, name, sizeof(name), &value)) {
			finding(&c->f, LEVEL_WARN, "set what it meant by hand",
				"%s: not a flag: %s", c->source, argv->items[i]);
			continue;
		}
		for (size_t k = 1; rc == 0 && k < argv->count; k++) {
			size_t where = k;
			if (!split_flag(argv, &k, other, sizeof(other), &value) ||
			    strcmp(name, other) != 0)
				continue;
			again |= where < at;
			if (conf_list_add(&values, value) < 0)
				rc = err_set(err, -E2BIG, "too many --%s", name);
		}
		if (rc == 0 && !again && strcmp(name, "config.file") == 0)
			c->config_file = argv->items[i];
		else if (rc == 0 && !again)
			rc = migrated_add(m, name, &values, err);
		conf_list_done(&values);
	}
	return rc;
}

/* The value alone of "--config.file=X". */
static const char *flag_value(const char *item)
{
	const char *eq = strncmp(item, "--", 2) == 0 ? strchr(item, '=') : NULL;

	return eq ? eq + 1 : item;
}

static int migrate_lines(struct config_migration *c, const struct conf_list *argv,
			 struct err *err)
{
	struct migrated m = {.f = &c->f};
	auto_buf struct buf text = {.max = MIGRATE_BYTES_MAX},
			    theirs = {.max = MIGRATE_BYTES_MAX},
			    whole = {.max = MIGRATE_BYTES_MAX};
	int rc = add_flag_lines(c, argv, &m, err);

	if (rc == 0 && c->config_file) {
		const char *path = flag_value(c->config_file);
		rc = read_peer_file(c, path, &theirs, err);
		if (rc >= 0)
			rc = migrate_api_config(path, theirs.data ? theirs.data : "",
						theirs.len, &m, err);
	}
	if (rc == 0)
		rc = migrated_settle(&m, c->as->ours, &text, err);
	conf_list_done(&m.lines);
	if (rc < 0)
		return rc;
	buf_printf(&whole, "# of %s, by ceems_tool migrate config\n", c->source);
	buf_put(&whole, text.data ? text.data : "", text.len);
	return buf_error(&whole) ? err_set(err, -ENOMEM, "out of memory")
				 : write_our_file(c, c->as->file, &whole, err);
}

/* ---- files that are read as they are --------------------------------------------- */

static int copy_file(struct config_migration *c, const char *path, const char *name,
		     struct err *err)
{
	auto_buf struct buf text = {.max = MIGRATE_BYTES_MAX};
	int rc = read_peer_file(c, path, &text, err);

	return rc < 0 ? rc : write_our_file(c, name, &text, err);
}

static void put_option(struct buf *b, const char *s)
{
	buf_putc(b, ' ');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_putc(b, '\\');
		buf_putc(b, *s);
	}
}

static int migrate_copies(struct config_migration *c, const struct conf_list *argv,
			  struct err *err)
{
	auto_buf struct buf unit = {.max = MIGRATE_BYTES_MAX};
	char name[128];
	const char *value;
	size_t kept = 0;
	int rc = 0;

	buf_printf(&unit, "# of %s, by ceems_tool migrate config\n[Service]\n",
		   c->source);
	buf_printf(&unit, "Environment=\"%s=", c->as->options);
	for (size_t i = 1; rc == 0 && i < argv->count; i++) {
		size_t at = i;
		if (!split_flag(argv, &i, name, sizeof(name), &value)) {
			finding(&c->f, LEVEL_WARN, "set what it meant by hand",
				"%s: not a flag: %s", c->source, argv->items[i]);
		} else if (strcmp(name, "config.file") == 0) {
			rc = copy_file(c, value, c->as->file, err);
		} else if (strcmp(name, "web.config.file") == 0) {
			rc = copy_file(c, value, c->as->web_file, err);
		} else {
			for (; at <= i; at++, kept++)
				put_option(&unit, argv->items[at]);
		}
	}
	buf_puts(&unit, "\"\n");
	if (rc == 0 && buf_error(&unit))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0 && kept) {
		(void)snprintf(name, sizeof(name), "%s.ceems.conf", c->as->service);
		rc = write_our_file(c, name, &unit, err);
		finding(&c->f, LEVEL_OK, NULL, "%s is for /etc/systemd/system/%s.d/",
			name, c->as->service);
	}
	if (rc == 0 && !c->dry_run) {
		char path[PATH_MAX];
		(void)snprintf(path, sizeof(path), "%s/%s", c->dir, c->as->file);
		if (access(path, R_OK) == 0)
			tool_check_program_config(c->as->ours, path, &c->f);
	}
	return rc;
}

/* ---- whole command lines --------------------------------------------------------- */

static int migrate_argv(struct config_migration *c, const struct conf_list *argv,
			struct err *err)
{
	const char *slash = argv->count ? strrchr(argv->items[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argv->count ? argv->items[0] : "";

	c->as = NULL;
	c->config_file = c->web_file = NULL;
	for (size_t i = 0; i < sizeof(counterparts) / sizeof(counterparts[0]); i++)
		if (strcmp(counterparts[i].theirs, name) == 0)
			c->as = &counterparts[i];
	if (!c->as)
		return err_set(err, -EINVAL,
			       "%s: it runs %.60s, which is none of ceems_exporter, "
			       "ceems_api_server, ceems_lb and redfish_proxy",
			       c->source, name);
	return c->as->service ? migrate_copies(c, argv, err)
			      : migrate_lines(c, argv, err);
}

static int read_unit_file(struct config_migration *c, const char *path,
			  struct unit_file *u, struct err *err)
{
	auto_buf struct buf text = {.max = UNIT_BYTES_MAX};
	int rc = fs_read_buf_at(AT_FDCWD, path, UNIT_BYTES_MAX, &text, err);

	(void)c;
	return rc < 0 ? rc : unit_read(u, text.data ? text.data : "", text.len, err);
}

/* The service file, its drop-ins, and the files of its environment. */
static int read_service(struct config_migration *c, const char *path,
			struct unit_file *u, struct err *err)
{
	char pattern[PATH_MAX];
	glob_t found = {.gl_pathc = 0};
	int rc = read_unit_file(c, path, u, err);

	if (rc < 0)
		return rc;
	(void)snprintf(pattern, sizeof(pattern), "%s.d/*.conf", path);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; rc == 0 && i < found.gl_pathc && i < 100; i++)
			rc = read_unit_file(c, found.gl_pathv[i], u, err);
	globfree(&found);
	for (size_t i = 0; rc == 0 && i < u->files.count; i++) {
		auto_buf struct buf text = {.max = UNIT_BYTES_MAX};
		if (read_peer_file(c, u->files.items[i], &text, NULL) >= 0)
			rc = unit_read_environment(u, text.data ? text.data : "",
						   text.len, err);
		else
			finding(&c->f, LEVEL_WARN, "it may hold options",
				"%s: %s cannot be read", path, u->files.items[i]);
	}
	return rc;
}

static int migrate_service(struct config_migration *c, const char *path,
			   struct err *err)
{
	struct unit_file u = {.exec = NULL};

	c->source = path;
	int rc = read_service(c, path, &u, err);
	if (rc == 0) {
		rc = unit_expand(&u, err);
		if (rc < 0)
			rc = err_prefix(err, rc, "%s", path);
	}
	if (rc == 0)
		rc = migrate_argv(c, &u.argv, err);
	unit_done(&u);
	return rc;
}

enum { OPT_DRY = 256, OPT_DIR, OPT_ROOT, OPT_FORCE };

static int read_arguments(int argc, char **argv, struct config_migration *c)
{
	static const struct option longs[] = {
		{"dry-run", no_argument, NULL, OPT_DRY},
		{"output-dir", required_argument, NULL, OPT_DIR},
		{"root", required_argument, NULL, OPT_ROOT},
		{"force", no_argument, NULL, OPT_FORCE},
		{NULL, 0, NULL, 0}};
	int k;

	opterr = 0;
	while ((k = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		if (k == OPT_DRY)
			c->dry_run = true;
		else if (k == OPT_DIR)
			c->dir = optarg;
		else if (k == OPT_ROOT)
			c->root = optarg;
		else if (k == OPT_FORCE)
			c->force = true;
		else
			return tool_usage_error(k == ':' ? "needs a value: "
							 : "unknown option: ",
						argv[optind - 1]);
	}
	if (optind == argc)
		return tool_usage_error("migrate config: service files, or -- and a "
					"command line",
					"");
	return 0;
}

int tool_migrate_config(int argc, char **argv)
{
	struct config_migration c = {
		.root = "", .dir = "/etc/ceems", .f = {.out = stdout}};
	struct err err;
	int rc = read_arguments(argc, argv, &c);

	if (rc)
		return rc;
	if (strcmp(argv[optind - 1], "--") == 0) {
		const struct conf_list words = {argv + optind, (size_t)(argc - optind)};
		c.source = "the command line";
		rc = migrate_argv(&c, &words, &err);
	} else {
		for (int i = optind; rc == 0 && i < argc; i++)
			rc = migrate_service(&c, argv[i], &err);
	}
	if (rc < 0) {
		fprintf(stderr, "ceems_tool: %s\n", err.text);
		return TOOL_FAILED;
	}
	return findings_end(&c.f);
}
