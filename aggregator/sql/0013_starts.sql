-- SPDX-License-Identifier: GPL-2.0-or-later
-- Records of starts: slurmctld says since 25.05 that a job runs and whose it is. Such a record counts
-- until any other record tells of the run, and never beside it: what it says the others say as well,
-- and their times are settled.

CREATE FUNCTION is_start(r job_record) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT (r.record->>'event') IS NOT DISTINCT FROM 'started'
$$;

-- As in 0003, but for starts: of several the last one counts, slurmctld has forgotten the others.
CREATE OR REPLACE FUNCTION link_fold(c smallint, the_uuid text, run integer, at timestamptz, OUT m jsonb,
	OUT source text) LANGUAGE plpgsql STABLE AS $$
DECLARE
	r job_record;
	began timestamptz;
	part timestamptz;
BEGIN
	m := '{}';
	FOR r IN SELECT * FROM job_record j
		WHERE j.cluster = c AND j.uuid = the_uuid AND j.restarts = run AND j.submitted = at
		ORDER BY is_start(j) DESC, j.source, j.part,
			(j.record->>'ended')::timestamptz NULLS FIRST, j.state
	LOOP
		part := (r.record->>'started')::timestamptz;
		IF is_start(r) OR m->>'event' = 'started' THEN
			m := '{}';
			source := NULL;
		END IF;
		IF r.source IS DISTINCT FROM source THEN
			m := m - '{resized,event}'::text[];
		END IF;
		IF r.source = source AND r.part > began THEN
			m := m || jsonb_build_object('resized', r.part);
		END IF;
		began := CASE WHEN r.source = source THEN least(began, part) ELSE part END;
		source := r.source;
		m := m || r.record || jsonb_build_object('started', began);
	END LOOP;
	IF m->>'event' = 'resized' THEN
		m := m || '{"ended": null, "state": "RUNNING"}';
	ELSIF m->>'event' = 'started' THEN
		m := m - 'state'; -- it is RUNNING already, or its nodes have said more since
	END IF;
END
$$;

-- A run without an end takes every later row of its number, of the next run too when the record that
-- ends it comes late. Once its end is known those are linked anew.
CREATE FUNCTION link_release() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	released bigint[];
BEGIN
	WITH r AS (UPDATE unit_node SET unit = NULL WHERE unit = NEW.id
			AND started >= NEW.ended + interval '1 s' RETURNING instance)
		SELECT array_agg(instance) INTO released FROM r;
	IF released IS NULL THEN
		RETURN NULL;
	END IF;
	-- set to nothing, not deleted: days and the person's usage are what hours have more than before
	WITH gone AS (SELECT DISTINCT date_trunc('hour', i.t0, 'UTC') AS hour
			FROM unit_interval i WHERE i.instance = ANY (released)
			UNION SELECT date_trunc('hour', n.last_t1 - interval '1 us', 'UTC')
			FROM unit_node n WHERE n.instance = ANY (released) AND n.last_t1 IS NOT NULL),
	void AS (UPDATE unit_hour h SET node_ms = 0, observed_ms = 0, cpu_user_ns = NULL,
			cpu_system_ns = NULL, cpu_alloc_ms = NULL, memory_byte_ms = NULL,
			memory_alloc_byte_ms = NULL, memory_peak_bytes = NULL, io_read_bytes = NULL,
			io_write_bytes = NULL, net_rx_bytes = NULL, net_tx_bytes = NULL,
			gpu_busy_ms = NULL, gpu_alloc_ms = NULL, gpu_memory_byte_ms = NULL,
			package_uj = NULL, dram_uj = NULL, psys_uj = NULL, gpu_uj = NULL,
			host_uj = NULL, other_uj = NULL, grams = '{}'
			FROM gone g WHERE h.unit = NEW.id AND h.hour = g.hour)
	INSERT INTO dirty (unit, hour) SELECT NEW.id, hour FROM gone;
	RETURN NULL;
END
$$;
CREATE TRIGGER link_release AFTER UPDATE OF ended ON unit FOR EACH ROW
	WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL AND OLD.known_by <> 'node')
	EXECUTE FUNCTION link_release();

-- As in 0003, but that the nodes' word does not hold against slurmctld's: a job that it says has
-- started, and has not said has ended, may be between two steps.
CREATE OR REPLACE FUNCTION link_end(grace interval, lost_after interval) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
	units bigint[];
BEGIN
	UPDATE unit_node n SET ended = n.last_t1, how_ended = 'lost'
		FROM unit u WHERE u.ended IS NULL AND u.started IS NOT NULL AND n.unit = u.id
			AND n.ended IS NULL AND greatest(n.last_t1, n.heard) < now() - lost_after;
	WITH over AS (SELECT n.unit, max(n.ended) AS ended,
			CASE WHEN bool_or(n.how_ended = 'oom') THEN 'OUT_OF_MEMORY'
				WHEN bool_or(n.how_ended = 'failed') THEN 'FAILED'
				WHEN bool_or(n.how_ended = 'lost') THEN 'NODE_FAIL'
				ELSE 'COMPLETED' END AS state
		FROM unit u JOIN unit_node n ON n.unit = u.id
		WHERE u.ended IS NULL AND u.started IS NOT NULL
		GROUP BY n.unit
		HAVING bool_and(n.ended IS NOT NULL)
			AND (max(n.heard) < now() - CASE bool_or(u.known_by = 'node')
				WHEN true THEN grace ELSE greatest(grace, lost_after) END
				OR bool_and(n.how_ended = 'lost'))),
	done AS (UPDATE unit u SET ended = over.ended, state = over.state
		FROM over WHERE u.id = over.unit RETURNING u.id)
	SELECT array_agg(id) INTO units FROM done;
	INSERT INTO dirty (unit) SELECT unnest(units);
	RETURN coalesce(cardinality(units), 0);
END
$$;
ALTER FUNCTION link_end(interval, interval) SET jit = off;
ALTER FUNCTION link_end(interval, interval) SET enable_seqscan = off;
