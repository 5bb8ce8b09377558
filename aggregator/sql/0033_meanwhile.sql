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
