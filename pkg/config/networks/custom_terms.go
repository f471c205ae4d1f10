package networks

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

func (p *CustomPlugin) fields() []decode.Field {
	return []decode.Field{
		decode.Text("asset", &p.Asset, decode.ValidName),
		decode.Texts("members", &p.Members, decode.ValidMember),
		decode.Text("minimum", &p.Minimum, validMinimum),
	}
}

func (m *CustomModule) fields() []decode.Field {
	return []decode.Field{
		decode.Text("name", &m.Name, validModule),
		decode.Text("why", &m.Why, decode.NotEmpty),
		decode.Choice("when", &m.When, "ipv4", "ipv6"),
		decode.Bool("optional", &m.Optional),
	}
}

func (s *CustomSysctl) fields() []decode.Field {
	return []decode.Field{
		decode.SysctlName("key", &s.Key),
		decode.SysctlValue("value", &s.Value),
		decode.Text("why", &s.Why, decode.NotEmpty),
		decode.Choice("when", &s.When, "ipv4", "ipv6"),
		decode.Bool("required", &s.Required),
		decode.Bool("optional", &s.Optional),
	}
}

func (m *CustomMount) fields() []decode.Field {
	return []decode.Field{
		decode.Text("what", &m.What, decode.NotEmpty),
		decode.AbsolutePath("where", &m.Where),
		decode.Text("type", &m.Type, validModule),
	}
}

func (p *CustomPackage) fields() []decode.Field {
	return []decode.Field{decode.Text("name", &p.Name, decode.NotEmpty),
		decode.Text("on", &p.On, decode.ValidName)}
}

func (c *CustomCertificate) fields() []decode.Field {
	return []decode.Field{
		decode.Text("keypair", &c.Keypair, decode.ValidName),
		decode.Text("ca", &c.CA, decode.ValidName),
		decode.AbsolutePath("dir", &c.Dir),
		decode.Text("caFile", &c.CAFile, decode.ValidFileName),
		decode.Text("certFile", &c.CertFile, decode.ValidFileName),
		decode.Text("keyFile", &c.KeyFile, decode.ValidFileName),
		decode.Text("commonName", &c.CommonName, decode.NotEmpty),
	}
}

func (p *CustomPort) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("proto", &p.Proto, "tcp", "udp", "sctp", "ip"),
		decode.Port("port", &p.Port),
		decode.Text("what", &p.Use, decode.NotEmpty),
	}
}

func (r *CustomRequires) fields() []decode.Field {
	return []decode.Field{
		{Name: "kernel", Set: kernel(&r.Kernel)},
		decode.Texts("backports", &r.Backports, validPattern),
		decode.Texts("clouds", &r.Clouds, decode.ValidName),
		decode.Choice("hugepages", &r.Hugepages, "2M", "1G"),
		decode.Text("why", &r.Why, decode.NotEmpty),
	}
}

// kernel reads a release of Linux. An unquoted 5.10 is read as it is written, and not as the number
// 5.1.
func kernel(to *values.Version) decode.Set {
	return func(v decode.Reading) {
		parsed, err := values.ParseVersion(v.Text)
		if (v.Kind != document.KindString && v.Kind != document.KindFloat) || err != nil {
			v.Bad("a release of Linux such as 5.10", "")
			return
		}
		*to = parsed
	}
}

func (s *CustomShared) fields() []decode.Field {
	return []decode.Field{
		decode.Texts("links", &s.Links, validPattern),
		decode.Bool("routes", &s.Routes),
		decode.Texts("mac", &s.MAC, validPattern),
		decode.Bool("enis", &s.ENIs),
		decode.Bool("firewall", &s.Firewall),
		decode.Entries("others", &s.Others, func(s *CustomService) []decode.Field {
			return []decode.Field{decode.Text("service", &s.Service, decode.NotEmpty),
				decode.Text("leaves", &s.Ignores, decode.NotEmpty)}
		}, "service", "leaves"),
	}
}

func (s *CustomHealthCheck) fields() []decode.Field {
	return []decode.Field{
		decode.Text("what", &s.Text, decode.NotEmpty),
		decode.Text("path", &s.Path, validPathPattern),
		decode.Text("link", &s.Link, validPattern),
		decode.Text("kind", &s.Kind, validModule),
		decode.Bool("pods", &s.Pods),
		decode.Choice("when", &s.When, "ipv4", "ipv6"),
	}
}

func validModule(s string) string {
	if s == "" || len(s) > 64 || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "" {
		return "a name of letters, digits, _ and -"
	}
	return ""
}

func validMinimum(s string) string {
	if _, err := values.ParseVersion(s); err != nil {
		return "a version such as v1.2.0"
	}
	return ""
}

func validPattern(s string) string {
	if _, err := path.Match(s, ""); err != nil || s == "" || !decode.Printable(s) {
		return "a name, or a pattern such as acme*"
	}
	return ""
}

func validPathPattern(s string) string {
	if validPattern(s) != "" || !path.IsAbs(s) {
		return "an absolute path, or a pattern of one"
	}
	return ""
}

// CustomPlugin names the members of an asset that are installed.
type CustomPlugin struct {
	Asset   string   `json:"asset"`             // an entry of spec.assets, or cni-plugins
	Members []string `json:"members"`           // the programs of it
	Minimum string   `json:"minimum,omitempty"` // the oldest version that will do, such as v1.2.0
}

// CustomModule is a kernel module.
type CustomModule struct {
	Name     string `json:"name"`               // as modprobe has it
	Why      string `json:"why"`                // what it is for, as plans and errors say
	When     string `json:"when,omitempty"`     // only where pods have addresses of this family
	Optional bool   `json:"optional,omitempty"` // its absence is only a warning
}

// CustomSysctl is a kernel parameter.
type CustomSysctl struct {
	Key      string `json:"key"`                // as sysctl(8) has it
	Value    string `json:"value"`              // what it is set to
	Why      string `json:"why"`                // what it is for, as plans and errors say
	When     string `json:"when,omitempty"`     // only where pods have addresses of this family
	Required bool   `json:"required,omitempty"` // another value in sysctlParameters is an error; else it wins
	Optional bool   `json:"optional,omitempty"` // a kernel without the key is fine
}

// CustomMount is a file system that the network's pods expect.
type CustomMount struct {
	What  string `json:"what"`  // the device, or the file system's own name such as bpffs
	Where string `json:"where"` // the directory
	Type  string `json:"type"`  // of the file system, such as bpf
}

// CustomPackage is a package of a distribution. The agent only names it, and does not install it.
type CustomPackage struct {
	Name string `json:"name"` // of the package
	On   string `json:"on"`   // the distribution: ID of /etc/os-release
}

// CustomCertificate is a client identity of the store's pki that the node installs.
type CustomCertificate struct {
	Keypair string `json:"keypair"` // the keyset that holds certificate and key
	// the keyset of the trusted CA; not said: the one that signed the keypair
	CA         string `json:"ca,omitempty"`
	Dir        string `json:"dir"`                  // where its files go
	CAFile     string `json:"caFile"`               // name of the CA's certificates; without it ca.crt
	CertFile   string `json:"certFile"`             // name of the certificate; without it <keypair>.crt
	KeyFile    string `json:"keyFile"`              // name of the key, mode 0600; without it <keypair>.key
	CommonName string `json:"commonName,omitempty"` // the subject's CN that the certificate must have
}

// CustomPort is a port or protocol that nodes must let through to each other.
type CustomPort struct {
	Proto string `json:"proto"` // tcp, udp, sctp, or ip for the number of a protocol
	Port  int    `json:"port"`  // the port, or the protocol's number
	Use   string `json:"what"`  // what uses it
}

// CustomRequires is what a host must have.
type CustomRequires struct {
	Kernel values.Version `json:"kernel"` // the oldest release of Linux that will do, such as 5.10
	// patterns of `uname -r`: older kernels that will do, such as *.el8*
	Backports []string `json:"backports,omitempty"`
	Clouds    []string `json:"clouds,omitempty"`    // where it can run, by cloudProvider
	Hugepages string   `json:"hugepages,omitempty"` // the size of pages that must be reserved
	Why       string   `json:"why,omitempty"`       // said where a host is refused
}

// CustomShared is what other services of the host must not change.
type CustomShared struct {
	// names or patterns of links that networkd and NetworkManager must not touch
	Links  []string `json:"links,omitempty"`
	Routes bool     `json:"routes,omitempty"` // networkd must leave routes and rules alone that it did not make
	// names or patterns of links whose MAC address udev must not change
	MAC      []string        `json:"mac,omitempty"`
	ENIs     bool            `json:"enis,omitempty"`     // further interfaces of the cloud are the network's
	Firewall bool            `json:"firewall,omitempty"` // firewalld drops what pods need: a warning says what to allow
	Others   []CustomService `json:"others,omitempty"`   // further services, in words: a note says them
}

// CustomService says in words what one more service must not change.
type CustomService struct {
	Service string `json:"service"` // its name
	Ignores string `json:"leaves"`  // what it must leave alone
}

// CustomHealthCheck is something that exists while the network works.
type CustomHealthCheck struct {
	Text string `json:"what"`           // what it shows, such as: its tunnel is up
	Path string `json:"path,omitempty"` // a file that is there; may be a pattern
	Link string `json:"link,omitempty"` // a link that is up; may be a pattern
	Kind string `json:"kind,omitempty"` // of that link, such as vxlan
	Pods bool   `json:"pods,omitempty"` // there are as many such links as pods with an address
	When string `json:"when,omitempty"` // only where pods have addresses of this family
}
