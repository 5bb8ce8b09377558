-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reports of nodes whose clocks were wrong stand where they belong (aggregator/ingest_place.h).

-- What was added to all times that the node told of this instance; 0: it was right. All later
-- reports of the instance are moved by the same.
ALTER TABLE unit_node ADD COLUMN shift_ms bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION ingest_staging() RETURNS void LANGUAGE plpgsql AS $$
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
		host_uj bigint, other_uj bigint, energy_sources smallint, shift_ms bigint
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

-- Instances of which the database has rows elsewhere than where these reports were placed: they are
-- to be placed there instead.
CREATE FUNCTION ingest_misplaced(OUT instance bigint, OUT shift_ms bigint) RETURNS SETOF record
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT DISTINCT n.instance, n.shift_ms FROM in_node s
		JOIN unit_node n ON n.instance = s.instance WHERE n.shift_ms <> s.shift_ms;
END
$$;

CREATE OR REPLACE FUNCTION ingest_nodes() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO unit_node (instance, node, boot, uuid, restarts, guessed, uid, gid,
			array_job, array_task, started, last_t1, cpus, memory_bytes, gpus,
			gpu_list, gpu_share, hints, shift_ms)
		SELECT DISTINCT ON (s.instance) s.instance, o.id, s.boot::uuid, s.uuid,
			s.restarts, s.guessed, s.uid, s.gid, s.array_job, s.array_task,
			s.started, s.started, s.cpus, s.memory_bytes, s.gpus, s.gpu_list,
			s.gpu_share, s.hints::jsonb, s.shift_ms
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
