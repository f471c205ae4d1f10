package reconcile

import (
	"context"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// issue has issued what is due of the certificates of d.
func (p Pass) issue(ctx context.Context, d *desired.State, h *host.Host) (err error) {
	if d == nil {
		return nil
	}
	asked := p.Certificates
	if asked == nil {
		asked = func() (issue.CertificateAPI, error) { return issue.As(p.API, h.Facts()) }
	}
	d.Issued, d.LookAgain, err = issue.Issuer{Log: p.Log, May: p.mayIssue(), Kubernetes: asked}.Issue(ctx, d.Node, d.Keypairs, h)
	return err
}
