-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs of one number are told apart, also where slurmctld has lost its state and begins to count
-- anew: nobody gets what an earlier job of the same number and user used. Of a job's SLUID only
-- slurmctld's record would know; the node's is the job's own environment.

-- Whether what a node tells can be of a run at all, whatever the node's clock was. A node tells of
-- what has begun: what came before the run did is not its. Nor is what ended before: by so much as
-- its first report came after the beginning that it tells of may the node's clock be behind.
CREATE FUNCTION link_possible(n unit_node, began timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT coalesce(n.received >= began - interval '10 s' AND coalesce(n.ended
			+ greatest(interval '0', n.received - n.started), 'infinity')
		>= began - interval '10 s', true)
$$;

-- A job that was cancelled before it began has a start, too, for Slurm.
CREATE FUNCTION link_never_ran(began timestamptz, over timestamptz, nodes integer, node_list text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT coalesce(nodes, 0) = 0 AND coalesce(node_list, '') = '' AND coalesce(over <= began, false)
$$;

-- No job lives on while its node boots.
CREATE FUNCTION link_rebooted(of_unit bigint, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM unit_node o WHERE o.unit = of_unit AND o.node = n.node
		AND o.boot <> n.boot)
$$;

-- As in 0003, but for these.
CREATE OR REPLACE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT u.id FROM unit u,
	LATERAL (SELECT life_distance(u.started, coalesce(u.ended,
			-- it may be over without anybody having said so yet
			CASE u.known_by WHEN 'node' THEN (SELECT max(coalesce(o.ended, '9999-01-01'))
				FROM unit_node o WHERE o.unit = u.id) END, '9999-01-01'),
			n.started, coalesce(n.ended, n.last_t1)) AS away) d,
	LATERAL (SELECT u.known_by <> 'node' AND link_inside(n.started, u.started, u.ended)
			AS inside, u.restarts = n.restarts OR n.guessed AS same) w
	WHERE u.cluster = c AND u.uuid = n.uuid
		AND (u.uid = n.uid OR u.uid IS NULL OR n.uid IS NULL)
		AND u.started IS NOT NULL
		AND (u.known_by = 'node' OR NOT link_never_ran(u.started, u.ended, u.nodes, u.node_list)
			AND link_possible(n, u.started))
		AND (w.inside OR w.same AND NOT link_rebooted(u.id, n) AND CASE u.known_by
			WHEN 'node' THEN d.away <= interval '5 s'
			ELSE d.away <= link_skew() AND link_room(u.id, u.nodes) END)
	ORDER BY w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;

CREATE OR REPLACE FUNCTION link_candidates(c smallint, the_uuid text, run integer, m jsonb, target bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
	WITH near AS (SELECT u.id, link_inside(u.started, (m->>'started')::timestamptz,
				(m->>'ended')::timestamptz) AS inside,
			u.restarts = run OR NOT EXISTS (SELECT FROM unit_node n
				WHERE n.unit = u.id AND NOT n.guessed) AS same
		FROM unit u WHERE u.cluster = c AND u.uuid = the_uuid AND u.submitted IS NULL
			AND (u.uid IS NULL OR m->>'uid' IS NULL OR u.uid = (m->>'uid')::bigint)
			AND NOT link_never_ran((m->>'started')::timestamptz,
				(m->>'ended')::timestamptz, (m->>'nodes')::integer, m->>'node_list')
			AND NOT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id
				AND NOT link_possible(n, (m->>'started')::timestamptz))
			AND life_distance(u.started, coalesce(u.ended,
					(SELECT max(coalesce(n.ended, n.last_t1))
					FROM unit_node n WHERE n.unit = u.id)),
				(m->>'started')::timestamptz,
				coalesce((m->>'ended')::timestamptz, '9999-01-01')) <= link_skew()),
	heard AS (SELECT count(DISTINCT n.node) AS nodes FROM unit_node n
		WHERE n.unit = target OR n.unit IN (SELECT id FROM near WHERE inside))
	SELECT array_agg(near.id ORDER BY near.id) FROM near, heard
	WHERE inside OR same AND heard.nodes < coalesce((m->>'nodes')::integer, 2147483647)
$$;
