// Package issue gets certificates for this node, signed by a CA of the store or by Kubernetes. It
// saves and renews them, and reports their state. A pass calls it while it holds the lock.
package issue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/report"
)

// Certificates are issued before a pass plans, and never by a plan. A dry run sends no request and
// makes no key, and only says what would be requested. A new certificate is on the disk before
// anything uses it. If the agent is killed, the disk has either the new certificate or the old one,
// whole.

// issuing is what a pass knows about one certificate that is issued to the node.
type issuing struct {
	entry *extras.Certificate
	node  string
	pairs map[string]model.Keypair // the keypairs of the store, by name
	have  *issued                  // nil if none was issued
	files host.FileReader
	now   time.Time
}

// by returns text that names the issuer.
func (i *issuing) by() string {
	if i.entry.Source == extras.SourceCA {
		return fmt.Sprintf("the CA %s of the store", i.entry.CA)
	}
	return "Kubernetes, signer " + i.entry.Signer
}

// request returns the certificate request that the documents ask for.
func (i *issuing) request() certs.Request {
	c := i.entry
	return certs.Request{CommonName: c.CommonName, Organizations: c.Organizations, Names: c.Names, Usages: c.Usages,
		Lifetime: time.Duration(c.Lifetime), Key: c.KeyType}
}

// digest identifies the request and its issuer.
func (i *issuing) digest() string { return i.request().Digest() + " " + i.by() }

// Issuer gets certificates for a node.
type Issuer struct {
	Log *zap.Logger // nil for no log
	May bool        // false for the image of a node
	// Kubernetes returns the API for certificates that Kubernetes signs.
	Kubernetes func() (CertificateAPI, error)
	Questions  *Questions // nil: Issue waits for the API
}

// Issue issues or renews the certificates of a node that need it, and returns the state of each.
// pairs are the keypairs of the store by name. The caller holds the lock, and calls Issue before
// the plan. A certificate that could not be issued is in its state, not in err. again is the
// earliest time at which a certificate needs another pass; zero if none does.
func (s Issuer) Issue(
	ctx context.Context, n *config.Node, pairs map[string]model.Keypair, h *host.Host,
) (all map[string]model.Issued, again time.Time, err error) {
	all = map[string]model.Issued{}
	for k := range n.Certificates {
		entry := &n.Certificates[k]
		if !entry.Issued() {
			continue
		}
		i := &issuing{entry: entry, node: n.Name, pairs: pairs, files: h.Live.Files, now: time.Now()}
		have, err := Read(h.Live.Files, entry.Name)
		if err != nil && s.Log != nil {
			s.Log.Warn("an issued certificate cannot be used", zap.Error(err))
		}
		i.have = have
		var failed error
		if s.refresh(i) {
			failed = have.save(ctx, h)
		}
		why := i.reason()
		if !s.May && why != "" {
			all[entry.Name] = model.Issued{Pair: have.pair(),
				Wait: "the node itself: a certificate is issued on the node that shows it, not into an image"}
			continue
		}
		if why != "" {
			failed = errors.Join(failed, s.obtain(ctx, h, i, why))
		}
		if ctx.Err() != nil {
			return all, again, context.Cause(ctx)
		}
		all[entry.Name] = i.stands(why, failed)
		again = report.Sooner(again, i.nextLook())
	}
	return all, again, nil
}

// refresh records a change of the CA of a certificate, and reports whether there was one.
func (s Issuer) refresh(i *issuing) bool {
	if i.superseded() && i.have.Superseded.IsZero() {
		i.have.Superseded = i.now.UTC().Truncate(time.Second)
		return true
	}
	if i.entry.Source != extras.SourceKubernetes || i.have == nil || i.have.Cert == "" {
		return false
	}
	api, err := s.Kubernetes()
	if err != nil || len(api.Authorities()) == 0 || i.have.CA == string(api.Authorities()) {
		return false
	}
	i.have.FirstCA, i.have.CA = cmp.Or(i.have.FirstCA, i.have.CA), string(api.Authorities())
	return true
}

// obtain issues a certificate, or continues a request that was begun.
func (s Issuer) obtain(ctx context.Context, h *host.Host, i *issuing, why string) error {
	before := i.have
	var err error
	if i.entry.Source == extras.SourceCA {
		err = i.sign(ctx, h)
	} else {
		err = s.askKubernetes(ctx, h, i)
	}
	if err == nil && s.Log != nil && i.have != before {
		s.Log.Info("issued a certificate", zap.String("name", i.entry.Name), zap.String("by", i.by()),
			zap.String("because", why))
	}
	return err
}

// stands returns the state of a certificate after an attempt, or none, to issue it.
func (i *issuing) stands(why string, failed error) model.Issued {
	out := model.Issued{Pair: i.have.pair()}
	if authority := i.pairs[i.entry.CA].CA; len(authority) > 0 && i.entry.CA != "" {
		out.Pair.CA = authority // a node may trust a new CA before it shows a certificate of that CA
	}
	switch {
	case failed == nil:
		if all, err := certs.Parse(out.Pair.Cert); err == nil && lostItsCA(all, i.have.RefusedCA, i.have.CA) {
			out.Late = fmt.Sprintf("the certificate %s was signed by a CA that the API servers no longer have: if "+
				"they refuse the certificate, give the signer %s their present CA, and remove %s/%[1]s.json",
				i.entry.Name, i.entry.Signer, Dir)
		}
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

// Planned returns the state of each certificate for a plan that is only shown. It sends no request
// and makes nothing.
func Planned(n *config.Node, pairs map[string]model.Keypair, r ledger.Reader, mayIssue bool) map[string]model.Issued {
	all := map[string]model.Issued{}
	for k := range n.Certificates {
		entry := &n.Certificates[k]
		if !entry.Issued() {
			continue
		}
		i := &issuing{entry: entry, node: n.Name, pairs: pairs, files: r, now: time.Now()}
		have, err := Read(r, entry.Name)
		i.have = have
		out := i.stands("", nil)
		why := i.reason()
		switch {
		case errors.Is(err, fs.ErrPermission): // the file exists, and this user may not read it
			out.Wait = "somebody who may read it: " + err.Error() + ": run it as root"
		case why != "" && have != nil && have.Pending != nil:
			out.Plan = fmt.Sprintf("would be issued by %s, which has had the request %s since %s: %s", i.by(),
				have.Pending.Name, Date(have.Pending.Since), why)
		case why != "" && !mayIssue:
			out.Wait = "the node itself: a certificate is issued on the node that shows it, not into an image"
		case why != "":
			out.Plan = fmt.Sprintf("would be issued by %s: %s", i.by(), why)
		}
		all[entry.Name] = out
	}
	return all
}

// waitFor returns the reason of a wait error, or the text of another error.
func waitFor(err error) string {
	if w, ok := errors.AsType[*graph.WaitError](err); ok {
		return w.Reason
	}
	return err.Error()
}

// Date returns a time as messages show it.
func Date(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
