-- SPDX-License-Identifier: GPL-2.0-or-later
-- A cluster is a name and a manager. Nodes of Slurm that run VMs or pods too report all of them under one name: these
-- are as many clusters, each with persons, projects, nodes and units of its own. With one row for the name, all units
-- were of the manager whose report came first, and what others said of them was refused.

-- What nodes report of VMs is libvirt's, also where OpenStack is asked whose they are.
ALTER TABLE cluster ADD COLUMN reported_as text NOT NULL
	GENERATED ALWAYS AS (CASE manager WHEN 'openstack' THEN 'libvirt' ELSE manager END) STORED;
ALTER TABLE cluster DROP CONSTRAINT cluster_name_key, ADD UNIQUE (name, reported_as);

-- Job records, associations and imports are Slurm's.
SELECT function_edit('ingest_names', 'DISTINCT ON \(n\.cluster\) n\.cluster', 'DISTINCT n.cluster');
SELECT function_edit('ingest_names', 'c\.name = n\.cluster', 'c.name = n.cluster AND c.reported_as = n.manager');
SELECT function_edit('ingest_names', 'ORDER BY n\.cluster', 'ORDER BY 1, 2');
SELECT function_edit('ingest_nodes', 'c\.name = s\.cluster', 'c.name = s.cluster AND c.reported_as = s.manager');
SELECT function_edit('ingest_merge', 'c\.name = j\.cluster', 'c.name = j.cluster AND c.manager = ''slurm''');
SELECT function_edit('people_associate', 'c\.name = i\.cluster', 'c.name = i.cluster AND c.manager = ''slurm''');
SELECT function_edit('people_associate', 'c\.name IN \(', 'c.manager = ''slurm'' AND c.name IN (');
SELECT function_edit('import_jobs', 'c\.name = x\.cluster', 'c.name = x.cluster AND c.manager = ''slurm''');
SELECT function_edit('import_units', 'c\.name = x\.cluster', 'c.name = x.cluster AND c.manager = ''slurm''');
SELECT function_edit('unit_settle', 'WHERE name = of_cluster', 'WHERE name = of_cluster AND manager = ''slurm''');
SELECT function_edit('person_renumber', 'WHERE name = of_cluster', 'WHERE name = of_cluster AND manager = ''slurm''');

-- Whether numbers of users that nodes report are Slurm's. Where another manager was there first, a node that calls its
-- report Slurm's makes nobody an owner before Slurm itself has said something.
CREATE FUNCTION cluster_has_numbers(c cluster) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT c.manager = 'slurm' AND (NOT EXISTS (SELECT FROM cluster o WHERE o.name = c.name AND o.id < c.id)
		OR EXISTS (SELECT FROM job_record j WHERE j.cluster = c.id))
$$;
SELECT function_edit('link_provisional', 'CASE c\.manager WHEN ''slurm'' THEN', 'CASE WHEN cluster_has_numbers(c) THEN');

SELECT function_edit('cloud_hold', 'c\.name = of_cluster', 'c.name = of_cluster AND c.reported_as = ''libvirt''');
SELECT function_edit('cloud_hold', 'ON CONFLICT \(name\)', 'ON CONFLICT (name, reported_as)');
SELECT function_edit('cloud_hold', '\s+ELSIF[^;]*;', ''); -- no other manager's

-- The id of a cluster of Kubernetes, made if there is none.
CREATE OR REPLACE FUNCTION k8s_cluster_id(called text) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
	found smallint := (SELECT id FROM cluster WHERE name = called AND manager = 'k8s');
BEGIN
	IF found IS NULL THEN
		INSERT INTO cluster (name, manager) VALUES (called, 'k8s')
			ON CONFLICT (name, reported_as) DO UPDATE SET name = excluded.name RETURNING id INTO found;
	END IF;
	RETURN found;
END
$$;
