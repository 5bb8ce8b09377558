-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is found later about where an instance belongs: its age, or reports that lie after the end of
-- their boot (aggregator/ingest/ingest_place.h). All of it moves together.

-- Where instances stand of which reports came: those that the database has elsewhere than these reports
-- were placed, and those whose times are flagged and were before. (ingest_misplaced() is an older program's.)
CREATE FUNCTION ingest_elsewhere(OUT instance bigint, OUT shift_ms bigint, OUT flagged boolean,
	OUT elsewhere boolean) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT n.instance, n.shift_ms, n.over_by IS NOT NULL, bool_or(n.shift_ms <> s.shift_ms)
		FROM in_node s JOIN unit_node n ON n.instance = s.instance
		WHERE n.shift_ms <> s.shift_ms OR n.over_by IS NOT NULL AND n.received <> now()
		GROUP BY n.instance;
END
$$;

-- Its rows of unit_interval, by whole hours: none goes over a full hour then either, and what comes
-- again is cut where it was. What falls before all that is kept is gone. The hours that it leaves are
-- set to nothing, not deleted: days and the person's usage are what hours have more than before.
CREATE FUNCTION ingest_move_rows(n unit_node, ahead interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	kept record;
	rows unit_interval[];
	hours timestamptz[];
BEGIN
	SELECT first, after INTO kept FROM partition_range('unit_interval');
	SELECT array_agg(i) INTO rows FROM unit_interval i WHERE i.instance = n.instance;
	IF EXISTS (SELECT FROM unnest(rows) r WHERE r.t0 + ahead >= kept.after) THEN
		RAISE EXCEPTION 'there is no partition for some of them yet' USING ERRCODE = '55P03';
	END IF;
	SELECT array_agg(DISTINCT h) INTO hours FROM (
		SELECT date_trunc('hour', r.t0, 'UTC') AS h FROM unnest(rows) r
		UNION SELECT generate_series(date_trunc('hour', greatest(n.started, kept.first), 'UTC'),
			greatest(n.ended, n.last_t1) - interval '1 us', '1 h')) x;
	UPDATE unit_hour u SET node_ms = 0, observed_ms = 0, cpu_user_ns = NULL,
			cpu_system_ns = NULL, cpu_alloc_ms = NULL, memory_byte_ms = NULL,
			memory_alloc_byte_ms = NULL, memory_peak_bytes = NULL, io_read_bytes = NULL,
			io_write_bytes = NULL, net_rx_bytes = NULL, net_tx_bytes = NULL,
			gpu_busy_ms = NULL, gpu_alloc_ms = NULL, gpu_memory_byte_ms = NULL,
			package_uj = NULL, dram_uj = NULL, psys_uj = NULL, gpu_uj = NULL,
			host_uj = NULL, other_uj = NULL, grams = '{}'
		WHERE u.unit = n.unit AND u.hour = ANY (hours) AND u.hour >= kept.first;
	INSERT INTO dirty (instance, hour)
		SELECT n.instance, h FROM unnest(hours) h UNION SELECT n.instance, h + ahead FROM unnest(hours) h;
	DELETE FROM unit_interval i WHERE i.instance = n.instance;
	INSERT INTO unit_interval (instance, t0, cpu_user_ns, cpu_system_ns, memory_mean_bytes,
			memory_peak_bytes, io_read_bytes, io_write_bytes, net_rx_bytes, net_tx_bytes,
			package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj, ms, observed_ms,
			gpu_busy_ms, gpu_memory_mean_kib, energy_sources)
		SELECT r.instance, r.t0 + ahead, r.cpu_user_ns, r.cpu_system_ns, r.memory_mean_bytes,
			r.memory_peak_bytes, r.io_read_bytes, r.io_write_bytes, r.net_rx_bytes, r.net_tx_bytes,
			r.package_uj, r.dram_uj, r.psys_uj, r.gpu_uj, r.host_uj, r.other_uj, r.ms, r.observed_ms,
			r.gpu_busy_ms, r.gpu_memory_mean_kib, r.energy_sources
		FROM unnest(rows) r WHERE r.t0 + ahead >= kept.first;
	UPDATE unit_step SET started = started + ahead, ended = ended + ahead WHERE instance = n.instance;
END
$$;
ALTER FUNCTION ingest_move_rows(unit_node, interval) SET enable_seqscan = off;

-- Moves an instance from where it is thought to be; both differ by whole hours, or not at all. over:
-- when it was over at the latest, NULL: its age says when it was, and that it began at `began`. Returns
-- where it is then: elsewhere, if somebody else was quicker; NULL: there is none.
CREATE FUNCTION ingest_move(the_instance bigint, from_ms bigint, to_ms bigint, over timestamptz,
	began timestamptz, OUT shift_ms bigint, OUT flagged boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	n unit_node;
	ahead interval := make_interval(hours => ((to_ms - from_ms) / 3600000)::integer);
BEGIN
	SELECT * INTO n FROM unit_node WHERE instance = the_instance FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	shift_ms := n.shift_ms;
	flagged := n.over_by IS NOT NULL;
	IF n.shift_ms <> from_ms THEN
		RETURN;
	END IF;
	IF to_ms <> from_ms THEN
		PERFORM ingest_move_rows(n, ahead);
	END IF;
	UPDATE unit_node SET shift_ms = to_ms, over_by = CASE WHEN over IS NOT NULL THEN least(over_by, over) END,
			started = CASE WHEN over IS NULL AND found_at IS NULL THEN began ELSE started + ahead END,
			ended = ended + ahead, last_t1 = last_t1 + ahead, found_at = found_at + ahead
		WHERE instance = the_instance;
	-- until its record comes a unit is what its nodes say; the linker looks at its end again
	UPDATE unit SET ended = NULL, state = 'RUNNING'
		WHERE id = n.unit AND known_by = 'node' AND ended IS NOT NULL;
	PERFORM link_provisional(ARRAY[n.unit]);
	shift_ms := to_ms;
	flagged := over IS NOT NULL;
END
$$;
