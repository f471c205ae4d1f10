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
	Seconds int32    // lifetime of the certificate; 0 to leave it to the signer
	Labels  map[string]string

	// The answer to the request. All three are empty until somebody decides.
	Approved    bool
	Certificate []byte // PEM, with the intermediate certificates
	Refused     string // why the request was denied or the signer failed
}

const signingRequests = "certificatesigningrequests"

// CreateSigningRequest creates a request. The error matches [fs.ErrExist] if one of that name
// exists.
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

// SigningRequest reads a request and its answer. The error matches [fs.ErrNotExist] if there is
// none: the controller manager removes old requests.
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
