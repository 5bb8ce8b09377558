-- SPDX-License-Identifier: GPL-2.0-or-later
-- What nodes measured of a unit's GPUs: counts gpu_... of unit_counts, which only nodes with GPUs have.

-- Sums over nodes, of peaks the highest, of what each node of its kind has counted; NULL: nothing.
CREATE OR REPLACE FUNCTION api_counts(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	WITH n AS (SELECT u.instance, u.gpus, c.counts FROM (SELECT instance, gpus FROM unit_node
			WHERE unit = target ORDER BY instance LIMIT 10000) u
		LEFT JOIN unit_counts c ON c.instance = u.instance)
	SELECT jsonb_object_agg(s.key, s.total) FROM (
		SELECT e.key, CASE WHEN e.key LIKE '%\_peak\_bytes' THEN max(e.value::numeric)
			ELSE sum(e.value::numeric) END AS total, count(*) AS nodes
		FROM n, jsonb_each_text(n.counts) e GROUP BY e.key) s
	WHERE s.nodes = (SELECT count(*) FROM n WHERE s.key NOT LIKE 'gpu\_%' OR n.gpus > 0)
$$;

-- Counts of a unit as members of its object, and what the peer and others want to know of GPUs: text,
-- each with a comma before it.
CREATE FUNCTION api_count_members(target bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT concat(',"counts":' || k.counts::text,
		',"avg_gpu_mem_usage":{"global":' || m.percent::text || '}',
		',"gpu_idle_seconds":' || round((k.counts->>'gpu_idle_ns')::numeric / 1000000000, 3),
		',"gpu_memory_peak_bytes":' || (k.counts->>'gpu_memory_peak_bytes'))
	FROM (SELECT api_counts(target) AS counts) k
	CROSS JOIN LATERAL (SELECT round(sum(n.gpu_memory_mean_kib::numeric * 1024 * l.ms) * 100 / nullif(sum(
				(c.counts->>'gpu_memory_size_bytes')::numeric * l.ms), 0), 4) AS percent
		FROM unit_node n JOIN unit_counts c ON c.instance = n.instance
		CROSS JOIN LATERAL (SELECT overlap_ms(n.started, n.ended, '1970-01-01', 'infinity') AS ms) l
		WHERE n.unit = target AND k.counts ? 'gpu_memory_size_bytes') m
$$;
