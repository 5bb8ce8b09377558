-- SPDX-License-Identifier: GPL-2.0-or-later
-- A node that may not read the API server, and whose kubelet has no Pods API, does not know what a pod requests: its CPU
-- hours were unknown although the aggregator knew its CPUs. An older ceemsd has them in whole ones.

-- unit_node.sized_at: NULL where the node has not told millicpus, which are the API server's then.
CREATE FUNCTION k8s_node_sizes(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WITH sized AS (UPDATE unit_node n SET cpus = u.cpus, millicpus = u.millicpus FROM unit u
		WHERE u.id = ANY (ids) AND u.known_by = 'k8s' AND u.millicpus IS NOT NULL AND n.unit = u.id
			AND n.sized_at IS NULL AND n.millicpus IS DISTINCT FROM u.millicpus
		RETURNING n.instance, n.started, n.last_t1)
	INSERT INTO dirty (instance, hour) SELECT instance, generate_series(date_trunc('hour',
		greatest(started, last_t1 - interval '1 day'), 'UTC'), last_t1, '1 h') FROM sized;
END
$$;

SELECT function_edit('link_provisional', 'UPDATE unit u SET started', 'SELECT k8s_node_sizes(ids);
	\&');
SELECT function_edit('ingest_sizes', 'millicpus IS NULL\s+OR', 'sized_at IS NULL OR');
SELECT function_edit('ingest_sizes', 'IF n\.millicpus IS NOT NULL AND', 'IF n.sized_at IS NOT NULL AND');
SELECT function_edit('ingest_sizes', 'ELSIF n\.millicpus IS NOT NULL THEN', 'ELSIF n.sized_at IS NOT NULL THEN');
SELECT function_edit('ingest_sizes', 'WHEN n\.millicpus IS NULL THEN', 'WHEN n.sized_at IS NULL THEN');

-- What nodes have not told may change.
SELECT function_edit('k8s_pods_unnamed', 'AS \$function\$\s+BEGIN', 'AS $function$
DECLARE
	sized bigint[];
BEGIN');
SELECT function_edit('k8s_pods_unnamed', 'coalesce\(u\.cpus, p\.cpus\) AS cpus,\s+CASE WHEN u\.cpus IS NULL THEN',
	'CASE WHEN s.told THEN u.cpus ELSE coalesce(p.cpus, u.cpus) END AS cpus,
			CASE WHEN NOT s.told AND p.cpus IS NOT NULL THEN');
SELECT function_edit('k8s_pods_unnamed', 'u\.uuid = p\.uid AND u\.known_by IN', 'u.uuid = p.uid
		CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id AND n.sized_at IS NOT NULL) AS told
			OFFSET 0) s
		WHERE u.known_by IN');
SELECT function_edit('k8s_pods_unnamed', 'SELECT count\(\*\) INTO changed FROM done;',
	'SELECT count(*), array_agg(id) INTO changed, sized FROM done;
	PERFORM k8s_node_sizes(sized);');
