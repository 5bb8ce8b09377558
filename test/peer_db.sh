# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests of `ceems_tool migrate`. peer_db FILE UNITS: a database as CEEMS 0.10 documents its schema,
# written by our statements (no program of theirs has touched it), with UNITS ended jobs of 20 users in 5
# projects over 60 days; every 50th is a second run of the one before it. peer_rows and our_rows print the same columns of
# each unit, from there and from the aggregator's database; peer_sums and our_sums those of each user and project.
PEER_MAPS="total_time_seconds avg_cpu_usage avg_cpu_mem_usage total_cpu_energy_usage_kwh total_cpu_emissions_gms avg_gpu_usage avg_gpu_mem_usage total_gpu_energy_usage_kwh total_gpu_emissions_gms total_io_write_stats total_io_read_stats total_ingress_stats total_egress_stats"
peer_schema() {
	local m maps=''
	for m in $PEER_MAPS; do maps="$maps, $m TEXT DEFAULT '{}'"; done
	echo "CREATE TABLE units (id INTEGER NOT NULL PRIMARY KEY, resource_manager TEXT, cluster_id TEXT, uuid TEXT, name TEXT, project TEXT, groupname TEXT,
		username TEXT, created_at TEXT, started_at TEXT, ended_at TEXT, created_at_ts INTEGER, started_at_ts INTEGER, ended_at_ts INTEGER, elapsed TEXT,
		state TEXT, allocation TEXT DEFAULT '{}', tags TEXT DEFAULT '{}'$maps, \"ignore\" INTEGER, num_updates INTEGER DEFAULT 0, last_updated_at TEXT);
	CREATE UNIQUE INDEX uq_cluster_id_uuid_start ON units (cluster_id, uuid, started_at);"
}
peer_db() { # FILE UNITS
	{
		peer_schema
		cat <<-END
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2),
			j AS (SELECT i, i - (i % 50 = 0) AS job, i % 20 AS who, 1700000000 + (i * 5184000 / $2) AS submit,
				60 + (i * 7919) % 200000 AS wall, 1 + i % 64 AS cpus, i % 3 AS gpus, 1 + i % 300 AS gib FROM n)
			INSERT INTO units (resource_manager, cluster_id, uuid, name, project, groupname, username, created_at_ts, started_at, started_at_ts,
				ended_at_ts, state, allocation, tags, total_time_seconds, avg_cpu_usage, avg_cpu_mem_usage, avg_gpu_usage,
				total_cpu_energy_usage_kwh, total_gpu_energy_usage_kwh, total_cpu_emissions_gms, total_gpu_emissions_gms,
				total_io_write_stats, total_io_read_stats, total_ingress_stats, total_egress_stats, "ignore", last_updated_at)
			SELECT 'slurm', 'alpha', job, 'job "é" ' || i, 'proj' || (who % 5), 'grp', 'user' || who, submit * 1000, submit + 5, (submit + 5) * 1000,
				(submit + 5 + wall) * 1000, CASE i % 4 WHEN 0 THEN 'CANCELLED by 1001' WHEN 1 THEN 'FAILED' ELSE 'COMPLETED' END,
				json_object('nodes', 1, 'cpus', cpus, 'gpus', gpus, 'mem', gib << 30, 'billing', cpus),
				json_object('uid', 2000 + who, 'gid', 100, 'partition', 'p1', 'qos', 'normal', 'exit_code', (i % 4 = 1) || ':0', 'nodelist', 'n' || (i % 9), 'workdir', '/home/u'),
				json_object('walltime', wall, 'alloc_cputime', wall * cpus, 'alloc_cpumemtime', wall * gib * 1024, 'alloc_gputime', wall * gpus, 'alloc_gpumemtime', wall),
				'{"global":' || printf('%d.%04d', i % 100, i * 7 % 10000) || '}', '{"global":' || printf('%d.%04d', i % 90, i * 3 % 10000) || '}',
				CASE WHEN gpus THEN '{"global":' || (i % 100) || '.5}' ELSE '{}' END,
				'{"total":' || printf('%d.%08d', i % 7, i * 7919 % 100000000) || '}', CASE WHEN gpus THEN '{"total":' || printf('%d.%08d', i % 3, i * 104729 % 100000000) || '}' ELSE '{}' END,
				json_object('rte_total', i % 1000 + 0.5, 'owid_total', i % 1000 + 0.25), CASE WHEN gpus THEN json_object('rte_total', i % 77 + 0.125) ELSE '{}' END,
				json_object('bytes_total', i * 4096, 'requests_total', i), json_object('bytes_total', i * 1048576), json_object('bytes_total', i * 1500), json_object('bytes_total', i * 9000),
				0, '2024-03-01T00:00:00' FROM j;
		END
	} | sqlite3 "$1"
}
peer_rows() { # FILE
	sqlite3 -separator '|' "$1" "SELECT uuid, row_number() OVER (PARTITION BY uuid ORDER BY created_at_ts) - 1, created_at_ts / 1000, started_at_ts / 1000, ended_at_ts / 1000, username, project, name,
		CASE WHEN state LIKE 'CANC%' THEN 'CANCELLED' ELSE state END, json_extract(tags, '\$.uid'), json_extract(tags, '\$.nodelist'), json_extract(allocation, '\$.cpus'), json_extract(allocation, '\$.mem'),
		json_extract(total_time_seconds, '\$.walltime'), json_extract(total_time_seconds, '\$.alloc_cputime'), json_extract(total_time_seconds, '\$.alloc_cpumemtime'), json_extract(total_time_seconds, '\$.alloc_gputime'),
		printf('%.4f', json_extract(avg_cpu_usage, '\$.global')), printf('%.4f', json_extract(avg_cpu_mem_usage, '\$.global')), CASE WHEN json_extract(allocation, '\$.gpus') > 0 THEN printf('%.1f', json_extract(avg_gpu_usage, '\$.global')) END,
		printf('%.8f', json_extract(total_cpu_energy_usage_kwh, '\$.total')), CASE WHEN total_gpu_energy_usage_kwh NOT IN ('{}', 'null') THEN printf('%.8f', json_extract(total_gpu_energy_usage_kwh, '\$.total')) END,
		printf('%.3f', json_extract(total_cpu_emissions_gms, '\$.rte_total') + ifnull(json_extract(total_gpu_emissions_gms, '\$.rte_total'), 0)), printf('%.3f', json_extract(total_cpu_emissions_gms, '\$.owid_total') + ifnull(json_extract(total_gpu_emissions_gms, '\$.owid_total'), 0)),
		json_extract(total_io_read_stats, '\$.bytes_total'), json_extract(total_io_write_stats, '\$.bytes_total'), json_extract(total_ingress_stats, '\$.bytes_total'), json_extract(total_egress_stats, '\$.bytes_total')
		FROM units WHERE resource_manager = 'slurm' AND ended_at_ts > 0 AND started_at_ts > 0" | LC_ALL=C sort
}
our_rows() {
	psql_do -c "SELECT u.uuid, u.restarts, extract(epoch FROM u.submitted)::bigint, extract(epoch FROM u.started)::bigint, extract(epoch FROM u.ended)::bigint, pe.name, pr.name, u.name,
		u.state, u.uid, u.node_list, u.cpus, u.memory_bytes, u.wall_ms / 1000, u.cpu_alloc_ms / 1000, (u.memory_alloc_byte_ms / 1048576000)::bigint, u.gpu_alloc_ms / 1000,
		round((u.cpu_user_ns + u.cpu_system_ns) / 10000 / u.cpu_alloc_ms, 4), round(u.memory_byte_ms * 100 / u.memory_alloc_byte_ms, 4), round(u.gpu_busy_ms * 100.0 / nullif(u.gpu_alloc_ms, 0), 1),
		round(u.host_uj / 3600000000000, 8), round(u.gpu_uj / 3600000000000, 8), round((u.grams->>'rte')::numeric, 3), round((u.grams->>'owid')::numeric, 3),
		u.io_read_bytes, u.io_write_bytes, u.net_rx_bytes, u.net_tx_bytes
		FROM unit u JOIN person pe ON pe.id = u.person JOIN project pr ON pr.id = u.project WHERE u.ended IS NOT NULL AND u.started IS NOT NULL" | LC_ALL=C sort
}
peer_sums() { # FILE
	sqlite3 -separator '|' "$1" "SELECT username, project, count(*), sum(json_extract(total_time_seconds, '\$.walltime')), sum(json_extract(total_time_seconds, '\$.alloc_cputime')),
		sum(round(json_extract(total_cpu_energy_usage_kwh, '\$.total') * 100000000)), sum(json_extract(total_io_read_stats, '\$.bytes_total')) FROM units
		WHERE resource_manager = 'slurm' AND ended_at_ts > 0 AND started_at_ts > 0 GROUP BY 1, 2" | sed 's/\.0|/|/' | LC_ALL=C sort
}
our_sums() {
	psql_do -c "SELECT pe.name, pr.name, sum(d.units_started), sum(d.wall_ms) / 1000, sum(d.cpu_alloc_ms) / 1000, round(sum(d.host_uj) / 36000)::bigint, sum(d.io_read_bytes)
		FROM usage_day d JOIN person pe ON pe.id = d.person JOIN project pr ON pr.id = d.project GROUP BY 1, 2" | sed 's/\.0*|/|/g' | LC_ALL=C sort
}
