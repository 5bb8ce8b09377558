-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which groups of Kubernetes' single users are in, by the site's file: a right to get pods may be a group's.
CREATE TABLE k8s_user_group (
	cluster smallint NOT NULL REFERENCES cluster,
	username text NOT NULL, -- as Kubernetes has it
	groupname text NOT NULL,
	PRIMARY KEY (cluster, username, groupname)
);

-- The whole file: [{"group", "user"}, ...]. Groups of Kubernetes itself are nobody's by a file.
CREATE FUNCTION k8s_user_groups(c smallint, list jsonb) RETURNS void LANGUAGE sql AS $$
	WITH listed AS MATERIALIZED (SELECT DISTINCT x."user" AS username, x."group" AS groupname
			FROM jsonb_to_recordset(list) AS x ("group" text, "user" text)
			WHERE x."user" <> '' AND x."group" <> '' AND x."group" NOT LIKE 'system:%'),
	gone AS (DELETE FROM k8s_user_group g WHERE g.cluster = c AND NOT EXISTS
			(SELECT FROM listed l WHERE l.username = g.username AND l.groupname = g.groupname))
	INSERT INTO k8s_user_group SELECT c, username, groupname FROM listed ON CONFLICT DO NOTHING
$$;
