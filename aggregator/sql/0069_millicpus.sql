-- SPDX-License-Identifier: GPL-2.0-or-later
-- Pods request parts of a CPU. cpus had them rounded up, so that a pod of 250m that was always busy was 25 % efficient
-- and its CPU hours were four times too many.

-- In thousandths, as Kubernetes has them; cpus is that, rounded up. NULL: cpus says it all (jobs, VMs, earlier rows).
ALTER TABLE unit ADD COLUMN millicpus integer;
-- What is resized in place: what it had before, and until when. sized_at: when it had millicpus.
ALTER TABLE unit_node ADD COLUMN millicpus integer,
	ADD COLUMN sized_at timestamptz,
	ADD COLUMN earlier_millicpus integer[],
	ADD COLUMN earlier_until timestamptz[];

CREATE FUNCTION unit_cpus(cpus integer, millicpus integer) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT coalesce(trim_scale(millicpus * 0.001), cpus)
$$;

-- CPUs x ms that n had in [first, after)
CREATE FUNCTION resized_cpu_ms(n unit_node, first timestamptz, after timestamptz) RETURNS numeric LANGUAGE sql STABLE
PARALLEL SAFE AS $$
	SELECT sum(p.millicpus * overlap_ms(p.since, p.until, greatest(first, coalesce(n.stands_from, n.started)),
		least(after, greatest(n.ended, n.last_t1)))) / 1000
	FROM (SELECT e.millicpus, e.until, coalesce(lag(e.until) OVER (ORDER BY e.nth), '-infinity') AS since
		FROM unnest(n.earlier_millicpus || n.millicpus, n.earlier_until || 'infinity'::timestamptz)
			WITH ORDINALITY AS e (millicpus, until, nth)) p
$$;

-- ---- from nodes -----------------------------------------------------------------------------

CREATE FUNCTION ingest_sizes_staging() RETURNS void LANGUAGE sql AS $$
	CREATE TEMP TABLE IF NOT EXISTS in_size (seq integer, instance bigint, millicpus integer, sized_at timestamptz
	) ON COMMIT DELETE ROWS
$$;

-- Of more than 256 sizes the last but one stands for those after it. What becomes known late is summed again for a day:
-- after an upgrade of ceemsd it does of all pods that run.
CREATE FUNCTION ingest_sizes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	s record;
	n unit_node;
	sized bigint[] := '{}';
BEGIN
	FOR s IN SELECT * FROM in_size ORDER BY seq LOOP
		SELECT * INTO n FROM unit_node WHERE instance = s.instance AND (millicpus IS NULL
			OR millicpus <> s.millicpus AND s.sized_at > sized_at) FOR UPDATE;
		CONTINUE WHEN NOT FOUND;
		IF n.millicpus IS NOT NULL AND coalesce(cardinality(n.earlier_until), 0) < 256 THEN
			n.earlier_millicpus := n.earlier_millicpus || n.millicpus;
			n.earlier_until := n.earlier_until || s.sized_at;
		ELSIF n.millicpus IS NOT NULL THEN
			n.earlier_until[256] := s.sized_at;
		END IF;
		UPDATE unit_node SET cpus = ceil(s.millicpus * 0.001), millicpus = s.millicpus,
				sized_at = coalesce(s.sized_at, started),
				earlier_millicpus = n.earlier_millicpus, earlier_until = n.earlier_until
			WHERE instance = s.instance;
		INSERT INTO dirty (instance, hour) SELECT s.instance, generate_series(date_trunc('hour', CASE
			WHEN n.millicpus IS NULL THEN greatest(n.started, s.sized_at - interval '1 day')
			ELSE s.sized_at END, 'UTC'), coalesce(s.sized_at, n.started), '1 h');
		sized := sized || n.unit;
	END LOOP;
	PERFORM link_provisional(array_remove(sized, NULL));
END
$$;

SELECT function_edit('ingest_move', 'found_at = found_at \+ ahead', '\&, sized_at = sized_at + ahead, earlier_until = CASE
				WHEN earlier_until IS NOT NULL THEN ARRAY(SELECT t + ahead FROM unnest(earlier_until) t) END');
SELECT function_edit('link_provisional', 'sum\(cpus\) AS cpus,', 'ceil(sum(unit_cpus(cpus, millicpus))) AS cpus,
			CASE WHEN count(millicpus) > 0 THEN sum(unit_cpus(cpus, millicpus)) * 1000 END AS millicpus,');
SELECT function_edit('link_provisional', 'ELSE n\.cpus END,', '\&
		millicpus = CASE WHEN u.known_by = ''k8s'' AND n.cpus IS NULL THEN u.millicpus ELSE n.millicpus END,');

-- ---- from the API server --------------------------------------------------------------------

SELECT function_edit('k8s_pods_unnamed', 'x\.cpus,', '\& x.millicpus,');
SELECT function_edit('k8s_pods_unnamed', 'cpus integer,', '\& millicpus integer,');
SELECT function_edit('k8s_pods_unnamed', 'phase, cpus,', '\& millicpus,');
SELECT function_edit('k8s_pods_unnamed', 'coalesce\(u\.cpus, p\.cpus\) AS cpus,', '\&
			CASE WHEN u.cpus IS NULL THEN p.millicpus ELSE u.millicpus END AS millicpus,');
SELECT function_edit('k8s_pods_unnamed', ' cpus = n\.cpus,', '\& millicpus = n.millicpus,');
SELECT function_edit('k8s_pods_unnamed', 'u\.cpus, (u\.memory_bytes, u\.gpus\) IS)', 'u.cpus, u.millicpus, \1');
SELECT function_edit('k8s_pods_unnamed', 'n\.cpus, (n\.memory_bytes, n\.gpus\))', 'n.cpus, n.millicpus, \1');
SELECT function_edit('k8s_pods_unnamed', 'state, cpus,(\s+memory_bytes, gpus\))', 'state, cpus, millicpus,\1');
SELECT function_edit('k8s_pods_unnamed', 'p\.state, p\.cpus,', '\& p.millicpus,');

-- ---- sums and answers -----------------------------------------------------------------------

SELECT function_edit('rollup_hours', 'sum\(n\.cpus \* life\.ms\)', 'sum(CASE WHEN n.earlier_until IS NULL
			THEN unit_cpus(n.cpus, n.millicpus) * life.ms ELSE resized_cpu_ms(n, b.hour, b.hour + interval ''1 h'') END)');
SELECT function_edit('rollup_sums', 'sum\(f\.cpus \* l\.ms\)', 'sum(CASE WHEN f.earlier_until IS NULL
				THEN unit_cpus(f.cpus, f.millicpus) * l.ms ELSE resized_cpu_ms(f, ''1970-01-01'', ''infinity'') END)');
SELECT function_edit('api_units', '\|\| u\.cpus', '|| unit_cpus(u.cpus, u.millicpus)');
SELECT function_edit('api_nodes', '''cpus'', n\.cpus', '''cpus'', unit_cpus(n.cpus, n.millicpus)');
