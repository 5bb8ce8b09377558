/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that ceems_tool setup writes: each says so, with a sum by which a file that was
 * edited since is recognised, and kept. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/selfsigned.h"
#include "cli/tool/setup.h"
#include "cli/tool/web_user.h"
#include "lib/cleanup.h"
#include "lib/crc32c.h"
#include "lib/fs.h"
#include "lib/secret.h"

#define FILE_MAX (64u << 10)
#define SUM_MARK "# sum "
#define ANSWER_MARK "# answer "
#define CERTIFICATE_S (10u * 365 * 86400)

static int join_setup_path(char ret[PATH_MAX], const char *dir, const char *folder,
			   const char *name, struct err *err)
{
	int n = snprintf(ret, PATH_MAX, "%s%s%s%s%s", dir, *folder ? "/" : "", folder,
			 *name ? "/" : "", name);

	return n > 0 && n < PATH_MAX
		       ? 0
		       : err_set(err, -ENAMETOOLONG, "%s: the name is too long", dir);
}

/* The text behind the line with the sum if that is right, else NULL: not ours any more.
 */
static const char *find_own_text(const struct buf *text)
{
	const char *line = text->data ? strchr(text->data, '\n') : NULL;
	char *end = NULL;

	if (!line || strncmp(line + 1, SUM_MARK, strlen(SUM_MARK)) != 0)
		return NULL;
	unsigned long sum = strtoul(line + 1 + strlen(SUM_MARK), &end, 16);
	if (*end != '\n')
		return NULL;
	const char *body = end + 1;
	size_t len = text->len - (size_t)(body - text->data);
	return crc32c(0, body, len) == sum ? body : NULL;
}

static int set_file_group(const char *path, const char *group, struct err *err)
{
	const struct group *g = group ? getgrnam(group) : NULL;

	if (geteuid() != 0 || !group)
		return 0;
	if (!g)
		return err_set(err, -ENOENT,
			       "%s: there is no group %s: is the package installed?",
			       path, group);
	return lchown(path, 0, g->gr_gid) == 0
		       ? 0
		       : err_set(err, -errno, "%s: %s", path, strerror(errno));
}

static int make_setup_folder(const char *path, const char *group, mode_t mode,
			     struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (chmod(path, mode) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return set_file_group(path, group, err);
}

static int write_setup_file(struct setup *s, const char *path, const char *group,
			    const struct buf *text, struct err *err)
{
	int rc = fs_write_atomic_at(AT_FDCWD, path, text->data, text->len,
				    group ? 0640 : 0644, err);
	if (rc == 0)
		rc = set_file_group(path, group, err);
	if (rc == 0)
		finding(&s->f, LEVEL_OK, NULL, "%s: written", path);
	return rc;
}

/* A file that somebody has edited. */
static int spare_file(struct setup *s, const char *path, const char *group,
		      const struct buf *text, struct err *err)
{
	char other[PATH_MAX];
	int n = snprintf(other, sizeof(other), "%s.%s", path, s->force ? "old" : "new");

	if (n < 0 || n >= (int)sizeof(other))
		return err_set(err, -ENAMETOOLONG, "%s: the name is too long", path);
	if (s->force) {
		if (rename(path, other) < 0)
			return err_set(err, -errno, "%s: %s", other, strerror(errno));
		finding(&s->f, LEVEL_WARN, "see what of it you need",
			"%s: had been edited, is now %s", path, other);
		return write_setup_file(s, path, group, text, err);
	}
	finding(&s->f, LEVEL_WARN,
		"put your changes into another file of this folder, such as "
		"60-site.yaml; setup --force then replaces this one",
		"%s: was edited since setup wrote it, kept as it is", path);
	return write_setup_file(s, other, group, text, err);
}

static int put_own_file(struct setup *s, const char *path, const char *group,
			const struct buf *body, struct err *err)
{
	auto_secret struct buf old = BUF_INIT;
	auto_secret struct buf text = BUF_INIT;
	struct err unread = {""};
	struct stat st;

	if (buf_error(body))
		return err_set(err, buf_error(body), "%s: out of memory", path);
	buf_printf(&text,
		   "# Made by ceems_tool setup %s, which may write it again: put "
		   "settings of your own into 60-site.yaml\n" SUM_MARK "%08x\n",
		   s->role->name, crc32c(0, body->data, body->len));
	buf_put(&text, body->data, body->len);
	buf_putc(&text, '\0'); /* no text in there has one */
	text.len--;
	if (buf_error(&text))
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	int rc = secret_read(path, FILE_MAX, &old, &st, &unread);
	if (rc == -ENOENT)
		return write_setup_file(s, path, group, &text, err);
	if (rc < 0)
		return err_set(err, rc, "%s", unread.text);
	buf_putc(&old, '\0');
	old.len--;
	if (!find_own_text(&old))
		return spare_file(s, path, group, &text, err);
	if (old.len == text.len && memcmp(old.data, text.data, old.len) == 0) {
		finding(&s->f, LEVEL_OK, NULL, "%s: is as it should be", path);
		return set_file_group(path, group, err);
	}
	return write_setup_file(s, path, group, &text, err);
}

int setup_put_dropin(struct setup *s, const char *folder, const char *group,
		     const struct buf *body, struct err *err)
{
	char path[PATH_MAX];
	int rc = join_setup_path(path, s->dir, folder, "", err);

	if (rc == 0)
		rc = make_setup_folder(path, group, group ? 0750 : 0755, err);
	if (rc == 0)
		rc = join_setup_path(path, s->dir, folder, SETUP_FILE, err);
	return rc < 0 ? rc : put_own_file(s, path, group, body, err);
}

/* ---- answers of the last time ---------------------------------------------------- */

static void take_old_answer(struct setup *s, const char *line, size_t len)
{
	for (size_t i = 0; s->role->questions[i].name; i++) {
		const char *name = s->role->questions[i].name;
		size_t n = strlen(name);
		if (s->given[i] || len < n + 2 || strncmp(line, name, n) != 0 ||
		    strncmp(line + n, ": ", 2) != 0 || len - n - 2 >= SETUP_ANSWER_MAX)
			continue;
		memcpy(s->answers[i], line + n + 2, len - n - 2);
		s->answers[i][len - n - 2] = '\0';
	}
}

void setup_read_answers(struct setup *s)
{
	auto_secret struct buf text = BUF_INIT;
	char path[PATH_MAX];
	struct stat st;

	if (join_setup_path(path, s->dir, s->role->folder, SETUP_FILE, NULL) < 0 ||
	    secret_read(path, FILE_MAX, &text, &st, NULL) < 0)
		return;
	buf_putc(&text, '\0');
	for (const char *line = text.data; line && *line;) {
		size_t len = strcspn(line, "\n");
		if (strncmp(line, ANSWER_MARK, strlen(ANSWER_MARK)) == 0)
			take_old_answer(s, line + strlen(ANSWER_MARK),
					len - strlen(ANSWER_MARK));
		line += len + (line[len] == '\n');
	}
}

void setup_put_answers(const struct setup *s, struct buf *body)
{
	for (size_t i = 0; s->role->questions[i].name; i++)
		buf_printf(body, ANSWER_MARK "%s: %s\n", s->role->questions[i].name,
			   s->answers[i]);
}

void setup_put_text(struct buf *out, const char *text)
{
	buf_put_json(out, text, strlen(text)); /* valid as a YAML string too */
}

void setup_put_list(struct buf *out, const char *text)
{
	char sep = '[';

	while (*text) {
		size_t len = strcspn(text, ", ");
		if (len) {
			buf_putc(out, sep);
			buf_put_json(out, text, len);
			sep = ',';
		}
		text += len + (text[len] != '\0');
	}
	if (sep == '[')
		buf_putc(out, '[');
	buf_putc(out, ']');
}

/* ---- secrets --------------------------------------------------------------------- */

/* The password in a file of its own, made where there is none. */
static int keep_password(struct setup *s, const char *path, const char *reader,
			 struct buf *password, struct err *err)
{
	char made[WEB_USER_PASSWORD_LEN + 1];
	struct stat st;
	int rc = secret_read(path, 4096, password, &st, err);

	if (rc == 0) {
		while (password->len && password->data[password->len - 1] == '\n')
			password->len--;
		buf_putc(password, '\0');
		return password->len > 1 ? buf_error(password)
					 : err_set(err, -ENODATA, "%s: is empty", path);
	}
	if (rc != -ENOENT)
		return rc;
	if (web_user_make_password(made) < 0)
		return err_set(err, -EIO, "no random numbers");
	buf_puts(password, made);
	explicit_bzero(made, sizeof(made));
	buf_putc(password, '\0');
	if (buf_error(password))
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	rc = fs_write_atomic_at(AT_FDCWD, path, password->data, password->len - 1, 0600,
				err);
	const struct passwd *p = rc == 0 && geteuid() == 0 ? getpwnam(reader) : NULL;
	if (p && lchown(path, p->pw_uid, p->pw_gid) < 0)
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (rc == 0)
		finding(&s->f, LEVEL_OK, NULL, "%s: written, for %s alone", path,
			p ? reader : "root");
	return rc;
}

/* Whether the file of the hash is ours and of the same form as what would be written:
 * a new hash of the same password is another text each time. */
static bool has_own_hash(const char *path, const struct buf *head)
{
	auto_secret struct buf old = BUF_INIT;
	struct stat st;

	if (secret_read(path, FILE_MAX, &old, &st, NULL) < 0)
		return false;
	buf_putc(&old, '\0');
	old.len--;
	const char *body = find_own_text(&old);
	return body && head->len && strncmp(body, head->data, head->len) == 0;
}

/* A certificate for this host's names, made where there is none. */
static int keep_certificate(struct setup *s, const char *secrets, const char *name,
			    const char *group, struct buf *body, struct err *err)
{
	auto_buf struct buf cert = BUF_INIT;
	auto_secret struct buf key = BUF_INIT;
	char crt[PATH_MAX], pem[PATH_MAX], file[256], host[256] = "localhost";
	const char *const hosts[] = {host, "localhost"};

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(file, sizeof(file), "%s.crt", name);
	int rc = join_setup_path(crt, secrets, "", file, err);
	(void)snprintf(file, sizeof(file), "%s.key", name);
	if (rc == 0)
		rc = join_setup_path(pem, secrets, "", file, err);
	if (rc == 0 && (access(crt, F_OK) < 0 || access(pem, F_OK) < 0)) {
		rc = selfsigned(hosts, 2, CERTIFICATE_S, &cert, &key, err);
		if (rc == 0)
			rc = fs_write_atomic_at(AT_FDCWD, pem, key.data, key.len, 0640,
						err);
		if (rc == 0)
			rc = set_file_group(pem, group, err);
		if (rc == 0)
			rc = fs_write_atomic_at(AT_FDCWD, crt, cert.data, cert.len,
						0644, err);
		if (rc == 0)
			finding(&s->f, LEVEL_OK, NULL,
				"%s: written: clients verify this server with it", crt);
	}
	buf_puts(body, "tls_server_config:\n  cert_file: ");
	setup_put_text(body, crt);
	buf_puts(body, "\n  key_file: ");
	setup_put_text(body, pem);
	buf_puts(body, "\n");
	return rc;
}

int setup_put_web(struct setup *s, const char *web, const char *name, const char *user,
		  const char *reader, const char *group, const char *listen,
		  struct err *err)
{
	auto_secret struct buf password = BUF_INIT, body = BUF_INIT;
	char secrets[PATH_MAX], path[PATH_MAX], file[256];
	int rc = join_setup_path(secrets, s->dir, "secrets", "", err);

	if (rc == 0)
		rc = make_setup_folder(secrets, NULL, 0711, err);
	(void)snprintf(file, sizeof(file), "%s-%s.password", name, user);
	if (rc == 0)
		rc = join_setup_path(path, s->dir, "secrets", file, err);
	bool made = rc == 0 && access(path, F_OK) < 0;
	if (rc == 0)
		rc = keep_password(s, path, reader, &password, err);
	if (rc == 0 && !setup_is_loopback(listen))
		rc = keep_certificate(s, secrets, name, group, &body, err);
	if (rc == 0)
		rc = join_setup_path(path, s->dir, web, SETUP_FILE, err);
	buf_printf(&body, "# the password is in %s/%s\n", secrets, file);
	if (rc == 0 && !made && has_own_hash(path, &body)) {
		finding(&s->f, LEVEL_OK, NULL, "%s: is as it should be", path);
		return 0;
	}
	if (rc == 0)
		rc = web_user_put(user, password.data, &body, err);
	return rc < 0 ? rc : setup_put_dropin(s, web, group, &body, err);
}
