-- SPDX-License-Identifier: GPL-2.0-or-later
-- A unit table that is lost while a unit runs makes another instance of it, and if the ring still has the
-- unit's start, both began then (0016): the time until the first one fell silent was counted twice, and with
-- it the memory and the GPUs that were used or allocated in it.

-- From when on an instance stands for the unit on its node, where an earlier one did after its start.
ALTER TABLE unit_node ADD COLUMN stands_from timestamptz;

-- What of [t0, t0 + ms) is after `since`.
CREATE FUNCTION own_ms(t0 timestamptz, ms bigint, since timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS $$
	SELECT CASE WHEN since IS NULL OR since <= t0 THEN ms
		ELSE greatest(0, ms - round(extract(epoch FROM since - t0) * 1000)::bigint) END
$$;

-- As in 0008, and says from when on x stands for the unit.
CREATE OR REPLACE FUNCTION found_settle(x unit_node, kept timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
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
	c.stands_from := CASE WHEN e.until > c.started THEN least(e.until, greatest(x.ended, x.last_t1)) END;
	IF c IS NOT DISTINCT FROM x THEN
		RETURN false;
	END IF;
	UPDATE unit_node SET started = c.started, stands_from = c.stands_from,
			carried_cpu_user_ns = c.carried_cpu_user_ns,
			carried_cpu_system_ns = c.carried_cpu_system_ns,
			carried_io_read_bytes = c.carried_io_read_bytes,
			carried_io_write_bytes = c.carried_io_write_bytes
		WHERE instance = x.instance;
	INSERT INTO ru_mark (instance, hour)
		SELECT x.instance, generate_series(date_trunc('hour', least(c.started, x.started), 'UTC'),
			greatest(x.found_at, c.stands_from, x.stands_from), '1 h');
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

-- As in 0004, but each instance from when on it stands for the unit.
CREATE OR REPLACE FUNCTION rollup_hours() RETURNS void LANGUAGE plpgsql AS $$
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
	CROSS JOIN LATERAL (SELECT overlap_ms(coalesce(n.stands_from, n.started),
		greatest(n.ended, n.last_t1), b.hour, b.hour + interval '1 h') AS ms OFFSET 0) life
	CROSS JOIN LATERAL (SELECT count(*) AS rows, sum(least(i.observed_ms, w.ms)) AS observed_ms,
			sum(i.cpu_user_ns) AS cpu_user_ns, sum(i.cpu_system_ns) AS cpu_system_ns,
			sum(i.memory_mean_bytes::numeric * w.ms) AS memory_byte_ms,
			max(i.memory_peak_bytes) AS memory_peak_bytes,
			sum(i.io_read_bytes) AS io_read_bytes,
			sum(i.io_write_bytes) AS io_write_bytes,
			sum(i.net_rx_bytes) AS net_rx_bytes, sum(i.net_tx_bytes) AS net_tx_bytes,
			sum(round(i.gpu_busy_ms::numeric * w.ms / nullif(i.ms, 0))) AS gpu_busy_ms,
			sum(i.gpu_memory_mean_kib::numeric * 1024 * w.ms) AS gpu_memory_byte_ms,
			sum(i.package_uj) AS package_uj, sum(i.dram_uj) AS dram_uj,
			sum(i.psys_uj) AS psys_uj, sum(i.gpu_uj) AS gpu_uj,
			sum(i.host_uj) AS host_uj, sum(i.other_uj) AS other_uj
		FROM unit_interval i
		CROSS JOIN LATERAL (SELECT own_ms(i.t0, i.ms, n.stands_from) AS ms) w
		WHERE i.instance = n.instance
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

-- Likewise. (In 0004 it was rollup_units().)
CREATE OR REPLACE FUNCTION rollup_sums() RETURNS void LANGUAGE plpgsql AS $$
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
			sum(round(f.gpu_busy_ms::numeric * l.ms / nullif(l.life_ms, 0))) AS gpu_busy_ms,
			sum(f.gpu_memory_mean_kib::numeric * 1024 * l.ms) AS gpu_memory_byte_ms,
			sum(f.package_uj) AS package_uj, sum(f.dram_uj) AS dram_uj,
			sum(f.psys_uj) AS psys_uj, sum(f.gpu_uj) AS gpu_uj,
			sum(f.host_uj) AS host_uj, sum(f.other_uj) AS other_uj
		FROM unit_node f CROSS JOIN LATERAL (SELECT overlap_ms(coalesce(f.stands_from, f.started),
			greatest(f.ended, f.last_t1), '1970-01-01', 'infinity') AS ms,
			overlap_ms(f.started, greatest(f.ended, f.last_t1), '1970-01-01', 'infinity') AS life_ms) l
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

-- As in 0038, but of GPUs a node's last instance tells for those before it, whose counts are lost.
CREATE OR REPLACE FUNCTION api_counts(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	WITH u AS (SELECT instance, gpus, coalesce(stands_from, '-infinity') AS since,
			max(coalesce(stands_from, '-infinity')) OVER (PARTITION BY node, boot) AS latest
		FROM (SELECT * FROM unit_node WHERE unit = target ORDER BY instance LIMIT 10000) k),
	n AS (SELECT u.instance, u.gpus, c.counts, u.since < u.latest AS is_replaced
		FROM u LEFT JOIN unit_counts c ON c.instance = u.instance)
	SELECT jsonb_object_agg(s.key, s.total) FROM (
		SELECT e.key, CASE WHEN e.key LIKE '%\_peak\_bytes' THEN max(e.value::numeric)
			ELSE sum(e.value::numeric) END AS total, count(*) AS nodes
		FROM n, jsonb_each_text(n.counts) e WHERE e.key NOT LIKE 'gpu\_%' OR NOT n.is_replaced
		GROUP BY e.key) s
	WHERE s.nodes = (SELECT count(*) FROM n
		WHERE s.key NOT LIKE 'gpu\_%' OR n.gpus > 0 AND NOT n.is_replaced)
$$;
