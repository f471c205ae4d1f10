package kubernetes

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/pki"
)

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// A node requests a certificate as its kubelet, waits for the approval, and takes what was signed.
// The API server then recognises the node by it. If the request is denied, the error has the
// reason. The test approves and signs, since the cluster has no controllers.
func TestANodeAsksForCertificates(t *testing.T) {
	t.Parallel()
	s := kubeapi.Start(t, kubeapi.Options{})
	kubelet := open(t, s, s.Kubeconfig(s.Here, s.Kubelet("node-1")))
	root, dir := t.TempDir(), t.TempDir()
	pass := reconcile.Pass{Host: host.Options{Root: root}, Log: zap.NewNop(), Certificates: func() (issue.CertificateAPI, error) { return kubelet, nil }}
	documents := func(name, signer string) {
		write(t, dir+"/demo/cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.36.0\n  networking: {calico: {}}\n  assets: []\n"+
			"  certificates:\n  - {name: "+name+", source: kubernetes, signer: "+signer+", dir: /etc/own, lifetime: 1h}\n")
	}
	converge := func() (*report.Plan, error) {
		t.Helper()
		store, err := stores.Open(dir, "demo", stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := desired.Load(t.Context(), store, config.Select{Node: "node-1"}, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		return pass.Converge(t.Context(), d)
	}

	documents("own", "kubernetes.io/kube-apiserver-client")
	for range 2 {
		if p, err := converge(); err != nil || !waits(p, "`kubectl certificate approve netwright-node-1-own-") {
			t.Fatalf("it does not wait for somebody: %v, %+v", err, p)
		}
	}
	one := only(t, s)
	if one.Spec.Username != "system:node:node-1" || one.Spec.Seconds != 3600 {
		t.Errorf("asked as %s for %d s", one.Spec.Username, one.Spec.Seconds)
	}
	path := requests + "/" + one.Metadata.Name
	s.Must("PATCH", path+"/approval", `{"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}}`)
	if p, err := converge(); err != nil || !waits(p, " to be signed by kubernetes.io/kube-apiserver-client") {
		t.Errorf("approved, it does not wait for the signer: %v, %+v", err, p)
	}
	s.Must("PATCH", path+"/status", fmt.Sprintf(`{"status": {"certificate": %q}}`, base64.StdEncoding.EncodeToString(sign(t, s.Authority, one.Spec.Request))))
	if _, err := converge(); err != nil {
		t.Fatal(err)
	}
	pair := pki.Pair{Cert: read(t, root+"/etc/own/own.crt"), Key: read(t, root+"/etc/own/own.key")}
	if _, err := open(t, s, s.Kubeconfig(s.Here, pair)).Node(t.Context(), "node-1"); err == nil || !strings.Contains(err.Error(), `User \"own\" cannot get`) {
		t.Errorf("the API server does not know who shows it: %v", err)
	}
	if read(t, root+"/etc/own/ca.crt") != s.Authority.PEM {
		t.Error("the CA beside it is not the API's")
	}
	s.Must("DELETE", path, "") // the controller manager does so after an hour
	if _, err := converge(); err != nil || count(t, s) != 0 {
		t.Errorf("it asks again: %v", err)
	}

	documents("other", "example.com/etcd")
	if _, err := converge(); err != nil {
		t.Fatal(err)
	}
	path = requests + "/" + only(t, s).Metadata.Name
	s.Must("PATCH", path+"/approval", `{"status": {"conditions": [{"type": "Denied", "status": "True", "reason": "Policy", "message": "not here"}]}}`)
	if _, err := converge(); err == nil || !strings.Contains(err.Error(), "was refused (Denied: Policy: not here)") {
		t.Errorf("denied: %v", err)
	}
	s.Must("DELETE", path, "")
	if p, err := converge(); err != nil || !waits(p, "netwright-node-1-other-") {
		t.Errorf("deleted, it is not asked for again: %v", err)
	}
}

// request has the parts of a CertificateSigningRequest that the test needs.
type request struct {
	Metadata struct{ Name string }
	Spec     struct {
		Request  []byte
		Username string
		Seconds  int `json:"expirationSeconds"`
	}
}

func list(t *testing.T, s *kubeapi.Server) []request {
	t.Helper()
	var all struct{ Items []request }
	if err := json.Unmarshal([]byte(s.Must("GET", requests, "")), &all); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func count(t *testing.T, s *kubeapi.Server) int { return len(list(t, s)) }

func only(t *testing.T, s *kubeapi.Server) request {
	t.Helper()
	all := list(t, s)
	if len(all) != 1 {
		t.Fatalf("%d requests", len(all))
	}
	return all[0]
}

// sign signs a request with the CA that the server trusts for its clients.
func sign(t *testing.T, ca *pki.Authority, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := certs.ParseAuthority([]byte(ca.PEM), secret.New(ca.Key()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := authority.Sign(certs.Request{CommonName: csr.Subject.CommonName, Usages: []string{certs.Client}, Lifetime: time.Hour}, csr.PublicKey, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return certs.Encode(c)
}

func waits(p *report.Plan, words string) bool {
	for _, s := range p.Steps {
		if s.State == report.Waits && strings.Contains(s.Message, words) {
			return true
		}
	}
	return false
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
