// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the files of a Warewulf overlay for a node, by the engine that Warewulf has, Go's text/template, with what
// packaging/warewulf uses of Warewulf's own: Id, Tags, Include, abort.
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

var errAbort = errors.New("abort")

func render(path string, n node) ([]byte, error) {
	var out bytes.Buffer
	functions := template.FuncMap{
		"abort": func() (string, error) { return "", errAbort },
		"Include": func(path string) (string, error) {
			text, err := os.ReadFile(path)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	}
	t, err := template.New(filepath.Base(path)).Funcs(functions).ParseFiles(path)
	if err == nil {
		err = t.Execute(&out, n)
	}
	return out.Bytes(), err
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
		case !strings.HasSuffix(path, ".ww"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, text, 0o644)
		}
		text, err := render(path, n)
		if errors.Is(err, errAbort) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(strings.TrimSuffix(target, ".ww"), text, 0o644)
	})
	if err != nil {
		log.Fatal(err)
	}
}
