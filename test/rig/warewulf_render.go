// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the files of a Warewulf overlay for a node, by the engine that Warewulf 4.6 has, Go's text/template, with what
// packaging/warewulf uses of Warewulf's own, as they are there: Id, Tags; Include, to which a file that it cannot read is
// an empty one; abort, which writes no file but goes on; fail (of sprig). Files have the mode of their template.
//
//	go run warewulf_render.go ROOTFS FOLDER ID [TAG=VALUE...]
package main

import (
	"bytes"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

type node struct {
	Id   string
	Tags map[string]string
}

func render(path string, n node) (text []byte, write bool, err error) {
	var out bytes.Buffer
	write = true
	functions := template.FuncMap{
		"abort": func() string { write = false; return "" },
		"fail":  func(text string) (string, error) { return "", errors.New(text) },
		"Include": func(path string) string {
			text, _ := os.ReadFile(path)
			return strings.TrimSuffix(string(text), "\n")
		},
	}
	t, err := template.New(filepath.Base(path)).Option("missingkey=default").Funcs(functions).ParseFiles(path)
	if err == nil {
		err = t.Execute(&out, n)
	}
	return out.Bytes(), write, err
}

func main() {
	log.SetFlags(0)
	from, to := os.Args[1], os.Args[2]
	n := node{os.Args[3], map[string]string{}}
	for _, tag := range os.Args[4:] {
		name, value, _ := strings.Cut(tag, "=")
		n.Tags[name] = value
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		write := true
		if strings.HasSuffix(path, ".ww") {
			text, write, err = render(path, n)
		} else {
			text, err = os.ReadFile(path)
		}
		if err != nil || !write {
			return err
		}
		return os.WriteFile(strings.TrimSuffix(target, ".ww"), text, info.Mode())
	})
	if err != nil {
		log.Fatal(err)
	}
}
