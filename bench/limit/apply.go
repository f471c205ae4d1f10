package main

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const staged = ".limit-"

// apply applies the manifest on an empty node. One goroutine downloads and hashes the archive.
// Another one decompresses and writes it. A third one writes files and sysctls and calls systemd.
// All members are written next to their final path. Then follow one syncfs and the renames.
func apply(manifest, url, sum, dir string) error {
	entries, err := load(manifest)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive := make(chan error, 1)
	go func() { archive <- unpack(url, sum, dir, byLibrary) }()
	if err := errors.Join(writeFiles(entries), writeSysctls(entries)); err != nil {
		return err
	}
	// The units are small, and are renamed at once, so that systemd reads them while the archive is
	// downloaded.
	if err := start(entries); err != nil {
		return err
	}
	if err := <-archive; err != nil {
		return err
	}
	return publish(entries, dir)
}

func writeFiles(entries []entry) error {
	for _, e := range entries {
		if e.kind != "file" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(e.path), 0o755); err != nil {
			return err
		}
		if err := writeFile(e.path, e.body, os.FileMode(e.mode)); err != nil {
			return err
		}
	}
	return nil
}

func writeSysctls(entries []entry) error {
	for _, e := range entries {
		if e.kind != "sysctl" {
			continue
		}
		if err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(e.path, ".", "/"), e.body, 0); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, content []byte, mode os.FileMode) error {
	temporary := filepath.Join(filepath.Dir(path), staged+filepath.Base(path))
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	if err := os.Chmod(temporary, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func start(entries []entry) error {
	ctx := context.Background()
	bus, err := dbus.NewSystemdConnectionContext(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	for _, e := range entries {
		if e.kind != "unit" {
			continue
		}
		if _, _, err := bus.EnableUnitFilesContext(ctx, []string{e.path}, false, true); err != nil {
			return err
		}
		if err := bus.ReloadContext(ctx); err != nil {
			return err
		}
		done := make(chan string, 1)
		if _, err := bus.StartUnitContext(ctx, e.path, "replace", done); err != nil {
			return err
		}
		if result := <-done; result != "done" {
			return fmt.Errorf("starting %s: %s", e.path, result)
		}
	}
	return nil
}

// publish syncs the members and renames them to their final paths.
func publish(entries []entry, dir string) error {
	root, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return err
	}
	for _, e := range entries {
		if e.kind != "member" {
			continue
		}
		if err := os.Rename(filepath.Join(dir, staged+filepath.Base(e.path)), e.path); err != nil {
			return err
		}
	}
	return root.Sync()
}

// unpacking says how to decompress an archive, and how to copy a member to its file.
type unpacking struct {
	gunzip func(io.Reader) (io.Reader, error)
	copy   func(to io.Writer, from io.Reader, buf []byte) (int64, error)
}

var byLibrary = unpacking{func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, io.CopyBuffer}

func unpack(url, want, dir string, how unpacking) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	reader, writer := io.Pipe()
	sum := make(chan string, 1)
	go func() { sum <- fetch(response.Body, writer) }()
	unzipped, err := decompress(bufio.NewReaderSize(reader, 512<<10), how.gunzip)
	if err != nil {
		return err
	}
	list := tar.NewReader(unzipped)
	buf := make([]byte, 512<<10)
	for {
		header, err := list.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := stage(filepath.Join(dir, staged+filepath.Base(header.Name)), list, how.copy, buf); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, unzipped); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return err
	}
	if have := <-sum; have != want {
		return fmt.Errorf("the archive's sha256 is %s", have)
	}
	return nil
}

// decompress reads gzip or zstd, which it recognises by the first bytes.
func decompress(from *bufio.Reader, gunzip func(io.Reader) (io.Reader, error)) (io.Reader, error) {
	if head, err := from.Peek(4); err == nil && string(head) == "\x28\xb5\x2f\xfd" {
		return zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	}
	return gunzip(from)
}

// fetch hashes what it reads and passes it on, a few blocks ahead of the reader.
func fetch(body io.Reader, to *io.PipeWriter) string {
	free, full := make(chan []byte, 8), make(chan []byte, 8)
	for range cap(free) {
		free <- make([]byte, 256<<10)
	}
	go func() {
		for block := range full {
			to.Write(block)
			free <- block[:cap(block)]
		}
		to.Close()
	}()
	sum := sha256.New()
	for {
		block := <-free
		n, err := io.ReadFull(body, block)
		sum.Write(block[:n])
		full <- block[:n]
		if err != nil {
			close(full)
			return hex.EncodeToString(sum.Sum(nil))
		}
	}
}

func stage(path string, content io.Reader, copyTo func(io.Writer, io.Reader, []byte) (int64, error), buf []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := copyTo(struct{ io.Writer }{file}, struct{ io.Reader }{content}, buf); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Chmod(0o755), file.Close())
}
