package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// certificates checks each entry of spec.certificates as a whole.
func (v *validator) certificates() {
	for i := range v.node.Certificates {
		c := &v.node.Certificates[i]
		at := fmt.Sprintf("spec.certificates[%s]", c.Name)
		v.certificateSource(c, at)
		v.certificateFiles(c, at)
		if c.Source == SourceKubernetes {
			v.certificateSigner(c, at)
		}
		for _, name := range append([]string{c.CommonName}, c.Names...) {
			if strings.Contains(name, addressVariable) && v.node.Name != "" {
				v.ErrorAt(at+".names", document.Diagnostic{ID: problem.CertificateFields, Summary: "${Address} stands for nothing: no document says the address of this node", Expected: "spec.address in its document under nodes/"})
			}
		}
	}
}

func (v *validator) certificateSource(c *Certificate, at string) {
	n := v.node
	if c.Source != SourceKubernetes && c.Signer != "" {
		v.ErrorAt(at+".signer", document.Diagnostic{ID: problem.CertificateFields, Summary: "a signer is of source kubernetes, and the source is " + c.Source, Expected: "source: kubernetes"})
	}
	switch {
	case c.Source == SourceStore && c.Lifetime != 0:
		v.ErrorAt(at+".lifetime", document.Diagnostic{ID: problem.CertificateFields, Summary: "whoever put the certificate into the store decided how long it lives", Expected: "source: ca or source: kubernetes, or no lifetime"})
	case c.Source == SourceCA && c.CA == "":
		v.ErrorAt(at, document.Diagnostic{ID: problem.CertificateFields, Summary: at + ".ca is missing", Expected: "the keyset of the store's pki that signs, with its private key"})
	case c.Source == SourceCA && !n.ControlPlane():
		v.ErrorAt(at+".source", document.Diagnostic{ID: problem.CertificateFields, Summary: fmt.Sprintf("%s would need the private key of the CA %s, and this node's role is %s (%s): a CA's key has no place on a worker",
			c.Name, c.CA, n.Role, n.Origin("spec.role")), Expected: "source: kubernetes or source: store",
			Hint: "keep source: ca for the control plane: put the entry into the document of its node group (role: ControlPlane)"})
	}
}

func (v *validator) certificateFiles(c *Certificate, at string) {
	if c.CAFile == c.CertFile || c.CertFile == c.KeyFile || c.KeyFile == c.CAFile {
		v.ErrorAt(at, document.Diagnostic{ID: problem.CertificateFields, Summary: fmt.Sprintf("two of the files of %s have one name", c.Name), Expected: "three names: caFile, certFile, keyFile"})
	}
	k := c.Kubeconfig
	if (k.Path == "") != (k.Server == "") {
		v.ErrorAt(at+".kubeconfig", document.Diagnostic{ID: problem.CertificateFields, Summary: "a kubeconfig has a path and a server", Expected: "kubeconfig: {path: /var/lib/…/kubeconfig, server: https://…}"})
	}
	for _, unit := range c.Restart {
		if slices.Contains(c.Reload, unit) {
			v.ErrorAt(at+".reload", document.Diagnostic{ID: problem.CertificateFields, Summary: unit + " is restarted and reloaded", Expected: "one of the two"})
		}
	}
}

// certificateSigner holds requests to what Kubernetes' own signers take, so that none waits for
// ever.
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func (v *validator) certificateSigner(c *Certificate, at string) {
	if c.Lifetime != 0 && time.Duration(c.Lifetime) < minKubernetesLifetime {
		v.ErrorAt(at+".lifetime", document.Diagnostic{ID: problem.CertificateFields, Summary: fmt.Sprintf("lifetime is %s, and no certificate of Kubernetes lives so shortly", c.Lifetime), Expected: "10m or more"})
	}
	client := slices.Equal(c.Usages, []string{"client"})
	switch c.Signer {
	case apiClientSigner:
		if slices.Contains(c.Organizations, "system:masters") {
			v.ErrorAt(at+".organizations", document.Diagnostic{ID: problem.CertificateFields, Summary: "Kubernetes refuses client certificates for the group system:masters", Expected: "another group, bound to what the client needs"})
		}
	case kubeletClientSigner:
		if v.node.Name != "" && c.CommonName != "system:node:"+v.node.Name || !slices.Equal(c.Organizations, []string{"system:nodes"}) {
			v.ErrorAt(at+".commonName", document.Diagnostic{ID: problem.CertificateFields, Summary: fmt.Sprintf("%s signs for this node itself, and the request is for %s", c.Signer, c.CommonName),
				Expected: "commonName: system:node:${Node}, organizations: [system:nodes]"})
		}
	default:
		return
	}
	if !client {
		v.ErrorAt(at+".usages", document.Diagnostic{ID: problem.CertificateFields, Summary: c.Signer + " signs for clients only", Expected: "usages: [client]"})
	}
}
