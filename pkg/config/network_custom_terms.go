package config

import (
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// entries reads a list of mappings in the place of what an earlier document listed, and keeps where
// each entry stands: [Node.Origin] of "spec.networking.custom.ports[0]".
func entries[T any](d *decoder, to *[]T, fields func(*T) []field, required ...string) set {
	return func(v *document.Value, at string) {
		d.fresh(at, len(*to))
		*to = nil
		d.list(func(v *document.Value, at string) {
			var x T
			d.mapping(v, at, fields(&x))
			d.required(v, at, required...)
			d.origins[at] = d.doc.Origin(v.Pos)
			*to = append(*to, x)
		})(v, at)
	}
}

// names reads a list of strings as [decoder.texts] does, and keeps where each stands.
func (d *decoder) names(to *[]string, valid func(string) string) set {
	return func(v *document.Value, at string) {
		d.fresh(at, len(*to))
		d.texts(to, valid)(v, at)
		for i, item := range v.Items {
			d.origins[index(at, i)] = d.doc.Origin(item.Pos)
		}
	}
}

// fresh forgets where the entries of an earlier document's list stood.
func (d *decoder) fresh(at string, was int) {
	for i := range was {
		delete(d.origins, index(at, i))
	}
}

func (d *decoder) customConf(c *CustomConf) []field {
	return []field{
		{name: "writer", set: d.choice(&c.Writer, "netwright", "containerd", "DaemonSet", "user")},
		{name: "file", set: d.text(&c.File, validConfName)},
		{name: "template", set: d.text(&c.Template, notEmpty)},
		{name: "chain", set: d.texts(&c.Chain, validMember)},
	}
}

func (d *decoder) customPlugin(p *CustomPlugin) []field {
	return []field{
		{name: "asset", set: d.text(&p.Asset, validName)},
		{name: "members", set: d.texts(&p.Members, validMember)},
		{name: "minimum", set: d.text(&p.Minimum, validMinimum)},
	}
}

func (d *decoder) customModule(m *CustomModule) []field {
	return []field{
		{name: "name", set: d.text(&m.Name, validModule)},
		{name: "why", set: d.text(&m.Why, notEmpty)},
		{name: "when", set: d.choice(&m.When, "ipv4", "ipv6")},
		{name: "optional", set: d.boolean(&m.Optional)},
	}
}

func (d *decoder) customSysctl(s *CustomSysctl) []field {
	return []field{
		{name: "key", set: d.sysctlName(&s.Key)},
		{name: "value", set: d.sysctlValue(&s.Value)},
		{name: "why", set: d.text(&s.Why, notEmpty)},
		{name: "when", set: d.choice(&s.When, "ipv4", "ipv6")},
		{name: "required", set: d.boolean(&s.Required)},
		{name: "optional", set: d.boolean(&s.Optional)},
	}
}

// sysctlName takes a parameter's key, in either form of sysctl(8).
func (d *decoder) sysctlName(to *string) set {
	return func(v *document.Value, at string) {
		canonical, hint := sysctlKey(v.Str())
		if canonical == "" {
			d.bad(v, at, "a kernel parameter such as net.ipv4.ip_forward", hint)
			return
		}
		*to = canonical
	}
}

// sysctlValue takes a string or a whole number: both are how people write a parameter's value.
func (d *decoder) sysctlValue(to *string) set {
	return func(v *document.Value, at string) {
		if v.Kind != document.KindInt && v.Kind != document.KindString || v.Text == "" || !printable(strings.ReplaceAll(v.Text, "\t", " ")) {
			d.bad(v, at, "a parameter's value such as 1", "")
			return
		}
		*to = v.Text
	}
}

func (d *decoder) customMount(m *CustomMount) []field {
	return []field{
		{name: "what", set: d.text(&m.What, notEmpty)},
		{name: "where", set: d.absolutePath(&m.Where)},
		{name: "type", set: d.text(&m.Type, validModule)},
	}
}

func (d *decoder) customPackage(p *CustomPackage) []field {
	return []field{{name: "name", set: d.text(&p.Name, notEmpty)}, {name: "on", set: d.text(&p.On, validName)}}
}

func (d *decoder) customCertificate(c *CustomCertificate) []field {
	return []field{
		{name: "keypair", set: d.text(&c.Keypair, validName)},
		{name: "ca", set: d.text(&c.CA, validName)},
		{name: "dir", set: d.absolutePath(&c.Dir)},
		{name: "caFile", set: d.text(&c.CAFile, validFileName)},
		{name: "certFile", set: d.text(&c.CertFile, validFileName)},
		{name: "keyFile", set: d.text(&c.KeyFile, validFileName)},
		{name: "commonName", set: d.text(&c.CommonName, notEmpty)},
	}
}

func (d *decoder) customPort(p *CustomPort) []field {
	return []field{
		{name: "proto", set: d.choice(&p.Proto, "tcp", "udp", "sctp", "ip")},
		{name: "port", set: d.port(&p.Port)},
		{name: "what", set: d.text(&p.What, notEmpty)},
	}
}

func (d *decoder) customRequires(r *CustomRequires) []field {
	return []field{
		{name: "kernel", set: d.kernel(&r.Kernel)},
		{name: "backports", set: d.texts(&r.Backports, validPattern)},
		{name: "clouds", set: d.texts(&r.Clouds, validName)},
		{name: "hugepages", set: d.choice(&r.Hugepages, "2M", "1G")},
		{name: "why", set: d.text(&r.Why, notEmpty)},
	}
}

// kernel takes a release of Linux; an unquoted 5.10 is read as written, not as the number 5.1.
func (d *decoder) kernel(to *values.Version) set {
	return func(v *document.Value, at string) {
		parsed, err := values.ParseVersion(v.Text)
		if (v.Kind != document.KindString && v.Kind != document.KindFloat) || err != nil {
			d.bad(v, at, "a release of Linux such as 5.10", "")
			return
		}
		*to = parsed
	}
}

func (d *decoder) customShared(s *CustomShared) []field {
	return []field{
		{name: "links", set: d.texts(&s.Links, validPattern)},
		{name: "routes", set: d.boolean(&s.Routes)},
		{name: "mac", set: d.texts(&s.MAC, validPattern)},
		{name: "enis", set: d.boolean(&s.ENIs)},
		{name: "firewall", set: d.boolean(&s.Firewall)},
		{name: "others", set: entries(d, &s.Others, func(s *CustomService) []field {
			return []field{{name: "service", set: d.text(&s.Service, notEmpty)}, {name: "leaves", set: d.text(&s.Leaves, notEmpty)}}
		}, "service", "leaves")},
	}
}

func (d *decoder) customSign(s *CustomSign) []field {
	return []field{
		{name: "what", set: d.text(&s.What, notEmpty)},
		{name: "path", set: d.text(&s.Path, validPathPattern)},
		{name: "link", set: d.text(&s.Link, validPattern)},
		{name: "kind", set: d.text(&s.Kind, validModule)},
		{name: "pods", set: d.boolean(&s.Pods)},
		{name: "when", set: d.choice(&s.When, "ipv4", "ipv6")},
	}
}

func notEmpty(s string) string {
	if s == "" || !printable(strings.ReplaceAll(s, "\n", "")) {
		return "a text"
	}
	return ""
}

// validConfName accepts a file that runtimes look at.
// https://github.com/containernetworking/cni/blob/main/libcni/conf.go (ConfFiles)
func validConfName(s string) string {
	if validFileName(s) != "" || !slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(s)) {
		return "a file's name that ends in .conflist, .conf or .json"
	}
	return ""
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
