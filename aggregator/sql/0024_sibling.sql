-- SPDX-License-Identifier: GPL-2.0-or-later
-- A unit table that is lost while jobs run makes another instance of each. On a node whose clock is a
-- little wrong (by less than what counts as wrong, so that nothing is moved) it seems to have begun
-- outside of its run, and its run has heard of all its nodes: it stayed a unit of its own.

-- Whether n goes on where another instance of that node and boot left off, which has told no end, or is
-- told again from the ring (0016) and began when that one did: by one clock, so that it does not matter
-- how wrong it is.
CREATE FUNCTION link_goes_on(of_unit bigint, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM unit_node o WHERE o.unit = of_unit AND o.node = n.node AND o.boot = n.boot
		AND o.instance <> n.instance AND o.uuid = n.uuid
		AND (n.started - make_interval(secs => n.shift_ms / 1000.0))
			- (o.started - make_interval(secs => o.shift_ms / 1000.0))
			BETWEEN interval '-1 s' AND CASE WHEN o.ended IS NULL THEN interval '100 years' ELSE interval '1 s' END)
$$;

-- As in 0015, but that one that goes on is no further node.
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
				AND (link_room(u.id, u.nodes) OR link_goes_on(u.id, n)) END))
	ORDER BY w.sure DESC, w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;
