package ledger

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// The lines that keep it: boots.go, NoteBoot.
func TestBootsAreRemembered(t *testing.T) {
	needs.Root(t) // files belong to root
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	note := func(b Boot) {
		t.Helper()
		if err := NoteBoot(t.Context(), h.Files, b); err != nil {
			t.Fatal(err)
		}
	}
	key := func(path, content string) BootKey {
		text, _ := json.Marshal(content)
		return BootKey{Key: graph.MakeKey(tasks.KindFile, path), Task: &tasks.Recorded{Kind: "file", Params: text}}
	}
	last := func() Boot {
		t.Helper()
		list, err := ReadBoots(h.Live.Files)
		if err != nil || len(list) == 0 {
			t.Fatalf("ReadBoots returns %+v, %v", list, err)
		}
		return list[len(list)-1]
	}
	note(Boot{ID: "0", Names: []string{"/d"}, Keys: []BootKey{key("/d", "x")}, Tries: 1, Outcome: "bad"})
	note(Boot{ID: "1", Names: []string{"/a", "/b"}, Keys: []BootKey{key("/a", "x"), key("/b", "x")}, Tries: 1, Outcome: "restored"})
	note(Boot{ID: "1", Names: []string{"/a", "/b"}, Keys: []BootKey{key("/a", "x"), key("/b", "x")}, Tries: 1, Outcome: "unsure"})
	if b := last(); b.Outcome != "unsure" || b.Tries != 1 {
		t.Errorf("the same boot twice: %+v", b)
	}
	note(Boot{ID: "2", Names: []string{"/a"}, Keys: []BootKey{key("/a", "x")}, Tries: 1, Outcome: "unsure"})
	if b := last(); b.Tries != 2 {
		t.Errorf("the same change failed twice: %+v", b)
	}
	note(Boot{ID: "3", Names: []string{"/a"}, Keys: []BootKey{key("/a", "y")}, Tries: 1, Outcome: "bad"})
	if b := last(); b.Tries != 1 {
		t.Errorf("another change failed: %+v", b)
	}
	note(Boot{ID: "4", Names: []string{"/a"}, Outcome: "confirmed"})
	for i := range 2 * maxBoots {
		note(Boot{ID: fmt.Sprint("later ", i), Names: []string{"/c"}, Outcome: "confirmed"})
	}
	list, err := ReadBoots(h.Live.Files)
	if err != nil || len(list) != maxBoots || list[0].ID != "0" || len(list[0].Keys) != 1 || list[1].ID == "1" {
		t.Errorf("what keys are held back for stays, and no more than that: %+v, %v", list, err)
	}
	for i := range 2 * maxBoots {
		file := fmt.Sprint("/bad", i)
		note(Boot{ID: file, Names: []string{file}, Keys: []BootKey{key(file, "x")}, Outcome: "bad"})
	}
	list, err = ReadBoots(h.Live.Files)
	if err != nil || len(list) != 1+2*maxBoots || len(list[1].Keys) != 1 {
		t.Errorf("each bad boot stays, however many there are: %+v, %v", list, err)
	}
}
