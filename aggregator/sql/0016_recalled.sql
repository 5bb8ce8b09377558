-- SPDX-License-Identifier: GPL-2.0-or-later
-- A unit table that was begun anew takes from the ring what the one before had taken already: such an
-- instance begins when the unit did, and so do the ones before.

-- Whether y stood for the unit before x, that was found, did. One that saw the unit's start came
-- first; it may seem to have begun later, where it met the unit among the control groups, or clocks
-- placed them apart (aggregator/ingest_place.h). Of others the one that found the least, for a control
-- group only counts up.
CREATE FUNCTION found_before(y unit_node, x unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN y.found_at IS NULL THEN y.started <= x.found_at + interval '2 minutes'
		ELSE (y.before_cpu_user_ns + y.before_cpu_system_ns, y.found_at, y.received, y.instance)
			< (x.before_cpu_user_ns + x.before_cpu_system_ns, x.found_at, x.received, x.instance) END
$$;

-- As in 0008, but that what has told its totals is not looked for among intervals. This and the next are
-- planned once for a session, since that goes over all partitions and a table that is lost twice tells
-- thousands of units again.
CREATE OR REPLACE FUNCTION found_told(n unit_node, kept timestamptz, OUT cpu_user_ns numeric,
	OUT cpu_system_ns numeric, OUT io_read_bytes numeric, OUT io_write_bytes numeric,
	OUT until timestamptz) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
	until := greatest(n.started, n.last_t1, CASE WHEN n.final THEN n.ended END);
	IF n.final THEN
		cpu_user_ns := n.cpu_user_ns;
		cpu_system_ns := n.cpu_system_ns;
		io_read_bytes := coalesce(n.io_read_bytes, 0);
		io_write_bytes := coalesce(n.io_write_bytes, 0);
		RETURN;
	END IF;
	SELECT coalesce(sum(v.cpu_user_ns), 0), coalesce(sum(v.cpu_system_ns), 0),
			coalesce(sum(v.io_read_bytes), 0), coalesce(sum(v.io_write_bytes), 0),
			greatest(until, max(v.t0 + v.ms * interval '1 ms'))
		INTO cpu_user_ns, cpu_system_ns, io_read_bytes, io_write_bytes, until
		FROM unit_interval v
		WHERE v.instance = n.instance AND v.t0 >= coalesce(n.found_at, n.started - interval '1 s');
	IF coalesce(n.found_at, n.started) < kept THEN
		cpu_user_ns := NULL;
		cpu_system_ns := NULL;
	END IF;
END
$$;
ALTER FUNCTION found_told(unit_node, timestamptz) SET enable_seqscan = off;

-- As in 0008, but for found_before(), and that an instance of another SLUID is of another job and its
-- counters of another group.
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

-- Of the runs that marks are about, the instances that were found, in the order in which they were.
CREATE OR REPLACE FUNCTION rollup_found() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	kept timestamptz;
	x unit_node;
BEGIN
	IF NOT EXISTS (SELECT FROM unit_node n WHERE n.found_at IS NOT NULL) THEN
		RETURN;
	END IF;
	SELECT coalesce(first, 'infinity') INTO kept FROM partition_range('unit_interval');
	FOR x IN SELECT n.* FROM unit_node n WHERE n.found_at > kept AND n.unit IN (
			SELECT o.id FROM (SELECT unit FROM ru_mark WHERE unit IS NOT NULL
				UNION SELECT y.unit FROM ru_mark m JOIN unit_node y USING (instance)) k
			JOIN unit u ON u.id = k.unit
			JOIN unit o ON o.uuid = u.uuid AND o.cluster = u.cluster)
		ORDER BY n.before_cpu_user_ns + n.before_cpu_system_ns, n.found_at, n.received, n.instance
	LOOP
		-- the one before has just been changed, perhaps
		SELECT * INTO x FROM unit_node WHERE instance = x.instance;
		PERFORM found_settle(x, kept);
	END LOOP;
END
$$;

-- What of an instance its final report has more than its intervals (a spool on a full disk gives these
-- up first), where another instance of the unit never told its end, so that 0004 sums days.
CREATE FUNCTION rollup_lost(kept timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit u SET cpu_user_ns = coalesce(u.cpu_user_ns, 0) + m.cpu_user_ns,
		cpu_system_ns = coalesce(u.cpu_system_ns, 0) + m.cpu_system_ns,
		io_read_bytes = sum_known(u.io_read_bytes, m.io_read_bytes),
		io_write_bytes = sum_known(u.io_write_bytes, m.io_write_bytes)
	FROM (SELECT n.unit,
			sum(greatest(0, n.cpu_user_ns + coalesce(n.carried_cpu_user_ns, 0)
				- coalesce(i.cpu_user_ns, 0))) AS cpu_user_ns,
			sum(greatest(0, n.cpu_system_ns + coalesce(n.carried_cpu_system_ns, 0)
				- coalesce(i.cpu_system_ns, 0))) AS cpu_system_ns,
			sum(greatest(0, sum_known(n.io_read_bytes, n.carried_io_read_bytes)
				- coalesce(i.io_read_bytes, 0))) AS io_read_bytes,
			sum(greatest(0, sum_known(n.io_write_bytes, n.carried_io_write_bytes)
				- coalesce(i.io_write_bytes, 0))) AS io_write_bytes
		FROM ru_unit b JOIN unit_node n ON n.unit = b.unit
		CROSS JOIN LATERAL (SELECT sum(v.cpu_user_ns) AS cpu_user_ns,
				sum(v.cpu_system_ns) AS cpu_system_ns,
				sum(v.io_read_bytes) AS io_read_bytes,
				sum(v.io_write_bytes) AS io_write_bytes
			FROM unit_interval v WHERE v.instance = n.instance
				AND v.t0 >= n.started - interval '1 h') i
		WHERE n.final AND n.started >= kept AND n.cpu_user_ns IS NOT NULL
			AND EXISTS (SELECT FROM unit_node f WHERE f.unit = b.unit AND f.found_at IS NOT NULL)
			AND EXISTS (SELECT FROM unit_node f WHERE f.unit = b.unit AND NOT f.final)
		GROUP BY n.unit) m
	WHERE u.id = m.unit;
END
$$;

ALTER FUNCTION rollup_units() RENAME TO rollup_carried;
CREATE FUNCTION rollup_units() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_carried();
	PERFORM rollup_lost(coalesce((SELECT first FROM partition_range('unit_interval')), 'infinity'));
END
$$;
