package networks

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
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
		decode.Release("kernel", &r.Kernel, "a release of Linux such as 5.10"),
		decode.Texts("backports", &r.Backports, validPattern),
		decode.Texts("clouds", &r.Clouds, decode.ValidName),
		decode.Choice("hugepages", &r.Hugepages, "2M", "1G"),
		decode.Text("why", &r.Why, decode.NotEmpty),
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
	// Asset: Names an entry of spec.assets, or cni-plugins.
	Asset string `json:"asset"`
	// Members: Lists the programs of the asset that the node gets.
	Members []string `json:"members"`
	// Minimum: Sets the oldest version that works, such as v1.2.0.
	Minimum string `json:"minimum,omitempty"`
}

// CustomModule is a kernel module.
type CustomModule struct {
	// Name: Names the module as modprobe does.
	Name string `json:"name"`
	// Why: Says what the module is for. Plans and errors show it.
	Why string `json:"why"`
	// When: Loads the module only where pods have addresses of this family.
	When string `json:"when,omitempty"`
	// Optional: true means that a missing module is only a warning.
	Optional bool `json:"optional,omitempty"`
}

// CustomSysctl is a kernel parameter.
type CustomSysctl struct {
	// Key: Names the parameter as sysctl(8) does.
	Key string `json:"key"`
	// Value: Sets the value of the parameter.
	Value string `json:"value"`
	// Why: Says what the parameter is for. Plans and errors show it.
	Why string `json:"why"`
	// When: Sets the parameter only where pods have addresses of this family.
	When string `json:"when,omitempty"`
	// Required: true means that another value in sysctlParameters is an error. Otherwise that value
	// wins.
	Required bool `json:"required,omitempty"`
	// Optional: true accepts a kernel without the parameter.
	Optional bool `json:"optional,omitempty"`
}

// CustomMount is a file system that the network's pods expect.
type CustomMount struct {
	// What: Names the device, or the file system itself, such as bpffs.
	What string `json:"what"`
	// Where: Names the directory of the mount.
	Where string `json:"where"`
	// Type: Sets the type of the file system, such as bpf.
	Type string `json:"type"`
}

// CustomPackage is a package of a distribution. The agent only names it, and does not install it.
type CustomPackage struct {
	// Name: Names the package.
	Name string `json:"name"`
	// On: Names the distribution, by ID of /etc/os-release.
	On string `json:"on"`
}

// CustomCertificate is a client identity of the store's pki that the node installs.
type CustomCertificate struct {
	// Keypair: Names the keyset that has the certificate and the key.
	Keypair string `json:"keypair"`
	// CA: Names the keyset of the trusted CA. The default is the CA that signed the keypair.
	CA string `json:"ca,omitempty"`
	// Dir: Names the directory of the files.
	Dir string `json:"dir"`
	// CAFile: Sets the name of the file with the CA's certificates. The default is ca.crt.
	CAFile string `json:"caFile"`
	// CertFile: Sets the name of the file with the certificate. The default is <keypair>.crt.
	CertFile string `json:"certFile"`
	// KeyFile: Sets the name of the file with the key, which has mode 0600. The default is
	// <keypair>.key.
	KeyFile string `json:"keyFile"`
	// CommonName: Sets the subject's CN that the certificate must have.
	CommonName string `json:"commonName,omitempty"`
}

// CustomPort is a port or protocol that nodes must let through to each other.
type CustomPort struct {
	// Proto: Sets the protocol: tcp, udp or sctp. ip means that `port` is the number of a protocol.
	Proto string `json:"proto"`
	// Port: Sets the port, or the number of the protocol.
	Port int `json:"port"`
	// Use: Says what uses the port.
	Use string `json:"what"`
}

// CustomRequires is what a host must have.
type CustomRequires struct {
	// Kernel: Sets the oldest release of Linux that works, such as 5.10.
	Kernel values.Version `json:"kernel"`
	// Backports: Lists patterns of `uname -r` for older kernels that also work, such as *.el8*.
	Backports []string `json:"backports,omitempty"`
	// Clouds: Lists the clouds where the network can run, by `cloudProvider`.
	Clouds []string `json:"clouds,omitempty"`
	// Hugepages: Sets the size of the huge pages that the host must reserve.
	Hugepages string `json:"hugepages,omitempty"`
	// Why: Gives the reason that the agent shows when it refuses a host.
	Why string `json:"why,omitempty"`
}

// CustomShared is what other services of the host must not change.
type CustomShared struct {
	// Links: Lists names or patterns of links that networkd and NetworkManager must not touch.
	Links []string `json:"links,omitempty"`
	// Routes: true means that networkd must leave alone routes and rules that it did not make.
	Routes bool `json:"routes,omitempty"`
	// MAC: Lists names or patterns of links whose MAC address udev must not change.
	MAC []string `json:"mac,omitempty"`
	// ENIs: true means that further interfaces of the cloud belong to the network.
	ENIs bool `json:"enis,omitempty"`
	// Firewall: true means that firewalld drops packets that pods need. A warning says what to
	// allow.
	Firewall bool `json:"firewall,omitempty"`
	// Others: Lists further services in words. A note shows them.
	Others []CustomService `json:"others,omitempty"`
}

// CustomService says in words what one more service must not change.
type CustomService struct {
	// Service: Names the service.
	Service string `json:"service"`
	// Ignores: Says what the service must leave alone.
	Ignores string `json:"leaves"`
}

// CustomHealthCheck is something that exists while the network works.
type CustomHealthCheck struct {
	// Text: Says what the sign shows, such as: its tunnel is up.
	Text string `json:"what"`
	// Path: Names a file that exists, or a pattern of it.
	Path string `json:"path,omitempty"`
	// Link: Names a link that is up, or a pattern of it.
	Link string `json:"link,omitempty"`
	// Kind: Sets the kind of that link, such as vxlan.
	Kind string `json:"kind,omitempty"`
	// Pods: true means that there are as many such links as pods with an address.
	Pods bool `json:"pods,omitempty"`
	// When: Expects the sign only where pods have addresses of this family.
	When string `json:"when,omitempty"`
}
