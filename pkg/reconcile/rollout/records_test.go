package rollout

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/test/hostroot"
)

// After a pass that failed, the configuration that a person approved waits as it did before. If it
// did not wait before, nothing is recorded. The lines that keep it: update.go, WaitAgain.
func TestAnApprovalEndsWithAPassThatFailed(t *testing.T) {
	waited := ledger.Update{Digest: "d", Class: "reload", Since: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	approved := waited
	approved.LetGo = "alice"
	for name, c := range map[string]struct{ was, now, want *ledger.Update }{
		"it waited":         {&waited, &approved, &waited},
		"it did not wait":   {nil, &approved, nil},
		"nothing changed":   {&waited, &waited, &waited},
		"nothing is there":  {&waited, nil, nil},
		"it waits no more":  {nil, nil, nil},
		"it was allowed":    {&approved, &approved, &approved},
		"another one waits": {&ledger.Update{Digest: "e"}, &approved, &ledger.Update{Digest: "e"}},
	} {
		h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if c.now != nil {
			now := *c.now
			if err := ledger.SaveUpdate(t.Context(), h.Files, &now); err != nil {
				t.Fatal(err)
			}
		}
		if err := WaitAgain(t.Context(), h, c.was); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := ledger.ReadUpdate(h.Live.Files)
		if err != nil || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What the ledger keeps of a store is for this store, and not with --verify. The lines that keep
// it: store_cache.go, Lookup and Retained; last_good.go, CachedCluster.
func TestWhatTheLedgerKeepsOfAStore(t *testing.T) {
	root := t.TempDir()
	packed := remote.Pack(map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")})
	sum := blob.Of(packed).Sum
	hostroot.Put(t, root, ledger.Dir+"/blobs/"+sum.String(), string(packed))
	hostroot.Put(t, root, ledger.Dir+"/last-good.json",
		`{"store":"/store/c","cluster":"c","generation":2,"manifest":"`+sum.String()+`","objects":"`+sum.String()+`"}`)
	hostroot.Put(t, root, "/proc/sys/kernel/random/boot_id", "boot\n")
	opt := host.Options{Root: root}
	files, err := host.OpenFiles(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read from
	stamps, err := ledger.LoadStamps(files)
	if err != nil {
		t.Fatal(err)
	}
	cache := StoreCache{stamps, opt}
	cache.Record("/store/c/cluster.yaml", hostfs.FileInfo{}, sum)
	if got := cache.Retained("/store/c"); len(got) != 1 || string(got[0]) != "kind: Cluster\n" {
		t.Errorf("retained: %q", got)
	}
	if _, has := cache.Lookup("/store/c/cluster.yaml", hostfs.FileInfo{}); !has {
		t.Error("the record of a file is not found")
	}
	if got, err := cache.Blob(sum); err != nil || string(got) != string(packed) {
		t.Errorf("blob: %q, %v", got, err)
	}
	if got := cache.Retained("/other/c"); got != nil {
		t.Errorf("another store: %q", got)
	}
	for location, want := range map[string]string{"/store": "c", "file:///store": "c", "/other": "", "/store/c": ""} {
		if got := CachedCluster(opt, location); got != want {
			t.Errorf("the cluster of %s is %q, want %q", location, got, want)
		}
	}
	if got := CachedCluster(host.Options{Root: t.TempDir()}, "/store"); got != "" {
		t.Errorf("the cluster of a node without a ledger is %q", got)
	}
	cache.Host.Verify = true
	if _, has := cache.Lookup("/store/c/cluster.yaml", hostfs.FileInfo{}); has || cache.Retained("/store/c") != nil {
		t.Error("--verify trusts a record")
	}
	if err := os.Remove(filepath.Join(root, ledger.Dir, "last-good.json")); err != nil {
		t.Fatal(err)
	}
	cache.Host.Verify = false
	if got := cache.Retained("/store/c"); got != nil {
		t.Errorf("without a last good configuration: %q", got)
	}
}
