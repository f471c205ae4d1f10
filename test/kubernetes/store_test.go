package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/kubernetes"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/storetest"
)

// namespaces has namespaces of one server. Each has an account with the rights that
// docs/kubernetes.md gives a node's account.
type namespaces struct {
	server *kubeapi.Server
	admin  string // the path of a kubeconfig
	made   atomic.Int64
}

func newNamespaces(t *testing.T) *namespaces {
	s := kubeapi.Start(t, kubeapi.Options{})
	return &namespaces{server: s, admin: s.File(s.Kubeconfig(s.Here, s.Authority.Client("admin", "system:masters")))}
}

// make makes another namespace. It returns its name and the kubeconfig of its reader.
func (n *namespaces) make(t *testing.T) (name, reader string) {
	t.Helper()
	name = fmt.Sprintf("fleet-%d", n.made.Add(1))
	n.server.Apply(strings.ReplaceAll(manifests(t), "netwright-system", name))
	return name, n.account(t, name, "netwright-node", name)
}

// account returns the kubeconfig of an account of the namespace, as soon as the account may read
// the Secrets of a namespace.
func (n *namespaces) account(t *testing.T, namespace, name, reads string) string {
	t.Helper()
	kubeconfig := n.server.TokenKubeconfig(n.server.Here, n.server.File(n.server.Token(namespace, name)))
	for client := open(t, n.server, kubeconfig); ; { // the server learns of rules by a watch of its own
		if _, err := client.Objects(kube.Secret, reads).Get(t.Context(), "none"); !errors.Is(err, fs.ErrPermission) {
			return n.server.File(kubeconfig)
		}
	}
}

// sink writes to a namespace as its administrator.
func (n *namespaces) sink(t *testing.T, namespace string) *kubernetes.Namespace {
	t.Helper()
	sink, err := kubernetes.New(namespace, storetest.Cluster, kubernetes.Options{Kubeconfig: n.admin})
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

func openStore(t *testing.T, namespace, cluster, kubeconfig string) statestore.Store {
	t.Helper()
	s, err := stores.Open("k8s://"+namespace, cluster, stores.Options{Kubernetes: kubernetes.Options{Kubeconfig: kubeconfig, Options: kube.Options{Version: "test"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put writes the objects of a publication, and the manifest last if it is wanted. Private objects
// go into Secrets.
func put(t *testing.T, sink *kubernetes.Namespace, objects, publication map[string][]byte, manifest bool) {
	t.Helper()
	private := map[string]bool{}
	for name, data := range objects {
		if strings.HasPrefix(name, "pki/private/") || strings.HasPrefix(name, "files/") {
			private[string(data)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(publication)) {
		write := sink.Put
		if name == "manifest" {
			continue
		} else if private[string(publication[name])] {
			write = sink.PutConfidential
		}
		if err := write(t.Context(), name, publication[name]); err != nil {
			t.Fatal(err)
		}
	}
	if !manifest {
		return
	}
	old, err := sink.Get(t.Context(), "manifest", "", 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := sink.Replace(t.Context(), "manifest", publication["manifest"], old.ETag); err != nil {
		t.Fatal(err)
	}
}

// The test runs the suite of stores with the store in a namespace. Each test has a namespace of its
// own.
func TestStore(t *testing.T) {
	t.Parallel()
	all := newNamespaces(t)
	for name, test := range map[string]func(*testing.T, *namespaces){
		"conforms": storeConforms, "layout": storeLayout, "two publishers": storeTwoPublishers, "watch": storeWatch,
		"control plane": storeOfControlPlanes, "prune": storePrune,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, all)
		})
	}
}

func storeConforms(t *testing.T, all *namespaces) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		namespace, reader := all.make(t)
		sink, generation := all.sink(t, namespace), int64(0)
		var last, published map[string][]byte
		return storetest.Harness{
			Open: func(t *testing.T, cluster string) statestore.Store { return openStore(t, namespace, cluster, reader) },
			Publish: func(t *testing.T, objects map[string][]byte) {
				generation++
				last, published = objects, storetest.Publication(generation, objects, true)
				put(t, sink, objects, published, true)
			},
			Tear: func(t *testing.T, objects map[string][]byte) {
				put(t, sink, objects, storetest.Publication(generation+1, objects, true), false)
			},
			Tamper: func(t *testing.T, name string) {
				for at, data := range storetest.Tampered(published, last[name]) {
					all.overwrite(t, namespace, strings.TrimPrefix(at, "objects/sha256/"), data)
				}
			},
		}
	})
}

// overwrite does what the server refuses for an immutable object: it deletes the object and makes
// another one of its name.
func (n *namespaces) overwrite(t *testing.T, namespace, hash string, data []byte) {
	t.Helper()
	path, name := "/api/v1/namespaces/"+namespace+"/configmaps", storetest.Cluster+"."+hash
	body := fmt.Sprintf(`{"metadata": {"name": %q}, "binaryData": {"object": %q}}`, name, base64.StdEncoding.EncodeToString(data))
	if code, answer, err := n.server.Try("PUT", path+"/"+name, body); err != nil || code != 422 || !strings.Contains(answer, "immutable") {
		t.Errorf("an object could be changed: %d %s %v", code, answer, err)
	}
	n.server.Must("DELETE", path+"/"+name, "")
	n.server.Must("POST", path, body)
}

// Confidential objects are in Secrets alone, a large object is in several parts, and a reader needs
// only the documented rules.
func storeLayout(t *testing.T, all *namespaces) {
	namespace, reader := all.make(t)
	big := strings.Repeat("# a long comment\n", 100_000) // 1.7 MB: three parts in the bundle
	objects := map[string][]byte{
		"cluster.yaml": []byte("kind: Cluster\n"), "nodes/n1.yaml": []byte(big), "pki/private/a/1.key": []byte("a private key"), "files/secret": []byte("a secret file"),
	}
	for i := range 2 { // the second time nothing is written
		done, err := publisher.Publish(t.Context(), all.sink(t, namespace), publisher.Publication{Cluster: storetest.Cluster, Objects: objects, Now: time.Now()})
		if err != nil || done.Generation != 1 || done.Unchanged != (i == 1) {
			t.Fatalf("publish %d: %+v, %v", i, done, err)
		}
	}
	got, err := openStore(t, namespace, storetest.Cluster, reader).Fetch(t.Context(), statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Objects["nodes/n1.yaml"]) != big {
		t.Errorf("the big document came with %d bytes of %d", len(got.Objects["nodes/n1.yaml"]), len(big))
	}
	if err := got.FetchKeys("a"); err != nil || string(got.Objects["pki/private/a/1.key"]) != "a private key" {
		t.Errorf("the key: %v", err)
	}
	if data, err := got.Files[0].Bytes(); err != nil || string(data) != "a secret file" {
		t.Errorf("the file: %v", err)
	}
	for _, kind := range []string{"configmaps", "secrets"} {
		var list struct {
			Items []struct {
				BinaryData, Data map[string][]byte
			} `json:"items"`
		}
		all.server.Get("/api/v1/namespaces/"+namespace+"/"+kind, &list)
		text, _ := json.Marshal(list)
		for _, secret := range []string{"a private key", "a secret file"} {
			if has := strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(secret))); has != (kind == "secrets") {
				t.Errorf("%q is among %s: %v", secret, kind, has)
			}
		}
	}
}

// The private key of a CA with which control plane nodes sign is in a namespace that the account of
// other nodes cannot read.
func storeOfControlPlanes(t *testing.T, all *namespaces) {
	namespace, worker := all.make(t)
	controlPlane := all.account(t, namespace, "netwright-control-plane", namespace+"-control-plane")
	const name = "pki/private/ca/1.key"
	objects := map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n"), name: []byte("a CA's key")}
	of := publisher.Publication{Cluster: storetest.Cluster, Objects: objects, ControlPlane: []string{name}, Now: time.Now()}
	if _, err := publisher.Publish(t.Context(), all.sink(t, namespace), of); err != nil {
		t.Fatal(err)
	}
	bring := func(kubeconfig string) (string, error) {
		got, err := openStore(t, namespace, storetest.Cluster, kubeconfig).Fetch(t.Context(), statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		err = got.FetchKeys("ca")
		return string(got.Objects[name]), err
	}
	if key, err := bring(worker); !errors.Is(err, fs.ErrPermission) || key != "" {
		t.Errorf("another node: %q, %v", key, err)
	}
	if key, err := bring(controlPlane); err != nil || key != "a CA's key" {
		t.Errorf("a control plane node: %q, %v", key, err)
	}
	for who, kubeconfig := range map[string]string{"another": worker, "a control plane": controlPlane} {
		got, err := openStore(t, namespace, storetest.Cluster, kubeconfig).Fetch(t.Context(), statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		if open, err := got.ReadByAll(t.Context(), name); err != nil || open {
			t.Errorf("%s node is told that every node reads the key: %v, %v", who, open, err)
		}
	}
	if text := all.server.Must("GET", "/api/v1/namespaces/"+namespace+"/secrets", ""); strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("a CA's key"))) {
		t.Error("the key is among what all nodes read")
	}
}

// Of two publishers at once one gets an error, and nothing of its manifest is stored.
func storeTwoPublishers(t *testing.T, all *namespaces) {
	namespace, _ := all.make(t)
	ctx, one, two := t.Context(), all.sink(t, namespace), all.sink(t, namespace)
	if err := one.Replace(ctx, "manifest", []byte("first"), ""); err != nil {
		t.Fatal(err)
	}
	if err := two.Replace(ctx, "manifest", []byte("second"), ""); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	old, err := one.Get(ctx, "manifest", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Replace(ctx, "manifest", []byte("second"), old.ETag); err != nil {
		t.Error(err)
	}
	if err := one.Replace(ctx, "manifest", []byte("third"), old.ETag); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("replaced what had changed: %v", err)
	}
	if got, err := one.Get(ctx, "manifest", old.ETag, 100); err != nil || string(got.Body) != "second" {
		t.Errorf("the manifest is %q, %v", got.Body, err)
	}
	if _, err := one.Get(ctx, "manifest", "", 3); err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("a bound is not held: %v", err)
	}
}

// A reader learns of a change without a poll. A reader without the right is told which rule is
// missing.
func storeWatch(t *testing.T, all *namespaces) {
	namespace, reader := all.make(t)
	sink, objects := all.sink(t, namespace), map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")}
	s := openStore(t, namespace, storetest.Cluster, reader)
	watcher := s.(statestore.Watcher)
	heard := make(chan error, 1)
	for generation := int64(1); generation <= 3; generation++ { // before the first one there is nothing
		go func() { heard <- watcher.Changed(t.Context()) }()
		objects["nodes/n.yaml"] = fmt.Append(nil, generation)
		put(t, sink, objects, storetest.Publication(generation, objects, true), true)
		if err := <-heard; err != nil {
			t.Fatal(err)
		}
		got, err := s.Fetch(t.Context(), statestore.Revision{})
		if err != nil || got.Generation != generation {
			t.Fatalf("%v, %v; want generation %d", got, err, generation)
		}
	}
	kubelet := all.server.File(all.server.Kubeconfig(all.server.Here, all.server.Kubelet("n")))
	_, err := openStore(t, namespace, storetest.Cluster, kubelet).Fetch(t.Context(), statestore.Revision{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), `a Role of namespace `+namespace+` with {apiGroups: [""], resources: ["configmaps"]`) {
		t.Errorf("a kubelet's credential: %v", err)
	}
	_, err = openStore(t, namespace, storetest.Cluster, "/nowhere/kubeconfig").Fetch(t.Context(), statestore.Revision{})
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/kubeconfig") {
		t.Errorf("no kubeconfig: %v", err)
	}
}
