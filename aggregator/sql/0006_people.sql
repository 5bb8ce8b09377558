-- SPDX-License-Identifier: GPL-2.0-or-later
-- People: who is in which project, rows of an import, and a person who is to be forgotten.

-- Takes a whole list of associations, [{"cluster", "account", "user"}, ...]: who is not in it any
-- more is out from now on. Clusters that the list does not name are left alone, and so are
-- memberships by the word of another source.
CREATE FUNCTION people_associate(list jsonb, by_source text, OUT added bigint, OUT ended bigint)
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
		JOIN person pe ON pe.cluster = c.id AND pe.name = i.login;
	UPDATE membership m SET valid_to = now() FROM project p JOIN cluster c ON c.id = p.cluster
		WHERE m.project = p.id AND m.valid_to IS NULL AND m.source = by_source
			AND c.name IN (SELECT cluster FROM in_people)
			AND NOT EXISTS (SELECT FROM in_membership i WHERE i.project = m.project
				AND i.person = m.person);
	GET DIAGNOSTICS ended = ROW_COUNT;
	INSERT INTO membership (project, person, source)
		SELECT i.project, i.person, by_source FROM in_membership i
		WHERE NOT EXISTS (SELECT FROM membership m WHERE m.project = i.project
			AND m.person = i.person AND m.valid_to IS NULL)
		ORDER BY 1, 2 ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
END
$$;

-- Rows of an import, [{"cluster", "uuid", "restarts", "submitted", "part", "state", "record"}, ...].
-- Those that are there already, word for word, are left alone; the linker sees to the others, and
-- what slurmctld said itself is believed over them. Returns how many were new or other.
CREATE FUNCTION import_jobs(list jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	taken bigint;
BEGIN
	INSERT INTO cluster (name) SELECT DISTINCT x.cluster
		FROM jsonb_to_recordset(list) AS x (cluster text)
		WHERE NOT EXISTS (SELECT FROM cluster c WHERE c.name = x.cluster)
		ORDER BY 1 ON CONFLICT DO NOTHING;
	INSERT INTO job_record AS j (cluster, uuid, restarts, submitted, part, state, source, record)
		SELECT DISTINCT ON (c.id, x.uuid, x.restarts, x.submitted, x.part, x.state) c.id, x.uuid,
			x.restarts, to_timestamp(x.submitted), to_timestamp(x.part), x.state, 'import',
			x.record
		FROM jsonb_to_recordset(list) AS x (cluster text, uuid text, restarts integer,
			submitted bigint, part bigint, state integer, record jsonb)
		JOIN cluster c ON c.name = x.cluster
		-- a run that was erased stays so
		WHERE NOT EXISTS (SELECT FROM unit u JOIN person p ON p.id = u.person
			WHERE p.erased_at IS NOT NULL AND u.cluster = c.id AND u.uuid = x.uuid
				AND u.restarts = x.restarts AND u.submitted = to_timestamp(x.submitted))
		ORDER BY c.id, x.uuid, x.restarts, x.submitted, x.part, x.state
		ON CONFLICT (cluster, uuid, restarts, submitted, part, state, source)
		DO UPDATE SET record = excluded.record, unit = NULL, received = now()
			WHERE j.record IS DISTINCT FROM excluded.record;
	GET DIAGNOSTICS taken = ROW_COUNT;
	RETURN taken;
END
$$;

-- The admins by the word of one source, a list of logins ("" is nobody), for so long: who is not in it
-- is none any more. Returns how many.
CREATE FUNCTION roles_of(by_source text, logins jsonb, holds_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	until timestamptz := now() + holds_ms * interval '1 ms';
	n bigint;
BEGIN
	DELETE FROM role WHERE source = by_source AND NOT logins ? login;
	INSERT INTO role (login, role, source, valid_to)
		SELECT DISTINCT l, 'admin', by_source, until FROM jsonb_array_elements_text(logins) l
		WHERE l <> '' ORDER BY l
		ON CONFLICT (login, role, coalesce(cluster, 0), source)
		DO UPDATE SET valid_to = excluded.valid_to;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END
$$;

-- A login becomes a pseudonym everywhere, and what names a person beside it goes: job names,
-- comments, folders, groups, numbers. What they used stays. Returns how many persons (one on each
-- cluster) it was.
CREATE FUNCTION person_erase(who text, by_login text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	ids integer[];
	alias text;
BEGIN
	SELECT array_agg(id ORDER BY id) INTO ids FROM person WHERE name = who AND erased_at IS NULL;
	IF ids IS NULL THEN
		RETURN 0;
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
	DELETE FROM role WHERE login = who;
	UPDATE audit SET login = alias WHERE login = who;
	UPDATE person SET name = alias, uid = NULL, erased_at = now() WHERE id = ANY (ids);
	INSERT INTO audit (login, action, detail) VALUES (by_login, 'erase',
		jsonb_build_object('person', alias, 'clusters', cardinality(ids)));
	RETURN cardinality(ids);
END
$$;
