/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose request it is: each proof, each claim that is none, a real MUNGE daemon. */
#include "lib/identity/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/identity/munge.h"
#include "test/unit/jwt_make.h"
#include "test/unit/scratch.h"

static const char *const one_header[] = {"X-Grafana-User"};
static const char *const headers[] = {"X-Grafana-User", "X-Auth-Request-User"};
static const char *const fronts[] = {"certificate:grafana", "password:lb"};
static const char *const near[] = {"10.0.0.0/8"};

static struct identity *id;
static struct identity_who who;
static struct err err;
static char dir[SCRATCH_PATH], socket_path[SCRATCH_PATH + 16];
static pid_t munged;

static void use(const struct identity_params *p)
{
	identity_free(id);
	id = NULL;
	if (identity_new(p, &id, &err) < 0)
		fail_msg("%s", err.text);
}

static void use_fronts(void)
{
	use(&(struct identity_params){.front_ends = fronts,
				      .front_end_count = 2,
				      .user_headers = headers,
				      .user_header_count = 2});
}

static struct identity_facts facts(void)
{
	return (struct identity_facts){.method = "GET", .target = "/api/v1/units?x=1"};
}

static void name(struct identity_facts *f, enum identity_certificate kind,
		 const char *text)
{
	f->client_certificate = true;
	f->names[f->name_count++] = (struct identity_name){kind, text};
}

static void user(struct identity_facts *f, size_t header, const char *login)
{
	f->user[header].count++;
	if (!f->user[header].first)
		f->user[header].first = login;
}

static int prove(const struct identity_facts *f)
{
	who = (struct identity_who){.login = "untouched"};
	err.text[0] = '\0';
	return identity_prove(id, f, &who, &err);
}

static void nothing_proves_nothing(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use_fronts();
	assert_int_equal(prove(&f), -EACCES);
	assert_string_equal(who.login, "untouched");
	assert_int_equal(identity_status(-EACCES), 401);
}

static void a_header_alone_is_never_enough(void **state)
{
	(void)state;
	use_fronts();
	for (size_t i = 0; i < 2; i++) {
		struct identity_facts f = facts();
		user(&f, i, "alice");
		assert_int_equal(prove(&f), -EACCES);
		assert_non_null(strstr(err.text, "header alone"));
		/* nor beside a password or a certificate of somebody else */
		f.password_user = "prometheus";
		assert_int_equal(prove(&f), -EACCES);
		name(&f, CERTIFICATE_CN, "prometheus");
		assert_int_equal(prove(&f), -EACCES);
	}
}

static void a_front_end_speaks_for_its_user(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use_fronts();
	name(&f, CERTIFICATE_DNS, "grafana.example");
	name(&f, CERTIFICATE_CN, "grafana");
	user(&f, 0, "alice");
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.login, "alice");
	assert_string_equal(who.front, "certificate:grafana");
	assert_int_equal(who.way, WAY_FRONT_END);

	f = facts();
	f.password_user = "lb";
	user(&f, 1, "bob@site.example");
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.login, "bob@site.example");
	assert_string_equal(who.front, "password:lb");
}

/* The kind is part of the name: a user called as a certificate is not it. */
static void a_front_end_is_what_it_is_listed_as(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use_fronts();
	user(&f, 0, "alice");
	f.password_user = "grafana";
	assert_int_equal(prove(&f), -EACCES);
	f.password_user = NULL;
	name(&f, CERTIFICATE_CN, "lb");
	assert_int_equal(prove(&f), -EACCES);
}

static void two_headers_are_refused(void **state)
{
	(void)state;
	use_fronts();
	for (size_t second = 0; second < 2; second++) {
		struct identity_facts f = facts();
		f.password_user = "lb";
		user(&f, 0, "alice");
		user(&f, second, "alice");
		assert_int_equal(prove(&f), -EINVAL);
		assert_int_equal(identity_status(-EINVAL), 400);
	}
	struct identity_facts f = facts();
	f.password_user = "lb";
	user(&f, 0, "alice");
	f.authorizations = 2;
	assert_int_equal(prove(&f), -EINVAL);
}

static void a_front_end_that_names_nobody_is_nobody(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use_fronts();
	f.password_user = "lb";
	assert_int_equal(prove(&f), -EACCES);
	assert_non_null(strstr(err.text, "X-Grafana-User"));
}

static void what_is_no_login_is_refused(void **state)
{
	static const char *const bad[] = {"",         " alice", "alice bob", "a\nb",
					  "a'b",      "a;b",    "-a",        "a/b",
					  "\xc3\xa9", "a,b",    "a\\b"};

	(void)state;
	use_fronts();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct identity_facts f = facts();
		f.password_user = "lb";
		user(&f, 0, bad[i]);
		assert_int_equal(prove(&f), -EINVAL);
	}
}

static void a_front_end_comes_from_where_it_should(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use(&(struct identity_params){.front_ends = fronts,
				      .front_end_count = 2,
				      .front_end_addresses = near,
				      .front_end_address_count = 1,
				      .user_headers = one_header,
				      .user_header_count = 1});
	f.password_user = "lb";
	user(&f, 0, "alice");
	assert_int_equal(prove(&f), -EPERM);
	f.has_peer = true;
	assert_int_equal(netaddr_parse("192.0.2.1", &f.peer), 0);
	assert_int_equal(prove(&f), -EPERM);
	assert_int_equal(netaddr_parse("10.1.2.3", &f.peer), 0);
	assert_int_equal(prove(&f), 0);
}

static void come_from(struct identity_facts *f, const char *address)
{
	f->has_peer = true;
	assert_int_equal(netaddr_parse(address, &f->peer), 0);
}

/* One login may be two people: who proved a number says so. */
static void a_front_end_may_say_the_number_too(void **state)
{
	struct identity_facts f = facts();

	(void)state;
	use_fronts();
	f.password_user = "lb";
	user(&f, 0, "alice");
	assert_int_equal(prove(&f), 0);
	assert_false(who.has_uid);
	f.uids = 1;
	f.uid = "1001";
	assert_int_equal(prove(&f), 0);
	assert_true(who.has_uid);
	assert_int_equal(who.uid, 1001);
	f.uid = "root";
	assert_int_equal(prove(&f), -EINVAL);
	f.uid = "1001";
	f.uids = 2;
	assert_int_equal(prove(&f), -EINVAL);
	/* nobody else may */
	f = facts();
	f.uids = 1;
	f.uid = "1001";
	assert_int_equal(prove(&f), -EACCES);
}

/* The site may say so; a number by password is a word like the name. */
static void a_front_end_gives_no_role_unless_told(void **state)
{
	struct identity_params p = {.front_ends = fronts,
				    .front_end_count = 2,
				    .user_headers = headers,
				    .user_header_count = 2};
	struct identity_facts f = facts();

	(void)state;
	use(&p);
	f.password_user = "lb";
	user(&f, 0, "alice");
	assert_int_equal(prove(&f), 0);
	assert_true(who.named);
	f.uids = 1;
	f.uid = "1001";
	assert_int_equal(prove(&f), 0);
	assert_true(who.named);
	p.front_end_roles = true;
	use(&p);
	assert_int_equal(prove(&f), 0);
	assert_false(who.named);
	f.no_role = true;
	assert_int_equal(prove(&f), 0);
	assert_true(who.named);
}

static void a_front_end_names_no_root(void **state)
{
	static const char *const names[] = {"root", "slurm", "alice"};
	struct identity_params p = {.front_ends = fronts,
				    .front_end_count = 2,
				    .front_end_roles = true,
				    .user_headers = headers,
				    .user_header_count = 2};

	(void)state;
	use(&p);
	for (size_t i = 0; i < 3; i++) {
		struct identity_facts f = facts();
		f.password_user = "lb";
		user(&f, 0, names[i]);
		assert_int_equal(prove(&f), i < 2 ? -EPERM : 0);
		f.uids = 1;
		f.uid = "0";
		assert_int_equal(prove(&f), -EPERM);
		assert_non_null(
			strstr(err.text, "a front end cannot name root or slurm"));
	}
}

static void metrics_are_not_for_users_or_front_ends(void **state)
{
	static const char *const listed[] = {"password:prom", "certificate:prom.site",
					     "192.0.2.7"};
	struct identity_params p = {.front_ends = fronts,
				    .front_end_count = 2,
				    .user_headers = headers,
				    .user_header_count = 2};
	struct identity_facts f = facts(), none = f;

	(void)state;
	use(&p);
	assert_int_equal(identity_check_metrics(id, &none, &err), 0);
	f.password_user = "lb";
	assert_int_equal(identity_check_metrics(id, &f, &err), -EPERM);
	f.password_user = "prom";
	assert_int_equal(identity_check_metrics(id, &f, &err), 0);
	user(&f, 0, "alice");
	assert_int_equal(identity_check_metrics(id, &f, &err), -EPERM);
	/* a list is the whole of it */
	p.metrics = listed;
	p.metrics_count = 3;
	use(&p);
	assert_int_equal(identity_check_metrics(id, &none, &err), -EPERM);
	assert_int_equal(identity_check_metrics(id, &f, &err), -EPERM);
	f = none;
	f.password_user = "prom";
	assert_int_equal(identity_check_metrics(id, &f, &err), 0);
	f.password_user = "other";
	assert_int_equal(identity_check_metrics(id, &f, &err), -EPERM);
	f.has_peer = netaddr_parse("192.0.2.7", &f.peer) == 0;
	assert_int_equal(identity_check_metrics(id, &f, &err), 0);
	f = none;
	f.names[0] = (struct identity_name){CERTIFICATE_DNS, "prom.site"};
	f.name_count = 1;
	f.client_certificate = true;
	assert_int_equal(identity_check_metrics(id, &f, &err), 0);
}

/* Its own address is the one that counts; one name may be on several hosts. */
static void a_front_end_has_an_address_of_its_own(void **state)
{
	static const char *const list[] = {"password:lb@10.0.0.5",
					   "password:lb@fd00::/64",
					   "certificate:web@site.example"};
	struct identity_facts f = facts();

	(void)state;
	use(&(struct identity_params){.front_ends = list,
				      .front_end_count = 3,
				      .front_end_addresses = near,
				      .front_end_address_count = 1,
				      .user_headers = one_header,
				      .user_header_count = 1});
	f.password_user = "lb";
	user(&f, 0, "alice");
	assert_int_equal(prove(&f), -EPERM);
	come_from(&f, "10.0.0.6");
	assert_int_equal(prove(&f), -EPERM);
	assert_non_null(strstr(err.text, "password:lb@ADDRESS"));
	come_from(&f, "10.0.0.5");
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.front, "password:lb");
	come_from(&f, "fd00::7");
	assert_int_equal(prove(&f), 0);
	f.password_user = NULL;
	name(&f, CERTIFICATE_EMAIL, "web@site.example");
	assert_int_equal(prove(&f), -EPERM);
	come_from(&f, "10.9.9.9");
	assert_int_equal(prove(&f), 0);
}

static bool has_reserve(const char *address)
{
	struct netaddr a;

	assert_int_equal(netaddr_parse(address, &a), 0);
	return identity_is_front_address(id, &a);
}

static void addresses_of_front_ends_are_known(void **state)
{
	static const char *const list[] = {"password:lb@10.0.0.5",
					   "munge:ceems-lb@fd00::/64", "password:web"};
	static const char *const ranges[] = {"10.1.0.0/16", "10.0.0.0/8", "fd01::/32"};
	static const char *const are[] = {"10.0.0.5", "fd00::7", "10.1.2.3"};
	/* where anybody may be has none */
	static const char *const others[] = {"10.0.0.6", "10.9.9.9", "fd01::1",
					     "127.0.0.1"};

	(void)state;
	use(&(struct identity_params){.front_ends = list,
				      .front_end_count = 3,
				      .front_end_addresses = ranges,
				      .front_end_address_count = 3,
				      .user_headers = one_header,
				      .user_header_count = 1});
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		assert_true(has_reserve(are[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(has_reserve(others[i]));
}

static void a_users_certificate_is_read_by_the_sites_rule(void **state)
{
	struct identity_params p = {.certificate = CERTIFICATE_EMAIL,
				    .certificate_suffix = "@site.example",
				    .user_headers = one_header,
				    .user_header_count = 1};
	struct identity_facts f = facts();

	(void)state;
	use(&p);
	name(&f, CERTIFICATE_CN, "mallory@site.example");
	assert_int_equal(prove(&f), -EACCES);
	name(&f, CERTIFICATE_EMAIL, "alice@Site.example");
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.login, "alice");
	assert_int_equal(who.way, WAY_CERTIFICATE);
	user(&f, 0, "bob");
	assert_int_equal(prove(&f), -EPERM);
	assert_int_equal(identity_status(-EPERM), 403);

	f = facts();
	name(&f, CERTIFICATE_EMAIL, "alice@other.example");
	assert_int_equal(prove(&f), -EACCES);
	name(&f, CERTIFICATE_EMAIL, "alice@site.example");
	name(&f, CERTIFICATE_EMAIL, "bob@site.example");
	assert_int_equal(prove(&f), -EPERM);
	p.certificate = CERTIFICATE_OFF;
	use(&p);
	assert_int_equal(prove(&f), -EACCES);
}

/* ---- tokens ---------------------------------------------------------------------- */

static void a_token_proves_and_agrees_with_its_front_end(void **state)
{
	static const char *const iss[] = {"https://g/"}, *const aud[] = {"org:1"};
	char path[SCRATCH_PATH + 16], claims[256];
	auto_buf struct buf set = BUF_INIT, token = BUF_INIT;
	gnutls_privkey_t key = jwt_new_key();
	unsigned long long now = (unsigned long long)time(NULL);

	(void)state;
	snprintf(path, sizeof(path), "%s/keys", dir);
	buf_puts(&set, "{\"keys\":[");
	jwt_put_jwk(&set, key, "k");
	buf_puts(&set, "]}");
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, set.data, set.len, 0600, &err), 0);
	snprintf(claims, sizeof(claims),
		 "{\"iss\":\"https://g/"
		 "\",\"aud\":\"org:1\",\"sub\":\"user:1\",\"username\":\"alice\","
		 "\"iat\":%llu,\"exp\":%llu}",
		 now, now + 600);
	jwt_sign(&token, key, "{\"alg\":\"ES256\",\"kid\":\"k\"}", claims);
	gnutls_privkey_deinit(key);
	use(&(struct identity_params){.front_ends = fronts,
				      .front_end_count = 2,
				      .user_headers = one_header,
				      .user_header_count = 1,
				      .token_keys = path,
				      .token_issuers = iss,
				      .token_issuer_count = 1,
				      .token_audiences = aud,
				      .token_audience_count = 1});
	struct identity_facts f = facts();
	f.tokens = 1;
	f.token = token.data;
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.login, "alice");
	assert_int_equal(who.way, WAY_TOKEN);
	user(&f, 0, "bob");
	assert_int_equal(prove(&f), -EPERM);
	f.password_user = "lb";
	assert_int_equal(prove(&f), -EPERM);
	f.user[0].first = "alice";
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.front, "password:lb");
	f.tokens = 2;
	assert_int_equal(prove(&f), -EINVAL);
	f.tokens = 1;
	f.token = "a.b.c";
	assert_int_equal(prove(&f), -EACCES);

	use_fronts(); /* tokens are off */
	f = facts();
	f.tokens = 1;
	f.token = token.data;
	assert_int_equal(prove(&f), -EACCES);
}

static void token_keys_need_issuer_and_audience(void **state)
{
	const struct identity_params p = {.user_headers = one_header,
					  .user_header_count = 1,
					  .token_keys = "/nonexistent"};
	struct identity *x = NULL;

	(void)state;
	assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
	assert_null(x);
}

/* ---- MUNGE ----------------------------------------------------------------------- */

/* A daemon of our own, of this very user; false: there is none here. */
static bool start_munged(void)
{
	char key[SCRATCH_PATH + 32], sock[SCRATCH_PATH + 32], pid[SCRATCH_PATH + 32];
	char log[SCRATCH_PATH + 32], seed[SCRATCH_PATH + 32], path[SCRATCH_PATH + 16];
	char bytes[128];

	if (access("/usr/sbin/munged", X_OK) < 0)
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 3);
	snprintf(path, sizeof(path), "%s/munge.key", dir);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, bytes, sizeof(bytes), 0600, &err),
		0);
	snprintf(key, sizeof(key), "--key-file=%s", path);
	snprintf(sock, sizeof(sock), "--socket=%s", socket_path);
	snprintf(pid, sizeof(pid), "--pid-file=%s/pid", dir);
	snprintf(log, sizeof(log), "--log-file=%s/log", dir);
	snprintf(seed, sizeof(seed), "--seed-file=%s/seed", dir);
	munged = fork();
	assert_true(munged >= 0);
	if (munged == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 1);
		dup2(null, 2);
		execl("/usr/sbin/munged", "munged", "--foreground", "--force", key,
		      sock, pid, log, seed, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 6000 && access(socket_path, F_OK) < 0; i++)
		usleep(10000);
	return access(socket_path, F_OK) == 0;
}

static struct identity_facts with_credential(struct buf *header, const char *payload)
{
	struct identity_facts f = facts();

	buf_reset(header);
	buf_puts(header, "MUNGE ");
	assert_int_equal(
		munge_write(socket_path, payload, strlen(payload), header, &err), 0);
	f.authorizations = 1;
	f.authorization = header->data;
	return f;
}

#define PAYLOAD "ceems-api/1 GET /api/v1/units?x=1"

static void a_munge_credential_is_its_makers_for_one_request(void **state)
{
	auto_buf struct buf header = BUF_INIT;
	const struct passwd *me = getpwuid(getuid());

	(void)state;
	if (!me || !start_munged())
		skip();
	struct identity_params p = {.munge = true,
				    .munge_socket = socket_path,
				    .munge_unbound = true,
				    .user_headers = one_header,
				    .user_header_count = 1};
	use(&p);
	struct identity_facts f = with_credential(&header, PAYLOAD);
	assert_int_equal(prove(&f), 0);
	assert_string_equal(who.login, me->pw_name);
	assert_int_equal(who.uid, getuid());
	assert_true(who.has_uid);
	assert_int_equal(prove(&f), -EACCES); /* replayed */
	assert_non_null(strstr(err.text, "Replayed"));

	static const char *const wrong[] = {"ceems-api/1 GET /api/v1/units?x=2",
					    "ceems-api/1 POST /api/v1/units?x=1",
					    "ceems-api/1 GET /api/v1/units",
					    "ceems-ingest/1 GET /api/v1/units?x=1",
					    "ceems-api/1 GET /api/v1/units?x=1 ",
					    "",
					    "ceems-redfish-proxy/1 node1"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		f = with_credential(&header, wrong[i]);
		assert_int_equal(prove(&f), -EACCES);
	}
	f = with_credential(&header, PAYLOAD);
	user(&f, 0, "bob");
	assert_int_equal(prove(&f), -EPERM);
	f = with_credential(&header, PAYLOAD);
	f.uids = 1;
	f.uid = "0";
	assert_int_equal(prove(&f), -EPERM);
	f = with_credential(&header, PAYLOAD);
	f.tokens = 1;
	f.token = "a.b.c";
	assert_int_equal(prove(&f), -EPERM);

	/* forged: one byte in its middle */
	f = with_credential(&header, PAYLOAD);
	header.data[header.len / 2] = header.data[header.len / 2] == 'A' ? 'B' : 'A';
	assert_int_equal(prove(&f), -EACCES);
	f.authorization = "MUNGE ";
	assert_int_equal(prove(&f), -EACCES);

	p.munge_unbound = false;
	use(&p);
	f = with_credential(&header, PAYLOAD);
	assert_int_equal(prove(&f), -EACCES);
	assert_non_null(strstr(err.text, "identity.munge-unbound"));

	p.munge = false;
	use(&p);
	f = with_credential(&header, PAYLOAD);
	assert_int_equal(prove(&f), -EACCES);
	p.munge = true;
	p.munge_socket = "/nonexistent/munge.socket";
	use(&p);
	f = with_credential(&header, PAYLOAD);
	assert_int_equal(prove(&f), -EHOSTDOWN);
	assert_int_equal(identity_status(-EHOSTDOWN), 503);
}

static void a_bound_credential_is_for_one_host_and_body(void **state)
{
	static const char *const hosts[] = {"agg.site"};
	static const char url[] = "http://AGG.site/api/v1/units?x=1";
	auto_buf struct buf header = BUF_INIT;
	struct identity_params p = {.munge = true,
				    .munge_socket = socket_path,
				    .munge_hosts = hosts,
				    .munge_host_count = 1,
				    .user_headers = one_header,
				    .user_header_count = 1};
	struct identity_facts f = facts();

	(void)state;
	if (!munged)
		skip();
	use(&p);
	for (int i = 0; i < 2; i++) {
		p.munge_host_count = i ? 0 : 1;
		use(&p);
		buf_reset(&header);
		buf_puts(&header, "MUNGE ");
		assert_int_equal(munge_request_write(socket_path, "GET", url, "x=1", 3,
						     &header, &err),
				 0);
		f.authorizations = 1;
		f.authorization = header.data;
		assert_int_equal(prove(&f), i ? -EACCES : 0);
		if (i)
			assert_non_null(strstr(err.text, "for host agg.site, which"));
		else
			assert_int_equal(identity_check_body(&who, "x=1", 3, &err), 0);
		if (!i)
			assert_int_equal(identity_check_body(&who, "x=2", 3, &err),
					 -EACCES);
	}
}

static int prove_front(const char *front, const char *peer)
{
	auto_buf struct buf header = BUF_INIT;
	const struct identity_params p = {.munge = true,
					  .munge_unbound = true,
					  .munge_socket = socket_path,
					  .front_ends = &front,
					  .front_end_count = 1,
					  .user_headers = one_header,
					  .user_header_count = 1};

	use(&p);
	struct identity_facts f = with_credential(&header, PAYLOAD);
	user(&f, 0, "bob");
	if (peer)
		come_from(&f, peer);
	return prove(&f);
}

/* Its account is there on each host that has the site's key. */
static void a_munge_front_end_is_an_account_at_an_address(void **state)
{
	const struct passwd *me = getpwuid(getuid());
	char name[80], there[96], number[32], range[48], other[48];

	(void)state;
	if (!me || !munged)
		skip();
	snprintf(name, sizeof(name), "munge:%s", me->pw_name);
	snprintf(there, sizeof(there), "munge:%s@10.0.0.5", me->pw_name);
	snprintf(number, sizeof(number), "munge:%u", getuid());
	snprintf(range, sizeof(range), "munge:%u@10.0.0.0/24", getuid());
	snprintf(other, sizeof(other), "munge:%u@10.0.0.5", getuid() + 1);
	assert_int_equal(prove_front(name, NULL), -EPERM);
	assert_int_equal(prove_front(name, "10.0.0.5"), -EPERM);
	assert_int_equal(prove_front(number, "10.0.0.5"), -EPERM);
	assert_int_equal(prove_front(name, "127.0.0.1"), 0);
	assert_string_equal(who.login, "bob");
	assert_false(who.has_uid);
	assert_int_equal(prove_front(number, "::1"), 0);
	assert_int_equal(prove_front(there, "10.0.0.5"), 0);
	assert_int_equal(prove_front(there, "10.0.0.6"), -EPERM);
	assert_int_equal(prove_front(there, "127.0.0.1"), -EPERM);
	assert_int_equal(prove_front(range, "10.0.0.77"), 0);
	assert_string_equal(who.front, number);
	/* another account is a user, and no user may name another one */
	assert_int_equal(prove_front(other, "10.0.0.5"), -EPERM);
	assert_non_null(strstr(err.text, "only a front end"));
}

static void parameters_that_make_no_sense_are_named(void **state)
{
	static const char *const bad_front[] = {"grafana"}, *const empty[] = {"munge:"};
	static const char *const bad_at[] = {"munge:lb@10.0.0.300",
					     "munge:lb@10.0.0.5/8", "munge:@10.0.0.5",
					     "token:x", "10.0.0.5"};
	static const char *const bad_range[] = {"10.0.0.1/8"}, *const bad_header[] = {
								       "a b"};
	struct identity *x = NULL;

	(void)state;
	struct identity_params p = {.front_ends = bad_front,
				    .front_end_count = 1,
				    .user_headers = one_header,
				    .user_header_count = 1};
	assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
	assert_non_null(strstr(err.text, "identity.front-end: grafana"));
	p.front_ends = empty;
	assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
	for (size_t i = 0; i < sizeof(bad_at) / sizeof(bad_at[0]); i++) {
		p.front_ends = &bad_at[i];
		assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad_at[i]));
	}
	p.front_end_count = 0;
	p.front_end_addresses = bad_range;
	p.front_end_address_count = 1;
	assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
	p.front_end_address_count = 0;
	p.user_headers = bad_header;
	assert_int_equal(identity_new(&p, &x, &err), -EINVAL);
	assert_null(x);
}

static int begin(void **state)
{
	(void)state;
	scratch_make(dir);
	snprintf(socket_path, sizeof(socket_path), "%s/munge.sock", dir);
	return 0;
}

static int end(void **state)
{
	int status;

	(void)state;
	identity_free(id);
	if (munged > 0) {
		kill(munged, SIGTERM);
		waitpid(munged, &status, 0);
	}
	scratch_remove(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_proves_nothing),
		cmocka_unit_test(a_header_alone_is_never_enough),
		cmocka_unit_test(a_front_end_speaks_for_its_user),
		cmocka_unit_test(a_front_end_is_what_it_is_listed_as),
		cmocka_unit_test(two_headers_are_refused),
		cmocka_unit_test(a_front_end_that_names_nobody_is_nobody),
		cmocka_unit_test(what_is_no_login_is_refused),
		cmocka_unit_test(a_front_end_comes_from_where_it_should),
		cmocka_unit_test(a_front_end_gives_no_role_unless_told),
		cmocka_unit_test(a_front_end_names_no_root),
		cmocka_unit_test(metrics_are_not_for_users_or_front_ends),
		cmocka_unit_test(a_front_end_has_an_address_of_its_own),
		cmocka_unit_test(addresses_of_front_ends_are_known),
		cmocka_unit_test(a_front_end_may_say_the_number_too),
		cmocka_unit_test(a_users_certificate_is_read_by_the_sites_rule),
		cmocka_unit_test(a_token_proves_and_agrees_with_its_front_end),
		cmocka_unit_test(token_keys_need_issuer_and_audience),
		cmocka_unit_test(a_munge_credential_is_its_makers_for_one_request),
		cmocka_unit_test(a_bound_credential_is_for_one_host_and_body),
		cmocka_unit_test(a_munge_front_end_is_an_account_at_an_address),
		cmocka_unit_test(parameters_that_make_no_sense_are_named),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
