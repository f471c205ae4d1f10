package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// open returns a ledger on a real directory, and the host that writes it.
func open(t testing.TB, root string) (*Ledger, *host.Host) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return Load(h.Live.Files), h
}

func entry(key string, mode Mode) Entry { return Entry{Key: graph.Key(key), Mode: mode, Last: "x"} }

func commit(t testing.TB, l *Ledger, h *host.Host, b Batch) {
	t.Helper()
	if err := l.Commit(t.Context(), h.Files, b); err != nil {
		t.Fatal(err)
	}
}

func TestCommittedBatchesComeBack(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	for i := range 200 { // enough that the journal is rewritten several times
		b := Batch{Put: []Entry{entry("file:/a", Owned), entry(fmt.Sprintf("file:/b%d", i%7), Found)}, Dirs: map[string]int64{"/etc": int64(i + 1)},
			Head: Head{Fingerprint: fmt.Sprint(i), Clean: true, Current: i}}
		if i%5 == 4 {
			b.Drop = []graph.Key{"file:/a"}
		}
		commit(t, l, h, b)
		again, _ := open(t, root)
		if again.Head() != b.Head || again.Dirs()["/etc"] != 1 {
			t.Fatalf("after batch %d the head is %+v and the time of /etc %d: want the last head and the first time", i, again.Head(), again.Dirs()["/etc"])
		}
		if diff := cmp.Diff(l.Entries(), again.Entries()); diff != "" {
			t.Fatalf("after batch %d: %s", i, diff)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n > 100 {
		t.Errorf("the journal has %d lines for 8 entries: it is never replaced", n)
	}
}

// A crash may leave any part of the last batch, and the ledger then ignores that batch. The line
// that keeps it: journal_lines.go, readLines (lines[:committed]).
func TestATornBatchNeverHappened(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}})
	whole, err := os.ReadFile(filepath.Join(root, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	commit(t, l, h, Batch{Put: []Entry{entry("file:/b", Owned), entry("file:/c", Owned)}, Drop: []graph.Key{"file:/a"}, Head: Head{Current: 2}})
	both, err := os.ReadFile(filepath.Join(root, JournalFile))
	if err != nil || !bytes.HasPrefix(both, whole) {
		t.Fatalf("the second batch was not appended: %v", err)
	}
	for cut := len(whole); cut < len(both); cut++ {
		for _, tail := range []string{"", strings.Repeat("\x00", 20)} {
			if err := os.WriteFile(filepath.Join(root, JournalFile), append(both[:cut:cut], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			got, h := open(t, root)
			if cut == len(both)-1 && tail == "" { // only the end of the line is missing: both states are right
				continue
			}
			if got.Lost || got.Head().Current != 1 || len(got.Entries()) != 1 {
				t.Fatalf("cut at %d of %d: lost %v, head %+v, %d entries; want the first batch", cut, len(both), got.Lost, got.Head(), len(got.Entries()))
			}
			if cut%40 == 0 { // the next batch can be written here
				commit(t, got, h, Batch{Put: []Entry{entry("file:/d", Found)}, Head: Head{Current: 3}})
				if next, _ := open(t, root); next.Lost || len(next.Entries()) != 2 {
					t.Fatalf("cut at %d: after the next batch lost %v, %d entries", cut, next.Lost, len(next.Entries()))
				}
			}
		}
	}
}

// The line that keeps it: journal_lines.go, readLines (bad before something good).
func TestAChangedJournalIsNotBelieved(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Found)}, Head: Head{Current: 1}})
	commit(t, l, h, Batch{Put: []Entry{entry("file:/b", Owned)}, Head: Head{Current: 2}})
	data, err := os.ReadFile(filepath.Join(root, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(data, '\n')
	for i := range first {
		changed := bytes.Clone(data)
		changed[i] ^= 0x20
		if err := os.WriteFile(filepath.Join(root, JournalFile), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := open(t, root); !got.Lost || len(got.Entries()) != 0 || len(got.Damage()) != 1 {
			t.Fatalf("byte %d changed: lost %v, entries %v, damage %q", i, got.Lost, got.Entries(), got.Damage())
		}
	}
}

// The line that keeps it: revisions.go, saveContents (0700 and 0600).
func TestContentsAreForRootOnly(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Blobs: []blob.Content{blob.Of([]byte("secret"))}, Revision: &Revision{Number: 1}, Head: Head{Current: 1}})
	err := filepath.Walk(filepath.Join(root, Dir), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTenRevisionsAreKeptAndTheHeldOne(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	head := Head{Pin: &Pin{Revision: 2}}
	for i := 1; i <= 25; i++ {
		head.Current = i
		commit(t, l, h, Batch{Blobs: []blob.Content{blob.Of(fmt.Append(nil, i))}, Revision: &Revision{Number: i}, Head: head})
		if err := l.Tidy(h.Files); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := revisionNumbers(h.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}, kept); diff != "" {
		t.Errorf("the kept revisions (-want +got):\n%s", diff)
	}
	blobs, err := h.Live.Files.ReadDir(blobDir)
	if err != nil || len(blobs) != 0 {
		t.Errorf("contents that nothing names are kept: %v, %v", blobs, err)
	}
}

// A hold is not valid on another machine that boots from the disk. If the machine-id is not known,
// for example since it cannot be read, the machine counts as the same, and the hold stays. The
// lines that keep it: ledger.go, LoadWith; pkg/host/machine_id.go, IsOtherMachine.
func TestAHoldIsOfItsMachine(t *testing.T) {
	for own, held := range map[string]bool{"this\n": true, "": true, "another\n": false} {
		root := t.TempDir()
		l, h := open(t, root)
		commit(t, l, h, Batch{Head: Head{Pin: &Pin{Revision: 2}, Boot: "boot", Machine: "this"}})
		if err := os.MkdirAll(root+"/etc", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/etc/machine-id", []byte(own), 0o444); err != nil {
			t.Fatal(err)
		}
		if head := Load(h.Live.Files).Head(); (head.Pin != nil) != held || (head.Boot != "") != held {
			t.Errorf("the machine-id is %q: %+v", own, head)
		}
	}
}

// What changes and boots showed of one machine does not count for another machine with the disk:
// which generation is applied or proved, and whether a change is held back. What the other machine
// shows replaces it. The lines that keep it: ledger.go, LoadWith; applied.go, ReadApplied;
// undone.go, ReadUndone; boots.go, ReadBoots; probation.go, Trials; pending_update.go, ReadUpdate;
// operator_actions.go, ReadOperatorActions.
func TestWhatWasShownIsOfItsMachine(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	machine := func(id string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(root+"/etc", 0o755), os.WriteFile(root+"/etc/machine-id", []byte(id+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	show := func(id string) {
		t.Helper()
		machine(id)
		err := errors.Join(SaveApplied(t.Context(), h.Files, &Applied{Generation: 1, Digest: "d"}),
			NoteUndone(t.Context(), h.Files, Undone{Digest: id}), NoteBoot(t.Context(), h.Files, Boot{ID: id}),
			SaveTrials(t.Context(), h.Files, []Probation{{Unit: id}}),
			SaveUpdate(t.Context(), h.Files, &Update{Digest: "d", LetGo: "root"}),
			NoteOperatorAction(t.Context(), h.Files, OperatorAction{Act: RolledBack, By: id}))
		if err != nil {
			t.Fatal(err)
		}
	}
	known := func(id string) string {
		t.Helper()
		machine(id)
		r := h.Live.Files
		applied, err1 := ReadApplied(r)
		undone, err2 := ReadUndone(r)
		boots, err3 := ReadBoots(r)
		trials, err4 := Trials(r)
		waits, err5 := ReadUpdate(r)
		actions, err6 := ReadOperatorActions(r)
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			t.Fatal(err)
		}
		out := fmt.Sprint(applied != nil, !Load(r).Head().Proof.At.IsZero())
		for _, u := range undone {
			out += " undone " + u.Digest
		}
		for _, b := range boots {
			out += " boot " + b.ID
		}
		for _, p := range trials {
			out += " trial " + p.Unit
		}
		if waits != nil {
			out += " let go " + waits.Machine
		}
		for _, a := range actions {
			out += " done by " + a.By
		}
		return out
	}
	show("one")
	commit(t, l, h, Batch{Head: Head{Machine: "one", Proof: Proof{At: time.Unix(1, 0)}}})
	if got := known("one"); got != "true true undone one boot one trial one let go one done by one" {
		t.Errorf("of itself: %s", got)
	}
	if got := known("two"); got != "false false" {
		t.Errorf("of another: %s", got)
	}
	show("two")
	if got := known("two"); got != "true false undone two boot two trial two let go two done by two" {
		t.Errorf("of the other, once it has shown something: %s", got)
	}
}

// A revision of another machine has the addresses of that machine. The agent does not list it, keep
// it or roll back to it, and removes it with the next new revision. Changes of others on that
// machine do not count on this one, also after the ledger belongs to this machine. The lines that
// keep it: revisions.go, Revisions, ReadRevision and Tidy (IsOtherMachine); ledger.go, LoadWith
// (inherited); journal.go, Entries.
func TestARevisionIsOfItsMachine(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	machine := func(id string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(root+"/etc", 0o755), os.WriteFile(root+"/etc/machine-id", []byte(id+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	machine("one")
	commit(t, l, h, Batch{Head: Head{Machine: "one", Current: 1}, Revision: &Revision{Number: 1, Machine: "one"},
		Put: []Entry{{Key: "sysctl:a", Drift: &Drift{Repairs: 3}}}})
	known := func() (string, error) {
		list, err := Revisions(h.Live.Files)
		_, one := ReadRevision(h.Live.Files, 1)
		return fmt.Sprint(len(list), one == nil, Load(h.Live.Files).Entries()["sysctl:a"].Drift != nil), err
	}
	if got, err := known(); got != "1 true true" || err != nil {
		t.Errorf("of itself: %s, %v", got, err)
	}
	machine("two")
	if got, err := known(); got != "0 false false" || err != nil {
		t.Errorf("of another: %s, %v", got, err)
	}
	l = Load(h.Live.Files)
	number, err := l.NextRevision(h.Live.Files)
	if err != nil || number != 2 {
		t.Fatalf("the next is %d: %v", number, err)
	}
	commit(t, l, h, Batch{Head: Head{Machine: "two", Current: 2}, Revision: &Revision{Number: 2, Machine: "two"}})
	if err := l.Tidy(h.Files); err != nil {
		t.Fatal(err)
	}
	if got, err := known(); got != "1 false false" || err != nil {
		t.Errorf("once the other has one: %s, %v", got, err)
	}
	if names, err := h.Live.Files.ReadDir(revisionDir); len(names) != 1 || err != nil {
		t.Errorf("%s has %q, %v", revisionDir, names, err)
	}
}

// The eleventh revision removes the contents that nothing names any more. It keeps each content
// that is named by a kept revision, by the revision at which the node is held, or by an entry's
// baseline or task. The lines that keep it: revisions.go, Tidy (name, of revisions and of entries).
func TestTidyKeepsWhatIsNamed(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	content := func(name string, i int) blob.Content { return blob.Of(fmt.Appendf(nil, "%s %d", name, i)) }
	digest := func(name string, i int) blob.Digest { return sha256.Sum256(fmt.Appendf(nil, "%s %d", name, i)) }
	head, base := Head{Pin: &Pin{Revision: 2}}, digest("baseline", 0)
	for i := 1; i <= 15; i++ {
		head.Current = i
		e := entry("file:/a", Found)
		e.Baseline = &tasks.Baseline{Live: "x", Blob: &base}
		e.Task = &tasks.Recorded{Kind: "file", Blobs: []blob.Digest{digest("entry", i)}}
		commit(t, l, h, Batch{
			Put: []Entry{e}, Head: head, Blobs: []blob.Content{content("revision", i), content("entry", i), content("baseline", 0)},
			Revision: &Revision{Number: i, Tasks: []tasks.Recorded{{Kind: "file", Blobs: []blob.Digest{digest("revision", i)}}}},
		})
		if err := l.Tidy(h.Files); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{digest("entry", 15).String(): true, base.String(): true, digest("revision", 2).String(): true}
	for i := 6; i <= 15; i++ {
		want[digest("revision", i).String()] = true
	}
	kept, err := h.Live.Files.ReadDir(blobDir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, name := range kept {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the kept contents (-want +got):\n%s", diff)
	}
}

// FuzzJournal: for any file the reader returns, or says that the file is damaged. What it accepts,
// it writes back unchanged.
func FuzzJournal(f *testing.F) {
	entries := map[graph.Key]Entry{"file:/a": entry("file:/a", Owned), "sysctl:net.x": entry("sysctl:net.x", Found)}
	seed, err := wholeJournal(entries, map[string]int64{"/etc": 1}, Head{Current: 3, Pin: &Pin{Revision: 2, By: "root"}})
	if err != nil {
		f.Fatal(err)
	}
	more, err := appendLine(seed, lineDrop, "file:/a")
	if err != nil {
		f.Fatal(err)
	}
	more, err = appendLine(more, lineHead, Head{Current: 4})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range [][]byte{nil, seed, seed[:len(seed)/2], more, more[:len(more)-3], append(seed[:len(seed):len(seed)], "00000000 h {}\n"...), bytes.Repeat([]byte{0}, 99)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := Load(disk{JournalFile: string(data)})
		entries, head := l.Entries(), l.Head()
		if l.Lost && (len(entries) != 0 || head != Head{Lost: true}) {
			t.Fatal("a journal that is not believed was believed in part")
		}
		text, err := wholeJournal(entries, l.Dirs(), head)
		if err != nil {
			t.Fatal(err)
		}
		again := Load(disk{JournalFile: string(text)})
		a, errA := json.Marshal(again.Entries())
		b, errB := json.Marshal(entries)
		if again.Lost || errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("written back it reads otherwise:\n%s\n%s", b, a)
		}
	})
}
