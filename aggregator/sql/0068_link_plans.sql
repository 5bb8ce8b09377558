-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is done for each unit that nodes or Slurm tell of takes the same however many there are.

-- A function in SQL that another calls is planned at each call, which took ten times what these do. Those in PL/pgSQL
-- keep their plans.
SELECT function_edit(f, 'LANGUAGE sql\s+STABLE\s+AS \$function\$\s*(.*\S)\s*\$function\$',
	E'LANGUAGE plpgsql\n STABLE\nAS $function$\nBEGIN\n\tRETURN (\\1);\nEND\n$function$')
FROM unnest('{link_find,link_find_run,link_candidates,link_goes_on,link_rebooted,link_room,link_sluid,unit_over}'::text[]) f;

-- By an OR all of unit_node was read for each record of a job that a node had told of.
SELECT function_edit('link_candidates', 'n\.unit = target OR n\.unit IN \(SELECT id FROM near WHERE inside OR sure\)',
	'n.unit = ANY (ARRAY(SELECT id FROM near WHERE inside OR sure) || target)');

-- Each is looked for by its instance, not among all that are not linked, as the index of these suggests: of a push of
-- starts each was compared with each.
SELECT function_edit('ingest_nodes', 'n\.unit IS NULL\s+AND \(n\.guessed', 'coalesce(n.unit, 0) = 0
			AND (n.guessed');
