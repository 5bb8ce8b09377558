-- SPDX-License-Identifier: GPL-2.0-or-later
-- How reports become rows. The writer (aggregator/ingest_writer.c) copies a group of pushes into
-- tables of its session that look like the ones below and calls ingest_merge() in the same
-- transaction. Everything may come twice, late and in any order; two aggregators may do it at the
-- same time.

-- The first day of the oldest partition and the first day after the newest; NULL: there is none.
CREATE FUNCTION partition_range(parent regclass, OUT first timestamptz, OUT after timestamptz)
LANGUAGE sql STABLE AS $$
	SELECT min(d), max(d) + CASE max(length(digits)) WHEN 6 THEN interval '1 month'
			ELSE interval '1 day' END
	FROM (SELECT digits, to_timestamp(rpad(digits, 8, '01') || ' 00:00 +00',
				'YYYYMMDD HH24:MI TZH') AS d
		FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid,
		LATERAL (SELECT substring(c.relname from '_([0-9]{6,8})$') AS digits) s
		WHERE inhparent = parent AND digits IS NOT NULL) p
$$;

CREATE FUNCTION utc_day(t timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (t AT TIME ZONE 'UTC')::date $$;
CREATE FUNCTION utc_midnight(d date) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT d::timestamp AT TIME ZONE 'UTC' $$;
-- Milliseconds that [a0, a1) and [b0, b1) share; 0 when one of them is empty or the wrong way round.
-- STABLE, as extract() of a timestamptz is: called IMMUTABLE it would not be inlined.
CREATE FUNCTION overlap_ms(a0 timestamptz, a1 timestamptz, b0 timestamptz, b1 timestamptz)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
	SELECT greatest(0, (extract(epoch FROM least(a1, b1)) * 1000)::bigint
			- (extract(epoch FROM greatest(a0, b0)) * 1000)::bigint)
$$;

-- The tables that a session copies into, emptied by each commit. Their columns stand once, here;
-- the order is the writer's.
CREATE FUNCTION ingest_staging() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('pg_temp.in_node') IS NOT NULL THEN
		RETURN;
	END IF;
	CREATE TEMP TABLE in_node (
		seq integer, type smallint, provisional boolean,
		manager text, cluster text, node text,
		instance bigint, boot text, uuid text, restarts integer, guessed boolean,
		uid bigint, gid bigint, array_job bigint, array_task bigint,
		started timestamptz, ended timestamptz, how_ended text, t1 timestamptz,
		cpus integer, memory_bytes bigint, gpus integer, gpu_list text, gpu_share text,
		hints text,
		observed_ms bigint, cpu_user_ns bigint, cpu_system_ns bigint,
		memory_mean_bytes bigint, memory_peak_bytes bigint,
		io_read_bytes bigint, io_write_bytes bigint,
		net_rx_bytes bigint, net_tx_bytes bigint,
		gpu_busy_ms bigint, gpu_memory_mean_kib bigint,
		package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint,
		host_uj bigint, other_uj bigint, energy_sources smallint
	) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE in_step (
		seq integer, instance bigint, step bigint,
		started timestamptz, ended timestamptz, exit_status integer, lost boolean,
		cpus integer, tasks integer, cpu_user_ns bigint, cpu_system_ns bigint,
		memory_peak_bytes bigint, io_read_bytes bigint, io_write_bytes bigint,
		package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint,
		host_uj bigint, other_uj bigint, command text, label text
	) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE in_interval (LIKE unit_interval) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE in_job (
		cluster text, uuid text, restarts integer, submitted timestamptz,
		part timestamptz, state integer, record text
	) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE in_seen (
		manager text, cluster text, node text
	) ON COMMIT DELETE ROWS;
END
$$;

-- Names get numbers on first sight. Not ON CONFLICT alone: that would use up a number each time.
CREATE FUNCTION ingest_names() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO cluster (name, manager)
		SELECT DISTINCT ON (n.cluster) n.cluster, n.manager
		FROM (SELECT cluster, manager FROM in_seen UNION ALL
			SELECT cluster, 'slurm' FROM in_job) n
		WHERE NOT EXISTS (SELECT FROM cluster c WHERE c.name = n.cluster)
		ORDER BY n.cluster
		ON CONFLICT DO NOTHING;
	INSERT INTO node (cluster, name)
		SELECT DISTINCT c.id, n.node
		FROM in_seen n JOIN cluster c ON c.name = n.cluster
		WHERE NOT EXISTS (SELECT FROM node o WHERE o.cluster = c.id AND o.name = n.node)
		ORDER BY c.id, n.node
		ON CONFLICT DO NOTHING;
	UPDATE node SET last_report = now()
		FROM in_seen n JOIN cluster c ON c.name = n.cluster
		WHERE node.cluster = c.id AND node.name = n.node
			AND (node.last_report IS NULL
				OR node.last_report < now() - interval '15 s');
END
$$;

-- The number of a word for sources of energy, made when it is new; NULL: there are too many (a
-- site has a handful).
CREATE FUNCTION ingest_sources(word text) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
	found smallint;
BEGIN
	SELECT id INTO found FROM energy_sources WHERE label = word;
	IF found IS NULL AND (SELECT count(*) FROM energy_sources) < 10000 THEN
		INSERT INTO energy_sources (label) VALUES (word)
			ON CONFLICT (label) DO UPDATE SET label = excluded.label
			RETURNING id INTO found;
	END IF;
	RETURN found;
END
$$;

-- What reports say of units on nodes. An interval's word makes the row where a start was lost; a
-- final one sets the end and the totals, and one whose energy is settled is not overwritten by one
-- whose energy is not.
CREATE FUNCTION ingest_nodes() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO unit_node (instance, node, boot, uuid, restarts, guessed, uid, gid,
			array_job, array_task, started, last_t1, cpus, memory_bytes, gpus,
			gpu_list, gpu_share, hints)
		SELECT DISTINCT ON (s.instance) s.instance, o.id, s.boot::uuid, s.uuid,
			s.restarts, s.guessed, s.uid, s.gid, s.array_job, s.array_task,
			s.started, s.started, s.cpus, s.memory_bytes, s.gpus, s.gpu_list,
			s.gpu_share, s.hints::jsonb
		FROM in_node s JOIN cluster c ON c.name = s.cluster
		JOIN node o ON o.cluster = c.id AND o.name = s.node
		ORDER BY s.instance, s.guessed, (s.hints IS NULL), s.seq DESC
		ON CONFLICT DO NOTHING;
	UPDATE unit_node n SET uuid = s.uuid, restarts = s.restarts, guessed = s.guessed,
			uid = coalesce(s.uid, n.uid), gid = coalesce(s.gid, n.gid),
			array_job = coalesce(s.array_job, n.array_job),
			array_task = coalesce(s.array_task, n.array_task),
			cpus = coalesce(s.cpus, n.cpus),
			memory_bytes = coalesce(s.memory_bytes, n.memory_bytes),
			gpus = coalesce(s.gpus, n.gpus),
			gpu_list = coalesce(s.gpu_list, n.gpu_list),
			gpu_share = coalesce(s.gpu_share, n.gpu_share),
			hints = coalesce(s.hints::jsonb, n.hints),
			heard = now()
		FROM (SELECT DISTINCT ON (instance) * FROM in_node WHERE type = 17
			ORDER BY instance, seq DESC) s
		WHERE n.instance = s.instance AND NOT s.guessed AND n.unit IS NULL
			AND (n.guessed OR n.cpus IS NULL OR n.uid IS NULL);
	UPDATE unit_node n SET ended = s.ended, how_ended = s.how_ended, heard = now(),
			last_t1 = greatest(n.last_t1, s.t1),
			cpus = coalesce(s.cpus, n.cpus),
			memory_bytes = coalesce(s.memory_bytes, n.memory_bytes),
			gpus = coalesce(s.gpus, n.gpus),
			final = NOT s.provisional, observed_ms = s.observed_ms,
			cpu_user_ns = s.cpu_user_ns, cpu_system_ns = s.cpu_system_ns,
			memory_mean_bytes = s.memory_mean_bytes,
			memory_peak_bytes = s.memory_peak_bytes,
			io_read_bytes = s.io_read_bytes, io_write_bytes = s.io_write_bytes,
			net_rx_bytes = s.net_rx_bytes, net_tx_bytes = s.net_tx_bytes,
			gpu_busy_ms = s.gpu_busy_ms, gpu_memory_mean_kib = s.gpu_memory_mean_kib,
			package_uj = s.package_uj, dram_uj = s.dram_uj, psys_uj = s.psys_uj,
			gpu_uj = s.gpu_uj, host_uj = s.host_uj, other_uj = s.other_uj,
			energy_sources = s.energy_sources
		FROM (SELECT DISTINCT ON (instance) * FROM in_node WHERE type = 19
			ORDER BY instance, provisional, seq DESC) s
		WHERE n.instance = s.instance AND NOT (n.final AND s.provisional);
	-- it was thought lost, or ended: the linker looks again
	UPDATE unit u SET ended = NULL, state = 'RUNNING'
		FROM in_node s JOIN unit_node n ON n.instance = s.instance
		WHERE s.type = 19 AND u.id = n.unit AND u.known_by = 'node'
			AND u.ended IS NOT NULL AND u.ended IS DISTINCT FROM n.ended;
END
$$;

CREATE FUNCTION ingest_steps() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO unit_step AS o (instance, step, started, ended, exit_status, lost, cpus,
			tasks, cpu_user_ns, cpu_system_ns, memory_peak_bytes, io_read_bytes,
			io_write_bytes, package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj,
			command, label)
		SELECT DISTINCT ON (instance, step) instance, step, started, ended, exit_status,
			lost, cpus, tasks, cpu_user_ns, cpu_system_ns, memory_peak_bytes,
			io_read_bytes, io_write_bytes, package_uj, dram_uj, psys_uj, gpu_uj,
			host_uj, other_uj, command, label
		FROM in_step ORDER BY instance, step, (ended IS NULL), seq DESC
		ON CONFLICT (instance, step) DO UPDATE SET
			started = excluded.started, ended = excluded.ended,
			exit_status = excluded.exit_status, lost = excluded.lost,
			cpus = excluded.cpus, tasks = excluded.tasks,
			cpu_user_ns = excluded.cpu_user_ns,
			cpu_system_ns = excluded.cpu_system_ns,
			memory_peak_bytes = excluded.memory_peak_bytes,
			io_read_bytes = excluded.io_read_bytes,
			io_write_bytes = excluded.io_write_bytes,
			package_uj = excluded.package_uj, dram_uj = excluded.dram_uj,
			psys_uj = excluded.psys_uj, gpu_uj = excluded.gpu_uj,
			host_uj = excluded.host_uj, other_uj = excluded.other_uj,
			command = coalesce(excluded.command, o.command),
			label = coalesce(excluded.label, o.label)
		WHERE o.ended IS NULL OR excluded.ended IS NOT NULL;
END
$$;

-- Returns how many intervals were new, and how many were there with other numbers (the first word
-- counts). Not called when the writer could copy into unit_interval directly.
CREATE FUNCTION ingest_intervals(OUT added bigint, OUT differ bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*) INTO differ FROM in_interval s
		JOIN unit_interval i ON i.instance = s.instance AND i.t0 = s.t0
		WHERE (s.*) IS DISTINCT FROM (i.*);
	INSERT INTO unit_interval SELECT * FROM in_interval ORDER BY instance, t0
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
END
$$;

-- All but the intervals. Returns how many job records were new.
CREATE FUNCTION ingest_merge() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	jobs bigint;
BEGIN
	PERFORM ingest_names();
	IF EXISTS (SELECT FROM in_node) THEN
		PERFORM ingest_nodes();
	END IF;
	IF EXISTS (SELECT FROM in_step) THEN
		PERFORM ingest_steps();
	END IF;
	INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, record)
		SELECT c.id, j.uuid, j.restarts, j.submitted, j.part, j.state, j.record::jsonb
		FROM in_job j JOIN cluster c ON c.name = j.cluster
		ORDER BY 1, 2, 3, 4, 5, 6
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS jobs = ROW_COUNT;
	RETURN jobs;
END
$$;
