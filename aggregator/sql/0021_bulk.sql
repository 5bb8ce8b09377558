-- SPDX-License-Identifier: GPL-2.0-or-later
-- Many units in one statement (an import, a load by hand) cost as much each as one alone.

-- Planned while the table was empty, it would read all of it for each row.
ALTER FUNCTION unit_hold() SET enable_seqscan = off;

-- Once for a statement: a person's row that is written for each of its units is there once for each
-- until the end of the transaction, and all of them are looked through by the next.
CREATE FUNCTION unit_newest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE person p SET newest = n.newest
		FROM (SELECT person, least(max(submitted), now()) AS newest FROM told
			WHERE known_by = 'jobcomp' AND person IS NOT NULL GROUP BY person) n
		WHERE p.id = n.person AND n.newest IS NOT NULL AND (p.newest IS NULL OR p.newest < n.newest);
	RETURN NULL;
END
$$;
DROP TRIGGER unit_owned ON unit;
CREATE TRIGGER unit_newest AFTER INSERT ON unit REFERENCING NEW TABLE AS told
	FOR EACH STATEMENT EXECUTE FUNCTION unit_newest();
CREATE TRIGGER unit_newest_again AFTER UPDATE ON unit REFERENCING NEW TABLE AS told
	FOR EACH STATEMENT EXECUTE FUNCTION unit_newest();

-- An audit row for each unit that comes to another owner.
CREATE OR REPLACE FUNCTION unit_owned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit (login, action, detail) SELECT 'ceems_aggregator', 'owner',
		jsonb_build_object('cluster', c.name, 'uuid', NEW.uuid, 'unit', NEW.id,
			'from', o.uid, 'to', p.uid)
		FROM cluster c, person o, person p
		WHERE c.id = NEW.cluster AND o.id = OLD.person AND p.id = NEW.person;
	RETURN NULL;
END
$$;
CREATE TRIGGER unit_owned AFTER UPDATE OF person ON unit FOR EACH ROW
	WHEN (OLD.person <> NEW.person) EXECUTE FUNCTION unit_owned();
