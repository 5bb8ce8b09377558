-- SPDX-License-Identifier: GPL-2.0-or-later
-- Who is forgotten is forgotten in the audit, too: rows about units that were held, that came to
-- another owner, or about numbers that changed named the number (and --renumber the login).
CREATE FUNCTION person_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE audit SET detail = (detail - ARRAY(SELECT k FROM unnest('{uid,said,before,from,to}'::text[]) k
				WHERE detail->>k = OLD.uid::text))
			|| CASE WHEN detail->>'login' = OLD.name THEN jsonb_build_object('login', NEW.name)
				ELSE '{}' END
		WHERE detail->>'cluster' = (SELECT name FROM cluster WHERE id = OLD.cluster)
			AND OLD.uid::text IN (detail->>'uid', detail->>'said', detail->>'before',
				detail->>'from', detail->>'to');
	RETURN NULL;
END
$$;
CREATE TRIGGER person_forgotten AFTER UPDATE OF erased_at ON person FOR EACH ROW
	WHEN (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND OLD.uid IS NOT NULL)
	EXECUTE FUNCTION person_forgotten();
