package torture

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/trap"
)

const (
	ownDir    = "/srv/kubernetes/calico/"
	ownIssued = "/var/lib/netwright/issued/calico-client.json"
)

// The agent is killed while it renews a certificate that a CA of the store signs on the node. After
// the next start, without a store, the installed files fit each other. The next run ends with the
// certificate that was issued last, and the run after that issues nothing.
//
// What keeps it: pkg/certs/issue/issued.go save (one file), pkg/host/hostfs/batch_intents.go (the
// installed three).
func TestKilledRenewal(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	ca := pki.New(t, "etcd")
	docs := calicoDocuments(t, "v1", ca.PEM, pki.Pair{})
	delete(docs, "pki/issued/calico-client/1.crt")
	delete(docs, "pki/private/calico-client/1.key")
	docs["pki/private/ca/1.key"] = ca.Key()
	docs["nodegroups/nodes.yaml"] = document("NodeGroup", "nodes", "  role: ControlPlane\n  certificates:\n  - {name: calico-client, source: ca, ca: ca, lifetime: 1h}\n")
	due := func() (before string) {
		b.wipe(t)
		b.put(docs)
		if o := b.run(t, nil, pass); o.Code != 0 {
			t.Fatalf("exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		b.shell(t, `sed -i 's/"request"/"superseded": "2020-01-01T00:00:00Z", "request"/' `+ownIssued)
		return b.n.Read(ownDir + "calico-client.pem")
	}
	before := due()
	o := b.run(t, nil, pass)
	if o.Code != 0 || b.n.Read(ownDir+"calico-client.pem") == before {
		t.Fatalf("undisturbed it is not renewed: exit %d\n%s", o.Code, o.Stdout)
	}
	tried, lost := 0, 0
	for _, n := range points(o.Calls, "calico-client.pem") {
		due()
		killed := b.run(t, nil, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
		if !killed.Killed {
			continue
		}
		tried++
		if err := b.renewed(t); err != nil {
			lost++
			t.Errorf("killed at call %d of %d, %s: %v", n, len(o.Calls), killed.Calls[len(killed.Calls)-1].Name, err)
		}
	}
	report(t, "kill: certificate renewed", tried, lost, "of %d calls", len(o.Calls))
}

// renewed checks the node after a kill.
func (b *bench) renewed(t *testing.T) error {
	b.shell(t, "mv /srv/netwright /srv/away")
	b.run(t, []string{"recover"}, pass)
	b.shell(t, "mv /srv/away /srv/netwright")
	if err := b.fits(); err != nil {
		return fmt.Errorf("after the next start: %w", err)
	}
	if o := b.run(t, nil, pass); o.Code != 0 {
		return fmt.Errorf("the next run: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	var state struct{ Cert string }
	if err := json.Unmarshal([]byte(b.n.Read(ownIssued)), &state); err != nil {
		return err
	}
	last := b.n.Read(ownDir + "calico-client.pem")
	if err := b.fits(); err != nil || state.Cert != last {
		return fmt.Errorf("what was issued last is not installed (%w)", err)
	}
	if o := b.run(t, nil, pass); o.Code != 0 || b.n.Read(ownDir+"calico-client.pem") != last {
		return fmt.Errorf("one more was issued: exit %d", o.Code)
	}
	return nil
}

// fits checks that key, certificate and CA belong together.
func (b *bench) fits() error {
	leaf, err := certs.Parse([]byte(b.n.Read(ownDir + "calico-client.pem")))
	if err != nil {
		return err
	}
	key, err := certs.ParseKey(secret.New(b.n.Read(ownDir + "calico-client-key.pem")))
	if err != nil {
		return err
	}
	ca, err := certs.Parse([]byte(b.n.Read(ownDir + "ca.pem")))
	if err != nil {
		return err
	}
	if !certs.KeyMatches(key, leaf[0]) || certs.SignedBy(leaf[0], ca) == nil {
		return fmt.Errorf("a mix: %s", certs.Describe(leaf[0]))
	}
	return nil
}
