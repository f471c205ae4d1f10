package reconcile

import (
	"crypto/x509"
	"os"
	"regexp"
	"testing"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/pki"
)

// The CA of a cluster's etcd is replaced while the cluster's nodes run, in the steps that people
// use. etcd trusts both CAs, then the nodes trust both, then the servers have certificates of the
// new CA, then the old CA is removed. At each step the installed files reach every etcd that may
// run at that step. At the end no file of the old CA is left.
func TestEtcdLivesThroughAChangeOfCA(t *testing.T) {
	old, next := pki.New(t, "etcd-ca"), pki.New(t, "etcd-ca")
	both, turned := []*pki.Authority{old, next}, []*pki.Authority{next, old}
	b := newIssueBench(t, old, ownEntry)
	servers := map[string]*etcd.Server{}
	for name, trusted := range map[string][]*pki.Authority{"as it was": {old}, "trusts both": both, "trusts both, shows the new": turned, "as it will be": {next}} {
		servers[name] = etcd.Start(t, etcd.Options{Authorities: trusted})
	}
	reaches := func(step string, names ...string) {
		t.Helper()
		b.converge()
		own := pki.Pair{Cert: hostroot.Read(t, b.root, "/etc/own/own.crt"), Key: hostroot.Read(t, b.root, "/etc/own/own.key")}
		for _, name := range names {
			if err := servers[name].HealthBy(hostroot.Read(t, b.root, "/etc/own/ca.crt"), &own); err != nil {
				t.Errorf("%s: an etcd that is %q: %v", step, name, err)
			}
		}
	}
	keyset := func(primary string, all ...*pki.Authority) {
		t.Helper()
		var pairs []pki.Pair
		for _, a := range all {
			pairs = append(pairs, pki.Pair{Cert: a.PEM, Key: a.Key()})
		}
		hostroot.Put(t, b.dir, "demo/pki/private/etcd-ca/keyset.yaml", pki.Keyset(primary, pairs...))
	}
	reaches("before", "as it was", "trusts both")
	keyset("1", old, next)
	reaches("the new CA is trusted", "as it was", "trusts both", "trusts both, shows the new")
	keyset("2", old, next)
	reaches("the new CA signs from now on", "trusts both", "trusts both, shows the new")
	state := b.root + issue.Dir + "/own.json"
	text, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	due := regexp.MustCompile(`("superseded": *)"[^"]*"`).ReplaceAll(text, []byte(`$1"2020-01-01T00:00:00Z"`))
	if err := os.WriteFile(state, due, 0o600); err != nil { // as if a day had passed
		t.Fatal(err)
	}
	reaches("it has signed", "trusts both", "trusts both, shows the new", "as it will be")
	if err := b.leaf().CheckSignatureFrom(authorityOf(t, next)); err != nil {
		t.Fatalf("the new CA has not signed: %v", err)
	}
	keyset("1", next)
	reaches("the old CA is gone", "trusts both, shows the new", "as it will be")
	own := pki.Pair{Cert: hostroot.Read(t, b.root, "/etc/own/own.crt"), Key: hostroot.Read(t, b.root, "/etc/own/own.key")}
	for _, name := range []string{"as it was", "trusts both"} {
		if servers[name].HealthBy(hostroot.Read(t, b.root, "/etc/own/ca.crt"), &own) == nil {
			t.Errorf("what the old CA signed is still trusted: an etcd that is %q", name)
		}
	}
}

func authorityOf(t *testing.T, a *pki.Authority) *x509.Certificate {
	t.Helper()
	all, err := certs.Parse([]byte(a.PEM))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}
