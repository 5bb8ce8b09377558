/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves reviews. A review needs no proof, as its answer helps nobody; a claim does:
 * whoever may post one says whose a pod is. */
#include "contrib/k8s/admission/hook.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "contrib/k8s/admission/claims.h"
#include "contrib/k8s/admission/review.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/negotiate.h"
#include "lib/identity/party.h"
#include "lib/identity/tls_names.h"
#include "lib/log.h"
#include "lib/prom.h"
#include "lib/service.h"

#define BASE "/ceems-admission-controller/"
#define METRICS_BYTES_MAX ((size_t)1 << 20)
#define BODY_TYPE "application/json"
#define REVIEWERS_MAX 64
#define NAMES_MAX 32 /* of a certificate */
#define REVIEWERS (PARTY_CERTIFICATE | PARTY_PASSWORD | PARTY_ADDRESS)

struct hook {
	const struct options *options;
	const struct privileges *who;
	struct owner_rules rules;
	struct party reviewers[REVIEWERS_MAX];
	size_t reviewer_count;
	struct claims *claims; /* NULL: nothing is claimed */
	bool calls_filtered;
	/* by path */
	atomic_uint_fast64_t reviews[2], refused[2], patched, overwritten;
	atomic_uint_fast64_t unproved, dry_runs;
};

/* ---- who reviews are from -------------------------------------------------------- */

static int read_reviewers(const struct options *o, struct party *ret, size_t *ret_count,
			  struct err *err)
{
	if (o->claims_from.count > REVIEWERS_MAX)
		return err_set(err, -EINVAL, "admission.claims-from: at most %d",
			       REVIEWERS_MAX);
	for (size_t i = 0; i < o->claims_from.count; i++) {
		if (party_parse(o->claims_from.items[i], REVIEWERS, &ret[i], err) < 0)
			return err_prefix(err, -EINVAL, "admission.claims-from");
	}
	*ret_count = o->claims_from.count;
	return 0;
}

static bool has_certified_name(const struct tls_name *names, size_t count,
			       const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(names[i].text, name) == 0)
			return true;
	}
	return false;
}

static bool is_certified(struct web_request *r, const char *name)
{
	auto_free struct tls_name *names = NULL;
	bool client = false;

	if (!web_tls(r) || !web_tls_verified(r))
		return false;
	size_t n = tls_names(web_tls(r), NAMES_MAX, &names, &client);
	return client && has_certified_name(names, n, name);
}

static bool is_reviewer(const struct hook *h, struct web_request *r)
{
	const char *user = web_password_user(r);
	struct netaddr peer;
	bool has_peer = netaddr_from(web_peer(r), &peer) == 0;

	for (size_t i = 0; i < h->reviewer_count; i++) {
		const struct party *p = &h->reviewers[i];
		if (!party_is_at(p, has_peer ? &peer : NULL))
			continue;
		if (p->kind == PARTY_ADDRESS ||
		    (p->kind == PARTY_PASSWORD && user && strcmp(user, p->name) == 0) ||
		    (p->kind == PARTY_CERTIFICATE && is_certified(r, p->name)))
			return true;
	}
	return false;
}

bool hook_is_front_end(void *arg, const struct netaddr *peer)
{
	const struct hook *h = arg;

	for (size_t i = 0; i < h->reviewer_count; i++) {
		if (h->reviewers[i].has_range && party_is_at(&h->reviewers[i], peer))
			return true;
	}
	return false;
}

/* ---- routes ---------------------------------------------------------------------- */

static void put_claim(struct hook *h, struct web_request *r,
		      struct review_result *result)
{
	if (result->dry_run)
		atomic_fetch_add(&h->dry_runs, 1);
	if (!result->has_claim || !h->claims)
		return;
	if (!is_reviewer(h, r)) {
		atomic_fetch_add(&h->unproved, 1);
		return;
	}
	snprintf(result->claim.cluster, sizeof(result->claim.cluster), "%s",
		 h->options->cluster);
	result->claim.at_ns = clock_realtime_ns();
	claims_put(h->claims, &result->claim);
}

static void serve_review(struct hook *h, enum review_path path, struct web_request *r)
{
	auto_buf struct buf answer = BUF_INIT;
	struct review_result result = {.patched = false};
	struct err err = {""};
	size_t len;
	const char *body = web_body(r, &len);
	int rc = review_answer(&h->rules, path, body, len, &answer, &result, &err);

	web_body_drop(r);
	if (rc < 0) {
		atomic_fetch_add(&h->refused[path], 1);
		web_answer_text(r, rc == -ENOMEM ? 503 : 400, err.text);
		return;
	}
	atomic_fetch_add(&h->reviews[path], 1);
	atomic_fetch_add(&h->patched, result.patched);
	atomic_fetch_add(&h->overwritten, result.overwritten);
	if (path == REVIEW_VALIDATE)
		put_claim(h, r, &result);
	web_answer(r, 200, BODY_TYPE, answer.data, answer.len);
}

static void serve_mutate(void *arg, struct web_request *r)
{
	serve_review(arg, REVIEW_MUTATE, r);
}

static void serve_validate(void *arg, struct web_request *r)
{
	serve_review(arg, REVIEW_VALIDATE, r);
}

static void serve_hook_health(void *arg, struct web_request *r)
{
	(void)arg;
	web_answer_text(r, 200, "CEEMS admission controller is healthy\n");
}

static void put_claim_metrics(struct hook *h, struct prom *out)
{
	static const struct prom_family claims = {
		"ceems_admission_claims_total", PROM_COUNTER,
		"Who asked to create an object, by what became of that: written to the "
		"spool, lost for lack of room, or not believed"};
	static const struct prom_family queued = {"ceems_admission_claims_queued",
						  PROM_GAUGE,
						  "Claims on their way to the spool"};
	struct claims_stats stats = {0};

	if (h->claims)
		claims_read_stats(h->claims, &stats);
	prom_put_one(out, &claims, "result", "written", stats.written);
	prom_put_one(out, &claims, "result", "lost", stats.lost);
	prom_put_one(out, &claims, "result", "unproved", atomic_load(&h->unproved));
	prom_put_one(out, &queued, NULL, NULL, stats.queued);
}

static void put_hook_metrics(struct hook *h, struct prom *out)
{
	static const struct prom_family build = {"ceems_admission_build_info",
						 PROM_GAUGE,
						 "Version of the program; always 1"};
	static const struct prom_family reviews = {
		"ceems_admission_reviews_total", PROM_COUNTER,
		"Reviews that were answered, by path"};
	static const struct prom_family refused = {
		"ceems_admission_reviews_refused_total", PROM_COUNTER,
		"Requests that were no AdmissionReview, by path"};
	static const struct prom_family patched = {
		"ceems_admission_patches_total", PROM_COUNTER,
		"Reviews whose object was given its owner"};
	static const struct prom_family over = {
		"ceems_admission_overwritten_total", PROM_COUNTER,
		"Reviews whose object named an owner that was replaced"};
	static const struct prom_family dry = {
		"ceems_admission_dry_runs_total", PROM_COUNTER,
		"Validating reviews of dry runs, which claim nothing"};
	static const char *const paths[] = {"mutate", "validate"};

	prom_put_one(out, &build, "version", CEEMS_VERSION, 1);
	for (unsigned i = 0; i < 2; i++) {
		prom_put_one(out, &reviews, "path", paths[i],
			     atomic_load(&h->reviews[i]));
		prom_put_one(out, &refused, "path", paths[i],
			     atomic_load(&h->refused[i]));
	}
	prom_put_one(out, &patched, NULL, NULL, atomic_load(&h->patched));
	prom_put_one(out, &over, NULL, NULL, atomic_load(&h->overwritten));
	prom_put_one(out, &dry, NULL, NULL, atomic_load(&h->dry_runs));
	put_claim_metrics(h, out);
}

static void serve_hook_metrics(void *arg, struct web_request *r)
{
	struct hook *h = arg;
	auto_buf struct buf body = BUF_INIT;
	const char *type;
	enum prom_format format = negotiate_format(web_header(r, "Accept"), &type);
	struct prom *prom = prom_new(METRICS_BYTES_MAX);

	if (prom) {
		put_hook_metrics(h, prom);
		web_metrics(web_of(r), prom);
	}
	if (prom && prom_render(prom, format, &body) == 0)
		web_answer(r, 200, type, body.data, body.len);
	else
		web_answer_text(r, 500, "out of memory\n");
	prom_free(prom);
}

const struct web_route *hook_routes(size_t *ret_count)
{
	static const struct web_route routes[] = {
		{.path = BASE "mutate",
		 .own_proof = true,
		 .methods = WEB_POST,
		 .body_bytes_max = REVIEW_BYTES_MAX,
		 .body_type = BODY_TYPE,
		 .handle = serve_mutate},
		{.path = BASE "validate",
		 .own_proof = true,
		 .methods = WEB_POST,
		 .body_bytes_max = REVIEW_BYTES_MAX,
		 .body_type = BODY_TYPE,
		 .handle = serve_validate},
		{.path = "/health", .open = true, .handle = serve_hook_health},
		{.path = "/metrics", .handle = serve_hook_metrics},
	};

	*ret_count = sizeof(routes) / sizeof(routes[0]);
	return routes;
}

/* ---- life ------------------------------------------------------------------------ */

int hook_check(const struct options *o, struct err *err)
{
	const struct owner_rules rules = {&o->namers, &o->controllers};
	struct party reviewers[REVIEWERS_MAX];
	size_t count;
	int rc = owner_check(&rules, err);

	if (rc == 0)
		rc = read_reviewers(o, reviewers, &count, err);
	if (rc == 0 && *o->spool && !*o->cluster)
		rc = err_set(err, -EINVAL,
			     "admission.spool needs admission.cluster: the aggregator "
			     "would not know whose pods these are");
	return rc;
}

int hook_new(const struct options *o, const struct privileges *who, struct hook **ret,
	     struct err *err)
{
	struct hook *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->options = o;
	h->who = who;
	h->rules = (struct owner_rules){&o->namers, &o->controllers};
	int rc = read_reviewers(o, h->reviewers, &h->reviewer_count, err);
	if (rc < 0) {
		free(h);
		return rc;
	}
	if (!*o->spool)
		log_info("no admission.spool: who creates pods is written to their "
			 "annotations only");
	else if (!h->reviewer_count)
		log_warn("no admission.claims-from: anybody could post a review, so "
			 "none is told to the aggregator");
	*ret = h;
	return 0;
}

int hook_before_threads(void *arg, struct err *err)
{
	struct hook *h = arg;
	const struct options *o = h->options;
	int rc = privileges_drop(h->who, err);

	if (rc == 0)
		rc = privileges_hide(err);
	if (rc == 0)
		h->calls_filtered =
			service_filter_calls(o->drop_privileges && o->seccomp);
	if (rc == 0 && *o->spool && h->reviewer_count)
		rc = claims_new(o->spool, o->spool_bytes, &h->claims, err);
	return rc;
}

void hook_free(struct hook *h)
{
	if (!h)
		return;
	claims_free(h->claims);
	free(h);
}
