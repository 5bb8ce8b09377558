-- SPDX-License-Identifier: GPL-2.0-or-later
-- A unit table that is lost twice tells thousands of units again. What is asked for each of them is
-- planned once for a session (it goes over all partitions), and what has told its totals is not
-- looked for among intervals.

-- As in 0008, but for that.
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

-- As in 0016, planned once.
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
			AND (y.restarts = x.restarts OR y.guessed OR x.guessed)
			AND (y.uid = x.uid OR y.uid IS NULL OR x.uid IS NULL)
			AND (o.id = u.id OR o.known_by = 'node' OR u.known_by = 'node')
			AND found_before(y, x);
END
$$;
ALTER FUNCTION found_earlier(unit_node, timestamptz) SET enable_seqscan = off;
ALTER FUNCTION found_told(unit_node, timestamptz) SET enable_seqscan = off;
