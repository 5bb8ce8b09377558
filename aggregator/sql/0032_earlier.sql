-- SPDX-License-Identifier: GPL-2.0-or-later
-- A node that meets a unit among the control groups sees it later than its ring says it began. One that is
-- told again from the ring began before the one that was met, and neither goes on where the other left off.

-- As in 0025, but that the one that was found in mid-life may be either.
CREATE OR REPLACE FUNCTION link_goes_on(of_unit bigint, n unit_node) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM unit_node o, link_after(n, o) d
		WHERE o.unit = of_unit AND o.node = n.node AND o.boot = n.boot
			AND o.instance <> n.instance AND o.uuid = n.uuid
			AND (d BETWEEN interval '-1 s' AND link_lasted(o)
				OR (n.found_at IS NOT NULL OR o.found_at IS NOT NULL)
					AND d < interval '0' AND -d <= link_lasted(n)))
$$;
