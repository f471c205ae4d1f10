package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
)

// Contents returns a small cluster to publish. content is in a node's document, a key and a file.
func Contents(content string) publisher.Publication {
	return publisher.Publication{Cluster: Cluster, Now: time.Now(), Objects: map[string][]byte{
		"cluster.yaml": []byte("kind: Cluster\n"), "nodes/n1.yaml": []byte(content),
		"pki/private/a/1.key": []byte("key of " + content), "files/motd": []byte("hello " + content),
	}}
}

// PruneConcurrently publishes a cluster again and again, alternately with the same contents, while
// others prune everything that they may. A publication that succeeded must be complete. A
// publication that failed must say why. If two prunes run at once, one of them fails, or one
// follows the other.
func PruneConcurrently(t *testing.T, rounds, by int, sink func() objectstore.Destination, read func() statestore.Store) {
	t.Helper()
	// told reports whether err is about a prune that ran beside.
	told := func(err error) bool { return strings.Contains(err.Error(), "prune") }

	next := make([]chan struct{}, by) // with each publication each of them begins once more, unless it is still at it
	var pruners sync.WaitGroup
	removed, lost := make([]int, by), make([]int, by)
	var any atomic.Bool // something was removed
	for i := range next {
		next[i] = make(chan struct{}, 1)
		pruners.Go(func() {
			for range next[i] {
				done, err := publisher.Prune(t.Context(), sink(),
					publisher.Pruning{Cluster: Cluster, By: fmt.Sprint("pruner ", i), Now: time.Now()})
				switch {
				case err == nil:
					if removed[i] += len(done.Objects); removed[i] > 0 {
						any.Store(true)
					}
				case told(err) && !strings.Contains(err.Error(), "record"):
					lost[i]++
				default:
					t.Errorf("prune: %v", err)
				}
			}
		})
	}
	published, refused, begun := 0, 0, -1
	// On a busy machine pruners may lose all these rounds.
	for (published < rounds || !any.Load() && published < 20*rounds) && !t.Failed() {
		if begun != published {
			begun = published
			for _, pruner := range next {
				select {
				case pruner <- struct{}{}:
				default:
				}
			}
		}
		content := fmt.Sprint(published % 2)
		done, err := publisher.Publish(t.Context(), sink(), Contents(content))
		if err != nil {
			if refused++; !told(err) {
				t.Errorf("publish: %v", err)
			}
			continue
		}
		published++
		got, err := read().Fetch(t.Context(), statestore.Revision{})
		if err != nil || got.Generation != done.Generation {
			t.Errorf("generation %d is not what is there: %v, %v", done.Generation, got, err)
			continue
		}
		for _, file := range append(got.Files, got.Private...) {
			if data, err := file.Bytes(); err != nil || !strings.HasSuffix(string(data), content) {
				t.Errorf("generation %d: %s: %q, %v", done.Generation, file.Name, data, err)
			}
		}
	}
	for _, pruner := range next {
		close(pruner)
	}
	pruners.Wait()
	t.Logf("%d published, %d refused; pruners removed %d objects, lost %d times", published, refused, removed, lost)
	if !any.Load() {
		t.Error("nothing was removed")
	}
}
