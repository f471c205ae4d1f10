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
		wrong := func(field string, diag document.Diagnostic) {
			diag.ID = problem.CertificateFields
			r.ErrorAt(fmt.Sprintf("spec.certificates[%s]%s", c.Name, field), diag)
		}
		c.checkSource(wrong, h, r.Origin("spec.role"))
		c.checkFiles(wrong)
		if c.Source == SourceKubernetes {
			c.checkSigner(wrong, h)
		}
		for _, name := range append([]string{c.CommonName}, c.Names...) {
			if strings.Contains(name, addressVariable) && h.Name != "" {
				wrong(".names", document.Diagnostic{
					Summary:  "${Address} stands for nothing: no document says the address of this node",
					Expected: "spec.address in its document under nodes/"})
			}
		}
	}
}

// complaint reports what is wrong with a field of one entry, ".ca"; "" is the entry as a whole.
type complaint func(field string, diag document.Diagnostic)

func (c *Certificate) checkSource(wrong complaint, h *CertificateNode, role document.Origin) {
	if c.Source != SourceKubernetes && c.Signer != "" {
		wrong(".signer", document.Diagnostic{
			Summary: "a signer is of source kubernetes, and the source is " + c.Source, Expected: "source: kubernetes"})
	}
	switch {
	case c.Source == SourceStore && c.Lifetime != 0:
		wrong(".lifetime", document.Diagnostic{
			Summary:  "whoever put the certificate into the store decided how long it lives",
			Expected: "source: ca or source: kubernetes, or no lifetime"})
	case c.Source == SourceCA && c.CA == "":
		wrong("", document.Diagnostic{
			Summary:  fmt.Sprintf("spec.certificates[%s].ca is missing", c.Name),
			Expected: "the keyset of the store's pki that signs, with its private key"})
	case c.Source == SourceCA && !h.ControlPlane:
		wrong(".source", document.Diagnostic{
			Summary: fmt.Sprintf("%s would need the private key of the CA %s, and this node's role is %s (%s): a CA's "+
				"key has no place on a worker",
				c.Name, c.CA, h.Role, role), Expected: "source: kubernetes or source: store",
			Hint: "keep source: ca for the control plane: put the entry into the document of its node group (role: " +
				"ControlPlane)"})
	}
}

func (c *Certificate) checkFiles(wrong complaint) {
	if c.CAFile == c.CertFile || c.CertFile == c.KeyFile || c.KeyFile == c.CAFile {
		wrong("", document.Diagnostic{
			Summary:  fmt.Sprintf("two of the files of %s have one name", c.Name),
			Expected: "three names: caFile, certFile, keyFile"})
	}
	k := c.Kubeconfig
	if (k.Path == "") != (k.Server == "") {
		wrong(".kubeconfig", document.Diagnostic{
			Summary:  "a kubeconfig has a path and a server",
			Expected: "kubeconfig: {path: /var/lib/…/kubeconfig, server: https://…}"})
	}
	for _, unit := range c.Restart {
		if slices.Contains(c.Reload, unit) {
			wrong(".reload", document.Diagnostic{
				Summary: unit + " is restarted and reloaded", Expected: "one of the two"})
		}
	}
}

// checkSigner refuses requests that Kubernetes' own signers do not sign. Otherwise such a request
// would wait for ever.
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func (c *Certificate) checkSigner(wrong complaint, h *CertificateNode) {
	if c.Lifetime != 0 && time.Duration(c.Lifetime) < minKubernetesLifetime {
		wrong(".lifetime", document.Diagnostic{
			Summary:  fmt.Sprintf("lifetime is %s, and no certificate of Kubernetes lives so shortly", c.Lifetime),
			Expected: "10m or more"})
	}
	client := slices.Equal(c.Usages, []string{"client"})
	switch c.Signer {
	case apiClientSigner:
		if slices.Contains(c.Organizations, "system:masters") {
			wrong(".organizations", document.Diagnostic{
				Summary:  "Kubernetes refuses client certificates for the group system:masters",
				Expected: "another group, bound to what the client needs"})
		}
	case kubeletClientSigner:
		if h.Name != "" && c.CommonName != "system:node:"+h.Name ||
			!slices.Equal(c.Organizations, []string{"system:nodes"}) {
			wrong(".commonName", document.Diagnostic{
				Summary: fmt.Sprintf("%s signs for this node itself, and the request is for %s", c.Signer,
					c.CommonName),
				Expected: "commonName: system:node:${Node}, organizations: [system:nodes]"})
		}
	default:
		return
	}
	if !client {
		wrong(".usages", document.Diagnostic{
			Summary: c.Signer + " signs for clients only", Expected: "usages: [client]"})
	}
}
