package kube

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SigningRequest is a CertificateSigningRequest.
type SigningRequest struct {
	Name    string
	Signer  string   // "kubernetes.io/kube-apiserver-client", or one of the cluster's own
	Request []byte   // PKCS #10, PEM
	Usages  []string // "digital signature", "client auth"
	Seconds int32    // of the certificate's life; 0: as the signer likes
	Labels  map[string]string

	// What became of it: both are empty while nobody has decided.
	Certificate []byte // PEM, with the chain below it
	Refused     string // why it was denied, or the signer failed
}

const signingRequests = "certificatesigningrequests"

// CreateSigningRequest asks for a certificate. One of that name which is there already is
// [fs.ErrExist].
func (c *Client) CreateSigningRequest(ctx context.Context, r SigningRequest) error {
	raw := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: r.Labels},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: r.Request, SignerName: r.Signer},
	}
	for _, usage := range r.Usages {
		raw.Spec.Usages = append(raw.Spec.Usages, certificatesv1.KeyUsage(usage))
	}
	if r.Seconds > 0 {
		raw.Spec.ExpirationSeconds = &r.Seconds
	}
	return c.do(ctx, apiRequest{verb: "create", group: certificatesv1.GroupName, resource: signingRequests,
		name: r.Name},
		c.certificates.Post().Resource(signingRequests).Body(raw), nil)
}

// SigningRequest reads one, with what became of it. Absent is [fs.ErrNotExist]: the controller
// manager takes old ones away.
func (c *Client) SigningRequest(ctx context.Context, name string) (*SigningRequest, error) {
	var raw certificatesv1.CertificateSigningRequest
	if err := c.do(ctx, apiRequest{verb: "get", group: certificatesv1.GroupName, resource: signingRequests, name: name},
		c.certificates.Get().Resource(signingRequests).Name(name), &raw); err != nil {
		return nil, err
	}
	out := &SigningRequest{Name: raw.Name, Signer: raw.Spec.SignerName, Request: raw.Spec.Request, Labels: raw.Labels,
		Certificate: raw.Status.Certificate}
	for _, usage := range raw.Spec.Usages {
		out.Usages = append(out.Usages, string(usage))
	}
	if raw.Spec.ExpirationSeconds != nil {
		out.Seconds = *raw.Spec.ExpirationSeconds
	}
	for _, condition := range raw.Status.Conditions {
		if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
			out.Refused = string(condition.Type) + ": " + condition.Reason + ": " + condition.Message
		}
	}
	return out, nil
}
