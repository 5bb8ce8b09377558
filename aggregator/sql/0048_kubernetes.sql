-- SPDX-License-Identifier: GPL-2.0-or-later
-- Kubernetes: who owns a pod, and who sees a namespace. Owners come from claims (what the admission webhook saw, proved
-- by the API server), pods and namespaces from the API server; what a node or an annotation says makes nobody an
-- owner. A namespace is its uid: one of the same name that was made later is another project.

-- As in 0045: the login with which a person of another service is known here.
ALTER TABLE person ADD COLUMN IF NOT EXISTS login text
	CHECK (login IS NULL OR (login <> '' AND external_id IS NOT NULL));
CREATE UNIQUE INDEX IF NOT EXISTS person_login ON person (login, cluster) WHERE login IS NOT NULL;

-- A cluster of which we ask an API server. logins: how the names of its users are made of our logins; NULL: a login
-- means nobody there.
CREATE TABLE k8s_cluster (
	cluster smallint PRIMARY KEY REFERENCES cluster,
	prefix text, suffix text,
	listed timestamptz, -- when namespaces were last read
	pods timestamptz    -- when all pods were last read
);

CREATE TABLE k8s_namespace (
	cluster smallint NOT NULL REFERENCES cluster,
	uid text NOT NULL,
	name text NOT NULL,
	project integer NOT NULL REFERENCES project,
	created timestamptz NOT NULL, -- by the API server's clock
	gone timestamptz,             -- by ours; NULL: it is there
	PRIMARY KEY (cluster, uid)
);
CREATE INDEX k8s_namespace_name ON k8s_namespace (cluster, name);

-- Whom role bindings name. They are never rights: those are asked for. They say which namespaces are worth asking for.
CREATE TABLE k8s_binding (
	cluster smallint NOT NULL REFERENCES cluster,
	namespace text NOT NULL,
	kind text NOT NULL CHECK (kind IN ('User', 'Group')),
	subject text NOT NULL,
	PRIMARY KEY (cluster, subject, kind, namespace)
);

-- What a review of a creation said. The first claim of a uid stays: the API server draws it.
CREATE TABLE k8s_claim (
	cluster smallint NOT NULL REFERENCES cluster,
	uid text NOT NULL,
	kind text NOT NULL,
	namespace text NOT NULL,
	name text NOT NULL,
	owner text NOT NULL,      -- '': nobody is known
	owner_uid text NOT NULL,
	controller text NOT NULL, -- uid of the object that it is a part of; '': none
	by smallint NOT NULL,     -- 1 the owner asked, 2 an account named it, 3 a controller
	at timestamptz NOT NULL,
	received timestamptz NOT NULL DEFAULT now(),
	settled timestamptz,      -- its unit has its owner and project
	PRIMARY KEY (cluster, uid)
);
CREATE INDEX k8s_claim_open ON k8s_claim (received) WHERE settled IS NULL AND kind = 'Pod';
CREATE INDEX k8s_claim_old ON k8s_claim (received) WHERE kind = 'Pod';
-- What the whole list that is being read has named so far
CREATE TABLE k8s_seen (
	cluster smallint NOT NULL,
	uid text NOT NULL,
	PRIMARY KEY (cluster, uid)
);

-- The id of a cluster of Kubernetes, made if there is none; NULL: it is of another manager, where nobody of
-- Kubernetes has a say.
CREATE FUNCTION k8s_cluster_id(called text) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
	c cluster;
BEGIN
	SELECT * INTO c FROM cluster WHERE name = called;
	IF c.id IS NULL THEN
		INSERT INTO cluster (name, manager) VALUES (called, 'k8s')
			ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING * INTO c;
	END IF;
	RETURN CASE c.manager WHEN 'k8s' THEN c.id END;
END
$$;

-- [{"cluster", "kind", "uid", "namespace", "name", "owner", "owner_uid", "controller", "by", "at_ms"}, ...]: how many
-- are new.
CREATE FUNCTION k8s_claims(list jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	added bigint;
BEGIN
	WITH x AS (SELECT * FROM jsonb_to_recordset(list) AS x (cluster text, kind text, uid text, namespace text,
			name text, owner text, owner_uid text, controller text, by smallint, at_ms bigint)),
	c AS (SELECT called, k8s_cluster_id(called) AS id FROM (SELECT DISTINCT cluster AS called FROM x ORDER BY 1) d)
	INSERT INTO k8s_claim (cluster, uid, kind, namespace, name, owner, owner_uid, controller, by, at)
		SELECT c.id, x.uid, x.kind, x.namespace, x.name, x.owner, x.owner_uid, x.controller, x.by,
			to_timestamp(x.at_ms / 1000.0)
		FROM x JOIN c ON c.called = x.cluster WHERE c.id IS NOT NULL ORDER BY 1, 2
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
	RETURN added;
END
$$;

-- Who is the owner of what has this uid. A controller's word does not count, not even for what stood in its
-- template: followed are the objects that its pod is a part of, up to one that somebody asked for.
CREATE FUNCTION k8s_claimed(c smallint, the_uid text) RETURNS text LANGUAGE sql STABLE AS $$
	WITH RECURSIVE up AS (
		SELECT k.by, k.owner, k.controller, 1 AS depth FROM k8s_claim k WHERE k.cluster = c AND k.uid = the_uid
		UNION ALL
		SELECT k.by, k.owner, k.controller, up.depth + 1 FROM up
			JOIN k8s_claim k ON k.cluster = c AND k.uid = up.controller
			WHERE up.by = 3 AND up.controller <> '' AND up.depth < 8)
	SELECT nullif(owner, '') FROM up WHERE by <> 3 ORDER BY depth LIMIT 1
$$;

-- The login of a user here, if the site says how names are made of logins. Kubernetes' own accounts have none.
CREATE FUNCTION k8s_login(c smallint, username text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT (regexp_match(substr(username, length(k.prefix) + 1,
			length(username) - length(k.prefix) - length(k.suffix)), '^[A-Za-z0-9._@+$-]{1,128}$'))[1]
	FROM k8s_cluster k WHERE k.cluster = c AND k.prefix IS NOT NULL
		AND length(username) > length(k.prefix) + length(k.suffix)
		AND left(username, length(k.prefix)) = k.prefix
		AND (k.suffix = '' OR right(username, length(k.suffix)) = k.suffix)
		AND username NOT LIKE 'system:%'
$$;

-- The person of a user; without one, or for a service account, the namespace's own, NAMESPACE:svc, which is a label
-- that nobody is.
CREATE FUNCTION k8s_person(c smallint, username text, namespace text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	nobody boolean := coalesce(username, '') = '' OR username LIKE 'system:serviceaccount:%';
	key text := CASE WHEN nobody THEN 'svc:' || namespace ELSE 'user:' || username END;
	found integer;
	their_login text;
BEGIN
	SELECT id INTO found FROM person p WHERE p.cluster = c AND p.external_id = key;
	IF found IS NULL THEN
		found := external_person(c, key, NULL, CASE WHEN nobody THEN namespace || ':svc' ELSE username END);
	END IF;
	IF NOT nobody THEN
		their_login := k8s_login(c, username);
		UPDATE person p SET login = their_login WHERE p.id = found AND p.erased_at IS NULL
			AND p.login IS DISTINCT FROM their_login;
	END IF;
	RETURN found;
END
$$;

-- How names are made of logins in this cluster, from now on.
CREATE FUNCTION k8s_logins(called text, prefix_ text, suffix_ text) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
	c smallint := k8s_cluster_id(called);
BEGIN
	IF c IS NULL THEN
		RETURN NULL;
	END IF;
	INSERT INTO k8s_cluster AS k (cluster, prefix, suffix) VALUES (c, prefix_, suffix_)
		ON CONFLICT (cluster) DO UPDATE SET prefix = excluded.prefix, suffix = excluded.suffix
		WHERE (k.prefix, k.suffix) IS DISTINCT FROM (excluded.prefix, excluded.suffix);
	IF FOUND THEN
		UPDATE person p SET login = NULL WHERE p.cluster = c AND p.login IS NOT NULL;
		UPDATE person p SET login = k8s_login(c, substr(p.external_id, 6)) WHERE p.cluster = c
			AND p.external_id LIKE 'user:%' AND p.erased_at IS NULL;
	END IF;
	RETURN c;
END
$$;

-- All namespaces of a cluster, [{"uid", "name", "created_s"}, ...]: those that are missing are gone.
CREATE FUNCTION k8s_namespaces(c smallint, list jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_ns ON COMMIT DROP AS
		SELECT DISTINCT ON (x.uid) x.uid, x.name, to_timestamp(x.created_s) AS created
		FROM jsonb_to_recordset(list) AS x (uid text, name text, created_s bigint) ORDER BY x.uid;
	UPDATE k8s_namespace n SET gone = now() WHERE n.cluster = c AND n.gone IS NULL
		AND NOT EXISTS (SELECT FROM in_ns i WHERE i.uid = n.uid);
	INSERT INTO k8s_namespace (cluster, uid, name, project, created)
		SELECT c, i.uid, i.name, external_project(c, 'ns:' || i.uid, NULL, i.name), i.created FROM in_ns i
		WHERE NOT EXISTS (SELECT FROM k8s_namespace n WHERE n.cluster = c AND n.uid = i.uid)
		ORDER BY i.uid ON CONFLICT DO NOTHING;
	UPDATE k8s_cluster k SET listed = now() WHERE k.cluster = c;
	DROP TABLE in_ns;
END
$$;

-- All subjects of role bindings, [{"namespace", "kind", "subject"}, ...].
CREATE FUNCTION k8s_bindings(c smallint, list jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_bind ON COMMIT DROP AS
		SELECT DISTINCT x.namespace, x.kind, x.subject
		FROM jsonb_to_recordset(list) AS x (namespace text, kind text, subject text)
		WHERE x.kind IN ('User', 'Group');
	DELETE FROM k8s_binding b WHERE b.cluster = c AND NOT EXISTS (SELECT FROM in_bind i
		WHERE i.namespace = b.namespace AND i.kind = b.kind AND i.subject = b.subject);
	INSERT INTO k8s_binding (cluster, namespace, kind, subject)
		SELECT c, i.namespace, i.kind, i.subject FROM in_bind i ON CONFLICT DO NOTHING;
	DROP TABLE in_bind;
END
$$;

-- Who is in which namespace by a file, [{"namespace", "user"}, ...], where no API server can be asked for rights. Who
-- is not in it any more is out from now on.
CREATE FUNCTION k8s_members(c smallint, list jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_ns ON COMMIT DROP AS
		SELECT k8s_project(c, x.namespace, now()) AS project, k8s_person(c, x."user", x.namespace) AS person
		FROM (SELECT DISTINCT namespace, "user" FROM jsonb_to_recordset(list) AS x (namespace text, "user" text)
			WHERE coalesce("user", '') <> '' AND "user" NOT LIKE 'system:%' AND "user" NOT LIKE '%:svc') x;
	UPDATE membership m SET valid_to = now() FROM project p WHERE p.id = m.project AND p.cluster = c
		AND m.source = 'namespace' AND m.valid_to IS NULL
		AND NOT EXISTS (SELECT FROM in_ns i WHERE i.project = m.project AND i.person = m.person);
	INSERT INTO membership (project, person, source)
		SELECT DISTINCT i.project, i.person, 'namespace' FROM in_ns i WHERE i.project IS NOT NULL
			AND NOT EXISTS (SELECT FROM membership m WHERE m.project = i.project AND m.person = i.person
				AND m.valid_to IS NULL)
		ON CONFLICT DO NOTHING;
	DROP TABLE in_ns;
END
$$;

-- The project of the namespace that had this name then. Where no API server is asked a name is all that is known.
CREATE FUNCTION k8s_project(c smallint, called text, at timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	found integer;
BEGIN
	IF coalesce(called, '') = '' THEN
		RETURN NULL;
	END IF;
	IF EXISTS (SELECT FROM k8s_cluster k WHERE k.cluster = c AND k.listed IS NOT NULL) THEN
		SELECT n.project INTO found FROM k8s_namespace n WHERE n.cluster = c AND n.name = called
			AND n.created <= at + interval '1 minute' AND (n.gone IS NULL OR n.gone >= at)
			ORDER BY n.created DESC LIMIT 1;
		RETURN found;
	END IF;
	SELECT id INTO found FROM project p WHERE p.cluster = c AND p.external_id = 'name:' || called;
	RETURN coalesce(found, external_project(c, 'name:' || called, NULL, called));
END
$$;

-- Gives units the owners of their claims. A claim of a pod that nobody has shown after two days was of a creation that
-- was refused; one that waits for its namespace is done without it after an hour.
CREATE FUNCTION k8s_settle(most integer, of_last interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	done bigint;
BEGIN
	CREATE TEMP TABLE in_settle ON COMMIT DROP AS
		SELECT w.*, k8s_person(w.cluster, k8s_claimed(w.cluster, w.uid), w.namespace) AS person
		FROM (SELECT k.cluster, k.uid, k.name, k.at, u.id AS unit, k.namespace,
				k8s_project(k.cluster, k.namespace, k.at) AS project, k.received
			FROM k8s_claim k JOIN cluster c ON c.id = k.cluster AND c.manager = 'k8s'
			JOIN unit u ON u.cluster = k.cluster AND u.uuid = k.uid AND u.known_by IN ('node', 'k8s')
			WHERE k.settled IS NULL AND k.kind = 'Pod' AND k.received > now() - of_last
			ORDER BY k.received LIMIT most) w;
	WITH done AS (UPDATE unit u SET known_by = 'k8s', submitted = coalesce(u.submitted, i.at),
			name = coalesce(u.name, nullif(i.name, '')), person = i.person,
			project = coalesce(u.project, i.project)
		FROM in_settle i WHERE u.id = i.unit AND (u.known_by, u.person, u.project) IS DISTINCT FROM
			('k8s', i.person, coalesce(u.project, i.project))
		RETURNING u.id)
	INSERT INTO dirty (unit) SELECT id FROM done;
	UPDATE k8s_claim k SET settled = now() FROM in_settle i WHERE k.cluster = i.cluster AND k.uid = i.uid
		AND (i.project IS NOT NULL OR i.received < now() - interval '1 hour');
	GET DIAGNOSTICS done = ROW_COUNT;
	DROP TABLE in_settle;
	DELETE FROM k8s_claim k WHERE k.kind = 'Pod' AND k.received < now() - interval '2 days';
	RETURN done;
END
$$;

-- What the API server says of pods: [{"uid", "namespace", "name", "node", "created_s", "started_s", "ended_s", "phase",
-- "cpus", "memory_bytes", "gpus", "owner", "project", "gone"}, ...]; owner and project as trusted annotations have them.
-- whole: part of the whole list.
CREATE FUNCTION k8s_pods(c smallint, list jsonb, whole boolean, OUT changed bigint, OUT made bigint)
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_pod ON COMMIT DROP AS
		SELECT DISTINCT ON (x.uid) x.uid, x.namespace, x.name, to_timestamp(x.created_s) AS created,
			to_timestamp(x.started_s) AS started, x.cpus, x.memory_bytes, x.gpus,
			CASE WHEN coalesce(x.gone, false) OR x.phase IN ('Succeeded', 'Failed')
				THEN greatest(coalesce(to_timestamp(x.ended_s), now()), to_timestamp(x.started_s)) END AS ended,
			CASE WHEN x.phase = 'Succeeded' THEN 'COMPLETED' WHEN x.phase = 'Failed' THEN 'FAILED'
				WHEN coalesce(x.gone, false) THEN 'DELETED' WHEN x.phase = 'Pending' THEN 'PENDING'
				WHEN x.phase = 'Running' THEN 'RUNNING' ELSE 'UNKNOWN' END AS state,
			x.owner, x.project
		FROM jsonb_to_recordset(list) AS x (uid text, namespace text, name text, created_s bigint,
			started_s bigint, ended_s bigint, phase text, cpus integer, memory_bytes bigint, gpus integer,
			owner text, project text, gone boolean)
		ORDER BY x.uid, x.gone DESC NULLS LAST;
	IF whole THEN
		INSERT INTO k8s_seen (cluster, uid) SELECT c, uid FROM in_pod ON CONFLICT DO NOTHING;
	END IF;
	-- the annotation only where nothing was claimed
	CREATE TEMP TABLE in_owner ON COMMIT DROP AS
		SELECT w.uid, coalesce(w.claimed, w.owner) AS owner, w.namespace, w.project, w.created,
			NULL::integer AS person, NULL::integer AS project_id
		FROM (SELECT p.*, k8s_claimed(c, p.uid) AS claimed FROM in_pod p) w;
	CREATE TEMP TABLE in_who ON COMMIT DROP AS
		SELECT d.*, k8s_person(c, d.owner, d.namespace) AS person
		FROM (SELECT DISTINCT owner, namespace FROM in_owner) d;
	CREATE TEMP TABLE in_where ON COMMIT DROP AS
		SELECT d.*, CASE WHEN d.project IS NOT NULL THEN
				external_project(c, 'annotation:' || d.project, NULL, d.project) END AS id
		FROM (SELECT DISTINCT project FROM in_owner) d;
	UPDATE in_owner o SET person = w.person FROM in_who w
		WHERE w.namespace = o.namespace AND w.owner IS NOT DISTINCT FROM o.owner;
	UPDATE in_owner o SET project_id = coalesce(w.id, k8s_project(c, o.namespace, o.created)) FROM in_where w
		WHERE w.project IS NOT DISTINCT FROM o.project;
	WITH next AS (SELECT u.id, p.name, p.created, coalesce(u.started, p.started) AS started,
			coalesce(u.ended, p.ended) AS ended,
			CASE WHEN u.ended IS NOT NULL AND u.known_by = 'k8s' AND u.state IN ('COMPLETED', 'FAILED',
				'OUT_OF_MEMORY') THEN u.state ELSE p.state END AS state,
			o.person, coalesce(o.project_id, u.project) AS project, coalesce(u.cpus, p.cpus) AS cpus,
			coalesce(u.memory_bytes, p.memory_bytes) AS memory_bytes, coalesce(nullif(p.gpus, 0), u.gpus) AS gpus
		FROM in_pod p JOIN in_owner o ON o.uid = p.uid
		JOIN unit u ON u.cluster = c AND u.uuid = p.uid AND u.known_by IN ('node', 'k8s')),
	done AS (UPDATE unit u SET known_by = 'k8s', submitted = n.created, name = n.name, started = n.started,
			ended = n.ended, state = n.state, person = n.person, project = n.project, cpus = n.cpus,
			memory_bytes = n.memory_bytes, gpus = n.gpus
		FROM next n WHERE u.id = n.id AND (u.known_by, u.submitted, u.name, u.started, u.ended, u.state, u.person,
			u.project, u.cpus, u.memory_bytes, u.gpus) IS DISTINCT FROM ('k8s', n.created, n.name, n.started,
			n.ended, n.state, n.person, n.project, n.cpus, n.memory_bytes, n.gpus)
		RETURNING u.id),
	marked AS (INSERT INTO dirty (unit) SELECT id FROM done)
	SELECT count(*) INTO changed FROM done;
	INSERT INTO unit (cluster, uuid, known_by, submitted, person, project, name, started, ended, state, cpus,
			memory_bytes, gpus)
		SELECT c, p.uid, 'k8s', p.created, o.person, o.project_id, p.name, p.started, p.ended, p.state, p.cpus,
			p.memory_bytes, nullif(p.gpus, 0)
		FROM in_pod p JOIN in_owner o ON o.uid = p.uid
		WHERE NOT EXISTS (SELECT FROM unit u WHERE u.cluster = c AND u.uuid = p.uid)
		ORDER BY p.uid ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS made = ROW_COUNT;
	DROP TABLE in_pod, in_owner, in_who, in_where;
END
$$;
ALTER FUNCTION k8s_pods(smallint, jsonb, boolean) SET jit = off;
ALTER FUNCTION k8s_settle(integer, interval) SET jit = off;

-- The whole list has been read, which began at that time: who was not in it is gone.
CREATE FUNCTION k8s_listed(c smallint, began_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	over bigint;
BEGIN
	WITH done AS (UPDATE unit u SET ended = coalesce((SELECT max(coalesce(n.ended, n.last_t1)) FROM unit_node n
				WHERE n.unit = u.id), greatest(now(), u.started)), state = 'DELETED'
			WHERE u.cluster = c AND u.known_by = 'k8s' AND u.ended IS NULL
				AND u.submitted < to_timestamp(began_ms / 1000.0) - interval '1 minute'
				AND NOT EXISTS (SELECT FROM k8s_seen s WHERE s.cluster = c AND s.uid = u.uuid)
			RETURNING u.id),
	marked AS (INSERT INTO dirty (unit) SELECT id FROM done)
	SELECT count(*) INTO over FROM done;
	DELETE FROM k8s_seen s WHERE s.cluster = c;
	UPDATE k8s_cluster k SET pods = now() WHERE k.cluster = c;
	RETURN over;
END
$$;

-- A pod's uid is used once: what a node tells of it is of that pod, whatever clocks and gaps say (as 0045 has it for
-- Nova's servers).
DO $$ BEGIN
	IF to_regprocedure('link_find_run(smallint, unit_node)') IS NULL THEN
		ALTER FUNCTION link_find(smallint, unit_node) RENAME TO link_find_run;
	END IF;
END $$;
CREATE OR REPLACE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT u.id FROM unit u WHERE u.cluster = c AND u.uuid = n.uuid AND u.known_by IN ('nova', 'k8s')
		LIMIT 1), link_find_run(c, n))
$$;

-- As in 0040; a pod also has what its nodes say, where nobody else does.
CREATE OR REPLACE FUNCTION link_provisional(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	UPDATE unit u SET started = CASE u.known_by WHEN 'k8s' THEN coalesce(u.started, n.started) ELSE n.started END,
		uid = CASE c.manager WHEN 'slurm' THEN coalesce(u.uid, n.uid) END,
		gid = CASE c.manager WHEN 'slurm' THEN coalesce(u.gid, n.gid) END, nodes = n.nodes,
		cpus = CASE u.known_by WHEN 'k8s' THEN coalesce(n.cpus, u.cpus) ELSE n.cpus END,
		memory_bytes = CASE u.known_by WHEN 'k8s' THEN coalesce(n.memory_bytes, u.memory_bytes)
			ELSE n.memory_bytes END,
		gpus = CASE u.known_by WHEN 'k8s' THEN coalesce(n.gpus, u.gpus) ELSE n.gpus END
	FROM (SELECT unit, coalesce(min(started) FILTER (WHERE over_by IS NULL), min(started)) AS started,
			max(uid) AS uid, max(gid) AS gid,
			count(DISTINCT node) AS nodes, sum(cpus) AS cpus,
			sum(memory_bytes) AS memory_bytes, sum(gpus) AS gpus
		FROM unit_node WHERE unit = ANY (ids) GROUP BY unit) n,
		cluster c
	WHERE u.id = n.unit AND c.id = u.cluster AND u.known_by IN ('node', 'k8s')
$$;

-- As in 0045 and 0013: a pod is over when its node says so, even where no API server is asked.
CREATE OR REPLACE FUNCTION link_end(grace interval, lost_after interval) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
	units bigint[];
BEGIN
	UPDATE unit_node n SET ended = n.last_t1, how_ended = 'lost'
		FROM unit u WHERE u.ended IS NULL AND u.started IS NOT NULL AND n.unit = u.id
			AND n.ended IS NULL AND greatest(n.last_t1, n.heard) < now() - lost_after;
	WITH over AS (SELECT n.unit, max(n.ended) AS ended,
			CASE WHEN bool_or(n.how_ended = 'oom') THEN 'OUT_OF_MEMORY'
				WHEN bool_or(n.how_ended = 'failed') THEN 'FAILED'
				WHEN bool_or(n.how_ended = 'lost') THEN 'NODE_FAIL'
				ELSE 'COMPLETED' END AS state
		FROM unit u JOIN unit_node n ON n.unit = u.id
		WHERE u.ended IS NULL AND u.started IS NOT NULL AND u.known_by <> 'nova'
		GROUP BY n.unit
		HAVING bool_and(n.ended IS NOT NULL)
			AND (max(n.heard) < now() - CASE bool_or(u.known_by IN ('node', 'k8s'))
				WHEN true THEN grace ELSE greatest(grace, lost_after) END
				OR bool_and(n.how_ended = 'lost'))),
	done AS (UPDATE unit u SET ended = over.ended, state = over.state
		FROM over WHERE u.id = over.unit RETURNING u.id)
	SELECT array_agg(id) INTO units FROM done;
	INSERT INTO dirty (unit) SELECT unnest(units);
	RETURN coalesce(cardinality(units), 0);
END
$$;
ALTER FUNCTION link_end(interval, interval) SET jit = off;
ALTER FUNCTION link_end(interval, interval) SET enable_seqscan = off;
