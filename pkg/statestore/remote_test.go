package statestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/storetest"
)

func remoteHarness(bundle bool) func(*testing.T) storetest.Harness {
	return func(*testing.T) storetest.Harness {
		source := new(storetest.MapStore)
		return source.Harness(bundle, func(_ *testing.T, cluster string) statestore.Store {
			if cluster != storetest.Cluster {
				return remote.New(new(storetest.MapStore), cluster, nil)
			}
			return remote.New(source, cluster, nil)
		})
	}
}

func TestRemoteConforms(t *testing.T)          { storetest.Run(t, remoteHarness(true)) }
func TestRemoteUnbundledConforms(t *testing.T) { storetest.Run(t, remoteHarness(false)) }

func remoteObjects() map[string][]byte {
	return map[string][]byte{
		"cluster.yaml": []byte("kind: Cluster\n"), "nodes/n1.yaml": []byte("one"), "files/motd": []byte("hello"),
		"pki/issued/a/1.crt": []byte("certificate"), "pki/private/a/1.key": []byte("key a"), "pki/private/b/1.key": []byte("key b"),
	}
}

func mustFetch(t *testing.T, s statestore.Store, last statestore.Revision) *statestore.Snapshot {
	t.Helper()
	got, err := s.Fetch(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// asked checks the numbers of requests since the last call, by their kind.
func asked(t *testing.T, source *storetest.MapStore, want ...string) {
	t.Helper()
	got := source.Gets()
	for i, name := range got {
		got[i], _, _ = strings.Cut(name, "/")
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
}

func TestRemoteRequests(t *testing.T) {
	source, objects := new(storetest.MapStore), remoteObjects()
	source.Publish(storetest.Publication(1, objects, true))
	s := remote.New(source, storetest.Cluster, nil)

	boot := mustFetch(t, s, statestore.Revision{})
	asked(t, source, "manifest", "objects")
	if err := boot.FetchKeys("a"); err != nil || string(boot.Objects["pki/private/a/1.key"]) != "key a" {
		t.Errorf("error %v, boot.Objects %q", err, boot.Objects)
	}
	asked(t, source, "objects")
	if len(boot.Private) != 1 || boot.Private[0].Name != "pki/private/b/1.key" {
		t.Errorf("left in the store: %v", boot.Private)
	}

	for range 3 {
		if _, err := s.Fetch(t.Context(), boot.Revision); !errors.Is(err, statestore.ErrNotModified) {
			t.Errorf("fetched again: %v; want %v", err, statestore.ErrNotModified)
		}
	}
	asked(t, source, "=manifest", "=manifest", "=manifest")
	mustFetch(t, s, statestore.Revision{}) // the answer to a request for everything comes from memory
	asked(t, source, "=manifest")

	objects["nodes/n1.yaml"] = []byte("two") // one document, and not the whole bundle
	source.Publish(storetest.Publication(2, objects, true))
	if got := mustFetch(t, s, boot.Revision); string(got.Objects["nodes/n1.yaml"]) != "two" || got.Generation != 2 {
		t.Errorf("mustFetch returns %v", got)
	}
	asked(t, source, "manifest", "objects")
}

// The node does not request what it has kept.
func TestRemoteRemembers(t *testing.T) {
	source := new(storetest.MapStore)
	source.Publish(storetest.Publication(1, remoteObjects(), true))
	s := remote.New(source, storetest.Cluster, nil)
	kept := blob.Of([]byte("key a"))
	s.Remember(notes{sums: map[string]blob.Digest{}, blobs: map[blob.Digest][]byte{kept.Sum: []byte("key a")}})
	got := mustFetch(t, s, statestore.Revision{})
	source.Gets()
	if err := got.FetchKeys("a"); err != nil {
		t.Error(err)
	}
	asked(t, source)
}

// A later boot requests only the manifest, and a document that changed since. A kept object that
// differs from the manifest is requested again.
func TestRemoteRecalls(t *testing.T) {
	source, objects := new(storetest.MapStore), remoteObjects()
	objects[manifest.NoteName] = manifest.Note{Publisher: "alice"}.Encode()
	source.Publish(storetest.Publication(1, objects, true))
	boot := func(kept map[string][]byte, want ...string) {
		t.Helper()
		s := remote.New(source, storetest.Cluster, nil)
		s.Remember(notes{kept: remote.Unpack(remote.Pack(kept))})
		got := mustFetch(t, s, statestore.Revision{})
		asked(t, source, want...)
		if got.Note.Publisher != "alice" || string(got.Objects["nodes/n1.yaml"]) != string(objects["nodes/n1.yaml"]) {
			t.Errorf("mustFetch returns %+v, %q", got.Note, got.Objects["nodes/n1.yaml"])
		}
	}
	boot(nil, "manifest", "objects")
	boot(objects, "manifest")
	damaged := maps.Clone(objects)
	damaged["nodes/n1.yaml"] = []byte("damaged")
	boot(damaged, "manifest", "objects")
	was := maps.Clone(objects)
	objects["nodes/n1.yaml"] = []byte("two")
	source.Publish(storetest.Publication(2, objects, true))
	boot(was, "manifest", "objects")
}

// A manifest that is refused is fetched again a few times, since it may have been damaged on its
// way. After that it is fetched seldom until it changes. Each look judges it again, since the clock
// may have been wrong.
func TestRemoteRefuses(t *testing.T) {
	source := new(storetest.MapStore)
	m := manifest.New(storetest.Cluster, 1, remoteObjects())
	clock := time.Unix(2e9, 0)
	m.Expires = clock
	all := storetest.Publication(1, remoteObjects(), false)
	all["manifest"] = m.Encode()
	source.Publish(all)
	s := remote.New(source, storetest.Cluster, &trust.Policy{Unsigned: true, Now: func() time.Time { return clock }})
	said := map[string]bool{}
	for range 8 {
		_, err := s.Fetch(t.Context(), statestore.Revision{})
		if said[fmt.Sprint(err)] = true; !errors.Is(err, trust.ErrExpired) || graph.IsTransient(err) || len(said) > 1 {
			t.Errorf("Fetch returns %v", err)
		}
		clock = clock.Add(time.Second) // another text would be another status
	}
	asked(t, source, "manifest", "manifest", "manifest", "=manifest", "manifest", "=manifest", "=manifest", "=manifest")
	clock = m.Expires.Add(-time.Second)
	mustFetch(t, s, statestore.Revision{})
}

// If a bundle was exchanged, only the bundle is requested again, and not the manifest.
func TestRemoteDamagedBundle(t *testing.T) {
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return append(bytes.Clone(b), 'x')[1:] },
		func(b []byte) []byte { return b[:len(b)-1] },
		func([]byte) []byte { return []byte{} },
	} {
		source, all := new(storetest.MapStore), storetest.Publication(1, remoteObjects(), true)
		source.Publish(all)
		for name, data := range all {
			if bytes.Contains(data, []byte("certificate")) && bytes.Contains(data, []byte("kind: Cluster")) {
				source.Set(name, damage(data))
			}
		}
		s := remote.New(source, storetest.Cluster, nil)
		for range 2 {
			if got, err := s.Fetch(t.Context(), statestore.Revision{}); got != nil || err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "publish again") {
				t.Errorf("Fetch returns %v, %v", got, err)
			}
		}
		asked(t, source, "manifest", "objects", "=manifest", "objects")
		source.Publish(all)
		mustFetch(t, s, statestore.Revision{})
	}
}
