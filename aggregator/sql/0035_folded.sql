-- SPDX-License-Identifier: GPL-2.0-or-later
-- As in 0014, but that only those records of a run are done with that were there before they were added up. One
-- that came in between was taken for linked as well, and counted for nothing: a job whose end came while its
-- start was linked stayed RUNNING for ever.

CREATE OR REPLACE FUNCTION link_jobs(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	k record;
	f record;
	seen tid[];
	target bigint;
	others bigint[];
	done integer := 0;
BEGIN
	FOR k IN SELECT DISTINCT cluster, uuid, restarts, submitted
		FROM (SELECT * FROM job_record WHERE unit IS NULL ORDER BY received LIMIT most) j
	LOOP
		SELECT array_agg(ctid) INTO seen FROM job_record WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted;
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
		-- a record that has changed since has another ctid
		UPDATE job_record SET unit = target WHERE cluster = k.cluster AND uuid = k.uuid
			AND restarts = k.restarts AND submitted = k.submitted
			AND unit IS DISTINCT FROM target AND ctid = ANY (seen);
		done := done + 1;
	END LOOP;
	RETURN done;
END
$$;
ALTER FUNCTION link_jobs(integer) SET jit = off;
ALTER FUNCTION link_jobs(integer) SET enable_seqscan = off;
