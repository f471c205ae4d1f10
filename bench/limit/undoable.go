package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/inflate"
)

const (
	undoDir  = "/var/lib/limit"
	undoName = "limit-undo"
)

// applyUndoable does what apply does, with the least that makes a change of sysctls undoable
// without this process. It also hashes each member, because a later run must be able to check every
// byte. It decompresses with the agent's code. So it is the lower limit of the agent's cold rows in
// the tables. It does not probe the network, and does not capture the state before.
func applyUndoable(manifest, url, sum, dir, program string) error {
	entries, err := load(manifest)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive, files := make(chan error, 1), make(chan error, 1)
	go func() { archive <- unpack(url, sum, dir, unpacking{asTheAgent, copyHashing}) }()
	go func() { files <- writeFiles(entries) }()
	ctx := context.Background()
	bus, err := dbus.NewSystemdConnectionContext(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	if err := arm(ctx, bus, program); err != nil {
		return err
	}
	if err := errors.Join(writeSysctls(entries), <-files, <-archive); err != nil {
		return err
	}
	if err := publish(entries, dir); err != nil {
		return err
	}
	return disarm(ctx, bus)
}

// arm copies the program that would undo, and writes a journal. It makes systemd run the copy once,
// as for an undo. Then it starts a timer, and a path unit that acts when a file is closed.
func arm(ctx context.Context, bus *dbus.Conn, program string) error {
	if err := os.MkdirAll(undoDir, 0o700); err != nil {
		return err
	}
	undo := filepath.Join(undoDir, "undo")
	if err := copyDurably(undo, program); err != nil {
		return err
	}
	journal := filepath.Join(undoDir, "journal")
	if err := errors.Join(os.WriteFile(journal, make([]byte, 16<<10), 0o600), syncFile(journal), syncFile(undoDir)); err != nil {
		return err
	}
	check := []dbus.Property{dbus.PropType("oneshot"), dbus.PropExecStart([]string{undo, "version"}, true),
		property("DefaultDependencies", false), property("CollectMode", "inactive-or-failed")}
	done := make(chan string, 1)
	if _, err := bus.StartTransientUnitContext(ctx, undoName+"-check.service", "replace", check, done); err != nil {
		return err
	}
	if result := <-done; result != "done" {
		return fmt.Errorf("the program that would undo cannot be run: %s", result)
	}
	service := []dbus.Property{dbus.PropExecStart([]string{undo, "version"}, true), property("CollectMode", "inactive-or-failed")}
	timer := []dbus.Property{property("CollectMode", "inactive-or-failed"), property("TimersMonotonic", []struct {
		Base string
		USec uint64
	}{{"OnActiveSec", uint64(time.Hour / time.Microsecond)}})}
	if _, err := bus.StartTransientUnitAux(ctx, undoName+".timer", "replace", timer,
		[]dbus.PropertyCollection{{Name: undoName + ".service", Properties: service}}, nil); err != nil {
		return err
	}
	path := []dbus.Property{property("CollectMode", "inactive-or-failed"),
		property("Paths", []struct{ Kind, Path string }{{"PathChanged", filepath.Join(undoDir, "maker")}})}
	_, err := bus.StartTransientUnitContext(ctx, undoName+".path", "replace", path, nil)
	return err
}

// disarm removes the journal durably, and then the units that would have run the undo.
func disarm(ctx context.Context, bus *dbus.Conn) error {
	if err := errors.Join(os.Remove(filepath.Join(undoDir, "journal")), syncFile(undoDir)); err != nil {
		return err
	}
	done := make(chan string, 2)
	units := []string{undoName + ".timer", undoName + ".path"}
	for _, unit := range units {
		if _, err := bus.StopUnitContext(ctx, unit, "replace", done); err != nil {
			return err
		}
	}
	for range units {
		if result := <-done; result != "done" {
			return fmt.Errorf("stopping what would have undone: %s", result)
		}
	}
	return os.RemoveAll(undoDir)
}

func asTheAgent(r io.Reader) (io.Reader, error) { return inflate.NewReader(r) }

// copyHashing copies and hashes in two goroutines: it hashes a block while it writes that block and
// reads the next one.
func copyHashing(to io.Writer, from io.Reader, buf []byte) (int64, error) {
	blocks, hashed := make(chan []byte), make(chan struct{})
	go func() {
		defer close(hashed)
		sum := sha256.New()
		for block := range blocks {
			sum.Write(block)
			hashed <- struct{}{}
		}
		sum.Sum(nil)
	}()
	defer func() { close(blocks); <-hashed }()
	halves := [2][]byte{buf[:len(buf)/2], buf[len(buf)/2:]}
	for i, busy, total := 0, false, int64(0); ; i++ {
		n, err := io.ReadFull(from, halves[i%2])
		if busy {
			<-hashed
		}
		if busy = n > 0; busy {
			blocks <- halves[i%2][:n]
			if _, err := to.Write(halves[i%2][:n]); err != nil {
				<-hashed
				return total, err
			}
			total += int64(n)
		}
		if err != nil {
			if busy {
				<-hashed
			}
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = nil
			}
			return total, err
		}
	}
}

func property(name string, value any) dbus.Property {
	return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
}

func copyDurably(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
