-- SPDX-License-Identifier: GPL-2.0-or-later
-- Two clusters, five people, and units with each oddity that the API must get right. All in
-- March 2025, so that answers can be compared with golden ones.
INSERT INTO cluster (name) VALUES ('alpha'), ('beta');
INSERT INTO node (cluster, name, last_report) SELECT c.id, n, '2025-03-10 12:00+00'
	FROM cluster c, unnest('{n1,n2}'::text[]) n ORDER BY 1, 2;
INSERT INTO person (cluster, name, uid)
	SELECT c.id, p.name, p.uid FROM cluster c, (VALUES ('alice', 61001), ('bob', 61002),
		('carol', 61003), ('dave', 61004)) p (name, uid) WHERE c.name = 'alpha' ORDER BY p.uid;
INSERT INTO person (cluster, name, uid) -- another carol's number is alice's here
	SELECT c.id, p.name, p.uid FROM cluster c, (VALUES ('bob', 61002), ('carol', 61001)) p (name, uid)
	WHERE c.name = 'beta' ORDER BY p.name;
INSERT INTO project (cluster, name) SELECT id, 'phys' FROM cluster ORDER BY id;
INSERT INTO project (cluster, name) SELECT id, 'chem' FROM cluster WHERE name = 'alpha';
INSERT INTO membership (project, person, valid_from, valid_to, source)
	SELECT pr.id, pe.id, '2025-01-01 00:00+00', m.until::timestamptz, 'file'
	FROM (VALUES ('alpha', 'phys', 'alice', NULL), ('alpha', 'phys', 'bob', NULL),
		('alpha', 'phys', 'dave', '2025-02-01 00:00+00'), -- was
		('alpha', 'chem', 'carol', NULL), ('beta', 'phys', 'carol', NULL)) m (c, p, u, until)
	JOIN cluster c ON c.name = m.c JOIN project pr ON pr.cluster = c.id AND pr.name = m.p
	JOIN person pe ON pe.cluster = c.id AND pe.name = m.u;
INSERT INTO role (login, role, cluster, source)
	SELECT 'opa', 'operator', id, 'test' FROM cluster WHERE name = 'alpha';

CREATE FUNCTION pg_temp.add(c text, the_uuid text, who text, what text, began timestamptz,
	over timestamptz, run integer DEFAULT 0, their_uid bigint DEFAULT NULL) RETURNS bigint
LANGUAGE sql AS $$
	INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, project, name,
		user_group, partition, qos, started, ended, state, exit_code, time_limit_s, node_list,
		nodes, cpus, memory_bytes, gpus, work_dir)
	SELECT k.id, the_uuid, run, CASE WHEN who IS NOT NULL THEN coalesce(began, over) - interval '1 min' END,
		CASE WHEN who IS NULL THEN 'node' ELSE 'jobcomp' END,
		coalesce(their_uid, (SELECT uid FROM person WHERE cluster = k.id AND name = who)), 100,
		(SELECT id FROM person WHERE cluster = k.id AND name = who),
		(SELECT id FROM project WHERE cluster = k.id AND name = what),
		CASE WHEN who IS NOT NULL THEN 'job of ' || who END, 'users', 'short', 'normal', began, over,
		CASE WHEN over IS NULL THEN 'RUNNING' WHEN began IS NULL THEN 'CANCELLED' ELSE 'COMPLETED' END,
		CASE WHEN over IS NOT NULL THEN 0 END, 3600, 'n1', 1, 4, 8589934592, 0, '/home/' || who
	FROM cluster k WHERE k.name = c RETURNING id
$$;
SELECT pg_temp.add('alpha', '101', 'alice', 'phys', '2025-03-10 10:30+00', '2025-03-10 12:00+00'); -- 1
SELECT pg_temp.add('alpha', '102', 'bob', 'phys', '2025-03-10 11:00+00', '2025-03-10 11:30+00');   -- 2
SELECT pg_temp.add('alpha', '103', 'carol', 'chem', '2025-03-10 09:00+00', NULL);                  -- 3
SELECT pg_temp.add('beta', '101', 'carol', 'phys', '2025-03-10 10:00+00', '2025-03-10 11:00+00');  -- 4: the same id
SELECT pg_temp.add('alpha', '105', NULL, NULL, '2025-03-10 11:50+00', NULL, 0, 61001);              -- 5: alice's, by uid
SELECT pg_temp.add('beta', '106', NULL, NULL, '2025-03-10 11:50+00', NULL, 0, 61001);               -- 6: carol's there
SELECT pg_temp.add('alpha', '50', 'bob', 'phys', '2024-01-05 00:00+00', '2024-01-05 01:00+00');    -- 7: an id that
SELECT pg_temp.add('alpha', '50', 'alice', 'phys', '2025-03-01 00:00+00', '2025-03-01 01:00+00');  -- 8: is used again
SELECT pg_temp.add('alpha', '107', 'alice', 'phys', '2025-02-18 00:00+00', '2025-03-10 11:00+00'); -- 9: for weeks
SELECT pg_temp.add('alpha', '108', 'alice', 'phys', NULL, '2025-03-10 10:00+00');                  -- 10: never ran
SELECT pg_temp.add('alpha', '201', 'alice', 'phys', '2025-03-10 10:00+00', '2025-03-10 10:10+00'); -- 11
SELECT pg_temp.add('alpha', '202', 'alice', 'phys', '2025-03-10 10:00+00', '2025-03-10 10:20+00'); -- 12
UPDATE unit SET array_job = 201, array_task = uuid::bigint - 201 WHERE uuid IN ('201', '202');

INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, ended, how_ended, last_t1, cpus,
		memory_bytes, final, unit)
	SELECT u.id * 10 + o.id, o.id, u.uuid, 0, u.uid, u.started, u.ended, 'completed',
		coalesce(u.ended, u.started), 4, 8589934592, u.ended IS NOT NULL, u.id
	FROM unit u JOIN node o ON o.cluster = u.cluster AND o.name = 'n1' WHERE u.started IS NOT NULL;
-- what the kernel counted of alice's 101 and bob's 102
INSERT INTO unit_counts (instance, provisional, counts, mounts)
	SELECT i, false, '{"read_bytes": 5, "read_calls": 2, "read_errors": 0, "write_bytes": 7, "write_calls": 3,
			"write_errors": 1, "net_rx_bytes": 100, "net_tx_bytes": 200, "net_resent_packets": 1,
			"minor_faults": 11, "major_faults": 0, "context_switches": 4, "cpu_migrations": 1}',
		jsonb_build_array(jsonb_build_object('path', '/home/' || who, 'read_bytes', 5, 'read_calls', 2,
			'read_errors', 0, 'write_bytes', 7, 'write_calls', 3, 'write_errors', 1))
	FROM (VALUES (11, 'alice'), (21, 'bob')) v(i, who);
-- of somebody else, seconds ago: no unit yet
INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, last_t1)
	SELECT 9000, id, '300', 0, 61002, '2025-03-10 11:59+00', '2025-03-10 11:59+00' FROM node
	WHERE name = 'n2' AND cluster = 1;
INSERT INTO unit_step (instance, step, started, ended, exit_status, cpus, tasks, cpu_user_ns,
		cpu_system_ns, memory_peak_bytes, package_uj)
	SELECT 11, s, '2025-03-10 10:30+00', '2025-03-10 12:00+00', 0, 4, 1, 1000000000, 500000000, 1048576,
		2500000 FROM unnest('{0,4294967291}'::bigint[]) s;
UPDATE unit_step SET command = 'solve', label = 'job of alice' WHERE step = 0;

CREATE TABLE unit_hour_202502 PARTITION OF unit_hour
	FOR VALUES FROM ('2025-02-01 00:00+00') TO ('2025-03-01 00:00+00');
CREATE TABLE unit_hour_202503 PARTITION OF unit_hour
	FOR VALUES FROM ('2025-03-01 00:00+00') TO ('2025-04-01 00:00+00');
CREATE TABLE unit_interval_20250310 PARTITION OF unit_interval
	FOR VALUES FROM ('2025-03-10 00:00+00') TO ('2025-03-11 00:00+00');
INSERT INTO unit_interval (instance, t0, cpu_user_ns, cpu_system_ns, memory_mean_bytes, memory_peak_bytes,
		package_uj, host_uj, other_uj, ms, observed_ms)
	SELECT 11, t, 450000000000, 150000000000, 2147483648, 3221225472, 30000000, 75000000, 45000000,
		300000, 300000
	FROM generate_series('2025-03-10 10:30+00'::timestamptz, '2025-03-10 11:55+00', '5 min') t;

-- hours: 4 CPUs half busy, 2 GiB of 8, 100 W in the packages and 250 W of the host
INSERT INTO unit_hour (unit, hour, node_ms, observed_ms, cpu_user_ns, cpu_system_ns, cpu_alloc_ms,
		memory_byte_ms, memory_alloc_byte_ms, memory_peak_bytes, io_read_bytes, io_write_bytes,
		net_rx_bytes, net_tx_bytes, package_uj, host_uj, other_uj, grams)
	SELECT u.id, h, ms, ms, ms * 1500000, ms * 500000, ms * 4, ms * 2147483648::numeric,
		ms * 8589934592::numeric, 3221225472, ms, ms * 2, 0, 0, ms * 100000, ms * 250000,
		ms * 150000, jsonb_build_object('owid', round(ms / 3600000.0 * 10, 6))
	FROM unit u, LATERAL generate_series(date_trunc('hour', u.started, 'UTC'),
			coalesce(u.ended, '2025-03-10 12:00+00'), interval '1 hour') h,
	LATERAL (SELECT overlap_ms(u.started, coalesce(u.ended, '2025-03-10 12:00+00'), h,
			h + interval '1 hour') AS ms) m
	WHERE ms > 0 AND h >= '2025-02-01 00:00+00' AND u.person IS NOT NULL;
INSERT INTO unit_day (unit, day, person, project, starts, wall_ms, node_ms, observed_ms, cpu_user_ns,
		cpu_system_ns, cpu_alloc_ms, memory_byte_ms, memory_alloc_byte_ms, memory_peak_bytes,
		io_read_bytes, io_write_bytes, net_rx_bytes, net_tx_bytes, package_uj, host_uj, other_uj, grams)
	SELECT u.id, utc_day(h.hour), u.person, u.project, max((utc_day(u.started) = utc_day(h.hour))::int),
		sum(h.node_ms), sum(h.node_ms), sum(h.observed_ms), sum(h.cpu_user_ns), sum(h.cpu_system_ns),
		sum(h.cpu_alloc_ms), sum(h.memory_byte_ms), sum(h.memory_alloc_byte_ms),
		max(h.memory_peak_bytes), sum(h.io_read_bytes), sum(h.io_write_bytes), sum(h.net_rx_bytes),
		sum(h.net_tx_bytes), sum(h.package_uj), sum(h.host_uj), sum(h.other_uj), grams_sum(h.grams)
	FROM unit u JOIN unit_hour h ON h.unit = u.id GROUP BY 1, 2;
INSERT INTO usage_day (cluster, day, person, project, units, units_started, node_ms, observed_ms, wall_ms,
		cpu_ns, cpu_alloc_ms, memory_byte_ms, memory_alloc_byte_ms, io_read_bytes, io_write_bytes,
		net_rx_bytes, net_tx_bytes, package_uj, host_uj, other_uj, grams, wasted_cpu_ms, wasted_uj)
	SELECT u.cluster, d.day, d.person, d.project, count(*), sum(d.starts), sum(d.node_ms),
		sum(d.observed_ms), sum(d.wall_ms), sum(d.cpu_user_ns + d.cpu_system_ns), sum(d.cpu_alloc_ms),
		sum(d.memory_byte_ms), sum(d.memory_alloc_byte_ms), sum(d.io_read_bytes),
		sum(d.io_write_bytes), sum(d.net_rx_bytes), sum(d.net_tx_bytes), sum(d.package_uj),
		sum(d.host_uj), sum(d.other_uj), grams_sum(d.grams),
		sum(wasted_cpu_ms(d.cpu_user_ns + d.cpu_system_ns, d.cpu_alloc_ms)),
		sum(wasted_uj(energy_total_uj(d.package_uj, d.dram_uj, d.psys_uj, d.gpu_uj, d.host_uj, d.other_uj),
			d.gpu_uj, d.cpu_user_ns + d.cpu_system_ns, d.cpu_alloc_ms, d.gpu_busy_ms, d.gpu_alloc_ms))
	FROM unit_day d JOIN unit u ON u.id = d.unit GROUP BY 1, 2, 3, 4;
UPDATE unit u SET as_of = '2025-03-10 12:05+00', wall_ms = d.wall_ms, node_ms = d.node_ms,
		observed_ms = d.observed_ms, cpu_user_ns = d.user_ns, cpu_system_ns = d.system_ns,
		cpu_alloc_ms = d.alloc, memory_byte_ms = d.mem, memory_alloc_byte_ms = d.mem_alloc,
		memory_peak_bytes = d.peak, io_read_bytes = d.r, io_write_bytes = d.w, net_rx_bytes = 0,
		net_tx_bytes = 0, package_uj = d.package, host_uj = d.host, other_uj = d.other, grams = d.grams
	FROM (SELECT unit, sum(wall_ms) AS wall_ms, sum(node_ms) AS node_ms, sum(observed_ms) AS observed_ms,
			sum(cpu_user_ns) AS user_ns, sum(cpu_system_ns) AS system_ns, sum(cpu_alloc_ms) AS alloc,
			sum(memory_byte_ms) AS mem, sum(memory_alloc_byte_ms) AS mem_alloc,
			max(memory_peak_bytes) AS peak, sum(io_read_bytes) AS r, sum(io_write_bytes) AS w,
			sum(package_uj) AS package, sum(host_uj) AS host, sum(other_uj) AS other,
			grams_sum(grams) AS grams FROM unit_day GROUP BY unit) d WHERE d.unit = u.id;
INSERT INTO emission_factor (provider, zone, at, grams_per_kwh) VALUES ('owid', 'FR', '2024-01-01 00:00+00', 44),
	('rte', 'FR', '2025-03-10 10:00+00', 21), ('rte', 'FR', '2025-03-10 11:00+00', 22);
ANALYZE unit, unit_day, usage_day;
