-- SPDX-License-Identifier: GPL-2.0-or-later
-- An instance that moves (0020) may have been looked at by the linker where it stood before: the record of
-- its run was too far away, and it became a unit of its own.

-- Lets the linker look again for the unit of an instance that only a provisional one has.
CREATE FUNCTION link_again(the_instance bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	was bigint;
	others bigint[];
BEGIN
	SELECT u.id INTO was FROM unit_node n JOIN unit u ON u.id = n.unit
		WHERE n.instance = the_instance AND u.known_by = 'node';
	IF NOT FOUND THEN
		RETURN;
	END IF;
	UPDATE unit_node SET unit = NULL WHERE instance = the_instance;
	SELECT array_agg(instance) INTO others FROM unit_node WHERE unit = was;
	-- nobody's usage has them: there is no person
	DELETE FROM unit_hour WHERE unit = was;
	DELETE FROM unit_day WHERE unit = was;
	IF others IS NULL THEN
		DELETE FROM dirty WHERE unit = was;
		DELETE FROM unit WHERE id = was;
		RETURN;
	END IF;
	-- the linker looks at its end again
	UPDATE unit SET ended = NULL, state = 'RUNNING' WHERE id = was AND ended IS NOT NULL;
	PERFORM link_provisional(ARRAY[was]);
	PERFORM link_mark(others);
END
$$;
ALTER FUNCTION link_again(bigint) SET enable_seqscan = off;

-- As in 0020, and the linker looks again.
CREATE OR REPLACE FUNCTION ingest_move(the_instance bigint, from_ms bigint, to_ms bigint, over timestamptz,
	began timestamptz, OUT shift_ms bigint, OUT flagged boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	n unit_node;
	ahead interval := make_interval(hours => ((to_ms - from_ms) / 3600000)::integer);
BEGIN
	SELECT * INTO n FROM unit_node WHERE instance = the_instance FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	shift_ms := n.shift_ms;
	flagged := n.over_by IS NOT NULL;
	IF n.shift_ms <> from_ms THEN
		RETURN;
	END IF;
	IF to_ms <> from_ms THEN
		PERFORM ingest_move_rows(n, ahead);
	END IF;
	UPDATE unit_node SET shift_ms = to_ms, over_by = CASE WHEN over IS NOT NULL THEN least(over_by, over) END,
			started = CASE WHEN over IS NULL AND found_at IS NULL THEN began ELSE started + ahead END,
			ended = ended + ahead, last_t1 = last_t1 + ahead, found_at = found_at + ahead
		WHERE instance = the_instance;
	PERFORM link_again(the_instance);
	shift_ms := to_ms;
	flagged := over IS NOT NULL;
END
$$;
