package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"
)

// check compares everything except the bytes of the members on one processor, while D-Bus answers.
// With verify it also compares the bytes of the members, on all processors.
func check(manifest string, verify bool) error {
	entries, err := load(manifest)
	if err != nil {
		return err
	}
	units := make(chan error, 1)
	go func() { units <- checkUnits(entries) }()
	hashed := make(chan error, 1)
	go func() {
		if verify {
			hashed <- hashMembers(entries)
		} else {
			hashed <- nil
		}
	}()
	var wrong []error
	buf := make([]byte, 64<<10)
	for i := range entries {
		if problem := look(&entries[i], buf); problem != "" {
			wrong = append(wrong, errors.New(entries[i].path+": "+problem))
		}
	}
	return errors.Join(append(wrong, <-units, <-hashed)...)
}

func look(e *entry, buf []byte) string {
	switch e.kind {
	case "file":
		fd, err := unix.Open(e.path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err.Error()
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || !same(&stat, e) {
			return "size, mode or owner differs"
		}
		n, err := unix.Read(fd, buf)
		if err != nil || !bytes.Equal(buf[:n], e.body) {
			return "content differs"
		}
	case "member":
		var stat unix.Stat_t
		if err := unix.Lstat(e.path, &stat); err != nil || !same(&stat, e) {
			return "absent, or size, mode or owner differs"
		}
	case "sysctl":
		fd, err := unix.Open("/proc/sys/"+strings.ReplaceAll(e.path, ".", "/"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err.Error()
		}
		defer unix.Close(fd)
		n, err := unix.Read(fd, buf)
		if err != nil {
			return err.Error()
		}
		have := bytes.ReplaceAll(bytes.TrimSpace(buf[:n]), []byte("\t"), []byte(" "))
		if !bytes.Equal(have, e.body) {
			return "is " + string(have)
		}
	}
	return ""
}

func same(stat *unix.Stat_t, e *entry) bool {
	return stat.Mode == unix.S_IFREG|e.mode && stat.Uid == 0 && stat.Gid == 0 && stat.Size == e.size
}

func checkUnits(entries []entry) error {
	ctx := context.Background()
	var bus *dbus.Conn
	for _, e := range entries {
		if e.kind != "unit" {
			continue
		}
		if bus == nil {
			var err error
			if bus, err = dbus.NewSystemdConnectionContext(ctx); err != nil {
				return fmt.Errorf("asking systemd: %w", err)
			}
			defer bus.Close()
		}
		for property, want := range map[string]string{"ActiveState": "active", "UnitFileState": "enabled"} {
			have, err := bus.GetUnitPropertyContext(ctx, e.path, property)
			if err != nil {
				return fmt.Errorf("asking for %s: %w", e.path, err)
			}
			if have.Value.Value() != want {
				return fmt.Errorf("%s: %s is %v", e.path, property, have.Value)
			}
		}
	}
	return nil
}

func hashMembers(entries []entry) error {
	work := make(chan *entry, len(entries))
	for i := range entries {
		if entries[i].kind == "member" {
			work <- &entries[i]
		}
	}
	close(work)
	workers := runtime.GOMAXPROCS(0)
	wrong := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			buf := make([]byte, 256<<10)
			for e := range work {
				if sum, err := hash(e.path, buf); err != nil || sum != string(e.body) {
					wrong[w] = errors.Join(wrong[w], fmt.Errorf("%s: content differs: %w", e.path, err))
				}
			}
		})
	}
	all.Wait()
	return errors.Join(wrong...)
}

func hash(path string, buf []byte) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{file}, buf); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
