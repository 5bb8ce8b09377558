/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flags of the peer's API server, in its spellings, where the capability exists, and
 * the options that all programs here have. */
#include "aggregator/options.h"

#include "lib/emission_options.h"
#include "lib/service_options.h"
#include "lib/ship_options.h"

#define ROW CONF_ROW
#define DAY_MS (86400ull * 1000)

static const char *const certificates[] = {"off", "cn", "email", "dns", NULL};

const struct conf_opt options_table[] = {
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file with any of these options.",
	    .env = "CEEMS_API_SERVER_CONFIG_FILE"),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line, config.file and web.config.file, say what is wrong "
	    "with them, and exit."),
	ROW("check", CONF_BOOL, check, "false",
	    "Look at the database (reachable, version, migrations, clock, rights, "
	    "partitions), print findings, and exit: 0 good, 1 warnings, 2 failures."),
	ROW("migrate", CONF_BOOL, migrate, "false",
	    "Bring the database's schema up to this program's, and exit."),
	LOG_OPTION_ROWS(0),
	USER_OPTION_ROWS,
	SANDBOX_OPTION_ROWS,
	WEB_OPTION_ROWS("127.0.0.1:9020", NULL, "CEEMS_API_SERVER_WEB_CONFIG_FILE"),
	ROW("web.route-prefix", CONF_STRING, route_prefix, "/",
	    "Path before /api/ in every address of the API, for a reverse proxy; "
	    "/health and /metrics have none."),
	ROW("web.compression", CONF_BOOL, compression, "false",
	    "Accepted, no effect: answers are compressed by a front end.",
	    .flags = CONF_HIDDEN),
	ROW("web.compression.level", CONF_U64, compression_level, "5",
	    "Accepted, no effect.", .flags = CONF_HIDDEN),
	ROW("web.debug-server", CONF_BOOL, debug_server, "false",
	    "Accepted, no effect: there is no pprof here.", .flags = CONF_HIDDEN),
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here.", .flags = CONF_HIDDEN),
	ROW("security.disable-cap-awareness", CONF_BOOL, disable_cap_awareness, "false",
	    "Accepted, no effect: no capability is ever kept.", .flags = CONF_HIDDEN),
	ROW("web.cors.origin", CONF_STRING, cors_origin, "",
	    "Regular expression for origins (CORS) whose pages may read answers; it "
	    "must match the whole origin. Empty: none."),
	ROW("web.max-requests", CONF_U64, max_requests, "0",
	    "Most requests of a user in a minute, 0 for no limit. What a load "
	    "balancer asks about its units does not count.",
	    .max = 1000000),
	ROW("web.max-connections", CONF_U64, max_connections, "1024",
	    "Most requests served at a time.", .min = 1, .max = 65536),
	ROW("query.max-period", CONF_DURATION, query_max_period_ms, "0s",
	    "Longest time window of a query, 0s for no limit."),
	ROW("import", CONF_STRING, import, "",
	    "Read jobs (sacct) or who is in which project (sacctmgr) by Slurm's "
	    "command, or from a file with its output (sacct=FILE, - for standard "
	    "input), "
	    "or units with their usage as `ceems_tool migrate` writes them "
	    "(units=FILE), and exit."),
	ROW("import.start", CONF_STRING, import_start, "now-2days",
	    "Start of what sacct is asked for, as sacct writes times."),
	ROW("import.cluster", CONF_STRING, import_cluster, "",
	    "Cluster of imported rows that name none."),
	ROW("import.pue", CONF_STRING, import_pue, "1",
	    "What kWh of imported units are divided by, as they have the building's "
	    "share in them; 1 to 10."),
	ROW("export", CONF_STRING, export, "",
	    "Print what is between --from and --to and exit: units, days or usage as "
	    "CSV, jobstats (AdminComment of jobs), supremm (JSON for Open XDMoD)."),
	ROW("erase", CONF_STRING, erase, "",
	    "Replace a login by a pseudonym in all records, and exit (doc/privacy.md); "
	    "LOGIN:UID where several people had the login; or the id that Keystone or "
	    "Kubernetes has for a person."),
	ROW("renumber", CONF_STRING, renumber, "",
	    "CLUSTER/LOGIN:OLD:NEW: a person's uid on a cluster has changed: move "
	    "their records to the new one, and exit."),
	ROW("settle", CONF_STRING, settle, "",
	    "CLUSTER/ID of a held unit, whose owner a node's report disputes: take "
	    "slurmctld's word for it, and exit (doc/ingest.md)."),
	ROW("people.associations", CONF_STRING, people, "",
	    "Where project memberships come from: sacctmgr (the command), or an "
	    "absolute path of a file with the output of sacctmgr -nP list associations "
	    "format=Cluster,Account,User. Empty: none."),
	ROW("people.refresh", CONF_DURATION, people_refresh_ms, "10m",
	    "How often memberships are read.", .min = 1000, .max = 86400000),
	ROW("slurm.bindir", CONF_STRING, slurm_bindir, "/usr/bin",
	    "Folder of sacct and sacctmgr."),
	ROW("admin.users", CONF_LIST, admins, "",
	    "Admins, who see and may do everything: LOGIN, or LOGIN:UID, which counts "
	    "only where that number was proved (by MUNGE). A login alone is the "
	    "account of that name on this host."),
	ROW("operator.users", CONF_LIST, operators, "",
	    "Operators, who see everybody's records: LOGIN or LOGIN:UID as above; "
	    "followed by /CLUSTER, those of that cluster."),
	ROW("admin.grafana.url", CONF_STRING, grafana_url, "",
	    "Grafana whose teams' members are admins, under the login that they have "
	    "there. Empty: none."),
	ROW("admin.grafana.teams-ids", CONF_LIST, grafana_teams, "",
	    "Numbers of those teams."),
	ROW("admin.grafana.token-file", CONF_STRING, grafana_token_file, "",
	    "File with a token of a service account of Grafana that may read teams."),
	ROW("admin.grafana.ca-file", CONF_STRING, grafana_ca_file, "",
	    "CA certificates to verify Grafana with. Empty: the system's."),
	ROW("admin.grafana.refresh", CONF_DURATION, grafana_refresh_ms, "10m",
	    "How often it is asked.", .min = 1000, .max = 86400000),
	ROW("privacy.project-members", CONF_BOOL, project_members, "false",
	    "Members of a project see each other's units and usage in it."),
	ROW("identity.munge", CONF_BOOL, identity_munge, "true",
	    "Take MUNGE credentials as proof of who asks."),
	ROW("identity.munge-hosts", CONF_LIST, munge_hosts, "",
	    "Further names of this host in URLs of MUNGE clients, beside its own name "
	    "and addresses: HOST or HOST:PORT, of an alias or a reverse proxy; \"*\": "
	    "any."),
	ROW("identity.munge-unbound", CONF_BOOL, munge_unbound, "true",
	    "Accept MUNGE credentials of the previous release, which are valid at "
	    "other hosts as well. Set it to false when all clients and nodes are "
	    "newer."),
	ROW("identity.munge-socket", CONF_STRING, munge_socket, "",
	    "Socket of the MUNGE daemon. Empty: MUNGE's own."),
	ROW("identity.certificate", CONF_ENUM, certificate, "off",
	    "Which name of a user's client certificate is the login: cn, email, dns; "
	    "off: users' certificates prove nothing.",
	    .choices = certificates),
	ROW("identity.certificate-suffix", CONF_STRING, certificate_suffix, "",
	    "Suffix that is removed from that name (@site.example); names without it "
	    "are refused."),
	ROW("identity.front-end", CONF_LIST, front_ends, "",
	    "Who may name a user by a header: certificate:NAME, password:USER (of "
	    "web.config.file), munge:LOGIN or munge:NUMBER, each with @ADDRESS or "
	    "@RANGE that it connects from (munge:ceems-lb@10.0.0.5). One by MUNGE "
	    "that has no address is believed from this host alone."),
	ROW("identity.front-end-address", CONF_LIST, front_end_addresses, "",
	    "Addresses or ranges that front ends without an address of their own "
	    "connect from. Empty: any, by MUNGE this host alone."),
	ROW("identity.front-end-roles", CONF_BOOL, front_end_roles, "false",
	    "Users who are only named by a front end may be admins or operators; "
	    "otherwise they are ordinary users. A uid that a front end by MUNGE (the "
	    "load balancer) sends beside the login counts as proved, and so do "
	    "tokens."),
	ROW("identity.metrics", CONF_LIST, metrics, "",
	    "Who may read /metrics: password:USER (of web.config.file) or "
	    "certificate:NAME, each with @ADDRESS or @RANGE or not, an address or a "
	    "range. Empty: everybody whom web.config.file lets in, but no front end "
	    "and no user."),
	ROW("web.user-header-name", CONF_LIST, user_headers, "X-Grafana-User",
	    "Headers by which a front end names its user."),
	ROW("identity.token-keys", CONF_STRING, token_keys, "",
	    "Keys of tokens that Grafana signs (X-Grafana-Id): "
	    "https://grafana.example/api/signing-keys/keys, or a file. Empty: tokens "
	    "are "
	    "refused."),
	ROW("identity.token-ca-file", CONF_STRING, token_ca_file, "",
	    "CA certificates to verify the server of identity.token-keys with. Empty: "
	    "the system's."),
	ROW("identity.token-issuer", CONF_LIST, token_issuers, "",
	    "Issuer of tokens (iss): Grafana's root URL, exactly as it is configured "
	    "there."),
	ROW("identity.token-audience", CONF_LIST, token_audiences, "",
	    "Audience of tokens (aud), such as org:1."),
	ROW("clusters.file", CONF_STRING, clusters_file, "",
	    "YAML file with the clusters whose manager is asked whose units are, "
	    "spelt as in CEEMS (clusters:)."),
	ROW("db.url", CONF_STRING, db_url, "",
	    "URL or connection string of Postgres (libpq), with several hosts for "
	    "failover. Empty: a private cluster in data.path, for trials and small "
	    "sites."),
	ROW("db.threads", CONF_U64, db_threads, "4",
	    "Connections for requests; background work has a few more.", .min = 1,
	    .max = 64),
	ROW("db.timeout", CONF_DURATION, db_timeout_ms, "30s",
	    "Longest time of a statement.", .min = 1000, .max = 3600000),
	ROW("db.auto-migrate", CONF_BOOL, db_auto_migrate, "true",
	    "Bring the schema up to date at start; otherwise --migrate does."),
	ROW("db.standby", CONF_BOOL, db_standby, "false",
	    "Only answer, from --db.url, which may be a standby: nothing is taken from "
	    "nodes, computed, migrated or deleted."),
	ROW("data.path", CONF_STRING, data_path, "/var/lib/ceems/aggregator",
	    "Folder of the private cluster."),
	ROW("recompute", CONF_BOOL, recompute, "false",
	    "Mark the time from --from to --to to be summed again, for example after a "
	    "change of factors or PUE by hand, and exit."),
	ROW("from", CONF_STRING, from, "",
	    "With --recompute: a day (UTC) or a time with its zone."),
	ROW("to", CONF_STRING, to, "",
	    "The end, not included: a day (UTC) or a time with its zone."),
	ROW("ingest.munge", CONF_BOOL, ingest_munge, "true",
	    "Accept reports with a MUNGE credential of a user of ingest.user."),
	ROW("ingest.munge-socket", CONF_STRING, ingest_munge_socket, "",
	    "Socket of munged. Empty: libmunge's own."),
	ROW("ingest.user", CONF_LIST, ingest_users, "root,ceems",
	    "User (name or number) whose MUNGE credentials may send reports, each of "
	    "the node that it is made on, whose name must be that host's here; NAME=*: "
	    "of any node; NAME@ADDRESS: from there. May be given several times."),
	ROW("ingest.jobs-from", CONF_LIST, ingest_jobs_from, "munge:slurm",
	    "Who may send completion records: munge:USER (SlurmUser, name or number), "
	    "certificate:NAME or token:NAME, each with @ADDRESS or @RANGE or not. May "
	    "be given several times."),
	ROW("ingest.claims-from", CONF_LIST, ingest_claims_from, "",
	    "Who may send the claims of Kubernetes' admission webhook, which say whose "
	    "pods are: as in ingest.jobs-from. None given: nobody. May be given "
	    "several "
	    "times."),
	ROW("ingest.token-file", CONF_STRING, ingest_token_file, "",
	    "File with tokens, one in a line, that may send reports (Authorization: "
	    "Bearer), of 16 characters or more: TOKEN of any node, NODE TOKEN of that "
	    "one, NAME=* TOKEN of any with a name for ingest.jobs-from."),
	ROW("ingest.client-name", CONF_LIST, ingest_client_names, "",
	    "Name in a verified client certificate (DNS name or CN) that may send "
	    "reports of the node that it names; * is any; NAME=*: of any node. May be "
	    "given several times."),
	ROW("ingest.cluster", CONF_LIST, ingest_clusters, "",
	    "Name that a cluster may have; reports of others are refused. None: any. "
	    "CLUSTER=SENDER: only from there, an address, a range, or as in "
	    "ingest.jobs-from. May be given several times."),
	PROFILE_STORE_OPTION_ROWS(
		"Pyroscope, such as http://127.0.0.1:4040, to which profiles that "
		"nodes "
		"send are passed on, once checked. Empty: none are taken."),
	ROW("emissions.zone", CONF_LIST, emissions_zones, "",
	    "Whose emission factors count: PROVIDER=ZONE (owid=FR), for one cluster "
	    "CLUSTER/PROVIDER=ZONE. May be given several times."),
	ROW("emissions.pue", CONF_LIST, emissions_pue, "",
	    "What the building adds to each joule (power usage effectiveness): 1.25, "
	    "for one cluster CLUSTER=1.25. A new one counts from then on."),
	EMISSION_OPTION_ROWS,
	ROW("linker.grace", CONF_DURATION, linker_grace_ms, "10m",
	    "How long to wait for a job record after the last node's final report; "
	    "then the reports say how the unit ended."),
	ROW("linker.lost-after", CONF_DURATION, linker_lost_ms, "6h",
	    "A unit on a node is lost when nothing has been heard of it for so long.",
	    .min = 1000),
	ROW("rollup.delay", CONF_DURATION, rollup_delay_ms, "20s",
	    "How far the sums of running units may lag behind their reports, so that "
	    "reports are summed together."),
	ROW("retention.intervals", CONF_DURATION, retention_intervals_ms, "30d",
	    "How long interval reports are kept, whole days.", .min = 2 * DAY_MS),
	ROW("retention.hours", CONF_DURATION, retention_hours_ms, "1y",
	    "How long hourly sums are kept, whole months.", .min = 31 * DAY_MS),
	ROW("retention.archive-schema", CONF_STRING, retention_archive, "",
	    "Schema of the database to which partitions are moved when they are too "
	    "old, for the site to store elsewhere and drop. Empty: they are dropped."),
	ROW("retention.partitions-ahead", CONF_DURATION, partitions_ahead_ms, "3d",
	    "How far ahead partitions are made.", .flags = CONF_HIDDEN, .min = DAY_MS,
	    .max = 366 * DAY_MS),
};
const size_t options_count = sizeof(options_table) / sizeof(options_table[0]);
