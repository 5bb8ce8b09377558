-- SPDX-License-Identifier: GPL-2.0-or-later
-- Units that a node found in mid-life (doc/reports.md): what their control group had counted by then
-- is billed here as far as no earlier instance has told of it.

-- started is from when on this instance stands for the unit on its node: found_at, or where what it
-- had used before begins. What is carried are its rows of unit_interval before `found_at`, and in no
-- final report.
ALTER TABLE unit_node
	ADD COLUMN found_at timestamptz, -- when; NULL: it was seen from its start
	ADD COLUMN before_cpu_user_ns bigint, ADD COLUMN before_cpu_system_ns bigint,
	ADD COLUMN before_io_read_bytes bigint, ADD COLUMN before_io_write_bytes bigint,
	ADD COLUMN carried_cpu_user_ns bigint, ADD COLUMN carried_cpu_system_ns bigint,
	ADD COLUMN carried_io_read_bytes bigint, ADD COLUMN carried_io_write_bytes bigint;
CREATE INDEX unit_node_found ON unit_node (unit) WHERE found_at IS NOT NULL;

CREATE FUNCTION ingest_found_staging() RETURNS void LANGUAGE sql AS $$
	CREATE TEMP TABLE IF NOT EXISTS in_found (instance bigint, found_at timestamptz,
		before_cpu_user_ns bigint, before_cpu_system_ns bigint,
		before_io_read_bytes bigint, before_io_write_bytes bigint
	) ON COMMIT DELETE ROWS
$$;

-- The first word counts; all reports of an instance say the same.
CREATE FUNCTION ingest_found() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_node n SET found_at = s.found_at, before_cpu_user_ns = s.before_cpu_user_ns,
			before_cpu_system_ns = s.before_cpu_system_ns,
			before_io_read_bytes = s.before_io_read_bytes,
			before_io_write_bytes = s.before_io_write_bytes
		FROM in_found s WHERE s.instance = n.instance AND n.found_at IS NULL;
	INSERT INTO dirty (instance, hour)
		SELECT DISTINCT s.instance, date_trunc('hour', s.found_at, 'UTC') FROM in_found s;
END
$$;

-- What an instance has told of itself, and until when: its final report, else its intervals. NULL:
-- some of these are no longer kept.
CREATE FUNCTION found_told(n unit_node, kept timestamptz, OUT cpu_user_ns numeric,
	OUT cpu_system_ns numeric, OUT io_read_bytes numeric, OUT io_write_bytes numeric,
	OUT until timestamptz) LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN n.final THEN n.cpu_user_ns WHEN coalesce(n.found_at, n.started) < kept THEN NULL
			ELSE coalesce(i.cpu_user_ns, 0) END,
		CASE WHEN n.final THEN n.cpu_system_ns WHEN coalesce(n.found_at, n.started) < kept THEN NULL
			ELSE coalesce(i.cpu_system_ns, 0) END,
		coalesce(CASE WHEN n.final THEN n.io_read_bytes ELSE i.io_read_bytes END, 0),
		coalesce(CASE WHEN n.final THEN n.io_write_bytes ELSE i.io_write_bytes END, 0),
		greatest(n.started, n.last_t1, i.until, CASE WHEN n.final THEN n.ended END)
	FROM (SELECT sum(v.cpu_user_ns) AS cpu_user_ns, sum(v.cpu_system_ns) AS cpu_system_ns,
			sum(v.io_read_bytes) AS io_read_bytes,
			sum(v.io_write_bytes) AS io_write_bytes,
			max(v.t0 + v.ms * interval '1 ms') AS until
		FROM unit_interval v
		WHERE v.instance = n.instance AND v.t0 >= coalesce(n.found_at, n.started - interval '1 s')) i
$$;

-- All instances before x, in found or started, of the same run on the same node: what they have told
-- and carried, together. The node may not know which run it is: then all that are linked to one.
CREATE FUNCTION found_earlier(x unit_node, kept timestamptz, OUT cpu_user_ns numeric,
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
		AND (y.restarts = x.restarts OR y.guessed OR x.guessed)
		AND (y.uid = x.uid OR y.uid IS NULL OR x.uid IS NULL)
		AND (o.id = u.id OR o.known_by = 'node' OR u.known_by = 'node')
		AND coalesce(y.found_at, y.started) < x.found_at
$$;

-- Decides what x carries, and writes its rows. True: something has changed.
CREATE FUNCTION found_settle(x unit_node, kept timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	e record;
	c unit_node := x;
	cpu numeric;
	began timestamptz;
BEGIN
	e := found_earlier(x, kept);
	IF NOT e.whole THEN
		RETURN false; -- what was decided when all was known stays
	END IF;
	cpu := greatest(0, x.before_cpu_user_ns::numeric + x.before_cpu_system_ns
		- e.cpu_user_ns - e.cpu_system_ns);
	c.carried_cpu_user_ns := least(cpu, greatest(0, x.before_cpu_user_ns - e.cpu_user_ns));
	c.carried_cpu_system_ns := cpu - c.carried_cpu_user_ns;
	IF x.before_io_read_bytes IS NOT NULL THEN
		c.carried_io_read_bytes := greatest(0, x.before_io_read_bytes - e.io_read_bytes);
		c.carried_io_write_bytes := greatest(0, x.before_io_write_bytes - e.io_write_bytes);
	END IF;
	SELECT CASE WHEN known_by <> 'node' THEN started END INTO began FROM unit WHERE id = x.unit;
	c.started := least(greatest(coalesce(e.until, began, x.found_at), kept),
		x.found_at - interval '1 ms');
	IF c IS NOT DISTINCT FROM x THEN
		RETURN false;
	END IF;
	UPDATE unit_node SET started = c.started, carried_cpu_user_ns = c.carried_cpu_user_ns,
			carried_cpu_system_ns = c.carried_cpu_system_ns,
			carried_io_read_bytes = c.carried_io_read_bytes,
			carried_io_write_bytes = c.carried_io_write_bytes
		WHERE instance = x.instance;
	INSERT INTO ru_mark (instance, hour)
		SELECT x.instance, generate_series(date_trunc('hour', least(c.started, x.started), 'UTC'),
			x.found_at, '1 h');
	DELETE FROM unit_interval WHERE instance = x.instance AND t0 < x.found_at;
	-- a row for each hour; in all they are what is carried
	INSERT INTO unit_interval (instance, t0, ms, observed_ms, cpu_user_ns, cpu_system_ns,
			io_read_bytes, io_write_bytes)
		SELECT x.instance, p.t0, p.upto - p.since, 0,
			found_part(c.carried_cpu_user_ns, p.since, p.upto, w.total),
			found_part(c.carried_cpu_system_ns, p.since, p.upto, w.total),
			found_part(c.carried_io_read_bytes, p.since, p.upto, w.total),
			found_part(c.carried_io_write_bytes, p.since, p.upto, w.total)
		FROM (SELECT greatest(1, overlap_ms(c.started, x.found_at, c.started, x.found_at)) AS total) w,
		generate_series(date_trunc('hour', c.started, 'UTC'), x.found_at - interval '1 us', '1 h') h,
		LATERAL (SELECT greatest(h, c.started) AS t0,
			overlap_ms(c.started, x.found_at, c.started, h) AS since,
			overlap_ms(c.started, x.found_at, c.started, h + interval '1 h') AS upto) p;
	RETURN true;
END
$$;

-- What of v belongs to [since, upto) of total: over all parts it is v.
CREATE FUNCTION found_part(v bigint, since bigint, upto bigint, total bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT (div(v::numeric * upto, total) - div(v::numeric * since, total))::bigint
$$;

-- Of the runs that marks are about, the instances that were found, in the order in which they were.
CREATE FUNCTION rollup_found() RETURNS void LANGUAGE plpgsql AS $$
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
		ORDER BY n.found_at, n.instance
	LOOP
		-- the one before has just been changed, perhaps
		SELECT * INTO x FROM unit_node WHERE instance = x.instance;
		PERFORM found_settle(x, kept);
	END LOOP;
END
$$;

ALTER FUNCTION rollup_lives() RENAME TO rollup_told;
CREATE FUNCTION rollup_lives() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_told();
	PERFORM rollup_found();
END
$$;

-- Final reports have what was used since; what was carried is added.
ALTER FUNCTION rollup_units() RENAME TO rollup_sums;
CREATE FUNCTION rollup_units() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_sums();
	UPDATE unit u SET cpu_user_ns = sum_known(u.cpu_user_ns, c.cpu_user_ns),
		cpu_system_ns = sum_known(u.cpu_system_ns, c.cpu_system_ns),
		io_read_bytes = sum_known(u.io_read_bytes, c.io_read_bytes),
		io_write_bytes = sum_known(u.io_write_bytes, c.io_write_bytes)
	FROM (SELECT n.unit, sum(n.carried_cpu_user_ns) AS cpu_user_ns,
			sum(n.carried_cpu_system_ns) AS cpu_system_ns,
			sum(n.carried_io_read_bytes) AS io_read_bytes,
			sum(n.carried_io_write_bytes) AS io_write_bytes
		FROM ru_unit b JOIN unit_node n ON n.unit = b.unit
		WHERE EXISTS (SELECT FROM unit_node f WHERE f.unit = b.unit AND f.found_at IS NOT NULL)
		GROUP BY n.unit HAVING bool_and(n.final)) c
	WHERE u.id = c.unit;
END
$$;

-- A node's numbers: what it told and what was carried.
CREATE OR REPLACE FUNCTION api_nodes(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
		'node', o.name, 'instance', n.instance::text, 'started_at', api_ts(n.started),
		'started_at_ts', api_ms(n.started), 'ended_at', api_ts(n.ended),
		'ended_at_ts', api_ms(n.ended), 'how_ended', n.how_ended,
		'found_at', api_ts(n.found_at), 'found_at_ts', api_ms(n.found_at),
		'last_report_ts', api_ms(n.heard), 'final', n.final,
		'cpus', n.cpus, 'memory_bytes', n.memory_bytes, 'gpus', n.gpus,
		'gpu_list', n.gpu_list,
		'cpu_user_seconds', round((n.cpu_user_ns + coalesce(n.carried_cpu_user_ns, 0)) / 1000000000.0, 6),
		'cpu_system_seconds', round((n.cpu_system_ns + coalesce(n.carried_cpu_system_ns, 0)) / 1000000000.0, 6),
		'memory_mean_bytes', n.memory_mean_bytes,
		'memory_peak_bytes', n.memory_peak_bytes,
		'io_read_bytes', sum_known(n.io_read_bytes, n.carried_io_read_bytes),
		'io_write_bytes', sum_known(n.io_write_bytes, n.carried_io_write_bytes),
		'net_rx_bytes', n.net_rx_bytes, 'net_tx_bytes', n.net_tx_bytes,
		'energy_joules', api_joules(n.package_uj, n.dram_uj, n.psys_uj, n.gpu_uj,
			n.host_uj, n.other_uj))) ORDER BY o.name, n.started), '[]')
	FROM (SELECT * FROM unit_node WHERE unit = target ORDER BY instance LIMIT 10000) n
	JOIN node o ON o.id = n.node
$$;
