package ledger

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/host"
)

// badSector is a disk that fails to read one file.
type badSector struct {
	Host
	failing failingDisk
}

func (d badSector) ReadFile(path string) ([]byte, error) { return d.failing.ReadFile(path) }

// The agent does not write over a list that is cut short or cannot be read. It moves that list
// aside, begins a new one, and reports that once. It does not write over a list that it moved aside
// before. The lines that keep it: state_files.go, setAside; pkg/host/hostfs/remove.go, SetAside.
func TestADamagedListIsKept(t *testing.T) {
	for file, note := range map[string]func(Host) error{
		undoneFile: func(w Host) error { return NoteUndone(t.Context(), w, Undone{Digest: "ab"}) },
		bootsFile:  func(w Host) error { return NoteBoot(t.Context(), w, Boot{ID: "1", Time: time.Now()}) },
		operatorActionsFile: func(w Host) error {
			return NoteOperatorAction(t.Context(), w, OperatorAction{Act: Resumed})
		},
	} {
		for how, on := range map[string]func(Host) Host{
			"torn":       func(w Host) Host { return w },
			"unreadable": func(w Host) Host { return badSector{w, failingDisk{w, file, syscall.EIO}} },
		} {
			root := t.TempDir()
			core, told := observer.New(zap.WarnLevel)
			h, err := host.Open(t.Context(), host.Options{Root: root, Log: zap.New(core)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Close() })
			const old = `[{"digest":"01"},{"dig`
			path := filepath.Join(root, file)
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(old), 0o600))
			if err = errors.Join(err, note(on(h.Files)), note(h.Files)); err != nil {
				t.Fatalf("%s, %s: the error is %v", file, how, err)
			}
			kept, err := os.ReadFile(path + damagedSuffix)
			if string(kept) != old {
				t.Errorf("%s, %s: %q is kept, %v", file, how, kept, err)
			}
			if now, err := os.ReadFile(path); err != nil || !json.Valid(now) {
				t.Errorf("%s, %s: the new one is %q, %v", file, how, now, err)
			}
			if n := told.Len(); n != 1 {
				t.Errorf("%s, %s: told %d times: %v", file, how, n, told.All())
			}

			const again = `[{"digest":"02"},{"dig`
			if err := errors.Join(os.WriteFile(path, []byte(again), 0o600), note(h.Files)); err != nil {
				t.Fatalf("%s, %s, again: %v", file, how, err)
			}
			first, _ := os.ReadFile(path + damagedSuffix)
			if second, err := os.ReadFile(path + damagedSuffix + ".2"); string(first) != old || string(second) != again {
				t.Errorf("%s, %s, again: %q and %q are kept, %v", file, how, first, second, err)
			}
		}
	}
}
