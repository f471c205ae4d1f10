package objectstore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// scripted answers a request by its name.
type scripted map[string]error

func (s scripted) Get(_ context.Context, name, _ string, _ int64) (objectstore.Object, error) {
	if s[name] != nil {
		return objectstore.Object{}, s[name]
	}
	return objectstore.Object{Body: []byte("12345")}, nil
}

func (s scripted) Open(_ context.Context, name string) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("1234567")), 7, s[name]
}

func (scripted) String() string { return "a test" }

// watched is a source that reports its changes.
type watched struct{ scripted }

func (watched) Changed(context.Context, string, string) error { return nil }

func TestMeter(t *testing.T) {
	ctx := t.Context()
	var m objectstore.Meter
	s := m.Of(scripted{
		"same": objectstore.ErrNotModified, "gone": fs.ErrNotExist, "busy": graph.Transient(errors.New("busy")), "forbidden": fs.ErrPermission,
	})
	for _, name := range []string{"object", "object", "same", "same", "same", "gone", "busy", "forbidden"} {
		if object, err := s.Get(ctx, name, "", 100); (err == nil) != (name == "object") || name == "object" && string(object.Body) != "12345" {
			t.Errorf("%s: Get returns %q, %v", name, object.Body, err)
		}
	}
	body, size, err := s.Open(ctx, "asset")
	if err != nil || size != 7 {
		t.Fatalf("opened: %d bytes, %v; want 7", size, err)
	}
	if all, err := io.ReadAll(body); err != nil || string(all) != "1234567" {
		t.Errorf("ReadAll returns %q, %v, want %q", all, err, "1234567")
	}
	if _, _, err := s.Open(ctx, "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that is gone: %v; want %v", err, fs.ErrNotExist)
	}
	got, received := m.Counts()
	if diff := cmp.Diff(map[string]int64{"read": 3, "not_modified": 3, "absent": 2, "failed": 1, "refused": 1}, got); diff != "" || received != 17 {
		t.Errorf("%d bytes came, want 17; %s", received, diff)
	}
	if _, ok := s.(objectstore.Watcher); ok {
		t.Error("it says that it can be watched")
	}
	if w, ok := m.Of(watched{}).(objectstore.Watcher); !ok || w.Changed(ctx, "", "") != nil {
		t.Error("one that can be watched cannot be when it is counted")
	}
	if _, same := (*objectstore.Meter)(nil).Of(watched{}).(watched); !same {
		t.Error("without a meter it is another source")
	}
}
