-- SPDX-License-Identifier: GPL-2.0-or-later
-- An instance is of the node that first told of it. What another node says of it is refused, and in audit.

-- Instances of which these reports tell, but not from their node. fresh: both told in this transaction.
CREATE FUNCTION ingest_foreign(OUT instance bigint, OUT shift_ms bigint, OUT flagged boolean,
	OUT cluster text, OUT node text, OUT fresh boolean) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT DISTINCT n.instance, n.shift_ms, n.over_by IS NOT NULL, c.name, o.name,
			n.received = now()
		FROM in_node s JOIN unit_node n ON n.instance = s.instance
		JOIN node o ON o.id = n.node JOIN cluster c ON c.id = o.cluster
		WHERE (o.name, c.name) IS DISTINCT FROM (s.node, s.cluster);
END
$$;

-- Notes it, once a day for each.
CREATE FUNCTION ingest_refused(the_instance bigint, by_cluster text, by_node text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit (login, action, detail) SELECT 'ceems_aggregator', 'instance', d.detail
		FROM unit_node n JOIN node o ON o.id = n.node JOIN cluster c ON c.id = o.cluster,
		LATERAL (SELECT jsonb_build_object('cluster', c.name, 'uuid', n.uuid, 'instance',
			n.instance::text, 'node', o.name, 'said_cluster', by_cluster, 'said_node', by_node)
			AS detail) d
		WHERE n.instance = the_instance AND NOT EXISTS (SELECT FROM audit a
			WHERE a.at > now() - interval '1 day' AND a.action = 'instance' AND a.detail = d.detail);
END
$$;
