// SPDX-License-Identifier: GPL-2.0-or-later

// What the parser of Prometheus 3 makes of queries: reads them, each ended by a NUL, and
// prints for each "+" and its tree or "-" and its error, ended by a NUL. A tool of the
// tests alone (test/e2e/promql_prometheus3.sh).
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	parser.EnableExperimentalFunctions = true
	parser.ExperimentalDurationExpr = true
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		q, err := in.ReadString(0)
		if err != nil {
			return
		}
		expr, err := parser.ParseExpr(q[:len(q)-1])
		if err != nil {
			fmt.Fprintf(out, "-%s\x00", err)
		} else {
			fmt.Fprintf(out, "+%s\x00", parser.Tree(expr))
		}
	}
}
