-- SPDX-License-Identifier: GPL-2.0-or-later
-- Means of memory. Nodes tell how long they had a unit to the millisecond, slurmctld in whole seconds: the memory of a
-- job of 2.7 s, divided by "2 s", came out a third too high.

-- The time that a unit's means are of: that of its nodes where theirs is wall_ms but for the seconds' fractions at both
-- ends, else wall_ms, as some of its nodes had it for a part of the time only.
CREATE FUNCTION api_mean_ms(wall_ms bigint, node_ms bigint, nodes integer) RETURNS numeric LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS $$
	SELECT CASE WHEN nodes > 0 AND abs(node_ms::numeric / nodes - wall_ms) < 2000
		THEN nullif(node_ms::numeric / nodes, 0) ELSE nullif(wall_ms, 0) END
$$;

-- Edits functions of earlier migrations in a few places instead of repeating them: where the one of this name (of
-- several the one with the most arguments) matches, it becomes something else.
CREATE FUNCTION function_edit(called text, was text, becomes text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	before text := (SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.proname = called
		AND p.pronamespace = current_schema()::regnamespace ORDER BY p.pronargs DESC LIMIT 1);
BEGIN
	IF before !~ was IS NOT FALSE THEN
		RAISE EXCEPTION 'function %: not found: %', called, was;
	END IF;
	EXECUTE regexp_replace(before, was, becomes, 'g');
END
$$;

SELECT function_edit('api_sums_text', 'pue numeric\)', 'pue numeric, mean_ms numeric)');
SELECT function_edit('api_sums_text', 'CASE WHEN wall_ms > 0\s+THEN round\((gpu_)?memory_byte_ms / wall_ms\) END',
	'round(\1memory_byte_ms / mean_ms)');
SELECT function_edit('api_units', 'e\.pue\) END', 'e.pue, api_mean_ms(u.wall_ms, u.node_ms, u.nodes)) END');
SELECT function_edit('api_sums', 'g\.gpu, pue\)', 'g.gpu, pue, nullif(wall_ms, 0))');
SELECT function_edit('api_hours', 'nullif\((overlap_ms\(u\.started,\s+coalesce\(u\.ended, now\(\)\), h\.hour, '
	'h\.hour \+ interval ''1 hour''\)), 0\)', 'api_mean_ms(\1, h.node_ms, u.nodes)');
DO $$ BEGIN
	EXECUTE (SELECT format('DROP FUNCTION %s', p.oid::regprocedure) FROM pg_proc p
		WHERE p.proname = 'api_sums_text' AND p.pronamespace = current_schema()::regnamespace
		ORDER BY p.pronargs LIMIT 1);
END $$;
