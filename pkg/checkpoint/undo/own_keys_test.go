package undo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// Some kinds restore their keys themselves, from what the journal has, also after a boot. The lines
// that keep it: own_keys.go, own and restore.
func TestAKindBringsItsKeysBack(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const before = "# a person's\nroot = \"/var\"\n"
	file := filepath.Join(root, "config.toml")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	var l Log
	c := Capture{Host: h, Log: &l}
	for _, task := range []tasks.TOMLKey{
		{Path: "/config.toml", Key: "root", Value: "/srv"},
		{Path: "/config.toml", Key: "level", Value: "debug"},
	} {
		if err := c.own(t.Context(), tasks.OwnKey{Key: task.Owns()[0], Task: task}); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range l.Own {
		task, err := tasks.Rebuild(own.Task, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), h, nil); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) == before {
		t.Fatalf("nothing changed: %v", err)
	}
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var written Log
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	if err := Restore(h, &written, true).Own(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != before {
		t.Errorf("%q, before %q: %v", now, before, err)
	}
}
