// Package issue has certificates issued to this node: by a CA of the store or by Kubernetes; it
// keeps them, renews them, and says how those on the node stand. A pass calls it under its lock.
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

// Certificates are issued before a pass plans, and never by a plan: a dry run asks nobody and makes
// no key, and says what would be asked. What was issued is on the disk before anybody uses it; a
// kill at any time leaves it whole, or the one before.

// issuing is what a pass knows of one certificate that is issued to the node.
type issuing struct {
	entry *extras.Certificate
	node  string
	pairs map[string]model.Keypair // the store's
	have  *issued                  // nil: none
	files host.FileReader
	now   time.Time
}

// by is who issues it, in words.
func (i *issuing) by() string {
	if i.entry.Source == extras.SourceCA {
		return fmt.Sprintf("the CA %s of the store", i.entry.CA)
	}
	return "Kubernetes, signer " + i.entry.Signer
}

// request is what is asked for.
func (i *issuing) request() certs.Request {
	c := i.entry
	return certs.Request{CommonName: c.CommonName, Organizations: c.Organizations, Names: c.Names, Usages: c.Usages,
		Lifetime: time.Duration(c.Lifetime), Key: c.KeyType}
}

// digest names the request with who is asked.
func (i *issuing) digest() string { return i.request().Digest() + " " + i.by() }

// Issuer has certificates issued to a node.
type Issuer struct {
	Log *zap.Logger // nil: none
	May bool        // this host is a node, and no image of one
	// Kubernetes is whom certificates are asked of that Kubernetes signs.
	Kubernetes func() (CertificateAPI, error)
}

// Issue asks for what is due of a node's certificates, and says how each of them stands. pairs are
// the store's keysets, by name. It is called under the lock, before the plan. Its error is that
// nothing can be kept; that a certificate is not issued is in the status of that certificate. again
// is when one of them wants another pass; zero: none does.
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
		again = report.Sooner(again, i.again())
	}
	return all, again, nil
}

// refresh notes what has changed of the CA of a certificate, and says whether something did.
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

// obtain has one issued, or goes on with that.
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

// stands is how the certificate stands after it was, or was not, issued.
func (i *issuing) stands(why string, failed error) model.Issued {
	out := model.Issued{Pair: i.have.pair()}
	if authority := i.pairs[i.entry.CA].CA; len(authority) > 0 && i.entry.CA != "" {
		out.Pair.CA = authority // what is trusted may change before what is shown does
	}
	switch {
	case failed == nil:
		if all, err := certs.Parse(out.Pair.Cert); err == nil && lostItsCA(all, i.have.RefusedCA, i.have.CA) {
			out.Late = fmt.Sprintf("the certificate %s was signed by a CA that the API's servers had before and do not "+
				"have any more: if they refuse it, give who signs for %s the present CA, and remove %s/%[1]s.json",
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

// Planned says how each certificate of a node stands for a plan that is only shown: nobody is
// asked, nothing is made.
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
		case errors.Is(err, fs.ErrPermission): // it is there for others
			out.Wait = "somebody who may read it: " + err.Error() + ": run it as root"
		case why != "" && have != nil && have.Pending != nil:
			out.Plan = fmt.Sprintf("would be issued by %s, where the request %s lies since %s: %s", i.by(),
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

// waitFor is what an error waits for.
func waitFor(err error) string {
	if w, ok := errors.AsType[*graph.WaitError](err); ok {
		return w.Reason
	}
	return err.Error()
}

// Date is a moment as texts say it.
func Date(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
