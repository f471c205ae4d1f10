package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
)

// Certificates are issued before a pass plans, and never by a plan: a dry run asks nobody and makes no key, and says what would be asked.
// What was issued is on the disk before anybody uses it; a kill at any time leaves it whole, or the one before.

// issuing is what a pass knows of one certificate that is issued to the node.
type issuing struct {
	entry *config.Certificate
	node  string
	pairs map[string]model.Keypair // the store's
	have  *issued                  // nil: none
	now   time.Time
}

// by is who issues it, in words.
func (i *issuing) by() string {
	if i.entry.Source == config.SourceCA {
		return fmt.Sprintf("the CA %s of the store", i.entry.CA)
	}
	return "Kubernetes, signer " + i.entry.Signer
}

// request is what is asked for.
func (i *issuing) request() certs.Request {
	c := i.entry
	return certs.Request{CommonName: c.CommonName, Organizations: c.Organizations, Names: c.Names, Usages: c.Usages, Lifetime: time.Duration(c.Lifetime), Key: c.KeyType}
}

// digest names the request with who is asked.
func (i *issuing) digest() string { return i.request().Digest() + " " + i.by() }

// due says why one must be issued; "" if it need not.
func (i *issuing) due() string {
	if i.have == nil || i.have.Cert == "" {
		return "there is none yet"
	}
	life, err := i.have.life(i.node)
	if err != nil {
		return err.Error()
	}
	if i.have.Request != i.digest() {
		return "the documents ask for another"
	}
	if i.entry.Source == config.SourceCA {
		if why, decided := i.dueByCA(life); decided {
			return why
		}
	}
	switch state := life.StateAt(i.now); {
	case state == certs.Expired:
		return "it expired on " + date(life.NotAfter)
	case state != certs.NotYet && !i.now.Before(life.RenewAt):
		return "its renewal is due since " + date(life.RenewAt)
	}
	return "" // one that is not valid yet was issued by the clock of the API: ours is behind
}

// dueByCA decides by what the CA of the store is now. A CA that is not there decides nothing: what it signed is good.
func (i *issuing) dueByCA(life certs.Life) (why string, decided bool) {
	trusted, err := certs.Parse(i.pairs[i.entry.CA].CA)
	if err != nil {
		return "", false
	}
	all, _ := certs.Parse([]byte(i.have.Cert)) // life read it
	switch signer := certs.SignedBy(all[0], trusted); {
	case signer == nil:
		return fmt.Sprintf("the CA %s that signed it is not trusted any more", i.entry.CA), true
	case life.StateAt(i.now) == certs.NotYet && i.now.After(signer.NotBefore):
		return "it was issued while the clock was ahead", true
	case signer.Equal(trusted[0]) && !life.NotAfter.Before(signer.NotAfter) && i.now.Before(life.NotAfter):
		return "", true // it lives as long as the CA: another one would not live longer
	}
	return "", false
}

// superseded says that the CA has another certificate than the one that signed, and both are trusted.
func (i *issuing) superseded() bool {
	if i.have == nil || i.have.Cert == "" || i.entry.Source != config.SourceCA {
		return false
	}
	all, err := certs.Parse([]byte(i.have.Cert))
	primary, errCA := certs.Parse(i.pairs[i.entry.CA].Cert)
	return err == nil && errCA == nil && certs.SignedBy(all[0], primary[:1]) == nil
}

// issue asks for what is due, and says how each certificate stands. It is called under the lock, before the plan. Its error is that nothing can be
// kept; that a certificate is not issued is told of that certificate.
func (p Pass) issue(ctx context.Context, d *Desired, h *host.Host) error {
	if d == nil {
		return nil
	}
	d.issued, d.lookAgain = map[string]model.Issued{}, time.Time{}
	for n := range d.Node.Certificates {
		entry := &d.Node.Certificates[n]
		if !entry.Issued() {
			continue
		}
		i := &issuing{entry: entry, node: d.Node.Name, pairs: d.Keypairs, now: time.Now()}
		have, err := readIssued(h, entry.Name)
		if err != nil && p.Log != nil {
			p.Log.Warn("an issued certificate cannot be used", zap.Error(err))
		}
		i.have = have
		why := i.due()
		if !p.mayIssue() && why != "" {
			d.issued[entry.Name] = model.Issued{Pair: have.pair(), Wait: "the node itself: a certificate is issued on the node that shows it, not into an image"}
			continue
		}
		var failed error
		if why != "" {
			failed = p.obtain(ctx, h, i, why)
		} else if p.refresh(h.Facts(), i) {
			failed = have.save(ctx, h)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.issued[entry.Name] = i.stands(why, failed)
		d.look(i.again())
	}
	return nil
}

// mayIssue tells that this host is a node, and no image of one.
func (p Pass) mayIssue() bool {
	return p.issueAnywhere || p.Certificates != nil || p.Host.Root == "" || p.Host.Root == "/"
}

// refresh notes what has changed of the CA of a certificate that is good, and says whether something did.
func (p Pass) refresh(facts *host.Facts, i *issuing) bool {
	if i.superseded() && i.have.Superseded.IsZero() {
		i.have.Superseded = i.now.UTC().Truncate(time.Second)
		return true
	}
	if i.entry.Source != config.SourceKubernetes {
		return false
	}
	api, err := p.certificateAPI(facts)
	if err != nil || len(api.Authorities()) == 0 || i.have.CA == string(api.Authorities()) {
		return false
	}
	i.have.CA = string(api.Authorities())
	return true
}

// obtain has one issued, or goes on with that.
func (p Pass) obtain(ctx context.Context, h *host.Host, i *issuing, why string) error {
	before := i.have
	var err error
	if i.entry.Source == config.SourceCA {
		err = i.sign(ctx, h)
	} else {
		err = p.askKubernetes(ctx, h, i)
	}
	if err == nil && p.Log != nil && i.have != before {
		p.Log.Info("issued a certificate", zap.String("name", i.entry.Name), zap.String("by", i.by()), zap.String("because", why))
	}
	return err
}

// stands is how the certificate stands after it was, or was not, issued.
func (i *issuing) stands(why string, failed error) model.Issued {
	out := model.Issued{Pair: i.have.pair()}
	if authority := i.pairs[i.entry.CA].CA; len(authority) > 0 && i.entry.CA != "" {
		out.Pair.CA = authority // what is trusted may change before what is shown does
	}
	switch {
	case failed == nil:
	case len(out.Pair.Cert) > 0:
		out.Late = fmt.Sprintf("the certificate %s is not renewed (%s): %v", i.entry.Name, why, failed)
	case graph.IsWait(failed):
		out.Wait = waitFor(failed)
	case graph.IsTransient(failed):
		out.Wait = fmt.Sprintf("the certificate %s to be issued by %s: %v", i.entry.Name, i.by(), failed)
	default:
		out.Fail = fmt.Errorf("have the certificate %s issued by %s: %w", i.entry.Name, i.by(), failed)
	}
	return out
}

// again is when to look at it again; zero: whenever.
func (i *issuing) again() time.Time {
	if i.have == nil {
		return time.Time{}
	}
	if p := i.have.Pending; p != nil { // soon at first: who approves is mostly a program
		return i.now.Add(max(pendingLook, i.now.Sub(p.Since)/10))
	}
	life, err := i.have.life(i.node)
	if err != nil || !i.now.Before(life.RenewAt) {
		return time.Time{}
	}
	return life.RenewAt
}

// pendingLook is the first pause before a request is looked at again.
const pendingLook = 2 * time.Second

// look wants another pass at a time.
func (d *Desired) look(at time.Time) {
	if !at.IsZero() && (d.lookAgain.IsZero() || at.Before(d.lookAgain)) {
		d.lookAgain = at
	}
}

// sign has the certificate signed by a CA of the store. The key is made here.
func (i *issuing) sign(ctx context.Context, h *host.Host) error {
	name := i.entry.CA
	pair, ok := i.pairs[name]
	switch {
	case !ok || len(pair.Cert) == 0:
		return graph.Permanent(fmt.Errorf("the store has no CA %s: put pki/issued/%s/<id>.crt and pki/private/%s/<id>.key there, or its keyset.yaml", name, name, name))
	case pair.Key.IsZero():
		return graph.Permanent(fmt.Errorf("the store has no private key of the CA %s, or this node may not read it: put pki/private/%s/<id>.key there, or its keyset.yaml", name, name))
	}
	authority, err := certs.ParseAuthority(pair.Cert, pair.Key)
	if err != nil {
		return graph.Permanent(fmt.Errorf("the keyset %s cannot sign: %w", name, err))
	}
	r := i.request()
	key, err := certs.NewKey(r.Key)
	if err != nil {
		return err
	}
	cert, err := authority.Sign(r, key.Public(), i.now)
	if errors.Is(err, certs.ErrNotYet) {
		return graph.Wait(err.Error() + ": is the clock right?")
	}
	if err != nil {
		return graph.Permanent(err)
	}
	text, err := certs.EncodeKey(key)
	if err != nil {
		return err
	}
	return i.keep(ctx, h, &issued{CA: string(pair.CA), Cert: string(certs.Encode(cert)), Key: text})
}

// keep puts what was issued in the place of what was.
func (i *issuing) keep(ctx context.Context, h *host.Host, s *issued) error {
	s.Name, s.Source, s.By, s.Request, s.Issued = i.entry.Name, i.entry.Source, i.by(), i.digest(), i.now.UTC().Truncate(time.Second)
	if err := s.save(ctx, h); err != nil {
		return err
	}
	i.have = s
	return nil
}

// planned says how each certificate stands for a plan that is only shown: nobody is asked, nothing is made.
func (d *Desired) planned(r ledger.Reader, mayIssue bool) {
	d.issued = map[string]model.Issued{}
	for n := range d.Node.Certificates {
		entry := &d.Node.Certificates[n]
		if !entry.Issued() {
			continue
		}
		i := &issuing{entry: entry, node: d.Node.Name, pairs: d.Keypairs, now: time.Now()}
		have, err := readIssued(r, entry.Name)
		i.have = have
		out := i.stands("", nil)
		why := i.due()
		switch {
		case unreadable(err):
			out.Wait = "somebody who may read it: " + err.Error() + ": run it as root"
		case why != "" && have != nil && have.Pending != nil:
			out.Plan = fmt.Sprintf("would be issued by %s, where the request %s lies since %s: %s", i.by(), have.Pending.Name, date(have.Pending.Since), why)
		case why != "" && !mayIssue:
			out.Wait = "the node itself: a certificate is issued on the node that shows it, not into an image"
		case why != "":
			out.Plan = fmt.Sprintf("would be issued by %s: %s", i.by(), why)
		}
		d.issued[entry.Name] = out
	}
}

// waitFor is what an error waits for.
func waitFor(err error) string {
	var w *graph.WaitError
	if errors.As(err, &w) {
		return w.Reason
	}
	return err.Error()
}

// unreadable tells that a file is there for others than who asks.
func unreadable(err error) bool { return errors.Is(err, fs.ErrPermission) }

// date is a moment as texts say it.
func date(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
