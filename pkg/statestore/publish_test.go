package statestore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/storetest"
)

func publication(content string) publisher.Publication {
	return publisher.Publication{Cluster: storetest.Cluster, Now: time.Unix(2e9, 0), Objects: map[string][]byte{
		"cluster.yaml": []byte("kind: Cluster\n"), "nodes/n1.yaml": []byte(content), "pki/private/a/1.key": []byte("key of " + content), "files/motd": []byte("hello"),
	}}
}

// sinksUnderTest returns the kinds of store to which an agent can publish, with a reader of each.
func sinksUnderTest(t *testing.T) map[string]struct {
	sink func() objectstore.Destination
	read func() statestore.Store
} {
	dir, memory := t.TempDir(), new(storetest.MapStore)
	return map[string]struct {
		sink func() objectstore.Destination
		read func() statestore.Store
	}{
		"directory": {func() objectstore.Destination {
			s, err := stores.OpenDestination(dir, storetest.Cluster, stores.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, func() statestore.Store { return openIn(dir)(t, storetest.Cluster) }},
		"memory": {func() objectstore.Destination { return memory }, func() statestore.Store { return remote.New(memory, storetest.Cluster, nil) }},
	}
}

// A signature is of the manifest up to the line on which the signatures begin. A manifest that
// another program wrote without a newline at its end gets no signature: with that newline it would
// have another digest. The line that keeps it: pkg/statestore/publisher/sign.go, Sign.
func TestAManifestWithoutANewlineIsNotSigned(t *testing.T) {
	memory := new(storetest.MapStore)
	if _, err := publisher.Publish(t.Context(), memory, publication("one")); err != nil {
		t.Fatal(err)
	}
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stored := func() []byte {
		t.Helper()
		o, err := memory.Get(t.Context(), manifest.Name, "", manifest.MaxSize)
		if err != nil {
			t.Fatal(err)
		}
		return o.Body
	}
	sign := func() error {
		_, err := publisher.Sign(t.Context(), memory, storetest.Cluster, private)
		return err
	}
	whole := stored()
	cut := bytes.TrimSuffix(whole, []byte("\n"))
	memory.Set(manifest.Name, cut)
	if err := sign(); err == nil || !strings.Contains(err.Error(), "newline") || !bytes.Equal(stored(), cut) {
		t.Errorf("without a newline: Sign returns %v, and the manifest is\n%s", err, stored())
	}
	memory.Set(manifest.Name, whole)
	policy := trust.Policy{Keys: []trust.Key{{Public: public}}}
	if err := sign(); err != nil {
		t.Error(err)
	} else if _, err := policy.Check(stored(), "memory"); err != nil {
		t.Errorf("the signed manifest: %v", err)
	}
}

func TestPublish(t *testing.T) {
	for name, c := range sinksUnderTest(t) {
		t.Run(name, func(t *testing.T) {
			for i, content := range []string{"one", "two"} {
				done, err := publisher.Publish(t.Context(), c.sink(), publication(content))
				if err != nil || done.Generation != int64(i+1) || done.Unchanged || done.Objects != 4 {
					t.Fatalf("Publish returns %+v, %v", done, err)
				}
				got := mustFetch(t, c.read(), statestore.Revision{})
				if got.Generation != int64(i+1) || got.Digest != done.Digest || string(got.Objects["nodes/n1.yaml"]) != content || len(got.Files) != 1 {
					t.Errorf("read %+v", got)
				}
			}
			again, err := publisher.Publish(t.Context(), c.sink(), publication("two"))
			if err != nil || !again.Unchanged || again.Generation != 2 {
				t.Errorf("the same again: %+v, %v", again, err)
			}
			back, err := publisher.Publish(t.Context(), c.sink(), publication("one"))
			if err != nil || back.Unchanged || back.Generation != 3 {
				t.Errorf("an earlier content: %+v, %v", back, err)
			}
		})
	}
}

// meanwhile is a sink on which somebody else publishes after the manifest was read and before it is
// replaced.
type meanwhile struct {
	objectstore.Destination
	other func()
}

func (m meanwhile) Replace(ctx context.Context, name string, data []byte, known string) error {
	m.other()
	return m.Destination.Replace(ctx, name, data, known)
}

func TestTwoPublishers(t *testing.T) {
	for name, c := range sinksUnderTest(t) {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, first %v", name, first), func(t *testing.T) {
				sink := meanwhile{c.sink(), func() {
					if _, err := publisher.Publish(t.Context(), c.sink(), publication(fmt.Sprintf("theirs %v", first))); err != nil {
						t.Error(err)
					}
				}}
				_, err := publisher.Publish(t.Context(), sink, publication("ours"))
				if !errors.Is(err, objectstore.ErrConflict) || !strings.Contains(err.Error(), "another publisher published meanwhile, so this was not published") {
					t.Errorf("the later one: %v", err)
				}
				if got := mustFetch(t, c.read(), statestore.Revision{}); string(got.Objects["nodes/n1.yaml"]) != fmt.Sprintf("theirs %v", first) {
					t.Errorf("read %+v", got)
				}
			})
		}
	}
}

// Many publishers run at once. Each one that reports success has published a generation of its own.
func TestManyPublishers(t *testing.T) {
	for name, c := range sinksUnderTest(t) {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			var mu sync.Mutex
			taken := map[int64]bool{}
			for i := range 8 {
				sink := c.sink()
				all.Go(func() {
					done, err := publisher.Publish(t.Context(), sink, publication(fmt.Sprint(i)))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case errors.Is(err, objectstore.ErrConflict):
					case err != nil:
						t.Error(err)
					case taken[done.Generation]:
						t.Errorf("generation %d twice", done.Generation)
					default:
						taken[done.Generation] = true
					}
				})
			}
			all.Wait()
			if got := mustFetch(t, c.read(), statestore.Revision{}); got.Generation != int64(len(taken)) {
				t.Errorf("%d were told of success, the last is generation %d", len(taken), got.Generation)
			}
		})
	}
}

// failing is a sink that fails at its nth write.
type failing struct {
	objectstore.Destination
	left int
	mu   *sync.Mutex
}

func (f *failing) Put(ctx context.Context, name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left < 0 {
		return errors.New("no space left")
	}
	return f.Destination.Put(ctx, name, data)
}

// Whichever write fails, readers have what they had before.
func TestPublishFails(t *testing.T) {
	for name, c := range sinksUnderTest(t) {
		t.Run(name, func(t *testing.T) {
			if _, err := publisher.Publish(t.Context(), c.sink(), publication("one")); err != nil {
				t.Fatal(err)
			}
			for n := range 5 {
				_, err := publisher.Publish(t.Context(), &failing{c.sink(), n, new(sync.Mutex)}, publication("two"))
				if err == nil || !strings.Contains(err.Error(), "nothing has changed for its readers: no space left") {
					t.Errorf("failed at write %d: %v", n, err)
				}
				if got := mustFetch(t, c.read(), statestore.Revision{}); string(got.Objects["nodes/n1.yaml"]) != "one" {
					t.Errorf("failed at write %d: read %+v", n, got)
				}
			}
		})
	}
}

// Only the owner may read keys. A damaged file is restored by publishing again. If the manifest's
// path has another file, a publication does not overwrite it.
func TestPublishIntoADirectory(t *testing.T) {
	dir := t.TempDir()
	sink, err := stores.OpenDestination(dir, storetest.Cluster, stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := publication("one")
	if _, err := publisher.Publish(t.Context(), sink, p); err != nil {
		t.Fatal(err)
	}
	m := manifest.New(storetest.Cluster, 1, p.Objects)
	object := func(name string) string {
		return filepath.Join(dir, storetest.Cluster, "objects/sha256", m.Objects[name].SHA256)
	}
	for name, mode := range map[string]os.FileMode{"pki/private/a/1.key": 0o600, "nodes/n1.yaml": 0o644} {
		if info, err := os.Stat(object(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: Stat returns %v, %v", name, info.Mode(), err)
		}
	}
	put(t, object("nodes/n1.yaml"), []byte("two"))
	if _, err := openIn(dir)(t, storetest.Cluster).Fetch(t.Context(), statestore.Revision{}); err == nil {
		t.Error("a damaged object was read")
	}
	if done, err := publisher.Publish(t.Context(), sink, p); err != nil || !done.Unchanged {
		t.Errorf("Publish returns %+v, %v", done, err)
	}
	mustFetch(t, openIn(dir)(t, storetest.Cluster), statestore.Revision{})
	put(t, filepath.Join(dir, storetest.Cluster, "manifest"), []byte("mine"))
	if _, err := publisher.Publish(t.Context(), sink, p); err == nil || !strings.Contains(err.Error(), `read what is there: what is read as its manifest begins with "mine"`) {
		t.Errorf("published over another file: %v; want an error that quotes it", err)
	}
}

// No number follows the highest one: a publication over it is refused, and changes nothing.
func TestNoGenerationFollowsTheHighest(t *testing.T) {
	dir := t.TempDir()
	sink, err := stores.OpenDestination(dir, storetest.Cluster, stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := publication("one")
	if _, err := publisher.Publish(t.Context(), sink, p); err != nil {
		t.Fatal(err)
	}
	forged := manifest.New(storetest.Cluster, 1<<63-1, p.Objects).Encode()
	put(t, filepath.Join(dir, storetest.Cluster, "manifest"), forged)
	if _, err := publisher.Publish(t.Context(), sink, publication("two")); problem.Find(err) != problem.GenerationJump {
		t.Errorf("published over generation %d: %v", int64(1<<63-1), err)
	}
	if have, err := os.ReadFile(filepath.Join(dir, storetest.Cluster, "manifest")); err != nil || string(have) != string(forged) {
		t.Errorf("the manifest has changed: %v", err)
	}
}
