-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the kernel programs of a node counted for a unit: files, network, software events (doc/ebpf.md).

-- As its last final report has it. counts: a number for each name of lib/records/report_counts.c that is known;
-- mounts: the ones with most bytes, [{"path": "/scratch", "read_bytes": ...}], path "" for all others.
CREATE TABLE unit_counts (
	instance bigint PRIMARY KEY,   -- of unit_node
	provisional boolean NOT NULL,  -- another final report is to come
	counts jsonb NOT NULL,
	mounts jsonb                   -- NULL: files are not counted, or their person is erased
);

CREATE FUNCTION ingest_counts_staging() RETURNS void LANGUAGE sql AS $$
	CREATE TEMP TABLE IF NOT EXISTS in_counts (seq integer, instance bigint, provisional boolean,
		counts text, mounts text
	) ON COMMIT DELETE ROWS
$$;

-- A report that comes again replaces what it said before; one without counts leaves it.
CREATE FUNCTION ingest_counts() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO unit_counts AS c (instance, provisional, counts, mounts)
		SELECT DISTINCT ON (s.instance) s.instance, s.provisional, s.counts::jsonb, s.mounts::jsonb
		FROM in_counts s JOIN unit_node n ON n.instance = s.instance
		ORDER BY s.instance, s.provisional, s.seq DESC
	ON CONFLICT (instance) DO UPDATE SET provisional = excluded.provisional, counts = excluded.counts,
			mounts = excluded.mounts
		WHERE c.provisional OR NOT excluded.provisional;
END
$$;

-- Sums over nodes, of what each of them has counted; NULL: nothing.
CREATE FUNCTION api_counts(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	WITH n AS (SELECT u.instance, c.counts FROM (SELECT instance FROM unit_node WHERE unit = target
			ORDER BY instance LIMIT 10000) u LEFT JOIN unit_counts c ON c.instance = u.instance)
	SELECT jsonb_object_agg(s.key, s.total) FROM (
		SELECT e.key, sum(e.value::numeric) AS total, count(*) AS nodes
		FROM n, jsonb_each_text(n.counts) e GROUP BY e.key) s
	WHERE s.nodes = (SELECT count(*) FROM n)
$$;

-- The same by mounts: eight of them by name.
CREATE FUNCTION api_mounts(target bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
	WITH n AS (SELECT u.instance, c.mounts FROM (SELECT instance FROM unit_node WHERE unit = target
			ORDER BY instance LIMIT 10000) u LEFT JOIN unit_counts c ON c.instance = u.instance),
	m AS (SELECT r.* FROM n, jsonb_to_recordset(n.mounts) AS r (path text, read_bytes numeric,
			read_calls numeric, read_errors numeric, write_bytes numeric, write_calls numeric,
			write_errors numeric)
		WHERE (SELECT bool_and(n.mounts IS NOT NULL) FROM n)),
	p AS (SELECT path, row_number() OVER (ORDER BY path = '', sum(read_bytes + write_bytes) DESC, path) AS place
		FROM m GROUP BY path),
	s AS (SELECT CASE WHEN p.place <= 8 THEN p.path ELSE '' END AS path, sum(read_bytes) AS read_bytes,
			sum(read_calls) AS read_calls, sum(read_errors) AS read_errors,
			sum(write_bytes) AS write_bytes, sum(write_calls) AS write_calls,
			sum(write_errors) AS write_errors
		FROM m JOIN p ON p.path = m.path GROUP BY 1)
	SELECT jsonb_agg(to_jsonb(s) ORDER BY s.path = '', s.read_bytes + s.write_bytes DESC, s.path) FROM s
$$;

-- What each node counted; private: paths are shown
CREATE FUNCTION api_node_counts(target bigint, private boolean) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('node', o.name, 'instance', n.instance::text,
			'counts', c.counts, 'mounts', CASE WHEN private THEN c.mounts END)) ORDER BY o.name, n.started)
	FROM (SELECT * FROM unit_node WHERE unit = target ORDER BY instance LIMIT 10000) n
	JOIN unit_counts c ON c.instance = n.instance JOIN node o ON o.id = n.node
$$;

-- Paths of mounts name people and projects.
CREATE FUNCTION person_mounts_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE unit_counts c SET mounts = NULL FROM unit_node n JOIN unit u ON u.id = n.unit
		WHERE u.person = NEW.id AND c.instance = n.instance AND c.mounts IS NOT NULL;
	RETURN NULL;
END
$$;
CREATE TRIGGER person_mounts_forgotten AFTER UPDATE OF erased_at ON person FOR EACH ROW
	WHEN (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL) EXECUTE FUNCTION person_mounts_forgotten();
