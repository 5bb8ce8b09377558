#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make data: a new table of Our World in Data goes into owid.csv country by country, and
# any other input leaves the old table as it is.
. "$(dirname "$0")/../tap.sh"

table=$TOP/contrib/emissions/owid.csv
refresh() { OWID_OUT=$SCRATCH/out.csv "$TOP/contrib/emissions/refresh" "$@" 2>"$SCRATCH/err"; }

like "the head names source, licence and year" "$(head -12 "$table")" 'Our World in Data.*edition of 20[0-9][0-9].*Creative Commons Attribution 4.0'

# as OWID writes it: several years, aggregates without a code, an entity with a comma
{
	echo 'Entity,Code,Year,Carbon intensity of electricity - gCO2/kWh'
	grep -v '^#' "$table" | awk -F, '$1 != "FR" && $1 != "AE" { print "\"Some, " $3 "\"," $2 ",2020,9.5"; print $3 "," $2 ",2100,77.12345" }'
	printf 'Africa,,2100,545.1\r\nWorld,OWID_WRL,2100,480\r\nFrance,FRA,2100,44.178123\r\nFrance,FRA,2099,99\r\n'
	echo 'United Arab Emirates,ARE,2100,nan'
} >"$SCRATCH/new.csv"
ok "a new table is taken" refresh "$SCRATCH/new.csv"
is "the newest year of a country, rounded" "$(grep '^FR,' "$SCRATCH/out.csv")" "FR,FRA,France,2100,44.178"
is "names stay" "$(grep '^DE,' "$SCRATCH/out.csv")" "DE,DEU,Germany,2100,77.123"
is "a country without a number keeps its row" "$(grep '^AE,' "$SCRATCH/out.csv")" "$(grep '^AE,' "$table")"
is "no country comes or goes" "$(grep -v '^#' "$SCRATCH/out.csv" | cut -d, -f1)" "$(grep -v '^#' "$table" | cut -d, -f1)"
like "the edition is of today" "$(head -12 "$SCRATCH/out.csv")" "edition of $(date -u +%Y)"
ok "an edition can be named" refresh "$SCRATCH/new.csv" 2031
like "and stands in the head" "$(cat "$SCRATCH/out.csv")" 'edition of 2031\.'
is "the shipped table is of 2025: numbers of 2024 for most of the larger countries" \
	"$(grep -o 'edition of [0-9]*' "$table") $(grep -cE '^(FR|DE|US|CN|GB|JP|IN|BR|ES|IT),.*,2024,' "$table")" "edition of 2025 10"

rm -f "$SCRATCH/out.csv"
echo '<html>come back later</html>' >"$SCRATCH/page.html"
ok "a web page is refused" eval '! refresh "$SCRATCH/page.html"'
head -20 "$SCRATCH/new.csv" >"$SCRATCH/half.csv"
ok "half a table is refused" eval '! refresh "$SCRATCH/half.csv"'
: >"$SCRATCH/empty.csv"
ok "an empty file is refused" eval '! refresh "$SCRATCH/empty.csv"'
ok "nothing was written then" [ ! -e "$SCRATCH/out.csv" ]
tap_done
