-- SPDX-License-Identifier: GPL-2.0-or-later
-- A person is a login and a number on a cluster: a login that is used again is another person, and
-- sees nothing of the one before. uid is NULL where there is none (VMs, pods, lists of associations,
-- imports without it).

ALTER TABLE person DROP CONSTRAINT person_cluster_name_key;
-- the submit time of the newest run that slurmctld told of: whom a bare name means
ALTER TABLE person ADD COLUMN newest timestamptz;
CREATE UNIQUE INDEX person_who ON person (cluster, name, coalesce(uid, -1));

-- Whom a bare name means: of those who have it the one who last submitted a job.
CREATE FUNCTION person_now(c smallint, who text) RETURNS integer LANGUAGE sql STABLE AS $$
	SELECT p.id FROM person p WHERE p.cluster = c AND p.name = who AND p.erased_at IS NULL
	ORDER BY p.newest DESC NULLS LAST, p.uid IS NULL, p.id DESC LIMIT 1
$$;

CREATE OR REPLACE FUNCTION link_person(c smallint, who text, their_uid bigint) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
	found integer;
	before bigint;
BEGIN
	IF coalesce(who, '') = '' THEN
		RETURN NULL;
	END IF;
	SELECT id INTO found FROM person WHERE cluster = c AND name = who
		AND uid IS NOT DISTINCT FROM their_uid;
	IF found IS NOT NULL THEN
		RETURN found;
	END IF;
	IF their_uid IS NULL THEN
		-- of the only one who ever had that name, else of nobody with a number
		SELECT min(id) INTO found FROM person WHERE cluster = c AND name = who
			HAVING count(*) = 1;
	ELSE
		-- a list has named somebody who had no job yet
		UPDATE person p SET uid = their_uid WHERE cluster = c AND name = who AND uid IS NULL
			AND NOT EXISTS (SELECT FROM unit u WHERE u.person = p.id)
			RETURNING id INTO found;
		SELECT uid INTO before FROM person WHERE cluster = c AND name = who
			AND uid <> their_uid ORDER BY newest DESC NULLS LAST LIMIT 1;
	END IF;
	IF found IS NULL THEN
		INSERT INTO person (cluster, name, uid) VALUES (c, who, their_uid)
			ON CONFLICT (cluster, name, coalesce(uid, -1)) DO UPDATE SET name = excluded.name
			RETURNING id INTO found;
	END IF;
	IF before IS NOT NULL THEN
		INSERT INTO audit (login, action, detail) SELECT 'ceems_aggregator', 'reuse',
			jsonb_build_object('cluster', name, 'login', who, 'uid', their_uid,
				'before', before) FROM cluster WHERE id = c;
	END IF;
	RETURN found;
END
$$;

-- Who last submitted, and an audit row for each unit that comes to another owner.
CREATE FUNCTION unit_owned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.known_by = 'jobcomp' THEN
		UPDATE person SET newest = NEW.submitted WHERE id = NEW.person
			AND (newest IS NULL OR newest < NEW.submitted);
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

-- What was taken for one person so far
INSERT INTO person (cluster, name, uid)
	SELECT DISTINCT p.cluster, p.name, u.uid FROM unit u JOIN person p ON p.id = u.person
	WHERE u.uid <> p.uid AND p.erased_at IS NULL
	ON CONFLICT DO NOTHING;
WITH moved AS (UPDATE unit u SET person = q.id FROM person p JOIN person q ON q.cluster = p.cluster
		AND q.name = p.name
	WHERE p.id = u.person AND u.uid <> p.uid AND q.uid = u.uid RETURNING u.id)
	INSERT INTO dirty (unit) SELECT id FROM moved;
UPDATE person p SET newest = n.submitted FROM (SELECT person, max(submitted) AS submitted FROM unit
		WHERE known_by = 'jobcomp' AND person IS NOT NULL GROUP BY person) n
	WHERE n.person = p.id;
CREATE TRIGGER unit_owned AFTER INSERT OR UPDATE OF person, submitted, known_by ON unit
	FOR EACH ROW WHEN (NEW.person IS NOT NULL) EXECUTE FUNCTION unit_owned();

-- A list of associations has names alone: it is of those who have them now.
CREATE OR REPLACE FUNCTION people_associate(list jsonb, by_source text, OUT added bigint, OUT ended bigint)
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE in_people ON COMMIT DROP AS
		SELECT DISTINCT x.cluster, x.account, x."user" AS login
		FROM jsonb_to_recordset(list) AS x (cluster text, account text, "user" text);
	INSERT INTO cluster (name) SELECT DISTINCT i.cluster FROM in_people i
		WHERE NOT EXISTS (SELECT FROM cluster c WHERE c.name = i.cluster)
		ORDER BY 1 ON CONFLICT DO NOTHING;
	INSERT INTO project (cluster, name) SELECT DISTINCT c.id, i.account
		FROM in_people i JOIN cluster c ON c.name = i.cluster
		WHERE NOT EXISTS (SELECT FROM project p WHERE p.cluster = c.id AND p.name = i.account)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	INSERT INTO person (cluster, name) SELECT DISTINCT c.id, i.login
		FROM in_people i JOIN cluster c ON c.name = i.cluster
		WHERE i.login IS NOT NULL
			AND NOT EXISTS (SELECT FROM person p WHERE p.cluster = c.id AND p.name = i.login)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	CREATE TEMP TABLE in_membership ON COMMIT DROP AS
		SELECT pr.id AS project, pe.id AS person
		FROM in_people i JOIN cluster c ON c.name = i.cluster
		JOIN project pr ON pr.cluster = c.id AND pr.name = i.account
		JOIN LATERAL (SELECT person_now(c.id, i.login) AS id) pe ON pe.id IS NOT NULL;
	UPDATE membership m SET valid_to = now() FROM project p JOIN cluster c ON c.id = p.cluster
		WHERE m.project = p.id AND m.valid_to IS NULL AND m.source = by_source
			AND c.name IN (SELECT cluster FROM in_people)
			AND NOT EXISTS (SELECT FROM in_membership i WHERE i.project = m.project
				AND i.person = m.person);
	GET DIAGNOSTICS ended = ROW_COUNT;
	INSERT INTO membership (project, person, source)
		SELECT DISTINCT i.project, i.person, by_source FROM in_membership i
		WHERE NOT EXISTS (SELECT FROM membership m WHERE m.project = i.project
			AND m.person = i.person AND m.valid_to IS NULL)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
END
$$;

-- who: LOGIN or LOGIN:UID. -1: the login is of several people, who must be told apart.
CREATE OR REPLACE FUNCTION person_erase(who text, by_login text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	login_ text := split_part(who, ':', 1);
	number_ bigint := nullif(split_part(who, ':', 2), '')::bigint;
	ids integer[];
	alias text;
BEGIN
	SELECT array_agg(id ORDER BY id) INTO ids FROM person WHERE name = login_ AND erased_at IS NULL
		AND (number_ IS NULL OR uid = number_);
	IF ids IS NULL THEN
		RETURN 0;
	END IF;
	IF number_ IS NULL AND EXISTS (SELECT FROM person WHERE id = ANY (ids) GROUP BY cluster
			HAVING count(*) > 1) THEN
		RETURN -1;
	END IF;
	alias := 'erased-' || ids[1];
	UPDATE unit_node n SET uid = NULL, gid = NULL, hints = NULL
		FROM unit u WHERE u.person = ANY (ids) AND n.unit = u.id;
	UPDATE unit_step s SET command = NULL, label = NULL FROM unit_node n JOIN unit u ON u.id = n.unit
		WHERE u.person = ANY (ids) AND s.instance = n.instance AND s.command IS NOT NULL;
	UPDATE job_record j SET record = (j.record - '{name,step_names,comment,work_dir,group,uid,gid,wckey,reservation,cancelled_by}'::text[])
			|| jsonb_build_object('user', alias)
		FROM unit u WHERE u.person = ANY (ids) AND j.unit = u.id;
	UPDATE unit SET name = NULL, comment = NULL, work_dir = NULL, user_group = NULL, uid = NULL,
		gid = NULL, wckey = NULL, reservation = NULL WHERE person = ANY (ids);
	UPDATE membership SET valid_to = now() WHERE person = ANY (ids) AND valid_to IS NULL;
	-- a login that somebody else has now keeps what it may do
	IF NOT EXISTS (SELECT FROM person WHERE name = login_ AND erased_at IS NULL
			AND NOT id = ANY (ids)) THEN
		DELETE FROM role WHERE login = login_;
		UPDATE audit SET login = alias WHERE login = login_;
	END IF;
	UPDATE audit SET detail = detail || jsonb_build_object('login', alias)
		WHERE action = 'reuse' AND detail->>'login' = login_;
	UPDATE person SET name = alias, uid = NULL, erased_at = now() WHERE id = ANY (ids);
	INSERT INTO audit (login, action, detail) VALUES (by_login, 'erase',
		jsonb_build_object('person', alias, 'clusters', cardinality(ids)));
	RETURN cardinality(ids);
END
$$;

-- A site gave somebody another number: what was the old one's is the new one's. Returns how many
-- units it was.
CREATE FUNCTION person_renumber(of_cluster text, who text, old_uid text, new_uid text, by_login text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c smallint := (SELECT id FROM cluster WHERE name = of_cluster);
	old integer := (SELECT id FROM person WHERE cluster = c AND name = who AND uid = old_uid::bigint);
	target integer := (SELECT id FROM person WHERE cluster = c AND name = who AND uid = new_uid::bigint);
	n bigint;
BEGIN
	IF old IS NULL THEN
		RETURN -1;
	END IF;
	UPDATE job_record j SET record = j.record || jsonb_build_object('uid', new_uid::bigint)
		FROM unit u WHERE u.person = old AND j.unit = u.id AND j.record ? 'uid';
	UPDATE unit_node k SET uid = new_uid::bigint FROM unit u WHERE u.person = old AND k.unit = u.id;
	IF target IS NULL THEN
		UPDATE person SET uid = new_uid::bigint WHERE id = old;
		target := old;
	END IF;
	WITH moved AS (UPDATE unit SET uid = new_uid::bigint, person = target WHERE person = old
			RETURNING id),
	marked AS (INSERT INTO dirty (unit) SELECT id FROM moved)
		SELECT count(*) INTO n FROM moved;
	IF target <> old THEN
		UPDATE membership SET valid_to = now() WHERE person = old AND valid_to IS NULL;
	END IF;
	INSERT INTO audit (login, action, detail) VALUES (by_login, 'renumber', jsonb_build_object(
		'cluster', of_cluster, 'login', who, 'from', old_uid, 'to', new_uid, 'units', n));
	RETURN n;
END
$$;
