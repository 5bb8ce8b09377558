-- SPDX-License-Identifier: GPL-2.0-or-later
-- What only slurmctld knows of a job (its flags, comments of others, the command line) stays in its record
-- and is erased with its person.

-- As in 0012, but for these. who: LOGIN or LOGIN:UID. -1: the login is of several people, who must be told
-- apart.
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
	UPDATE job_record j SET record = (j.record - '{name,step_names,comment,work_dir,group,uid,gid,wckey,reservation,
				cancelled_by,submit_line,submit_line_cut,admin_comment,system_comment,extra,container,
				constraints,licenses}'::text[])
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
