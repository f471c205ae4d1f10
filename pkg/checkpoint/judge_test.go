package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// onRoot returns a host of files alone, and its root.
func onRoot(t *testing.T) (*host.Host, string) {
	t.Helper()
	needs.Root(t) // files belong to root
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, root
}

// A change is bad only if the probes pass after the undo. If only the store failed, or if the
// failure came some time after the change, it is bad at the second time. The next hop of a route
// alone never makes it bad. An undo that is repeated belongs to the same try. The lines that keep
// it: verdict.go, judge (v.Bad, same); take.go, Take (Taken).
func TestJudge(t *testing.T) {
	errGone := errors.New("no answer")
	store, other := probe.FailedProbe{Probe: "store:/s c", Err: errGone}, probe.FailedProbe{Probe: "tcp:10.0.0.1:443", Err: errGone}
	hop := probe.FailedProbe{Probe: "next-hop:eth0/10.0.0.9", Err: errGone}
	type undo struct {
		pid       int // and, in tens, the try of that process
		failed    probe.Failures
		recovered bool
		bad       bool
		tries     int
	}
	const late = "while it was watched"
	for name, undos := range map[string][]undo{
		"the probes pass again":                                       {{1, probe.Failures{other}, true, true, 1}},
		"the probes pass again after the third undo":                  {{1, probe.Failures{other}, false, false, 1}, {2, probe.Failures{other}, false, false, 2}, {3, probe.Failures{other}, true, true, 3}},
		"only the store failed, and answers again":                    {{1, probe.Failures{store}, true, false, 1}},
		"only the store failed, and does not answer":                  {{1, probe.Failures{store}, false, false, 1}, {2, probe.Failures{store}, false, false, 2}},
		"only the store failed, in two tries":                         {{1, probe.Failures{store}, true, false, 1}, {2, probe.Failures{store}, true, true, 2}},
		"the store and another probe failed":                          {{1, probe.Failures{store, other}, true, true, 1}},
		"only the next hop of another node failed":                    {{1, probe.Failures{hop}, true, false, 1}, {2, probe.Failures{hop}, true, false, 2}},
		"the next hop of another node and the store failed":           {{1, probe.Failures{hop, store}, true, true, 1}},
		"no probe was made":                                           {{1, nil, false, false, 1}},
		late:                                                          {{1, probe.Failures{store, other}, true, false, 1}, {1, nil, false, false, 1}, {2, probe.Failures{other}, true, true, 2}},
		"the undo was killed and repeated, and only the store failed": {{1, probe.Failures{store}, true, false, 1}, {1, probe.Failures{store}, true, false, 1}},
		"the undo of the second try was killed and repeated":          {{1, probe.Failures{store}, false, false, 1}, {2, probe.Failures{store}, false, false, 2}, {2, probe.Failures{store}, true, true, 2}},
		"one daemon makes several tries":                              {{1, probe.Failures{store}, true, false, 1}, {11, probe.Failures{store}, false, false, 2}, {21, probe.Failures{store}, true, true, 3}, {31, probe.Failures{store}, true, true, 4}},
		"the undo was killed and repeated, and nothing fails":         {{1, probe.Failures{other}, true, true, 1}, {1, nil, false, true, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := onRoot(t)
			for i, u := range undos {
				j := &Journal{Digest: "d", Generation: 3, Process: host.Process{PID: u.pid % 10, Started: 1}, Taken: time.Duration(u.pid / 10), Watched: name == late}
				v, err := j.judge(t.Context(), h, u.failed, u.recovered, u.failed.String())
				if err != nil || v.Bad != u.bad || v.Tries != u.tries || name == late && v.Why == "" {
					t.Errorf("undo %d: %v, bad %v after %d tries, want %v after %d", i+1, err, v.Bad, v.Tries, u.bad, u.tries)
				}
			}
		})
	}
}

// The reason why a generation is kept back has the same text at each pass, since the daemon would
// log another text. A pause ends, and a ban does not. The line that keeps it: verdict.go, Error (no
// time that runs).
func TestHeldReadsTheSame(t *testing.T) {
	h, _ := onRoot(t)
	j := &Journal{Digest: "d", Generation: 3}
	v, err := j.judge(t.Context(), h, probe.Failures{{Probe: "store:/s c", Err: errors.New("gone")}}, true, "store:/s c (gone)")
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) string {
		if why := Suppressed(h.Live.Files, "d", v.At.Add(d)); why != nil {
			return why.Error()
		}
		return ""
	}
	want := "generation 3 was undone: store:/s c (gone); it is not known whether the change was the cause: only the store does not answer, and the store may have an outage. " +
		"The agent tries it again after " + v.At.Add(firstPause).UTC().Format(time.RFC3339)
	if first := at(0); first != want || at(firstPause-1) != want || (&UndoneError{v}).Error() != want {
		t.Errorf("held: %s\nand later: %s\nwant %s", first, at(firstPause-1), want)
	}
	if at(firstPause) != "" || at(-time.Hour) != "" || Suppressed(h.Live.Files, "another", v.At) != nil {
		t.Error("the generation is kept back for longer than the text says")
	}
}

// After an inconclusive result the pause before the next try doubles up to an hour. If only the
// agent ended, the first next try is at once. A change without a generation is not tried again.
// The lines that keep it: verdict.go, retry; undo.go, Error.
func TestThePauseBeforeTheNextTry(t *testing.T) {
	for tries, want := range map[int]time.Duration{0: firstPause, 1: firstPause, 2: 2 * firstPause, 7: 64 * firstPause, 8: maxPause, 99: maxPause} {
		if got := (Verdict{Tries: tries}).retry().Sub(time.Time{}); got != want {
			t.Errorf("after %d tries: %s, want %s", tries, got, want)
		}
	}
	for tries, want := range map[int]time.Duration{1: 0, 2: 2 * firstPause} {
		if got := (Verdict{Tries: tries, Why: agentEnded}).retry().Sub(time.Time{}); got != want {
			t.Errorf("the agent ended %d times: %s, want %s", tries, got, want)
		}
	}
	for want, v := range map[string]Verdict{
		"the change was undone: probe tcp:x failed after the change, and passes without it":                   {Bad: true, Why: "tcp:x"},
		"the change was undone: tcp:x; it is not known whether the change was the cause: the probes fail too": {Why: "tcp:x", Unsure: "the probes fail too"},
	} {
		if got := (&UndoneError{v}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The program that the host's unit names runs the undo, unless that is the copy. The line that
// keeps it: boot_unit.go, installedProgram.
func TestTheInstalledProgram(t *testing.T) {
	for text, want := range map[string]string{
		"": systemd.Program, "[Service]\nExecStart=/opt/bin/agent undo\n": "/opt/bin/agent",
		"[Service]\nExecStart=" + binaryFile + " undo\n": systemd.Program, "[Unit]\n": systemd.Program,
	} {
		h, root := onRoot(t)
		if text != "" {
			hostroot.Put(t, root, bootUnitFile, text)
		}
		if got := installedProgram(h); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The former owner of the lock may have undone the change, and may have died in the middle of the
// next one. The undo takes the journal that is there when it has the lock. The line that keeps it:
// undo.go, Undo (Pending after Lock).
func TestUndoTakesTheJournalThatIsThereNow(t *testing.T) {
	h, root := onRoot(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	journal := func(generation int64, path string) {
		t.Helper()
		data, err := json.Marshal(&Journal{Version: journalVersion, Boot: "another", Digest: path, Generation: generation, Log: undo.Log{Files: []undo.File{{Path: path}}}})
		if err != nil {
			t.Fatal(err)
		}
		write(JournalFile, string(data))
	}
	journal(1, "/first")
	write("/first", "wanted by now")
	write("/second", "to be undone")
	var told []int64
	settings := Settings{
		Lock: func(context.Context) (func(), error) {
			journal(2, "/second")
			return func() {}, nil
		},
		Record: func(_ context.Context, _ *host.Host, _ json.RawMessage, v Verdict) error {
			if _, err := os.Stat(filepath.Join(root, JournalFile)); err != nil {
				t.Errorf("the checkpoint is gone before its end was recorded: %v", err)
			}
			told = append(told, v.Generation)
			return nil
		},
	}
	v, err := Undo(t.Context(), h, settings)
	if err != nil || v.Generation != 2 || len(told) != 1 || told[0] != 2 {
		t.Errorf("undone: %+v, %v; told of %v", v, err, told)
	}
	if _, err := os.Stat(filepath.Join(root, "first")); err != nil {
		t.Error("a change that another process had settled was undone")
	}
	if _, err := os.Stat(filepath.Join(root, "second")); err == nil {
		t.Error("the change that must be undone is there")
	}
	// Another process undid it meanwhile: there is nothing to do and nothing to report.
	journal(3, "/first")
	settings.Lock = func(context.Context) (func(), error) {
		return func() {}, os.Remove(filepath.Join(root, JournalFile))
	}
	if v, err := Undo(t.Context(), h, settings); v != nil || err != nil || len(told) != 1 {
		t.Errorf("a second undo: %+v, %v; told of %v", v, err, told)
	}
	if _, err := os.Stat(filepath.Join(root, "first")); err != nil {
		t.Error("the second undo changed something")
	}
}

// If an undo cannot be recorded, its checkpoint stays for another try. The line that keeps it:
// undo.go, undo (err == nil before disarm).
func TestAnUndoThatIsNotRecordedIsDoneAgain(t *testing.T) {
	h, root := onRoot(t)
	data, err := json.Marshal(&Journal{Version: journalVersion, Boot: "another", Digest: "d", Generation: 1})
	if err == nil {
		err = os.WriteFile(filepath.Join(root, JournalFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	failing := true
	settings := Settings{Record: func(context.Context, *host.Host, json.RawMessage, Verdict) error {
		if failing {
			return errors.New("no space left")
		}
		return nil
	}}
	if _, err := Undo(t.Context(), h, settings); err == nil {
		t.Error("no error")
	}
	if j, err := Pending(h.Live.Files); j == nil || err != nil {
		t.Fatalf("the checkpoint is gone: %v", err)
	}
	failing = false
	if v, err := Undo(t.Context(), h, settings); err != nil || v == nil || v.Tries != 1 {
		t.Errorf("another attempt: %+v, %v", v, err)
	}
	if j, err := Pending(h.Live.Files); j != nil || err != nil {
		t.Errorf("the checkpoint stays: %v", err)
	}
}

// While a mount is missing, the undo of a boot leaves the checkpoint to the next pass. That pass
// ends it, also without the mount. The line that keeps it: undo.go, undo (Lock).
func TestAPassEndsAnUndoWhoseMountIsMissing(t *testing.T) {
	h, root := onRoot(t)
	data, err := json.Marshal(&Journal{Version: journalVersion, Boot: "another", Digest: "d", Generation: 1,
		Log: undo.Log{Files: []undo.File{{Path: "/srv/file", Type: hostfs.Regular, Content: []byte("old")}}, Mounts: []string{"/srv"}}})
	if err = errors.Join(err, os.Mkdir(root+"/srv", 0o755), os.WriteFile(root+JournalFile, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	unlocked := func(context.Context) (func(), error) { return func() {}, nil }
	if _, err := Undo(t.Context(), h, Settings{Lock: unlocked}); err == nil || !strings.Contains(err.Error(), "/srv: what was mounted there before the change is missing") {
		t.Errorf("at the boot: %v", err)
	}
	if j, err := Pending(h.Live.Files); j == nil || err != nil {
		t.Fatalf("the checkpoint is gone: %v", err)
	}
	v, err := Undo(t.Context(), h, Settings{})
	if err != nil || v == nil || len(v.Left) != 1 || hostroot.There(root, "/srv/file") {
		t.Errorf("the pass: %+v, %v", v, err)
	}
}

// An undo on another machine, from whose disk this one boots, keeps nothing back here. The lines
// that keep it: verdict.go, judge (Machine) and lastVerdict.
func TestAVerdictIsOfItsMachine(t *testing.T) {
	h, root := onRoot(t)
	for _, c := range []struct {
		id    string
		tries int // after one more undo; 0: none
		held  bool
	}{{"one\n", 1, true}, {"one\n", 2, true}, {"two\n", 0, false}, {"", 0, true}, {"two\n", 1, true}} {
		hostroot.Put(t, root, "/etc/machine-id", c.id)
		if c.tries > 0 {
			j := &Journal{Digest: "d", Generation: 3, Taken: time.Duration(c.tries)}
			failed := probe.Failures{{Probe: "route:10.0.0.0/8", Err: errors.New("gone")}}
			if v, err := j.judge(t.Context(), h, failed, true, "gone"); err != nil || v.Tries != c.tries {
				t.Errorf("%q: %d tries, want %d: %v", c.id, v.Tries, c.tries, err)
			}
		}
		if got := Suppressed(h.Live.Files, "d", time.Now().AddDate(1, 0, 0)); (got != nil) != c.held {
			t.Errorf("%q after %d tries: held %v, want %v", c.id, c.tries, got, c.held)
		}
	}
}

// The disk of a machine whose change was not confirmed boots as another machine. The files are
// restored, and the generation is not bad on this machine. The line that keeps it: verdict.go,
// judge (Machine).
func TestAnUndoOnAnotherMachineIsNoVerdictOfIt(t *testing.T) {
	for id, held := range map[string]bool{"one\n": true, "two\n": false} {
		h, root := onRoot(t)
		hostroot.Put(t, root, "/etc/machine-id", id)
		j := &Journal{Version: journalVersion, Boot: "another", Machine: "one", Digest: "d", Awaits: &Awaits{By: "ada", For: time.Hour}}
		if err := j.write(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		var told Verdict
		record := func(_ context.Context, _ *host.Host, _ json.RawMessage, v Verdict) error { told = v; return nil }
		if _, err := Undo(t.Context(), h, Settings{Record: record}); err != nil {
			t.Fatal(err)
		}
		if got := Suppressed(h.Live.Files, "d", time.Now()); (got != nil) != held || told.Machine != "one" || told.Why != "nobody confirmed it before the node went down" {
			t.Errorf("on %q: held %v, want %v; told of %q, %q", id, got, held, told.Machine, told.Why)
		}
	}
}
