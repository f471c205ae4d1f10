package config

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

func (c *CustomConf) fields() []decode.Field {
	return []decode.Field{
		{Name: "writer", Set: decode.Choice(&c.Writer, "netwright", "containerd", "DaemonSet", "user")},
		{Name: "file", Set: decode.Text(&c.File, decode.ValidConfName)},
		{Name: "template", Set: decode.Text(&c.Template, decode.NotEmpty)},
		{Name: "chain", Set: decode.Texts(&c.Chain, decode.ValidMember)},
	}
}

func (p *CustomPlugin) fields() []decode.Field {
	return []decode.Field{
		{Name: "asset", Set: decode.Text(&p.Asset, decode.ValidName)},
		{Name: "members", Set: decode.Texts(&p.Members, decode.ValidMember)},
		{Name: "minimum", Set: decode.Text(&p.Minimum, validMinimum)},
	}
}

func (m *CustomModule) fields() []decode.Field {
	return []decode.Field{
		{Name: "name", Set: decode.Text(&m.Name, validModule)},
		{Name: "why", Set: decode.Text(&m.Why, decode.NotEmpty)},
		{Name: "when", Set: decode.Choice(&m.When, "ipv4", "ipv6")},
		{Name: "optional", Set: decode.Bool(&m.Optional)},
	}
}

func (s *CustomSysctl) fields() []decode.Field {
	return []decode.Field{
		{Name: "key", Set: decode.SysctlName(&s.Key)},
		{Name: "value", Set: decode.SysctlValue(&s.Value)},
		{Name: "why", Set: decode.Text(&s.Why, decode.NotEmpty)},
		{Name: "when", Set: decode.Choice(&s.When, "ipv4", "ipv6")},
		{Name: "required", Set: decode.Bool(&s.Required)},
		{Name: "optional", Set: decode.Bool(&s.Optional)},
	}
}

func (m *CustomMount) fields() []decode.Field {
	return []decode.Field{
		{Name: "what", Set: decode.Text(&m.What, decode.NotEmpty)},
		{Name: "where", Set: decode.AbsolutePath(&m.Where)},
		{Name: "type", Set: decode.Text(&m.Type, validModule)},
	}
}

func (p *CustomPackage) fields() []decode.Field {
	return []decode.Field{{Name: "name", Set: decode.Text(&p.Name, decode.NotEmpty)}, {Name: "on", Set: decode.Text(&p.On, decode.ValidName)}}
}

func (c *CustomCertificate) fields() []decode.Field {
	return []decode.Field{
		{Name: "keypair", Set: decode.Text(&c.Keypair, decode.ValidName)},
		{Name: "ca", Set: decode.Text(&c.CA, decode.ValidName)},
		{Name: "dir", Set: decode.AbsolutePath(&c.Dir)},
		{Name: "caFile", Set: decode.Text(&c.CAFile, decode.ValidFileName)},
		{Name: "certFile", Set: decode.Text(&c.CertFile, decode.ValidFileName)},
		{Name: "keyFile", Set: decode.Text(&c.KeyFile, decode.ValidFileName)},
		{Name: "commonName", Set: decode.Text(&c.CommonName, decode.NotEmpty)},
	}
}

func (p *CustomPort) fields() []decode.Field {
	return []decode.Field{
		{Name: "proto", Set: decode.Choice(&p.Proto, "tcp", "udp", "sctp", "ip")},
		{Name: "port", Set: decode.Port(&p.Port)},
		{Name: "what", Set: decode.Text(&p.What, decode.NotEmpty)},
	}
}

func (r *CustomRequires) fields() []decode.Field {
	return []decode.Field{
		{Name: "kernel", Set: kernel(&r.Kernel)},
		{Name: "backports", Set: decode.Texts(&r.Backports, validPattern)},
		{Name: "clouds", Set: decode.Texts(&r.Clouds, decode.ValidName)},
		{Name: "hugepages", Set: decode.Choice(&r.Hugepages, "2M", "1G")},
		{Name: "why", Set: decode.Text(&r.Why, decode.NotEmpty)},
	}
}

// kernel takes a release of Linux; an unquoted 5.10 is read as written, not as the number 5.1.
func kernel(to *values.Version) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		parsed, err := values.ParseVersion(v.Text)
		if (v.Kind != document.KindString && v.Kind != document.KindFloat) || err != nil {
			d.Bad(v, at, "a release of Linux such as 5.10", "")
			return
		}
		*to = parsed
	}
}

func (s *CustomShared) fields() []decode.Field {
	return []decode.Field{
		{Name: "links", Set: decode.Texts(&s.Links, validPattern)},
		{Name: "routes", Set: decode.Bool(&s.Routes)},
		{Name: "mac", Set: decode.Texts(&s.MAC, validPattern)},
		{Name: "enis", Set: decode.Bool(&s.ENIs)},
		{Name: "firewall", Set: decode.Bool(&s.Firewall)},
		{Name: "others", Set: decode.Entries(&s.Others, func(s *CustomService) []decode.Field {
			return []decode.Field{{Name: "service", Set: decode.Text(&s.Service, decode.NotEmpty)}, {Name: "leaves", Set: decode.Text(&s.Leaves, decode.NotEmpty)}}
		}, "service", "leaves")},
	}
}

func (s *CustomSign) fields() []decode.Field {
	return []decode.Field{
		{Name: "what", Set: decode.Text(&s.What, decode.NotEmpty)},
		{Name: "path", Set: decode.Text(&s.Path, validPathPattern)},
		{Name: "link", Set: decode.Text(&s.Link, validPattern)},
		{Name: "kind", Set: decode.Text(&s.Kind, validModule)},
		{Name: "pods", Set: decode.Bool(&s.Pods)},
		{Name: "when", Set: decode.Choice(&s.When, "ipv4", "ipv6")},
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
