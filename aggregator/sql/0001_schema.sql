-- SPDX-License-Identifier: GPL-2.0-or-later
-- The records: who used what, when, and how sure one can be. One schema for a real server and for
-- the private cluster. Times are timestamptz, durations and counters integers in the unit that the
-- column's name ends with; NULL is "not known", never 0. Numbers that nodes report are facts; what
-- is computed from them (unit_hour, unit_day, usage_day, the sums in unit) can be thrown away and
-- computed again from the facts and `dirty`, as long as the facts are kept.

-- ---- names ----------------------------------------------------------------------------------

CREATE TABLE cluster (
	id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	manager text NOT NULL DEFAULT 'slurm' CHECK (manager IN ('slurm', 'libvirt', 'k8s'))
);

CREATE TABLE node (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	cluster smallint NOT NULL REFERENCES cluster,
	name text NOT NULL,
	last_report timestamptz, -- of any report; by the aggregator's clock
	UNIQUE (cluster, name)
);

-- Which source measured which domain, as one word: "package=rapl,dram=rapl,host=ipmi_dcmi". A node
-- has one or two of them in its life.
CREATE TABLE energy_sources (
	id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	label text NOT NULL UNIQUE
);

-- ---- people ---------------------------------------------------------------------------------

CREATE TABLE person (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	cluster smallint NOT NULL REFERENCES cluster,
	name text NOT NULL,
	uid bigint,           -- on that cluster
	erased_at timestamptz, -- name is a pseudonym since then
	UNIQUE (cluster, name)
);
CREATE INDEX person_uid ON person (cluster, uid);

CREATE TABLE project (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	cluster smallint NOT NULL REFERENCES cluster,
	name text NOT NULL,    -- Slurm's account
	UNIQUE (cluster, name)
);

-- Who is in which project from when until when (NULL: still), by whose word.
CREATE TABLE membership (
	project integer NOT NULL REFERENCES project,
	person integer NOT NULL REFERENCES person,
	valid_from timestamptz NOT NULL DEFAULT now(),
	valid_to timestamptz,
	source text NOT NULL,  -- sacctmgr, file, ...
	PRIMARY KEY (project, person, valid_from)
);
CREATE INDEX membership_person ON membership (person) WHERE valid_to IS NULL;
CREATE UNIQUE INDEX membership_now ON membership (project, person) WHERE valid_to IS NULL;

-- What a login may do beyond its own: cluster NULL is all of them.
CREATE TABLE role (
	login text NOT NULL,
	role text NOT NULL CHECK (role IN ('admin', 'operator')),
	cluster smallint REFERENCES cluster,
	source text NOT NULL,  -- config, grafana, ...
	valid_to timestamptz   -- NULL: until somebody says otherwise
);
CREATE UNIQUE INDEX role_once ON role (login, role, coalesce(cluster, 0), source);

-- ---- units ----------------------------------------------------------------------------------

-- One run of a unit: a job between two requeues, a VM, a pod. Made by the first report of a node
-- or by the job's record, whichever comes first. submitted is NULL until a job record or an import
-- has come; until then person and project are NULL as well (names in a job's environment are
-- hints), and uid says whose it is.
CREATE TABLE unit (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	cluster smallint NOT NULL REFERENCES cluster,
	uuid text NOT NULL,            -- raw job id, VM uuid, pod uid
	restarts integer NOT NULL DEFAULT 0,
	submitted timestamptz,
	sluid text,
	known_by text NOT NULL CHECK (known_by IN ('node', 'import', 'jobcomp')),
	uid bigint, gid bigint,
	person integer REFERENCES person,
	project integer REFERENCES project,
	name text, user_group text, partition text, qos text, reservation text, wckey text,
	array_job bigint, array_task bigint, het_job bigint, het_offset integer,
	eligible timestamptz, started timestamptz, ended timestamptz, -- ended NULL: runs, or waits
	resized timestamptz,           -- start of the last part of a job that was resized
	state text NOT NULL DEFAULT 'RUNNING', -- Slurm's words
	reason text, exit_code integer, derived_exit_code integer, -- wait statuses
	time_limit_s bigint,
	node_list text, nodes integer, cpus integer, memory_bytes bigint, gpus integer,
	tres_requested text, tres_allocated text, gres text,
	work_dir text, comment text,
	-- Of all its intervals; written by the roll-up, as of as_of. What ended ones have is final
	-- unless a late report comes.
	as_of timestamptz,
	node_ms bigint,                -- sum over nodes of the time it was there
	observed_ms bigint,            -- of that, what a node really watched: coverage = both's ratio
	wall_ms bigint,                -- of the unit, as of as_of when it runs
	cpu_user_ns numeric(24), cpu_system_ns numeric(24),
	cpu_alloc_ms bigint,           -- allocated CPUs x time
	memory_byte_ms numeric(30),    -- integral of memory used
	memory_alloc_byte_ms numeric(30),
	memory_peak_bytes bigint,      -- highest on one node
	io_read_bytes bigint, io_write_bytes bigint,
	net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	-- a month of all of a large machine is more than a bigint of microjoules
	package_uj numeric(24), dram_uj numeric(24), psys_uj numeric(24), gpu_uj numeric(24),
	host_uj numeric(24), other_uj numeric(24),
	energy_sources smallint REFERENCES energy_sources, -- of its last hour
	grams jsonb NOT NULL DEFAULT '{}' -- provider -> grams CO2e
) WITH (fillfactor = 80); -- the roll-up writes running ones again and again
CREATE UNIQUE INDEX unit_run ON unit (cluster, uuid, restarts, submitted) WHERE submitted IS NOT NULL;
-- without the cluster, which decides nothing: ten thousand ids are looked up in 13 ms, not in 22
CREATE INDEX unit_uuid ON unit (uuid);
CREATE INDEX unit_person ON unit (person, started DESC, id);
CREATE INDEX unit_project ON unit (project, started DESC, id);
CREATE INDEX unit_started ON unit (cluster, started DESC, id);
CREATE INDEX unit_running ON unit (cluster, started) WHERE ended IS NULL;
CREATE INDEX unit_uid ON unit (cluster, uid) WHERE person IS NULL;

-- What somebody who ought to know said about a unit: jobcomp's completion records, whole, as they
-- came, and rows of an import. This is how they enter, whoever brings them; the linker makes `unit`
-- from all that are there for a run, so that they may come twice, late and in any order.
-- record has what unit's columns of the same name get (absent: not known; times as text with a
-- zone), and beside them user, account (its names of person and project), group and event.
CREATE TABLE job_record (
	cluster smallint NOT NULL REFERENCES cluster,
	uuid text NOT NULL,
	restarts integer NOT NULL,
	submitted timestamptz NOT NULL,
	part timestamptz NOT NULL,     -- start or resize time; for a job that never began its end
	state integer NOT NULL,        -- Slurm's number, flags included
	source text NOT NULL DEFAULT 'jobcomp' CHECK (source IN ('import', 'jobcomp')),
	received timestamptz NOT NULL DEFAULT now(),
	unit bigint REFERENCES unit,   -- NULL: the linker has not been here
	record jsonb NOT NULL,
	PRIMARY KEY (cluster, uuid, restarts, submitted, part, state, source)
);
CREATE INDEX job_record_new ON job_record (received) WHERE unit IS NULL;
CREATE INDEX job_record_unit ON job_record (unit);

-- A unit on one node, as that node's ceemsd numbered it. Its own facts; its totals when final.
CREATE TABLE unit_node (
	instance bigint PRIMARY KEY,   -- drawn by the node
	node integer NOT NULL REFERENCES node,
	boot uuid,
	uuid text NOT NULL,
	restarts integer NOT NULL,
	guessed boolean NOT NULL DEFAULT false, -- uuid and restarts are read off a control group
	uid bigint, gid bigint,
	array_job bigint, array_task bigint,
	started timestamptz NOT NULL,
	ended timestamptz,             -- by a final report, or lost; NULL: runs, or nobody knows
	how_ended text,                -- completed, failed, oom, lost (nobody heard of it again)
	last_t1 timestamptz NOT NULL,  -- as far as it has told
	cpus integer, memory_bytes bigint, gpus integer, gpu_list text, gpu_share text,
	hints jsonb,                   -- name, account, partition, sluid as the job's environment has them
	received timestamptz NOT NULL DEFAULT now(), -- by the aggregator's clock: the first report
	heard timestamptz NOT NULL DEFAULT now(),    -- and the last start or final one
	final boolean NOT NULL DEFAULT false,        -- the totals are here, all energy settled
	observed_ms bigint,
	cpu_user_ns bigint, cpu_system_ns bigint,
	memory_mean_bytes bigint, memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_memory_mean_kib bigint,
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	energy_sources smallint REFERENCES energy_sources,
	unit bigint REFERENCES unit    -- NULL: the linker has not been here
) WITH (fillfactor = 80);
CREATE INDEX unit_node_new ON unit_node (received) WHERE unit IS NULL;
CREATE INDEX unit_node_unit ON unit_node (unit);
CREATE INDEX unit_node_node ON unit_node (node, started);

CREATE TABLE unit_step (
	instance bigint NOT NULL,      -- of unit_node
	step bigint NOT NULL,          -- Slurm's number; batch, extern and interactive as Slurm has them
	started timestamptz, ended timestamptz,
	exit_status integer,           -- as wait(2) gives it
	lost boolean NOT NULL DEFAULT false,
	cpus integer, tasks integer,
	cpu_user_ns bigint, cpu_system_ns bigint,
	memory_peak_bytes bigint, io_read_bytes bigint, io_write_bytes bigint,
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	command text, label text,      -- hints: what a numbered step ran, and its SLURM_JOB_NAME if another
	PRIMARY KEY (instance, step)
);

-- What a unit used on one node in [t0, t0 + ms), insert-only; a report that comes again changes
-- nothing. None goes over a full hour: one that did was cut there, its numbers in proportion to the
-- time, the sum kept. One partition a day, unit_interval_YYYYMMDD, by UTC.
CREATE TABLE unit_interval (
	instance bigint NOT NULL,
	t0 timestamptz NOT NULL,
	cpu_user_ns bigint, cpu_system_ns bigint,
	memory_mean_bytes bigint, memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint,
	net_rx_bytes bigint, net_tx_bytes bigint,
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	ms integer NOT NULL,
	observed_ms integer NOT NULL,
	gpu_busy_ms integer,
	gpu_memory_mean_kib bigint,
	energy_sources smallint,
	PRIMARY KEY (instance, t0)
) PARTITION BY RANGE (t0);

-- ---- roll-ups -------------------------------------------------------------------------------

-- Whose sums must be computed again: an hour (full, UTC) of an instance, an hour of a unit, or, with
-- no hour, what a unit's days say of it (owner, life). A queue that is only added to, so that no
-- report waits for the roll-up and no mark can be lost between a report that is being written and
-- the roll-up that deletes it; marks may be there several times.
CREATE TABLE dirty (
	instance bigint,
	unit bigint,
	hour timestamptz,
	due timestamptz NOT NULL DEFAULT now(), -- not before; running units need not be exact to the second
	CHECK ((instance IS NULL) <> (unit IS NULL) AND (instance IS NULL OR hour IS NOT NULL))
);
CREATE INDEX dirty_due ON dirty (due);

-- Sums of a unit over all nodes: by hour for a year, by day for ever.
CREATE TABLE unit_hour (
	unit bigint NOT NULL,
	hour timestamptz NOT NULL,
	node_ms bigint NOT NULL, observed_ms bigint NOT NULL,
	cpu_user_ns numeric(24), cpu_system_ns numeric(24), cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_alloc_byte_ms numeric(30), memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	grams jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (unit, hour)
) PARTITION BY RANGE (hour);       -- one a month, unit_hour_YYYYMM

CREATE TABLE unit_day (
	unit bigint NOT NULL,
	day date NOT NULL,
	person integer, project integer, -- in whose usage_day it is counted; NULL: in nobody's
	starts integer NOT NULL DEFAULT 0, -- 1: the unit began that day
	wall_ms bigint NOT NULL,       -- of the unit, not times its nodes
	node_ms bigint NOT NULL, observed_ms bigint NOT NULL,
	cpu_user_ns numeric(24), cpu_system_ns numeric(24), cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_alloc_byte_ms numeric(30), memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	grams jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (unit, day)
) WITH (fillfactor = 80);
CREATE INDEX unit_day_day ON unit_day (day, person);

-- Sums of a person in a project and day: what `usage` reads; always the sum of unit_day. Units
-- without a person are not in it.
CREATE TABLE usage_day (
	cluster smallint NOT NULL,
	day date NOT NULL,
	person integer NOT NULL,
	project integer NOT NULL,
	units bigint NOT NULL,         -- that were there that day
	units_started bigint NOT NULL, -- that began that day
	node_ms bigint NOT NULL, observed_ms bigint NOT NULL, wall_ms bigint NOT NULL,
	cpu_ns numeric(24), cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_alloc_byte_ms numeric(30),
	io_read_bytes numeric(24), io_write_bytes numeric(24),
	net_rx_bytes numeric(24), net_tx_bytes numeric(24),
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj numeric(24), dram_uj numeric(24), psys_uj numeric(24), gpu_uj numeric(24),
	host_uj numeric(24), other_uj numeric(24),
	grams jsonb NOT NULL DEFAULT '{}',
	as_of timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (person, day, project)
);
CREATE INDEX usage_day_project ON usage_day (project, day);
CREATE INDEX usage_day_day ON usage_day (cluster, day);

-- When the roll-up last had nothing due, and what it has done: `as_of` of all answers.
CREATE TABLE rollup_state (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	as_of timestamptz NOT NULL DEFAULT now()
);
INSERT INTO rollup_state DEFAULT VALUES;

-- The energy of sums without counting twice: host contains package, dram and other; psys package.
CREATE FUNCTION energy_total_uj(package_uj numeric, dram_uj numeric, psys_uj numeric,
	gpu_uj numeric, host_uj numeric, other_uj numeric) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT CASE
	WHEN other_uj IS NOT NULL THEN
		coalesce(package_uj, 0) + coalesce(dram_uj, 0) + coalesce(gpu_uj, 0) + other_uj
	WHEN host_uj IS NOT NULL THEN host_uj + coalesce(gpu_uj, 0)
	WHEN psys_uj IS NOT NULL THEN psys_uj + coalesce(gpu_uj, 0)
	WHEN coalesce(package_uj, dram_uj, gpu_uj) IS NOT NULL THEN
		coalesce(package_uj, 0) + coalesce(dram_uj, 0) + coalesce(gpu_uj, 0)
	END
$$;

-- ---- emissions ------------------------------------------------------------------------------

-- Grams of CO2 equivalent for a kWh, valid from then until the next of the same provider and zone.
CREATE TABLE emission_factor (
	provider text NOT NULL,        -- owid, rte, emaps, wt, global, file
	zone text NOT NULL,
	at timestamptz NOT NULL,
	grams_per_kwh double precision NOT NULL CHECK (grams_per_kwh >= 0),
	received timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (provider, zone, at)
);

-- The zone whose factors count for a cluster, by provider; and what the building adds to a node's
-- energy (power usage effectiveness).
CREATE TABLE cluster_zone (
	cluster smallint NOT NULL REFERENCES cluster,
	provider text NOT NULL,
	zone text NOT NULL,
	PRIMARY KEY (cluster, provider)
);
CREATE TABLE pue (
	cluster smallint NOT NULL REFERENCES cluster,
	valid_from timestamptz NOT NULL,
	pue double precision NOT NULL CHECK (pue >= 1),
	PRIMARY KEY (cluster, valid_from)
);

-- ---- who did what ---------------------------------------------------------------------------

CREATE TABLE audit (
	at timestamptz NOT NULL DEFAULT now(),
	login text NOT NULL,
	action text NOT NULL,          -- erase, recompute, import, refuse, ...
	detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_at ON audit (at);
