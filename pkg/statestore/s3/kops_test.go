package s3_test

import (
	"errors"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/s3server"
	"github.com/netwright/netwright/test/storetest"
)

// TestKopsStore reads a bucket as kOps fills it: no manifest, and documents that change one by one.
func TestKopsStore(t *testing.T) {
	server := s3server.Start(t)
	account(t, server.URL, s3server.Access, s3server.Secret)
	server.Bucket("clusters")
	at := func(name string) string { return storetest.Cluster + "/" + name }
	for name, text := range map[string]string{
		"cluster-completed.spec": "kind: Cluster\n", "config": "kind: Cluster\n", "instancegroup/nodes": "kind: InstanceGroup\n",
		"igconfig/node/nodes/nodeupconfig.yaml": "ClusterName: x\n", "pki/private/calico-client/keyset.yaml": "kind: Keyset\n",
	} {
		server.Put("clusters", at(name), []byte(text))
	}
	store := open(t, "s3://clusters", storetest.Cluster, stores.Options{NodeGroup: "nodes"})
	s, err := store.Fetch(t.Context(), statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Objects) != 3 {
		t.Errorf("%d documents were read, want 3", len(s.Objects))
	}
	if _, err := store.Fetch(t.Context(), s.Revision); !errors.Is(err, statestore.ErrNotModified) {
		t.Errorf("nothing changed: %v", err)
	}
	if err := s.FetchKeys("calico-client", "absent"); err != nil || len(s.Objects) != 4 {
		t.Errorf("%d objects with the key of the network, want 4: %v", len(s.Objects), err)
	}
	server.Put("clusters", at("instancegroup/nodes"), []byte("kind: InstanceGroup # edited\n"))
	edited, err := store.Fetch(t.Context(), s.Revision)
	if err != nil || edited.Revision == s.Revision {
		t.Errorf("an edited group was not read: %v", err)
	}
}
