package ledger

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// broken is a disk on which nothing can be read or written.
type broken struct{ disk }

func (broken) ReadFile(string) ([]byte, error) { return nil, syscall.EIO }

func (broken) WriteFile(context.Context, string, []byte, hostfs.FileSpec) error {
	return syscall.ENOSPC
}

// The agent must not believe that something is recorded. The lines that keep it: state_files.go,
// saveState and writeJSON; effects.go, Save.
func TestAWriteThatFailsIsAnError(t *testing.T) {
	owed := Load(disk{})
	owed.Effects.Enqueue("effect:daemon-reload", "file:/a")
	for name, save := range map[string]func(Writer) error{
		"a pause":    func(w Writer) error { return SavePause(t.Context(), w, &Pause{By: "a"}) },
		"the API":    func(w Writer) error { return SaveAPICache(t.Context(), w, APICache{Node: "n"}) },
		"the effect": func(w Writer) error { return owed.Effects.Save(t.Context(), w) },
	} {
		if err := save(broken{disk{}}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s on a full disk: %v; want ENOSPC", name, err)
		}
	}
}

// A damaged record is an error, and no pause. The line that keeps it: pause.go, ReadPause.
func TestADamagedPausePausesNothing(t *testing.T) {
	for name, text := range map[string]string{"cut": `{"by": "a", "since": "2026-`, "empty": ""} {
		if p, err := ReadPause(disk{pauseFile: text}); p != nil || err == nil {
			t.Errorf("%s: %+v, %v; want no pause and an error", name, p, err)
		}
	}
	if p, err := ReadPause(disk{}); p != nil || err != nil {
		t.Errorf("no file: %+v, %v", p, err)
	}
}

// The lines that keep it: revisions.go, readRevision and revisionNumbers.
func TestARevisionThatCannotBeReadIsAnError(t *testing.T) {
	if rev, err := ReadRevision(broken{disk{}}, 1); rev != nil || !errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unreadable revision: %+v, %v; want none and EIO", rev, err)
	}
	d := disk{}
	for _, name := range []string{"2.json", "10.json", "3.json.tmp", "4", "07.json", "0.json", "-1.json", "+8.json", "x.json"} {
		d[revisionDir+"/"+name] = "{}"
	}
	if got, err := revisionNumbers(d); err != nil || !slices.Equal(got, []int{2, 10}) {
		t.Errorf("%v, %v; want 2 and 10", got, err)
	}
}
