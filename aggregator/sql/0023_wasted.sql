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
