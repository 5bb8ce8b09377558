/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who sends a request, proved on the web's threads. */
#include "aggregator/ingest/ingest_proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/identity/tls_names.h"

int ingest_proof_head(const struct ingest_senders *in, struct web_request *r,
		      struct ingest_proof *p, struct err *err)
{
	struct sender_facts f = {
		.authorizations = web_header_count(r, "Authorization"),
		.authorization = web_header(r, "Authorization"),
		.names = p->name_texts,
	};

	f.has_peer = netaddr_from(web_peer(r), &f.peer) == 0;
	if (web_tls(r) && web_tls_verified(r))
		f.name_count =
			tls_names(web_tls(r), INGEST_PROOF_NAMES_MAX, &p->names, NULL);
	for (size_t i = 0; i < f.name_count; i++)
		p->name_texts[i] = p->names[i].text;
	return sender_admit(in->sender, &f, &p->proof, err);
}

/* Many nodes may share a token. */
void ingest_proof_note(struct web_request *r, const struct ingest_proof *p)
{
	const char *authorization = web_header(r, "Authorization");
	char who[SENDER_WHO_BYTES], text[SENDER_WHO_BYTES + 24];

	sender_who(&p->proof, authorization, who);
	snprintf(text, sizeof(text), "%s %" PRIx64, who,
		 authorization ? web_client_network(r) : 0);
	web_proved(r, "sender:", text);
}

static void on_sender_decoded(void *arg)
{
	struct ingest_proof *p = arg;

	p->decoded = true;
	web_wake(p->web);
}

int ingest_proof_munge(const struct ingest_senders *in, struct web_request *r,
		       struct ingest_proof *p, struct err *err)
{
	p->web = r;
	p->by_munge = true;
	p->munge.credential = sender_credential(web_header(r, "Authorization"));
	p->munge.key = web_client_key(r);
	p->munge.done = on_sender_decoded;
	p->munge.arg = p;
	if (ingest_proof_head(in, r, p, err) < 0)
		return -EACCES;
	/* sleep first, since the wake-up may come at once */
	web_sleep(r);
	int rc = munge_submit(in->munge, &p->munge);
	if (rc == 0)
		return 0;
	web_wake(r);
	web_count_munge(r, -EBUSY);
	return err_set(err, rc, "too many MUNGE credentials are waiting");
}

/* Nodes are distinguished by the host that made the credential. */
static void note_sender(struct web_request *r, const struct munge_facts *m)
{
	char text[NETADDR_TEXT_MAX + 16], origin[NETADDR_TEXT_MAX];

	netaddr_text(&m->origin, origin);
	snprintf(text, sizeof(text), "%u@%s", m->uid, origin);
	web_proved(r, "sender:", text);
}

int ingest_proof_decoded(const struct ingest_senders *in, struct web_request *r,
			 struct ingest_proof *p, struct err *err)
{
	struct munge_asked asked = {.method = "POST", .target = web_target(r)};

	*err = p->munge.why;
	web_count_munge(r, p->munge.facts.rc);
	asked.has_local = web_local(r, &asked.local) == 0;
	int rc = sender_may(in->sender, &p->munge.facts, &asked, &p->proof, err);
	if (rc == 0)
		note_sender(r, &p->munge.facts);
	return rc;
}

int ingest_proof_body(const struct ingest_proof *p, const void *body, size_t len,
		      struct err *err)
{
	return p->by_munge ? sender_has_sent(&p->munge.facts, &p->proof, body, len, err)
			   : 0;
}

void ingest_proof_done(struct ingest_proof *p)
{
	munge_facts_done(&p->munge.facts);
	free(p->names);
	p->names = NULL;
}
