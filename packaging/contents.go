package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2/files"

	"github.com/netwright/netwright/packaging/scripts"
)

//go:embed agent.yaml
var agentFile []byte

//go:embed lintian
var overrides []byte

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: netwright
Source: https://github.com/netwright/netwright

Files: *
Copyright: %d The Netwright authors
License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0 on Debian.
`

// stage is a directory with files that are made for packages: nfpm takes files alone.
type stage struct {
	dir   string
	built time.Time
	count int
}

func (s *stage) file(content []byte) (string, error) {
	s.count++
	path := filepath.Join(s.dir, fmt.Sprint(s.count))
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return "", fmt.Errorf("stage a file: %w", err)
	}
	return path, nil
}

func (s *stage) script(name string) (string, error) {
	text, err := scripts.Read(name)
	if err != nil {
		return "", err
	}
	return s.file(text)
}

// contents are the files of a package.
func (r release) contents(s *stage, format, arch string) (files.Contents, error) {
	var all files.Contents
	put := func(to, from, kind string, mode fs.FileMode) {
		all = append(all, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.built, Owner: "root", Group: "root"}})
	}
	var made error
	putMade := func(to string, content []byte, kind string) {
		path, err := s.file(content)
		if err != nil {
			made = err
		}
		put(to, path, kind, 0o644)
	}
	put("/usr/bin/netwright", r.programs[arch], "", 0o755)
	putMade("/etc/netwright/agent.yaml", agentFile, files.TypeConfigNoReplace)
	for _, unit := range []string{"agent", "recover", "undo"} {
		name := "netwright-" + unit + ".service"
		put("/usr/lib/systemd/system/"+name, filepath.Join(r.root, "systemd", name), "", 0o644)
	}
	if err := filepath.WalkDir(r.manual, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.manual, file)
		kind := ""
		if format == "rpm" {
			name = strings.Replace(name, "zsh/vendor-completions", "zsh/site-functions", 1) // the former is Debian's own place
			if strings.HasPrefix(name, "man/") {
				kind = files.TypeRPMDoc // rpm --excludedocs leaves them out
			}
		}
		put("/usr/share/"+name, file, kind, 0o644)
		return err
	}); err != nil {
		return nil, fmt.Errorf("find what `agent manual` wrote: %w", err)
	}
	if format == "rpm" {
		put("/usr/lib/systemd/system-preset/80-netwright.preset", filepath.Join(r.root, "systemd", "netwright.preset"), "", 0o644)
		put("/usr/share/licenses/netwright/LICENSE", filepath.Join(r.root, "LICENSE"), files.TypeRPMLicense, 0o644)
	} else {
		changes := fmt.Sprintf("netwright (%s) unstable; urgency=medium\n\n  * Built from %s.\n\n -- Netwright <maintainers@netwright.dev>  %s\n",
			r.version, strings.TrimSuffix(r.described, "-dirty"), r.built.Format(time.RFC1123Z))
		putMade("/usr/share/doc/netwright/changelog.gz", zipped([]byte(changes)), "")
		putMade("/usr/share/lintian/overrides/netwright", overrides, "")
		putMade("/usr/share/doc/netwright/copyright", fmt.Appendf(nil, copyright, r.built.Year()), "")
	}
	return all, made
}

// zipped is a text as `gzip -9n` packs it: without name and time.
func zipped(text []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // memory takes every write
	}
	return out.Bytes()
}
