-- SPDX-License-Identifier: GPL-2.0-or-later
-- OpenStack: Nova is the authority on a VM's owner, project, name and life, Keystone on who is in which project.
-- Both are asked (aggregator/openstack); what they say is stored here. A VM's id is used once, so that
-- everything that nodes report under it is one unit, however long it was down. It ends when Nova says that it
-- was deleted, never because a list lacks it or a node is silent.

ALTER TABLE cluster DROP CONSTRAINT cluster_manager_check;
ALTER TABLE cluster ADD CONSTRAINT cluster_manager_check
	CHECK (manager IN ('slurm', 'libvirt', 'openstack', 'k8s'));

-- The login with which a person of another service is known here, where the site says that the names of their
-- domain are logins (login_domains). One each, so that a login means one person of a cluster.
ALTER TABLE person ADD COLUMN login text
	CHECK (login IS NULL OR (login <> '' AND external_id IS NOT NULL));
CREATE UNIQUE INDEX person_login ON person (login, cluster) WHERE login IS NOT NULL;
CREATE FUNCTION person_forget_login() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.login := NULL;
	RETURN NEW;
END
$$;
CREATE TRIGGER person_forget_login BEFORE UPDATE ON person FOR EACH ROW
	WHEN (NEW.erased_at IS NOT NULL AND NEW.login IS NOT NULL) EXECUTE FUNCTION person_forget_login();

-- How far each cloud has been read. Of several aggregators the holder reads it.
CREATE TABLE cloud_sync (
	cluster smallint PRIMARY KEY REFERENCES cluster,
	holder bigint NOT NULL,
	held_until timestamptz NOT NULL,
	people_at timestamptz,  -- when memberships were last read
	whole_at timestamptz,   -- when the last whole list of servers was done
	changes_at timestamptz, -- when changes were last read
	since timestamptz,      -- by Nova's clock: what changed before is known
	newest bigint NOT NULL DEFAULT 0 -- unit of a node that Nova was last asked for
);
-- What the whole list that is being read has named so far
CREATE TABLE cloud_seen (
	cluster smallint NOT NULL,
	uuid text NOT NULL,
	PRIMARY KEY (cluster, uuid)
);

-- Takes or renews the lease of a cloud. mine: whether we hold it; what follows is how long ago, in ms, and
-- whether nodes have told of a VM that Nova has not been asked for.
CREATE FUNCTION cloud_hold(of_cluster text, by_holder bigint, lease_ms bigint, OUT id smallint, OUT mine boolean,
	OUT people_ms bigint, OUT whole_ms bigint, OUT changes_ms bigint, OUT since_s bigint, OUT newest bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	is_of text;
	s cloud_sync;
BEGIN
	SELECT c.id, c.manager INTO id, is_of FROM cluster c WHERE c.name = of_cluster;
	IF id IS NULL THEN
		INSERT INTO cluster (name, manager) VALUES (of_cluster, 'openstack')
			ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING cluster.id, manager INTO id, is_of;
	END IF;
	IF is_of = 'libvirt' THEN
		UPDATE cluster c SET manager = 'openstack' WHERE c.id = cloud_hold.id;
	ELSIF is_of <> 'openstack' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE =
			format('cluster %s is of %s, by its reports', of_cluster, is_of);
	END IF;
	INSERT INTO cloud_sync AS o (cluster, holder, held_until)
		VALUES (id, by_holder, now() + lease_ms * interval '1 ms')
		ON CONFLICT (cluster) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
			WHERE o.holder = excluded.holder OR o.held_until < now();
	SELECT * INTO s FROM cloud_sync c WHERE c.cluster = id;
	mine := s.holder = by_holder;
	people_ms := extract(epoch FROM now() - s.people_at) * 1000;
	whole_ms := extract(epoch FROM now() - s.whole_at) * 1000;
	changes_ms := extract(epoch FROM now() - s.changes_at) * 1000;
	since_s := extract(epoch FROM s.since);
	SELECT max(u.id) INTO newest FROM unit u WHERE u.cluster = cloud_hold.id AND u.ended IS NULL
		AND u.known_by = 'node' AND u.id > s.newest;
END
$$;

-- Takes the whole list of who has a role in which project, [{"user", "user_name", "user_domain", "login",
-- "project", "project_name", "project_domain", "role"}, ...]. Who is not in it any more is out from now on, and
-- has no login here.
CREATE FUNCTION cloud_people(c smallint, list jsonb, OUT added bigint, OUT over bigint)
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_role ON COMMIT DROP AS
		SELECT * FROM jsonb_to_recordset(list) AS x ("user" text, user_name text, user_domain text,
			login text, project text, project_name text, project_domain text, role text);
	INSERT INTO project AS p (cluster, external_id, domain, name)
		SELECT DISTINCT ON (i.project) c, i.project, i.project_domain, i.project_name FROM in_role i
		WHERE NOT EXISTS (SELECT FROM project o WHERE o.cluster = c AND o.external_id = i.project
			AND o.name = i.project_name AND o.domain IS NOT DISTINCT FROM i.project_domain)
		ORDER BY i.project
		ON CONFLICT (cluster, external_id) WHERE external_id IS NOT NULL
			DO UPDATE SET name = excluded.name, domain = excluded.domain;
	INSERT INTO person AS p (cluster, external_id, domain, name)
		SELECT DISTINCT ON (i."user") c, i."user", i.user_domain, i.user_name FROM in_role i
		WHERE NOT EXISTS (SELECT FROM person o WHERE o.cluster = c AND o.external_id = i."user"
			AND (o.erased_at IS NOT NULL OR o.name = i.user_name
					AND o.domain IS NOT DISTINCT FROM i.user_domain))
		ORDER BY i."user"
		ON CONFLICT (cluster, external_id) WHERE external_id IS NOT NULL
			DO UPDATE SET name = excluded.name, domain = excluded.domain;
	CREATE TEMP TABLE in_login ON COMMIT DROP AS
		SELECT DISTINCT ON (i."user") p.id, i.login FROM in_role i
		JOIN person p ON p.cluster = c AND p.external_id = i."user" AND p.erased_at IS NULL
		WHERE i.login IS NOT NULL ORDER BY i."user";
	-- a login may have gone from one to another: first nobody has it
	UPDATE person p SET login = NULL WHERE p.cluster = c AND p.login IS NOT NULL
		AND NOT EXISTS (SELECT FROM in_login i WHERE i.id = p.id AND i.login = p.login);
	UPDATE person p SET login = i.login FROM in_login i WHERE p.id = i.id AND p.login IS NULL
		AND NOT EXISTS (SELECT FROM in_login o WHERE o.login = i.login AND o.id <> i.id);
	CREATE TEMP TABLE in_member ON COMMIT DROP AS
		SELECT pr.id AS project, pe.id AS person, min(i.role) AS role -- 'admin' < 'member'
		FROM in_role i JOIN project pr ON pr.cluster = c AND pr.external_id = i.project
		JOIN person pe ON pe.cluster = c AND pe.external_id = i."user"
		WHERE i.role IS NOT NULL GROUP BY 1, 2;
	UPDATE membership m SET valid_to = now() FROM project p
		WHERE m.project = p.id AND p.cluster = c AND m.valid_to IS NULL AND m.source = 'keystone'
			AND NOT EXISTS (SELECT FROM in_member i WHERE i.project = m.project
				AND i.person = m.person);
	GET DIAGNOSTICS over = ROW_COUNT;
	UPDATE membership m SET role = i.role FROM in_member i WHERE m.project = i.project
		AND m.person = i.person AND m.valid_to IS NULL AND m.role <> i.role;
	INSERT INTO membership (project, person, source, role)
		SELECT i.project, i.person, 'keystone', i.role FROM in_member i
		WHERE NOT EXISTS (SELECT FROM membership m WHERE m.project = i.project
			AND m.person = i.person AND m.valid_to IS NULL)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
	UPDATE cloud_sync s SET people_at = now() WHERE s.cluster = c;
END
$$;

-- Makes one unit of what nodes have told of a server and what Nova says of it.
CREATE FUNCTION cloud_merge(c smallint, the_uuid text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	units bigint[] := (SELECT array_agg(u.id ORDER BY u.known_by <> 'nova', u.id) FROM unit u
		WHERE u.cluster = c AND u.uuid = the_uuid AND u.known_by IN ('nova', 'node'));
BEGIN
	IF cardinality(units) > 1 THEN
		PERFORM link_merge(units[1], units[2:]);
	END IF;
	UPDATE unit u SET known_by = 'nova', restarts = 0 WHERE u.id = units[1] AND u.known_by = 'node';
END
$$;

-- A page of servers: [{"id", "user", "project", "name", "state", "created", "launched", "ended", "cpus",
-- "memory", "gpus", "stub"}, ...], times in seconds. whole: of the whole list. A stub is a server of a cell that
-- does not answer: it is there, and nothing else is known of it.
CREATE FUNCTION cloud_servers(c smallint, list jsonb, whole boolean, OUT made bigint, OUT changed bigint)
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_server ON COMMIT DROP AS
		SELECT DISTINCT ON (x.id) x.id, x.stub, x.state, x.cpus, x.memory * 1048576 AS memory, x.gpus,
			x."user", x.project, x.name, to_timestamp(x.created) AS created,
			to_timestamp(x.launched) AS launched,
			CASE WHEN x.ended IS NOT NULL THEN to_timestamp(greatest(x.ended, x.created)) END AS ended
		FROM jsonb_to_recordset(list) AS x (id text, stub boolean, "user" text, project text, name text,
			state text, created bigint, launched bigint, ended bigint, cpus integer, memory bigint,
			gpus integer)
		ORDER BY x.id;
	IF whole THEN
		INSERT INTO cloud_seen (cluster, uuid) SELECT c, i.id FROM in_server i ON CONFLICT DO NOTHING;
	END IF;
	DELETE FROM in_server WHERE stub;
	-- whom Keystone has not named has the id for a name
	INSERT INTO project (cluster, external_id, name) SELECT DISTINCT c, i.project, i.project FROM in_server i
		WHERE NOT EXISTS (SELECT FROM project p WHERE p.cluster = c AND p.external_id = i.project)
		ORDER BY 2 ON CONFLICT DO NOTHING;
	INSERT INTO person (cluster, external_id, name) SELECT DISTINCT c, i."user", i."user" FROM in_server i
		WHERE NOT EXISTS (SELECT FROM person p WHERE p.cluster = c AND p.external_id = i."user")
		ORDER BY 2 ON CONFLICT DO NOTHING;
	PERFORM cloud_merge(c, i.id) FROM in_server i WHERE EXISTS (SELECT FROM unit u
		WHERE u.cluster = c AND u.uuid = i.id AND u.known_by = 'node');
	CREATE TEMP TABLE in_unit ON COMMIT DROP AS
		SELECT u.id AS unit, c AS cluster, i.id AS uuid, i.created AS submitted, pe.id AS person,
			pr.id AS project, CASE WHEN pe.erased_at IS NULL THEN i.name END AS name,
			-- a node saw it a moment before Nova called it launched, and what is resized is launched anew
			least(i.launched, u.started, CASE WHEN n.began IS NOT NULL
				THEN greatest(n.began, i.created - interval '1 minute') END) AS started,
			i.ended, i.state, coalesce(i.cpus, u.cpus) AS cpus, coalesce(i.memory, u.memory_bytes) AS memory_bytes,
			coalesce(i.gpus, u.gpus) AS gpus, n.began IS NOT NULL AS ran
		FROM in_server i JOIN project pr ON pr.cluster = c AND pr.external_id = i.project
		JOIN person pe ON pe.cluster = c AND pe.external_id = i."user"
		LEFT JOIN unit u ON u.cluster = c AND u.uuid = i.id AND u.known_by = 'nova'
		LEFT JOIN LATERAL (SELECT min(o.started) AS began FROM unit_node o WHERE o.unit = u.id) n ON true;
	WITH done AS (UPDATE unit u SET submitted = i.submitted, person = i.person, project = i.project,
			name = i.name, started = i.started, ended = i.ended, state = i.state, cpus = i.cpus,
			memory_bytes = i.memory_bytes, gpus = i.gpus
		FROM in_unit i WHERE u.id = i.unit AND (u.submitted, u.person, u.project, u.name, u.started, u.ended,
				u.state, u.cpus, u.memory_bytes, u.gpus)
			IS DISTINCT FROM (i.submitted, i.person, i.project, i.name, i.started, i.ended, i.state, i.cpus,
				i.memory_bytes, i.gpus)
		RETURNING u.id, i.ran),
	marked AS (INSERT INTO dirty (unit) SELECT id FROM done WHERE ran)
	SELECT count(*) INTO changed FROM done;
	INSERT INTO unit (cluster, uuid, known_by, submitted, person, project, name, started, ended, state, cpus,
			memory_bytes, gpus)
		SELECT i.cluster, i.uuid, 'nova', i.submitted, i.person, i.project, i.name, i.started, i.ended, i.state,
			i.cpus, i.memory_bytes, i.gpus
		FROM in_unit i WHERE i.unit IS NULL ORDER BY i.uuid ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS made = ROW_COUNT;
	DROP TABLE in_server, in_unit;
END
$$;
ALTER FUNCTION cloud_servers(smallint, jsonb, boolean) SET jit = off;

-- Servers that run as far as we know, and that the whole list did not name: Nova must be asked for each.
CREATE FUNCTION cloud_unseen(c smallint, most integer) RETURNS SETOF text LANGUAGE sql STABLE AS $$
	SELECT u.uuid FROM unit u WHERE u.cluster = c AND u.known_by = 'nova' AND u.ended IS NULL
		AND NOT EXISTS (SELECT FROM cloud_seen s WHERE s.cluster = c AND s.uuid = u.uuid)
	ORDER BY u.id LIMIT most
$$;

-- Nova knows no such server any more: it ended when a node last told of it, else about now.
CREATE FUNCTION cloud_lost(c smallint, the_uuid text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	target bigint;
BEGIN
	UPDATE unit u SET state = 'DELETED', ended = coalesce((SELECT max(coalesce(n.ended, n.last_t1))
			FROM unit_node n WHERE n.unit = u.id), greatest(now(), u.started))
		WHERE u.cluster = c AND u.uuid = the_uuid AND u.known_by = 'nova' AND u.ended IS NULL
		RETURNING u.id INTO target;
	INSERT INTO dirty (unit) SELECT target WHERE EXISTS (SELECT FROM unit_node n WHERE n.unit = target);
	INSERT INTO cloud_seen (cluster, uuid) VALUES (c, the_uuid) ON CONFLICT DO NOTHING;
END
$$;

-- A list has been read to its end: what changed before that time of Nova's is known.
CREATE FUNCTION cloud_done(c smallint, whole boolean, since_s bigint, asked bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE cloud_sync s SET changes_at = now(), since = to_timestamp(since_s),
			whole_at = CASE WHEN whole THEN now() ELSE s.whole_at END, newest = greatest(s.newest, asked)
		WHERE s.cluster = c;
	IF whole THEN
		DELETE FROM cloud_seen s WHERE s.cluster = c;
	END IF;
END
$$;

-- What a node tells of a VM is of that VM, whatever clocks and gaps say.
ALTER FUNCTION link_find(smallint, unit_node) RENAME TO link_find_run;
CREATE FUNCTION link_find(c smallint, n unit_node) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT u.id FROM unit u WHERE u.cluster = c AND u.uuid = n.uuid AND u.known_by = 'nova'),
		link_find_run(c, n))
$$;

-- As in 0013, but that a VM is not over because its nodes are done with it.
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
		WHERE u.ended IS NULL AND u.started IS NOT NULL AND u.known_by <> 'nova'
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
