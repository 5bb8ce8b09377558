-- SPDX-License-Identifier: GPL-2.0-or-later
-- What performance counters of GPUs say of each interval, as unit_counts has it of a unit's life.

-- GPUs x ms in which so much of them was in use: multiprocessors with a warp, warps on them, tensor, fp64, fp32 and
-- fp16 units, memory bandwidth. NULL, or an element that is: not told.
ALTER TABLE unit_interval ADD gpu_active_ms integer[];

SELECT function_edit('ingest_move_rows', 'energy_sources\)', 'energy_sources, gpu_active_ms)');
SELECT function_edit('ingest_move_rows', 'r\.energy_sources', 'r.energy_sources, r.gpu_active_ms');
SELECT function_edit('api_series', '''energy_joules'', api_joules', (SELECT string_agg(format(
		'''gpu_%s_seconds'', round(sum(i.gpu_active_ms[%s]) / 1000.0, 3), ', name, n), E'\n\t\t\t' ORDER BY n)
	FROM unnest(ARRAY['sm_active', 'sm_occupancy', 'tensor_active', 'fp64_active', 'fp32_active', 'fp16_active',
		'dram_active']) WITH ORDINALITY f(name, n)) || '''energy_joules'', api_joules');
