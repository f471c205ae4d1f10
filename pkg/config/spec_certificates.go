package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// The sources of a certificate.
const (
	SourceStore      = "store"      // issued elsewhere, certificate and key are in the store's pki
	SourceCA         = "ca"         // issued on the node by a CA whose key is in the store's pki; nodes of the control plane only
	SourceKubernetes = "kubernetes" // asked for with the certificates API of Kubernetes
)

// Certificate is how this node comes by the certificate of a name, and where it goes. Networks name
// theirs (calico-client); any other is the user's.
type Certificate struct {
	Name string `json:"name"` // a keyset of the store's pki, or a name of its own
	// Source: who issues it: store (it is in the store's pki), ca (this node, control plane only)
	// or kubernetes (its certificates API); without it store
	Source string `json:"source"`
	// CA: the keyset that signs, of source ca; of the others the one whose certificates are
	// installed beside
	CA     string `json:"ca,omitempty"`
	Signer string `json:"signer,omitempty"` // of source kubernetes; without it kubernetes.io/kube-apiserver-client

	CommonName    string   `json:"commonName,omitempty"`    // the subject's CN, for Kubernetes the user; may hold a variable such as ${Node}
	Organizations []string `json:"organizations,omitempty"` // the subject's O, for Kubernetes the user's groups
	Names         []string `json:"names,omitempty"`         // host names and IP addresses that it is good for
	Usages        []string `json:"usages,omitempty"`        // client (as without a word), server or both
	// Lifetime: from issue to end; without it a year of source ca, of source kubernetes what the
	// signer gives
	Lifetime values.Duration `json:"lifetime,omitempty"`
	KeyType  string          `json:"keyType,omitempty"` // ecdsa (P-256, as without a word), rsa (2048) or ed25519

	Dir        string                `json:"dir,omitempty"`       // where its files go; without it only where a network puts them
	CAFile     string                `json:"caFile,omitempty"`    // name in `dir` of the CA's certificates; without it ca.crt
	CertFile   string                `json:"certFile,omitempty"`  // name in `dir` of the certificate; without it <name>.crt
	KeyFile    string                `json:"keyFile,omitempty"`   // name in `dir` of the key, mode 0600; without it <name>.key
	Kubeconfig CertificateKubeconfig `json:"kubeconfig,omitzero"` // a kubeconfig with certificate, key and CA in it, mode 0400
	Restart    []string              `json:"restart,omitempty"`   // units that run from it and are restarted when it changes
	Reload     []string              `json:"reload,omitempty"`    // units that are reloaded when it changes
	Origin     document.Origin       `json:"origin"`
}

// CertificateKubeconfig is a kubeconfig with the certificate, the key and the CA in it, 0400.
type CertificateKubeconfig struct {
	Path   string `json:"path"`   // where it is written
	Server string `json:"server"` // of the Kubernetes API, such as https://api.internal.demo.example.com
}

// Issued tells that the node makes the key, and has the certificate issued.
func (c *Certificate) Issued() bool { return c.Source == SourceCA || c.Source == SourceKubernetes }

// Installs tells that the entry itself says where files go.
func (c *Certificate) Installs() bool { return c.Dir != "" || c.Kubeconfig.Path != "" }

// CertificateOf is the entry of a name, nil if there is none.
func (n *Node) CertificateOf(name string) *Certificate {
	for i := range n.Certificates {
		if n.Certificates[i].Name == name {
			return &n.Certificates[i]
		}
	}
	return nil
}

// Bounds of what a lifetime may be. Kubernetes' own signers give no less than ten minutes
// (certificates.k8s.io/v1, expirationSeconds).
const (
	minLifetime           = 10 * time.Second
	maxLifetime           = 10 * 365 * 24 * time.Hour
	minKubernetesLifetime = 10 * time.Minute
	defaultLifetime       = 365 * 24 * time.Hour
)

func certificateList(n *Node) set {
	return func(d *decoder, v *document.Value, at string) {
		seen := make(keys)
		put := merging(&n.Certificates, func(c Certificate) string { return c.Name })
		List(func(d *decoder, v *document.Value, item string) {
			c := Certificate{Origin: d.doc.Origin(v.Pos)}
			d.mapping(v, item, c.fields())
			if !d.required(v, item, "name") || !d.unique(seen, v.Get("name").Str(), v.Get("name").Pos, item+".name") {
				return
			}
			for i := range v.Entries {
				d.origins[fmt.Sprintf("%s[%s].%s", at, c.Name, v.Entries[i].Key)] = d.doc.Origin(v.Entries[i].Value.Pos)
			}
			d.origins[fmt.Sprintf("%s[%s]", at, c.Name)] = c.Origin
			put(c)
		})(d, v, at)
	}
}

func (c *Certificate) fields() []field {
	return []field{
		{name: "name", set: Text(&c.Name, validName)},
		{name: "source", set: Choice(&c.Source, SourceStore, SourceCA, SourceKubernetes)},
		{name: "ca", set: Text(&c.CA, validName)},
		{name: "signer", set: Text(&c.Signer, validSigner)},
		{name: "commonName", set: Text(&c.CommonName, notEmpty)},
		{name: "organizations", set: Texts(&c.Organizations, notEmpty)},
		{name: "names", set: Texts(&c.Names, validSAN)},
		{name: "usages", set: func(d *decoder, v *document.Value, at string) {
			c.Usages = nil
			List(func(d *decoder, v *document.Value, at string) {
				var s string
				Choice(&s, "client", "server")(d, v, at)
				c.Usages = append(c.Usages, s)
			})(d, v, at)
		}},
		{name: "lifetime", set: Duration((*time.Duration)(&c.Lifetime), minLifetime, maxLifetime)},
		{name: "keyType", set: Choice(&c.KeyType, "ecdsa", "rsa", "ed25519")},
		{name: "dir", set: AbsolutePath(&c.Dir)},
		{name: "caFile", set: Text(&c.CAFile, validFileName)},
		{name: "certFile", set: Text(&c.CertFile, validFileName)},
		{name: "keyFile", set: Text(&c.KeyFile, validFileName)},
		{name: "kubeconfig", set: Into(func() []field {
			return []field{{name: "path", set: AbsolutePath(&c.Kubeconfig.Path)}, {name: "server", set: Text(&c.Kubeconfig.Server, validAPIServer)}}
		})},
		{name: "restart", set: Texts(&c.Restart, validUnit)},
		{name: "reload", set: Texts(&c.Reload, validUnit)},
	}
}

// validSigner:
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#signers
func validSigner(s string) string {
	domain, name, has := strings.Cut(s, "/")
	switch {
	case !has || !strings.Contains(domain, ".") || name == "" || !printable(s) || strings.ContainsAny(s, " \t"):
		return "the name of a signer such as kubernetes.io/kube-apiserver-client or example.com/etcd"
	case s == "kubernetes.io/legacy-unknown":
		return "a signer that certificates.k8s.io/v1 has: kubernetes.io/legacy-unknown ended with v1beta1"
	}
	return ""
}

// The variables of a certificate's texts.
const (
	nodeVariable    = "${Node}"
	addressVariable = "${Address}"
)

func validSAN(s string) string {
	if s == nodeVariable || s == addressVariable {
		return ""
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return ""
	}
	name := strings.TrimPrefix(strings.ReplaceAll(s, nodeVariable, "node"), "*.")
	if validName(name) != "" || strings.ContainsAny(name, "_") {
		return "a host name, an IP address, ${Node} or ${Address}"
	}
	return ""
}

func validAPIServer(s string) string {
	if !strings.HasPrefix(s, "https://") || validEndpoint(s) != "" {
		return "the URL of the Kubernetes API such as https://api.internal.example.com"
	}
	return ""
}
