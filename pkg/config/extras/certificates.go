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
	// Name: Names a keyset of the store's pki, or sets a name of your own.
	Name string `json:"name"`
	// Source: Says where the certificate comes from. store: the store's pki. ca: this node issues
	// it (control plane only). kubernetes: the certificates API issues it. The default is store.
	Source string `json:"source"`
	// CA: Names the keyset that signs, for source ca. For the other sources it names the keyset
	// whose certificates are installed beside.
	CA string `json:"ca,omitempty"`
	// Signer: Names the signer, for source kubernetes. The default is
	// kubernetes.io/kube-apiserver-client.
	Signer string `json:"signer,omitempty"`

	// CommonName: Sets the subject's CN, which is the user for Kubernetes. It may contain a
	// variable such as ${Node}.
	CommonName string `json:"commonName,omitempty"`
	// Organizations: Lists the subject's O, which are the user's groups for Kubernetes.
	Organizations []string `json:"organizations,omitempty"`
	// Names: Lists host names and IP addresses for which the certificate is valid.
	Names []string `json:"names,omitempty"`
	// Usages: Says whether the certificate is for a client, a server or both. The default is
	// client.
	Usages []string `json:"usages,omitempty"`
	// Lifetime: Sets the time from issue to end. The default for source ca is a year. For source
	// kubernetes the signer decides without it.
	Lifetime values.Duration `json:"lifetime,omitempty"`
	// KeyType: Sets the type of the key: ecdsa (P-256), rsa (2048) or ed25519. The default is
	// ecdsa.
	KeyType string `json:"keyType,omitempty"`

	// Dir: Names the directory for the files. Without it, the files go only where a network puts
	// them.
	Dir string `json:"dir,omitempty"`
	// CAFile: Sets the name in `dir` of the file with the CA's certificates. The default is ca.crt.
	CAFile string `json:"caFile,omitempty"`
	// CertFile: Sets the name in `dir` of the file with the certificate. The default is <name>.crt.
	CertFile string `json:"certFile,omitempty"`
	// KeyFile: Sets the name in `dir` of the file with the key, which has mode 0600. The default is
	// <name>.key.
	KeyFile string `json:"keyFile,omitempty"`
	// Kubeconfig: Asks for a kubeconfig of mode 0400 that contains the certificate, the key and the
	// CA.
	Kubeconfig CertificateKubeconfig `json:"kubeconfig,omitzero"`
	// Restart: Lists units that use the certificate. The agent restarts them when it changes.
	Restart []string `json:"restart,omitempty"`
	// Reload: Lists units that the agent reloads when the certificate changes.
	Reload []string        `json:"reload,omitempty"`
	Origin document.Origin `json:"origin"`
}

// CertificateKubeconfig is a kubeconfig with mode 0400 that contains the certificate, the key and
// the CA.
type CertificateKubeconfig struct {
	// Path: Sets the path of the kubeconfig.
	Path string `json:"path"`
	// Server: Sets the URL of the Kubernetes API, such as https://api.internal.demo.example.com.
	Server string `json:"server"`
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
