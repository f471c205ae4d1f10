package daemon

import (
	"os"
	"testing"
	"time"

	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/pki"
)

// A certificate that is renewed in the store does not wait with the changed documents, whatever
// keeps these back. A certificate of another CA or for another name waits. A node that lost its
// store keeps its certificate, since the kept configuration has an older one. The lines that keep
// it: pkg/reconcile/desired/renewed_certificates.go; pkg/reconcile/rollout/update.go, Take.
func TestARenewedCertificateDoesNotWait(t *testing.T) {
	b, publish := fleetNode(t)
	hostroot.Put(t, b.root, "/etc/own/.keep", "")
	documents := func(update, content string) {
		publish(t, update, content)
		b.write(t, "cluster.yaml", hostroot.Read(t, b.store, "/demo/cluster.yaml")+"  certificates: [{name: client, dir: /etc/own, certFile: client.crt}]\n")
	}
	issue := func(pair pki.Pair, ca *pki.Authority) string {
		b.write(t, "pki/issued/ca/1.crt", ca.PEM)
		b.write(t, "pki/issued/client/1.crt", pair.Cert)
		b.write(t, "pki/private/client/1.key", pair.Key)
		return pair.Cert
	}
	installed := func() string { return hostroot.Read(t, b.root, "/etc/own/client.crt") }
	var renewed string
	b.live(t, func(t *testing.T) {
		ca := pki.New(t, "ca")
		documents("{splay: 0s}", "one")
		first := issue(ca.Client("own"), ca)
		later(11 * time.Minute)
		if installed() != first {
			t.Fatal("the first configuration was not taken")
		}
		time.Sleep(time.Hour)
		documents("{splay: 0s, freeze: true}", "two")
		renewed = issue(ca.Client("own"), ca)
		later(11 * time.Minute)
		if b.waits(t) == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Error("the documents did not wait")
		}
		if installed() != renewed {
			t.Error("the renewed certificate waits")
		}
		time.Sleep(time.Hour)
		issue(ca.Client("another"), ca)
		later(11 * time.Minute)
		if installed() != renewed {
			t.Error("a certificate for another name did not wait")
		}
		other := pki.New(t, "ca")
		issue(other.Client("own"), other)
		later(11 * time.Minute)
		if installed() != renewed {
			t.Error("a certificate of another CA did not wait")
		}
		if err := os.Rename(b.store+"/demo", b.store+"/away"); err != nil {
			t.Fatal(err)
		}
	})
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		later(11 * time.Minute)
		if installed() != renewed || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Error("without its store the node went back to the certificate that it kept first")
		}
	})
}
