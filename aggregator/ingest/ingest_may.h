/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_MAY_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_MAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/party.h"

/*
 * Who may send what, once it is proved who sends: reports of a node by that node,
 * completion records by Slurm's own word, of clusters that this sender has. Pure but
 * for is_host().
 */

/* Who sends, as it was proved. Borrowed. */
struct ingest_party {
	enum party_kind kind; /* PARTY_MUNGE, PARTY_TOKEN or PARTY_CERTIFICATE */
	uint32_t uid;         /* of MUNGE */
	/* of the account as it is listed, or of the token; "": none */
	char name[PARTY_NAME_BYTES];
	const char *const *names; /* of the certificate */
	size_t name_count;
	bool has_peer;
	struct netaddr peer;
	bool reports, jobs; /* may send them at all */
	bool any_node;      /* speaks for others, too */
	/* MUNGE: whether a node is the host that made the credential: 1, 0, or
	 * -EHOSTDOWN: that cannot be found out now */
	int (*is_host)(void *arg, const char *node, struct err *err);
	void *arg;
};

/* --ingest.cluster: CLUSTER, or CLUSTER=SENDER */
struct ingest_cluster {
	char name[256];
	bool anybody;
	struct party from;
};

struct ingest_may {
	const struct ingest_cluster *clusters; /* none: any, of anybody */
	size_t cluster_count;
	const struct ingest_party *party;
};

/* 0; -EACCES: it may not, with the reason; -EHOSTDOWN: not known now. */
int ingest_may_report(const struct ingest_may *may, const char *cluster,
		      const char *node, struct err *err);
int ingest_may_job(const struct ingest_may *may, const char *cluster, struct err *err);

/* Whether that party is meant, at where it connects from. Also of the kind
 * PARTY_ADDRESS. */
bool ingest_party_is(const struct ingest_party *p, const struct party *listed);

/* "c1" or "c1=munge:slurm@10.0.0.5", "c1=10.1.0.0/16". -EINVAL. */
int ingest_cluster_parse(const char *text, struct ingest_cluster *ret, struct err *err);

#endif
