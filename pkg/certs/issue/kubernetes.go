package issue

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
)

// CertificateAPI is the API for certificate requests. [kube.Client] implements it.
type CertificateAPI interface {
	CreateSigningRequest(ctx context.Context, r kube.SigningRequest) error
	SigningRequest(ctx context.Context, name string) (*kube.SigningRequest, error)
	// Authorities are the CAs of the API servers in PEM; nil for the system's CAs.
	Authorities() []byte
}

var _ CertificateAPI = (*kube.Client)(nil)

// As returns the Kubernetes API with credentials that may request certificates: the agent's own, or
// else those of kubelet, which the role system:node permits to.
func As(api *access.API, facts *host.Facts) (CertificateAPI, error) {
	if api == nil {
		return nil, graph.Permanent(errors.New("no Kubernetes API is known here: put kubeconfig into " +
			"/etc/netwright/agent.yaml"))
	}
	var errs []error
	for _, path := range api.Identities(facts, true) {
		c, err := api.Client(path)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// askKubernetes sends the request, or looks for the answer. It does not wait, because the approver
// may be a person. It makes the key here, and saves it before it sends the request, which does not
// contain the private key.
func (s Issuer) askKubernetes(ctx context.Context, h *host.Host, i *issuing) error {
	api, err := s.Kubernetes()
	if errors.Is(err, fs.ErrNotExist) {
		return graph.Wait("Kubernetes, to ask it for the certificate " + i.entry.Name + ": " + err.Error())
	}
	if err != nil {
		return err
	}
	if err := i.prepare(ctx, h, api.Authorities()); err != nil {
		return err
	}
	asked := i.have.Pending
	r := i.signingRequest()
	got, err := s.Questions.ask(ctx, r.Name, func(ctx context.Context) (*kube.SigningRequest, error) {
		return answerOf(ctx, api, r)
	})
	switch {
	case err != nil:
		return err
	case got.Refused != "":
		return graph.Permanent(fmt.Errorf("the request %s was refused (%s): ask the approver or signer why; "+
			"`kubectl delete csr %s` lets the node ask again", asked.Name, got.Refused, asked.Name))
	case len(got.Certificate) == 0 && got.Approved:
		return graph.Wait(fmt.Sprintf("the approved request %s to be signed by %s: the log of that signer (for "+
			"kubernetes.io/ it is kube-controller-manager) says why it is not signed", asked.Name, i.entry.Signer))
	case len(got.Certificate) == 0:
		return graph.Wait(fmt.Sprintf("the request %s to be approved, and signed by %s: `kubectl certificate approve "+
			"%s`", asked.Name, i.entry.Signer, asked.Name))
	}
	return i.take(ctx, h, got.Certificate, api.Authorities())
}

// answerOf returns what the API says of a request, which it sends if the API does not have it.
func answerOf(ctx context.Context, api CertificateAPI, r kube.SigningRequest) (*kube.SigningRequest, error) {
	got, err := api.SigningRequest(ctx, r.Name)
	if !errors.Is(err, fs.ErrNotExist) {
		return got, err
	}
	// not sent yet, or removed without an answer
	if err := api.CreateSigningRequest(ctx, r); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return api.SigningRequest(ctx, r.Name)
}

// prepare makes a key and a request, and saves them. It does nothing if the same request exists.
func (i *issuing) prepare(ctx context.Context, h *host.Host, authorities []byte) error {
	s := issued{Name: i.entry.Name, Source: i.entry.Source, By: i.by()}
	if i.have != nil {
		s = *i.have
	}
	if s.Pending != nil && s.Pending.Request == i.digest() && !host.IsOtherMachine(i.files, s.Pending.Machine) {
		return nil
	}
	r := i.request()
	key, err := certs.NewKey(r.Key)
	if err != nil {
		return err
	}
	csr, err := r.CSR(key)
	if err != nil {
		return err
	}
	text, err := certs.EncodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("name a certificate request: %w", err)
	}
	sum := sha256.Sum256(public)
	s.Pending = &pending{Name: fmt.Sprintf("netwright-%.80s-%.80s-%s", i.node, i.entry.Name,
		hex.EncodeToString(sum[:6])), Request: i.digest(),
		Since: i.now.UTC().Truncate(time.Second), Machine: host.MachineID(i.files), CSR: string(csr), Key: text,
		CA: string(authorities)}
	if err := s.save(ctx, h); err != nil {
		return err
	}
	i.have = &s
	return nil
}

// signingRequest returns the request in the form of the API.
func (i *issuing) signingRequest() kube.SigningRequest {
	out := kube.SigningRequest{Name: i.have.Pending.Name, Signer: i.entry.Signer, Request: []byte(i.have.Pending.CSR),
		Usages:  []string{"digital signature"},
		Seconds: int32(time.Duration(i.entry.Lifetime).Seconds()),
		Labels:  map[string]string{"app.kubernetes.io/managed-by": "netwright"}}
	for _, usage := range i.entry.Usages {
		out.Usages = append(out.Usages, usage+" auth")
	}
	return out
}

// take saves the certificate that was issued if it matches the request. It refuses a certificate of
// a former CA of the API servers once. If the signer uses that CA again, the second certificate is
// accepted, because the signer may be right and only the API servers may have another CA.
func (i *issuing) take(ctx context.Context, h *host.Host, chain, authorities []byte) error {
	asked := i.have.Pending
	all, err := certs.Parse(chain)
	if err != nil {
		return graph.Permanent(fmt.Errorf("the request %s has a certificate that cannot be read: %w", asked.Name, err))
	}
	key, err := certs.ParseKey(asked.Key)
	if err != nil {
		return graph.Permanent(fmt.Errorf("the key of the request %s cannot be read: %w", asked.Name, err))
	}
	if !certs.KeyMatches(key, all[0]) {
		return graph.Permanent(fmt.Errorf("the request %s was answered with a certificate of another key: look at "+
			"the log of the signer %s", asked.Name, i.entry.Signer))
	}
	why, refused := "", i.have.RefusedCA
	switch {
	case i.now.After(all[0].NotAfter): // no pass looked while it was valid
		why = "ended on " + Date(all[0].NotAfter)
	case lostItsCA(all, asked.CA, string(authorities)):
		why, refused = "is of a CA that the API's servers do not trust any more", asked.CA
	}
	if why != "" {
		s := *i.have
		s.Pending, s.RefusedCA = nil, refused
		i.have = &s
		if err := s.save(ctx, h); err != nil {
			return err
		}
		return graph.Wait("another request for the certificate " + i.entry.Name + ": the one that was granted " + why)
	}
	return i.save(ctx, h, &issued{CA: string(authorities), Cert: string(chain), Key: asked.Key, RefusedCA: refused})
}

// The shortest and the longest pause between two looks at a request. The controller manager removes
// an approved request after an hour (pkg/controller/certificates/cleaner, approvedExpiration).
const (
	pendingLook = 2 * time.Second
	pendingMost = 10 * time.Minute
)

// nextLook returns when to look again whether the request has an answer: soon at first, because
// most approvers are programs.
func (p *pending) nextLook(now time.Time) time.Time {
	waited := now.Sub(p.Since).Abs() // the clock may have been set back since
	return now.Add(min(max(pendingLook, waited/10), pendingMost))
}
