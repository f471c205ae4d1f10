package config

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

func (c *CustomConf) fields() []field {
	return []field{
		{name: "writer", set: Choice(&c.Writer, "netwright", "containerd", "DaemonSet", "user")},
		{name: "file", set: Text(&c.File, validConfName)},
		{name: "template", set: Text(&c.Template, notEmpty)},
		{name: "chain", set: Texts(&c.Chain, validMember)},
	}
}

func (p *CustomPlugin) fields() []field {
	return []field{
		{name: "asset", set: Text(&p.Asset, validName)},
		{name: "members", set: Texts(&p.Members, validMember)},
		{name: "minimum", set: Text(&p.Minimum, validMinimum)},
	}
}

func (m *CustomModule) fields() []field {
	return []field{
		{name: "name", set: Text(&m.Name, validModule)},
		{name: "why", set: Text(&m.Why, notEmpty)},
		{name: "when", set: Choice(&m.When, "ipv4", "ipv6")},
		{name: "optional", set: Bool(&m.Optional)},
	}
}

func (s *CustomSysctl) fields() []field {
	return []field{
		{name: "key", set: SysctlName(&s.Key)},
		{name: "value", set: SysctlValue(&s.Value)},
		{name: "why", set: Text(&s.Why, notEmpty)},
		{name: "when", set: Choice(&s.When, "ipv4", "ipv6")},
		{name: "required", set: Bool(&s.Required)},
		{name: "optional", set: Bool(&s.Optional)},
	}
}

func (m *CustomMount) fields() []field {
	return []field{
		{name: "what", set: Text(&m.What, notEmpty)},
		{name: "where", set: AbsolutePath(&m.Where)},
		{name: "type", set: Text(&m.Type, validModule)},
	}
}

func (p *CustomPackage) fields() []field {
	return []field{{name: "name", set: Text(&p.Name, notEmpty)}, {name: "on", set: Text(&p.On, validName)}}
}

func (c *CustomCertificate) fields() []field {
	return []field{
		{name: "keypair", set: Text(&c.Keypair, validName)},
		{name: "ca", set: Text(&c.CA, validName)},
		{name: "dir", set: AbsolutePath(&c.Dir)},
		{name: "caFile", set: Text(&c.CAFile, validFileName)},
		{name: "certFile", set: Text(&c.CertFile, validFileName)},
		{name: "keyFile", set: Text(&c.KeyFile, validFileName)},
		{name: "commonName", set: Text(&c.CommonName, notEmpty)},
	}
}

func (p *CustomPort) fields() []field {
	return []field{
		{name: "proto", set: Choice(&p.Proto, "tcp", "udp", "sctp", "ip")},
		{name: "port", set: Port(&p.Port)},
		{name: "what", set: Text(&p.What, notEmpty)},
	}
}

func (r *CustomRequires) fields() []field {
	return []field{
		{name: "kernel", set: Kernel(&r.Kernel)},
		{name: "backports", set: Texts(&r.Backports, validPattern)},
		{name: "clouds", set: Texts(&r.Clouds, validName)},
		{name: "hugepages", set: Choice(&r.Hugepages, "2M", "1G")},
		{name: "why", set: Text(&r.Why, notEmpty)},
	}
}

// kernel takes a release of Linux; an unquoted 5.10 is read as written, not as the number 5.1.
func Kernel(to *values.Version) set {
	return func(d *decoder, v *document.Value, at string) {
		parsed, err := values.ParseVersion(v.Text)
		if (v.Kind != document.KindString && v.Kind != document.KindFloat) || err != nil {
			d.bad(v, at, "a release of Linux such as 5.10", "")
			return
		}
		*to = parsed
	}
}

func (s *CustomShared) fields() []field {
	return []field{
		{name: "links", set: Texts(&s.Links, validPattern)},
		{name: "routes", set: Bool(&s.Routes)},
		{name: "mac", set: Texts(&s.MAC, validPattern)},
		{name: "enis", set: Bool(&s.ENIs)},
		{name: "firewall", set: Bool(&s.Firewall)},
		{name: "others", set: entries(&s.Others, func(s *CustomService) []field {
			return []field{{name: "service", set: Text(&s.Service, notEmpty)}, {name: "leaves", set: Text(&s.Leaves, notEmpty)}}
		}, "service", "leaves")},
	}
}

func (s *CustomSign) fields() []field {
	return []field{
		{name: "what", set: Text(&s.What, notEmpty)},
		{name: "path", set: Text(&s.Path, validPathPattern)},
		{name: "link", set: Text(&s.Link, validPattern)},
		{name: "kind", set: Text(&s.Kind, validModule)},
		{name: "pods", set: Bool(&s.Pods)},
		{name: "when", set: Choice(&s.When, "ipv4", "ipv6")},
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
	if _, err := path.Match(s, ""); err != nil || s == "" || !printable(s) {
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
