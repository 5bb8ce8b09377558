-- SPDX-License-Identifier: GPL-2.0-or-later
-- Instances of a unit on one node and of one boot are put in order by that boot's clock, which nobody
-- sets: the wall clock may have been set between them.

-- When it was first seen, since the node's boot; NULL: an older release does not say.
ALTER TABLE unit_node ADD COLUMN boottime_ns bigint;

-- As ingest_staging() and ingest_merge(), which an older program may still use, and with that.
CREATE FUNCTION ingest_staging_boottime() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('pg_temp.in_node') IS NULL THEN
		PERFORM ingest_staging();
		ALTER TABLE pg_temp.in_node ADD COLUMN boottime_ns bigint;
	END IF;
END
$$;
CREATE FUNCTION ingest_merge_boottime() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	jobs bigint := ingest_merge();
BEGIN
	UPDATE unit_node n SET boottime_ns = s.boottime_ns FROM in_node s
		WHERE n.instance = s.instance AND n.boottime_ns IS NULL AND s.boottime_ns IS NOT NULL;
	RETURN jobs;
END
$$;

-- By how much n was first seen after o was, both of one node and boot. started is no such time of one that
-- was found in mid-life (0008).
CREATE FUNCTION link_after(n unit_node, o unit_node) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(make_interval(secs => (n.boottime_ns - o.boottime_ns) / 1e9),
		(coalesce(n.found_at, n.started) - make_interval(secs => n.shift_ms / 1000.0))
			- (coalesce(o.found_at, o.started) - make_interval(secs => o.shift_ms / 1000.0)))
$$;
-- How long after it was first seen it ended, at least a second; forever, if nobody has told.
CREATE FUNCTION link_lasted(n unit_node) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN n.ended IS NULL THEN interval '100 years'
		ELSE greatest(interval '1 s', n.ended - coalesce(n.found_at, n.started)) END
$$;

-- Whether n and another instance of that node and boot are of one life, so that n is no further node: one
-- was first seen before the other had ended. n came later, or was told later and the other one was found in
-- mid-life.
CREATE OR REPLACE FUNCTION link_goes_on(of_unit bigint, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM unit_node o, link_after(n, o) d
		WHERE o.unit = of_unit AND o.node = n.node AND o.boot = n.boot
			AND o.instance <> n.instance AND o.uuid = n.uuid
			AND (d BETWEEN interval '-1 s' AND link_lasted(o)
				OR o.found_at IS NOT NULL AND d < interval '0' AND -d <= link_lasted(n)))
$$;

-- As in 0024, but that one that goes on where the clock was set meanwhile is of a provisional unit, too.
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
				OR d.away <= link_skew() AND link_goes_on(u.id, n)
			ELSE (d.away <= link_skew() OR n.over_by IS NOT NULL)
				AND (link_room(u.id, u.nodes) OR link_goes_on(u.id, n)) END))
	ORDER BY w.sure DESC, w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;
