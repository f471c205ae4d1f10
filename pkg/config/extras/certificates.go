package extras

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// These are the sources of a certificate.
const (
	SourceStore = "store" // issued elsewhere; certificate and key are in the store's pki
	// SourceCA means that the node issues it with a CA whose key is in the store's pki. Only nodes
	// of the control plane may do so.
	SourceCA         = "ca"
	SourceKubernetes = "kubernetes" // requested with the certificates API of Kubernetes
)

// Certificate says where this node gets a certificate, and where it installs it. Networks name
// their own certificates (calico-client). Any other name is the user's.
type Certificate struct {
	Name string `json:"name"` // a keyset of the store's pki, or a name of its own
	// Source: who issues it: store (it is in the store's pki), ca (this node, control plane only)
	// or kubernetes (its certificates API); without it store
	Source string `json:"source"`
	// CA: the keyset that signs, of source ca; of the others the one whose certificates are
	// installed beside
	CA     string `json:"ca,omitempty"`
	Signer string `json:"signer,omitempty"` // of source kubernetes; without it kubernetes.io/kube-apiserver-client

	// the subject's CN, for Kubernetes the user; may hold a variable such as ${Node}
	CommonName    string   `json:"commonName,omitempty"`
	Organizations []string `json:"organizations,omitempty"` // the subject's O, for Kubernetes the user's groups
	Names         []string `json:"names,omitempty"`         // host names and IP addresses that it is good for
	Usages        []string `json:"usages,omitempty"`        // client (as without a word), server or both
	// Lifetime: from issue to end; without it a year of source ca, of source kubernetes what the
	// signer gives
	Lifetime values.Duration `json:"lifetime,omitempty"`
	KeyType  string          `json:"keyType,omitempty"` // ecdsa (P-256, as without a word), rsa (2048) or ed25519

	// where its files go; without it only where a network puts them
	Dir      string `json:"dir,omitempty"`
	CAFile   string `json:"caFile,omitempty"`   // name in `dir` of the CA's certificates; without it ca.crt
	CertFile string `json:"certFile,omitempty"` // name in `dir` of the certificate; without it <name>.crt
	// name in `dir` of the key, mode 0600; without it <name>.key
	KeyFile string `json:"keyFile,omitempty"`
	// a kubeconfig with certificate, key and CA in it, mode 0400
	Kubeconfig CertificateKubeconfig `json:"kubeconfig,omitzero"`
	// units that run from it and are restarted when it changes
	Restart []string        `json:"restart,omitempty"`
	Reload  []string        `json:"reload,omitempty"` // units that are reloaded when it changes
	Origin  document.Origin `json:"origin"`
}

// CertificateKubeconfig is a kubeconfig with mode 0400 that contains the certificate, the key and
// the CA.
type CertificateKubeconfig struct {
	Path   string `json:"path"`   // where it is written
	Server string `json:"server"` // of the Kubernetes API, such as https://api.internal.demo.example.com
}

// Issued reports whether the node makes the key and has the certificate issued.
func (c *Certificate) Issued() bool { return c.Source == SourceCA || c.Source == SourceKubernetes }

// Installs reports whether the entry itself says where the files go.
func (c *Certificate) Installs() bool { return c.Dir != "" || c.Kubeconfig.Path != "" }

// These are the bounds of a lifetime. Kubernetes' own signers issue for at least ten minutes
// (certificates.k8s.io/v1, expirationSeconds).
const (
	minLifetime           = 10 * time.Second
	maxLifetime           = 10 * 365 * 24 * time.Hour
	minKubernetesLifetime = 10 * time.Minute
	defaultLifetime       = 365 * 24 * time.Hour
)

// Certificates reads spec.certificates.
func Certificates(to *[]Certificate) decode.Field {
	return decode.Field{Name: "certificates", Set: func(v decode.Reading) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(c Certificate) string { return c.Name })
		v.List(func(item decode.Reading) {
			c := Certificate{Origin: item.Origin()}
			item.Mapping(c.fields())
			if !item.Required("name") || !item.Field("name").Unique(seen, item.Get("name").Str()) {
				return
			}
			for _, e := range item.Entries {
				item.Origins[fmt.Sprintf("%s[%s].%s", v.Path, c.Name, e.Key)] = item.Doc.Origin(e.Value.Pos)
			}
			item.Origins[fmt.Sprintf("%s[%s]", v.Path, c.Name)] = c.Origin
			put(c)
		})
	}}
}

func (c *Certificate) fields() []decode.Field {
	return []decode.Field{
		decode.Text("name", &c.Name, decode.ValidName),
		decode.Choice("source", &c.Source, SourceStore, SourceCA, SourceKubernetes),
		decode.Text("ca", &c.CA, decode.ValidName),
		decode.Text("signer", &c.Signer, validSigner),
		decode.Text("commonName", &c.CommonName, decode.NotEmpty),
		decode.Texts("organizations", &c.Organizations, decode.NotEmpty),
		decode.Texts("names", &c.Names, validSAN),
		decode.Each("usages", &c.Usages, func(s *string) decode.Set {
			return decode.Choice("usages", s, "client", "server").Set
		}),
		decode.Duration("lifetime", (*time.Duration)(&c.Lifetime), minLifetime, maxLifetime),
		decode.Choice("keyType", &c.KeyType, "ecdsa", "rsa", "ed25519"),
		decode.AbsolutePath("dir", &c.Dir),
		decode.Text("caFile", &c.CAFile, decode.ValidFileName),
		decode.Text("certFile", &c.CertFile, decode.ValidFileName),
		decode.Text("keyFile", &c.KeyFile, decode.ValidFileName),
		decode.Into("kubeconfig", func() []decode.Field {
			return []decode.Field{decode.AbsolutePath("path", &c.Kubeconfig.Path),
				decode.Text("server", &c.Kubeconfig.Server, validAPIServer)}
		}),
		decode.Texts("restart", &c.Restart, decode.ValidUnit),
		decode.Texts("reload", &c.Reload, decode.ValidUnit),
	}
}

// validSigner accepts the name of a signer:
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#signers
func validSigner(s string) string {
	domain, name, has := strings.Cut(s, "/")
	switch {
	case !has || !strings.Contains(domain, ".") || name == "" || !decode.Printable(s) || strings.ContainsAny(s, " \t"):
		return "the name of a signer such as kubernetes.io/kube-apiserver-client or example.com/etcd"
	case s == "kubernetes.io/legacy-unknown":
		return "a signer that certificates.k8s.io/v1 has: kubernetes.io/legacy-unknown ended with v1beta1"
	}
	return ""
}

// These are the variables in a certificate's texts.
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
	if decode.ValidName(name) != "" || strings.ContainsAny(name, "_") {
		return "a host name, an IP address, ${Node} or ${Address}"
	}
	return ""
}

func validAPIServer(s string) string {
	if !strings.HasPrefix(s, "https://") || decode.ValidEndpoint(s) != "" {
		return "the URL of the Kubernetes API such as https://api.internal.example.com"
	}
	return ""
}
