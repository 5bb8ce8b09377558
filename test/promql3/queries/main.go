// SPDX-License-Identifier: GPL-2.0-or-later

// The queries in the tests of a Prometheus' PromQL: each text of its *_test.go and each eval
// line of its *.test, once, ended by a NUL. Some are no queries: its parser says which. A tool
// of the tests alone (test/e2e/promql_upstream.sh).
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	eval = regexp.MustCompile(`(?m)^\s*eval\w*\s+(?:instant\s+at\s+\S+|range\s+from\s+\S+\s+to\s+\S+\s+step\s+\S+)\s+(.*?)\s*$`)
	seen = map[string]bool{}
)

func put(text string) {
	// only UTF-8: what travels in JSON is
	if text == "" || len(text) > 2000 || seen[text] || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return
	}
	seen[text] = true
	fmt.Printf("%s\x00", text)
}

func putEvals(text string) {
	for _, m := range eval.FindAllStringSubmatch(text, -1) {
		put(m[1])
	}
}

func main() {
	err := filepath.WalkDir(os.Args[1], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".test") {
			text, err := os.ReadFile(path)
			putEvals(string(text))
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					putEvals(text)
					put(text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
