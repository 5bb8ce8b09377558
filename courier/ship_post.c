/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One POST to an aggregator, and the sender's authentication. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "courier/ship.h"
#include "lib/cleanup.h"
#include "lib/http/client_url.h"
#include "lib/identity/munge_request.h"
#include "lib/records/report_clock.h"
#include "lib/records/tlv.h"
#include "lib/secret.h"

#define WHOLE_KEPT ((size_t)128 << 10) /* memory kept between POSTs */

enum proof { PROOF_MUNGE, PROOF_TOKEN, PROOF_CERTIFICATE };

struct ship_post {
	struct http_client *client;
	struct http_response answer;
	struct buf whole, packed;
	const char *hostname, *path;
	enum proof proof;
	const char *token_file, *munge_socket; /* the options' */
	char *urls[SHIP_URLS_MAX];
	size_t url_count;
	uint64_t bytes;
};

/* A token must not be sent where others can read it. */
static bool is_safe_for_tokens(const char *url)
{
	static const char *const local[] = {"http://127.0.0.1", "http://[::1]",
					    "http://localhost"};

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		size_t n = strlen(local[i]);
		if (strncasecmp(url, local[i], n) == 0 &&
		    (url[n] == '\0' || url[n] == ':' || url[n] == '/'))
			return true;
	}
	return false;
}

static int add_url(struct ship_post *p, const char *url, struct err *err)
{
	size_t n = strlen(url);
	struct http_url_parts parts;

	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return err_set(
			err, -EINVAL,
			"--aggregator.url: \"%.100s\" must begin with http:// or "
			"https://",
			url);
	if (strchr(url, ','))
		return err_set(err, -EINVAL,
			       "--aggregator.url: \"%.100s\" is one URL; give the "
			       "option once for each",
			       url);
	if (http_url_split(url, &parts, err) < 0)
		return err_prefix(err, -EINVAL, "--aggregator.url: \"%.100s\"", url);
	if (p->proof == PROOF_TOKEN && !is_safe_for_tokens(url))
		return err_set(err, -EINVAL,
			       "--aggregator.token-file: not over http to another "
			       "host, use https");
	while (n && url[n - 1] == '/')
		n--;
	if (asprintf(&p->urls[p->url_count], "%.*s%s", (int)n, url, p->path) < 0) {
		p->urls[p->url_count] = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->url_count++;
	return 0;
}

static int choose_proof(struct ship_post *p, const struct options *o, struct err *err)
{
	bool cert = *o->aggregator_cert_file, key = *o->aggregator_key_file;

	if (cert != key)
		return err_set(err, -EINVAL,
			       "--aggregator.cert-file and --aggregator.key-file: "
			       "both or none");
	if (*o->aggregator_token_file) {
		auto_secret struct buf token = BUF_INIT;
		p->proof = PROOF_TOKEN;
		p->token_file = o->aggregator_token_file;
		return http_secret_read(p->token_file, &token, err);
	}
	if (cert) {
		auto_secret struct buf secret = BUF_INIT;
		p->proof = PROOF_CERTIFICATE;
		return secret_load(o->aggregator_key_file, (size_t)1 << 20, &secret,
				   err);
	}
	p->proof = PROOF_MUNGE;
	p->munge_socket =
		*o->aggregator_munge_socket ? o->aggregator_munge_socket : NULL;
#ifdef HAVE_MUNGE
	return 0;
#else
	return err_set(err, -ENOTSUP,
		       "built without libmunge: --aggregator.token-file or "
		       "--aggregator.cert-file says who sends");
#endif
}

int ship_post_new(struct courier *c, const char *path, struct ship_post **ret,
		  struct err *err)
{
	const struct options *o = &c->options;
	struct http_client_config http = {
		.ca_file = o->aggregator_ca_file,
		.cert_file = o->aggregator_cert_file,
		.key_file = o->aggregator_key_file,
		.timeout_ms = (uint32_t)o->aggregator_timeout_ms,
		.stop = &c->stop,
	};
	struct ship_post *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->hostname = c->hostname;
	p->path = path;
	int rc = choose_proof(p, o, err);
	if (rc == 0 && o->aggregator_urls.count > SHIP_URLS_MAX)
		rc = err_set(err, -EINVAL, "--aggregator.url: more than %u",
			     SHIP_URLS_MAX);
	for (size_t i = 0; rc == 0 && i < o->aggregator_urls.count; i++)
		rc = add_url(p, o->aggregator_urls.items[i], err);
	if (rc == 0)
		rc = http_client_new(&http, &p->client, err);
	if (rc < 0) {
		ship_post_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void ship_post_free(struct ship_post *p)
{
	if (!p)
		return;
	http_client_free(p->client);
	http_response_done(&p->answer);
	buf_done(&p->whole);
	buf_done(&p->packed);
	for (size_t i = 0; i < p->url_count; i++)
		free(p->urls[i]);
	free(p);
}

/* The batch, with our present clocks at its head, compressed */
static int pack_with_clock(struct ship_post *p, const char *plain, size_t len)
{
	unsigned char record[REPORT_CLOCK_BYTES_MAX], head[4];
	struct report_clock clock;

	report_clock_read(&clock, p->hostname);
	int n = report_clock_encode(&clock, record, sizeof(record));
	if (n < 0)
		return n;
	tlv_put_le(head, (uint64_t)n, sizeof(head));
	buf_reset(&p->whole);
	buf_put(&p->whole, plain, BATCH_MAGIC_BYTES);
	buf_put(&p->whole, head, sizeof(head));
	buf_put(&p->whole, record, (size_t)n);
	buf_put(&p->whole, plain + BATCH_MAGIC_BYTES, len - BATCH_MAGIC_BYTES);
	int rc = buf_error(&p->whole);
	if (rc == 0)
		rc = batch_pack(p->whole.data, p->whole.len, &p->packed);
	if (p->whole.cap > WHOLE_KEPT)
		buf_done(&p->whole);
	return rc;
}

static void judge_post(struct ship_post *p, const char *url, uint32_t count,
		       struct ship_answer *ret, struct err *err)
{
	const struct http_response *a = &p->answer;
	const char *what = "";
	char name[512];

	http_url_name(url, name, sizeof(name));
	ship_answer_read(a->status, a->body.data, a->body.len, 1, count,
			 http_client_header(p->client, "Retry-After"), ret);
	if (ret->verdict == SHIP_DENIED)
		what = ", does not accept our records (check its allow-list, our "
		       "--aggregator options, and the clocks)";
	else if (a->status == 200 || a->status / 100 == 3 ||
		 (a->status / 100 == 4 && !ret->error[0]))
		what = ", not the answer of an aggregator";
	(void)err_set(err, -EPROTO, "%s: HTTP status %u%s%s%s", name, a->status, what,
		      ret->error[0] ? ": " : "", ret->error);
}

int ship_post_body(struct ship_post *p, size_t i, const char *type,
		   const char *encoding, const void *body, size_t len,
		   const struct http_response **ret, const char **ret_retry_after,
		   struct err *err)
{
	const struct http_header headers[] = {
		{"Content-Type", type},
		/* ten thousand nodes must not be ten thousand open connections */
		{"Connection", "close"},
		{"Content-Encoding", encoding},
	};
	auto_buf struct buf credential = BUF_INIT;
	struct http_auth auth = {.scheme = "Bearer", .credentials_file = p->token_file};
	int rc = 0;

	if (p->proof == PROOF_MUNGE) {
		/* for this body and server only, valid once and for a minute */
		rc = munge_request_write(p->munge_socket, "POST", p->urls[i], body, len,
					 &credential, err);
		auth = (struct http_auth){.scheme = "MUNGE",
					  .credentials = credential.data};
	}
	if (rc < 0)
		return rc;
	struct http_request r = {
		.method = HTTP_POST,
		.url = p->urls[i],
		.headers = headers,
		.header_count = encoding ? 3 : 2,
		.body = body,
		.body_len = len,
		.auth = p->proof == PROOF_CERTIFICATE ? NULL : &auth,
	};
	rc = http_client_do(p->client, &r, &p->answer, err);
	if (rc < 0)
		return rc;
	p->bytes += len;
	*ret = &p->answer;
	if (ret_retry_after)
		*ret_retry_after = http_client_header(p->client, "Retry-After");
	return 0;
}

int ship_post_do(struct ship_post *p, size_t i, const void *plain, size_t len,
		 uint32_t count, struct ship_answer *ret, struct err *err)
{
	const struct http_response *answer;
	int rc = pack_with_clock(p, plain, len);

	if (rc < 0)
		return err_set(err, rc, "batch: %s", strerror(-rc));
	rc = ship_post_body(p, i, BATCH_TYPE, BATCH_ENCODING, p->packed.data,
			    p->packed.len, &answer, NULL, err);
	if (rc < 0)
		return rc;
	judge_post(p, p->urls[i], count, ret, err);
	return 0;
}

uint64_t ship_post_bytes(const struct ship_post *p)
{
	return p->bytes;
}
