-- SPDX-License-Identifier: GPL-2.0-or-later
-- Times that nothing but a wall clock knows (aggregator/ingest_place.h), and ends that are the
-- nodes' word alone.

-- When it was over at the latest, where its times are a wall clock's of a boot that is over; NULL:
-- they are right. The row's life stays between the run's submission and this.
ALTER TABLE unit_node ADD COLUMN over_by timestamptz;
CREATE INDEX unit_node_over ON unit_node (unit) WHERE over_by IS NOT NULL;

CREATE FUNCTION ingest_over_staging() RETURNS void LANGUAGE sql AS $$
	CREATE TEMP TABLE IF NOT EXISTS in_over (instance bigint, over_by timestamptz)
		ON COMMIT DELETE ROWS
$$;
-- One that was heard of in its own boot is where it belongs.
CREATE FUNCTION ingest_over() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_node n SET over_by = s.over_by
		FROM (SELECT instance, min(over_by) AS over_by FROM in_over GROUP BY instance) s
		WHERE n.instance = s.instance AND n.over_by IS NULL AND n.received = now();
END
$$;

CREATE FUNCTION unit_node_clamp() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	since timestamptz := (SELECT submitted FROM unit WHERE id = NEW.unit);
BEGIN
	NEW.started := least(greatest(NEW.started, since), NEW.over_by);
	NEW.last_t1 := least(greatest(NEW.last_t1, since), NEW.over_by);
	IF NEW.ended IS NOT NULL THEN
		NEW.ended := least(greatest(NEW.ended, since), NEW.over_by);
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER unit_node_clamp BEFORE UPDATE OF started, ended, last_t1, over_by, unit ON unit_node
	FOR EACH ROW WHEN (NEW.over_by IS NOT NULL) EXECUTE FUNCTION unit_node_clamp();
CREATE FUNCTION unit_submitted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_node SET started = started WHERE unit = NEW.id AND over_by IS NOT NULL;
	RETURN NULL;
END
$$;
CREATE TRIGGER unit_submitted AFTER UPDATE OF submitted ON unit FOR EACH ROW
	WHEN (OLD.submitted IS DISTINCT FROM NEW.submitted) EXECUTE FUNCTION unit_submitted();

-- When a run was over, NULL: it may go on: slurmctld has said that it began, or was resized, and of
-- its end not yet; what a silent node's end was taken for (link_end) may be wrong.
CREATE FUNCTION unit_over(u unit) RETURNS timestamptz LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN u.ended IS NULL OR u.known_by <> 'jobcomp' THEN u.ended ELSE (
		SELECT CASE WHEN bool_and((j.record->>'event') IN ('started', 'resized')) THEN NULL
			ELSE u.ended END
		FROM job_record j WHERE j.cluster = u.cluster AND j.uuid = u.uuid
			AND j.restarts = u.restarts AND j.submitted = u.submitted) END
$$;

-- Whether a run can have begun in a boot that was over by then. Clocks differ by so much and agree.
CREATE FUNCTION link_before(began timestamptz, over_by timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT coalesce(began <= over_by + interval '2 minutes', true)
$$;

-- As in 0010, but: equal SLUIDs decide, whatever clocks say, and others exclude, and a node that found
-- the job by its control group alone knows no other number (0014); runs that were thought over; and rows
-- whose times are flagged: such a one is of a run that began before its boot was over, and was not there
-- already; of several the nearest.
CREATE OR REPLACE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT u.id FROM unit u,
	LATERAL (SELECT life_distance(u.started, coalesce(u.ended,
			-- it may be over without anybody having said so yet
			CASE u.known_by WHEN 'node' THEN (SELECT max(coalesce(o.ended, '9999-01-01'))
				FROM unit_node o WHERE o.unit = u.id) END, '9999-01-01'),
			n.started, coalesce(n.ended, n.last_t1)) AS away) d,
	LATERAL (SELECT u.known_by <> 'node' AND (link_inside(n.started, u.started, u.ended)
				OR u.ended < n.started AND link_inside(n.started, u.started, unit_over(u)))
			AS inside, u.restarts = n.restarts OR n.guessed AS same,
		coalesce(link_sluid(u, n), false) AS sure) w
	WHERE u.cluster = c AND (u.uuid = n.uuid OR u.sluid = node_sluid(n))
		AND (u.uid = n.uid OR u.uid IS NULL OR n.uid IS NULL)
		AND u.started IS NOT NULL
		AND link_sluid(u, n) IS NOT FALSE
		AND (u.uuid = n.uuid OR w.sure AND n.guessed)
		AND (u.known_by = 'node' OR NOT link_never_ran(u.started, u.ended, u.nodes, u.node_list))
		AND (w.sure OR (u.known_by = 'node' OR link_possible(n, u.started)
				AND link_before(u.started, n.over_by))
			AND (w.inside OR w.same AND NOT link_rebooted(u.id, n) AND CASE u.known_by
			WHEN 'node' THEN d.away <= interval '5 s'
			ELSE (d.away <= link_skew() OR n.over_by IS NOT NULL)
				AND link_room(u.id, u.nodes) END))
	ORDER BY w.sure DESC, w.inside DESC, d.away, abs(extract(epoch FROM u.started - n.started)), u.id LIMIT 1
$$;

-- As in 0010, but for SLUIDs (m has one only where it is slurmctld's) and for flagged rows.
CREATE OR REPLACE FUNCTION link_candidates(c smallint, the_uuid text, run integer, m jsonb, target bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
	WITH near AS (SELECT u.id, coalesce(s.sure, false) AS sure, link_inside(u.started, (m->>'started')::timestamptz,
				(m->>'ended')::timestamptz) AS inside,
			u.restarts = run OR NOT EXISTS (SELECT FROM unit_node n
				WHERE n.unit = u.id AND NOT n.guessed) AS same
		FROM unit u,
		LATERAL (SELECT bool_and(n.over_by IS NOT NULL) AS flagged, max(n.over_by) AS over_by
			FROM unit_node n WHERE n.unit = u.id) f,
		LATERAL (SELECT bool_and(node_sluid(n) = m->>'sluid') AS sure
			FROM unit_node n WHERE n.unit = u.id) s
		WHERE u.cluster = c AND u.uuid IN (the_uuid, m->>'sluid') AND u.submitted IS NULL
			AND s.sure IS NOT FALSE AND (u.uuid = the_uuid OR s.sure)
			AND (u.uid IS NULL OR m->>'uid' IS NULL OR u.uid = (m->>'uid')::bigint)
			AND NOT link_never_ran((m->>'started')::timestamptz,
				(m->>'ended')::timestamptz, (m->>'nodes')::integer, m->>'node_list')
			AND (s.sure OR NOT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id
				AND NOT link_possible(n, (m->>'started')::timestamptz))
			AND link_before((m->>'started')::timestamptz, f.over_by)
			AND (f.flagged OR life_distance(u.started, coalesce(u.ended,
					(SELECT max(coalesce(n.ended, n.last_t1))
					FROM unit_node n WHERE n.unit = u.id)),
				(m->>'started')::timestamptz,
				coalesce((m->>'ended')::timestamptz, '9999-01-01')) <= link_skew()))),
	heard AS (SELECT count(DISTINCT n.node) AS nodes FROM unit_node n
		WHERE n.unit = target OR n.unit IN (SELECT id FROM near WHERE inside OR sure))
	SELECT array_agg(near.id ORDER BY near.id) FROM near, heard
	WHERE sure OR inside OR same AND heard.nodes < coalesce((m->>'nodes')::integer, 2147483647)
$$;

-- As in 0003, but that a flagged start counts where there is no other.
CREATE OR REPLACE FUNCTION link_provisional(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	UPDATE unit u SET started = n.started, uid = coalesce(u.uid, n.uid),
		gid = coalesce(u.gid, n.gid), nodes = n.nodes, cpus = n.cpus,
		memory_bytes = n.memory_bytes, gpus = n.gpus
	FROM (SELECT unit, coalesce(min(started) FILTER (WHERE over_by IS NULL), min(started)) AS started,
			max(uid) AS uid, max(gid) AS gid,
			count(DISTINCT node) AS nodes, sum(cpus) AS cpus,
			sum(memory_bytes) AS memory_bytes, sum(gpus) AS gpus
		FROM unit_node WHERE unit = ANY (ids) GROUP BY unit) n
	WHERE u.id = n.unit AND u.known_by = 'node'
$$;

-- As in 0008, and: slurmctld said that it has started, the nodes were silent and it was taken for
-- over, and now they tell more of it.
CREATE OR REPLACE FUNCTION rollup_lives() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rollup_told();
	UPDATE unit u SET ended = NULL, state = 'RUNNING'
	FROM ru_mark m JOIN unit_node n ON n.instance = m.instance
	WHERE u.id = n.unit AND u.known_by = 'jobcomp' AND u.ended IS NOT NULL
		AND coalesce(n.ended, n.last_t1) > u.ended AND unit_over(u) IS NULL;
	PERFORM rollup_found();
END
$$;

-- What a slurmctld whose clock is ahead says of tomorrow does not make a login's owner the newest
-- one until then.
CREATE OR REPLACE FUNCTION unit_owned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.known_by = 'jobcomp' THEN
		UPDATE person SET newest = least(NEW.submitted, now()) WHERE id = NEW.person
			AND (newest IS NULL OR newest < least(NEW.submitted, now()));
	END IF;
	IF TG_OP = 'UPDATE' AND OLD.person <> NEW.person THEN
		INSERT INTO audit (login, action, detail) SELECT 'ceems_aggregator', 'owner',
			jsonb_build_object('cluster', c.name, 'uuid', NEW.uuid, 'unit', NEW.id,
				'from', o.uid, 'to', p.uid)
			FROM cluster c, person o, person p
			WHERE c.id = NEW.cluster AND o.id = OLD.person AND p.id = NEW.person;
	END IF;
	RETURN NULL;
END
$$;
