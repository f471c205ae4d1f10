package statestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/storetest"
)

// prunable is a published directory. The test sets the times of its files.
type prunable struct {
	t   *testing.T
	dir string
}

func (p prunable) sink() objectstore.Destination {
	p.t.Helper()
	s, err := stores.OpenDestination(p.dir, storetest.Cluster, stores.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p prunable) publish(content string) {
	p.t.Helper()
	if _, err := publisher.Publish(p.t.Context(), p.sink(), storetest.Contents(content)); err != nil {
		p.t.Fatal(err)
	}
}

// files returns the files that match a pattern below the cluster.
func (p prunable) files(pattern string) []string {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.dir, storetest.Cluster, pattern))
	if err != nil {
		p.t.Fatal(err)
	}
	return names
}

// age makes all files older, but leaves one that is already newer.
func (p prunable) age(by time.Duration) {
	p.t.Helper()
	for _, name := range slices.Concat(p.files("objects/sha256/*"), p.files("generations/*")) {
		info, err := os.Stat(name)
		if err != nil {
			p.t.Fatal(err)
		}
		if at := info.ModTime().Add(-by); os.Chtimes(name, at, at) != nil {
			p.t.Fatal("the times of files cannot be set")
		}
	}
}

const day = 24 * time.Hour

func (p prunable) prune(change func(*publisher.Pruning)) (*publisher.Pruned, error) {
	of := publisher.Pruning{Cluster: storetest.Cluster, Older: 2 * day, By: "a person on a machine", Now: time.Now()}
	if change != nil {
		change(&of)
	}
	return publisher.Prune(p.t.Context(), p.sink(), of)
}

// A generation is removed when the next one has been there for long enough. Objects that later
// generations share stay. A dry run only says what would be removed.
func TestPrune(t *testing.T) {
	p := prunable{t, t.TempDir()}
	for _, content := range []string{"one", "two", "three"} { // 5, 4 and 3 days ago
		p.publish(content)
		p.age(day)
	}
	p.age(2 * day)
	if got := len(p.files("objects/sha256/*")); got != 13 { // of each a document, key, file and bundle; and the cluster
		t.Fatalf("%d objects", got)
	}
	before := p.files("*/*/*")
	dry, err := p.prune(func(p *publisher.Pruning) { p.DryRun = true })
	if err != nil || len(dry.Objects) != 8 || len(dry.Generations) != 2 || dry.Oldest != 3 || dry.Retained != 5 {
		t.Errorf("prune returns %+v, %v", dry, err)
	}
	if now := p.files("*/*/*"); !slices.Equal(before, now) || len(p.files("prune")) > 0 {
		t.Errorf("a dry run left %q of %q", now, before)
	}
	p.publish("four") // the third was replaced just now
	done, err := p.prune(nil)
	if err != nil || !slices.Equal(done.Objects, dry.Objects) || done.Oldest != 3 || done.Generation != 4 || done.Bytes != dry.Bytes {
		t.Errorf("prune returns %+v, %v", done, err)
	}
	if got := len(p.files("objects/sha256/*")); got != 9 || len(p.files("generations/*")) != 2 {
		t.Errorf("%d objects stay, records %q", got, p.files("generations/*"))
	}
	again, err := p.prune(nil)
	if err != nil || len(again.Objects) > 0 {
		t.Errorf("prune returns %+v, %v", again, err)
	}
	mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
	p.publish("one") // its objects are gone
	mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
}

// A restored store has no records of the generations that nodes have accepted since. Nothing is
// removed until the generation that was published above them has been there for long enough. Then
// everything before it is removed. The line that keeps it: pkg/statestore/publisher/generations.go,
// oldest.
func TestPruneOfARestoredStore(t *testing.T) {
	p := prunable{t, t.TempDir()}
	for _, content := range []string{"one", "two"} {
		p.publish(content)
		p.age(9 * day)
	}
	of := storetest.Contents("three")
	of.Above = 20
	if _, err := publisher.Publish(t.Context(), p.sink(), of); err != nil {
		t.Fatal(err)
	}
	before := p.files("*/*/*")
	if _, err := p.prune(nil); err == nil || !strings.Contains(err.Error(), "no record of generation 20, which nodes may read until ") {
		t.Errorf("prune returns %v", err)
	}
	if now := p.files("*/*/*"); !slices.Equal(before, now) {
		t.Errorf("%q is left of %q", now, before)
	}
	p.age(3 * day)
	p.publish("four")
	if done, err := p.prune(nil); err != nil || done.Oldest != 21 || len(done.Generations) != 2 || len(done.Objects) != 8 {
		t.Errorf("prune returns %+v, %v", done, err)
	}
	mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
}

// What a publisher left there that was interrupted or lost stays until it is old. Files of others
// stay for ever.
func TestPruneLeaves(t *testing.T) {
	p := prunable{t, t.TempDir()}
	p.publish("one")
	orphan, foreign := strings.Repeat("0", 64), []string{"objects/sha256/README", "objects/sha256/deep/" + strings.Repeat("1", 64), "generations/README", "assets/x"}
	put(t, filepath.Join(p.dir, storetest.Cluster, "objects/sha256", orphan), []byte("x"))
	for _, name := range foreign {
		put(t, filepath.Join(p.dir, storetest.Cluster, name), []byte("x"))
	}
	if done, err := p.prune(nil); err != nil || len(done.Objects) > 0 {
		t.Errorf("prune returns %+v, %v", done, err)
	}
	p.age(9 * day)
	if done, err := p.prune(nil); err != nil || !slices.Equal(done.Objects, []string{"objects/sha256/" + orphan}) {
		t.Errorf("prune returns %+v, %v", done, err)
	}
	for _, name := range foreign {
		if len(p.files(name)) == 0 {
			t.Errorf("%s is gone", name)
		}
	}
	if err := os.Remove(p.files("manifest")[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := p.prune(nil); err == nil || !strings.Contains(err.Error(), "nothing is published there") {
		t.Errorf("without a manifest: %v", err)
	}
}

// If it is not known what nodes may read, nothing is removed.
func TestPruneRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil string // the record
		how   func(name string) error
		want  string
	}{
		"none of the published one": {"3-*", os.Remove, "no record of generation 3, which an older agent published: publish with this agent"},
		"none of the one before":    {"2-*", os.Remove, "no record of generation 2, which nodes may read until "},
		"none of the first":         {"1-*", os.Remove, "no record of generation 1, which nodes may read until "},
		"damaged":                   {"2-*", func(name string) error { return os.WriteFile(name, []byte("{"), 0o600) }, "is damaged, so the objects of that generation are not known"},
		"empty":                     {"2-*", func(name string) error { return os.Truncate(name, 0) }, "is damaged"},
		"another one's": {"2-*", func(name string) error {
			first, err := filepath.Glob(filepath.Join(filepath.Dir(name), "1-*"))
			if err != nil || len(first) != 1 {
				return errors.New("no first")
			}
			return os.Rename(first[0], name)
		}, "it is generation 1 with sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			p := prunable{t, t.TempDir()}
			for _, content := range []string{"one", "two", "three"} {
				p.publish(content)
				p.age(day * 9 / 10)
			}
			spoil := p.files("generations/" + c.spoil)
			if len(spoil) != 1 {
				t.Fatalf("records %q", p.files("generations/*"))
			}
			before := p.files("objects/sha256/*")
			if err := c.how(spoil[0]); err != nil {
				t.Fatal(err)
			}
			p.age(0)
			if _, err := p.prune(nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if now := p.files("objects/sha256/*"); !slices.Equal(before, now) {
				t.Errorf("%q is left of %q", now, before)
			}
			p.publish("three") // nothing new: it restores the record of what is published there
			p.publish("four")
		})
	}
}

// A store that lacks a published object is damaged. Nothing more is removed from it until that
// generation is published again.
func TestPruneOfADamagedStore(t *testing.T) {
	p := prunable{t, t.TempDir()}
	p.publish("one")
	p.publish("two")
	p.age(9 * day)
	if err := os.RemoveAll(p.files("objects")[0]); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := p.prune(func(p *publisher.Pruning) { p.DryRun = dry }); err == nil || !strings.Contains(err.Error(), "5 of the objects of generation 2 are missing, objects/sha256/") {
			t.Errorf("dry %t: %v", dry, err)
		}
		if len(p.files("generations/*")) != 2 {
			t.Errorf("records %q", p.files("generations/*"))
		}
	}
	p.publish("two")
	if done, err := p.prune(nil); err != nil || len(done.Generations) != 1 {
		t.Errorf("prune returns %+v, %v", done, err)
	}
	mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
}

// A prune keeps publishers and other prunes out until it has ended, or until a person takes over.
// Then it stops.
func TestPruneIsAlone(t *testing.T) {
	p := prunable{t, t.TempDir()}
	p.publish("one")
	p.publish("two")
	p.age(9 * day)
	interrupted := beside{Destination: p.sink(), once: func() {
		if _, err := p.prune(nil); err == nil || !strings.Contains(err.Error(), "a person on a machine prunes it since ") {
			t.Errorf("a second one: %v", err)
		}
		if _, err := publisher.Publish(t.Context(), p.sink(), storetest.Contents("three")); err == nil || !strings.Contains(err.Error(), "publish when that has ended") {
			t.Errorf("a publisher: %v", err)
		}
		if done, err := p.prune(func(p *publisher.Pruning) { p.TakeOver, p.Older = true, 20*day }); err != nil || len(done.Objects) > 0 {
			t.Errorf("who takes over: %+v, %v", done, err)
		}
	}}
	before := p.files("objects/sha256/*")
	_, err := publisher.Prune(t.Context(), &interrupted, publisher.Pruning{Cluster: storetest.Cluster, By: "a person on a machine", Now: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "another prune took over") {
		t.Errorf("the first: %v", err)
	}
	if now := p.files("objects/sha256/*"); !slices.Equal(before, now) {
		t.Errorf("%q is left of %q", now, before)
	}
	p.publish("three")

	// A prune runs between two looks of a publisher.
	late := &pruneBefore{Destination: p.sink(), run: func() {
		if _, err := p.prune(nil); err != nil {
			t.Error(err)
		}
	}}
	if _, err := publisher.Publish(t.Context(), late, storetest.Contents("four")); err == nil || !strings.Contains(err.Error(), "may have removed what this was to name: publish again") {
		t.Errorf("Publish returns %v", err)
	}
	p.publish("four")
}

// beside is a sink on which something happens while the objects are being listed.
type beside struct {
	objectstore.Destination
	once func()
}

// pruneBefore is a sink on which something happens while a publisher writes its objects.
type pruneBefore struct {
	objectstore.Destination
	once sync.Once
	run  func()
}

func TestPruneBesidePublishers(t *testing.T) {
	p := prunable{t, t.TempDir()}
	storetest.PruneConcurrently(t, 30, 2, p.sink, func() statestore.Store { return openIn(p.dir)(t, storetest.Cluster) })
}

func (b *beside) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	err := b.Destination.List(ctx, prefix, each)
	if strings.HasPrefix(prefix, "objects") && b.once != nil {
		b.once()
		b.once = nil
	}
	return err
}

func (b *pruneBefore) Put(ctx context.Context, name string, data []byte) error {
	if strings.HasPrefix(name, "objects") {
		b.once.Do(b.run)
	}
	return b.Destination.Put(ctx, name, data)
}

// A key that only control plane nodes read is not among the objects that every node reads. If an
// earlier generation put it there, each publication names it until a prune removes it. A reader
// without the right to the key reads the rest.
func TestControlPlaneKeys(t *testing.T) {
	const name = "pki/private/a/1.key"
	p := prunable{t, t.TempDir()}
	publish := func(content string, controlPlane ...string) *publisher.Published {
		t.Helper()
		of := publication(content)
		of.ControlPlane = controlPlane
		done, err := publisher.Publish(t.Context(), p.sink(), of)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	key := func() string {
		t.Helper()
		got := mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
		if string(got.Objects["nodes/n1.yaml"]) != "one" {
			t.Errorf("the document is %q", got.Objects["nodes/n1.yaml"])
		}
		return string(got.Objects[name])
	}
	if done := publish("one"); len(done.Exposed) > 0 {
		t.Errorf("the key is reported as exposed: %q", done.Exposed)
	}
	for range 2 {
		if done := publish("one", name); !slices.Equal(done.Exposed, []string{name}) {
			t.Errorf("%q is told as exposed", done.Exposed)
		}
	}
	p.age(3 * day)
	pruned, err := p.prune(nil)
	if err != nil || len(pruned.Objects) != 1 || len(p.files("objects/control-plane/*")) != 1 {
		t.Fatalf("prune returns %+v, %v", pruned, err)
	}
	if done := publish("one", name); len(done.Exposed) > 0 || !done.Unchanged {
		t.Errorf("after the prune: %+v", done)
	}
	if got := key(); got != "key of one" {
		t.Errorf("the key is %q", got)
	}
	info, err := os.Stat(p.files("objects/control-plane/*")[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Stat returns %v, %v", info, err)
	}
	guarded := filepath.Join(p.dir, storetest.Cluster, "objects/control-plane")
	rename(t, guarded, guarded+".away")
	if got := key(); got != "" {
		t.Errorf("a copy without it has %q", got)
	}
	got := mustFetch(t, openIn(p.dir)(t, storetest.Cluster), statestore.Revision{})
	if err := got.FetchKeys("a"); !graph.IsTransient(err) || !strings.Contains(err.Error(), `object "pki/private/a/1.key" of generation 1 is missing`) {
		t.Errorf("who needs the key: %v", err)
	}
	rename(t, guarded+".away", guarded)
	if err := got.FetchKeys("a"); err != nil || string(got.Objects[name]) != "key of one" {
		t.Errorf("when it has come: %q, %v", got.Objects[name], err)
	}
}

// If every node reads a key by another name, it cannot be kept from them. It stays where they look
// for it, and each publication says so.
func TestControlPlaneKeyWithTwoNames(t *testing.T) {
	for _, other := range []string{"files/copy", "pki/private/b/1.key"} {
		p := prunable{t, t.TempDir()}
		of := publication("one")
		of.ControlPlane = []string{"pki/private/a/1.key"}
		if _, err := publisher.Publish(t.Context(), p.sink(), of); err != nil {
			t.Fatal(err)
		}
		of.Objects[other] = of.Objects["pki/private/a/1.key"]
		done, err := publisher.Publish(t.Context(), p.sink(), of)
		if err != nil || !slices.Equal(done.Exposed, of.ControlPlane) {
			t.Errorf("Publish returns %+v, %v", done, err)
		}
		p.age(3 * day)
		if _, err := p.prune(nil); err != nil {
			t.Fatal(err)
		}
		if key := filepath.Join("objects/sha256", blob.Of([]byte("key of one")).Sum.String()); len(p.files(key)) != 1 {
			t.Errorf("%s is gone, which %s needs", key, other)
		}
	}
}

// A private key that is no longer published is reported as long as every node can read it.
func TestWithheldKeys(t *testing.T) {
	p := prunable{t, t.TempDir()}
	of := publication("one")
	if done, err := publisher.Publish(t.Context(), p.sink(), of); err != nil || len(done.Exposed) > 0 {
		t.Fatalf("Publish returns %+v, %v", done, err)
	}
	of.Withheld = []string{"pki/private/a/1.key", "pki/private/never/1.key"}
	delete(of.Objects, "pki/private/a/1.key")
	if done, err := publisher.Publish(t.Context(), p.sink(), of); err != nil || !slices.Equal(done.Exposed, of.Withheld[:1]) {
		t.Errorf("Publish returns %+v, %v", done, err)
	}
}
