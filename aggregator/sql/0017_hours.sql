-- SPDX-License-Identifier: GPL-2.0-or-later
-- As in 0005, with the mean of the memory while the unit lived, and the time that GPUs were busy: what
-- cacct -T needs of full hours.
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
			'energy_joules', api_joules(h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj,
				h.host_uj, h.other_uj),
			'grams', h.grams,
			'coverage', api_part(h.observed_ms, h.node_ms, 4))) AS j
		FROM unit_hour h JOIN unit u ON u.id = h.unit WHERE h.unit = target
			AND h.hour >= date_trunc('hour', a) AND h.hour < b
		ORDER BY h.hour LIMIT most) x
$$;
