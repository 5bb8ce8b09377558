-- SPDX-License-Identifier: GPL-2.0-or-later
-- A claim was dropped after two days also where its pod runs on, which then was its namespace's at the next whole list of
-- the API server, or whose a trusted annotation says. It stays as long as its pod does, and two days longer; and who owned a
-- pod that has ended is what it is, though the API server may show it for months.

-- Each claim is looked at once in two days.
CREATE FUNCTION k8s_forget() RETURNS void LANGUAGE sql AS $$
	WITH old AS MATERIALIZED (SELECT k.cluster, k.uid, EXISTS (SELECT FROM unit u WHERE u.cluster = k.cluster
				AND u.uuid = k.uid AND (u.ended IS NULL OR u.ended > now() - interval '2 days')) AS stays
			FROM k8s_claim k WHERE k.kind = 'Pod' AND k.received < now() - interval '2 days'
			ORDER BY k.received LIMIT 5000),
	kept AS (UPDATE k8s_claim k SET received = now() FROM old o
			WHERE k.cluster = o.cluster AND k.uid = o.uid AND o.stays)
	DELETE FROM k8s_claim k USING old o WHERE k.cluster = o.cluster AND k.uid = o.uid AND NOT o.stays
$$;
SELECT function_edit('k8s_settle', 'DELETE FROM k8s_claim k WHERE k\.kind = ''Pod'' AND k\.received < now\(\) - interval ''2 days'';',
	'PERFORM k8s_forget();');
SELECT function_edit('k8s_pods_unnamed', 'coalesce\(w\.claimed, w\.owner\) AS owner,', '\& w.claimed IS NOT NULL AS claimed,');
SELECT function_edit('k8s_pods_unnamed', 'o\.person, coalesce\(o\.project_id, u\.project\) AS project',
	'CASE WHEN u.known_by = ''k8s'' AND u.ended IS NOT NULL AND NOT o.claimed THEN coalesce(u.person, o.person)
				ELSE o.person END AS person, coalesce(o.project_id, u.project) AS project');
