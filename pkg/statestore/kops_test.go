package statestore_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/storetest"
)

// kopsCluster returns a store as kOps 1.24 leaves it, for one group.
func kopsCluster() *storetest.MapStore {
	m := new(storetest.MapStore)
	m.Set("cluster-completed.spec", []byte("completed"))
	m.Set("config", []byte("as the user wrote it"))
	m.Set("instancegroup/nodes", []byte("group"))
	m.Set("instancegroup/others", []byte("not ours"))
	m.Set("igconfig/node/nodes/nodeupconfig.yaml", []byte("nodeup"))
	m.Set("pki/private/calico-client/keyset.yaml", []byte("a key"))
	return m
}

func names(s *statestore.Snapshot) []string { return slices.Sorted(maps.Keys(s.Objects)) }

func TestKopsIsReadByName(t *testing.T) {
	m := kopsCluster()
	store := remote.NewAutodetect(m, storetest.Cluster, "nodes", nil)
	s, err := store.Fetch(t.Context(), statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cluster-completed.spec", "igconfig/node/nodes/nodeupconfig.yaml", "instancegroup/nodes"}
	if got := names(s); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if err := s.FetchKeys("calico-client"); err != nil || string(s.Objects["pki/private/calico-client/keyset.yaml"]) != "a key" {
		t.Errorf("the key was not brought: %v", err)
	}

	kept := remote.NewLastGood(store.String(), storetest.Cluster, s.Manifest, remote.Pack(s.Objects), &trust.Policy{})
	again, err := kept.Fetch(t.Context(), statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.FetchKeys("calico-client"); err != nil || string(again.Objects["pki/private/calico-client/keyset.yaml"]) != "a key" {
		t.Errorf("the key is not in what the node kept: %v", err)
	}

	m.Gets()
	if _, err := store.Fetch(t.Context(), s.Revision); !errors.Is(err, statestore.ErrNotModified) {
		t.Errorf("nothing changed: %v", err)
	}
	want = []string{"=cluster-completed.spec", "=instancegroup/nodes", "=igconfig/node/nodes/nodeupconfig.yaml"}
	if got := m.Gets(); !slices.Equal(got, want) {
		t.Errorf("a poll asked for %q, want %q", got, want)
	}

	m.Set("instancegroup/nodes", []byte("group, edited"))
	edited, err := store.Fetch(t.Context(), s.Revision)
	if err != nil || string(edited.Objects["instancegroup/nodes"]) != "group, edited" || edited.Revision == s.Revision {
		t.Errorf("an edited group was not read: %v", err)
	}

	m.Set("cluster-completed.spec", nil)
	m.Set("cluster.spec", []byte("of an older kOps"))
	older, err := store.Fetch(t.Context(), edited.Revision)
	if err != nil || string(older.Objects["cluster.spec"]) != "of an older kOps" {
		t.Errorf("a document that came later was not read: %v, %q", err, names(older))
	}
}

func TestKopsIsNotTrusted(t *testing.T) {
	_, err := remote.NewAutodetect(kopsCluster(), storetest.Cluster, "nodes", &trust.Policy{}).Fetch(t.Context(), statestore.Revision{})
	if err == nil || !strings.Contains(err.Error(), "kOps' documents have no signature") {
		t.Errorf("an unsigned store was accepted: %v", err)
	}
	if _, err := remote.NewAutodetect(kopsCluster(), storetest.Cluster, "nodes", &trust.Policy{Unsigned: true}).Fetch(t.Context(), statestore.Revision{}); err != nil {
		t.Errorf("a person takes it: %v", err)
	}
}

func TestNeitherPublishedNorKops(t *testing.T) {
	_, err := remote.NewAutodetect(new(storetest.MapStore), storetest.Cluster, "nodes", nil).Fetch(t.Context(), statestore.Revision{})
	if err == nil || !strings.Contains(err.Error(), "no published cluster") {
		t.Errorf("got %v", err)
	}
}

// TestPublishedIsNotTakenForKops: a published store that lost its manifest is not read as a store
// of kOps.
func TestPublishedIsNotTakenForKops(t *testing.T) {
	m := new(storetest.MapStore)
	store := remote.NewAutodetect(m, storetest.Cluster, "nodes", nil)
	m.Set("manifest", []byte("{"))
	if _, err := store.Fetch(t.Context(), statestore.Revision{}); err == nil {
		t.Fatal("a broken manifest was taken")
	}
	m.Set("manifest", nil)
	m.Set("cluster.spec", []byte("planted"))
	if s, err := store.Fetch(t.Context(), statestore.Revision{}); err == nil {
		t.Errorf("%q was taken", names(s))
	}
}

func TestDirectoryOfKops(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cluster.spec", "config", "instancegroup/nodes", "igconfig/master/m/nodeupconfig.yaml", "addons/bootstrap-channel.yaml", "secrets/admin",
		"backups/etcd/x", "clusteraddons/default", "kops-version.txt", "openid/v1/jwks", "igconfig/node/n/nodeupscript.sh", "manifests/etcd/main.yaml", "pki/ssh/public/admin/1", "pki/issued/calico-client/1.crt"} {
		put(t, filepath.Join(dir, storetest.Cluster, name), []byte("x"))
	}
	store, err := directory.New(dir, storetest.Cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Fetch(t.Context(), statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cluster.spec", "config", "igconfig/master/m/nodeupconfig.yaml", "instancegroup/nodes", "pki/issued/calico-client/1.crt"}
	if got := names(s); !slices.Equal(got, want) || len(s.Notes) > 0 {
		t.Errorf("read %q with notes %q, want %q", got, s.Notes, want)
	}
	for _, name := range []string{"cluster.spec", "instancegroup/nodes", "igconfig/master/m/nodeupconfig.yaml", "igconfig/node/n/nodeupscript.sh"} {
		if err := os.Remove(filepath.Join(dir, storetest.Cluster, name)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = store.Fetch(t.Context(), statestore.Revision{}); err != nil || s.Objects["config"] == nil {
		t.Errorf("a cluster without groups, of which kOps keeps its config alone: %v", err)
	}
	put(t, filepath.Join(dir, storetest.Cluster, "cluster.yaml"), []byte("ours"))
	if s, err = store.Fetch(t.Context(), statestore.Revision{}); err != nil || len(names(s)) != 2 {
		t.Errorf("where ours stands kOps' names mean nothing: %v, %q", err, names(s))
	}
}
