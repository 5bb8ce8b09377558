-- SPDX-License-Identifier: GPL-2.0-or-later
-- Sums of a unit by hour and day, of a person by day, and what it emitted, computed again for what
-- `dirty` names. One aggregator at a time (aggregator/rollup.c holds the advisory lock), a bounded
-- number of marks for each call, all of it in one transaction.
--
-- Sums of intervals are integers and stay exact: an hour is the sum of its intervals, a day of its
-- hours, a person's day of the days of the units. The last is kept by adding what a unit's day has
-- more than before, so that a person with a hundred thousand units costs no more than one with ten.

-- NULL is "not known": known and not known together are what is known.
CREATE FUNCTION sum_known(a numeric, b numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE a + b END $$;

-- Adds grams by provider.
CREATE FUNCTION grams_add(a jsonb, b jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN b = '{}' THEN a WHEN a = '{}' THEN b ELSE
		(SELECT jsonb_object_agg(k, g) FROM (SELECT key AS k, sum(value::numeric) AS g
			FROM (SELECT * FROM jsonb_each_text(a) UNION ALL
				SELECT * FROM jsonb_each_text(b)) x GROUP BY key) y) END
$$;
CREATE FUNCTION grams_negative(a jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN a = '{}' THEN a ELSE (SELECT jsonb_object_agg(key, -value::numeric)
		FROM jsonb_each_text(a)) END
$$;
CREATE AGGREGATE grams_sum(jsonb) (SFUNC = grams_add, STYPE = jsonb, INITCOND = '{}');

-- What the building adds at a time: 1 where nothing is said.
CREATE FUNCTION pue_at(c smallint, at timestamptz) RETURNS numeric LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT p.pue::numeric FROM pue p WHERE p.cluster = c AND p.valid_from <= at
		ORDER BY p.valid_from DESC LIMIT 1), 1)
$$;

-- The factor of a provider and zone that was valid at a time, NULL: none yet.
CREATE FUNCTION factor_at(who text, place text, t timestamptz) RETURNS numeric
LANGUAGE sql STABLE AS $$
	SELECT f.grams_per_kwh::numeric FROM emission_factor f
	WHERE f.provider = who AND f.zone = place AND f.at <= t ORDER BY f.at DESC LIMIT 1
$$;

CREATE FUNCTION rollup_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('pg_temp.ru_mark') IS NOT NULL THEN
		RETURN;
	END IF;
	CREATE TEMP TABLE ru_mark (instance bigint, unit bigint, hour timestamptz)
		ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE ru_hour (unit bigint, hour timestamptz, cluster smallint)
		ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE ru_day (unit bigint, day date, PRIMARY KEY (unit, day))
		ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE ru_unit (unit bigint PRIMARY KEY, all_days boolean)
		ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE ru_old (LIKE unit_day) ON COMMIT DELETE ROWS;
END
$$;

-- As far as an instance has told. Hours that it skipped (their reports are lost) are to be computed
-- as well: its life went on in them.
CREATE FUNCTION rollup_lives() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH told AS (SELECT m.instance, min(i.t0) AS t0, max(i.t1) AS t1,
			max(i.energy_sources) AS energy_sources
		FROM ru_mark m CROSS JOIN LATERAL (SELECT min(v.t0) AS t0,
				max(v.t0 + v.ms * interval '1 ms') AS t1,
				max(v.energy_sources) AS energy_sources
			FROM unit_interval v WHERE v.instance = m.instance
				AND v.t0 >= m.hour AND v.t0 < m.hour + interval '1 h') i
		WHERE i.t1 IS NOT NULL GROUP BY m.instance),
	gap AS (SELECT n.instance, n.last_t1 AS from_t, told.t0 AS to_t
		FROM told JOIN unit_node n USING (instance)
		WHERE n.last_t1 < told.t0 - interval '1 h'),
	skipped AS (INSERT INTO ru_mark (instance, hour)
		SELECT instance, generate_series(date_trunc('hour', greatest(from_t,
			to_t - interval '366 d'), 'UTC'), to_t - interval '1 h', '1 h')
		FROM gap)
	UPDATE unit_node n SET last_t1 = told.t1,
		energy_sources = coalesce(told.energy_sources, n.energy_sources),
		ended = CASE WHEN n.how_ended = 'lost' AND NOT n.final THEN NULL ELSE n.ended END,
		how_ended = CASE WHEN n.how_ended = 'lost' AND NOT n.final THEN NULL
			ELSE n.how_ended END
	FROM told WHERE told.instance = n.instance AND told.t1 > n.last_t1;
	-- thought lost, and back
	UPDATE unit u SET ended = NULL, state = 'RUNNING'
	FROM ru_mark m JOIN unit_node n ON n.instance = m.instance
	WHERE u.id = n.unit AND u.known_by = 'node' AND u.ended IS NOT NULL AND n.ended IS NULL;
END
$$;

-- Hours whose intervals are kept.
CREATE FUNCTION rollup_hours() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO unit_hour (unit, hour, node_ms, observed_ms, cpu_user_ns, cpu_system_ns,
			cpu_alloc_ms, memory_byte_ms, memory_alloc_byte_ms, memory_peak_bytes,
			io_read_bytes, io_write_bytes, net_rx_bytes, net_tx_bytes, gpu_busy_ms,
			gpu_alloc_ms, gpu_memory_byte_ms, package_uj, dram_uj, psys_uj, gpu_uj,
			host_uj, other_uj)
	SELECT b.unit, b.hour, sum(life.ms), coalesce(sum(s.observed_ms), 0),
		sum(s.cpu_user_ns), sum(s.cpu_system_ns), sum(n.cpus * life.ms),
		sum(s.memory_byte_ms), sum(n.memory_bytes::numeric * life.ms),
		max(s.memory_peak_bytes), sum(s.io_read_bytes), sum(s.io_write_bytes),
		sum(s.net_rx_bytes), sum(s.net_tx_bytes), sum(s.gpu_busy_ms),
		sum(n.gpus * life.ms), sum(s.gpu_memory_byte_ms), sum(s.package_uj),
		sum(s.dram_uj), sum(s.psys_uj), sum(s.gpu_uj), sum(s.host_uj), sum(s.other_uj)
	FROM ru_hour b JOIN unit_node n ON n.unit = b.unit
	CROSS JOIN LATERAL (SELECT overlap_ms(n.started, greatest(n.ended, n.last_t1), b.hour,
		b.hour + interval '1 h') AS ms OFFSET 0) life
	CROSS JOIN LATERAL (SELECT count(*) AS rows, sum(i.observed_ms) AS observed_ms,
			sum(i.cpu_user_ns) AS cpu_user_ns, sum(i.cpu_system_ns) AS cpu_system_ns,
			sum(i.memory_mean_bytes::numeric * i.ms) AS memory_byte_ms,
			max(i.memory_peak_bytes) AS memory_peak_bytes,
			sum(i.io_read_bytes) AS io_read_bytes,
			sum(i.io_write_bytes) AS io_write_bytes,
			sum(i.net_rx_bytes) AS net_rx_bytes, sum(i.net_tx_bytes) AS net_tx_bytes,
			sum(i.gpu_busy_ms) AS gpu_busy_ms,
			sum(i.gpu_memory_mean_kib::numeric * 1024 * i.ms) AS gpu_memory_byte_ms,
			sum(i.package_uj) AS package_uj, sum(i.dram_uj) AS dram_uj,
			sum(i.psys_uj) AS psys_uj, sum(i.gpu_uj) AS gpu_uj,
			sum(i.host_uj) AS host_uj, sum(i.other_uj) AS other_uj
		FROM unit_interval i WHERE i.instance = n.instance
			AND i.t0 >= b.hour AND i.t0 < b.hour + interval '1 h') s
	WHERE life.ms > 0 OR s.rows > 0
	GROUP BY b.unit, b.hour
	ON CONFLICT (unit, hour) DO UPDATE SET
		node_ms = excluded.node_ms, observed_ms = excluded.observed_ms,
		cpu_user_ns = excluded.cpu_user_ns, cpu_system_ns = excluded.cpu_system_ns,
		cpu_alloc_ms = excluded.cpu_alloc_ms, memory_byte_ms = excluded.memory_byte_ms,
		memory_alloc_byte_ms = excluded.memory_alloc_byte_ms,
		memory_peak_bytes = excluded.memory_peak_bytes,
		io_read_bytes = excluded.io_read_bytes, io_write_bytes = excluded.io_write_bytes,
		net_rx_bytes = excluded.net_rx_bytes, net_tx_bytes = excluded.net_tx_bytes,
		gpu_busy_ms = excluded.gpu_busy_ms, gpu_alloc_ms = excluded.gpu_alloc_ms,
		gpu_memory_byte_ms = excluded.gpu_memory_byte_ms,
		package_uj = excluded.package_uj, dram_uj = excluded.dram_uj,
		psys_uj = excluded.psys_uj, gpu_uj = excluded.gpu_uj, host_uj = excluded.host_uj,
		other_uj = excluded.other_uj, grams = '{}';
END
$$;

-- Grams of those hours: the energy of each interval times the factor and PUE of its beginning.
CREATE FUNCTION rollup_grams() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_hour h SET grams = g.grams FROM (
		SELECT unit, hour, jsonb_object_agg(provider, grams) AS grams FROM (
			SELECT e.unit, e.hour, f.provider,
				round(sum(e.uj * f.grams_per_uj), 9) AS grams
			FROM (SELECT b.unit, b.hour, b.cluster, i.t0, sum(energy_total_uj(
					i.package_uj, i.dram_uj, i.psys_uj, i.gpu_uj, i.host_uj,
					i.other_uj)) AS uj
				FROM ru_hour b JOIN unit_node n ON n.unit = b.unit
				CROSS JOIN LATERAL (SELECT * FROM unit_interval v
					WHERE v.instance = n.instance AND v.t0 >= b.hour
						AND v.t0 < b.hour + interval '1 h'
					OFFSET 0) i
				GROUP BY b.unit, b.hour, b.cluster, i.t0) e
			JOIN LATERAL (SELECT z.provider, factor_at(z.provider, z.zone, e.t0)
					* pue_at(e.cluster, e.t0) / 3600000000000 AS grams_per_uj
				FROM cluster_zone z WHERE z.cluster = e.cluster) f
				ON f.grams_per_uj IS NOT NULL
			WHERE e.uj IS NOT NULL
			GROUP BY e.unit, e.hour, f.provider) p
		GROUP BY unit, hour) g
	WHERE h.unit = g.unit AND h.hour = g.hour;
END
$$;

-- Grams of hours whose intervals are gone: with the factor and PUE of the hour's beginning.
CREATE FUNCTION rollup_old_grams(before timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_hour h SET grams = coalesce((SELECT jsonb_object_agg(z.provider, round(
			energy_total_uj(h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj, h.host_uj,
				h.other_uj) * factor_at(z.provider, z.zone, h.hour)
			* pue_at(b.cluster, h.hour) / 3600000000000, 9))
		FROM cluster_zone z WHERE z.cluster = b.cluster
			AND factor_at(z.provider, z.zone, h.hour) IS NOT NULL
			AND coalesce(h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj, h.host_uj,
				h.other_uj) IS NOT NULL), '{}')
	FROM ru_hour b WHERE b.hour < before AND h.unit = b.unit AND h.hour = b.hour;
END
$$;

-- Days from hours. Where the hours are gone, the sums stay and owner, life and grams (with the
-- factor of the day's beginning) are new.
CREATE FUNCTION rollup_days() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO ru_old SELECT d.* FROM ru_day JOIN unit_day d USING (unit, day);
	INSERT INTO unit_day (unit, day, person, project, starts, wall_ms, node_ms, observed_ms,
			cpu_user_ns, cpu_system_ns, cpu_alloc_ms, memory_byte_ms,
			memory_alloc_byte_ms, memory_peak_bytes, io_read_bytes, io_write_bytes,
			net_rx_bytes, net_tx_bytes, gpu_busy_ms, gpu_alloc_ms, gpu_memory_byte_ms,
			package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj, grams)
	SELECT b.unit, b.day, u.person, u.project,
		(u.started >= utc_midnight(b.day) AND u.started < utc_midnight(b.day + 1))::integer,
		overlap_ms(u.started, coalesce(u.ended, life.until), utc_midnight(b.day),
			utc_midnight(b.day + 1)),
		h.node_ms, h.observed_ms, h.cpu_user_ns, h.cpu_system_ns, h.cpu_alloc_ms,
		h.memory_byte_ms, h.memory_alloc_byte_ms, h.memory_peak_bytes, h.io_read_bytes,
		h.io_write_bytes, h.net_rx_bytes, h.net_tx_bytes, h.gpu_busy_ms, h.gpu_alloc_ms,
		h.gpu_memory_byte_ms, h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj, h.host_uj,
		h.other_uj, h.grams
	FROM ru_day b JOIN unit u ON u.id = b.unit
	CROSS JOIN LATERAL (SELECT max(greatest(n.ended, n.last_t1)) AS until FROM unit_node n
		WHERE n.unit = b.unit) life
	CROSS JOIN LATERAL (SELECT sum(v.node_ms) AS node_ms, sum(v.observed_ms) AS observed_ms,
			sum(v.cpu_user_ns) AS cpu_user_ns, sum(v.cpu_system_ns) AS cpu_system_ns,
			sum(v.cpu_alloc_ms) AS cpu_alloc_ms,
			sum(v.memory_byte_ms) AS memory_byte_ms,
			sum(v.memory_alloc_byte_ms) AS memory_alloc_byte_ms,
			max(v.memory_peak_bytes) AS memory_peak_bytes,
			sum(v.io_read_bytes) AS io_read_bytes,
			sum(v.io_write_bytes) AS io_write_bytes,
			sum(v.net_rx_bytes) AS net_rx_bytes, sum(v.net_tx_bytes) AS net_tx_bytes,
			sum(v.gpu_busy_ms) AS gpu_busy_ms, sum(v.gpu_alloc_ms) AS gpu_alloc_ms,
			sum(v.gpu_memory_byte_ms) AS gpu_memory_byte_ms,
			sum(v.package_uj) AS package_uj, sum(v.dram_uj) AS dram_uj,
			sum(v.psys_uj) AS psys_uj, sum(v.gpu_uj) AS gpu_uj,
			sum(v.host_uj) AS host_uj, sum(v.other_uj) AS other_uj,
			grams_sum(v.grams) AS grams
		FROM unit_hour v WHERE v.unit = b.unit AND v.hour >= utc_midnight(b.day)
			AND v.hour < utc_midnight(b.day + 1)) h
	WHERE h.node_ms IS NOT NULL
	ON CONFLICT (unit, day) DO UPDATE SET
		person = excluded.person, project = excluded.project, starts = excluded.starts,
		wall_ms = excluded.wall_ms, node_ms = excluded.node_ms,
		observed_ms = excluded.observed_ms, cpu_user_ns = excluded.cpu_user_ns,
		cpu_system_ns = excluded.cpu_system_ns, cpu_alloc_ms = excluded.cpu_alloc_ms,
		memory_byte_ms = excluded.memory_byte_ms,
		memory_alloc_byte_ms = excluded.memory_alloc_byte_ms,
		memory_peak_bytes = excluded.memory_peak_bytes,
		io_read_bytes = excluded.io_read_bytes, io_write_bytes = excluded.io_write_bytes,
		net_rx_bytes = excluded.net_rx_bytes, net_tx_bytes = excluded.net_tx_bytes,
		gpu_busy_ms = excluded.gpu_busy_ms, gpu_alloc_ms = excluded.gpu_alloc_ms,
		gpu_memory_byte_ms = excluded.gpu_memory_byte_ms,
		package_uj = excluded.package_uj, dram_uj = excluded.dram_uj,
		psys_uj = excluded.psys_uj, gpu_uj = excluded.gpu_uj, host_uj = excluded.host_uj,
		other_uj = excluded.other_uj, grams = excluded.grams;
	UPDATE unit_day d SET person = u.person, project = u.project,
		starts = (u.started >= utc_midnight(d.day)
			AND u.started < utc_midnight(d.day + 1))::integer,
		wall_ms = overlap_ms(u.started, u.ended, utc_midnight(d.day),
			utc_midnight(d.day + 1)),
		grams = coalesce((SELECT jsonb_object_agg(z.provider, round(energy_total_uj(
				d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj, d.host_uj,
				d.other_uj) * factor_at(z.provider, z.zone, utc_midnight(d.day))
				* pue_at(u.cluster, utc_midnight(d.day)) / 3600000000000, 9))
			FROM cluster_zone z WHERE z.cluster = u.cluster
				AND factor_at(z.provider, z.zone, utc_midnight(d.day)) IS NOT NULL
				AND coalesce(d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj,
					d.host_uj, d.other_uj) IS NOT NULL), d.grams)
	FROM ru_day b, unit u WHERE d.unit = b.unit AND d.day = b.day AND u.id = b.unit
		AND u.ended IS NOT NULL
		AND NOT EXISTS (SELECT FROM unit_hour v WHERE v.unit = b.unit
			AND v.hour >= utc_midnight(b.day) AND v.hour < utc_midnight(b.day + 1));
END
$$;

-- What persons' days have more than before.
CREATE FUNCTION rollup_usage() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO usage_day AS d (cluster, day, person, project, units, units_started, node_ms,
			observed_ms, wall_ms, cpu_ns, cpu_alloc_ms, memory_byte_ms,
			memory_alloc_byte_ms, io_read_bytes, io_write_bytes, net_rx_bytes,
			net_tx_bytes, gpu_busy_ms, gpu_alloc_ms, gpu_memory_byte_ms, package_uj,
			dram_uj, psys_uj, gpu_uj, host_uj, other_uj, grams)
	SELECT p.cluster, x.day, x.person, x.project, sum(sign), sum(sign * starts),
		sum(sign * node_ms), sum(sign * observed_ms), sum(sign * wall_ms),
		sum(sign * sum_known(cpu_user_ns, cpu_system_ns)), sum(sign * cpu_alloc_ms),
		sum(sign * memory_byte_ms), sum(sign * memory_alloc_byte_ms),
		sum(sign * io_read_bytes), sum(sign * io_write_bytes), sum(sign * net_rx_bytes),
		sum(sign * net_tx_bytes), sum(sign * gpu_busy_ms), sum(sign * gpu_alloc_ms),
		sum(sign * gpu_memory_byte_ms), sum(sign * package_uj), sum(sign * dram_uj),
		sum(sign * psys_uj), sum(sign * gpu_uj), sum(sign * host_uj),
		sum(sign * other_uj),
		grams_sum(CASE sign WHEN 1 THEN grams ELSE grams_negative(grams) END)
	FROM (SELECT 1 AS sign, d.* FROM ru_day JOIN unit_day d USING (unit, day)
		UNION ALL SELECT -1, o.* FROM ru_old o) x
	JOIN person p ON p.id = x.person
	WHERE x.project IS NOT NULL
	GROUP BY p.cluster, x.day, x.person, x.project
	ON CONFLICT (person, day, project) DO UPDATE SET
		units = d.units + excluded.units,
		units_started = d.units_started + excluded.units_started,
		node_ms = d.node_ms + excluded.node_ms,
		observed_ms = d.observed_ms + excluded.observed_ms,
		wall_ms = d.wall_ms + excluded.wall_ms,
		cpu_ns = sum_known(d.cpu_ns, excluded.cpu_ns),
		cpu_alloc_ms = sum_known(d.cpu_alloc_ms, excluded.cpu_alloc_ms),
		memory_byte_ms = sum_known(d.memory_byte_ms, excluded.memory_byte_ms),
		memory_alloc_byte_ms = sum_known(d.memory_alloc_byte_ms,
			excluded.memory_alloc_byte_ms),
		io_read_bytes = sum_known(d.io_read_bytes, excluded.io_read_bytes),
		io_write_bytes = sum_known(d.io_write_bytes, excluded.io_write_bytes),
		net_rx_bytes = sum_known(d.net_rx_bytes, excluded.net_rx_bytes),
		net_tx_bytes = sum_known(d.net_tx_bytes, excluded.net_tx_bytes),
		gpu_busy_ms = sum_known(d.gpu_busy_ms, excluded.gpu_busy_ms),
		gpu_alloc_ms = sum_known(d.gpu_alloc_ms, excluded.gpu_alloc_ms),
		gpu_memory_byte_ms = sum_known(d.gpu_memory_byte_ms, excluded.gpu_memory_byte_ms),
		package_uj = sum_known(d.package_uj, excluded.package_uj),
		dram_uj = sum_known(d.dram_uj, excluded.dram_uj),
		psys_uj = sum_known(d.psys_uj, excluded.psys_uj),
		gpu_uj = sum_known(d.gpu_uj, excluded.gpu_uj),
		host_uj = sum_known(d.host_uj, excluded.host_uj),
		other_uj = sum_known(d.other_uj, excluded.other_uj),
		grams = grams_add(d.grams, excluded.grams), as_of = now();
	DELETE FROM usage_day d USING ru_old o
		WHERE d.person = o.person AND d.day = o.day AND d.project = o.project AND d.units = 0;
END
$$;

-- Sums of units: of their days, or, once every node has told its settled totals, those: they have
-- also what lost interval reports would have said.
CREATE FUNCTION rollup_units() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit u SET as_of = now(), node_ms = n.node_ms,
		wall_ms = overlap_ms(u.started, coalesce(u.ended, n.until), '1970-01-01',
			'9999-01-01'),
		cpu_alloc_ms = n.cpu_alloc_ms, memory_alloc_byte_ms = n.memory_alloc_byte_ms,
		gpu_alloc_ms = n.gpu_alloc_ms, grams = coalesce(d.grams, '{}'),
		energy_sources = coalesce(n.energy_sources, u.energy_sources),
		observed_ms = CASE WHEN n.final THEN n.observed_ms ELSE d.observed_ms END,
		cpu_user_ns = CASE WHEN n.final THEN n.cpu_user_ns ELSE d.cpu_user_ns END,
		cpu_system_ns = CASE WHEN n.final THEN n.cpu_system_ns ELSE d.cpu_system_ns END,
		memory_byte_ms = CASE WHEN n.final THEN n.memory_byte_ms ELSE d.memory_byte_ms END,
		memory_peak_bytes = CASE WHEN n.final THEN n.memory_peak_bytes
			ELSE d.memory_peak_bytes END,
		io_read_bytes = CASE WHEN n.final THEN n.io_read_bytes ELSE d.io_read_bytes END,
		io_write_bytes = CASE WHEN n.final THEN n.io_write_bytes ELSE d.io_write_bytes END,
		net_rx_bytes = CASE WHEN n.final THEN n.net_rx_bytes ELSE d.net_rx_bytes END,
		net_tx_bytes = CASE WHEN n.final THEN n.net_tx_bytes ELSE d.net_tx_bytes END,
		gpu_busy_ms = CASE WHEN n.final THEN n.gpu_busy_ms ELSE d.gpu_busy_ms END,
		gpu_memory_byte_ms = CASE WHEN n.final THEN n.gpu_memory_byte_ms
			ELSE d.gpu_memory_byte_ms END,
		package_uj = CASE WHEN n.final THEN n.package_uj ELSE d.package_uj END,
		dram_uj = CASE WHEN n.final THEN n.dram_uj ELSE d.dram_uj END,
		psys_uj = CASE WHEN n.final THEN n.psys_uj ELSE d.psys_uj END,
		gpu_uj = CASE WHEN n.final THEN n.gpu_uj ELSE d.gpu_uj END,
		host_uj = CASE WHEN n.final THEN n.host_uj ELSE d.host_uj END,
		other_uj = CASE WHEN n.final THEN n.other_uj ELSE d.other_uj END
	FROM ru_unit b
	CROSS JOIN LATERAL (SELECT bool_and(f.final) AS final,
			max(greatest(f.ended, f.last_t1)) AS until,
			sum(l.ms) AS node_ms, sum(f.cpus * l.ms) AS cpu_alloc_ms,
			sum(f.memory_bytes::numeric * l.ms) AS memory_alloc_byte_ms,
			sum(f.gpus * l.ms) AS gpu_alloc_ms,
			max(f.energy_sources) AS energy_sources, sum(f.observed_ms) AS observed_ms,
			sum(f.cpu_user_ns) AS cpu_user_ns, sum(f.cpu_system_ns) AS cpu_system_ns,
			sum(f.memory_mean_bytes::numeric * l.ms) AS memory_byte_ms,
			max(f.memory_peak_bytes) AS memory_peak_bytes,
			sum(f.io_read_bytes) AS io_read_bytes,
			sum(f.io_write_bytes) AS io_write_bytes,
			sum(f.net_rx_bytes) AS net_rx_bytes, sum(f.net_tx_bytes) AS net_tx_bytes,
			sum(f.gpu_busy_ms) AS gpu_busy_ms,
			sum(f.gpu_memory_mean_kib::numeric * 1024 * l.ms) AS gpu_memory_byte_ms,
			sum(f.package_uj) AS package_uj, sum(f.dram_uj) AS dram_uj,
			sum(f.psys_uj) AS psys_uj, sum(f.gpu_uj) AS gpu_uj,
			sum(f.host_uj) AS host_uj, sum(f.other_uj) AS other_uj
		FROM unit_node f CROSS JOIN LATERAL (SELECT overlap_ms(f.started,
			greatest(f.ended, f.last_t1), '1970-01-01', 'infinity') AS ms) l
		WHERE f.unit = b.unit) n
	CROSS JOIN LATERAL (SELECT sum(v.observed_ms) AS observed_ms,
			sum(v.cpu_user_ns) AS cpu_user_ns, sum(v.cpu_system_ns) AS cpu_system_ns,
			sum(v.memory_byte_ms) AS memory_byte_ms,
			max(v.memory_peak_bytes) AS memory_peak_bytes,
			sum(v.io_read_bytes) AS io_read_bytes,
			sum(v.io_write_bytes) AS io_write_bytes,
			sum(v.net_rx_bytes) AS net_rx_bytes, sum(v.net_tx_bytes) AS net_tx_bytes,
			sum(v.gpu_busy_ms) AS gpu_busy_ms,
			sum(v.gpu_memory_byte_ms) AS gpu_memory_byte_ms,
			sum(v.package_uj) AS package_uj, sum(v.dram_uj) AS dram_uj,
			sum(v.psys_uj) AS psys_uj, sum(v.gpu_uj) AS gpu_uj,
			sum(v.host_uj) AS host_uj, sum(v.other_uj) AS other_uj,
			grams_sum(v.grams) AS grams
		FROM unit_day v WHERE v.unit = b.unit) d
	WHERE u.id = b.unit;
END
$$;

-- How much of the time that units were on nodes was watched, by cluster: of those that ended in the
-- last day, an hour ago at the latest, so that their last reports had the time to come. One that no
-- node told of was not watched.
CREATE INDEX unit_ended ON unit USING brin (ended) WITH (pages_per_range = 32, autosummarize = on);
CREATE FUNCTION coverage(OUT cluster text, OUT observed_ms numeric, OUT node_ms numeric)
RETURNS SETOF record LANGUAGE sql STABLE AS $$
	SELECT c.name, sum(coalesce(u.observed_ms, 0)), sum(coalesce(u.node_ms, greatest(u.nodes, 1)
		* overlap_ms(u.started, u.ended, '1970-01-01', 'infinity')))
	FROM unit u JOIN cluster c ON c.id = u.cluster
	WHERE u.ended > now() - interval '25 h' AND u.ended <= now() - interval '1 h'
		AND u.started IS NOT NULL
	GROUP BY c.name
$$;

-- Takes at most `most` marks that are due and computes what they name. Returns how many it took.
CREATE FUNCTION rollup(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	taken integer;
	kept timestamptz;
BEGIN
	PERFORM rollup_tables();
	WITH gone AS (DELETE FROM dirty WHERE ctid = ANY (ARRAY(SELECT ctid FROM dirty
			WHERE due <= now() ORDER BY due LIMIT most))
			RETURNING instance, unit, hour)
		INSERT INTO ru_mark SELECT DISTINCT instance, unit, hour FROM gone;
	GET DIAGNOSTICS taken = ROW_COUNT;
	IF taken = 0 THEN
		UPDATE rollup_state SET as_of = now();
		RETURN 0;
	END IF;
	SELECT coalesce(first, 'infinity') INTO kept FROM partition_range('unit_interval');
	PERFORM rollup_lives();
	-- what has no unit yet is marked again when it is linked
	INSERT INTO ru_hour SELECT DISTINCT u.id, m.hour, u.cluster
		FROM (SELECT n.unit, k.hour FROM ru_mark k JOIN unit_node n ON n.instance = k.instance
			UNION SELECT unit, hour FROM ru_mark WHERE unit IS NOT NULL AND hour IS NOT NULL) m
		JOIN unit u ON u.id = m.unit;
	INSERT INTO ru_unit SELECT unit, bool_or(all_days) FROM (
			SELECT unit, false AS all_days FROM ru_hour
			UNION ALL SELECT unit, true FROM ru_mark WHERE unit IS NOT NULL AND hour IS NULL) m
		GROUP BY unit;
	INSERT INTO ru_day SELECT unit, utc_day(hour) FROM ru_hour
		UNION SELECT unit, day FROM ru_unit JOIN unit_day USING (unit) WHERE all_days;
	PERFORM rollup_old_grams(kept);
	DELETE FROM ru_hour WHERE hour < kept;
	PERFORM rollup_hours();
	IF EXISTS (SELECT FROM cluster_zone) THEN
		PERFORM rollup_grams();
	END IF;
	PERFORM rollup_days();
	PERFORM rollup_usage();
	PERFORM rollup_units();
	RETURN taken;
END
$$;

-- Small tables of unknown size joined with many partitions: compiling such a plan takes seconds,
-- running it does not.
ALTER FUNCTION rollup(integer) SET jit = off;

-- Marks what happened in [from_t, to_t) to be computed again, from the facts that are kept. Returns
-- how many marks.
CREATE FUNCTION recompute(from_t timestamptz, to_t timestamptz, c smallint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	marks bigint;
BEGIN
	INSERT INTO dirty (unit, hour)
		SELECT d.unit, coalesce(h.hour, utc_midnight(d.day))
		FROM unit_day d LEFT JOIN LATERAL (SELECT v.hour FROM unit_hour v
			WHERE v.unit = d.unit AND v.hour >= utc_midnight(d.day)
				AND v.hour < utc_midnight(d.day + 1)) h ON true
		WHERE d.day >= utc_day(from_t) AND utc_midnight(d.day) < to_t
			AND (h.hour IS NULL OR (h.hour > from_t - interval '1 h' AND h.hour < to_t))
			AND (c IS NULL OR EXISTS (SELECT FROM unit u WHERE u.id = d.unit
				AND u.cluster = c));
	GET DIAGNOSTICS marks = ROW_COUNT;
	RETURN marks;
END
$$;

-- A change of factors, of a cluster's zone or of its PUE, by whomever, is computed in by itself:
-- from the time that it is about to the next one's.
CREATE FUNCTION emission_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r record;
	z record;
BEGIN
	IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
	FOR z IN SELECT cluster FROM cluster_zone WHERE provider = r.provider AND zone = r.zone
	LOOP
		PERFORM recompute(r.at, coalesce((SELECT min(f.at) FROM emission_factor f
			WHERE f.provider = r.provider AND f.zone = r.zone AND f.at > r.at), now()),
			z.cluster);
	END LOOP;
	RETURN NULL;
END
$$;
CREATE TRIGGER emission_changed AFTER INSERT OR UPDATE OR DELETE ON emission_factor
	FOR EACH ROW EXECUTE FUNCTION emission_changed();

CREATE FUNCTION pue_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
	PERFORM recompute(r.valid_from, coalesce((SELECT min(p.valid_from) FROM pue p
		WHERE p.cluster = r.cluster AND p.valid_from > r.valid_from), now()), r.cluster);
	RETURN NULL;
END
$$;
CREATE TRIGGER pue_changed AFTER INSERT OR UPDATE OR DELETE ON pue
	FOR EACH ROW EXECUTE FUNCTION pue_changed();

CREATE FUNCTION zone_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		PERFORM recompute('1970-01-01', now(), OLD.cluster);
	ELSE
		PERFORM recompute('1970-01-01', now(), NEW.cluster);
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER zone_changed AFTER INSERT OR UPDATE OR DELETE ON cluster_zone
	FOR EACH ROW EXECUTE FUNCTION zone_changed();
