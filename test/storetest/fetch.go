package storetest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
)

// expect compares all objects of a snapshot.
func expect(t *testing.T, got *statestore.Snapshot, want map[string][]byte) {
	t.Helper()
	all := maps.Clone(got.Objects)
	for _, f := range slices.Concat(got.Files, got.Private) {
		data, err := f.Bytes()
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		all[f.Name] = data
	}
	if !maps.EqualFunc(all, want, bytes.Equal) {
		t.Errorf("snapshot has\n%q\nwant\n%q", all, want)
	}
}

func firstFetch(t *testing.T, h Harness) {
	want := objects("nodegroups/nodes.yaml", "kind: NodeGroup\n", "nodes/n1.yaml", "kind: Node\n",
		"pki/issued/calico-client/1.crt", "certificate", "pki/private/calico-client/1.key", "key",
		"pki/private/ca/keyset.yaml", "kind: Keyset\n", "files/motd", "hello\n", "files/conf.d/cluster.yaml", "a: b\n")
	h.Publish(t, want)
	got := fetch(t, h.Open(t, Cluster), statestore.Revision{})
	expect(t, got, want)
	if digest, err := hex.DecodeString(got.Digest); err != nil || len(digest) != 32 {
		t.Errorf("digest %q is no sha256 in hex", got.Digest)
	}
	if got.Cluster != Cluster || got.Origin == "" || len(got.Notes) != 0 {
		t.Errorf("cluster %q, origin %q, notes %q; want %q, some, none", got.Cluster, got.Origin, got.Notes, Cluster)
	}
}

func notModified(t *testing.T, h Harness) {
	h.Publish(t, objects())
	s := h.Open(t, Cluster)
	last := fetch(t, s, statestore.Revision{}).Revision
	for _, reader := range []statestore.Store{s, s, h.Open(t, Cluster)} { // one that knows, and one that has just begun
		if got, err := reader.Fetch(context.Background(), last); got != nil ||
			!errors.Is(err, statestore.ErrNotModified) {
			t.Errorf("Fetch of the same again: %v, %v; want ErrNotModified", got, err)
		}
	}
	if got := fetch(t, s, statestore.Revision{}); got.Revision != last {
		t.Errorf("the zero revision got %v, want %v", got.Revision, last)
	}
}

func changeSeen(t *testing.T, h Harness) {
	h.Publish(t, objects("nodes/n1.yaml", "one"))
	s := h.Open(t, Cluster)
	last := fetch(t, s, statestore.Revision{}).Revision
	for i, content := range []string{"two", "six", "more"} { // the first two without a change of length
		want := objects("nodes/n1.yaml", content)
		h.Publish(t, want)
		got := fetch(t, s, last)
		expect(t, got, want)
		if got.Digest == last.Digest || got.Generation < last.Generation {
			t.Errorf("change %d: revision went from %v to %v", i, last, got.Revision)
		}
		last = got.Revision
	}
}

func changeBackSeen(t *testing.T, h Harness) {
	before, after := objects("nodes/n1.yaml", "one"), objects("nodes/n1.yaml", "two")
	h.Publish(t, before)
	s := h.Open(t, Cluster)
	fetch(t, s, statestore.Revision{})
	h.Publish(t, after)
	last := fetch(t, s, statestore.Revision{}).Revision
	h.Publish(t, before)
	expect(t, fetch(t, s, last), before)
}

func deletionSeen(t *testing.T, h Harness) {
	h.Publish(t, objects("nodes/n1.yaml", "one", "nodes/n2.yaml", "two"))
	s := h.Open(t, Cluster)
	last := fetch(t, s, statestore.Revision{}).Revision
	want := objects("nodes/n1.yaml", "one")
	h.Publish(t, want)
	expect(t, fetch(t, s, last), want)
}

func unknownRevision(t *testing.T, h Harness) {
	h.Publish(t, objects())
	last := statestore.Revision{Generation: 99, Digest: strings.Repeat("0", 64)}
	expect(t, fetch(t, h.Open(t, Cluster), last), objects())
}

func oddNames(t *testing.T, h Harness) {
	want := objects(
		"nodes/ip-10-0-0-1.eu-west-1.compute.internal.yaml", "a",
		"nodes/with space.yaml", "b",
		"nodes/Ünïcode-結.yaml", "c",
		"nodes/100%25.yaml", "d",
		"nodes/a+b&c=d;e,f.yaml", "e",
		"nodegroups/#fragment?query.yaml", "f",
		"nodegroups/[glob]*.yaml", "g",
		`nodegroups/back\slash'"quotes.yaml`, "h",
		"pki/issued/system:kube-proxy/6982820025135291416230495506.crt", "i",
		"nodes/empty.yaml", "",
	)
	h.Publish(t, want)
	expect(t, fetch(t, h.Open(t, Cluster), statestore.Revision{}), want)
}

func unknownNames(t *testing.T, h Harness) {
	all := objects("nodes/n1.yml", "misspelt", "notes.txt", "hello", "addons/bootstrap-channel.yaml", "kOps'")
	h.Publish(t, all)
	got := fetch(t, h.Open(t, Cluster), statestore.Revision{})
	expect(t, got, objects())
	notes := strings.Join(got.Notes, "\n")
	for _, word := range []string{"nodes/n1.yml", "nodes/n1.yaml", "notes.txt", "addons/"} {
		if !strings.Contains(notes, word) {
			t.Errorf("no note about %q in:\n%s", word, notes)
		}
	}
}

func tampered(t *testing.T, h Harness) {
	if h.Tamper == nil {
		t.Skip("this store vouches for no content")
	}
	h.Publish(t, objects("nodes/n1.yaml", "one"))
	h.Tamper(t, "nodes/n1.yaml")
	got, err := h.Open(t, Cluster).Fetch(context.Background(), statestore.Revision{})
	if got != nil || err == nil || !strings.Contains(err.Error(), "nodes/n1.yaml") {
		t.Errorf("a tampered object: %v, %v; want an error that names it", got, err)
	}
}

func torn(t *testing.T, h Harness) {
	if h.Tear == nil {
		t.Skip("a publication is one step here")
	}
	before, after := objects("nodes/n1.yaml", "one", "nodes/n2.yaml", "one"),
		objects("nodes/n1.yaml", "two", "nodes/n3.yaml", "two")
	h.Publish(t, before)
	s := h.Open(t, Cluster)
	last := fetch(t, s, statestore.Revision{}).Revision
	h.Tear(t, after)
	if got, err := s.Fetch(context.Background(), last); !errors.Is(err, statestore.ErrNotModified) {
		t.Errorf("before the last step: %v, %v; want ErrNotModified", got, err)
	}
	expect(t, fetch(t, h.Open(t, Cluster), statestore.Revision{}), before)
	h.Publish(t, after)
	expect(t, fetch(t, s, last), after)
}

// state is a cluster of which each document says the same number.
func state(n int) map[string][]byte {
	all := map[string][]byte{"cluster.yaml": fmt.Append(nil, n)}
	for i := range 20 {
		all[fmt.Sprintf("nodes/n%d.yaml", i)] = fmt.Append(nil, n)
	}
	return all
}

// coherent publishes while readers read: each snapshot must be of one publication.
func coherent(t *testing.T, h Harness) {
	h.Publish(t, state(0))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		s := h.Open(t, Cluster)
		readers.Go(func() {
			var last statestore.Revision
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := s.Fetch(context.Background(), last)
				if errors.Is(err, statestore.ErrNotModified) {
					continue
				}
				if err != nil {
					// Publications without a pause may starve a reader, which says so; they must
					// not mislead it.
					if !strings.Contains(err.Error(), "chang") {
						t.Errorf("Fetch under changes: %v", err)
					}
					continue
				}
				last = got.Revision
				for name, data := range got.Objects {
					if !bytes.Equal(data, got.Objects["cluster.yaml"]) {
						t.Errorf("%s is of publication %s, cluster.yaml of %s", name, data, got.Objects["cluster.yaml"])
					}
				}
			}
		})
	}
	for n := 1; n <= 25; n++ {
		h.Publish(t, state(n))
	}
	close(stop)
	readers.Wait()
	expect(t, fetch(t, h.Open(t, Cluster), statestore.Revision{}), state(25))
}

func concurrent(t *testing.T, h Harness) {
	want := state(1)
	h.Publish(t, want)
	s := h.Open(t, Cluster)
	revisions := make([]statestore.Revision, 8)
	var readers sync.WaitGroup
	for i := range revisions {
		readers.Go(func() {
			got, err := s.Fetch(context.Background(), statestore.Revision{})
			if err != nil {
				t.Errorf("Fetch: %v", err)
				return
			}
			expect(t, got, want)
			revisions[i] = got.Revision
		})
	}
	readers.Wait()
	for _, r := range revisions {
		if r != revisions[0] {
			t.Errorf("revisions of one state differ: %v", revisions)
		}
	}
}

func noClusterDocument(t *testing.T, h Harness) {
	h.Publish(t, map[string][]byte{"nodes/n1.yaml": []byte("kind: Node\n")})
	_, err := h.Open(t, Cluster).Fetch(context.Background(), statestore.Revision{})
	if err == nil || !strings.Contains(err.Error(), "cluster.yaml") {
		t.Errorf("Fetch without cluster.yaml: %v; want an error that names it", err)
	}
}

func missingCluster(t *testing.T, h Harness) {
	h.Publish(t, objects())
	s := h.Open(t, "other.example.com")
	got, err := s.Fetch(context.Background(), statestore.Revision{})
	if got != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "other.example.com") {
		t.Errorf("Fetch of a cluster that is not there: %v, %v; want ErrNotExist and its name", got, err)
	}
	if _, _, err := s.Open(context.Background(), "assets/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of an asset of a cluster that is not there: %v; want ErrNotExist", err)
	}
}

func emptyStore(t *testing.T, h Harness) {
	got, err := h.Open(t, Cluster).Fetch(context.Background(), statestore.Revision{})
	if got != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Fetch of an empty store: %v, %v; want ErrNotExist", got, err)
	}
}

func stringNames(t *testing.T, h Harness) {
	if s := h.Open(t, Cluster).String(); !strings.Contains(s, Cluster) {
		t.Errorf("String is %q, without the cluster", s)
	}
}
