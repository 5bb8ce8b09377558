-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs of one number are told apart by their SLUID, too, where both sides have one that can be believed:
-- slurmctld's by its records, a node's by the name of the job's control group (Slurm 26.05, cgroup v2).
-- What else a node says of it is the job's own environment and decides nothing.

CREATE FUNCTION node_sluid(n unit_node) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT n.hints->>'cgroup_sluid'
$$;

-- Whether a row of a node is of this unit. NULL: SLUIDs do not say. An import's is that of slurmdbd's row,
-- which for a resized job is not the job's.
CREATE FUNCTION link_sluid(u unit, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT CASE u.known_by WHEN 'jobcomp' THEN u.sluid = node_sluid(n)
		WHEN 'node' THEN (SELECT bool_and(node_sluid(o) = node_sluid(n))
			FROM unit_node o WHERE o.unit = u.id) END
$$;

CREATE INDEX unit_sluid ON unit (cluster, sluid) WHERE sluid IS NOT NULL;

-- As in 0010, but that equal SLUIDs decide, whatever clocks say, and others exclude. A node that found the
-- job by its control group alone knows no other number.
CREATE OR REPLACE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT u.id FROM unit u,
	LATERAL (SELECT life_distance(u.started, coalesce(u.ended,
			-- it may be over without anybody having said so yet
			CASE u.known_by WHEN 'node' THEN (SELECT max(coalesce(o.ended, '9999-01-01'))
				FROM unit_node o WHERE o.unit = u.id) END, '9999-01-01'),
			n.started, coalesce(n.ended, n.last_t1)) AS away) d,
	LATERAL (SELECT u.known_by <> 'node' AND link_inside(n.started, u.started, u.ended)
			AS inside, u.restarts = n.restarts OR n.guessed AS same,
		coalesce(link_sluid(u, n), false) AS sure) w
	WHERE u.cluster = c AND (u.uuid = n.uuid OR u.sluid = node_sluid(n))
		AND (u.uid = n.uid OR u.uid IS NULL OR n.uid IS NULL)
		AND u.started IS NOT NULL
		AND link_sluid(u, n) IS NOT FALSE
		AND (u.uuid = n.uuid OR w.sure AND n.guessed)
		AND (u.known_by = 'node' OR NOT link_never_ran(u.started, u.ended, u.nodes, u.node_list))
		AND (w.sure OR (u.known_by = 'node' OR link_possible(n, u.started))
			AND (w.inside OR w.same AND NOT link_rebooted(u.id, n) AND CASE u.known_by
				WHEN 'node' THEN d.away <= interval '5 s'
				ELSE d.away <= link_skew() AND link_room(u.id, u.nodes) END))
	ORDER BY w.sure DESC, w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id
	LIMIT 1
$$;

-- m has a SLUID only where it is slurmctld's.
CREATE OR REPLACE FUNCTION link_candidates(c smallint, the_uuid text, run integer, m jsonb, target bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
	WITH told AS (SELECT u.id, u.started, u.ended, u.restarts, s.sure
		FROM unit u, LATERAL (SELECT bool_and(node_sluid(n) = m->>'sluid') AS sure
			FROM unit_node n WHERE n.unit = u.id) s
		WHERE u.cluster = c AND u.uuid IN (the_uuid, m->>'sluid') AND u.submitted IS NULL
			AND (u.uid IS NULL OR m->>'uid' IS NULL OR u.uid = (m->>'uid')::bigint)
			AND s.sure IS NOT FALSE
			AND (u.uuid = the_uuid OR s.sure)
			AND NOT link_never_ran((m->>'started')::timestamptz,
				(m->>'ended')::timestamptz, (m->>'nodes')::integer, m->>'node_list')),
	near AS (SELECT u.id, coalesce(u.sure, false) AS sure,
			link_inside(u.started, (m->>'started')::timestamptz,
				(m->>'ended')::timestamptz) AS inside,
			u.restarts = run OR NOT EXISTS (SELECT FROM unit_node n
				WHERE n.unit = u.id AND NOT n.guessed) AS same
		FROM told u WHERE u.sure OR NOT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id
				AND NOT link_possible(n, (m->>'started')::timestamptz))
			AND life_distance(u.started, coalesce(u.ended,
					(SELECT max(coalesce(n.ended, n.last_t1))
					FROM unit_node n WHERE n.unit = u.id)),
				(m->>'started')::timestamptz,
				coalesce((m->>'ended')::timestamptz, '9999-01-01')) <= link_skew()),
	heard AS (SELECT count(DISTINCT n.node) AS nodes FROM unit_node n
		WHERE n.unit = target OR n.unit IN (SELECT id FROM near WHERE inside OR sure))
	SELECT array_agg(near.id ORDER BY near.id) FROM near, heard
	WHERE sure OR inside OR same AND heard.nodes < coalesce((m->>'nodes')::integer, 2147483647)
$$;

-- As in 0003, but for SLUIDs, by which a unit of nodes may be called until its record comes.
CREATE OR REPLACE FUNCTION link_jobs(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	k record;
	f record;
	target bigint;
	others bigint[];
	done integer := 0;
BEGIN
	FOR k IN SELECT DISTINCT cluster, uuid, restarts, submitted
		FROM (SELECT * FROM job_record WHERE unit IS NULL ORDER BY received LIMIT most) j
	LOOP
		f := link_fold(k.cluster, k.uuid, k.restarts, k.submitted);
		SELECT id INTO target FROM unit WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted;
		others := NULL;
		IF f.m->>'started' IS NOT NULL THEN
			others := link_candidates(k.cluster, k.uuid, k.restarts,
				CASE f.source WHEN 'jobcomp' THEN f.m ELSE f.m - 'sluid' END, target);
		END IF;
		IF target IS NULL AND others IS NOT NULL THEN
			target := others[1];
			others := others[2:];
		ELSIF target IS NULL THEN
			INSERT INTO unit (cluster, uuid, restarts, submitted, known_by)
				VALUES (k.cluster, k.uuid, k.restarts, k.submitted, f.source)
				RETURNING id INTO target;
		END IF;
		IF cardinality(others) > 0 THEN
			PERFORM link_merge(target, others);
		END IF;
		UPDATE unit SET restarts = k.restarts, uuid = k.uuid
			WHERE id = target AND (restarts <> k.restarts OR uuid <> k.uuid);
		PERFORM link_update(target, f.m || jsonb_build_object('submitted', k.submitted),
			f.source);
		UPDATE job_record SET unit = target WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted
			AND unit IS DISTINCT FROM target;
		done := done + 1;
	END LOOP;
	RETURN done;
END
$$;
ALTER FUNCTION link_jobs(integer) SET jit = off;
ALTER FUNCTION link_jobs(integer) SET enable_seqscan = off;

-- As in 0008, but that an instance of another SLUID is of another job and its counters of another group.
CREATE OR REPLACE FUNCTION found_earlier(x unit_node, kept timestamptz, OUT cpu_user_ns numeric,
	OUT cpu_system_ns numeric, OUT io_read_bytes numeric, OUT io_write_bytes numeric,
	OUT until timestamptz, OUT whole boolean) LANGUAGE sql STABLE AS $$
	SELECT coalesce(sum(t.cpu_user_ns + coalesce(y.carried_cpu_user_ns, 0)), 0),
		coalesce(sum(t.cpu_system_ns + coalesce(y.carried_cpu_system_ns, 0)), 0),
		coalesce(sum(t.io_read_bytes + coalesce(y.carried_io_read_bytes, 0)), 0),
		coalesce(sum(t.io_write_bytes + coalesce(y.carried_io_write_bytes, 0)), 0),
		max(t.until),
		coalesce(bool_and(t.cpu_user_ns IS NOT NULL AND t.cpu_system_ns IS NOT NULL), true)
	FROM unit u JOIN unit o ON o.uuid = u.uuid AND o.cluster = u.cluster
	JOIN unit_node y ON y.unit = o.id
	CROSS JOIN LATERAL found_told(y, kept) t
	WHERE u.id = x.unit AND y.instance <> x.instance AND y.node = x.node
		AND y.boot IS NOT DISTINCT FROM x.boot
		AND (node_sluid(y) = node_sluid(x)) IS NOT FALSE
		AND (y.restarts = x.restarts OR y.guessed OR x.guessed)
		AND (y.uid = x.uid OR y.uid IS NULL OR x.uid IS NULL)
		AND (o.id = u.id OR o.known_by = 'node' OR u.known_by = 'node')
		AND coalesce(y.found_at, y.started) < x.found_at
$$;
