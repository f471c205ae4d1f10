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
	by       string // "held at revision 3 by root"
	Network  string
	declared string // see ledger.Network.Declared
	Recorded []tasks.Task
}

// FromRevision makes what a revision wanted, without the store.
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
	out.Pinned.refuse()
	return out, nil
}

// refuse has fail what documents asked for and no document may: a revision, maybe of an earlier
// release, has it no more than they. Its other tasks are made.
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
		case tasks.UnitState: // that of a unit whose text is refused is not reached
			t.Refused = refusedAgain(extras.Reserved(tasks.KindUnit, t.Name, nil))
			s.Recorded[i] = t
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

// Network is the name of the network that is wanted.
func (d *State) Network() string {
	if d.Pinned != nil {
		return d.Pinned.Network
	}
	return d.Node.Networking.Name()
}

// pinnedBy is "held at revision 3 by root", or "".
func (d *State) pinnedBy() string {
	if d.Pinned == nil {
		return ""
	}
	return d.Pinned.by
}

// renew puts what was rotated since into the set of a revision: certificates as the node has them
// now. An old one may be good for nothing. A file of the documents is what the revision says.
func (s *Pinned) renew(v host.View, led *ledger.Ledger) {
	for i, t := range s.Recorded {
		e, known := led.Entries()[t.Owns()[0]]
		if !known || e.Released {
			continue
		}
		now, err := e.Rebuild(v.Files)
		if err != nil {
			continue // what the revision has is all that there is
		}
		was, set := t.(tasks.CertificateSet)
		has, ok := now.(tasks.CertificateSet)
		same := set && ok && was.Source == has.Source && was.CommonName == has.CommonName
		if same && was.Source == "" && slices.Equal(was.Owns(), has.Owns()) { // else see current
			was.CA.PEM, was.Cert.PEM, was.Key.PEM = has.CA.PEM, has.Cert.PEM, has.Key.PEM
			s.Recorded[i] = was
		}
	}
}

// Target is what a pass works towards: what the store wants, or the revision that the node is held
// at. d may be nil when it is held.
func Target(d *State, led *ledger.Ledger, v host.View, assets tasks.Fetcher) (*State, error) {
	pin := led.Head().Pin
	switch {
	case pin == nil && d == nil:
		return nil, errors.New("no configuration was loaded, and the node is not held at a revision: see why the " +
			"store cannot be read")
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
	}
	out.Pinned.by = fmt.Sprintf("held at revision %d by %s", pin.Revision, pin.By)
	return out, nil
}
