-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs of one number are told apart by their SLUID, too, where both sides have one that can be believed:
-- slurmctld's by its records, a node's by the name of the job's control group (Slurm 26.05, cgroup v2).
-- What else a node says of it is the job's own environment and decides nothing.

CREATE FUNCTION node_sluid(n unit_node) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT n.hints->>'cgroup_sluid'
$$;

-- Whether a row of a node is of this unit. NULL: SLUIDs do not say. An import's is that of slurmdbd's row,
-- which for a resized job is not the job's.
CREATE FUNCTION link_sluid(u unit, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT CASE u.known_by WHEN 'jobcomp' THEN u.sluid = node_sluid(n)
		WHEN 'node' THEN (SELECT bool_and(node_sluid(o) = node_sluid(n))
			FROM unit_node o WHERE o.unit = u.id) END
$$;

CREATE INDEX unit_sluid ON unit (cluster, sluid) WHERE sluid IS NOT NULL;

-- As in 0003, but for SLUIDs, by which a unit of nodes may be called until its record comes.
CREATE OR REPLACE FUNCTION link_jobs(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	k record;
	f record;
	target bigint;
	others bigint[];
	done integer := 0;
BEGIN
	FOR k IN SELECT DISTINCT cluster, uuid, restarts, submitted
		FROM (SELECT * FROM job_record WHERE unit IS NULL ORDER BY received LIMIT most) j
	LOOP
		f := link_fold(k.cluster, k.uuid, k.restarts, k.submitted);
		SELECT id INTO target FROM unit WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted;
		others := NULL;
		IF f.m->>'started' IS NOT NULL THEN
			others := link_candidates(k.cluster, k.uuid, k.restarts,
				CASE f.source WHEN 'jobcomp' THEN f.m ELSE f.m - 'sluid' END, target);
		END IF;
		IF target IS NULL AND others IS NOT NULL THEN
			target := others[1];
			others := others[2:];
		ELSIF target IS NULL THEN
			INSERT INTO unit (cluster, uuid, restarts, submitted, known_by)
				VALUES (k.cluster, k.uuid, k.restarts, k.submitted, f.source)
				RETURNING id INTO target;
		END IF;
		IF cardinality(others) > 0 THEN
			PERFORM link_merge(target, others);
		END IF;
		UPDATE unit SET restarts = k.restarts, uuid = k.uuid
			WHERE id = target AND (restarts <> k.restarts OR uuid <> k.uuid);
		PERFORM link_update(target, f.m || jsonb_build_object('submitted', k.submitted),
			f.source);
		UPDATE job_record SET unit = target WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted
			AND unit IS DISTINCT FROM target;
		done := done + 1;
	END LOOP;
	RETURN done;
END
$$;
ALTER FUNCTION link_jobs(integer) SET jit = off;
ALTER FUNCTION link_jobs(integer) SET enable_seqscan = off;
