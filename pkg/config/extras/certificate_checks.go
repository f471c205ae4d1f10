package extras

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// CheckCertificates checks each entry of spec.certificates as a whole.
func CheckCertificates(all []Certificate, h *CertificateNode, r *decode.Reporter) {
	for i := range all {
		c := &all[i]
		at := fmt.Sprintf("spec.certificates[%s]", c.Name)
		c.checkSource(at, h, r)
		c.checkFiles(at, r)
		if c.Source == SourceKubernetes {
			c.checkSigner(at, h, r)
		}
		for _, name := range append([]string{c.CommonName}, c.Names...) {
			if strings.Contains(name, addressVariable) && h.Name != "" {
				r.ErrorAt(at+".names", document.Diagnostic{ID: problem.CertificateFields,
					Summary:  "${Address} stands for nothing: no document says the address of this node",
					Expected: "spec.address in its document under nodes/"})
			}
		}
	}
}

func (c *Certificate) checkSource(at string, h *CertificateNode, r *decode.Reporter) {
	if c.Source != SourceKubernetes && c.Signer != "" {
		r.ErrorAt(at+".signer", document.Diagnostic{ID: problem.CertificateFields,
			Summary: "a signer is of source kubernetes, and the source is " + c.Source, Expected: "source: kubernetes"})
	}
	switch {
	case c.Source == SourceStore && c.Lifetime != 0:
		r.ErrorAt(at+".lifetime", document.Diagnostic{ID: problem.CertificateFields,
			Summary:  "whoever put the certificate into the store decided how long it lives",
			Expected: "source: ca or source: kubernetes, or no lifetime"})
	case c.Source == SourceCA && c.CA == "":
		r.ErrorAt(at, document.Diagnostic{ID: problem.CertificateFields, Summary: at + ".ca is missing",
			Expected: "the keyset of the store's pki that signs, with its private key"})
	case c.Source == SourceCA && !h.ControlPlane:
		r.ErrorAt(at+".source", document.Diagnostic{ID: problem.CertificateFields,
			Summary: fmt.Sprintf("%s would need the private key of the CA %s, and this node's role is %s (%s): a CA's "+
				"key has no place on a worker",
				c.Name, c.CA, h.Role, r.Origin("spec.role")), Expected: "source: kubernetes or source: store",
			Hint: "keep source: ca for the control plane: put the entry into the document of its node group (role: " +
				"ControlPlane)"})
	}
}

func (c *Certificate) checkFiles(at string, r *decode.Reporter) {
	if c.CAFile == c.CertFile || c.CertFile == c.KeyFile || c.KeyFile == c.CAFile {
		r.ErrorAt(at, document.Diagnostic{ID: problem.CertificateFields,
			Summary:  fmt.Sprintf("two of the files of %s have one name", c.Name),
			Expected: "three names: caFile, certFile, keyFile"})
	}
	k := c.Kubeconfig
	if (k.Path == "") != (k.Server == "") {
		r.ErrorAt(at+".kubeconfig", document.Diagnostic{ID: problem.CertificateFields,
			Summary:  "a kubeconfig has a path and a server",
			Expected: "kubeconfig: {path: /var/lib/…/kubeconfig, server: https://…}"})
	}
	for _, unit := range c.Restart {
		if slices.Contains(c.Reload, unit) {
			r.ErrorAt(at+".reload", document.Diagnostic{ID: problem.CertificateFields,
				Summary: unit + " is restarted and reloaded", Expected: "one of the two"})
		}
	}
}

// checkSigner holds requests to what Kubernetes' own signers take, so that none waits for
// ever.
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func (c *Certificate) checkSigner(at string, h *CertificateNode, r *decode.Reporter) {
	if c.Lifetime != 0 && time.Duration(c.Lifetime) < minKubernetesLifetime {
		r.ErrorAt(at+".lifetime", document.Diagnostic{ID: problem.CertificateFields,
			Summary:  fmt.Sprintf("lifetime is %s, and no certificate of Kubernetes lives so shortly", c.Lifetime),
			Expected: "10m or more"})
	}
	client := slices.Equal(c.Usages, []string{"client"})
	switch c.Signer {
	case apiClientSigner:
		if slices.Contains(c.Organizations, "system:masters") {
			r.ErrorAt(at+".organizations",
				document.Diagnostic{ID: problem.CertificateFields,
					Summary:  "Kubernetes refuses client certificates for the group system:masters",
					Expected: "another group, bound to what the client needs"})
		}
	case kubeletClientSigner:
		if h.Name != "" && c.CommonName != "system:node:"+h.Name ||
			!slices.Equal(c.Organizations, []string{"system:nodes"}) {
			r.ErrorAt(at+".commonName", document.Diagnostic{ID: problem.CertificateFields,
				Summary: fmt.Sprintf("%s signs for this node itself, and the request is for %s", c.Signer,
					c.CommonName),
				Expected: "commonName: system:node:${Node}, organizations: [system:nodes]"})
		}
	default:
		return
	}
	if !client {
		r.ErrorAt(at+".usages", document.Diagnostic{ID: problem.CertificateFields,
			Summary: c.Signer + " signs for clients only", Expected: "usages: [client]"})
	}
}
