# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by measurements of pairs: FOLDER/times.with and times.without have a number per line.
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# The 2.5th and the 97.5th percentile of the ratio of medians over 2000 draws of as many
# pairs: how far chance alone moves it.
spread() {
	paste "$1/times.with" "$1/times.without" | awk '
	function order(v, ret, n,   i, j) {
		for (i = 1; i <= n; i++) {
			for (j = i; j > 1 && v[ret[j - 1]] > v[i]; j--) ret[j] = ret[j - 1]
			ret[j] = i
		}
	}
	function median(v, by, times, n,   i, seen) {
		for (i = 1; i <= n; i++) {
			seen += times[by[i]]
			if (seen * 2 >= n) return v[by[i]]
		}
	}
	{ a[NR] = $1; b[NR] = $2 }
	END {
		srand(1)
		order(a, by_a, NR)
		order(b, by_b, NR)
		for (d = 0; d < 2000; d++) {
			for (i = 1; i <= NR; i++) times[i] = 0
			for (i = 1; i <= NR; i++) times[int(rand() * NR) + 1]++
			print median(a, by_a, times, NR) / median(b, by_b, times, NR)
		}
	}' | sort -g | awk '{ v[NR] = $1 } END { printf "%.4f %.4f\n", v[50], v[1950] }'
}

# median_ratio BENCH METRIC REACH FOLDER: prints the result; REACH may be empty
median_ratio() {
	local low high
	read -r low high < <(spread "$4")
	awk -v bench="$1" -v metric="$2" -v reach="$3" -v low="$low" -v high="$high" -v a="$(median "$4/times.with")" \
		-v b="$(median "$4/times.without")" -v n="$(wc -l <"$4/times.with")" 'BEGIN {
		r = a / b
		bound = reach == "" ? "" : sprintf(",\"reach\":\"< %s\",\"ok\":%s", reach, r < reach ? "true" : "false")
		printf "{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.4f,\"unit\":\"ratio\",\"pairs\":%d,\"spread\":[%s,%s],\"with_us\":%d,\"without_us\":%d%s}\n", bench, metric, r, n, low, high, a, b, bound }'
}
