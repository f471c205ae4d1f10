package extras

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
)

// certificateUsers has the certificates whose user is known, by the name of kOps' keypair, with
// their common name and the path where the user looks for its kubeconfig.
var certificateUsers = map[string]struct{ commonName, kubeconfig string }{
	"calico-client":      {commonName: "calico-client"},
	"etcd-client-cilium": {commonName: "cilium"}, // nodeup/pkg/model/networking/cilium.go
	// nodeup/pkg/model/networking/kube_router.go
	"kube-router": {commonName: "system:kube-router", kubeconfig: "/var/lib/kube-router/kubeconfig"},
}

// These are Kubernetes' own signers.
const (
	apiClientSigner     = "kubernetes.io/kube-apiserver-client"
	kubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet"
)

// CertificateNode is the node that gets certificates, as far as documents describe it.
type CertificateNode struct {
	Name         string // "": no node was selected
	Address      string // the first address; "": no document sets one
	Role         string
	ControlPlane bool
	KubeRouter   bool // the network is kube-router, which has its own kubeconfig
}

// FillCertificates completes the entries of spec.certificates. An entry merges as a whole, so it
// takes no default from an earlier document.
func FillCertificates(all []Certificate, h *CertificateNode) {
	for i := range all {
		c := &all[i]
		of := certificateUsers[c.Name]
		otherwise(&c.Source, SourceStore)
		otherwise(&c.CAFile, "ca.crt")
		otherwise(&c.CertFile, c.Name+".crt")
		otherwise(&c.KeyFile, c.Name+".key")
		if h.KubeRouter && c.Dir == "" {
			otherwise(&c.Kubeconfig.Path, of.kubeconfig)
		}
		if len(c.Usages) == 0 {
			c.Usages = []string{"client"}
		}
		if c.Issued() {
			fillRequest(c, of.commonName)
		}
		c.CommonName = h.expand(c.CommonName)
		for _, list := range [][]string{c.Names, c.Organizations} {
			for i := range list {
				list[i] = h.expand(list[i])
			}
		}
	}
}

// fillRequest completes what a certificate request asks for.
func fillRequest(c *Certificate, commonName string) {
	otherwise(&c.KeyType, "ecdsa")
	if c.Source == SourceKubernetes {
		otherwise(&c.Signer, apiClientSigner)
	} else if c.Lifetime == 0 {
		c.Lifetime = values.Duration(defaultLifetime)
	}
	if c.Signer == kubeletClientSigner {
		otherwise(&c.CommonName, "system:node:"+nodeVariable)
		if len(c.Organizations) == 0 {
			c.Organizations = []string{"system:nodes"}
		}
	}
	otherwise(&c.CommonName, commonName)
	otherwise(&c.CommonName, c.Name)
}

// expand replaces the variables whose values are known. A check of a node group knows no node.
func (h *CertificateNode) expand(s string) string {
	if h.Name != "" {
		s = strings.ReplaceAll(s, nodeVariable, h.Name)
	}
	if h.Address != "" {
		s = strings.ReplaceAll(s, addressVariable, h.Address)
	}
	return s
}

func otherwise(to *string, value string) {
	if *to == "" {
		*to = value
	}
}
