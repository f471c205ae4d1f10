package tasks

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
)

// Each row is at the index of its constant, has a name of its own, and has all columns.
func TestTheTableIsWhole(t *testing.T) {
	names := map[string]bool{"": true}
	for i, k := range kinds {
		if int(k.row) != i || names[k.name] || k.form.record == nil || k.proof == nil {
			t.Errorf("row %d (%s): it is at %d, or its name is another's, or a column is empty", i, k.name, k.row)
		}
		names[k.name] = true
		if k.keys == nil {
			if k.form.rebuild != nil {
				t.Errorf("%s is recorded and has no keys", k.name)
			}
			continue
		}
		c := *k.keys
		if c.name == "" || c.disk.file == nil || c.disk.dirs == nil || c.lasts == nil ||
			c.watch.watch == nil || c.watch.notifies == nil || c.removal.above == nil ||
			c.costs.back == nil || c.undo == nil || c.drift == 0 || c.command == nil {
			t.Errorf("%s: a column of its keys is empty", k.name)
		}
		if rowOf(graph.MakeKey(c.name, "x")) != k.keys {
			t.Errorf("%s: two rows have keys %s", k.name, c.name)
		}
	}
}

// The name that a row has in the ledger leads to the row's kind and to the row's keys.
func TestTheTableRebuildsEachKind(t *testing.T) {
	empty := blob.Digest(sha256.Sum256(nil))
	for _, k := range kinds {
		if k.form.rebuild == nil {
			continue
		}
		var task Task
		var err error
		for contents := range 4 {
			r := Recorded{Kind: k.name, Version: recordVersion, Params: json.RawMessage("{}")}
			for range contents {
				r.Blobs = append(r.Blobs, empty)
			}
			if task, err = Rebuild(r, func(blob.Digest) ([]byte, error) { return nil, nil }); err == nil {
				break
			}
		}
		if err != nil || task.row() != k.row {
			t.Errorf("%s is rebuilt as %T: %v", k.name, task, err)
			continue
		}
		if r, _, err := Record(task); err != nil || r.Kind != k.name {
			t.Errorf("%s is recorded as %q: %v", k.name, r.Kind, err)
		}
		for _, key := range task.Owns() {
			if rowOf(key) != k.keys && k.row != rowMount { // a mount also owns its unit's file
				t.Errorf("%s owns %s, its row says %s", k.name, key, k.keys.name)
			}
		}
	}
}

// A key of an unknown kind is polled, and counts as one that may cut the node off.
func TestAnUnknownKeyCountsAsDangerous(t *testing.T) {
	key := graph.Key("weather:rain")
	if RevertCosts(key, "", nil) != MayCutOff || rowOf(key).watch.notifies("rain", nil) {
		t.Error("the unknown key counts as harmless, or is not polled")
	}
}
