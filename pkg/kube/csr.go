package kube

import (
	"context"

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

	// What became of it: all are empty while nobody has decided.
	Approved    bool
	Certificate []byte // PEM, with the chain below it
	Refused     string // why it was denied, or the signer failed
}

const signingRequests = "certificatesigningrequests"

// CreateSigningRequest asks for a certificate. One of that name which is there already is
// [fs.ErrExist].
func (c *Client) CreateSigningRequest(ctx context.Context, r SigningRequest) error {
	raw := signingRequestObject{
		TypeMeta: metav1.TypeMeta{APIVersion: certificatesVersion.String(), Kind: "CertificateSigningRequest"},
		Metadata: objectMeta{Name: r.Name, Labels: r.Labels},
	}
	raw.Spec.Request, raw.Spec.SignerName = r.Request, r.Signer
	raw.Spec.Usages, raw.Spec.ExpirationSeconds = r.Usages, r.Seconds
	w := apiRequest{verb: "create", group: certificatesVersion.Group, resource: signingRequests, name: r.Name}
	return c.do(ctx, w, raw, nil)
}

// SigningRequest reads one, with what became of it. Absent is [fs.ErrNotExist]: the controller
// manager takes old ones away.
func (c *Client) SigningRequest(ctx context.Context, name string) (*SigningRequest, error) {
	var raw signingRequestObject
	w := apiRequest{verb: "get", group: certificatesVersion.Group, resource: signingRequests, name: name}
	if err := c.do(ctx, w, nil, &raw); err != nil {
		return nil, err
	}
	out := &SigningRequest{Name: raw.Metadata.Name, Signer: raw.Spec.SignerName, Request: raw.Spec.Request,
		Labels: raw.Metadata.Labels, Usages: raw.Spec.Usages, Seconds: raw.Spec.ExpirationSeconds,
		Certificate: raw.Status.Certificate}
	for _, condition := range raw.Status.Conditions {
		out.Approved = out.Approved || condition.Type == "Approved"
		if condition.Type == "Denied" || condition.Type == "Failed" {
			out.Refused = condition.Type + ": " + condition.Reason + ": " + condition.Message
		}
	}
	return out, nil
}
