package reconcile

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/pki"
)

// approver is an API in which a test decides on each request. The tests of test/kubernetes use the
// real API.
type approver struct {
	t       *testing.T
	ca      *pki.Authority
	asked   map[string]kube.SigningRequest
	created int
	down    error
}

func (a *approver) CreateSigningRequest(_ context.Context, r kube.SigningRequest) error {
	if a.down != nil {
		return a.down
	}
	if _, there := a.asked[r.Name]; there {
		return fs.ErrExist
	}
	a.asked[r.Name] = r
	a.created++
	return nil
}

func (a *approver) SigningRequest(_ context.Context, name string) (*kube.SigningRequest, error) {
	if a.down != nil {
		return nil, a.down
	}
	r, there := a.asked[name]
	if !there {
		return nil, fs.ErrNotExist
	}
	return &r, nil
}

func (a *approver) Authorities() []byte { return []byte(a.ca.PEM) }

// decide calls do for every request.
func (a *approver) decide(do func(*kube.SigningRequest)) {
	for name, r := range a.asked {
		do(&r)
		a.asked[name] = r
	}
}

// approve signs a request as the controller manager does.
func (a *approver) approve(r *kube.SigningRequest) {
	a.t.Helper()
	block, _ := pem.Decode(r.Request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		a.t.Fatal(err)
	}
	authority, err := certs.ParseAuthority([]byte(a.ca.PEM), secret.New(a.ca.Key()))
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := authority.Sign(certs.Request{CommonName: csr.Subject.CommonName, Usages: []string{certs.Client}, Lifetime: time.Duration(r.Seconds) * time.Second}, csr.PublicKey, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	r.Certificate = certs.Encode(c)
}

const askEntry = "{name: own, source: kubernetes, signer: example.com/etcd, dir: /etc/own, lifetime: 1h}"

func newAskBench(t *testing.T) (*issueBench, *approver) {
	t.Helper()
	ca := pki.New(t, "kubernetes")
	b := newIssueBench(t, ca, askEntry)
	api := &approver{t: t, ca: ca, asked: map[string]kube.SigningRequest{}}
	b.pass.Certificates = func() (issue.CertificateAPI, error) { return api, nil }
	return b, api
}

// The agent makes a request once, finds it again by its name, and takes the certificate. The key
// never leaves the node.
func TestAskKubernetes(t *testing.T) {
	b, api := newAskBench(t)
	shown, err := b.pass.DryRun(t.Context(), b.load())
	if err != nil || api.created != 0 || !strings.Contains(whys(shown), "would be issued by Kubernetes, signer example.com/etcd: there is none yet") {
		t.Fatalf("%v, %d requests\n%s", err, api.created, whys(shown))
	}
	for range 3 {
		if p := b.converge(); !strings.Contains(said(p), "to be approved, and signed by example.com/etcd: `kubectl certificate approve netwright-m-1-own-") {
			t.Fatalf("it does not wait:\n%s", said(p))
		}
	}
	if api.created != 1 {
		t.Errorf("%d requests", api.created)
	}
	shown, err = b.pass.DryRun(t.Context(), b.load())
	if err != nil || !strings.Contains(whys(shown), "which has had the request netwright-m-1-own-") {
		t.Errorf("%v: the plan does not say where the request is:\n%s", err, whys(shown))
	}
	api.decide(func(r *kube.SigningRequest) {
		if strings.Contains(string(r.Request), "PRIVATE") || r.Seconds != 3600 || strings.Join(r.Usages, ",") != "digital signature,client auth" {
			t.Errorf("asked for %+v", r)
		}
		api.approve(r)
	})
	b.converge()
	first := b.leaf()
	if hostroot.Read(t, b.root, "/etc/own/ca.crt") != api.ca.PEM || strings.Contains(hostroot.Read(t, b.root, issue.Dir+"/own.json"), "pending") {
		t.Error("the CA is another, or the request is still open")
	}
	b.converge()
	if !b.leaf().Equal(first) || api.created != 1 {
		t.Error("it was asked for again")
	}
}

// The agent was killed after its request and before the answer: the next run finds the same
// request.
func TestAskKubernetesAgain(t *testing.T) {
	b, api := newAskBench(t)
	b.converge()
	name := ""
	for name = range api.asked {
	}
	delete(api.asked, name) // the controller manager deletes an old request
	b.converge()
	if _, same := api.asked[name]; !same || len(api.asked) != 1 {
		t.Errorf("asked for %v, at first for %s", api.asked, name)
	}
	api.down = graph.Transient(errors.New("connection refused"))
	if p := b.converge(); !strings.Contains(said(p), "connection refused") || state(p, report.Failed) {
		t.Errorf("the API is away:\n%s", said(p))
	}
}

// A refusal is an error with its reason. The agent makes no new request until somebody deletes that
// one.
func TestKubernetesRefuses(t *testing.T) {
	b, api := newAskBench(t)
	b.converge()
	api.decide(func(r *kube.SigningRequest) { r.Refused = "Denied: Policy: not here" })
	for range 2 {
		_, err := b.pass.Converge(t.Context(), b.load())
		if err == nil || !strings.Contains(err.Error(), "was refused (Denied: Policy: not here)") || !strings.Contains(err.Error(), "kubectl delete csr") {
			t.Fatalf("a refused request: %v; want the reason and kubectl delete csr", err)
		}
	}
	if api.created != 1 {
		t.Errorf("%d requests", api.created)
	}
}

// The agent does not take a certificate for another key.
func TestKubernetesSignsAnother(t *testing.T) {
	b, api := newAskBench(t)
	b.converge()
	other := api.ca.Client("own")
	api.decide(func(r *kube.SigningRequest) { r.Certificate = []byte(other.Cert) })
	if _, err := b.pass.Converge(t.Context(), b.load()); err == nil || !strings.Contains(err.Error(), "a certificate of another key") {
		t.Fatalf("got %v, want that the certificate is of another key", err)
	}
}

func state(p *report.Plan, s report.State) bool {
	for i := range p.Steps {
		if p.Steps[i].State == s {
			return true
		}
	}
	return false
}

// The disk of a node boots as another machine, whatever request the first machine waited for. Each
// machine has a key of its own. The lines that keep it: pkg/certs/issue/renewal.go, reason
// (IsOtherMachine); pkg/certs/issue/kubernetes.go, prepare.
func TestAnotherMachineAsksByAKeyOfItsOwn(t *testing.T) {
	b, api := newAskBench(t)
	hostroot.Put(t, b.root, "/etc/machine-id", "11\n")
	b.converge()
	for i, other := range []string{"22", "33"} {
		hostroot.Put(t, b.root, "/etc/machine-id", other+"\n")
		for range 2 {
			if b.converge(); api.created != i+2 {
				t.Fatalf("machine %s: %d requests, want one more than before", other, api.created)
			}
		}
		api.decide(api.approve)
		b.converge()
		if b.converge(); api.created != i+2 || !hostroot.There(b.root, "/etc/own/own.crt") {
			t.Errorf("machine %s: %d requests, and it does not have what was asked for", other, api.created)
		}
	}
}

// The servers of the API get another CA. While they also trust the former CA, the certificate stays
// good. When they no longer do, the agent requests a new certificate, and meanwhile trusts the
// servers by the new CA. The line that keeps it: pkg/certs/issue/renewal.go, lostItsCA.
func TestIssueAgainForAnotherCAOfTheAPI(t *testing.T) {
	b, api := newAskBench(t)
	b.converge()
	api.decide(api.approve)
	b.converge()
	first, old, next := b.leaf(), api.ca, pki.New(t, "kubernetes")
	api.ca = &pki.Authority{PEM: old.PEM + next.PEM}
	for range 2 {
		if b.converge(); api.created != 1 {
			t.Fatal("it was asked for again while both are trusted")
		}
	}
	api.ca = next
	for range 2 {
		if b.converge(); api.created != 2 {
			t.Fatalf("%d requests, want another one", api.created)
		}
	}
	if got := hostroot.Read(t, b.root, "/etc/own/ca.crt"); got != next.PEM || !b.leaf().Equal(first) {
		t.Errorf("while it waits, what is trusted is\n%s", got)
	}
	if shown, err := b.pass.DryRun(t.Context(), b.load()); err != nil || !strings.Contains(whys(shown), "no longer trust the CA that signed it") {
		t.Errorf("%v: a dry run does not say why:\n%s", err, whys(shown))
	}
	api.decide(api.approve)
	b.converge()
	if b.converge(); b.leaf().Equal(first) || api.created != 2 {
		t.Errorf("what the old CA signed stays, or it is asked for again: %d requests", api.created)
	}
}

// The servers trust another CA when the agent finds the answer of the former one. It does not take
// that certificate, and makes a new request. It takes the answer of a signer with its own CA,
// whatever CA the servers have. The line that keeps it: pkg/certs/issue/kubernetes.go, take
// (lostItsCA).
func TestTakeNothingOfAFormerCAOfTheAPI(t *testing.T) {
	b, api := newAskBench(t)
	b.converge()
	api.decide(api.approve)
	api.ca = pki.New(t, "kubernetes")
	if p := b.converge(); !strings.Contains(said(p), "do not trust any more") || hostroot.There(b.root, "/etc/own/own.crt") {
		t.Errorf("what the former CA signed is taken:\n%s", said(p))
	}
	if b.converge(); api.created != 2 {
		t.Fatalf("%d requests, want another one", api.created)
	}
	signer, servers := pki.New(t, "own"), api.ca
	api.ca = signer
	api.decide(api.approve)
	api.ca = pki.New(t, "servers")
	b.converge()
	if b.converge(); api.created != 2 || hostroot.Read(t, b.root, "/etc/own/ca.crt") == servers.PEM {
		t.Errorf("%d requests, and the CA that is installed is the former one", api.created)
	}
}

// A signer answers a second time with the API's former CA. The agent takes that certificate, since
// perhaps only the servers changed their CA. The node reports this until the next renewal. The
// lines that keep it: pkg/certs/issue/kubernetes.go, take (FormerCA); pkg/certs/issue/issue.go,
// stands.
func TestTellOfASignerWithAFormerCAOfTheAPI(t *testing.T) {
	const want = "the certificate own was signed by a CA that the API servers no longer have"
	b, api := newAskBench(t)
	b.converge()
	former, now := api.ca, pki.New(t, "kubernetes")
	for i := range 2 {
		api.ca = former
		api.decide(api.approve)
		api.ca = now
		b.converge()
		if p := b.converge(); strings.Contains(said(p), want) != (i == 1) || hostroot.There(b.root, "/etc/own/own.crt") != (i == 1) {
			t.Errorf("answer %d:\n%s", i, said(p))
		}
	}
	if shown, err := b.pass.DryRun(t.Context(), b.load()); err != nil || !strings.Contains(said(shown), want) || api.created != 2 {
		t.Errorf("%v: %d requests, and a dry run says\n%s", err, api.created, said(shown))
	}
	api.ca = &pki.Authority{PEM: now.PEM + former.PEM}
	if p := b.converge(); strings.Contains(said(p), want) {
		t.Errorf("the servers have it again:\n%s", said(p))
	}
}
