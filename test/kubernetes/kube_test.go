// Package kubernetes has the tests that need a real Kubernetes API server: `make test-kubernetes`.
package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/test/kubeapi"
)

// open makes the agent's client from a kubeconfig's text.
func open(t *testing.T, s *kubeapi.Server, kubeconfig string) *kube.Client {
	t.Helper()
	c, err := kube.Open(s.File(kubeconfig), kube.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func node(name, spec string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\nspec: %s\n", name, spec)
}

// A kubelet's credential can read its own Node and make it unschedulable, and no other Node. The
// server's own release decides what is allowed.
func TestAKubeletsOwnNode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kubeapi.Start(t, kubeapi.Options{})
	s.Apply(node("node-1", `{podCIDRs: ["10.244.1.0/24", "fd00:1::/64"], podCIDR: 10.244.1.0/24}`) + "---\n" + node("node-2", "{}"))
	s.Must("PATCH", "/api/v1/nodes/node-1/status", `{"status": {"addresses": [{"type": "InternalIP", "address": "10.77.0.11"}, {"type": "Hostname", "address": "node-1"}]}}`)
	c := open(t, s, s.Kubeconfig(s.Here, s.Kubelet("node-1")))

	own, err := c.Node(ctx, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(own.PodCIDRs, own.Addresses, own.Unschedulable); got != "[10.244.1.0/24 fd00:1::/64] [10.77.0.11] false" {
		t.Errorf("its own Node is %s", got)
	}
	for i := range 2 { // cordoned twice, uncordoned twice
		if err := c.Cordon(ctx, "node-1", "a switch of networks"); err != nil {
			t.Fatalf("cordon %d: %v", i, err)
		}
		if got := s.Must("GET", "/api/v1/nodes/node-1", ""); !strings.Contains(got, "netwright.dev/cordoned") {
			t.Errorf("cordon %d left no note: %s", i, got)
		}
	}
	if !unschedulable(s, "node-1") {
		t.Error("cordoned, and the server says it is schedulable")
	}
	for range 2 {
		if err := c.Uncordon(ctx, "node-1"); err != nil {
			t.Fatal(err)
		}
	}
	if unschedulable(s, "node-1") {
		t.Error("uncordoned, and the server says it is unschedulable")
	}
	if got := s.Must("GET", "/api/v1/nodes/node-1", ""); strings.Contains(got, "netwright.dev") {
		t.Errorf("the note of the cordon stays: %s", got)
	}

	for _, text := range []string{"a question", "another", ""} {
		if err := c.Annotate(ctx, "node-1", kube.RequestsAnnotation, text); err != nil {
			t.Fatal(err)
		}
		if own, err := c.Node(ctx, "node-1"); err != nil || own.Requests != text {
			t.Errorf("its Node asks %q, want %q: %v", own.Requests, text, err)
		}
	}
	if err := c.Annotate(ctx, "node-2", kube.RequestsAnnotation, "a question"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another's Node is annotated: %v", err)
	}
	if _, err := c.NodeNames(ctx); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a kubelet reads all names: %v", err)
	}

	s.Must("PATCH", "/api/v1/nodes/node-1", `{"spec": {"unschedulable": true}}`) // as a person does it
	if err := c.Cordon(ctx, "node-1", "a switch of networks"); err != nil {
		t.Errorf("cordon of a Node that a person cordoned: %v", err)
	}
	if got := s.Must("GET", "/api/v1/nodes/node-1", ""); strings.Contains(got, "netwright.dev/cordoned") {
		t.Errorf("a person's cordon is taken for ours: %s", got)
	}
	if err := c.Uncordon(ctx, "node-1"); err != nil || !unschedulable(s, "node-1") {
		t.Errorf("a person's cordon is taken back: %v", err)
	}

	if _, err := c.Node(ctx, "node-2"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), `resources: ["nodes"], resourceNames: ["node-2"], verbs: ["get"]`) {
		t.Errorf("another's Node: %v", err)
	}
	if err := c.Cordon(ctx, "node-2", "not ours"); err == nil || unschedulable(s, "node-2") {
		t.Errorf("another's Node is cordoned: %v", err)
	}
	if _, _, err := c.Nodes(ctx); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a kubelet lists the Nodes, which it may not since 1.32: %v", err)
	}
	if _, err := c.Objects(kube.ConfigMap, "kube-system").Get(ctx, "any"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a kubelet reads ConfigMaps: %v", err)
	}
}

func unschedulable(s *kubeapi.Server, node string) bool {
	var n struct {
		Spec struct {
			Unschedulable bool `json:"unschedulable"`
		} `json:"spec"`
	}
	s.Get("/api/v1/nodes/"+node, &n)
	return n.Spec.Unschedulable
}

// A ServiceAccount of our own lists Nodes by pages, and learns of changes.
func TestAServiceAccountOfOurOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kubeapi.Start(t, kubeapi.Options{})
	s.Apply("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: netwright\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: netwright\n  namespace: netwright\n")
	token := s.File(s.Token("netwright", "netwright"))
	c := open(t, s, s.TokenKubeconfig(s.Here, token))

	_, _, err := c.Nodes(ctx)
	if !errors.Is(err, fs.ErrPermission) || graph.IsTransient(err) || !strings.Contains(err.Error(), `a ClusterRole with {apiGroups: [""], resources: ["nodes"], verbs: ["list"]}`) {
		t.Errorf("without a rule: %v", err)
	}
	s.Apply(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: netwright
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: netwright
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: netwright}
subjects:
- {kind: ServiceAccount, name: netwright, namespace: netwright}
`)
	const many = 1100 // more than two pages
	for i := range many {
		s.Must("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata": {"name": "node-%d"}, "spec": {"podCIDR": "10.%d.%d.0/24", "podCIDRs": ["10.%d.%d.0/24"]}}`, i, i/256, i%256, i/256, i%256))
	}
	all, version := allowed(ctx, t, c)
	if len(all) != many {
		t.Errorf("the list has %d Nodes, want %d", len(all), many)
	}
	if names, err := c.NodeNames(ctx); err != nil || len(names) != many || !slices.Contains(names, "node-7") {
		t.Errorf("the names are %d, want %d: %v", len(names), many, err)
	}
	heard := make(chan error, 1)
	go func() { heard <- c.Changed(ctx, kube.Watched{Resource: "nodes", Version: version}) }()
	s.Must("DELETE", "/api/v1/nodes/node-7", "")
	if err := <-heard; err != nil {
		t.Errorf("waiting for a change: %v", err)
	}
	if all, _ := allowed(ctx, t, c); slices.ContainsFunc(all, func(n kube.Node) bool { return n.Name == "node-7" }) || len(all) != many-1 {
		t.Errorf("the list still has the Node that is gone, of %d", len(all))
	}
	if err := c.Changed(ctx, kube.Watched{Resource: "nodes", Version: "1"}); err != nil {
		t.Errorf("a version that is long gone: %v; want that it is read again", err)
	}

	s.Down()
	if _, _, err := c.Nodes(ctx); !graph.IsTransient(err) {
		t.Errorf("the server is gone: %v; want that it is tried again", err)
	}
	s.Up()
	if all, _ := allowed(ctx, t, c); len(all) != many-1 {
		t.Errorf("the server is back, and the list has %d Nodes", len(all))
	}
}

// allowed lists the Nodes as soon as the server applies the rules that were just made.
func allowed(ctx context.Context, t *testing.T, c *kube.Client) ([]kube.Node, string) {
	t.Helper()
	for {
		all, version, err := c.Nodes(ctx)
		if err == nil {
			return all, version
		}
		if !errors.Is(err, fs.ErrPermission) && !graph.IsTransient(err) {
			t.Fatal(err)
		}
	}
}

// ConfigMaps and Secrets are made once, replaced only as they were read, and never in part.
func TestObjects(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kubeapi.Start(t, kubeapi.Options{})
	c := open(t, s, s.Kubeconfig(s.Here, s.Authority.Client("admin", "system:masters")))
	for _, kind := range []kube.Kind{kube.ConfigMap, kube.Secret} {
		if _, err := c.Objects(kind, "default").Get(ctx, "one"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: nothing is there: %v", kind, err)
		}
		err := c.Objects(kind, "default").Create(ctx, kube.Object{Name: "one", Labels: map[string]string{"a": "b"}, Data: map[string][]byte{"x": {0, 255}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Objects(kind, "default").Create(ctx, kube.Object{Name: "one"}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: made twice: %v", kind, err)
		}
		read, err := c.Objects(kind, "default").Get(ctx, "one")
		if err != nil || string(read.Data["x"]) != "\x00\xff" || read.Labels["a"] != "b" {
			t.Errorf("%s: read %+v, %v", kind, read, err)
		}
		replaced := *read
		replaced.Data = map[string][]byte{"x": []byte("new")}
		if err := c.Objects(kind, "default").Update(ctx, replaced); err != nil {
			t.Errorf("%s: Update returns %v", kind, err)
		}
		if err := c.Objects(kind, "default").Update(ctx, *read); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("%s: replaced what somebody else had changed: %v", kind, err)
		}
	}
}

// A server that was started again does not have an old object's version in its watch cache, and
// answers 410 each time. A watch of an unchanged object reports nothing then, and reports the next
// change. Otherwise each node of a fleet would read its store every two seconds without an end.
func TestAWatchOfAnOldObject(t *testing.T) {
	t.Parallel()
	s := kubeapi.Start(t, kubeapi.Options{})
	c := open(t, s, s.Kubeconfig(s.Here, s.Authority.Client("admin", "system:masters")))
	objects := c.Objects(kube.ConfigMap, "default")
	for _, name := range []string{"old", "newer"} {
		if err := objects.Create(t.Context(), kube.Object{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	s.Apply(node("node-1", "{}") + "---\n" + node("newer", "{}"))
	s.Down()
	s.Up()
	old, err := objects.Get(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.Node(t.Context(), "node-1")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 2)
	go func() {
		err := c.Changed(t.Context(), kube.Watched{Resource: "configmaps", Namespace: "default", Name: "old", Version: old.Version})
		heard <- fmt.Sprint("the ConfigMap: ", err)
	}()
	go func() {
		err := c.NodesChanged(t.Context(), "node-1", []kube.Node{*n}, n.Version)
		heard <- fmt.Sprint("the Node: ", err)
	}()
	select {
	case what := <-heard:
		t.Errorf("nothing changed, and a watch wakes: %s", what)
		return
	case <-time.After(5 * time.Second):
	}
	old.Data = map[string][]byte{"x": []byte("new")}
	if err := objects.Update(t.Context(), *old); err != nil {
		t.Fatal(err)
	}
	s.Must("PATCH", "/api/v1/nodes/node-1", `{"spec": {"podCIDRs": ["10.244.1.0/24"], "podCIDR": "10.244.1.0/24"}}`)
	for range 2 {
		if what := <-heard; !strings.HasSuffix(what, "<nil>") {
			t.Error(what)
		}
	}
}

// The test requests a certificate, and reads the result of the request.
func TestSigningRequests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kubeapi.Start(t, kubeapi.Options{})
	c := open(t, s, s.Kubeconfig(s.Here, s.Authority.Client("admin", "system:masters")))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "calico-client"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	ask := kube.SigningRequest{Name: "calico-node-1", Signer: "example.com/etcd", Usages: []string{"client auth"}, Seconds: 3600,
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}
	if err := c.CreateSigningRequest(ctx, ask); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateSigningRequest(ctx, ask); !errors.Is(err, fs.ErrExist) {
		t.Errorf("asked twice: %v", err)
	}
	got, err := c.SigningRequest(ctx, ask.Name)
	if err != nil || got.Signer != ask.Signer || got.Seconds != 3600 || got.Certificate != nil || got.Refused != "" {
		t.Errorf("nobody has decided: %+v, %v", got, err)
	}
	path := "/apis/certificates.k8s.io/v1/certificatesigningrequests/" + ask.Name
	s.Must("PATCH", path+"/approval", `{"status": {"conditions": [{"type": "Denied", "status": "True", "reason": "Policy", "message": "not here"}]}}`)
	if got, err := c.SigningRequest(ctx, ask.Name); err != nil || got.Refused != "Denied: Policy: not here" {
		t.Errorf("denied: %+v, %v", got, err)
	}
	s.Must("DELETE", path, "")
	if _, err := c.SigningRequest(ctx, ask.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}
