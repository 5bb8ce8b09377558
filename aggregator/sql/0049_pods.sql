-- SPDX-License-Identifier: GPL-2.0-or-later
-- A watch may have several events of one pod: what counts is the last of them.

-- As in 0048. What the API server says of pods: [{"uid", "namespace", "name", "node", "created_s", "started_s", "ended_s", "phase",
-- "cpus", "memory_bytes", "gpus", "owner", "project", "gone"}, ...]; owner and project as trusted annotations have them.
-- whole: part of the whole list.
CREATE OR REPLACE FUNCTION k8s_pods(c smallint, list jsonb, whole boolean, OUT changed bigint, OUT made bigint)
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
		-- of several events of a pod the last
		FROM ROWS FROM (jsonb_to_recordset(list) AS (uid text, namespace text, name text, created_s bigint,
			started_s bigint, ended_s bigint, phase text, cpus integer, memory_bytes bigint, gpus integer,
			owner text, project text, gone boolean)) WITH ORDINALITY AS x (uid, namespace, name, created_s,
			started_s, ended_s, phase, cpus, memory_bytes, gpus, owner, project, gone, nth)
		ORDER BY x.uid, x.nth DESC;
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
