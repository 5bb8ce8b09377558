-- SPDX-License-Identifier: GPL-2.0-or-later
-- What 0039 left open: nobody of another service is meant where a login is erased, and no node of another
-- manager's cluster makes a user an owner by calling its report Slurm's.

-- As in 0022, but who is LOGIN, LOGIN:UID or an external id.
CREATE OR REPLACE FUNCTION person_erase(who text, by_login text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	login_ text := split_part(who, ':', 1);
	number_ bigint := nullif(split_part(who, ':', 2), '')::bigint;
	ids integer[];
	alias text;
BEGIN
	SELECT array_agg(id ORDER BY id) INTO ids FROM person WHERE name = login_ AND external_id IS NULL
		AND erased_at IS NULL AND (number_ IS NULL OR uid = number_);
	IF ids IS NULL THEN
		SELECT array_agg(id ORDER BY id) INTO ids FROM person WHERE external_id = who AND erased_at IS NULL;
	END IF;
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
	IF NOT EXISTS (SELECT FROM person WHERE name = login_ AND external_id IS NULL AND erased_at IS NULL
			AND NOT id = ANY (ids)) THEN
		DELETE FROM role WHERE login = login_;
		UPDATE audit SET login = alias WHERE login = login_;
	END IF;
	UPDATE audit SET detail = detail || jsonb_build_object('login', alias)
		WHERE action = 'reuse' AND detail->>'login' = login_;
	UPDATE person SET name = alias, uid = NULL, domain = NULL, erased_at = now() WHERE id = ANY (ids);
	INSERT INTO audit (login, action, detail) VALUES (by_login, 'erase',
		jsonb_build_object('person', alias, 'clusters', cardinality(ids)));
	RETURN cardinality(ids);
END
$$;

-- As in 0015, but only a cluster of Slurm's knows owners by numbers.
CREATE OR REPLACE FUNCTION link_provisional(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	UPDATE unit u SET started = n.started, uid = CASE c.manager WHEN 'slurm' THEN coalesce(u.uid, n.uid) END,
		gid = CASE c.manager WHEN 'slurm' THEN coalesce(u.gid, n.gid) END, nodes = n.nodes, cpus = n.cpus,
		memory_bytes = n.memory_bytes, gpus = n.gpus
	FROM (SELECT unit, coalesce(min(started) FILTER (WHERE over_by IS NULL), min(started)) AS started,
			max(uid) AS uid, max(gid) AS gid,
			count(DISTINCT node) AS nodes, sum(cpus) AS cpus,
			sum(memory_bytes) AS memory_bytes, sum(gpus) AS gpus
		FROM unit_node WHERE unit = ANY (ids) GROUP BY unit) n,
		cluster c
	WHERE u.id = n.unit AND c.id = u.cluster AND u.known_by = 'node'
$$;
