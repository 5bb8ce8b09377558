-- SPDX-License-Identifier: GPL-2.0-or-later
-- An instance that one aggregator moves (0030) while another one writes rows of it: what was written between
-- the copy of its rows and their deletion was gone, what came later stayed where the instance was before.

-- How many transactions have moved instances. Who finds another number than before knows that what it
-- remembers of places may be over.
CREATE TABLE ingest_moves (moves bigint NOT NULL);
INSERT INTO ingest_moves VALUES (0);

-- Begins the transaction of a group: one that moves instances is alone, others are not while it lasts. Whoever
-- hangs in between holds nobody up for long. Returns how many had moved some before.
CREATE FUNCTION ingest_begin(moving boolean) RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '10s' AS $$
DECLARE
	before bigint;
BEGIN
	IF moving THEN
		PERFORM pg_advisory_xact_lock(1667589485, 6);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(1667589485, 6);
	END IF;
	PERFORM ingest_staging_boottime();
	SELECT moves INTO before FROM ingest_moves;
	IF moving THEN
		UPDATE ingest_moves SET moves = moves + 1;
	END IF;
	RETURN before;
END
$$;

-- How long after o was first seen one that goes on may be: until o ended. One that was found in mid-life may
-- have been found by the last record of a step, which comes when slurmstepd ends: a moment later.
CREATE FUNCTION link_over(o unit_node, next unit_node) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
	SELECT link_lasted(o) + CASE WHEN next.found_at IS NULL THEN interval '0' ELSE interval '10 s' END
$$;

-- As in 0032, and with that moment.
CREATE OR REPLACE FUNCTION link_goes_on(of_unit bigint, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM unit_node o, link_after(n, o) d
		WHERE o.unit = of_unit AND o.node = n.node AND o.boot = n.boot
			AND o.instance <> n.instance AND o.uuid = n.uuid
			AND (d BETWEEN interval '-1 s' AND link_over(o, n)
				OR (n.found_at IS NOT NULL OR o.found_at IS NOT NULL)
					AND d < interval '0' AND -d <= link_over(n, o)))
$$;
