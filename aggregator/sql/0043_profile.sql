-- SPDX-License-Identifier: GPL-2.0-or-later
-- How a unit used the parts of its GPUs, by their performance counters: counts gpu_..._ns of unit_counts,
-- GPUs x time. Of a unit's intervals, the memory of its GPUs.

-- {"sm_active": 0.4, ...}: means over the GPUs and the life of a unit; NULL: nothing was told.
CREATE FUNCTION api_gpu_profile(counts jsonb, alloc_ms bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS $$
	SELECT jsonb_object_agg(substr(e.key, 5, length(e.key) - 7),
			round(e.value::numeric / 1000000 / nullif(alloc_ms, 0), 4))
		FROM jsonb_each_text(counts) e
		WHERE e.key LIKE 'gpu\_%\_ns' AND e.key <> 'gpu_idle_ns' AND alloc_ms > 0
$$;

-- As in 0038, with that.
CREATE OR REPLACE FUNCTION api_count_members(target bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT concat(',"counts":' || k.counts::text,
		',"avg_gpu_mem_usage":{"global":' || m.percent::text || '}',
		',"gpu_idle_seconds":' || round((k.counts->>'gpu_idle_ns')::numeric / 1000000000, 3),
		',"gpu_memory_peak_bytes":' || (k.counts->>'gpu_memory_peak_bytes'),
		',"gpu_profile":' || api_gpu_profile(k.counts, k.alloc_ms)::text)
	FROM (SELECT api_counts(target) AS counts,
			(SELECT gpu_alloc_ms FROM unit WHERE id = target) AS alloc_ms) k
	CROSS JOIN LATERAL (SELECT round(sum(n.gpu_memory_mean_kib::numeric * 1024 * l.ms) * 100 / nullif(sum(
				(c.counts->>'gpu_memory_size_bytes')::numeric * l.ms), 0), 4) AS percent
		FROM unit_node n JOIN unit_counts c ON c.instance = n.instance
		CROSS JOIN LATERAL (SELECT overlap_ms(n.started, n.ended, '1970-01-01', 'infinity') AS ms) l
		WHERE n.unit = target AND k.counts ? 'gpu_memory_size_bytes') m
$$;

-- As before, with the mean of the GPUs' memory.
CREATE OR REPLACE FUNCTION api_series(target bigint, a timestamptz, b timestamptz, most integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(j ORDER BY t0), '[]') FROM (
		SELECT i.t0, jsonb_strip_nulls(jsonb_build_object('t0_ts', api_ms(i.t0),
			't1_ts', api_ms(i.t0) + max(i.ms), 'nodes', count(*),
			'cpu_seconds', round(sum(i.cpu_user_ns + i.cpu_system_ns) / 1000000000.0, 6),
			'memory_mean_bytes', sum(i.memory_mean_bytes),
			'memory_peak_bytes', max(i.memory_peak_bytes),
			'io_read_bytes', sum(i.io_read_bytes),
			'io_write_bytes', sum(i.io_write_bytes),
			'net_rx_bytes', sum(i.net_rx_bytes), 'net_tx_bytes', sum(i.net_tx_bytes),
			'gpu_busy_seconds', round(sum(i.gpu_busy_ms) / 1000.0, 3),
			'gpu_memory_mean_bytes', sum(i.gpu_memory_mean_kib) * 1024,
			'energy_joules', api_joules(sum(i.package_uj), sum(i.dram_uj),
				sum(i.psys_uj), sum(i.gpu_uj), sum(i.host_uj), sum(i.other_uj)),
			'coverage', api_part(sum(i.observed_ms), sum(i.ms), 4))) AS j
		FROM unit_node n JOIN unit_interval i ON i.instance = n.instance
		WHERE n.unit = target AND i.t0 >= a AND i.t0 < b
		GROUP BY i.t0 ORDER BY i.t0 LIMIT most) x
$$;

CREATE OR REPLACE FUNCTION api_hours(target bigint, a timestamptz, b timestamptz, most integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(j ORDER BY hour), '[]') FROM (
		SELECT h.hour, jsonb_strip_nulls(jsonb_build_object('t0_ts', api_ms(h.hour),
			't1_ts', api_ms(h.hour) + 3600000,
			'cpu_seconds', round((h.cpu_user_ns + h.cpu_system_ns) / 1000000000, 6),
			'memory_mean_bytes', round(h.memory_byte_ms / nullif(overlap_ms(u.started,
				coalesce(u.ended, now()), h.hour, h.hour + interval '1 hour'), 0)),
			'memory_peak_bytes', h.memory_peak_bytes,
			'io_read_bytes', h.io_read_bytes, 'io_write_bytes', h.io_write_bytes,
			'net_rx_bytes', h.net_rx_bytes, 'net_tx_bytes', h.net_tx_bytes,
			'gpu_busy_seconds', round(h.gpu_busy_ms / 1000.0, 3),
			'gpu_memory_mean_bytes', round(h.gpu_memory_byte_ms / nullif(overlap_ms(u.started,
				coalesce(u.ended, now()), h.hour, h.hour + interval '1 hour'), 0)),
			'energy_joules', api_joules(h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj,
				h.host_uj, h.other_uj),
			'grams', h.grams,
			'coverage', api_part(h.observed_ms, h.node_ms, 4))) AS j
		FROM unit_hour h JOIN unit u ON u.id = h.unit WHERE h.unit = target
			AND h.hour >= date_trunc('hour', a) AND h.hour < b
		ORDER BY h.hour LIMIT most) x
$$;
