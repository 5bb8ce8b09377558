-- SPDX-License-Identifier: GPL-2.0-or-later
-- Keystone does not page role assignments, and there may be hundreds of thousands: they come in parts, which count once
-- cloud_people() has had the last one, in the same transaction.

-- A part of the list that cloud_people() takes.
CREATE FUNCTION cloud_roles(list jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('pg_temp.in_role') IS NULL THEN
		CREATE TEMP TABLE in_role ("user" text, user_name text, user_domain text, login text, project text,
			project_name text, project_domain text, role text) ON COMMIT DROP;
	END IF;
	INSERT INTO in_role SELECT * FROM jsonb_to_recordset(list) AS x ("user" text, user_name text, user_domain text,
		login text, project text, project_name text, project_domain text, role text);
END
$$;
SELECT function_edit('cloud_people', 'CREATE TEMP TABLE in_role [^;]*;', 'PERFORM cloud_roles(list);
	ANALYZE in_role;');

-- Where statistics are older than the cloud, Postgres read all roles for each person, and for each membership.
SELECT function_edit('cloud_people', 'SELECT DISTINCT ON \(i\."user"\) p\.id, i\.login FROM in_role i\s+JOIN',
	'SELECT p.id, i.login
		FROM (SELECT DISTINCT ON (r."user") r.* FROM in_role r WHERE r.login IS NOT NULL ORDER BY r."user") i
		JOIN');
SELECT function_edit('cloud_people', '\s+WHERE i\.login IS NOT NULL ORDER BY i\."user";', ';');
SELECT function_edit('cloud_people', 'GROUP BY 1, 2;', 'GROUP BY 1, 2;
	CREATE UNIQUE INDEX ON in_member (project, person);
	ANALYZE in_member;');
