-- SPDX-License-Identifier: GPL-2.0-or-later
-- How rows become the API's JSON (doc/api.md). Who may see which rows is not decided here but in
-- aggregator/access.c. Times are shown in the session's TimeZone, which each request sets. A function
-- that is called IMMUTABLE and uses what is only STABLE becomes no part of a statement: each call
-- then starts an executor of its own, which takes ten times as long.

CREATE FUNCTION api_ts(t timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT to_char(t, 'YYYY-MM-DD"T"HH24:MI:SSTZHTZM') $$;
CREATE FUNCTION api_utc(t timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;
CREATE FUNCTION api_as_of() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT api_utc(as_of) FROM rollup_state $$;
CREATE FUNCTION api_ms(t timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM t) * 1000)::bigint $$;
CREATE FUNCTION api_us(t timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM t) * 1000000)::bigint $$;

-- a / b, NULL where there is nothing to divide by.
CREATE FUNCTION api_part(a numeric, b numeric, digits integer) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN b > 0 THEN round(a / b, digits) END $$;

-- "[D-]HH:MM:SS" as Slurm writes it.
CREATE FUNCTION api_elapsed(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN ms >= 86400000 THEN (ms / 86400000)::text || '-' ELSE '' END
		|| lpad((ms / 3600000 % 24)::text, 2, '0') || ':'
		|| lpad((ms / 60000 % 60)::text, 2, '0') || ':'
		|| lpad((ms / 1000 % 60)::text, 2, '0')
$$;

-- A wait status as Slurm shows it.
CREATE FUNCTION api_exit(status integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (status >> 8 & 255)::text || ':' || (status & 127)::text $$;

CREATE FUNCTION api_step(n bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE n WHEN 4294967291 THEN 'batch' WHEN 4294967292 THEN 'extern'
		WHEN 4294967290 THEN 'interactive' ELSE n::text END
$$;

-- What the building adds on each day (UTC), as ranges of days: what was valid, weighed by its time.
CREATE VIEW pue_range AS
	WITH p AS (SELECT cluster, valid_from AS a, coalesce(lead(valid_from) OVER
			(PARTITION BY cluster ORDER BY valid_from), 'infinity') AS b,
			pue::numeric AS pue FROM pue),
	whole AS (SELECT cluster, utc_day(a) + (a > utc_midnight(utc_day(a)))::integer AS first,
			utc_day(b) AS after, pue FROM p),
	cut AS (SELECT DISTINCT cluster, utc_day(a) AS day FROM p
		WHERE a > utc_midnight(utc_day(a)))
	SELECT cluster, first, after, pue FROM whole WHERE first < after
	UNION ALL
	SELECT cluster, day, day + 1, 1 + sum((p.pue - 1) * overlap_ms(p.a, p.b,
		utc_midnight(day), utc_midnight(day + 1))) / 86400000
	FROM cut JOIN p USING (cluster) GROUP BY cluster, day;

CREATE FUNCTION api_joules(package_uj numeric, dram_uj numeric, psys_uj numeric, gpu_uj numeric,
	host_uj numeric, other_uj numeric) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT jsonb_build_object(
		'package', round(package_uj / 1000000, 6), 'dram', round(dram_uj / 1000000, 6),
		'psys', round(psys_uj / 1000000, 6), 'gpu', round(gpu_uj / 1000000, 6),
		'host', round(host_uj / 1000000, 6), 'other', round(other_uj / 1000000, 6),
		'total', round(energy_total_uj(package_uj, dram_uj, psys_uj, gpu_uj, host_uj,
			other_uj) / 1000000, 6))
$$;

-- Rows of units are put together as text: a page has ten thousand members, and building each of them
-- as JSON took longer than all the rest. '"name":' || value is NULL where there is no value, which
-- concat() leaves out; what may hold any character goes through api_text().
CREATE FUNCTION api_text(t text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT to_json(t)::text $$;
-- A map of one number.
CREATE FUNCTION api_map(name text, value numeric) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '{' || coalesce('"' || name || '":' || value::text, '') || '}' $$;

-- Grams as the peer names them, of energy without GPUs and of GPUs, each the part that its energy has
-- of all: members of a map, NULL where there is none.
CREATE FUNCTION api_grams(grams jsonb, total_uj numeric, gpu_uj numeric, OUT cpu text, OUT gpu text)
RETURNS SETOF record LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT string_agg(api_text(key || '_total') || ':' || round(value::numeric
			* (1 - round(coalesce(gpu_uj, 0) / nullif(total_uj, 0), 9)), 8), ','),
		string_agg(api_text(key || '_total') || ':' || round(value::numeric
			* round(gpu_uj / nullif(total_uj, 0), 9), 8), ',')
	FROM jsonb_each_text(grams)
$$;

-- What sums of units, usages and days have in common: the peer's maps, and ours in base units.
-- The peer's kWh have the building's share (pue) in them, joules are what was measured. Text, each
-- member with a comma before it. One expression, so that it becomes part of the statement that has
-- it: what is used twice comes as an argument.
CREATE FUNCTION api_sums_text(wall_ms bigint, node_ms bigint, observed_ms bigint, cpu_ns numeric,
	cpu_alloc_ms bigint, memory_byte_ms numeric, memory_alloc_byte_ms numeric,
	io_read_bytes numeric, io_write_bytes numeric, net_rx_bytes numeric, net_tx_bytes numeric,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric,
	package_uj numeric, dram_uj numeric, psys_uj numeric, gpu_uj numeric, host_uj numeric,
	other_uj numeric, total_uj numeric, grams jsonb, cpu_grams text, gpu_grams text,
	pue numeric) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT concat(
		',"total_time_seconds":{', ltrim(concat(
			',"walltime":' || round(wall_ms / 1000.0, 3),
			',"alloc_cputime":' || round(cpu_alloc_ms / 1000.0, 3),
			',"alloc_cpumemtime":' || round(memory_alloc_byte_ms / 1048576000, 3),
			',"alloc_gputime":' || round(gpu_alloc_ms / 1000.0, 3),
			',"alloc_gpumemtime":' || CASE WHEN gpu_alloc_ms > 0
				THEN round(wall_ms / 1000.0, 3) ELSE 0 END), ','), '}',
		',"avg_cpu_usage":', api_map('global', CASE WHEN cpu_alloc_ms > 0
			THEN round(cpu_ns / 10000 / cpu_alloc_ms, 4) END),
		',"avg_cpu_mem_usage":', api_map('global', CASE WHEN memory_alloc_byte_ms > 0
			THEN round(memory_byte_ms * 100 / memory_alloc_byte_ms, 4) END),
		',"avg_gpu_usage":', api_map('global', CASE WHEN gpu_alloc_ms > 0
			THEN round(gpu_busy_ms * 100.0 / gpu_alloc_ms, 4) END),
		',"total_cpu_energy_usage_kwh":', api_map('total',
			round((total_uj - coalesce(gpu_uj, 0)) * pue / 3600000000000, 9)),
		',"total_gpu_energy_usage_kwh":', api_map('total',
			round(gpu_uj * pue / 3600000000000, 9)),
		',"total_cpu_emissions_gms":{', cpu_grams, '}',
		',"total_gpu_emissions_gms":{', gpu_grams, '}',
		',"total_io_read_stats":', api_map('bytes_total', io_read_bytes),
		',"total_io_write_stats":', api_map('bytes_total', io_write_bytes),
		',"total_ingress_stats":', api_map('bytes_total', net_rx_bytes),
		',"total_egress_stats":', api_map('bytes_total', net_tx_bytes),
		',"memory_mean_bytes":' || CASE WHEN wall_ms > 0
			THEN round(memory_byte_ms / wall_ms) END,
		',"gpu_memory_mean_bytes":' || CASE WHEN wall_ms > 0
			THEN round(gpu_memory_byte_ms / wall_ms) END,
		',"cpu_seconds":' || round(cpu_ns / 1000000000, 6),
		',"energy_joules":{', ltrim(concat(
			',"package":' || round(package_uj / 1000000, 6),
			',"dram":' || round(dram_uj / 1000000, 6),
			',"psys":' || round(psys_uj / 1000000, 6),
			',"gpu":' || round(gpu_uj / 1000000, 6),
			',"host":' || round(host_uj / 1000000, 6),
			',"other":' || round(other_uj / 1000000, 6),
			',"total":' || round(total_uj / 1000000, 6)), ','), '}',
		',"grams":' || grams::text,
		',"coverage":' || CASE WHEN node_ms > 0
			THEN round(observed_ms::numeric / node_ms, 4) END)
$$;

-- For rows that are few.
CREATE FUNCTION api_sums(wall_ms bigint, node_ms bigint, observed_ms bigint, cpu_ns numeric,
	cpu_alloc_ms bigint, memory_byte_ms numeric, memory_alloc_byte_ms numeric,
	io_read_bytes numeric, io_write_bytes numeric, net_rx_bytes numeric, net_tx_bytes numeric,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric,
	package_uj numeric, dram_uj numeric, psys_uj numeric, gpu_uj numeric, host_uj numeric,
	other_uj numeric, grams jsonb, pue numeric) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
	total_uj numeric := energy_total_uj(package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj);
	g record;
BEGIN
	SELECT * INTO g FROM api_grams(grams, total_uj, gpu_uj);
	RETURN '{' || ltrim(api_sums_text(wall_ms, node_ms, observed_ms, cpu_ns, cpu_alloc_ms,
		memory_byte_ms, memory_alloc_byte_ms, io_read_bytes, io_write_bytes, net_rx_bytes,
		net_tx_bytes, gpu_busy_ms, gpu_alloc_ms, gpu_memory_byte_ms, package_uj, dram_uj,
		psys_uj, gpu_uj, host_uj, other_uj, total_uj, grams, g.cpu, g.gpu, pue), ',') || '}';
END
$$;

-- Units as rows of the API. The plan is kept by the session. OFFSET 0 keeps a value from being worked
-- out anew wherever it is named.
CREATE FUNCTION api_units(ids bigint[]) RETURNS TABLE (unit bigint, members text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT u.id, concat('{"id":', u.id,
		',"cluster_id":', api_text(c.name), ',"resource_manager":"', c.manager,
		'","uuid":', api_text(u.uuid), ',"restarts":', u.restarts,
		',"name":' || api_text(u.name), ',"project":' || api_text(pr.name),
		',"groupname":' || api_text(u.user_group), ',"username":' || api_text(pe.name),
		',"created_at":"' || api_ts(u.submitted) || '"',
		',"created_at_ts":' || api_ms(u.submitted),
		',"eligible_at_ts":' || api_ms(u.eligible),
		',"started_at":"' || api_ts(u.started) || '"',
		',"started_at_ts":' || api_ms(u.started),
		',"ended_at":"', coalesce(api_ts(u.ended), 'Unknown'),
		'","ended_at_ts":', coalesce(api_ms(u.ended), 0),
		',"elapsed":"' || api_elapsed(e.elapsed_ms) || '"',
		',"elapsed_seconds":' || round(e.elapsed_ms / 1000.0, 3),
		',"state":', api_text(u.state), ',"known_by":"', u.known_by,
		'"', ',"as_of":"' || api_ts(u.as_of) || '"', ',"as_of_ts":' || api_ms(u.as_of),
		',"energy_sources":' || api_text(s.label),
		',"memory_peak_bytes":' || u.memory_peak_bytes,
		',"cpu_user_seconds":' || round(u.cpu_user_ns / 1000000000, 6),
		',"cpu_system_seconds":' || round(u.cpu_system_ns / 1000000000, 6),
		',"allocation":{', ltrim(concat(',"nodes":' || u.nodes, ',"cpus":' || u.cpus,
			',"mem":' || u.memory_bytes, ',"gpus":' || u.gpus), ','),
		'},"tags":{', ltrim(concat(',"uid":' || u.uid, ',"gid":' || u.gid,
			',"partition":' || api_text(u.partition), ',"qos":' || api_text(u.qos),
			',"reservation":' || api_text(u.reservation),
			',"wckey":' || api_text(u.wckey),
			',"exit_code":"' || api_exit(u.exit_code) || '"',
			',"derived_exit_code":"' || api_exit(u.derived_exit_code) || '"',
			',"reason":' || api_text(u.reason), ',"nodelist":' || api_text(u.node_list),
			',"workdir":' || api_text(u.work_dir), ',"comment":' || api_text(u.comment),
			',"tres_allocated":' || api_text(u.tres_allocated),
			',"tres_requested":' || api_text(u.tres_requested),
			',"gres":' || api_text(u.gres), ',"sluid":' || api_text(u.sluid),
			',"time_limit_s":' || u.time_limit_s, ',"array_job":' || u.array_job,
			',"array_task":' || u.array_task, ',"het_job":' || u.het_job,
			',"het_offset":' || u.het_offset), ','), '}',
		CASE WHEN u.as_of IS NOT NULL THEN api_sums_text(
			u.wall_ms, u.node_ms, u.observed_ms, e.cpu_ns, u.cpu_alloc_ms,
			u.memory_byte_ms, u.memory_alloc_byte_ms, u.io_read_bytes,
			u.io_write_bytes, u.net_rx_bytes, u.net_tx_bytes, u.gpu_busy_ms,
			u.gpu_alloc_ms, u.gpu_memory_byte_ms, u.package_uj, u.dram_uj, u.psys_uj,
			u.gpu_uj, u.host_uj, u.other_uj, e.total_uj, u.grams, g.cpu, g.gpu,
			e.pue) END, '}')
	FROM unit u JOIN cluster c ON c.id = u.cluster
	LEFT JOIN person pe ON pe.id = u.person
	LEFT JOIN project pr ON pr.id = u.project
	LEFT JOIN energy_sources s ON s.id = u.energy_sources
	CROSS JOIN LATERAL (SELECT u.cpu_user_ns + u.cpu_system_ns AS cpu_ns,
		greatest(0, api_ms(coalesce(u.ended, now())) - api_ms(u.started)) AS elapsed_ms,
		energy_total_uj(u.package_uj, u.dram_uj, u.psys_uj, u.gpu_uj, u.host_uj,
			u.other_uj) AS total_uj,
		coalesce((SELECT p.pue::numeric FROM pue p WHERE p.cluster = u.cluster
			AND p.valid_from <= u.started ORDER BY p.valid_from DESC LIMIT 1), 1)
			AS pue OFFSET 0) e
	CROSS JOIN LATERAL api_grams(u.grams, e.total_uj, u.gpu_uj) g
	WHERE u.id = ANY (ids);
END
$$;

-- A unit's nodes, each as it numbered the unit.
CREATE FUNCTION api_nodes(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
		'node', o.name, 'instance', n.instance::text, 'started_at', api_ts(n.started),
		'started_at_ts', api_ms(n.started), 'ended_at', api_ts(n.ended),
		'ended_at_ts', api_ms(n.ended), 'how_ended', n.how_ended,
		'last_report_ts', api_ms(n.heard), 'final', n.final,
		'cpus', n.cpus, 'memory_bytes', n.memory_bytes, 'gpus', n.gpus,
		'gpu_list', n.gpu_list,
		'cpu_user_seconds', round(n.cpu_user_ns / 1000000000.0, 6),
		'cpu_system_seconds', round(n.cpu_system_ns / 1000000000.0, 6),
		'memory_mean_bytes', n.memory_mean_bytes,
		'memory_peak_bytes', n.memory_peak_bytes,
		'io_read_bytes', n.io_read_bytes, 'io_write_bytes', n.io_write_bytes,
		'net_rx_bytes', n.net_rx_bytes, 'net_tx_bytes', n.net_tx_bytes,
		'energy_joules', api_joules(n.package_uj, n.dram_uj, n.psys_uj, n.gpu_uj,
			n.host_uj, n.other_uj))) ORDER BY o.name), '[]')
	FROM (SELECT * FROM unit_node WHERE unit = target ORDER BY instance LIMIT 10000) n
	JOIN node o ON o.id = n.node
$$;

-- A step's name: what it ran, or what srun -J said, which is in its environment as the job's name and
-- is another than the job's. A hint is cut at 63 bytes and has ? where a byte is no character.
-- its_srun: of the srun that made the job, which the job has its name from.
CREATE FUNCTION api_step_name(command text, label text, job text, its_srun boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE WHEN its_srun THEN coalesce(label, command) WHEN label <> replace(job, U&'\FFFD', '?') AND NOT (octet_length(label) >= 60
			AND starts_with(replace(job, U&'\FFFD', '?'), label))
		THEN label ELSE command END
$$;

-- A unit's steps, summed over its nodes. Their names are Slurm's where an import has them.
CREATE FUNCTION api_steps(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
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
			'total_io_read_stats', jsonb_build_object('bytes_total',
				sum(s.io_read_bytes)),
			'total_io_write_stats', jsonb_build_object('bytes_total',
				sum(s.io_write_bytes)),
			'energy_joules', api_joules(sum(s.package_uj), sum(s.dram_uj),
				sum(s.psys_uj), sum(s.gpu_uj), sum(s.host_uj),
				sum(s.other_uj)))) AS j
		FROM unit_node n JOIN unit_step s ON s.instance = n.instance
		JOIN unit u ON u.id = n.unit
		CROSS JOIN LATERAL (SELECT jsonb_object_agg(k.key, k.value) AS names
			FROM job_record j, jsonb_each(j.record->'step_names') k
			WHERE j.unit = target) i
		CROSS JOIN LATERAL (SELECT bool_or(j.record ? 'by_srun') AS by_srun
			FROM job_record j WHERE j.unit = target) j
		WHERE n.unit = target GROUP BY s.step, u.name, i.names, j.by_srun LIMIT 10000) x
$$;

-- What a unit used in [a, b), interval by interval, summed over its nodes; at most `most` points.
CREATE FUNCTION api_series(target bigint, a timestamptz, b timestamptz, most integer)
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
			'energy_joules', api_joules(sum(i.package_uj), sum(i.dram_uj),
				sum(i.psys_uj), sum(i.gpu_uj), sum(i.host_uj), sum(i.other_uj)),
			'coverage', api_part(sum(i.observed_ms), sum(i.ms), 4))) AS j
		FROM unit_node n JOIN unit_interval i ON i.instance = n.instance
		WHERE n.unit = target AND i.t0 >= a AND i.t0 < b
		GROUP BY i.t0 ORDER BY i.t0 LIMIT most) x
$$;

-- The same by full hours, which are kept longer.
CREATE FUNCTION api_hours(target bigint, a timestamptz, b timestamptz, most integer)
RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(j ORDER BY hour), '[]') FROM (
		SELECT h.hour, jsonb_strip_nulls(jsonb_build_object('t0_ts', api_ms(h.hour),
			't1_ts', api_ms(h.hour) + 3600000,
			'cpu_seconds', round((h.cpu_user_ns + h.cpu_system_ns) / 1000000000, 6),
			'memory_peak_bytes', h.memory_peak_bytes,
			'io_read_bytes', h.io_read_bytes, 'io_write_bytes', h.io_write_bytes,
			'net_rx_bytes', h.net_rx_bytes, 'net_tx_bytes', h.net_tx_bytes,
			'energy_joules', api_joules(h.package_uj, h.dram_uj, h.psys_uj, h.gpu_uj,
				h.host_uj, h.other_uj),
			'grams', h.grams,
			'coverage', api_part(h.observed_ms, h.node_ms, 4))) AS j
		FROM unit_hour h WHERE h.unit = target AND h.hour >= date_trunc('hour', a)
			AND h.hour < b
		ORDER BY h.hour LIMIT most) x
$$;

-- Units that live for longer than a week are few; all others that meet a window began at most a
-- week before it.
CREATE INDEX unit_long ON unit (cluster, person, started)
	WHERE ended IS NULL OR ended - started > interval '7 days';
CREATE INDEX unit_array ON unit (array_job) WHERE array_job IS NOT NULL;
CREATE INDEX unit_het ON unit (het_job) WHERE het_job IS NOT NULL;
CREATE INDEX person_name ON person (name);
