-- SPDX-License-Identifier: GPL-2.0-or-later
-- Pods and servers are looked for by their ids, whatever Postgres knows of their cluster: as long as its statistics
-- are older than the cluster (of a large site, for months) it expects a unit or none there, and read all of them for
-- each page.

-- The units of a cluster that have one of these ids. They are few beside all there are: each is worth its own look-up.
CREATE FUNCTION units_known(c smallint, ids text[]) RETURNS SETOF unit LANGUAGE sql STABLE ROWS 10 AS $$
	SELECT u.* FROM (SELECT * FROM unit WHERE uuid = ANY (ids) OFFSET 0) u WHERE u.cluster = c
$$;

SELECT function_edit('k8s_pods_unnamed', 'unit u ON u\.cluster = c AND u\.uuid = p\.uid',
	'units_known(c, (SELECT array_agg(a.uid) FROM in_pod a)) u ON u.uuid = p.uid');
SELECT function_edit('k8s_pods_unnamed', 'FROM unit u WHERE u\.cluster = c AND u\.uuid = p\.uid',
	'FROM units_known(c, (SELECT array_agg(a.uid) FROM in_pod a)) u WHERE u.uuid = p.uid');
SELECT function_edit('k8s_pods', '\) x\s+WHERE u\.cluster = c AND u\.uuid = x\.uid', ') x
		JOIN units_known(c, (SELECT array_agg(r.uid) FROM jsonb_to_recordset(list) AS r (uid text))) k ON k.uuid = x.uid
		WHERE u.id = k.id');
SELECT function_edit('cloud_servers_unnamed', 'unit u ON u\.cluster = c AND u\.uuid = i\.id',
	'units_known(c, (SELECT array_agg(a.id) FROM in_server a)) u ON u.uuid = i.id');
SELECT function_edit('cloud_servers_unnamed', 'FROM unit u\s+WHERE u\.cluster = c AND u\.uuid = i\.id',
	'FROM units_known(c, (SELECT array_agg(a.id) FROM in_server a)) u WHERE u.uuid = i.id');
SELECT function_edit('cloud_servers', 'AS x \(id text, flavour text\)\s+WHERE x\.flavour <> '''' AND u\.cluster = c AND u\.uuid = x\.id',
	'AS x (id text, flavour text)
		JOIN units_known(c, (SELECT array_agg(r.id) FROM jsonb_to_recordset(list) AS r (id text))) k ON k.uuid = x.id
		WHERE x.flavour <> '''' AND u.id = k.id');
