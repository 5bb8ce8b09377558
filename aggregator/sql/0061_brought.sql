-- SPDX-License-Identifier: GPL-2.0-or-later
-- Units that another accounting measured before us (--import=units). Their records are an import's, as
-- sacct's are; what they used is a fact of its own, from which days and sums are computed as from those of
-- nodes. Where our own nodes told of a unit, their word stands, and what was brought goes.

CREATE TABLE unit_brought (
	cluster smallint NOT NULL REFERENCES cluster,
	uuid text NOT NULL,
	restarts integer NOT NULL,
	submitted timestamptz NOT NULL,
	known_until timestamptz NOT NULL, -- of one that still ran
	spread boolean NOT NULL DEFAULT false, -- unit_day has it
	cpu_ns numeric(24), cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_alloc_byte_ms numeric(30),
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint,
	host_uj bigint, gpu_uj bigint,
	grams jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (cluster, uuid, restarts, submitted)
);

-- Grams of two parts together, by provider; the names of others end in _total.
CREATE FUNCTION brought_grams(cpu jsonb, gpu jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT coalesce(jsonb_object_agg(k, g), '{}') FROM (
		SELECT regexp_replace(key, '_total$', '') AS k, sum(value::numeric) AS g
		FROM (SELECT * FROM jsonb_each_text(cpu) UNION ALL SELECT * FROM jsonb_each_text(gpu)) x
		WHERE value::numeric > 0 GROUP BY 1) y
$$;

-- What a unit used, in the words of CEEMS (kWh, percent of what was allocated, MiB x s), in ours. kWh are
-- divided by `pue`, as far as they have the building's share in them.
CREATE FUNCTION brought_usage(u jsonb, pue numeric) RETURNS unit_brought LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	b unit_brought;
BEGIN
	b.cpu_alloc_ms := round((u->'total_time_seconds'->>'alloc_cputime')::numeric * 1000);
	b.cpu_ns := round((u->'avg_cpu_usage'->>'global')::numeric * b.cpu_alloc_ms * 10000);
	b.memory_alloc_byte_ms := (u->'total_time_seconds'->>'alloc_cpumemtime')::numeric * 1048576000;
	b.memory_byte_ms := round((u->'avg_cpu_mem_usage'->>'global')::numeric * b.memory_alloc_byte_ms / 100);
	b.gpu_alloc_ms := round((u->'total_time_seconds'->>'alloc_gputime')::numeric * 1000);
	b.gpu_busy_ms := round((u->'avg_gpu_usage'->>'global')::numeric * b.gpu_alloc_ms / 100);
	b.io_read_bytes := round((u->'total_io_read_stats'->>'bytes_total')::numeric);
	b.io_write_bytes := round((u->'total_io_write_stats'->>'bytes_total')::numeric);
	b.net_rx_bytes := round((u->'total_ingress_stats'->>'bytes_total')::numeric);
	b.net_tx_bytes := round((u->'total_egress_stats'->>'bytes_total')::numeric);
	b.host_uj := round((u->'total_cpu_energy_usage_kwh'->>'total')::numeric * 3600000000000 / pue);
	b.gpu_uj := round((u->'total_gpu_energy_usage_kwh'->>'total')::numeric * 3600000000000 / pue);
	b.grams := brought_grams(u->'total_cpu_emissions_gms', u->'total_gpu_emissions_gms');
	RETURN b;
END
$$;

-- Rows as of import_jobs(), each with "usage" and "until" (seconds). Those that are there already are left
-- alone. Returns how many were new or changed.
CREATE FUNCTION import_units(list jsonb, pue numeric) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	taken bigint := import_jobs(list);
	changed bigint;
BEGIN
	WITH rows AS (SELECT DISTINCT ON (c.id, x.uuid, x.restarts, x.submitted) c.id AS cluster, x.uuid,
			x.restarts, to_timestamp(x.submitted) AS submitted, to_timestamp(x.until) AS known_until,
			brought_usage(x.usage, pue) AS b
		FROM jsonb_to_recordset(list) AS x (cluster text, uuid text, restarts integer, submitted bigint,
			until bigint, usage jsonb)
		JOIN cluster c ON c.name = x.cluster
		WHERE NOT EXISTS (SELECT FROM unit u JOIN unit_node n ON n.unit = u.id
			WHERE u.cluster = c.id AND u.uuid = x.uuid AND u.restarts = x.restarts
				AND u.submitted = to_timestamp(x.submitted))
		ORDER BY c.id, x.uuid, x.restarts, x.submitted),
	new AS (INSERT INTO unit_brought AS o SELECT r.cluster, r.uuid, r.restarts, r.submitted, r.known_until, false,
			(b).cpu_ns, (b).cpu_alloc_ms, (b).memory_byte_ms, (b).memory_alloc_byte_ms,
			(b).io_read_bytes, (b).io_write_bytes, (b).net_rx_bytes, (b).net_tx_bytes,
			(b).gpu_busy_ms, (b).gpu_alloc_ms, (b).host_uj, (b).gpu_uj, (b).grams
		FROM rows r
		ON CONFLICT (cluster, uuid, restarts, submitted) DO UPDATE SET
			known_until = excluded.known_until,
			cpu_ns = excluded.cpu_ns, cpu_alloc_ms = excluded.cpu_alloc_ms,
			memory_byte_ms = excluded.memory_byte_ms,
			memory_alloc_byte_ms = excluded.memory_alloc_byte_ms,
			io_read_bytes = excluded.io_read_bytes, io_write_bytes = excluded.io_write_bytes,
			net_rx_bytes = excluded.net_rx_bytes, net_tx_bytes = excluded.net_tx_bytes,
			gpu_busy_ms = excluded.gpu_busy_ms, gpu_alloc_ms = excluded.gpu_alloc_ms,
			host_uj = excluded.host_uj, gpu_uj = excluded.gpu_uj, grams = excluded.grams
		WHERE to_jsonb(o) - 'spread' <> to_jsonb(excluded) - 'spread'
		RETURNING cluster, uuid, restarts, submitted),
	marked AS (INSERT INTO dirty (unit) SELECT u.id FROM new n JOIN unit u ON u.cluster = n.cluster
			AND u.uuid = n.uuid AND u.restarts = n.restarts AND u.submitted = n.submitted)
	SELECT count(*) INTO changed FROM new;
	RETURN greatest(taken, changed);
END
$$;

INSERT INTO energy_sources (label) VALUES ('host=import,gpu=import') ON CONFLICT DO NOTHING;

-- What was brought of the units that are being computed: its days by the time of the unit in each, so that they
-- are what was brought in all. Nodes x time, and with it coverage, is not known.
CREATE FUNCTION rollup_brought() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('pg_temp.ru_brought') IS NULL THEN
		CREATE TEMP TABLE ru_brought (LIKE unit_brought, unit bigint, began timestamptz,
			until timestamptz, seen boolean, last date) ON COMMIT DELETE ROWS;
	END IF;
	INSERT INTO ru_brought SELECT b.*, u.id, u.started, e.until,
			EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id),
			utc_day(greatest(u.started, e.until - interval '1 us'))
		FROM ru_unit r JOIN unit u ON u.id = r.unit
		JOIN unit_brought b ON b.cluster = u.cluster AND b.uuid = u.uuid AND b.restarts = u.restarts
			AND b.submitted = u.submitted
		CROSS JOIN LATERAL (SELECT greatest(coalesce(u.ended, b.known_until), u.started) AS until) e
		WHERE u.started IS NOT NULL;
	INSERT INTO ru_day SELECT b.unit, utc_day(b.began) + d
		FROM ru_brought b JOIN ru_unit r ON r.unit = b.unit AND r.all_days
		CROSS JOIN LATERAL generate_series(0, b.last - utc_day(b.began)) d
		WHERE NOT b.seen ON CONFLICT DO NOTHING;
END
$$;

CREATE FUNCTION rollup_brought_days() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM unit_day d USING ru_brought b, ru_day r
		WHERE d.unit = b.unit AND r.unit = d.unit AND r.day = d.day AND (NOT b.seen
			OR b.spread AND NOT EXISTS (SELECT FROM unit_hour h WHERE h.unit = d.unit
				AND h.hour >= utc_midnight(d.day) AND h.hour < utc_midnight(d.day + 1)));
	DELETE FROM unit_brought o USING ru_brought b WHERE b.seen AND o.cluster = b.cluster AND o.uuid = b.uuid
		AND o.restarts = b.restarts AND o.submitted = b.submitted;
	INSERT INTO unit_day (unit, day, person, project, starts, wall_ms, node_ms, observed_ms, cpu_user_ns,
			cpu_system_ns, cpu_alloc_ms, memory_byte_ms, memory_alloc_byte_ms, io_read_bytes,
			io_write_bytes, net_rx_bytes, net_tx_bytes, gpu_busy_ms, gpu_alloc_ms, host_uj, gpu_uj, grams)
	SELECT b.unit, r.day, u.person, u.project, (r.day = utc_day(b.began))::integer,
		overlap_ms(b.began, b.until, utc_midnight(r.day), utc_midnight(r.day + 1)), 0, 0,
		brought_part(b.cpu_ns, p), 0, brought_part(b.cpu_alloc_ms, p), brought_part(b.memory_byte_ms, p),
		brought_part(b.memory_alloc_byte_ms, p), brought_part(b.io_read_bytes, p),
		brought_part(b.io_write_bytes, p), brought_part(b.net_rx_bytes, p), brought_part(b.net_tx_bytes, p),
		brought_part(b.gpu_busy_ms, p), brought_part(b.gpu_alloc_ms, p), brought_part(b.host_uj, p),
		brought_part(b.gpu_uj, p),
		CASE WHEN b.grams = '{}' THEN b.grams ELSE (SELECT jsonb_object_agg(key,
			brought_part(value::numeric * 1000000000, p) / 1000000000) FROM jsonb_each_text(b.grams)) END
	FROM ru_brought b JOIN ru_day r ON r.unit = b.unit JOIN unit u ON u.id = b.unit
	CROSS JOIN LATERAL (SELECT ARRAY[overlap_ms(b.began, b.until, b.began, utc_midnight(r.day)),
		CASE WHEN r.day = b.last THEN w.total
			ELSE overlap_ms(b.began, b.until, b.began, utc_midnight(r.day + 1)) END, w.total] AS p
		FROM (SELECT greatest(1, overlap_ms(b.began, b.until, b.began, b.until)) AS total) w) x
	WHERE NOT b.seen AND r.day BETWEEN utc_day(b.began) AND b.last;
	UPDATE unit_brought o SET spread = true FROM ru_brought b WHERE NOT b.seen AND NOT o.spread
		AND o.cluster = b.cluster AND o.uuid = b.uuid AND o.restarts = b.restarts AND o.submitted = b.submitted;
END
$$;

-- The part of v from p[1] to p[2] of p[3]: the parts of a whole are the whole, exactly.
CREATE FUNCTION brought_part(v numeric, p bigint[]) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT round(v * p[2] / p[3]) - round(v * p[1] / p[3])
$$;

ALTER FUNCTION rollup_days() RENAME TO rollup_measured_days;
CREATE FUNCTION rollup_days() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_brought();
	PERFORM rollup_measured_days();
	PERFORM rollup_brought_days();
END
$$;

-- Sums of days are there already; what is only known of units that nodes told of is added.
ALTER FUNCTION rollup_units() RENAME TO rollup_measured_units;
CREATE FUNCTION rollup_units() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_measured_units();
	UPDATE unit u SET cpu_alloc_ms = b.cpu_alloc_ms, memory_alloc_byte_ms = b.memory_alloc_byte_ms,
			gpu_alloc_ms = b.gpu_alloc_ms, wall_ms = overlap_ms(b.began, b.until, b.began, b.until),
			energy_sources = (SELECT id FROM energy_sources WHERE label = 'host=import,gpu=import')
		FROM ru_brought b WHERE u.id = b.unit AND NOT b.seen;
END
$$;
