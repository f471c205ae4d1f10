package statestore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/storetest"
)

// The record of a generation says who published it, and past generations keep that. The same
// documents make no new generation, whoever publishes them again. If a generation is published anew
// after half of its time, the record has who did that.
func TestWhoPublished(t *testing.T) {
	for name, c := range sinksUnderTest(t) {
		t.Run(name, func(t *testing.T) {
			publish := func(content, who string, after time.Duration) *publisher.Published {
				p := publication(content)
				p.Note, p.Lasts, p.Now = manifest.Note{Publisher: who, Commit: "1f2e3d", Message: "open the\nport"}, time.Hour, p.Now.Add(after)
				done, err := publisher.Publish(t.Context(), c.sink(), p)
				if err != nil {
					t.Fatal(err)
				}
				return done
			}
			note := func() string { return mustFetch(t, c.read(), statestore.Revision{}).Note.String() }
			publish("one", "alice", 0)
			if got := note(); got != "alice, commit 1f2e3d: open the port" {
				t.Errorf("the first was published by %q", got)
			}
			if done := publish("one", "bob", time.Minute); !done.Unchanged || note() != "alice, commit 1f2e3d: open the port" || done.Objects != 4 {
				t.Errorf("the same again: %+v by %s", done, note())
			}
			if done := publish("one", "carol", 40*time.Minute); done.Unchanged || !strings.HasPrefix(note(), "carol") {
				t.Errorf("the same when half of its time is over: %+v by %s", done, note())
			}
			publish("two", "dave", 41*time.Minute)

			records := c.sink()
			list, err := publisher.History(t.Context(), records, storetest.Cluster, 2)
			if err != nil || len(list) != 2 || list[0].Publisher != "dave" || !list[0].Current || list[1].Publisher != "carol" || list[1].Current || list[1].Objects != 4 {
				t.Errorf("the last two are %+v, %v", list, err)
			}
			cmp, err := publisher.Compare(t.Context(), records, storetest.Cluster, "1", "")
			if err != nil || cmp.From.Publisher != "alice" || cmp.To.Generation != 3 || len(cmp.Objects) != 2 {
				t.Fatalf("compared: %+v, %v", cmp, err)
			}
			document, key := cmp.Objects[0], cmp.Objects[1]
			if document.Name != "nodes/n1.yaml" || string(document.Former) != "one" || string(document.Later) != "two" || key.Name != "pki/private/a/1.key" || key.Texts || key.Former != nil || key.Later != nil {
				t.Errorf("a document and a key differ: %+v", cmp.Objects)
			}
			if cmp, err := publisher.Compare(t.Context(), records, storetest.Cluster, "1", list[1].Digest[:12]); err != nil || len(cmp.Objects) != 0 {
				t.Errorf("two of the same documents: %+v, %v", cmp, err)
			}
			if _, err := publisher.Compare(t.Context(), records, storetest.Cluster, "9", ""); err == nil || !strings.Contains(err.Error(), `no record of generation "9"`) {
				t.Errorf("a generation that never was: %v", err)
			}
		})
	}
}

// An earlier agent published a store without notes. The store can be published to as before, and
// has a history.
func TestAStoreWithoutNotes(t *testing.T) {
	dir := t.TempDir()
	sink := func() objectstore.Destination {
		s, err := stores.OpenDestination(dir, storetest.Cluster, stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := publisher.Publish(t.Context(), sink(), publication("one")); err != nil {
		t.Fatal(err)
	}
	p := publication("one")
	p.Note.Publisher = "alice"
	if done, err := publisher.Publish(t.Context(), sink(), p); err != nil || !done.Unchanged {
		t.Errorf("the same, with a note: %+v, %v", done, err)
	}
	list, err := publisher.History(t.Context(), sink(), storetest.Cluster, 9)
	if err != nil || len(list) != 1 || list[0].String() != "" || !list[0].Current {
		t.Errorf("its history is %+v, %v", list, err)
	}
}
