/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_MAY_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_MAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/identity/party.h"

/*
 * What a proved sender may send: reports of a node from that node, completion records
 * from Slurm's controller, both for the sender's clusters. Pure except for is_host().
 */

/* The proved sender. Borrowed. */
struct ingest_party {
	enum party_kind kind; /* PARTY_MUNGE, PARTY_TOKEN or PARTY_CERTIFICATE */
	uint32_t uid;         /* of MUNGE */
	/* of the configured account or the token; "": none */
	char name[PARTY_NAME_BYTES];
	const char *const *names; /* of the certificate */
	size_t name_count;
	bool has_peer;
	struct netaddr peer;
	bool reports, jobs, claims; /* whether it may send them */
	bool any_node;              /* may also report for other nodes */
	/* MUNGE: whether a node is the host that made the credential: 1, 0, or
	 * -EHOSTDOWN: unknown at present */
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
	const struct ingest_cluster *clusters; /* none: any cluster, from anybody */
	size_t cluster_count;
	const struct ingest_party *party;
};

/* 0; -EACCES: it may not, with the reason; -EHOSTDOWN: unknown at present. */
int ingest_may_report(const struct ingest_may *may, const char *cluster,
		      const char *node, struct err *err);
int ingest_may_job(const struct ingest_may *may, const char *cluster, struct err *err);
int ingest_may_claim(const struct ingest_may *may, const char *cluster,
		     struct err *err);

/* Whether p is the listed party, connecting from an address that it lists. Accepts
 * PARTY_ADDRESS too. */
bool ingest_party_is(const struct ingest_party *p, const struct party *listed);

/* "c1" or "c1=munge:slurm@10.0.0.5", "c1=10.1.0.0/16". -EINVAL. */
int ingest_cluster_parse(const char *text, struct ingest_cluster *ret, struct err *err);

#endif
