package reconcile

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
)

// issueBench is a control-plane node below a root of its own. A CA of the store signs the node's
// certificate.
type issueBench struct {
	t         *testing.T
	root, dir string
	pass      Pass
}

func newIssueBench(t *testing.T, ca *pki.Authority, entry string) *issueBench {
	t.Helper()
	needs.Root(t) // files belong to root
	b := &issueBench{t: t, root: t.TempDir(), dir: t.TempDir()}
	b.pass = onRoot(b.root)
	b.pass.issueAnywhere = true
	b.documents(entry)
	b.authority(ca)
	return b
}

func (b *issueBench) documents(entry string) {
	b.t.Helper()
	hostroot.Put(b.t, b.dir, "demo/cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.36.0\n  networking: {calico: {}}\n  assets: []\n")
	hostroot.Put(b.t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec:\n  role: ControlPlane\n  certificates:\n  - "+entry+"\n")
}

func (b *issueBench) authority(ca *pki.Authority) {
	b.t.Helper()
	hostroot.Put(b.t, b.dir, "demo/pki/issued/etcd-ca/1.crt", ca.PEM)
	hostroot.Put(b.t, b.dir, "demo/pki/private/etcd-ca/1.key", ca.Key())
}

func (b *issueBench) load() *desired.State {
	b.t.Helper()
	store, err := stores.Open(b.dir, "demo", stores.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	d, err := desired.Load(b.t.Context(), store, config.Select{Node: "m-1", Group: "masters"}, statestore.Revision{})
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *issueBench) converge() *report.Plan {
	b.t.Helper()
	p, err := b.pass.Converge(b.t.Context(), b.load())
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *issueBench) leaf() *x509.Certificate {
	b.t.Helper()
	all, err := certs.Parse([]byte(hostroot.Read(b.t, b.root, "/etc/own/own.crt")))
	if err != nil {
		b.t.Fatal(err)
	}
	return all[0]
}

const ownEntry = "{name: own, source: ca, ca: etcd-ca, dir: /etc/own, names: [\"${Node}\", 10.0.0.1], lifetime: 1h}"

// A dry run makes no key and sends no request. The pass issues the certificate once. It stays until
// it is due.
func TestIssueByCA(t *testing.T) {
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	shown, err := b.pass.DryRun(t.Context(), b.load())
	if err != nil || !strings.Contains(whys(shown), "would be issued by the CA etcd-ca of the store: there is none yet") {
		t.Fatalf("%v\n%s", err, whys(shown))
	}
	if hostroot.There(b.root, issue.Dir) || hostroot.There(b.root, "/etc/own") {
		t.Fatal("the dry run wrote something")
	}

	b.converge()
	first := b.leaf()
	if got := certs.Subject(first) + " " + strings.Join(certs.Names(first), " "); got != "CN=own m-1 10.0.0.1" {
		t.Errorf("the certificate is for %s", got)
	}
	key, err := certs.ParseKey(secret.New(hostroot.Read(t, b.root, "/etc/own/own.key")))
	if err != nil || !certs.KeyMatches(key, first) {
		t.Errorf("its key does not fit: %v", err)
	}
	for path, mode := range map[string]os.FileMode{issue.Dir: 0o700 | os.ModeDir, issue.Dir + "/own.json": 0o600, "/etc/own/own.key": 0o600} {
		if info, err := os.Stat(b.root + path); err != nil || info.Mode() != mode {
			t.Errorf("%s: Stat returns %v, %v", path, info.Mode(), err)
		}
	}
	if strings.Contains(hostroot.Read(t, b.root, issue.Dir+"/own.json"), ca.Key()) {
		t.Error("the CA's key is on the node")
	}
	for range 3 {
		b.converge()
	}
	if !b.leaf().Equal(first) {
		t.Error("the certificate was issued again, although it is not due")
	}
	if blobs, _ := os.ReadDir(b.root + "/var/lib/netwright/blobs"); strings.Contains(contents(t, b.root+"/var/lib/netwright/blobs", blobs), "PRIVATE KEY") {
		t.Error("the ledger has the key too")
	}
}

func contents(t *testing.T, dir string, entries []os.DirEntry) (all string) {
	t.Helper()
	for _, e := range entries {
		data, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	return all
}

// Each of these alone makes a certificate due. The new certificate has a new key.
func TestIssueAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *issueBench)
		why    string
	}{
		"another request": {func(b *issueBench) { b.documents(strings.Replace(ownEntry, "10.0.0.1", "10.0.0.2", 1)) }, "the documents ask for another"},
		"another CA":      {func(b *issueBench) { b.authority(pki.New(b.t, "etcd-ca")) }, "the CA etcd-ca that signed it is not trusted any more"},
		"another machine": {func(b *issueBench) { hostroot.Put(b.t, b.root, "/etc/machine-id", "22\n") }, "its key was made on another machine"},
		"damaged":         {func(b *issueBench) { hostroot.Put(b.t, b.root, issue.Dir+"/own.json", "{") }, "there is none yet"},
		"due": {func(b *issueBench) {
			hostroot.Put(b.t, b.root, issue.Dir+"/own.json", strings.Replace(hostroot.Read(b.t, b.root, issue.Dir+"/own.json"), `"request"`, `"superseded": "2020-01-01T00:00:00Z", "request"`, 1))
		}, "its renewal is due since"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newIssueBench(t, pki.New(t, "etcd-ca"), ownEntry)
			hostroot.Put(t, b.root, "/etc/machine-id", "11\n")
			b.converge()
			first, key := b.leaf(), hostroot.Read(t, b.root, "/etc/own/own.key")
			c.change(b)
			shown, err := b.pass.DryRun(t.Context(), b.load())
			if err != nil || !strings.Contains(whys(shown), c.why) {
				t.Errorf("%v: the plan says\n%s\nwant %q", err, whys(shown), c.why)
			}
			if !b.leaf().Equal(first) {
				t.Fatal("the dry run issued one")
			}
			b.converge()
			if b.leaf().Equal(first) || hostroot.Read(t, b.root, "/etc/own/own.key") == key {
				t.Error("the certificate or its key was not renewed")
			}
			second := b.leaf()
			b.converge()
			if !b.leaf().Equal(second) {
				t.Error("and again")
			}
		})
	}
}

// While a CA is being replaced, both CAs are trusted. A certificate of the old CA stays good, and
// is renewed within a day.
func TestIssueWhileTheCAChanges(t *testing.T) {
	old, next := pki.New(t, "etcd-ca"), pki.New(t, "etcd-ca")
	b := newIssueBench(t, old, ownEntry)
	b.converge()
	first := b.leaf()
	hostroot.Put(t, b.dir, "demo/pki/private/etcd-ca/keyset.yaml", pki.Keyset("2", pki.Pair{Cert: old.PEM, Key: old.Key()}, pki.Pair{Cert: next.PEM, Key: next.Key()}))
	b.converge()
	if !b.leaf().Equal(first) {
		t.Error("the whole fleet would restart at once")
	}
	if ca := hostroot.Read(t, b.root, "/etc/own/ca.crt"); !strings.Contains(ca, old.PEM) || !strings.Contains(ca, next.PEM) {
		t.Errorf("not both are trusted:\n%s", ca)
	}
	d := b.load()
	if _, err := b.pass.Converge(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(d.LookAgain); left > 10*time.Minute { // a tenth of its lifetime
		t.Errorf("the new CA signs in %s only", left)
	}
	hostroot.Put(t, b.dir, "demo/pki/private/etcd-ca/keyset.yaml", pki.Keyset("1", pki.Pair{Cert: next.PEM, Key: next.Key()}))
	b.converge()
	if b.leaf().Equal(first) || hostroot.Read(t, b.root, "/etc/own/ca.crt") != next.PEM {
		t.Error("the old CA went, and what it signed is still shown")
	}
}

// whys returns the reasons of all steps of a plan.
func whys(p *report.Plan) (all string) {
	for _, s := range p.Steps {
		all += s.Key + ": " + s.Reason + "\n"
	}
	return all
}

// A certificate that cannot be issued fails alone, and its error says what to do. The installed
// certificate stays.
func TestIssueFails(t *testing.T) {
	b := newIssueBench(t, pki.New(t, "etcd-ca"), ownEntry)
	rm(t, b.dir+"/demo/pki/private/etcd-ca/1.key")
	p, err := b.pass.Converge(t.Context(), b.load())
	if err == nil || !strings.Contains(err.Error(), "the store has no private key of the CA etcd-ca") {
		t.Fatalf("%v\n%s", err, said(p))
	}
	b.authority(pki.New(t, "etcd-ca"))
	b.converge()
	first := b.leaf()
	rm(t, b.dir+"/demo/pki/private/etcd-ca/1.key")
	b.documents(strings.Replace(ownEntry, "1h", "2h", 1))
	p = b.converge()
	if !strings.Contains(said(p), "the certificate own is not renewed (the documents ask for another)") || !b.leaf().Equal(first) {
		t.Errorf("the failure is not reported, or the old certificate is gone:\n%s", said(p))
	}
}

func rm(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// An intermediate CA signs as a root does, and the installed certificate includes that CA, since a
// peer trusts only the root. If the root did not sign the CA, nothing is issued, and the error is
// permanent. The lines that keep it: pkg/certs/pem.go, SignedBy; pkg/certs/sign.go, Chain;
// pkg/certs/issue/ca.go, sign; pkg/certs/issue/renewal.go, reasonByCA and superseded.
func TestIssueByCABelowARoot(t *testing.T) {
	root := pki.New(t, "root")
	middle := root.Below("middle")
	ca := middle.Below("etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	hostroot.Put(t, b.dir, "demo/pki/issued/etcd-ca/ca.crt", root.PEM)
	for range 2 {
		_, err := b.pass.Converge(t.Context(), b.load())
		if err == nil || !strings.Contains(err.Error(), "does not end at a CA in pki/issued/etcd-ca/ca.crt") {
			t.Fatalf("with an incomplete chain the error is %v", err)
		}
		if graph.IsTransient(err) || hostroot.There(b.root, issue.Dir+"/own.json") {
			t.Errorf("the certificate is issued, or the error is transient: %v", err)
		}
	}
	hostroot.Put(t, b.dir, "demo/pki/issued/etcd-ca/1.crt", ca.PEM+middle.PEM)
	b.converge()
	first := b.leaf()
	if text := hostroot.Read(t, b.root, "/etc/own/own.crt"); !strings.HasSuffix(text, "\n"+ca.PEM+middle.PEM) {
		t.Errorf("a peer is shown\n%s", text)
	}
	if hostroot.Read(t, b.root, "/etc/own/ca.crt") != root.PEM {
		t.Error("another CA is trusted")
	}
	b.converge()
	if !b.leaf().Equal(first) || strings.Contains(hostroot.Read(t, b.root, issue.Dir+"/own.json"), "superseded") {
		t.Error("the certificate is issued again, or will be soon, although it is not due")
	}
	next := root.Below("etcd-ca")
	hostroot.Put(t, b.dir, "demo/pki/issued/etcd-ca/2.crt", next.PEM)
	hostroot.Put(t, b.dir, "demo/pki/private/etcd-ca/2.key", next.Key())
	b.converge()
	if !b.leaf().Equal(first) || !strings.Contains(hostroot.Read(t, b.root, issue.Dir+"/own.json"), "superseded") {
		t.Error("the next CA of the same root does not sign within a day, or signs at once")
	}
	hostroot.Put(t, b.dir, "demo/pki/issued/etcd-ca/ca.crt", next.PEM)
	b.converge()
	if b.leaf().Equal(first) {
		t.Error("a certificate of a CA that is not trusted stays")
	}
}
