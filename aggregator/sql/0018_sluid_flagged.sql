-- SPDX-License-Identifier: GPL-2.0-or-later
-- SLUIDs (0014) beside times that only a wall clock knows (0015) and what is told again (0016, 0017), whose
-- functions came without them.

CREATE OR REPLACE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT u.id FROM unit u,
	LATERAL (SELECT life_distance(u.started, coalesce(u.ended,
			-- it may be over without anybody having said so yet
			CASE u.known_by WHEN 'node' THEN (SELECT max(coalesce(o.ended, '9999-01-01'))
				FROM unit_node o WHERE o.unit = u.id) END, '9999-01-01'),
			n.started, coalesce(n.ended, n.last_t1)) AS away) d,
	LATERAL (SELECT u.known_by <> 'node' AND (link_inside(n.started, u.started, u.ended)
				OR u.ended < n.started AND link_inside(n.started, u.started, unit_over(u)))
			AS inside, u.restarts = n.restarts OR n.guessed AS same,
		coalesce(link_sluid(u, n), false) AS sure) w
	WHERE u.cluster = c AND (u.uuid = n.uuid OR u.sluid = node_sluid(n))
		AND (u.uid = n.uid OR u.uid IS NULL OR n.uid IS NULL)
		AND u.started IS NOT NULL
		AND link_sluid(u, n) IS NOT FALSE
		AND (u.uuid = n.uuid OR w.sure AND n.guessed)
		AND (u.known_by = 'node' OR NOT link_never_ran(u.started, u.ended, u.nodes, u.node_list))
		AND (w.sure OR (u.known_by = 'node' OR link_possible(n, u.started)
				AND link_before(u.started, n.over_by))
			AND (w.inside OR w.same AND NOT link_rebooted(u.id, n) AND CASE u.known_by
			WHEN 'node' THEN d.away <= interval '5 s'
			ELSE (d.away <= link_skew() OR n.over_by IS NOT NULL)
				AND link_room(u.id, u.nodes) END))
	ORDER BY w.sure DESC, w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;

CREATE OR REPLACE FUNCTION link_candidates(c smallint, the_uuid text, run integer, m jsonb, target bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
	WITH near AS (SELECT u.id, coalesce(s.sure, false) AS sure, link_inside(u.started, (m->>'started')::timestamptz,
				(m->>'ended')::timestamptz) AS inside,
			u.restarts = run OR NOT EXISTS (SELECT FROM unit_node n
				WHERE n.unit = u.id AND NOT n.guessed) AS same
		FROM unit u,
		LATERAL (SELECT bool_and(n.over_by IS NOT NULL) AS flagged, max(n.over_by) AS over_by
			FROM unit_node n WHERE n.unit = u.id) f,
		LATERAL (SELECT bool_and(node_sluid(n) = m->>'sluid') AS sure
			FROM unit_node n WHERE n.unit = u.id) s
		WHERE u.cluster = c AND u.uuid IN (the_uuid, m->>'sluid') AND u.submitted IS NULL
			AND s.sure IS NOT FALSE AND (u.uuid = the_uuid OR s.sure)
			AND (u.uid IS NULL OR m->>'uid' IS NULL OR u.uid = (m->>'uid')::bigint)
			AND NOT link_never_ran((m->>'started')::timestamptz,
				(m->>'ended')::timestamptz, (m->>'nodes')::integer, m->>'node_list')
			AND (s.sure OR NOT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id
				AND NOT link_possible(n, (m->>'started')::timestamptz))
			AND link_before((m->>'started')::timestamptz, f.over_by)
			AND (f.flagged OR life_distance(u.started, coalesce(u.ended,
					(SELECT max(coalesce(n.ended, n.last_t1))
					FROM unit_node n WHERE n.unit = u.id)),
				(m->>'started')::timestamptz,
				coalesce((m->>'ended')::timestamptz, '9999-01-01')) <= link_skew()))),
	heard AS (SELECT count(DISTINCT n.node) AS nodes FROM unit_node n
		WHERE n.unit = target OR n.unit IN (SELECT id FROM near WHERE inside OR sure))
	SELECT array_agg(near.id ORDER BY near.id) FROM near, heard
	WHERE sure OR inside OR same AND heard.nodes < coalesce((m->>'nodes')::integer, 2147483647)
$$;

CREATE OR REPLACE FUNCTION found_earlier(x unit_node, kept timestamptz, OUT cpu_user_ns numeric,
	OUT cpu_system_ns numeric, OUT io_read_bytes numeric, OUT io_write_bytes numeric,
	OUT until timestamptz, OUT whole boolean) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
	SELECT coalesce(sum(t.cpu_user_ns + coalesce(y.carried_cpu_user_ns, 0)), 0),
			coalesce(sum(t.cpu_system_ns + coalesce(y.carried_cpu_system_ns, 0)), 0),
			coalesce(sum(t.io_read_bytes + coalesce(y.carried_io_read_bytes, 0)), 0),
			coalesce(sum(t.io_write_bytes + coalesce(y.carried_io_write_bytes, 0)), 0),
			max(t.until),
			coalesce(bool_and(t.cpu_user_ns IS NOT NULL AND t.cpu_system_ns IS NOT NULL), true)
		INTO cpu_user_ns, cpu_system_ns, io_read_bytes, io_write_bytes, until, whole
		FROM unit u JOIN unit o ON o.uuid = u.uuid AND o.cluster = u.cluster
		JOIN unit_node y ON y.unit = o.id
		CROSS JOIN LATERAL found_told(y, kept) t
		WHERE u.id = x.unit AND y.instance <> x.instance AND y.node = x.node
			AND y.boot IS NOT DISTINCT FROM x.boot
			AND (node_sluid(y) = node_sluid(x)) IS NOT FALSE
			AND (y.restarts = x.restarts OR y.guessed OR x.guessed)
			AND (y.uid = x.uid OR y.uid IS NULL OR x.uid IS NULL)
			AND (o.id = u.id OR o.known_by = 'node' OR u.known_by = 'node')
			AND found_before(y, x);
END
$$;
ALTER FUNCTION found_earlier(unit_node, timestamptz) SET enable_seqscan = off;
