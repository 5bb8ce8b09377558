-- SPDX-License-Identifier: GPL-2.0-or-later
-- How rows of nodes (unit_node) and of Slurm (job_record) become one `unit` for each run. Called by
-- one aggregator at a time (aggregator/linker.c holds the advisory lock), a bounded number of rows
-- for each call.
--
-- A run is known by (cluster, uuid, restarts, submitted), but nodes do not know `submitted`, and
-- their `restarts` are how often that node has seen the id begin anew: slurmstepd does not know
-- better, so that it is 0 where a requeued job goes on elsewhere, and 1 where another job has the
-- id. Rows of nodes find their run by uuid, uid and by when they began. Where clocks are wrong, by
-- up to link_skew(), by restarts, as long as the run has not heard of all its nodes.

CREATE FUNCTION link_skew() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '1 hour' $$;

-- How far two lives are apart: 0 when they meet.
CREATE FUNCTION life_distance(a0 timestamptz, a1 timestamptz, b0 timestamptz, b1 timestamptz)
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT greatest(interval '0', a0 - b1, b0 - a1)
$$;

-- Whether what a node saw begin began in a run, whose times are whole seconds.
CREATE FUNCTION link_inside(at timestamptz, began timestamptz, over timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT coalesce(at >= began - interval '2 s'
		AND at < coalesce(over, 'infinity') + interval '1 s', false)
$$;

-- Whether a run of so many nodes has not yet heard of all of them.
CREATE FUNCTION link_room(of_unit bigint, most integer) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT count(DISTINCT node) < coalesce(most, 2147483647) FROM unit_node WHERE unit = of_unit
$$;

-- Work that the link of an instance to another unit makes for the roll-up.
CREATE FUNCTION link_mark(instances bigint[]) RETURNS void LANGUAGE sql AS $$
	INSERT INTO dirty (instance, hour)
		SELECT DISTINCT i.instance, date_trunc('hour', i.t0, 'UTC')
		FROM unit_interval i WHERE i.instance = ANY (instances)
		UNION
		SELECT n.instance, date_trunc('hour', n.last_t1 - interval '1 us', 'UTC')
		FROM unit_node n WHERE n.instance = ANY (instances) AND n.ended IS NOT NULL
$$;

-- The unit that a row of a node belongs to, NULL: there is none yet. In doubt it is none: a record
-- takes what is its own of units that only nodes have told of.
CREATE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT u.id FROM unit u,
	LATERAL (SELECT life_distance(u.started, coalesce(u.ended,
			-- it may be over without anybody having said so yet
			CASE u.known_by WHEN 'node' THEN (SELECT max(coalesce(o.ended, '9999-01-01'))
				FROM unit_node o WHERE o.unit = u.id) END, '9999-01-01'),
			n.started, coalesce(n.ended, n.last_t1)) AS away) d,
	LATERAL (SELECT u.known_by <> 'node' AND link_inside(n.started, u.started, u.ended)
			AS inside, u.restarts = n.restarts OR n.guessed AS same) w
	WHERE u.cluster = c AND u.uuid = n.uuid
		AND (u.uid = n.uid OR u.uid IS NULL OR n.uid IS NULL)
		AND u.started IS NOT NULL
		AND (w.inside OR w.same AND CASE u.known_by
			WHEN 'node' THEN d.away <= interval '5 s'
			ELSE d.away <= link_skew() AND link_room(u.id, u.nodes) END)
	ORDER BY w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;

-- Until its record comes a unit is what its nodes say.
CREATE FUNCTION link_provisional(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	UPDATE unit u SET started = n.started, uid = coalesce(u.uid, n.uid),
		gid = coalesce(u.gid, n.gid), nodes = n.nodes, cpus = n.cpus,
		memory_bytes = n.memory_bytes, gpus = n.gpus
	FROM (SELECT unit, min(started) AS started, max(uid) AS uid, max(gid) AS gid,
			count(DISTINCT node) AS nodes, sum(cpus) AS cpus,
			sum(memory_bytes) AS memory_bytes, sum(gpus) AS gpus
		FROM unit_node WHERE unit = ANY (ids) GROUP BY unit) n
	WHERE u.id = n.unit AND u.known_by = 'node'
$$;

-- Gives each new row of a node its unit, making one that is provisional where there is none.
CREATE FUNCTION link_nodes(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	n unit_node;
	c smallint;
	found bigint;
	linked bigint[] := '{}';
	units bigint[] := '{}';
BEGIN
	FOR n IN SELECT * FROM unit_node WHERE unit IS NULL ORDER BY received LIMIT most LOOP
		SELECT cluster INTO c FROM node WHERE id = n.node;
		found := link_find(c, n);
		IF found IS NULL THEN
			INSERT INTO unit (cluster, uuid, restarts, known_by, uid, gid, array_job,
					array_task, started)
				VALUES (c, n.uuid, n.restarts, 'node', n.uid, n.gid, n.array_job,
					n.array_task, n.started)
				RETURNING id INTO found;
		ELSE
			-- one more node: what thought it over thinks again
			UPDATE unit SET ended = NULL, state = 'RUNNING'
				WHERE id = found AND known_by = 'node' AND ended IS NOT NULL;
		END IF;
		UPDATE unit_node SET unit = found WHERE instance = n.instance;
		linked := linked || n.instance;
		units := units || found;
	END LOOP;
	PERFORM link_provisional(units);
	PERFORM link_mark(linked);
	RETURN cardinality(linked);
END
$$;

-- Makes units that nodes told of one with the unit that a record made.
CREATE FUNCTION link_merge(into_unit bigint, others bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	moved bigint[];
BEGIN
	WITH m AS (UPDATE unit_node SET unit = into_unit WHERE unit = ANY (others)
			RETURNING instance)
		SELECT array_agg(instance) INTO moved FROM m;
	-- nobody's usage has them: they have no person
	DELETE FROM unit_hour WHERE unit = ANY (others);
	DELETE FROM unit_day WHERE unit = ANY (others);
	DELETE FROM dirty WHERE unit = ANY (others);
	DELETE FROM unit WHERE id = ANY (others);
	PERFORM link_mark(moved);
END
$$;

CREATE FUNCTION link_person(c smallint, who text, their_uid bigint) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
	found integer;
BEGIN
	IF coalesce(who, '') = '' THEN
		RETURN NULL;
	END IF;
	SELECT id INTO found FROM person WHERE cluster = c AND name = who;
	IF found IS NULL THEN
		INSERT INTO person (cluster, name, uid) VALUES (c, who, their_uid)
			ON CONFLICT (cluster, name) DO UPDATE SET uid = coalesce(person.uid,
				excluded.uid) RETURNING id INTO found;
	ELSE
		UPDATE person SET uid = their_uid WHERE id = found AND uid IS NULL
			AND their_uid IS NOT NULL;
	END IF;
	RETURN found;
END
$$;

-- Each person has a project, if only the one without a name: a site without accounts.
CREATE FUNCTION link_project(c smallint, account text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	found integer;
	n text := coalesce(account, '');
BEGIN
	SELECT id INTO found FROM project WHERE cluster = c AND name = n;
	IF found IS NULL THEN
		INSERT INTO project (cluster, name) VALUES (c, n)
			ON CONFLICT (cluster, name) DO UPDATE SET name = excluded.name
			RETURNING id INTO found;
	END IF;
	RETURN found;
END
$$;

-- What all records of a run say together: later parts over earlier ones, Slurm's own over an
-- import's. The first part says when it began; a part that ended by a resize is no end.
CREATE FUNCTION link_fold(c smallint, the_uuid text, run integer, at timestamptz, OUT m jsonb,
	OUT source text) LANGUAGE plpgsql STABLE AS $$
DECLARE
	r job_record;
	began timestamptz;
	part timestamptz;
BEGIN
	m := '{}';
	FOR r IN SELECT * FROM job_record j
		WHERE j.cluster = c AND j.uuid = the_uuid AND j.restarts = run AND j.submitted = at
		ORDER BY j.source, j.part, (j.record->>'ended')::timestamptz NULLS FIRST, j.state
	LOOP
		part := (r.record->>'started')::timestamptz;
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
	END IF;
END
$$;

-- Writes a unit's columns from what its records say.
CREATE FUNCTION link_update(target bigint, m jsonb, by_source text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	u unit;
	o unit;
BEGIN
	SELECT * INTO STRICT o FROM unit WHERE id = target FOR UPDATE;
	u := jsonb_populate_record(o, m - '{id,cluster,uuid,restarts,known_by,person,project,as_of,grams}'::text[]);
	UPDATE unit SET known_by = by_source, submitted = u.submitted,
		sluid = u.sluid, uid = u.uid, gid = u.gid,
		person = coalesce(link_person(o.cluster, m->>'user', u.uid), o.person),
		project = CASE WHEN m ? 'account' OR o.project IS NULL
			THEN link_project(o.cluster, m->>'account') ELSE o.project END,
		name = u.name, user_group = coalesce(m->>'group', u.user_group),
		partition = u.partition, qos = u.qos, reservation = u.reservation, wckey = u.wckey,
		-- what the record does not have the job has not, whatever a node said
		array_job = (m->>'array_job')::bigint, array_task = (m->>'array_task')::bigint,
		het_job = (m->>'het_job')::bigint, het_offset = (m->>'het_offset')::integer,
		eligible = u.eligible,
		started = u.started, ended = u.ended, resized = u.resized, state = u.state,
		reason = u.reason, exit_code = u.exit_code,
		derived_exit_code = u.derived_exit_code, time_limit_s = u.time_limit_s,
		node_list = u.node_list, nodes = u.nodes, cpus = u.cpus,
		memory_bytes = u.memory_bytes, gpus = u.gpus,
		tres_requested = u.tres_requested, tres_allocated = u.tres_allocated,
		gres = u.gres, work_dir = u.work_dir, comment = u.comment
	WHERE id = target;
	INSERT INTO dirty (unit) VALUES (target);
END
$$;

-- Units of nodes alone that are the same run, the oldest first: those that began in it, and while
-- these are fewer than its nodes those with its restarts whose lives nearly meet.
CREATE FUNCTION link_candidates(c smallint, the_uuid text, run integer, m jsonb, target bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
	WITH near AS (SELECT u.id, link_inside(u.started, (m->>'started')::timestamptz,
				(m->>'ended')::timestamptz) AS inside,
			u.restarts = run OR NOT EXISTS (SELECT FROM unit_node n
				WHERE n.unit = u.id AND NOT n.guessed) AS same
		FROM unit u WHERE u.cluster = c AND u.uuid = the_uuid AND u.submitted IS NULL
			AND (u.uid IS NULL OR m->>'uid' IS NULL OR u.uid = (m->>'uid')::bigint)
			AND life_distance(u.started, coalesce(u.ended,
					(SELECT max(coalesce(n.ended, n.last_t1))
					FROM unit_node n WHERE n.unit = u.id)),
				(m->>'started')::timestamptz,
				coalesce((m->>'ended')::timestamptz, '9999-01-01')) <= link_skew()),
	heard AS (SELECT count(DISTINCT n.node) AS nodes FROM unit_node n
		WHERE n.unit = target OR n.unit IN (SELECT id FROM near WHERE inside))
	SELECT array_agg(near.id ORDER BY near.id) FROM near, heard
	WHERE inside OR same AND heard.nodes < coalesce((m->>'nodes')::integer, 2147483647)
$$;

-- Gives each new record its unit: the run's own, or one that nodes told of, or a new one.
CREATE FUNCTION link_jobs(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	k record;
	f record;
	target bigint;
	others bigint[];
	done integer := 0;
BEGIN
	FOR k IN SELECT DISTINCT cluster, uuid, restarts, submitted
		FROM (SELECT * FROM job_record WHERE unit IS NULL ORDER BY received LIMIT most) j
	LOOP
		f := link_fold(k.cluster, k.uuid, k.restarts, k.submitted);
		SELECT id INTO target FROM unit WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted;
		others := NULL;
		IF f.m->>'started' IS NOT NULL THEN
			others := link_candidates(k.cluster, k.uuid, k.restarts, f.m, target);
		END IF;
		IF target IS NULL AND others IS NOT NULL THEN
			target := others[1];
			others := others[2:];
		ELSIF target IS NULL THEN
			INSERT INTO unit (cluster, uuid, restarts, submitted, known_by)
				VALUES (k.cluster, k.uuid, k.restarts, k.submitted, f.source)
				RETURNING id INTO target;
		END IF;
		IF cardinality(others) > 0 THEN
			PERFORM link_merge(target, others);
		END IF;
		UPDATE unit SET restarts = k.restarts WHERE id = target AND restarts <> k.restarts;
		PERFORM link_update(target, f.m || jsonb_build_object('submitted', k.submitted),
			f.source);
		UPDATE job_record SET unit = target WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted
			AND unit IS DISTINCT FROM target;
		done := done + 1;
	END LOOP;
	RETURN done;
END
$$;

-- Ends what nobody tells the end of. A row of a node that was not heard of for lost_after is lost.
-- A unit whose nodes have all ended has ended when its record has not come within grace.
CREATE FUNCTION link_end(grace interval, lost_after interval) RETURNS integer LANGUAGE plpgsql AS $$
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
			AND (max(n.heard) < now() - grace OR bool_and(n.how_ended = 'lost'))),
	done AS (UPDATE unit u SET ended = over.ended, state = over.state
		FROM over WHERE u.id = over.unit RETURNING u.id)
	SELECT array_agg(id) INTO units FROM done;
	INSERT INTO dirty (unit) SELECT unnest(units);
	RETURN coalesce(cardinality(units), 0);
END
$$;

ALTER FUNCTION link_nodes(integer) SET jit = off;
ALTER FUNCTION link_jobs(integer) SET jit = off;
ALTER FUNCTION link_end(interval, interval) SET jit = off;

-- They look up a few rows of tables that may have grown a thousandfold since they were last
-- analyzed: what is right for a table of ten rows stays the plan of a session until then.
ALTER FUNCTION link_nodes(integer) SET enable_seqscan = off;
ALTER FUNCTION link_jobs(integer) SET enable_seqscan = off;
ALTER FUNCTION link_end(interval, interval) SET enable_seqscan = off;
