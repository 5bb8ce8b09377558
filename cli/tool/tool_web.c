/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool config create-web-config, check web-config: the file for --web.config.file
 * of all our servers. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/selfsigned.h"
#include "cli/tool/tool.h"
#include "cli/tool/web_user.h"
#include "lib/cleanup.h"
#include "lib/finding.h"
#include "lib/fs.h"
#include "lib/http/web_config.h"
#include "lib/parse.h"
#include "lib/secret.h"

#define HOSTS_MAX 32

enum {
	OPT_DIR = 256,
	OPT_FILE,
	OPT_USER,
	OPT_AUTH,
	OPT_NO_AUTH,
	OPT_TLS,
	OPT_HOST,
	OPT_VALIDITY,
	OPT_FORCE
};

struct web_config_request {
	const char *dir, *file, *user;
	bool auth, tls, force;
	const char *hosts[HOSTS_MAX];
	size_t host_count;
	uint64_t validity_ms;
};

static int write_one(int dir, const struct web_config_request *w, const char *name,
		     const struct buf *text, mode_t mode, struct err *err)
{
	struct stat old;

	if (!w->force && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, -EEXIST,
			       "%s/%s exists already (--force overwrites it)", w->dir,
			       name);
	/* replacing a packaged file keeps its group, by which the service reads it */
	bool kept = fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(old.st_mode);
	int rc = fs_write_atomic_at(dir, name, text->data, text->len, mode, err);
	if (rc == 0 && kept && geteuid() == 0 &&
	    fchownat(dir, name, old.st_uid, old.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, -errno, "%s/%s: cannot keep its owner: %s", w->dir,
			       name, strerror(errno));
	return rc;
}

static int create_web_config(const struct web_config_request *w,
			     char password[WEB_USER_PASSWORD_LEN + 1], struct err *err)
{
	auto_buf struct buf text = BUF_INIT, cert = BUF_INIT;
	auto_secret struct buf key = BUF_INIT;
	int rc = 0;

	if (mkdir(w->dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", w->dir, strerror(errno));
	auto_close int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(err, -errno, "%s: %s", w->dir, strerror(errno));
	buf_puts(&text, "# Made by ceems_tool config create-web-config\n");
	if (w->tls) {
		buf_puts(&text, "tls_server_config:\n  cert_file: server.crt\n"
				"  key_file: server.key\n");
		rc = selfsigned(w->hosts, w->host_count, w->validity_ms / 1000, &cert,
				&key, err);
	}
	if (rc == 0 && w->auth && web_user_make_password(password) < 0)
		rc = err_set(err, -EIO, "no random numbers");
	if (rc == 0 && w->auth)
		rc = web_user_put(w->user, password, &text, err);
	if (rc == 0 && w->tls)
		rc = write_one(dir, w, "server.key", &key, 0640, err);
	if (rc == 0 && w->tls)
		rc = write_one(dir, w, "server.crt", &cert, 0644, err);
	return rc == 0 ? write_one(dir, w, w->file, &text, 0640, err) : rc;
}

static int read_option(struct web_config_request *w, int c, char **argv)
{
	switch (c) {
	case OPT_DIR:
		w->dir = optarg;
		return 0;
	case OPT_FILE:
		if (!*optarg || *optarg == '.' || strchr(optarg, '/'))
			return tool_usage_error("--file: a name in --output-dir: ",
						optarg);
		w->file = optarg;
		return 0;
	case OPT_USER:
		if (!*optarg || strpbrk(optarg, ":\r\n"))
			return tool_usage_error("--user: not a user name: ", optarg);
		w->user = optarg;
		return 0;
	case OPT_AUTH:
	case OPT_NO_AUTH:
		w->auth = c == OPT_AUTH;
		return 0;
	case OPT_TLS:
		w->tls = true;
		return 0;
	case OPT_HOST:
		if (w->host_count == HOSTS_MAX)
			return tool_usage_error("too many --tls.host", "");
		w->hosts[w->host_count++] = optarg;
		return 0;
	case OPT_VALIDITY:
		if (parse_duration_ms(optarg, &w->validity_ms) < 0 ||
		    w->validity_ms < 3600000 || w->validity_ms > 315360000000)
			return tool_usage_error("--tls.validity: not 1h to 87600h: ",
						optarg);
		return 0;
	case OPT_FORCE:
		w->force = true;
		return 0;
	default:
		return tool_usage_error(c == ':' ? "needs a value: "
						 : "unknown option: ",
					argv[optind - 1]);
	}
}

int tool_create_web_config(int argc, char **argv)
{
	static const struct option longs[] = {
		{"output-dir", required_argument, NULL, OPT_DIR},
		{"file", required_argument, NULL, OPT_FILE},
		{"user", required_argument, NULL, OPT_USER},
		{"basic-auth", no_argument, NULL, OPT_AUTH},
		{"no-basic-auth", no_argument, NULL, OPT_NO_AUTH},
		{"tls", no_argument, NULL, OPT_TLS},
		{"tls.host", required_argument, NULL, OPT_HOST},
		{"tls.validity", required_argument, NULL, OPT_VALIDITY},
		{"force", no_argument, NULL, OPT_FORCE},
		{NULL, 0, NULL, 0}};
	struct web_config_request w = {.dir = "config",
				       .file = "web-config.yaml",
				       .user = "ceems",
				       .auth = true,
				       .validity_ms = 31536000000};
	char host[256] = "localhost", password[WEB_USER_PASSWORD_LEN + 1] = "";
	struct err err;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		int rc = read_option(&w, c, argv);
		if (rc)
			return rc;
	}
	if (optind < argc)
		return tool_usage_error("unexpected argument: ", argv[optind]);
	if (!w.auth && !w.tls)
		return tool_usage_error("neither --basic-auth nor --tls: nothing to do",
					"");
	if (!w.host_count) {
		(void)gethostname(host, sizeof(host) - 1);
		w.hosts[w.host_count++] = host;
		w.hosts[w.host_count++] = "localhost";
	}
	if (create_web_config(&w, password, &err) < 0) {
		(void)fprintf(stderr, "ceems_tool: %s\n", err.text);
		return TOOL_FAILED;
	}
	printf("%s/%s is for --web.config.file\n", w.dir, w.file);
	if (w.tls)
		printf("%s/server.crt is what clients verify the server with\n", w.dir);
	if (w.auth) /* only its hash is stored */
		printf("user: %s\npassword: %s\n", w.user, password);
	return 0;
}

int tool_check_web_config(int argc, char **argv)
{
	struct findings f = {.out = stdout};

	if (argc < 2)
		return tool_usage_error("check web-config: name the files", "");
	for (int i = 1; i < argc; i++) {
		struct web_config c = {.tls = false};
		struct err err;
		if (web_config_load(argv[i], &c, &err) < 0) {
			finding(&f, LEVEL_FAIL, "no CEEMS server starts with it", "%s",
				err.text);
			continue;
		}
		finding(&f, LEVEL_OK, NULL, "%s: TLS %s, %zu user%s", argv[i],
			c.tls ? "on" : "off", c.user_count,
			c.user_count == 1 ? "" : "s");
		if (c.tls) {
			struct err tls;
			if (selfsigned_check(c.cert_file, c.key_file, &tls) < 0)
				finding(&f, LEVEL_FAIL, "no client will connect", "%s",
					tls.text);
		}
		if (!c.user_count && !c.client_ca_file)
			finding(&f, LEVEL_WARN,
				"basic_auth_users or client_ca_file ask for a proof",
				"%s: everybody who reaches the port is let in",
				argv[i]);
		else if (!c.tls)
			finding(&f, LEVEL_WARN, "tls_server_config, or loopback only",
				"%s: passwords cross the network in clear", argv[i]);
		web_config_done(&c);
	}
	return findings_end(&f);
}
