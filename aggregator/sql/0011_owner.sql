-- SPDX-License-Identifier: GPL-2.0-or-later
-- Whose a unit is, slurmctld says. A node's report that says otherwise is held: it is nobody's, it is
-- in nobody's usage, and the unit that it contradicts is nobody's either until somebody has looked
-- (ceems_aggregator --settle). Nothing is deleted.

-- 'open': contradicted, or contradicts, and nobody has looked; 'settled': what a node said is wrong.
ALTER TABLE unit ADD COLUMN held text CHECK (held IN ('open', 'settled'));
CREATE INDEX unit_held ON unit (cluster, uuid) WHERE held IS NOT NULL;

-- Whether one is a run by Slurm's own word and the other what a node saw begin in it, of another user.
CREATE FUNCTION unit_contradicts(run unit, seen unit) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT run.known_by = 'jobcomp' AND run.submitted IS NOT NULL AND seen.submitted IS NULL
		AND run.uid <> seen.uid AND link_inside(seen.started, run.started, run.ended)
$$;

-- A trigger, so that it sees each way by which a unit comes to its user and its life.
CREATE FUNCTION unit_hold() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	o unit;
	bad unit;
	good unit;
BEGIN
	IF NEW.uid IS NULL OR NEW.started IS NULL THEN
		RETURN NULL;
	END IF;
	FOR o IN SELECT * FROM unit WHERE cluster = NEW.cluster AND uuid = NEW.uuid AND id <> NEW.id
			AND uid <> NEW.uid LOOP
		IF unit_contradicts(NEW, o) THEN
			good := NEW; bad := o;
		ELSIF unit_contradicts(o, NEW) THEN
			good := o; bad := NEW;
		ELSE
			CONTINUE;
		END IF;
		CONTINUE WHEN bad.held IS NOT NULL;
		UPDATE unit SET held = 'open' WHERE id IN (good.id, bad.id);
		INSERT INTO audit (login, action, detail) SELECT 'ceems_aggregator', 'hold',
			jsonb_build_object('cluster', c.name, 'uuid', good.uuid, 'unit', good.id,
				'uid', good.uid, 'held', bad.id, 'said', bad.uid, 'nodes',
				(SELECT jsonb_agg(DISTINCT w.name) FROM unit_node n
					JOIN node w ON w.id = n.node
					-- one that is being linked just now has no unit yet
					WHERE n.uuid = bad.uuid AND n.uid = bad.uid AND w.cluster = bad.cluster
						AND (n.unit = bad.id OR n.unit IS NULL)))
			FROM cluster c WHERE c.id = good.cluster;
	END LOOP;
	RETURN NULL;
END
$$;
CREATE TRIGGER unit_hold AFTER INSERT OR UPDATE OF uid, started, ended, submitted, known_by ON unit
	FOR EACH ROW EXECUTE FUNCTION unit_hold();

-- Somebody has looked: slurmctld was right. Returns how many runs are somebody's again.
CREATE FUNCTION unit_settle(of_cluster text, of_uuid text, by_login text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	c smallint := (SELECT id FROM cluster WHERE name = of_cluster);
	n bigint;
BEGIN
	UPDATE unit SET held = 'settled' WHERE cluster = c AND uuid = of_uuid AND held = 'open'
		AND submitted IS NULL;
	UPDATE unit SET held = NULL WHERE cluster = c AND uuid = of_uuid AND held = 'open'
		AND submitted IS NOT NULL;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF n > 0 THEN
		INSERT INTO audit (login, action, detail) VALUES (by_login, 'settle',
			jsonb_build_object('cluster', of_cluster, 'uuid', of_uuid));
	END IF;
	RETURN n;
END
$$;
