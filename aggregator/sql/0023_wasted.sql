-- SPDX-License-Identifier: GPL-2.0-or-later
-- What was allocated and stood idle, of each unit by itself: a busy job does not make up for an idle one.
-- The sums of persons' days are those of their units' days.

CREATE FUNCTION wasted_cpu_ms(cpu_ns numeric, cpu_alloc_ms numeric) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN cpu_ns <= cpu_alloc_ms * 1000000 THEN cpu_alloc_ms - round(cpu_ns / 1000000)
		WHEN cpu_alloc_ms IS NOT NULL AND cpu_ns IS NOT NULL THEN 0 END
$$;

-- Energy by the share of CPUs that was not used, that of GPUs by theirs; GPUs whose use is not known
-- wasted nothing.
CREATE FUNCTION wasted_uj(total_uj numeric, gpu_uj numeric, cpu_ns numeric, cpu_alloc_ms numeric,
	gpu_busy_ms numeric, gpu_alloc_ms numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN cpu_alloc_ms > 0 AND cpu_ns IS NOT NULL AND total_uj IS NOT NULL THEN
		round(greatest(0, total_uj - coalesce(gpu_uj, 0))
			* greatest(0, 1 - cpu_ns / 1000000 / cpu_alloc_ms))
		+ CASE WHEN gpu_alloc_ms > 0 AND gpu_busy_ms IS NOT NULL THEN
			round(coalesce(gpu_uj, 0) * greatest(0, 1 - gpu_busy_ms / gpu_alloc_ms)) ELSE 0 END END
$$;

ALTER TABLE usage_day ADD COLUMN wasted_cpu_ms bigint;
ALTER TABLE usage_day ADD COLUMN wasted_uj numeric(24);

UPDATE usage_day d SET wasted_cpu_ms = w.cpu_ms, wasted_uj = w.uj
	FROM (SELECT v.person, v.day, v.project, sum(wasted_cpu_ms(c.ns, v.cpu_alloc_ms)) AS cpu_ms,
			sum(wasted_uj(energy_total_uj(v.package_uj, v.dram_uj, v.psys_uj, v.gpu_uj, v.host_uj,
				v.other_uj), v.gpu_uj, c.ns, v.cpu_alloc_ms, v.gpu_busy_ms, v.gpu_alloc_ms)) AS uj
		FROM unit_day v CROSS JOIN LATERAL (SELECT sum_known(v.cpu_user_ns, v.cpu_system_ns) AS ns) c
		WHERE v.person IS NOT NULL AND v.project IS NOT NULL GROUP BY v.person, v.day, v.project) w
	WHERE d.person = w.person AND d.day = w.day AND d.project = w.project;

-- As in 0004, and what they wasted more than before.
ALTER FUNCTION rollup_usage() RENAME TO rollup_used;
CREATE FUNCTION rollup_usage() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_used();
	UPDATE usage_day d SET wasted_cpu_ms = sum_known(d.wasted_cpu_ms, w.cpu_ms),
		wasted_uj = sum_known(d.wasted_uj, w.uj)
	FROM (SELECT v.person, v.day, v.project, sum(v.sign * wasted_cpu_ms(c.ns, v.cpu_alloc_ms)) AS cpu_ms,
			sum(v.sign * wasted_uj(energy_total_uj(v.package_uj, v.dram_uj, v.psys_uj, v.gpu_uj,
				v.host_uj, v.other_uj), v.gpu_uj, c.ns, v.cpu_alloc_ms, v.gpu_busy_ms,
				v.gpu_alloc_ms)) AS uj
		FROM (SELECT 1 AS sign, t.* FROM ru_day JOIN unit_day t USING (unit, day)
			UNION ALL SELECT -1, o.* FROM ru_old o) v
		CROSS JOIN LATERAL (SELECT sum_known(v.cpu_user_ns, v.cpu_system_ns) AS ns) c
		WHERE v.person IS NOT NULL AND v.project IS NOT NULL GROUP BY v.person, v.day, v.project) w
	WHERE d.person = w.person AND d.day = w.day AND d.project = w.project;
END
$$;

-- As in 0005, with the node of the highest memory, and the peaks of all nodes where each told its own.
CREATE OR REPLACE FUNCTION api_steps(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(j ORDER BY began, step), '[]') FROM (
		SELECT s.step, min(s.started) AS began, jsonb_strip_nulls(jsonb_build_object(
			'step', api_step(s.step),
			'name', coalesce(i.names->>s.step::text,
				api_step_name(min(s.command), min(s.label), u.name,
					s.step = 0 AND j.by_srun)),
			'name_known_by', CASE WHEN i.names ? s.step::text THEN 'import'
				WHEN min(s.command) IS NOT NULL THEN 'node' END,
			'started_at', api_ts(min(s.started)),
			'started_at_ts', api_ms(min(s.started)),
			'ended_at', api_ts(CASE WHEN bool_and(s.ended IS NOT NULL)
				THEN max(s.ended) END),
			'ended_at_ts', api_ms(CASE WHEN bool_and(s.ended IS NOT NULL)
				THEN max(s.ended) END),
			'exit_status', max(s.exit_status), 'lost', bool_or(s.lost),
			'nodes', count(*), 'cpus', sum(s.cpus), 'tasks', sum(s.tasks),
			'cpu_user_seconds', round(sum(s.cpu_user_ns) / 1000000000.0, 6),
			'cpu_system_seconds', round(sum(s.cpu_system_ns) / 1000000000.0, 6),
			'memory_peak_bytes', max(s.memory_peak_bytes),
			'memory_peak_node', (array_agg(o.name ORDER BY s.memory_peak_bytes DESC, o.name)
				FILTER (WHERE s.memory_peak_bytes IS NOT NULL))[1],
			'memory_peaks_bytes', CASE WHEN count(s.memory_peak_bytes) = count(*)
				THEN sum(s.memory_peak_bytes) END,
			'total_io_read_stats', jsonb_build_object('bytes_total',
				sum(s.io_read_bytes)),
			'total_io_write_stats', jsonb_build_object('bytes_total',
				sum(s.io_write_bytes)),
			'energy_joules', api_joules(sum(s.package_uj), sum(s.dram_uj),
				sum(s.psys_uj), sum(s.gpu_uj), sum(s.host_uj),
				sum(s.other_uj)))) AS j
		FROM unit_node n JOIN unit_step s ON s.instance = n.instance
		JOIN unit u ON u.id = n.unit
		JOIN node o ON o.id = n.node
		CROSS JOIN LATERAL (SELECT jsonb_object_agg(k.key, k.value) AS names
			FROM job_record j, jsonb_each(j.record->'step_names') k
			WHERE j.unit = target) i
		CROSS JOIN LATERAL (SELECT bool_or(j.record ? 'by_srun') AS by_srun
			FROM job_record j WHERE j.unit = target) j
		WHERE n.unit = target GROUP BY s.step, u.name, i.names, j.by_srun LIMIT 10000) x
$$;
