-- SPDX-License-Identifier: GPL-2.0-or-later
-- A pod's class of QoS, where jobs have theirs: Guaranteed, Burstable or BestEffort, as its status says.

-- As in 0057, with that.
CREATE OR REPLACE FUNCTION k8s_pods(c smallint, list jsonb, whole boolean, OUT changed bigint, OUT made bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT s.changed, s.made INTO changed, made FROM k8s_pods_unnamed(c, list, whole) s;
	UPDATE unit u SET namespace = CASE WHEN x.project IS NOT NULL THEN x.namespace ELSE u.namespace END,
			qos = coalesce(x.qos, u.qos)
		FROM (SELECT r.uid, r.namespace, r.project,
				CASE WHEN r.qos IN ('Guaranteed', 'Burstable', 'BestEffort') THEN r.qos END AS qos
			FROM jsonb_to_recordset(list) AS r (uid text, namespace text, project text, qos text)) x
		WHERE u.cluster = c AND u.uuid = x.uid AND u.known_by = 'k8s'
			AND (x.project IS NOT NULL AND u.namespace IS DISTINCT FROM x.namespace
				OR x.qos <> u.qos OR x.qos IS NOT NULL AND u.qos IS NULL);
END
$$;
