package desired

import (
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// Pinned is a set of tasks that comes from a revision and not from the store.
type Pinned struct {
	by       string // for example "held at revision 3 by root"
	Network  string
	declared string // see ledger.Network.Declared
	Recorded []tasks.Task
}

// FromRevision builds the state that a revision wanted, without the store.
func FromRevision(rev *ledger.Revision, r ledger.Reader, assets tasks.Fetcher) (*State, error) {
	out := &State{
		Node: &config.Node{Cluster: rev.Cluster, Name: rev.Node, NodeGroup: rev.NodeGroup},
		Snapshot: &statestore.Snapshot{Revision: statestore.Revision{Generation: rev.Generation, Digest: rev.Digest},
			Origin: rev.Store},
		Keypairs: map[string]model.Keypair{},
		Pinned:   &Pinned{Network: rev.Network, declared: rev.Declared},
	}
	for _, rec := range rev.Tasks {
		t, err := ledger.Rebuild(r, rec)
		if err != nil {
			return nil, err
		}
		if a, ok := t.(tasks.Archive); ok {
			a.Fetch = assets
			t = a
		}
		if set, ok := t.(tasks.CertificateSet); ok && set.Source != "" {
			t = current(set, r)
		}
		out.Pinned.Recorded = append(out.Pinned.Recorded, t)
	}
	for _, rec := range rev.Waits {
		t, err := tasks.RebuildWait(rec)
		if err != nil {
			return nil, err
		}
		out.Pinned.Recorded = append(out.Pinned.Recorded, t)
	}
	out.Pinned.refuse()
	return out, nil
}

// refuse makes those tasks fail that no document may ask for. A revision, perhaps of an earlier
// release, may ask for them no more than documents. The other tasks of the revision are made.
func (s *Pinned) refuse() {
	for i, t := range s.Recorded {
		if !model.Asked(t.Base()) {
			continue
		}
		switch t := t.(type) {
		case tasks.File:
			t.Refused = refusedAgain(extras.Reserved(tasks.KindFile, t.Path, t.Content))
			s.Recorded[i] = t
		case tasks.Unit:
			t.Refused = refusedAgain(extras.Reserved(tasks.KindUnit, t.Name, t.Content))
			s.Recorded[i] = t
		case tasks.UnitState: // a unit's state is not reached if the unit's text is refused
			t.Refused = refusedAgain(extras.Reserved(tasks.KindUnit, t.Name, nil))
			s.Recorded[i] = t
		}
	}
}

// refusedAgain returns the error text of a task that is refused for the reason why; "" for "".
func refusedAgain(why string) string {
	if why == "" {
		return ""
	}
	return "that is " + why + ": no document writes or switches that, and no revision; take it out of the documents"
}

// current fills a set with the certificate that was issued last. A revision keeps where a
// certificate goes, and no old certificate.
func current(set tasks.CertificateSet, r ledger.Reader) tasks.CertificateSet {
	have, err := issue.Read(r, set.Name)
	switch {
	case err != nil:
		set.Failure = err
	case have == nil || have.Cert == "":
		set.Failure = fmt.Errorf("the certificate %s was issued to this node and is not kept any more: let the node "+
			"follow the store (`agent resume`), which has it issued again", set.Name)
	default:
		set.CA.PEM, set.Cert.PEM, set.Key.PEM = []byte(have.CA), []byte(have.Cert), []byte(have.Key.Reveal())
	}
	return set
}

// Network returns the name of the wanted network.
func (d *State) Network() string {
	if d.Pinned != nil {
		return d.Pinned.Network
	}
	return d.Node.Networking.Name()
}

// pinnedBy returns a text such as "held at revision 3 by root", or "".
func (d *State) pinnedBy() string {
	if d.Pinned == nil {
		return ""
	}
	return d.Pinned.by
}

// GoesOn returns the text about documents that could not be loaded, and that a node does not need
// while it is held at a revision.
func GoesOn(unused error) string {
	return fmt.Sprintf("%v; the agent goes on, because the node is held at a revision", unused)
}

// renew replaces certificates of a revision by those that the node has now, because they may have
// been rotated and an old one may be useless. Files of the documents stay as the revision has
// them.
func (s *Pinned) renew(v host.View, led *ledger.Ledger) {
	for i, t := range s.Recorded {
		e, known := led.Entries()[t.Owns()[0]]
		if !known || e.Released {
			continue
		}
		now, err := e.Rebuild(v.Files)
		if err != nil {
			continue // only the revision has it
		}
		was, set := t.(tasks.CertificateSet)
		has, ok := now.(tasks.CertificateSet)
		same := set && ok && was.Source == has.Source && was.CommonName == has.CommonName
		if same && was.Source == "" && slices.Equal(was.Owns(), has.Owns()) { // otherwise see current
			was.CA.PEM, was.Cert.PEM, was.Key.PEM = has.CA.PEM, has.Cert.PEM, has.Key.PEM
			s.Recorded[i] = was
		}
	}
}

// Target returns what a pass works towards: the state of the store, or the revision at which the
// node is held. d may be nil if the node is held.
func Target(d *State, led *ledger.Ledger, v host.View, assets tasks.Fetcher) (*State, error) {
	pin := led.Head().Pin
	switch {
	case pin == nil && d == nil:
		return nil, errors.New("no configuration was loaded, and the node is not held at a revision: `agent " +
			"status` says why the store cannot be read")
	case pin == nil:
		return d, nil
	}
	rev, err := ledger.ReadRevision(v.Files, pin.Revision)
	if err != nil {
		return nil, graph.Permanent(fmt.Errorf("the node is held at revision %d by %s: %w; or let it follow the store "+
			"again with `agent resume`", pin.Revision, pin.By, err))
	}
	out, err := FromRevision(rev, v.Files, assets)
	if err != nil {
		return nil, graph.Permanent(fmt.Errorf("the node is held at revision %d by %s: %w; let it follow the store "+
			"again with `agent resume`", pin.Revision, pin.By, err))
	}
	out.Pinned.renew(v, led)
	if d != nil {
		out.Node.Drift = d.Node.Drift
		if rev.Node != "" && rev.Node != d.Node.Name {
			out.Damage = append(out.Damage, fmt.Sprintf("this machine is called %q, and revision %d was made for node %s: "+
				"two machines have the same addresses if one has a copy of the other's disk; correct the name, or "+
				"end the hold with `agent resume`", d.Node.Name, rev.Number, rev.Node))
		}
	}
	out.Pinned.by = fmt.Sprintf("held at revision %d by %s", pin.Revision, pin.By)
	return out, nil
}
