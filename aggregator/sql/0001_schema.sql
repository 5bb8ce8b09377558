-- SPDX-License-Identifier: GPL-2.0-or-later
-- The records: who used what, when, and how sure one can be. One schema for a real server and for
-- the private cluster. Times are timestamptz, durations and counters integers in the unit that the
-- column's name ends with; NULL is "not known", never 0. Numbers that nodes report are facts; what
-- is computed from them (unit_hour, unit_day, usage_day, the sums in unit) can be thrown away and
-- computed again from the facts and `dirty`.

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
	source text NOT NULL   -- config, grafana, ...
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
	cpu_user_ns numeric(24), cpu_system_ns numeric(24),
	cpu_alloc_ms bigint,           -- allocated CPUs x time
	memory_byte_ms numeric(30),    -- integral of memory used
	memory_alloc_byte_ms numeric(30),
	memory_peak_bytes bigint,      -- highest on one node
	io_read_bytes bigint, io_write_bytes bigint,
	net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	energy_sources smallint REFERENCES energy_sources, -- of the last interval
	grams jsonb NOT NULL DEFAULT '{}' -- provider -> grams CO2e
);
CREATE UNIQUE INDEX unit_run ON unit (cluster, uuid, restarts, submitted) WHERE submitted IS NOT NULL;
CREATE INDEX unit_uuid ON unit (cluster, uuid);
CREATE INDEX unit_person ON unit (person, started DESC, id);
CREATE INDEX unit_project ON unit (project, started DESC, id);
CREATE INDEX unit_started ON unit (cluster, started DESC, id);
CREATE INDEX unit_running ON unit (cluster, started) WHERE ended IS NULL;
CREATE INDEX unit_uid ON unit (cluster, uid) WHERE person IS NULL;

-- Each completion record, whole, as it came: what unit was made from, and the parts of a job that
-- was resized.
CREATE TABLE job_record (
	cluster smallint NOT NULL REFERENCES cluster,
	uuid text NOT NULL,
	restarts integer NOT NULL,
	submitted timestamptz NOT NULL,
	part timestamptz NOT NULL,     -- start or resize time; for a job that never began its end
	state integer NOT NULL,        -- Slurm's number, flags included
	received timestamptz NOT NULL DEFAULT now(),
	unit bigint REFERENCES unit,   -- NULL: the linker has not been here
	record bytea NOT NULL,         -- lib/job.h
	PRIMARY KEY (cluster, uuid, restarts, submitted, part, state)
);
CREATE INDEX job_record_new ON job_record (received) WHERE unit IS NULL;

-- A unit on one node, as that node's ceemsd numbered it. Its own facts; the last totals when final.
CREATE TABLE unit_node (
	instance bigint PRIMARY KEY,   -- drawn by the node
	node integer NOT NULL REFERENCES node,
	boot uuid NOT NULL,
	uuid text NOT NULL,
	restarts integer NOT NULL,
	uid bigint, gid bigint,
	sluid text,
	array_job bigint, array_task bigint,
	started timestamptz NOT NULL,
	ended timestamptz,             -- by a final report; NULL: runs, or nobody knows
	how_ended text,                -- completed, failed, oom, lost
	last_t1 timestamptz NOT NULL,  -- as far as it has told
	cpus integer, memory_bytes bigint, gpus integer, gpu_list text,
	hints jsonb,                   -- name, account, partition as the job's environment has them
	received timestamptz NOT NULL DEFAULT now(),
	unit bigint REFERENCES unit    -- NULL: the linker has not been here
);
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
	PRIMARY KEY (instance, step)
);

-- What a unit used on one node in [t0, t0 + ms), insert-only; a report that comes again changes
-- nothing. One partition a day, unit_interval_YYYYMMDD, by UTC.
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

-- Unit and day (UTC) whose sums must be computed again. Repeated marks are one row.
CREATE TABLE dirty (
	unit bigint NOT NULL,
	day date NOT NULL,
	since timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (unit, day)
);
CREATE INDEX dirty_since ON dirty (since);

-- Sums of a unit over all nodes: by hour for a year, by day for ever.
CREATE TABLE unit_hour (
	unit bigint NOT NULL,
	hour timestamptz NOT NULL,
	node_ms bigint NOT NULL, observed_ms bigint NOT NULL,
	cpu_ns bigint, cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint,
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	grams jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (unit, hour)
) PARTITION BY RANGE (hour);       -- one a month, unit_hour_YYYYMM

CREATE TABLE unit_day (
	unit bigint NOT NULL,
	day date NOT NULL,
	node_ms bigint NOT NULL, observed_ms bigint NOT NULL,
	wall_ms bigint NOT NULL,       -- of the unit, not times its nodes
	cpu_user_ns bigint, cpu_system_ns bigint, cpu_alloc_ms bigint,
	memory_byte_ms numeric(30), memory_alloc_byte_ms numeric(30), memory_peak_bytes bigint,
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj bigint, dram_uj bigint, psys_uj bigint, gpu_uj bigint, host_uj bigint, other_uj bigint,
	grams jsonb NOT NULL DEFAULT '{}',
	PRIMARY KEY (unit, day)
);
CREATE INDEX unit_day_day ON unit_day (day);

-- Sums of a person in a project and day: what `usage` reads. Units without a person are not in it.
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
	io_read_bytes bigint, io_write_bytes bigint, net_rx_bytes bigint, net_tx_bytes bigint,
	gpu_busy_ms bigint, gpu_alloc_ms bigint, gpu_memory_byte_ms numeric(30),
	package_uj numeric(24), dram_uj numeric(24), psys_uj numeric(24), gpu_uj numeric(24),
	host_uj numeric(24), other_uj numeric(24),
	grams jsonb NOT NULL DEFAULT '{}',
	as_of timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (person, day, project)
);
CREATE INDEX usage_day_project ON usage_day (project, day);
CREATE INDEX usage_day_day ON usage_day (cluster, day);

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
