-- SPDX-License-Identifier: GPL-2.0-or-later
-- Summaries of a unit for other programs (--export): jobstats' (Princeton), which it keeps in AdminComment, and
-- SUPReMM's for Open XDMoD, as far as nodes measure it.

CREATE FUNCTION export_nodes(target bigint) RETURNS TABLE (node text, cpus bigint, memory_bytes bigint, gpus bigint,
	cpu_user_ns numeric, cpu_system_ns numeric, memory_mean_bytes numeric, memory_peak_bytes bigint, gpu_busy_ms numeric,
	energy_uj numeric, gpu_uj numeric, ms numeric) LANGUAGE sql STABLE AS $$
	SELECT o.name, max(n.cpus)::bigint, max(n.memory_bytes), max(n.gpus)::bigint,
		sum(n.cpu_user_ns + coalesce(n.carried_cpu_user_ns, 0)),
		sum(n.cpu_system_ns + coalesce(n.carried_cpu_system_ns, 0)),
		sum(n.memory_mean_bytes::numeric * l.ms) / nullif(sum(l.ms), 0), max(n.memory_peak_bytes), sum(n.gpu_busy_ms),
		sum(energy_total_uj(n.package_uj, n.dram_uj, n.psys_uj, n.gpu_uj, n.host_uj, n.other_uj)), sum(n.gpu_uj), sum(l.ms)
	FROM (SELECT * FROM unit_node WHERE unit = target ORDER BY instance LIMIT 10000) n JOIN node o ON o.id = n.node
	CROSS JOIN LATERAL (SELECT overlap_ms(coalesce(n.stands_from, n.started), greatest(n.ended, n.last_t1),
		'1970-01-01', 'infinity') AS ms) l
	GROUP BY o.name
$$;

-- NULL: no node has told of it. Of several GPUs on a node only their sum is known, so that one alone has its use.
CREATE FUNCTION export_jobstats(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object('gpus', coalesce(u.gpus, 0), 'total_time', round(u.wall_ms / 1000.0)::bigint, 'nodes', k.nodes)
	FROM unit u CROSS JOIN LATERAL (SELECT jsonb_object_agg(n.node, jsonb_strip_nulls(jsonb_build_object(
			'cpus', n.cpus, 'total_memory', n.memory_bytes, 'used_memory', n.memory_peak_bytes,
			'total_time', round((n.cpu_user_ns + n.cpu_system_ns) / 1000000000, 1),
			'gpu_utilization', CASE WHEN n.gpus = 1 AND n.gpu_busy_ms IS NOT NULL THEN
				jsonb_build_object('0', round(n.gpu_busy_ms * 100 / nullif(n.ms, 0), 1)) END))) AS nodes
		FROM export_nodes(target) n) k
	WHERE u.id = target AND k.nodes IS NOT NULL
$$;

-- {"avg", "min", "max", "cnt"} over nodes
CREATE FUNCTION export_statistic(v numeric[]) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN count(x) > 0 THEN jsonb_build_object('avg', round(avg(x), 6), 'min', round(min(x), 6),
		'max', round(max(x), 6), 'cnt', count(x)) ELSE '{"error": 2}' END FROM unnest(v) x
$$;

CREATE FUNCTION export_supremm(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object('_id', u.uuid || '-' || extract(epoch FROM u.ended)::bigint,
		'summarization', jsonb_build_object('version', '1.0.6', 'complete', u.as_of IS NOT NULL,
			'created', extract(epoch FROM now())::bigint, 'elapsed', 0, 'srcdir', NULL, 'datasource', 'ceems'),
		'acct', jsonb_strip_nulls(jsonb_build_object('id', u.uuid, 'local_job_id', u.uuid,
			'jobname', u.name, 'user', pe.name, 'uid', u.uid, 'gid', u.gid, 'group', u.user_group,
			'account', pr.name, 'partition', u.partition, 'exit_status', u.state,
			'exit_code', api_exit(u.exit_code), 'ncpus', u.cpus, 'nodes', u.nodes, 'gpus', u.gpus,
			'timelimit', u.time_limit_s, 'submit', extract(epoch FROM u.submitted)::bigint,
			'eligible', extract(epoch FROM u.eligible)::bigint,
			'start_time', extract(epoch FROM u.started)::bigint, 'end_time', extract(epoch FROM u.ended)::bigint,
			'host_list', coalesce(k.nodes, '[]'))),
		'cpu', jsonb_build_object('jobcpus', jsonb_build_object('all', jsonb_build_object('cnt', u.cpus),
			'user', export_statistic(k.users), 'system', export_statistic(k.systems), 'idle', export_statistic(k.idles))),
		'memory', jsonb_build_object('used_minus_cache', export_statistic(k.memory)),
		'ipmi', jsonb_build_object('energy', export_statistic(k.joules)))
		|| CASE WHEN u.gpus > 0 THEN jsonb_build_object('gpu', jsonb_build_object('gpu0',
			jsonb_build_object('gpuactive', export_statistic(k.gpus)))) ELSE '{}' END
	FROM unit u JOIN person pe ON pe.id = u.person LEFT JOIN project pr ON pr.id = u.project
	CROSS JOIN LATERAL (SELECT jsonb_agg(n.node ORDER BY n.node) AS nodes, array_agg(c.users) AS users,
			array_agg(c.systems) AS systems, array_agg(greatest(0, 1 - c.users - c.systems)) AS idles,
			array_agg(n.memory_mean_bytes / 1024) AS memory, array_agg(n.energy_uj / 1000000) AS joules,
			array_agg(n.gpu_busy_ms * 100 / nullif(n.gpus * n.ms, 0)) AS gpus
		FROM export_nodes(target) n CROSS JOIN LATERAL (SELECT
			n.cpu_user_ns / 1000000 / nullif(n.cpus * n.ms, 0) AS users,
			n.cpu_system_ns / 1000000 / nullif(n.cpus * n.ms, 0) AS systems) c) k
	WHERE u.id = target
$$;
