#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The command of doc/aggregator.md that makes Parquet of an export: the same rows, read back. With DuckDB of
# PyPI in a virtual environment; Debian has no library for Parquet.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
python3 -m venv "$SCRATCH/venv" >/dev/null 2>&1 || skip_all "python3 has no venv (python3-venv)"
timeout 200 "$SCRATCH/venv/bin/pip" -q install duckdb >"$SCRATCH/pip" 2>&1 || skip_all "duckdb cannot be had from PyPI: $(tail -1 "$SCRATCH/pip")"
duckdb() { "$SCRATCH/venv/bin/python" -c 'import duckdb, sys
for row in duckdb.sql(sys.argv[1]).fetchall() if sys.argv[1].startswith("SELECT") else duckdb.execute(sys.argv[1]) and []: print("|".join(map(str, row)))' "$1"; }
agg_begin
T=$(($(date +%s) / 86400 * 86400 - 4 * 86400))
push "job id=1 submit=$((T - 9)) start=$T end=$((T + 100)) user=ann name=sim nodes=n1 node_count=1" \
	"interval instance=10 unit=1 started=$T t0=$T t1=$((T + 100)) user=80000000 system=20000000 package=5000000 host=9000000 cpus=2" \
	"job id=2 submit=$((T + 5)) start=$((T + 90)) end=$((T + 150)) user=bob name=other nodes=n1 node_count=1" \
	"final instance=10 unit=1 started=$T ended=$((T + 100)) user=80000000 system=20000000 mean=1048576 peak=2097152 package=5000000 host=9000000 cpus=2 memory=4194304"
settle
sql "UPDATE unit SET name = E'a, \"b\"\nc é' WHERE uuid = '1'"
"$agg" --db.url="$PGURL" --security.drop-privileges=false --export=units --from="$(date -u -d "@$T" +%F)" --to="$(date -u -d "@$((T + 86400))" +%F)" >"$SCRATCH/units.csv" 2>"$SCRATCH/said"
command=$(sed -n 's/^ *duckdb -c "\(.*\)"  *#.*/\1/p' "$TOP/doc/aggregator.md")
like "the documented command is there" "$command" 'COPY .*units.parquet'
duckdb "$command"
is "it makes a Parquet file" "$(head -c 4 units.parquet)" PAR1
is "with the rows of the CSV" "$(duckdb "SELECT count(*) FROM 'units.parquet'")" 2
is "names and counters come through whole" "$(duckdb "SELECT name, cpu_user_ns, energy_uj FROM 'units.parquet' WHERE uuid::VARCHAR = '1'")" $'a, "b"\nc é|'"$(sql "SELECT cpu_user_ns || '|' || energy_total_uj(package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj) FROM unit WHERE uuid = '1'")"
typed=$(grep -o "read_csv('units.csv', types=[^)]*)" "$TOP/doc/aggregator.md")
duckdb "COPY (FROM $typed) TO 'typed.parquet'"
is "a column without any value has the type that it is given" "$(duckdb "SELECT DISTINCT typeof(gpu_uj) FROM 'typed.parquet'") $(duckdb "SELECT DISTINCT typeof(gpu_uj) FROM 'units.parquet'")" "BIGINT VARCHAR"
# sums of each kind are the database's, by its own arithmetic
while read -r kind table cpu; do
	"$agg" --db.url="$PGURL" --security.drop-privileges=false --export=$kind --from="$(date -u -d "@$T" +%F)" --to="$(date -u -d "@$((T + 86400))" +%F)" >"$SCRATCH/$kind.csv" 2>"$SCRATCH/said"
	duckdb "${command//units/$kind}"
	is "sums of $kind in Parquet are the database's" "$(duckdb "SELECT sum($cpu)::BIGINT, sum(host_uj)::BIGINT, sum(package_uj)::BIGINT FROM '$kind.parquet'")" \
		"$(sql "SELECT sum($cpu), sum(host_uj), sum(package_uj) FROM $table WHERE day = '$(date -u -d "@$T" +%F)'")"
done <<<$'days unit_day cpu_user_ns + cpu_system_ns\nusage usage_day cpu_ns'
is "what is not known is NULL" "$(duckdb "SELECT count(*) FROM 'units.parquet' WHERE uuid::VARCHAR = '2' AND cpu_user_ns IS NULL")" 1
tap_done
