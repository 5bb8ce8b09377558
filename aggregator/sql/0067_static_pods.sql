-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the API server shows of a static pod is a mirror, which names it by an annotation: so may anybody's pod. The
-- hash of a manifest is of its name and namespace, too: what has others is no mirror of it, and changes nothing.

SELECT function_edit('k8s_pods_unnamed', 'x\.owner, x\.project\s+-- of several', 'x.owner, x.project, coalesce(x.static, false) AS static
		-- of several');
SELECT function_edit('k8s_pods_unnamed', 'gone boolean\)\)', 'gone boolean, static boolean))');
SELECT function_edit('k8s_pods_unnamed', 'project, gone, nth\)', 'project, gone, static, nth)');
SELECT function_edit('k8s_pods_unnamed', 'AND u\.known_by IN \(''node'', ''k8s''\)\)', 'AND u.known_by IN (''node'', ''k8s'')
			AND NOT coalesce(p.static AND u.known_by = ''k8s'' AND (u.name <> p.name OR u.project <> o.project_id), false))');
