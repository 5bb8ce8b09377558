-- SPDX-License-Identifier: GPL-2.0-or-later
-- Two clusters and who ran what in the last hour: of both clusters a job 101, of two users.
INSERT INTO cluster (name) VALUES ('alpha'), ('beta');
INSERT INTO node (cluster, name, last_report) SELECT c.id, 'n1', now() FROM cluster c ORDER BY 1;
INSERT INTO person (cluster, name, uid)
	SELECT c.id, p.name, p.uid FROM cluster c, (VALUES ('alice', 61001), ('bob', 61002)) p (name, uid);
INSERT INTO project (cluster, name) SELECT id, 'phys' FROM cluster ORDER BY id;
INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, project, name, user_group, partition,
		qos, started, ended, state, time_limit_s, node_list, nodes, cpus, memory_bytes, gpus, work_dir)
	SELECT c.id, u.uuid, 0, now() - interval '2 hours', 'jobcomp', p.uid, 100, p.id, r.id, 'job', 'users', 'short',
		'normal', now() - u.began, now() - u.ended, CASE WHEN u.ended IS NULL THEN 'RUNNING' ELSE 'COMPLETED' END,
		3600, 'n1', 1, 4, 8589934592, 0, '/'
	FROM (VALUES ('alpha', '101', 'alice', interval '100 min', NULL::interval),
		('alpha', '102', 'bob', interval '100 min', NULL),
		('alpha', '103', 'alice', interval '100 min', interval '30 min'),
		('beta', '101', 'bob', interval '100 min', NULL),
		('beta', '201', 'alice', interval '100 min', NULL)) u (c, uuid, who, began, ended)
	JOIN cluster c ON c.name = u.c JOIN person p ON p.cluster = c.id AND p.name = u.who
	JOIN project r ON r.cluster = c.id;
