#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make release, twice: the same commit in two folders, with another umask, time zone and language, gives the same bytes; the
# bill of materials names each package with its checksum.
# timeout 2400
. "$(dirname "$0")/../tap.sh"
for c in dh git jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
git rev-parse --verify -q HEAD >/dev/null || skip_all "not a clone"
mkdir -p "$SCRATCH/b/tmp"
git clone -q --no-hardlinks "file://$TOP" "$SCRATCH/a" && git clone -q --no-hardlinks "file://$TOP" "$SCRATCH/b/another-name" || skip_all "the tree cannot be cloned"
unset SOURCE_DATE_EPOCH DEBEMAIL DEBFULLNAME MAKEFLAGS MAKELEVEL
ok "a release is made" eval 'make -s -C "$SCRATCH/a" release OUT="$SCRATCH/first" >"$SCRATCH/log" 2>&1' || { tail "$SCRATCH/log"; tap_done; }
ok "and once more, elsewhere" eval '(umask 077; TZ=Asia/Tokyo LANG=C.UTF-8 TMPDIR="$SCRATCH/b/tmp" make -s -C "$SCRATCH/b/another-name" release OUT="$SCRATCH/second" >"$SCRATCH/log" 2>&1)' ||
	{ tail "$SCRATCH/log"; tap_done; }
is "no byte differs" "$(diff "$SCRATCH/first/SHA256SUMS" "$SCRATCH/second/SHA256SUMS" | sed -n 's/^< [0-9a-f]*  //p' | paste -sd' ')" ""
ok "checksums are of what is there" eval '(cd "$SCRATCH/first" && sha256sum --quiet -c SHA256SUMS)'
is "of everything" "$(cd "$SCRATCH/first" && find . -type f ! -name SHA256SUMS | wc -l)" "$(wc -l <"$SCRATCH/first/SHA256SUMS")"
echo "# $(wc -l <"$SCRATCH/first/SHA256SUMS") files"
spdx=$(ls "$SCRATCH"/first/*.spdx.json)
is "the bill of materials has each package, with its checksum" "$(jq -r '.packages[] | select(.packageFileName) | .checksums[0].checksumValue + "  " + .packageFileName' "$spdx" | sort)" \
	"$(grep -v 'dbgsym/\|spdx' "$SCRATCH/first/SHA256SUMS" | sort)"
is "and what they need, with versions" "$(jq -r '.packages[] | select(.name == "libgnutls30") | .versionInfo' "$spdx")" "$(dpkg-query -W -f '${Version}' libgnutls30)"
is "every name that it uses is one that it explains" \
	"$(jq -r '([.packages[].SPDXID] + ["SPDXRef-DOCUMENT"]) as $known | .relationships[] | .spdxElementId, .relatedSpdxElement | select(. as $i | $known | index($i) | not)' "$spdx" | head -3)" ""
is "a folder that is not empty is left alone" "$(packaging/release "$SCRATCH/first" 2>&1; echo $?)" "packaging/release: $SCRATCH/first is not empty
1"
tap_done
