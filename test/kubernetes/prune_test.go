package kubernetes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/kubernetes"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/test/storetest"
)

// A prune removes what no generation needs any more, with all its parts, from ConfigMaps, Secrets
// and the control plane's namespace. What another cluster or another owner has there stays.
func storePrune(t *testing.T, all *namespaces) {
	namespace, reader := all.make(t)
	pruneInNamespace(t, open(t, all.server, all.server.Kubeconfig(all.server.Here, all.server.Authority.Client("admin", "system:masters"))), namespace, all.sink(t, namespace),
		func() statestore.Store { return openStore(t, namespace, storetest.Cluster, reader) })
}

func pruneInNamespace(t *testing.T, admin *kube.Client, namespace string, sink *kubernetes.Namespace, reader func() statestore.Store) {
	const key = "pki/private/ca/1.key"
	publish := func(content string) {
		t.Helper()
		of := publisher.Publication{Cluster: storetest.Cluster, ControlPlane: []string{key}, Now: time.Now(), Objects: map[string][]byte{
			"cluster.yaml": []byte("kind: Cluster\n"), "files/big": []byte(strings.Repeat(content+" is a secret file of several parts\n", 40_000)),
			"nodes/n1.yaml": []byte("# " + content + "\n"), key: []byte(content + " key"),
		}}
		if _, err := publisher.Publish(t.Context(), sink, of); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (names []string) {
		t.Helper()
		for _, in := range []struct {
			kind  kube.Kind
			where string
		}{{kube.ConfigMap, namespace}, {kube.Secret, namespace}, {kube.Secret, namespace + "-control-plane"}} {
			if err := admin.Objects(in.kind, in.where).List(t.Context(), nil, func(o *kube.Object) error {
				names = append(names, string(in.kind)+" "+o.Name)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(names)
		return names
	}
	label := map[string]string{"app.kubernetes.io/managed-by": "netwright"}
	for _, other := range []kube.Object{{Name: "other.example.com." + strings.Repeat("a", 64), Labels: label}, {Name: storetest.Cluster + ".notes", Labels: label}} {
		if err := admin.Objects(kube.ConfigMap, namespace).Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	before := there()
	publish("one")
	publish("two")
	publish("three")
	whole := there()
	of := publisher.Pruning{Cluster: storetest.Cluster, By: "a person on a machine", Now: time.Now(), DryRun: true}
	dry, err := publisher.Prune(t.Context(), sink, of)
	if err != nil || len(dry.Generations) != 2 || dry.Oldest != 3 || dry.Bytes < 2_000_000 {
		t.Fatalf("Prune returns %+v, %v", dry, err)
	}
	if now := there(); !slices.Equal(now, whole) {
		t.Errorf("a dry run left %q of %q", now, whole)
	}
	of.DryRun = false
	done, err := publisher.Prune(t.Context(), sink, of)
	if err != nil || !slices.Equal(done.Objects, dry.Objects) || done.Bytes != dry.Bytes {
		t.Fatalf("Prune returns %+v, %v", done, err)
	}
	// Each of the two generations has a document, a key, a bundle, a record, and a file of two
	// parts. The mark of the prune is new.
	now := there()
	if len(whole)-len(now) != 2*6-1 {
		t.Errorf("%d of %d objects stay: %q", len(now), len(whole), now)
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			t.Errorf("%s is gone, and is none of ours", name)
		}
	}
	got, err := reader().Fetch(t.Context(), statestore.Revision{})
	if err != nil || string(got.Objects["nodes/n1.yaml"]) != "# three\n" || got.Verify(t.Context()) != nil {
		t.Errorf("Fetch returns %v, %v, want %q", got, err, "# three\n")
	}
	again, err := publisher.Prune(t.Context(), sink, of)
	if err != nil || len(again.Objects)+len(again.Generations) > 0 {
		t.Errorf("Prune returns %+v, %v", again, err)
	}
	publish("one") // its objects are gone
	if got, err := reader().Fetch(t.Context(), statestore.Revision{}); err != nil || string(got.Objects["nodes/n1.yaml"]) != "# one\n" {
		t.Errorf("Fetch returns %v, %v, want %q", got, err, "# one\n")
	}
}
