-- SPDX-License-Identifier: GPL-2.0-or-later
-- What runs have a unit's number is asked some times for each unit that a node tells of. A database without
-- statistics of its units (one that is new, or has grown since they were made) expects as much of the cluster
-- alone as of the number alone, and read all units of the cluster each time. Of an index by both it expects more.
DROP INDEX unit_uuid;
CREATE INDEX unit_uuid ON unit (uuid, cluster);
