-- SPDX-License-Identifier: GPL-2.0-or-later
-- Projects and persons that another service numbers (Keystone's ids, Kubernetes' uids): there a name is
-- neither for ever nor the only one of its kind. One with an external id is known by that alone: a rename
-- keeps it, and two of one name, in two domains, are two. It is never what a bare name of Slurm's or of a
-- proved login means. What a node says of owners makes none of them.

ALTER TABLE project ADD COLUMN external_id text CHECK (external_id <> ''),
	ADD COLUMN domain text CHECK (external_id IS NOT NULL OR domain IS NULL);
ALTER TABLE person ADD COLUMN external_id text CHECK (external_id <> ''),
	ADD COLUMN domain text CHECK (external_id IS NOT NULL OR domain IS NULL),
	ADD CHECK (external_id IS NULL OR uid IS NULL);
ALTER TABLE project DROP CONSTRAINT project_cluster_name_key;
CREATE UNIQUE INDEX project_who ON project (cluster, name) WHERE external_id IS NULL;
CREATE UNIQUE INDEX project_external ON project (cluster, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX project_external_name ON project (cluster, name) WHERE external_id IS NOT NULL;
DROP INDEX person_who;
CREATE UNIQUE INDEX person_who ON person (cluster, name, coalesce(uid, -1)) WHERE external_id IS NULL;
CREATE UNIQUE INDEX person_external ON person (cluster, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX person_external_name ON person (cluster, name) WHERE external_id IS NOT NULL;

-- What somebody may do in one project; the site says which of Keystone's roles are an admin's.
ALTER TABLE membership ADD COLUMN role text NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'admin'));

ALTER TABLE unit DROP CONSTRAINT unit_known_by_check;
ALTER TABLE unit ADD CONSTRAINT unit_known_by_check
	CHECK (known_by IN ('node', 'import', 'jobcomp', 'nova', 'k8s'));

-- The project and the person of an external id, made or renamed. A person that was erased keeps its
-- pseudonym.
CREATE FUNCTION external_project(c smallint, id_ text, domain_ text, name_ text) RETURNS integer
LANGUAGE sql AS $$
	INSERT INTO project AS p (cluster, external_id, domain, name) VALUES (c, id_, domain_, name_)
	ON CONFLICT (cluster, external_id) WHERE external_id IS NOT NULL
		DO UPDATE SET name = excluded.name, domain = excluded.domain
	RETURNING id
$$;
CREATE FUNCTION external_person(c smallint, id_ text, domain_ text, name_ text) RETURNS integer
LANGUAGE sql AS $$
	INSERT INTO person AS p (cluster, external_id, domain, name) VALUES (c, id_, domain_, name_)
	ON CONFLICT (cluster, external_id) WHERE external_id IS NOT NULL
		DO UPDATE SET name = CASE WHEN p.erased_at IS NULL THEN excluded.name ELSE p.name END,
			domain = CASE WHEN p.erased_at IS NULL THEN excluded.domain END
	RETURNING id
$$;

-- As before, but names mean those without an external id.
CREATE OR REPLACE FUNCTION person_now(c smallint, who text) RETURNS integer LANGUAGE sql STABLE AS $$
	SELECT p.id FROM person p WHERE p.cluster = c AND p.name = who AND p.erased_at IS NULL
		AND p.external_id IS NULL
	ORDER BY p.newest DESC NULLS LAST, p.uid IS NULL, p.id DESC LIMIT 1
$$;

CREATE OR REPLACE FUNCTION link_project(c smallint, account text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	found integer;
	n text := coalesce(account, '');
BEGIN
	SELECT id INTO found FROM project WHERE cluster = c AND name = n AND external_id IS NULL;
	IF found IS NULL THEN
		INSERT INTO project (cluster, name) VALUES (c, n)
			ON CONFLICT (cluster, name) WHERE external_id IS NULL DO UPDATE SET name = excluded.name
			RETURNING id INTO found;
	END IF;
	RETURN found;
END
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
	SELECT id INTO found FROM person WHERE cluster = c AND name = who AND external_id IS NULL
		AND uid IS NOT DISTINCT FROM their_uid;
	IF found IS NOT NULL THEN
		RETURN found;
	END IF;
	IF their_uid IS NULL THEN
		-- of the only one who ever had that name, else of nobody with a number
		SELECT min(id) INTO found FROM person WHERE cluster = c AND name = who AND external_id IS NULL
			HAVING count(*) = 1;
	ELSE
		-- a list has named somebody who had no job yet
		UPDATE person p SET uid = their_uid WHERE cluster = c AND name = who AND uid IS NULL
			AND external_id IS NULL AND NOT EXISTS (SELECT FROM unit u WHERE u.person = p.id)
			RETURNING id INTO found;
		SELECT uid INTO before FROM person WHERE cluster = c AND name = who
			AND uid <> their_uid ORDER BY newest DESC NULLS LAST LIMIT 1;
	END IF;
	IF found IS NULL THEN
		INSERT INTO person (cluster, name, uid) VALUES (c, who, their_uid)
			ON CONFLICT (cluster, name, coalesce(uid, -1)) WHERE external_id IS NULL
			DO UPDATE SET name = excluded.name
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
		WHERE NOT EXISTS (SELECT FROM project p WHERE p.cluster = c.id AND p.name = i.account
			AND p.external_id IS NULL)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	INSERT INTO person (cluster, name) SELECT DISTINCT c.id, i.login
		FROM in_people i JOIN cluster c ON c.name = i.cluster
		WHERE i.login IS NOT NULL
			AND NOT EXISTS (SELECT FROM person p WHERE p.cluster = c.id AND p.name = i.login
				AND p.external_id IS NULL)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	CREATE TEMP TABLE in_membership ON COMMIT DROP AS
		SELECT pr.id AS project, pe.id AS person
		FROM in_people i JOIN cluster c ON c.name = i.cluster
		JOIN project pr ON pr.cluster = c.id AND pr.name = i.account AND pr.external_id IS NULL
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
