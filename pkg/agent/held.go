package agent

import (
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// heldSet is a set of tasks that comes from a revision and not from the store.
type heldSet struct {
	by       string // "held at revision 3 by root"
	network  string
	declared string // see ledger.Network.Declared
	recorded []tasks.Task
}

// target is what a pass works towards: what the store wants, or the revision that the node is held
// at. d may be nil when it is held.
func (p Pass) target(d *Desired, led *ledger.Ledger, v host.View) (*Desired, error) {
	pin := led.Head().Held
	switch {
	case pin == nil && d == nil:
		return nil, errors.New("no configuration was loaded, and the node is not held at a revision: see why the store cannot be read")
	case pin == nil:
		return d, nil
	}
	rev, err := ledger.ReadRevision(v, pin.Revision)
	if err != nil {
		return nil, graph.Permanent(fmt.Errorf("the node is held at revision %d by %s: %w; or let it follow the store again with `agent resume`", pin.Revision, pin.By, err))
	}
	out, err := p.again(rev, v)
	if err != nil {
		return nil, graph.Permanent(fmt.Errorf("the node is held at revision %d by %s: %w; let it follow the store again with `agent resume`", pin.Revision, pin.By, err))
	}
	out.held.renew(v, led)
	if d != nil {
		out.Node.Drift = d.Node.Drift
	}
	out.held.by = fmt.Sprintf("held at revision %d by %s", pin.Revision, pin.By)
	return out, nil
}

// again makes what a revision wanted, without the store.
func (p Pass) again(rev *ledger.Revision, r ledger.Reader) (*Desired, error) {
	out := &Desired{
		Node:     &config.Node{Cluster: rev.Cluster, Name: rev.Node, NodeGroup: rev.NodeGroup},
		Snapshot: &statestore.Snapshot{Revision: statestore.Revision{Generation: rev.Generation, Digest: rev.Digest}, Origin: rev.Store},
		Keypairs: map[string]model.Keypair{},
		held:     &heldSet{network: rev.Network, declared: rev.Declared},
	}
	for _, rec := range rev.Tasks {
		t, err := tasks.Rebuild(rec, func(sum hostfs.Digest) ([]byte, error) { return ledger.Blob(r, sum) })
		if err != nil {
			return nil, err
		}
		if a, ok := t.(tasks.Archive); ok {
			a.Fetch = p.Assets
			t = a
		}
		if set, ok := t.(tasks.CertificateSet); ok && set.Source != "" {
			t = current(set, r)
		}
		out.held.recorded = append(out.held.recorded, t)
	}
	out.held.refuse()
	return out, nil
}

// refuse has fail what documents asked for and no document may: a revision, maybe of an earlier
// release, has it no more than they. Its other tasks are made.
func (s *heldSet) refuse() {
	for i, t := range s.recorded {
		if m, ok := t.(interface{ Base() tasks.Meta }); !ok || !model.Asked(m.Base()) {
			continue
		}
		switch t := t.(type) {
		case tasks.File:
			t.Refused = refusedAgain(extras.Reserved(tasks.KindFile, t.Path, t.Content))
			s.recorded[i] = t
		case tasks.Unit:
			t.Refused = refusedAgain(extras.Reserved(tasks.KindUnit, t.Name, t.Content))
			s.recorded[i] = t
		case tasks.UnitState: // that of a unit whose text is refused is not reached
			t.Refused = refusedAgain(extras.Reserved(tasks.KindUnit, t.Name, nil))
			s.recorded[i] = t
		}
	}
}

// refusedAgain is the text of a task that a revision has and that is refused; "" of others.
func refusedAgain(why string) string {
	if why == "" {
		return ""
	}
	return "that is " + why + ": no document writes or switches that, and no revision; take it out of the documents"
}

// current fills a set with what was issued last: a revision holds where a certificate goes, and not
// an old certificate there.
func current(set tasks.CertificateSet, r ledger.Reader) tasks.CertificateSet {
	have, err := readIssued(r, set.Name)
	switch {
	case err != nil:
		set.Failure = err
	case have == nil || have.Cert == "":
		set.Failure = fmt.Errorf("the certificate %s was issued to this node and is not kept any more: let the node follow the store (`agent resume`), which has it issued again", set.Name)
	default:
		set.CA.PEM, set.Cert.PEM, set.Key.PEM = []byte(have.CA), []byte(have.Cert), []byte(have.Key.Reveal())
	}
	return set
}

// network is the name of the network that is wanted.
func (d *Desired) network() string {
	if d.held != nil {
		return d.held.network
	}
	return d.Node.Networking.Name()
}

// heldBy is "held at revision 3 by root", or "".
func (d *Desired) heldBy() string {
	if d.held == nil {
		return ""
	}
	return d.held.by
}

// Held says that the node is held at a revision, so that a pass needs nothing of the store.
func (p Pass) Held() bool {
	led, err := p.loadLedger()
	return err == nil && led.Head().Held != nil
}
